//! A table brought into another order of axes.
//!
//! Read in one order and written in the other, a large table costs a line of the cache for every cell. So cells are moved
//! in squares: some places of one row of the target, then the same places of the row whose cells lie beside them in the
//! source.

#![expect(clippy::inline_always, reason = "short loops, each compiled for what is put")]

use rayon::prelude::*;

use crate::table::{fold_run, row_major_strides};

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

/// An axis, and where a step along it goes.
#[derive(Clone, Copy, Debug)]
struct Axis {
    extent: usize,
    /// Stride in the target; 0 for an axis that the target lacks.
    to: usize,
    /// Stride in the source; 0 for an axis that the source lacks.
    from: usize,
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
            axes: fused(
                shape
                    .iter()
                    .zip(row_major_strides(shape))
                    .zip(strides)
                    .map(|((extent, to), from)| Axis { extent: *extent, to, from: *from }),
            ),
            summed: fused(summed.iter().map(|(extent, from)| Axis {
                extent: *extent,
                to: 0,
                from: *from,
            })),
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
        if self.cells < LARGE || rayon::current_num_threads() == 1 {
            return self.piece(&self.axes, source, target, zero, plus);
        }
        // No line of the source in two pieces, if they lie along this axis.
        let settings = first.extent.div_ceil(PIECES);
        let settings = if first.from < LINE { settings.next_multiple_of(LINE) } else { settings };
        target.par_chunks_mut(settings * first.to).enumerate().for_each(|(piece, target)| {
            let own = Axis { extent: target.len() / first.to, ..*first };
            let axes: Vec<Axis> = std::iter::once(own).chain(inner.iter().copied()).collect();
            self.piece(&axes, &source[piece * settings * first.from..], target, zero, plus);
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
            Some((last, others)) if last.from == 1 => (last.extent, others),
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
}

impl Square {
    /// Splits axes into those outside and the square.
    fn inside(axes: &[Axis]) -> (Vec<Axis>, Self) {
        let none = Axis { extent: 1, to: 0, from: 0 };
        let mut outer = axes.to_vec();
        let width = outer.pop_if(|last| last.from == 1).map_or(1, |last| last.extent);
        let last = outer.pop().unwrap_or(none);
        let nearest = |place: &usize| (outer[*place].from != width, outer.len() - place);
        let place = (0..outer.len()).min_by_key(nearest);
        let rows = place.map_or(none, |place| outer.remove(place));
        (outer, Self { width, last, rows })
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
        let Self { width, last, rows } = *self;
        for first in (0..last.extent).step_by(PLACES) {
            let count = PLACES.min(last.extent - first);
            for row in 0..rows.extent {
                let to = &mut target[row * rows.to + first * width..][..count * width];
                run(to, Places { next: row * rows.from + first * last.from, stride: last.from });
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

/// `run(place in the target, place in the source)` for every setting of some axes, the last one fastest.
#[inline]
fn each(axes: &[Axis], mut run: impl FnMut(usize, usize)) {
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
            let step = axes[axis];
            counter[axis] += 1;
            (at, from) = (at + step.to, from + step.from);
            if counter[axis] < step.extent {
                break;
            }
            (at, from) = (at - step.to * step.extent, from - step.from * step.extent);
            counter[axis] = 0;
        }
    }
}

/// Joins neighboring axes along which both tables continue in the same way, and leaves out those with one setting.
fn fused(axes: impl Iterator<Item = Axis>) -> Vec<Axis> {
    let mut fused: Vec<Axis> = Vec::new();
    for axis in axes.filter(|axis| axis.extent != 1) {
        match fused.last_mut() {
            Some(outer)
                if (outer.to, outer.from) == (axis.to * axis.extent, axis.from * axis.extent) =>
            {
                *outer = Axis { extent: outer.extent * axis.extent, ..axis };
            }
            _ => fused.push(axis),
        }
    }
    fused
}

#[cfg(test)]
mod tests;
