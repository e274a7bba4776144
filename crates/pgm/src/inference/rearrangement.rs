//! A table brought into another order of axes.
//!
//! Read in one order and written in the other, a large table costs a line of the cache for every cell. So cells are moved
//! in short rows: some that follow each other in the target, then the row whose cells lie beside them in the source.

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
    /// The rows of the whole target.
    rows: Rows,
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
/// The most places of a row. Few enough that the lines of the source that hold them are still in the first-level cache when the
/// next row is written.
const PLACES: usize = 64;
/// Numbers in a line of the cache.
const LINE: usize = 8;
/// Sets of a first-level cache: lines whose numbers differ by a multiple of this share a set.
const SETS: usize = 64;
/// Lines of the source that may share a set. A set holds eight lines or more, and one is left to the target.
const WAYS: usize = 7;

impl Rearrangement {
    /// `shape`: extents of the target's axes; `strides`: their strides in the source; `summed`: extents and strides of the
    /// source's other axes, outermost first.
    pub(super) fn new(shape: &[usize], strides: &[usize], summed: &[(usize, usize)]) -> Self {
        let axes = fused(
            shape
                .iter()
                .zip(row_major_strides(shape))
                .zip(strides)
                .map(|((extent, to), from)| Axis { extent: *extent, to, from: *from }),
        );
        let summed =
            fused(summed.iter().map(|(extent, from)| Axis { extent: *extent, to: 0, from: *from }));
        Self {
            rows: Rows::along(&axes, !summed.is_empty()),
            axes,
            summed,
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
        let is_large = self.cells >= LARGE && rayon::current_num_threads() > 1;
        let Some((first, inner)) = self.axes.split_first().filter(|_| is_large) else {
            return self.write(&self.rows, source, target, zero, plus);
        };
        // No line of the source in two pieces, if they lie along this axis.
        let settings = first.extent.div_ceil(PIECES);
        let settings = if first.from < LINE { settings.next_multiple_of(LINE) } else { settings };
        target.par_chunks_mut(settings * first.to).enumerate().for_each(|(piece, target)| {
            let own = Axis { extent: target.len() / first.to, ..*first };
            let axes: Vec<Axis> = std::iter::once(own).chain(inner.iter().copied()).collect();
            let source = &source[piece * settings * first.from..];
            let rows = Rows::along(&axes, !self.summed.is_empty());
            self.write(&rows, source, target, zero, plus);
        });
    }

    /// Writes a target with these rows.
    fn write(
        &self,
        rows: &Rows,
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
        for Block { to, from, places, far, near } in &rows.blocks {
            let row = Row { width: rows.row.width, places: &rows.row.places[..*places] };
            let (source, target) = (&source[*from..], &mut target[*to..]);
            if self.summed.is_empty() {
                each(far, |at, from| row.write(&source[from..], &mut target[at..], |t, s| *t = s));
                continue;
            }
            each(far, |at, from| {
                let mut is_first = true;
                each(summed, |_, beside| {
                    each(near, |to, beyond| {
                        let (source, target) =
                            (&source[from + beside + beyond..], &mut target[at + to..]);
                        if run > 1 {
                            let value = |start: f64, at: usize| {
                                fold_run(start, &source[at..at + run], plus)
                            };
                            if is_first {
                                row.each_cell(target, |t, at| *t = value(zero, at));
                            } else {
                                row.each_cell(target, |t, at| *t = value(*t, at));
                            }
                        } else if is_first {
                            row.write(source, target, |t, s| *t = s);
                        } else {
                            row.write(source, target, |t, s| *t = plus(*t, s));
                        }
                    });
                    is_first = false;
                });
            });
        }
    }
}

/// Cells that follow each other in the target.
#[derive(Clone, Copy, Debug)]
struct Row<P> {
    /// Cells that follow each other in the source as well.
    width: usize,
    /// Where each of these begins in the source.
    places: P,
}

/// The rows of a target: at most two kinds, as the last settings of an axis may be fewer than the others.
#[derive(Clone, Debug)]
struct Rows {
    row: Row<Vec<usize>>,
    blocks: Vec<Block>,
}

/// Rows of the same length.
#[derive(Clone, Debug)]
struct Block {
    /// Where the first begins in the target, and in the source.
    to: usize,
    from: usize,
    /// The number of places of a row.
    places: usize,
    /// The other axes along which further rows lie, those with the longest strides in the source first.
    far: Vec<Axis>,
    /// The axes along which several rows share lines of the source. All of them are written before the next term of a sum is
    /// added.
    near: Vec<Axis>,
}

impl Rows {
    /// Rows along the last axes, and along a part of the next one. They are cut shorter if their lines of the source would push
    /// each other out of the first-level cache.
    fn along(axes: &[Axis], has_sums: bool) -> Self {
        let width = axes.last().filter(|last| last.from == 1).map_or(1, |last| last.extent);
        let mut most = PLACES / width.min(LINE);
        loop {
            let rows = Self::of(axes, most, has_sums);
            if most <= LINE || !rows.row.is_crowded() {
                return rows;
            }
            most /= 2;
        }
    }

