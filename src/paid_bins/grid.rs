//! The range of a number in small cells, and their blocks.

use crate::data::UNITS;
use crate::domain::Bins;
use crate::error::Result;

/// Blocks of one level in a block of the level above: ten, so that blocks begin at round numbers.
const BRANCHING: usize = 10;

/// Blocks of the top level, about, at most.
const TOP: usize = 100;

/// Cells, about, at most.
const MOST_CELLS: f64 = 1e6;

/// A range in cells `[i w, (i + 1) w)`, the first and the last cut to the range. They are numbered from the beginning of the
/// first block of the top level, so that every block begins at a multiple of its width.
#[derive(Clone, Debug)]
pub(super) struct Grid {
    low: f64,
    high: f64,
    /// w, one of 1, 2 and 5 times a power of ten.
    width: f64,
    /// i of the cell with number 0.
    start: f64,
    /// Cells before those of the range.
    skipped: usize,
    /// Cells of the range.
    cells: usize,
    whole: bool,
}

impl Grid {
    /// The cells between the outer edges of some bins.
    pub(super) fn new(bins: &Bins) -> Self {
        const CLOSE: f64 = 1e-9;
        let (mut low, mut high) = (bins.edges()[0], bins.edges()[bins.edges().len() - 1]);
        let whole = bins.is_integer();
        if whole {
            (low, high) = (low.ceil(), high.ceil());
        }
        let mut width = round_up((high - low) / MOST_CELLS);
        if whole {
            width = width.max(1.0);
        }
        let (first, end) = ((low / width + CLOSE).floor(), (high / width - CLOSE).ceil());
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most 10^6 + 1"
        )]
        let cells = (end - first).max(1.0) as usize;
        let grid = Self { low, high, width, start: first, skipped: 0, cells, whole };
        let top = grid.widths().next().unwrap_or(1) as f64;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to 10^6")]
        let skipped = first.rem_euclid(top) as usize;
        Self { start: first - skipped as f64, skipped, ..grid }
    }

    /// Number of cells of the range.
    pub(super) fn cells(&self) -> usize {
        self.cells
    }

    /// Number of the range's first cell.
    pub(super) fn skipped(&self) -> usize {
        self.skipped
    }

    /// Number of all cells, unused ones included, in whole blocks of the top level.
    pub(super) fn padded(&self) -> usize {
        (self.skipped + self.cells).next_multiple_of(self.widths().next().unwrap_or(1))
    }

    /// Whether values are whole numbers.
    pub(super) fn is_whole(&self) -> bool {
        self.whole
    }

    /// Whether each cell is one whole number.
    pub(super) fn is_of_units(&self) -> bool {
        self.whole && self.width <= 1.0
    }

    /// Number of levels; 0 if every whole number gets its own bin anyway.
    pub(super) fn levels(&self) -> usize {
        self.widths().count()
    }

    /// The widths of the levels' blocks, in cells, from the top.
    pub(super) fn widths(&self) -> impl Iterator<Item = usize> + use<> {
        let is_listed = self.is_of_units() && self.cells <= UNITS;
        let mut levels = u32::from(!is_listed);
        while !is_listed && self.cells > TOP * BRANCHING.pow(levels - 1) {
            levels += 1;
        }
        (0..levels).rev().map(|level| BRANCHING.pow(level))
    }

    /// The smallest value of a cell, or the end of the range after its last cell.
    pub(super) fn edge(&self, cell: usize) -> f64 {
        if cell <= self.skipped {
            return self.low;
        }
        if cell >= self.skipped + self.cells {
            return self.high;
        }
        let place = self.start + cell as f64;
        // Dividing by the number of cells in 1 gives the closest number to a decimal.
        if self.width < 1.0 { place / (1.0 / self.width).round() } else { place * self.width }
    }

    /// The cells of the range as bins.
    ///
    /// # Errors
    /// None in practice.
    pub(super) fn bins(&self, name: &str) -> Result<Bins> {
        let edges = (0..=self.cells).map(|cell| self.edge(self.skipped + cell)).collect();
        Bins::new(edges, Some(self.whole), name)
    }
}

/// The smallest of 1, 2 and 5 times a power of ten that is not below a number above 0.
fn round_up(number: f64) -> f64 {
    let unit = 10_f64.powf(number.log10().floor());
    let fits = |factor: &f64| factor * unit >= number * (1.0 - 1e-12);
    [1.0, 2.0, 5.0].into_iter().find(fits).unwrap_or(10.0) * unit
}

#[cfg(test)]
mod tests;
