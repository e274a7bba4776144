//! Bins of a number of which only the range is known.

use crate::domain::{Bins, Outside};
use crate::error::Result;

/// Whole numbers up to which each gets its own bin.
const MOST_UNITS: f64 = 128.0;

/// Approximate number of bins of a longer range.
const BINS: f64 = 20.0;

/// The range of a number.
pub(super) struct Range {
    /// Its smallest value.
    pub(super) low: f64,
    /// Its largest value.
    pub(super) high: f64,
    /// Whether values are whole numbers.
    pub(super) whole: bool,
    /// Values with a meaning of their own, such as "none" or "not known", in the range or outside.
    pub(super) singles: Vec<f64>,
    /// Whether values outside are counted in the outer bins.
    pub(super) clamp: bool,
}

impl Range {
    /// The numbers between two values, both included.
    pub(super) fn between(low: f64, high: f64) -> Self {
        let whole = low.fract() == 0.0 && high.fract() == 0.0;
        Self { low, high, whole, singles: Vec::new(), clamp: false }
    }

    /// A bin for each of few whole numbers, otherwise about twenty with round edges; single values get their own.
    ///
    /// # Errors
    /// A range that is empty or not finite. `name`: the column.
    pub(super) fn bins(&self, name: &str) -> Result<Bins> {
        let after = |value: f64| if self.whole { value + 1.0 } else { value.next_up() };
        let low = self.singles.iter().copied().fold(self.low, f64::min);
        let high = after(self.singles.iter().copied().fold(self.high, f64::max));
        let mut edges = vec![low, high];
        if self.whole && self.high - self.low < MOST_UNITS {
            let mut next = self.low;
            while next <= self.high {
                edges.extend([next, next + 1.0]);
                next += 1.0;
            }
        } else {
            edges.extend([self.low, after(self.high)]);
            edges.extend(inner_edges(self.low, after(self.high)));
        }
        edges.extend(self.singles.iter().flat_map(|value| [*value, after(*value)]));
        edges.retain(|edge| (low..=high).contains(edge));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        let outside = if self.clamp { Outside::Clamp } else { Outside::Refuse };
        Ok(Bins::new(edges, Some(self.whole), name)?.with_outside(outside))
    }
}

/// Round edges that cut `[low, high)` into about 20 bins: equal ones for a short range, otherwise growing ones
/// above 0 and one or two below.
pub(super) fn inner_edges(low: f64, high: f64) -> Vec<f64> {
    const SHORT: f64 = 1000.0;
    const MANTISSAS: [f64; 6] = [1.0, 1.5, 2.0, 3.0, 5.0, 7.0];
    let length = high - low;
    if !length.is_finite() {
        return Vec::new();
    }
    if length <= SHORT {
        let steps = [1.0, 2.0, 5.0, 10.0, 20.0, 25.0, 50.0];
        let step = steps.into_iter().find(|step| length / step <= BINS).unwrap_or(100.0);
        let first = (low / step).ceil() * step;
        return (0_u8..=40).map(|i| first + f64::from(i) * step).collect();
    }
    let mut edges = vec![0.0];
    let mut decade = 10_f64.powf(high.abs().max(10.0).log10().floor());
    while decade >= 1.0 && edges.len() < 20 {
        let round = MANTISSAS.iter().rev().map(|m| m * decade).filter(|edge| *edge < high);
        let room = 20 - edges.len();
        edges.extend(round.filter(|edge| edge.fract() == 0.0).take(room));
        decade /= 10.0;
    }
    edges
}
