//! A table brought into another order of axes.
//!
//! Read in one order and written in the other, a large table costs a line of the cache for every cell. So cells are moved
//! in squares: some places of one row of the target, then the same places of the row whose cells lie beside them in the
//! source.

#![expect(clippy::inline_always, reason = "short loops, each compiled for what is put")]

use rayon::prelude::*;

use crate::table::fold_run;

/// Every cell of a row-major target is a cell of the source, or the sum of some.
#[derive(Clone, Debug)]
pub(super) struct Rearrangement {
    /// The target's axes, outermost first; neighbors along which the source continues in the same way are one.
    axes: Vec<Axis>,
    /// Axes of the source that the target lacks, outermost first.
    summed: Vec<Axis>,
    /// Cells of the target.
    cells: usize,
}

/// Extent of an axis, and its stride in the source (0: the source lacks it).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Axis {
    extent: usize,
    stride: usize,
}

/// Cells of a target from which several threads write it.
const LARGE: usize = 1 << 15;
/// Pieces of a large target that are written at the same time; at most the extent of its first axis.
const PIECES: usize = 8;
/// Places of a row that are written before the next row's, so that the lines of the source that hold them are still in the
/// first cache.
const PLACES: usize = 64;
/// Numbers in a line of the cache.
const LINE: usize = 8;

impl Rearrangement {
    /// `shape`: extents of the target's axes; `strides`: their strides in the source; `summed`: extents and strides of the
    /// source's other axes, outermost first.
    pub(super) fn new(shape: &[usize], strides: &[usize], summed: &[(usize, usize)]) -> Self {
        Self {
            axes: fused(shape.iter().copied().zip(strides.iter().copied())),
            summed: fused(summed.iter().copied()),
            cells: shape.iter().product(),
        }
    }

    /// Writes the target. `plus` is associative and commutative up to rounding, with the neutral element `zero`; sums are in
    /// the order of the source's cells.
    pub(super) fn run(
        &self,
        source: &[f64],
        target: &mut [f64],
        zero: f64,
        plus: impl Fn(f64, f64) -> f64 + Copy + Sync,
    ) {
        let target = &mut target[..self.cells];
        let Some((first, inner)) = self.axes.split_first() else {
            return self.piece(&[], source, target, zero, plus);
        };
        if first.extent == 1 || self.cells < LARGE || rayon::current_num_threads() == 1 {
            return self.piece(&self.axes, source, target, zero, plus);
        }
        let row = self.cells / first.extent;
        // No line of the source in two pieces, if they lie along this axis.
        let settings = first.extent.div_ceil(PIECES);
        let settings = if first.stride < LINE { settings.next_multiple_of(LINE) } else { settings };
        target.par_chunks_mut(settings * row).enumerate().for_each(|(piece, target)| {
            let own = Axis { extent: target.len() / row, ..*first };
            let axes: Vec<Axis> = std::iter::once(own).chain(inner.iter().copied()).collect();
            self.piece(&axes, &source[piece * settings * first.stride..], target, zero, plus);
        });
    }

    /// Writes a target with these axes.
    fn piece(
        &self,
        axes: &[Axis],
        source: &[f64],
        target: &mut [f64],
        zero: f64,
        plus: impl Fn(f64, f64) -> f64 + Copy,
    ) {
        // A sum over contiguous cells is one run for every cell of the target.
        let (run, summed) = match self.summed.split_last() {
            Some((last, others)) if last.stride == 1 => (last.extent, others),
            _ => (1, &self.summed[..]),
        };
        let (outer, square) = Square::inside(axes);
        each(&outer, |at, from| {
            let mut is_first = true;
            each(summed, |_, beside| {
                let (source, target) = (&source[from + beside..], &mut target[at..]);
                if run > 1 {
                    let value =
                        |start: f64, at: usize| fold_run(start, &source[at..at + run], plus);
                    if is_first {
                        square.each_cell(target, |t, at| *t = value(zero, at));
                    } else {
                        square.each_cell(target, |t, at| *t = value(*t, at));
                    }
                } else if is_first {
                    square.write(source, target, |t, s| *t = s);
                } else {
                    square.write(source, target, |t, s| *t = plus(*t, s));
                }
                is_first = false;
            });
        });
    }
}

/// What is walked together: cells that follow each other in both tables, and two axes.
#[derive(Clone, Copy, Debug)]
struct Square {
    /// Cells that follow each other.
    width: usize,
    /// The target's last axis but for these.
    last: Axis,
    /// Of the others, the axis along which the source's lines of the cache go.
    rows: Axis,
    /// Distance between two rows in the target.
    apart: usize,
}

impl Square {
    /// Splits axes into those outside, with their distances in the target, and the square.
    fn inside(axes: &[Axis]) -> (Vec<(usize, Axis)>, Self) {
        let one = Axis { extent: 1, stride: 0 };
        let (width, axes) = match axes.split_last() {
            Some((last, others)) if last.stride == 1 => (last.extent, others),
            _ => (1, axes),
        };
        let (last, others) =
            axes.split_last().map_or((one, axes), |(last, others)| (*last, others));
        let mut apart = width * last.extent;
        let mut outer: Vec<(usize, Axis)> = Vec::with_capacity(others.len());
        for axis in others.iter().rev() {
            outer.push((apart, *axis));
            apart *= axis.extent;
        }
        outer.reverse();
        let nearest = |place: &usize| (outer[*place].1.stride != width, outer.len() - place);
        let place = (0..outer.len()).min_by_key(nearest);
        let (apart, rows) = place.map_or((apart, one), |place| outer.remove(place));
        (outer, Self { width, last, rows, apart })
    }

