//! Counting many marginals at once.
//!
//! Only the tables of a cover ([`cover`]) are counted record by record. They are larger tables, and the requested
//! marginals are sums of them. For each table, the row-major indices of some records are computed in 16 bits, piece by
//! piece in the first-level cache, and then counted into four sub-histograms in turn, so that runs of equal records do
//! not wait for each other's stores. A few records, and a table of more cells than 16 bits can index, are counted
//! without sub-histograms. One thread fills a table in the order of the records, so threads do not change the result,
//! even with weights.

use std::iter::repeat;
use std::ops::{Add, AddAssign, Range};
use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use crate::data::Column;
use crate::data::cover::{Cover, cover};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::table::Projection;

/// Largest number of cells one call may return, over all its cliques: 2³¹, or 8 GiB of counts.
pub const MAX_TOTAL_CELLS: u64 = 1 << 31;

/// Records counted together, so that their columns stay in a near cache while one table after another is counted.
pub const BLOCK: usize = 1 << 17;

/// Indices computed before they are counted: a piece that stays in the first-level cache.
const PIECE: usize = 2048;

/// Number of 16-bit indices.
const SMALL: usize = 1 << 16;

/// Cells between two sub-histograms, so that the same cell in two of them does not share the low bits of its address.
const GAP: usize = 272;

/// Parts of the work for each thread, so that none waits long for another.
const PARTS: usize = 8;

/// The amount that a record adds to its cell.
pub(super) trait Weights: Copy + Sync {
    /// The contents of a cell.
    type Cell: Copy + Default + Add<Output = Self::Cell> + AddAssign + Send + Sync;

    /// The weights of some records, in groups of four.
    fn quads(self, records: Range<usize>) -> impl Iterator<Item = [Self::Cell; 4]>;

    /// The weights of the remaining records.
    fn rest(self, records: Range<usize>) -> impl Iterator<Item = Self::Cell>;
}

/// Every record counts once.
#[derive(Clone, Copy)]
pub(super) struct One;

impl Weights for One {
    type Cell = u32;

    #[inline]
    fn quads(self, _: Range<usize>) -> impl Iterator<Item = [u32; 4]> {
        repeat([1; 4])
    }

    #[inline]
    fn rest(self, _: Range<usize>) -> impl Iterator<Item = u32> {
        repeat(1)
    }
}

/// A weight for each record.
impl Weights for &[f64] {
    type Cell = f64;

    #[inline]
    fn quads(self, records: Range<usize>) -> impl Iterator<Item = [f64; 4]> {
        self[records].as_chunks::<4>().0.iter().copied()
    }

    #[inline]
    fn rest(self, records: Range<usize>) -> impl Iterator<Item = f64> {
        self[records].as_chunks::<4>().1.iter().copied()
    }
}

/// The marginals of a table on every clique, in row-major order of the sorted attributes.
///
/// # Errors
/// An attribute outside the domain, or more than [`MAX_TOTAL_CELLS`] cells in all.
pub(super) fn count<W: Weights>(
    domain: &Domain,
    columns: &[Column],
    records: usize,
    weights: W,
    cliques: &[Clique],
) -> Result<Vec<Vec<W::Cell>>> {
    let sizes = sizes(domain, cliques)?;
    let covers = cover(domain, cliques, records);
    let part = part(covers.len());
    let scratch = Pool::default();
    let counted: Vec<Vec<(usize, Vec<W::Cell>)>> = covers
        .par_chunks(part)
        .with_max_len(1)
        .map(|covers| {
            let mut tables = empty_tables::<W::Cell>(domain, covers);
            scratch.with(|own| {
                own.count_covers(domain, columns, 0..records, weights, covers, &mut tables);
            });
            let answers = covers.iter().zip(tables);
            answers
                .flat_map(|(cover, table)| sum_out(domain, cover, table, cliques, &sizes))
                .collect()
        })
        .collect();
    let mut answers: Vec<Vec<W::Cell>> = vec![Vec::new(); cliques.len()];
    for (place, table) in counted.into_iter().flatten() {
        answers[place] = table;
    }
    Ok(answers)
}

/// Tables of zeros, one for each cover.
pub fn empty_tables<S: Clone + Default>(domain: &Domain, covers: &[Cover]) -> Vec<Vec<S>> {
    let cells = |cover: &Cover| domain.shape(&cover.clique).iter().product();
    covers.iter().map(|cover| vec![S::default(); cells(cover)]).collect()
}

