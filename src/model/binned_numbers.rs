//! Numbers that are known as counts of bins: their mean and quantiles, and how far off these are where the counts were measured.
//!
//! Inside a bin, numbers lie as records are drawn: by the bin's pieces, or evenly.

use serde::Serialize;

use crate::domain::{Bins, Piece};
use crate::least_squares::EstimatedMarginal;

/// The relative standard deviation of the size of a group from which a mean in it, or another statistic, has no interval: the
/// noise is then too large to take it to first order. It was chosen on Adult (`docs/results/several-tables.md`).
pub const LOOSE: f64 = 0.3;

/// Where the values of a bin lie: ranges from the first to the last one, or single values, with weights.
fn parts(bins: &Bins, bin: u32) -> Vec<(f64, f64, f64)> {
    let step = |step: Option<f64>| step.or(bins.is_integer().then_some(1.0));
    let part = |piece: &Piece| {
        // The last value of a range with steps is a step below its end.
        let last = match step(piece.step) {
            _ if piece.is_value() => piece.from,
            None => piece.below,
            Some(step) => piece.from + step * ((piece.below - piece.from) / step - 1.0).ceil(),
        };
        (piece.from, last.max(piece.from), f64::from(piece.rows))
    };
    bins.drawn_from(bin).iter().map(part).collect()
}

/// The mean of the values in a bin.
pub(crate) fn bin_mean(bins: &Bins, bin: u32) -> f64 {
    let parts = parts(bins, bin);
    let weight: f64 = parts.iter().map(|(_, _, weight)| weight).sum();
    parts.iter().map(|(low, high, w)| w * f64::midpoint(*low, *high)).sum::<f64>() / weight
}

/// The mean and the quartiles of numbers that are known as counts of bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// At shares of 1/4, 1/2 and 3/4.
    pub(crate) quartiles: [f64; 3],
}

impl Spread {
    /// `counts`: one for each bin; `None` if they are all 0.
    pub(crate) fn of(bins: &Bins, counts: &[f64]) -> Option<Self> {
        let quartiles = [0.25, 0.5, 0.75].map(|share| quantile(bins, counts, share));
        (counts.iter().sum::<f64>() > 0.0).then(|| Self { mean: mean(bins, counts), quartiles })
    }
}

/// The mean of values in bins with these counts.
pub(super) fn mean(bins: &Bins, counts: &[f64]) -> f64 {
    let sum: f64 = (0..).zip(counts).map(|(bin, count)| count * bin_mean(bins, bin)).sum();
    sum / counts.iter().sum::<f64>()
}

/// The smallest value with at least this share at or below it; within a range by linear interpolation, rounded up to a
/// whole number in columns of these.
pub(super) fn quantile(bins: &Bins, counts: &[f64], share: f64) -> f64 {
    let mut left = share * counts.iter().sum::<f64>();
    let mut last = bins.edges()[0];
    for (bin, count) in (0..).zip(counts) {
        if *count <= 0.0 {
            // Measured counts can be below 0: the records so far are then fewer.
            left -= count;
            continue;
        }
        let mut parts = parts(bins, bin);
        parts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let weight: f64 = parts.iter().map(|(_, _, weight)| weight).sum();
        for (low, high, own) in parts {
            let here = count * own / weight;
            if left <= here {
                return within(bins, low, high, left / here);
            }
            left -= here;
            last = high;
        }
    }
    last
}

/// The value at a share of a range.
fn within(bins: &Bins, low: f64, high: f64, share: f64) -> f64 {
    if bins.is_integer() {
        // Each of the whole numbers low, ..., high has the same share.
        return (low + (share * (high - low + 1.0)).ceil() - 1.0).clamp(low, high);
    }
    low + share * (high - low)
}

/// Cells of a measured marginal whose records have numbers.
pub(super) struct MeasuredNumbers<'m> {
    pub(super) bins: &'m Bins,
    pub(super) marginal: &'m EstimatedMarginal,
    /// The bin of each cell's records, the cell, and the share of its records that count.
    pub(super) cells: Vec<(u32, usize, f64)>,
    /// Standard deviations to each side.
    pub(super) deviations: f64,
}

/// Two ends.
pub(super) type Ends = (f64, f64);