    /// Rows with at most `most` places each.
    fn of(axes: &[Axis], most: usize, has_sums: bool) -> Self {
        let mut outer = axes.to_vec();
        let width = outer.pop_if(|last| last.from == 1).map_or(1, |last| last.extent);
        let mut places = vec![0];
        while let Some(axis) = outer.pop_if(|axis| axis.extent * places.len() <= most) {
            places = axis.places(&places);
        }
        // As many settings at a time as make rows of about the same length.
        let many = outer.last().map_or(1, |axis| axis.extent.div_ceil(most / places.len()));
        let part = outer.pop_if(|axis| many < axis.extent);
        let Some(axis) = part else {
            let block = Block::new(places.len(), outer, [0, 0], has_sums);
            return Self { row: Row { width, places }, blocks: vec![block] };
        };
        let at_once = axis.extent.div_ceil(many);
        let (whole, rest) = (axis.extent / at_once, axis.extent % at_once);
        let block = |settings: usize, outer: Vec<Axis>, start: usize| {
            let start = [start * axis.to, start * axis.from];
            Block::new(settings * places.len(), outer, start, has_sums)
        };
        let mut blocks = Vec::with_capacity(2);
        if rest > 0 {
            blocks.push(block(rest, outer.clone(), whole * at_once));
        }
        outer.push(Axis { extent: whole, to: at_once * axis.to, from: at_once * axis.from });
        blocks.push(block(at_once, outer, 0));
        let places = Axis { extent: at_once, ..axis }.places(&places);
        Self { row: Row { width, places }, blocks }
    }
}

impl Block {
    /// `outer`: the axes along which rows lie. `[to, from]`: where the first row begins. Without sums no axis is near.
    fn new(places: usize, mut outer: Vec<Axis>, [to, from]: [usize; 2], has_sums: bool) -> Self {
        outer.sort_by_key(|axis| std::cmp::Reverse(axis.from));
        let is_far = |axis: &Axis| axis.from >= LINE || !has_sums;
        let near = outer.split_off(outer.partition_point(is_far));
        Self { to, from, places, far: outer, near }
    }
}

impl Axis {
    /// The places of the source for all settings of this axis: the given ones, shifted by each setting.
    fn places(self, each: &[usize]) -> Vec<usize> {
        let settings = (0..self.extent).map(|setting| setting * self.from);
        settings.flat_map(|start| each.iter().map(move |place| start + place)).collect()
    }
}

impl Row<Vec<usize>> {
    /// Whether lines of the source push each other out of the first-level cache.
    fn is_crowded(&self) -> bool {
        let mut lines: Vec<usize> = self.places.iter().map(|place| place / LINE).collect();
        lines.sort_unstable();
        lines.dedup();
        let mut of_set = [0_usize; SETS];
        lines.iter().for_each(|line| of_set[line % SETS] += 1);
        of_set.iter().any(|lines| *lines > WAYS)
    }
}

impl Row<&[usize]> {
    /// `put(a cell of the target, the source's)` for every cell of the row.
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
            width => {
                for (to, from) in target.chunks_exact_mut(width).zip(self.places) {
                    to.iter_mut().zip(&source[*from..]).for_each(|(t, s)| put(t, *s));
                }
            }
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
        for (to, from) in target.as_chunks_mut::<WIDTH>().0.iter_mut().zip(self.places) {
            let from = &source[*from..][..WIDTH];
            to.iter_mut().zip(from).for_each(|(t, s)| put(t, *s));
        }
    }

    /// `put(a cell of the target, its place in the source)` for every cell of the row.
    #[inline(always)]
    fn each_cell(&self, target: &mut [f64], put: impl Fn(&mut f64, usize)) {
        for (to, from) in target.chunks_exact_mut(self.width).zip(self.places) {
            to.iter_mut().enumerate().for_each(|(place, cell)| put(cell, from + place));
        }
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