/// Adds the counts of some records to the tables of covers, which came from [`empty_tables`].
pub fn add_counts(
    domain: &Domain,
    columns: &[Column],
    rows: &Range<usize>,
    covers: &[Cover],
    tables: &mut [Vec<u64>],
) {
    let part = part(covers.len());
    let scratch = Pool::default();
    let parts = covers.par_chunks(part).zip(tables.par_chunks_mut(part)).with_max_len(1);
    parts.for_each(|(covers, tables)| {
        scratch.with(|own| own.count_covers(domain, columns, rows.clone(), One, covers, tables));
    });
}

/// Tables that one thread counts together.
fn part(tables: usize) -> usize {
    tables.div_ceil(PARTS * rayon::current_num_threads()).max(1)
}

/// Cells of every clique.
///
/// # Errors
/// An attribute outside the domain, or more than [`MAX_TOTAL_CELLS`] cells in all.
pub fn sizes(domain: &Domain, cliques: &[Clique]) -> Result<Vec<usize>> {
    let mut total = 0_u64;
    let mut sizes = Vec::with_capacity(cliques.len());
    for clique in cliques {
        if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
            return Err(domain.unknown(&format!("#{outside}"), format!("the clique {clique}")));
        }
        let cells = domain.cells(clique);
        let within = cells.and_then(|cells| total.checked_add(cells));
        total = within.filter(|total| *total <= MAX_TOTAL_CELLS).ok_or_else(|| {
            Error::too_large(
                format!("counting {}", domain.describe(clique)),
                cells.map(|cells| total.saturating_add(cells) as f64),
                MAX_TOTAL_CELLS as f64,
                "cells in one call",
            )
        })?;
        sizes.push(usize::try_from(cells.unwrap_or(0)).unwrap_or(0));
    }
    Ok(sizes)
}

/// The marginals that a counted table covers, with their places in the answer.
fn sum_out<T: Copy + Default + Add<Output = T>>(
    domain: &Domain,
    cover: &Cover,
    table: Vec<T>,
    cliques: &[Clique],
    sizes: &[usize],
) -> Vec<(usize, Vec<T>)> {
    if let [place] = cover.members[..]
        && sizes[place] == table.len()
    {
        return vec![(place, table)];
    }
    let shape = domain.shape(&cover.clique);
    let member = |place: &usize| {
        let mut sums = vec![T::default(); sizes[*place]];
        Projection::between(&cover.clique, &shape, &cliques[*place]).add_into(&table, &mut sums);
        (*place, sums)
    };
    cover.members.iter().map(member).collect()
}

/// Buffers of one thread.
#[derive(Default)]
struct Scratch<T> {
    /// Four sub-histograms with gaps between, made when they are first used; all 0 between uses.
    histograms: Vec<T>,
}

impl<T: Copy + Default + AddAssign> Scratch<T> {
    /// Counts the tables of some covers, all of them in one block of records after another.
    fn count_covers<S: AddAssign + From<T>>(
        &mut self,
        domain: &Domain,
        columns: &[Column],
        rows: Range<usize>,
        weights: impl Weights<Cell = T>,
        covers: &[Cover],
        tables: &mut [Vec<S>],
    ) {
        let shapes: Vec<Vec<usize>> = covers.iter().map(|c| domain.shape(&c.clique)).collect();
        for start in rows.clone().step_by(BLOCK) {
            let rows = start..(start + BLOCK).min(rows.end);
            for ((cover, shape), table) in covers.iter().zip(&shapes).zip(&mut *tables) {
                let axes: Vec<(&Column, usize)> =
                    cover.clique.iter().map(|a| &columns[a]).zip(shape.iter().copied()).collect();
                // A megabyte of histograms is more than a few records are worth.
                if table.len() <= SMALL && rows.len() > PIECE {
                    self.histograms.resize(4 * (SMALL + GAP), T::default());
                    count_small(&axes, rows.clone(), weights, &mut self.histograms, table);
                } else {
                    count_large(&axes, rows.clone(), weights, table);
                }
            }
        }
    }
}

/// Buffers that are not in use.
struct Pool<T>(Mutex<Vec<Scratch<T>>>);

impl<T> Default for Pool<T> {
    fn default() -> Self {
        Self(Mutex::new(Vec::new()))
    }
}

impl<T: Copy + Default> Pool<T> {
    /// Lends a buffer.
    fn with(&self, work: impl FnOnce(&mut Scratch<T>)) {
        let free = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = free().pop();
        let mut own = taken.unwrap_or_default();
        work(&mut own);
        free().push(own);
    }
}

/// An unsigned number that can hold the index of a cell.
trait Index: Copy + Default {
    /// `self k + code`; the caller knows that it fits.
    fn extend(self, k: usize, code: u32) -> Self;
}

