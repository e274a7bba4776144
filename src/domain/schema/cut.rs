//! Bins that a range of numbers cuts: which share of their values lies in it, as values are drawn.

use super::{Bins, Piece};

/// Numbers in `[from, below)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct NumberRange {
    pub(crate) from: f64,
    pub(crate) below: f64,
}

impl NumberRange {
    /// The ranges in order, those that meet joined.
    pub(crate) fn joined(mut ranges: Vec<Self>) -> Vec<Self> {
        ranges.sort_unstable_by(|a, b| a.from.total_cmp(&b.from));
        let mut joined: Vec<Self> = Vec::with_capacity(ranges.len());
        for range in ranges {
            match joined.last_mut() {
                Some(last) if range.from <= last.below => last.below = last.below.max(range.below),
                _ => joined.push(range),
            }
        }
        joined
    }
}

impl Piece {
    /// The part of the piece in a range, and its share of the piece's values. `is_integer`: whether values are whole numbers.
    fn within(&self, range: NumberRange, is_integer: bool) -> Option<(Self, f64)> {
        if self.is_value() {
            return (range.from <= self.from && self.from < range.below).then_some((*self, 1.0));
        }
        let below = self.below.min(range.below);
        let Some(step) = self.step.or(is_integer.then_some(1.0)) else {
            // Of evenly spread real numbers, no share is a single one.
            let is_point = range.below <= range.from.next_up();
            let from = self.from.max(range.from);
            let share = (below - from) / (self.below - self.from);
            let part = (share > 0.0 && !is_point).then_some(Self { from, below, ..*self });
            return part.map(|part| (part, share));
        };
        let before = |end: f64| ((end - self.from) / step).ceil().max(0.0);
        let (first, last) = (before(range.from), before(below));
        let from = self.from + first * step;
        let share = (last - first) / before(self.below);
        (share > 0.0).then_some((Self { from, below, ..*self }, share))
    }
}

impl Bins {
    /// The pieces that values of a bin are drawn from: its own, or the one of all that is plausible.
    pub(crate) fn drawn_from(&self, bin: u32) -> Vec<Piece> {
        let own = self.pieces_of(bin);
        if !own.is_empty() {
            return own.to_vec();
        }
        let (from, below) = self.plausible(bin);
        let from = if self.is_integer() { from.ceil() } else { from };
        vec![Piece { from, below, rows: 1, step: None }]
    }

    /// The share of the values of a bin that lie in some ranges, as they are drawn. It is 1 where the ranges hold the whole bin.
    ///
    /// `ranges`: that do not meet.
    pub(crate) fn share_within(&self, bin: u32, ranges: &[NumberRange]) -> f64 {
        if ranges.iter().any(|range| self.holds(bin, *range)) {
            return 1.0;
        }
        let pieces = self.drawn_from(bin);
        let all: f64 = pieces.iter().map(|piece| f64::from(piece.rows)).sum();
        let parts = pieces.iter().flat_map(|piece| {
            let own = ranges.iter().filter_map(|range| piece.within(*range, self.is_integer()));
            own.map(|(_, share)| share * f64::from(piece.rows))
        });
        // The sum of no number is -0.
        (parts.sum::<f64>() / all).max(0.0)
    }

    /// Whether a range holds a whole bin. In the outer ones, values beyond the ends count too.
    fn holds(&self, bin: u32, range: NumberRange) -> bool {
        let edges = self.edges();
        let at = bin as usize;
        let (low, high) = (edges[at], edges[at + 1]);
        let low = if self.is_integer() { low.ceil() } else { low };
        let high = if self.is_integer() { high.ceil() } else { high };
        range.from <= low && high <= range.below
    }

    /// The same bins, from which only values in some ranges are drawn; bins without any are as they were.
    pub(crate) fn narrowed(&self, ranges: &[NumberRange]) -> Self {
        /// Weights are whole numbers: this many times as large they keep the shares of small pieces.
        const FINER: f64 = 10_000.0;
        let mut narrowed = Vec::new();
        for bin in 0..self.count() {
            if !(f64::MIN_POSITIVE..1.0).contains(&self.share_within(bin, ranges)) {
                narrowed.extend_from_slice(self.pieces_of(bin));
                continue;
            }
            let pieces = self.drawn_from(bin);
            let most = pieces.iter().map(|piece| piece.rows).max().unwrap_or(1);
            let finer = FINER.min(f64::from(u32::MAX / most.max(1)));
            let parts = pieces.iter().flat_map(|piece| {
                let own = ranges.iter().filter_map(|range| piece.within(*range, self.is_integer()));
                own.map(|(part, share)| Piece { rows: weight(piece.rows, finer * share), ..part })
            });
            narrowed.extend(parts);
        }
        self.of_parts(self.edges().to_vec(), narrowed)
    }

    /// The same bins, each cut where one of some numbers lies in it. Of a piece that is cut, each part has the rows of its
    /// share of the values, and at least one.
    pub(crate) fn cut_at(&self, numbers: &[f64]) -> Self {
        let rounded = |x: &f64| if self.is_integer() { x.ceil() } else { *x };
        let mut edges = self.edges().to_vec();
        let ends = [edges[0], edges[edges.len() - 1]].map(|edge| rounded(&edge));
        let inside = numbers.iter().map(rounded).filter(|x| *x > ends[0] && *x < ends[1]);
        for number in inside {
            let at = edges.partition_point(|edge| rounded(edge) < number);
            if rounded(&edges[at]) > number {
                edges.insert(at, number);
            }
        }
        if edges.len() == self.edges().len() {
            return self.clone();
        }
        let mut pieces = Vec::new();
        for piece in self.pieces() {
            let parts = edges.windows(2).filter_map(|ends| {
                let own = NumberRange { from: ends[0], below: ends[1] };
                let (part, share) = piece.within(own, self.is_integer())?;
                Some(Piece { rows: weight(piece.rows, share), ..part })
            });
            pieces.extend(parts);
        }
        self.of_parts(edges, pieces)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float saturates")]
fn weight(rows: u32, factor: f64) -> u32 {
    (f64::from(rows) * factor).round().max(1.0) as u32
}

#[cfg(test)]
mod tests;
