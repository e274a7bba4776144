//! How well the noisy counts of a column say where its numbers lie.

use crate::normal::upper_quantile;
use crate::paid_bins::grid::Grid;
use crate::paid_bins::tree::{Leaf, Level};

/// The probability that the interval misses the median.
const MISS: f64 = 0.05;

/// The median of a column, as far as its noisy counts allow. All of it is computed from these.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Median {
    /// The start of the block that holds the median of the fitted counts.
    value: f64,
    /// The median of the private numbers lies between these, with a probability of 95 % over the noise.
    low: f64,
    high: f64,
    /// Half of the fitted numbers are within this distance of one another: the quartiles.
    spread: f64,
}

impl Median {
    /// `levels`: from the top. `leaves`: the fitted blocks, in order. `None` if nothing was measured.
    ///
    /// For the blocks b of the top level with noisy counts y, `D_b = Σ_{c ≤ b} y_c − ½ Σ_c y_c` is above 0 from the median's block
    /// on, up to noise of variance `¼ m σ²` for m blocks (Woodruff 1952).
    pub(super) fn new(grid: &Grid, levels: &[Level], leaves: &[Leaf]) -> Option<Self> {
        let top = levels.first()?;
        let half_width =
            upper_quantile(MISS / 2.0) * (top.blocks().len() as f64 * top.variance()).sqrt() / 2.0;
        let all: f64 = top.blocks().iter().sum();
        let excess: Vec<f64> = top
            .blocks()
            .iter()
            .scan(0.0, |sum, count| {
                *sum += count;
                Some(*sum - all / 2.0)
            })
            .collect();
        let last = excess.len().checked_sub(1)?;
        let first = excess.iter().position(|found| found + half_width >= 0.0).unwrap_or(last);
        let end = excess.iter().rposition(|found| found - half_width < 0.0).map_or(0, |at| at + 1);
        let end = end.clamp(first, last);
        // Where noise leaves no record, nothing is known but the range.
        let of = |share| quantile(grid, leaves, share).unwrap_or_else(|| grid.edge(0));
        let [value, lower, upper] = [0.5, 0.25, 0.75].map(of);
        Some(Self {
            value,
            low: grid.edge(first * top.width()),
            high: grid.edge((end + 1) * top.width()),
            spread: upper - lower,
        })
    }

    /// What to say of it.
    pub(super) fn text(&self) -> String {
        let Self { value, low, high, .. } = self;
        let text =
            format!("median {value}, and from {low} to {high} as far as the noise allows (95 %)");
        if self.is_drowned() {
            return format!(
                "{text}: noise drowns where the numbers lie; more epsilon, a smaller range, or bins by hand"
            );
        }
        text
    }

    /// Whether the interval is wider than the middle half of the numbers.
    fn is_drowned(&self) -> bool {
        self.high - self.low > self.spread
    }
}

/// A quantile of the fitted numbers: the start of its block.
fn quantile(grid: &Grid, leaves: &[Leaf], share: f64) -> Option<f64> {
    let all: f64 = leaves.iter().map(|leaf| leaf.records).sum();
    let mut left = share * all;
    let block = leaves.iter().find(|leaf| {
        left -= leaf.records;
        left < 0.0
    })?;
    Some(grid.edge(block.from))
}

#[cfg(test)]
mod tests;