#[expect(clippy::cast_possible_truncation, reason = "the indices were checked to fit 16 bits")]
impl Index for u16 {
    #[inline]
    fn extend(self, k: usize, code: u32) -> Self {
        self.wrapping_mul(k as Self).wrapping_add(code as Self)
    }
}

impl Index for u32 {
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "a table has fewer than 2^32 cells")]
    fn extend(self, k: usize, code: u32) -> Self {
        self.wrapping_mul(k as Self).wrapping_add(code)
    }
}

impl Index for usize {
    #[inline]
    fn extend(self, k: usize, code: u32) -> Self {
        self.wrapping_mul(k).wrapping_add(code as Self)
    }
}

/// Calls `visit` with the row-major indices of the records, piece by piece.
fn for_each_piece<I: Index>(
    axes: &[(&Column, usize)],
    rows: Range<usize>,
    mut visit: impl FnMut(Range<usize>, &[I]),
) {
    fn extend<I: Index, C: Copy + Into<u32>>(indices: &mut [I], codes: &[C], k: usize) {
        for (index, code) in indices.iter_mut().zip(codes) {
            *index = index.extend(k, (*code).into());
        }
    }
    let mut indices = [I::default(); PIECE];
    for start in rows.clone().step_by(PIECE) {
        let piece = start..(start + PIECE).min(rows.end);
        let indices = &mut indices[..piece.len()];
        indices.fill(I::default());
        for (column, k) in axes {
            match column {
                Column::U8(codes) => extend(indices, &codes[piece.clone()], *k),
                Column::U16(codes) => extend(indices, &codes[piece.clone()], *k),
                Column::U32(codes) => extend(indices, &codes[piece.clone()], *k),
            }
        }
        visit(piece, indices);
    }
}

/// Adds the counts of a block to a table of at most 2^16 cells.
///
/// An index of 16 bits cannot leave a histogram of 2^16 cells, so the loop needs no check.
fn count_small<T: Copy + Default + AddAssign, S: AddAssign + From<T>>(
    axes: &[(&Column, usize)],
    rows: Range<usize>,
    weights: impl Weights<Cell = T>,
    histograms: &mut [T],
    table: &mut [S],
) {
    let Some((first, rest)) = histograms.split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((second, rest)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((third, rest)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    let Some((fourth, _)) = rest[GAP..].split_first_chunk_mut::<SMALL>() else {
        return;
    };
    for_each_piece(axes, rows, |piece, indices: &[u16]| {
        let (quads, rest) = indices.as_chunks::<4>();
        for ([a, b, c, d], [at_a, at_b, at_c, at_d]) in
            quads.iter().zip(weights.quads(piece.clone()))
        {
            first[usize::from(*a)] += at_a;
            second[usize::from(*b)] += at_b;
            third[usize::from(*c)] += at_c;
            fourth[usize::from(*d)] += at_d;
        }
        for (index, weight) in rest.iter().zip(weights.rest(piece)) {
            first[usize::from(*index)] += weight;
        }
    });
    let cells = table.len();
    let parts =
        (&mut first[..cells], &mut second[..cells], &mut third[..cells], &mut fourth[..cells]);
    for part in [parts.0, parts.1, parts.2, parts.3] {
        for (count, more) in table.iter_mut().zip(part) {
            *count += S::from(*more);
            *more = T::default();
        }
    }
}

/// Adds the counts of a block to a table of any size.
fn count_large<T: Copy, S: AddAssign + From<T>>(
    axes: &[(&Column, usize)],
    rows: Range<usize>,
    weights: impl Weights<Cell = T>,
    table: &mut [S],
) {
    for_each_piece(axes, rows, |piece, indices: &[usize]| {
        let (quads, rest) = indices.as_chunks::<4>();
        for (cells, added) in quads.iter().zip(weights.quads(piece.clone())) {
            cells.iter().zip(added).for_each(|(cell, weight)| table[*cell] += S::from(weight));
        }
        rest.iter()
            .zip(weights.rest(piece))
            .for_each(|(cell, weight)| table[*cell] += S::from(weight));
    });
}

/// The row-major index of every record's cell in the table over a clique.
///
/// # Errors
/// As [`count`], or a table of more than 2^32 cells.
pub(super) fn cells(
    domain: &Domain,
    columns: &[Column],
    records: usize,
    clique: &Clique,
) -> Result<Vec<u32>> {
    sizes(domain, std::slice::from_ref(clique))?;
    let shape = domain.shape(clique);
    let axes: Vec<(&Column, usize)> = clique.iter().map(|a| &columns[a]).zip(shape).collect();
    let mut cells = Vec::with_capacity(records);
    for_each_piece(&axes, 0..records, |_, indices: &[u32]| cells.extend_from_slice(indices));
    Ok(cells)
}

#[cfg(test)]
mod tests;