    /// `put(a cell of the target, the source's)` for every cell of the square.
    #[inline(always)]
    fn write(&self, source: &[f64], target: &mut [f64], put: impl Fn(&mut f64, f64) + Copy) {
        match self.width {
            1 => self.write_cells::<1>(source, target, put),
            2 => self.write_cells::<2>(source, target, put),
            3 => self.write_cells::<3>(source, target, put),
            4 => self.write_cells::<4>(source, target, put),
            5 => self.write_cells::<5>(source, target, put),
            6 => self.write_cells::<6>(source, target, put),
            7 => self.write_cells::<7>(source, target, put),
            width => self.each_place(target, |to, from| {
                for (to, from) in to.chunks_exact_mut(width).zip(from) {
                    to.iter_mut().zip(&source[from..]).for_each(|(t, s)| put(t, *s));
                }
            }),
        }
    }

    /// As [`write`](Self::write), for a width that is a constant: copies of a few cells need no call.
    #[inline(always)]
    fn write_cells<const WIDTH: usize>(
        &self,
        source: &[f64],
        target: &mut [f64],
        put: impl Fn(&mut f64, f64) + Copy,
    ) {
        self.each_place(target, |to, from| {
            for (to, from) in to.as_chunks_mut::<WIDTH>().0.iter_mut().zip(from) {
                let from = &source[from..][..WIDTH];
                to.iter_mut().zip(from).for_each(|(t, s)| put(t, *s));
            }
        });
    }

    /// `run(some places of a row of the target, where each begins in the source)` for all rows, few places at a time.
    #[inline(always)]
    fn each_place(&self, target: &mut [f64], mut run: impl FnMut(&mut [f64], Places)) {
        let Self { width, last, rows, apart } = *self;
        for first in (0..last.extent).step_by(PLACES) {
            let count = PLACES.min(last.extent - first);
            for row in 0..rows.extent {
                let start = row * rows.stride + first * last.stride;
                let to = &mut target[row * apart + first * width..][..count * width];
                run(to, Places { next: start, stride: last.stride });
            }
        }
    }

    /// `put(a cell of the target, its place in the source)` for every cell of the square.
    #[inline(always)]
    fn each_cell(&self, target: &mut [f64], put: impl Fn(&mut f64, usize)) {
        self.each_place(target, |to, from| {
            for (to, from) in to.chunks_exact_mut(self.width).zip(from) {
                to.iter_mut().enumerate().for_each(|(place, cell)| put(cell, from + place));
            }
        });
    }
}

/// Numbers in steps, without an end.
#[derive(Debug)]
struct Places {
    next: usize,
    stride: usize,
}

impl Iterator for Places {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let place = self.next;
        self.next += self.stride;
        Some(place)
    }
}

/// An axis of a loop: where a step goes in the target and in the source.
trait Steps: Copy {
    fn extent(self) -> usize;
    fn strides(self) -> (usize, usize);
}

impl Steps for Axis {
    fn extent(self) -> usize {
        self.extent
    }

    fn strides(self) -> (usize, usize) {
        (0, self.stride)
    }
}

impl Steps for (usize, Axis) {
    fn extent(self) -> usize {
        self.1.extent
    }

    fn strides(self) -> (usize, usize) {
        (self.0, self.1.stride)
    }
}

/// `run(place in the target, place in the source)` for every setting of some axes, the last one fastest.
#[inline]
fn each(axes: &[impl Steps], mut run: impl FnMut(usize, usize)) {
    let (mut few, mut many) = ([0_usize; 8], Vec::new());
    let counter = if let Some(few) = few.get_mut(..axes.len()) {
        few
    } else {
        many.resize(axes.len(), 0_usize);
        &mut many[..]
    };
    let (mut at, mut from) = (0, 0);
    loop {
        run(at, from);
        let mut axis = axes.len();
        loop {
            let Some(next) = axis.checked_sub(1) else { return };
            axis = next;
            let (extent, (in_target, in_source)) = (axes[axis].extent(), axes[axis].strides());
            counter[axis] += 1;
            (at, from) = (at + in_target, from + in_source);
            if counter[axis] < extent {
                break;
            }
            (at, from) = (at - in_target * extent, from - in_source * extent);
            counter[axis] = 0;
        }
    }
}

/// Joins neighboring axes along which the source continues in the same way, and leaves out those with one setting.
fn fused(axes: impl Iterator<Item = (usize, usize)>) -> Vec<Axis> {
    let mut fused: Vec<Axis> = Vec::new();
    for (extent, stride) in axes.filter(|(extent, _)| *extent != 1) {
        match fused.last_mut() {
            Some(outer) if outer.stride == stride * extent => {
                *outer = Axis { extent: outer.extent * extent, stride };
            }
            _ => fused.push(Axis { extent, stride }),
        }
    }
    fused
}

#[cfg(test)]
mod tests;
