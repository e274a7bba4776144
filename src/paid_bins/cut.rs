//! From fitted blocks to bins.

use std::ops::Range;

use crate::data::{HEAP, MOST, MOST_OF_REST, cut_at_quantiles};
use crate::domain::{Bins, Piece};
use crate::error::Result;
use crate::paid_bins::grid::Grid;
use crate::paid_bins::tree::Leaf;

/// Pieces of a bin, about.
const PIECES: f64 = 6.0;

/// The bins of a column, with pieces to draw from. `leaves`: in order; none if each whole number gets its own bin.
///
/// # Errors
/// None in practice: edges increase.
pub(super) fn bins_of(grid: &Grid, leaves: &[Leaf], name: &str) -> Result<Bins> {
    // Unused cells lie around the range.
    let blocks: Vec<Block> = leaves.iter().filter_map(|leaf| Block::new(grid, leaf)).collect();
    if blocks.is_empty() {
        return grid.bins(name);
    }
    let counts: Vec<(f64, u64)> = blocks.iter().map(|block| (block.low, block.rows)).collect();
    let total: u64 = blocks.iter().map(|block| block.rows).sum();
    let mut edges = Vec::new();
    let mut pieces = Vec::new();
    for group in groups(&blocks, &counts, total) {
        edges.push(blocks[group.start].low);
        let own = &counts[group.clone()];
        let rows: u64 = own.iter().map(|(_, rows)| rows).sum();
        let size = (rows as f64 / PIECES).max(1.0);
        if group.len() > 1 && rows > 0 {
            let parts = cut_at_quantiles(own, size, f64::INFINITY).into_iter();
            let part =
                |part: Range<usize>| &blocks[group.start + part.start..group.start + part.end];
            pieces.extend(parts.filter_map(|range| piece(grid, part(range))));
        }
    }
    edges.push(grid.edge(usize::MAX));
    Bins::new(edges, Some(grid.is_whole()), name)?.with_pieces(pieces, name)
}

/// A block in the column's numbers.
struct Block {
    low: f64,
    high: f64,
    rows: u64,
    /// Whether it is a single cell.
    is_cell: bool,
}

impl Block {
    fn new(grid: &Grid, leaf: &Leaf) -> Option<Self> {
        let from = leaf.from.max(grid.skipped());
        let end = leaf.end.min(grid.skipped() + grid.cells());
        if from >= end {
            return None;
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at least 0")]
        let rows = leaf.records.round() as u64;
        let (low, high) = (grid.edge(from), grid.edge(end));
        Some(Self { low, high, rows, is_cell: end - from == 1 })
    }
}

/// The bins as groups of blocks: cells with many rows alone, the others at quantiles.
fn groups(blocks: &[Block], counts: &[(f64, u64)], total: u64) -> Vec<Range<usize>> {
    let is_heap =
        |at: &usize| blocks[*at].is_cell && blocks[*at].rows as f64 >= HEAP * total as f64;
    let in_heaps: u64 = (0..blocks.len()).filter(is_heap).map(|at| blocks[at].rows).sum();
    let most = (MOST * total as f64).min(MOST_OF_REST * (total - in_heaps) as f64).max(1.0);
    let mut groups = Vec::new();
    let mut at = 0;
    while at < blocks.len() {
        let start = at;
        if is_heap(&at) {
            at += 1;
            groups.push(start..at);
            continue;
        }
        at += (at..blocks.len()).take_while(|at| !is_heap(at)).count();
        let run = cut_at_quantiles(&counts[start..at], most / 1.2, most).into_iter();
        groups.extend(run.map(|part| start + part.start..start + part.end));
    }
    groups
}

/// A piece of neighboring blocks; `None` without rows.
fn piece(grid: &Grid, blocks: &[Block]) -> Option<Piece> {
    let rows: u64 = blocks.iter().map(|block| block.rows).sum();
    // Blocks without rows at the ends are left out.
    let held = |block: &&Block| block.rows > 0;
    let (first, last) = (blocks.iter().find(held)?, blocks.iter().rfind(held)?);
    let is_value = grid.is_of_units() && last.high - first.low <= 1.0;
    let below = if is_value { first.low } else { last.high };
    Some(Piece {
        from: first.low,
        below,
        rows: u32::try_from(rows).unwrap_or(u32::MAX),
        step: None,
    })
}

#[cfg(test)]
mod tests;