impl MeasuredNumbers<'_> {
    /// The variance of a sum of the cells' counts, each with a weight.
    fn variance(&self, weight: impl Fn(&(u32, usize, f64)) -> f64) -> f64 {
        let cells: Vec<(usize, f64)> =
            self.cells.iter().map(|cell| (cell.1, weight(cell))).collect();
        self.marginal.variance(&cells)
    }

    fn sum(&self, weight: impl Fn(&(u32, usize, f64)) -> f64) -> f64 {
        let counts = self.marginal.counts();
        self.cells.iter().map(|cell| weight(cell) * counts[cell.1]).sum()
    }

    /// The counts of the bins, as measured.
    pub(super) fn of_bins(&self) -> Vec<f64> {
        let mut counts = vec![0.0; self.bins.count() as usize];
        let measured = self.marginal.counts();
        self.cells.iter().for_each(|(bin, cell, share)| {
            counts[*bin as usize] += share * measured[*cell];
        });
        counts
    }

    /// Whether the number of records is known well enough for a mean over them.
    pub(super) fn is_precise(&self) -> bool {
        let records = self.sum(|(.., share)| *share);
        records > 0.0 && self.variance(|(.., share)| *share).sqrt() < LOOSE * records
    }

    fn mean(&self) -> f64 {
        let records = self.sum(|(.., share)| *share);
        self.sum(|(bin, _, share)| share * bin_mean(self.bins, *bin)) / records
    }

    /// The standard deviation of the noise in the mean, to first order.
    pub(super) fn mean_stddev(&self) -> f64 {
        let (records, mean) = (self.sum(|(.., share)| *share), self.mean());
        let weight = |(bin, _, share): &(u32, usize, f64)| {
            share * (bin_mean(self.bins, *bin) - mean) / records
        };
        self.variance(weight).sqrt()
    }

    /// An interval for the mean, to first order in the noise: that of `Σ s m y / Σ s y` over cells with counts y, mean numbers m
    /// and shares s. `None` if too few records have numbers for it.
    pub(super) fn mean_interval(&self) -> Option<Ends> {
        if !self.is_precise() {
            return None;
        }
        let number = |bin: u32| bin_mean(self.bins, bin);
        let (mean, half) = (self.mean(), self.deviations * self.mean_stddev());
        let numbers = || self.cells.iter().map(|(bin, ..)| number(*bin));
        let (least, most) =
            (numbers().fold(f64::INFINITY, f64::min), numbers().fold(f64::NEG_INFINITY, f64::max));
        Some(((mean - half).clamp(least, most), (mean + half).clamp(least, most)))
    }

    /// An interval for a quantile (Woodruff 1952): the bins at whose end the number of records so far may be that share of all. It
    /// reaches from the start of the first to the end of the last one, so that it holds wherever numbers lie inside bins.
    pub(super) fn quantile_interval(&self, share: f64) -> Option<Ends> {
        // Above 0: more than the share have numbers up to the bin's end.
        let excess = |bin: u32| -> (f64, f64) {
            let weight = |(own, _, part): &(u32, usize, f64)| {
                part * (f64::from(u8::from(*own <= bin)) - share)
            };
            (self.sum(weight), self.deviations * self.variance(weight).sqrt())
        };
        let mut bins: Vec<u32> = self.cells.iter().map(|(bin, ..)| *bin).collect();
        bins.sort_unstable();
        bins.dedup();
        let excesses: Vec<(f64, f64)> = bins.iter().map(|bin| excess(*bin)).collect();
        let last = bins.len().saturating_sub(1);
        let first = excesses.iter().position(|(found, half)| found + half >= 0.0).unwrap_or(last);
        let end = excesses.iter().rposition(|(found, half)| found - half < 0.0);
        let end = end.map_or(0, |below| below + 1).clamp(first, last);
        let (first, end) = bins.get(first).zip(bins.get(end))?;
        Some((self.ends_of(*first).0, self.ends_of(*end).1))
    }

    /// The smallest and the largest number of a bin that count.
    fn ends_of(&self, bin: u32) -> Ends {
        let is_cut = self.cells.iter().any(|(own, _, share)| *own == bin && *share < 1.0);
        let edges = self.bins.edges();
        let (low, high) = (edges[bin as usize], edges[bin as usize + 1]);
        if is_cut {
            let parts = parts(self.bins, bin);
            let low = parts.iter().map(|part| part.0).fold(high, f64::min);
            return (low, parts.iter().map(|part| part.1).fold(low, f64::max));
        }
        if self.bins.is_integer() { (low.ceil(), high.ceil() - 1.0) } else { (low, high) }
    }
}

#[cfg(test)]
mod tests;
