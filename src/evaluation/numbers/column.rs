//! One numeric column in two tables.

use serde::Serialize;

use crate::data::NumericColumn;
use crate::domain::Bins;

/// A column's numbers in one table; of a weighted one, all but `count`, `min` and `max` are weighted. Quantiles are the smallest number with at least that share of numbers at or below.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NumberSummary {
    /// Records with a number.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Standard deviation, with the number of records, or the sum of their weights, as divisor.
    pub spread: f64,
    /// Smallest number.
    pub min: f64,
    /// 5 % quantile.
    pub p5: f64,
    /// 25 % quantile.
    pub p25: f64,
    /// Median, the 50 % quantile.
    pub median: f64,
    /// 75 % quantile.
    pub p75: f64,
    /// 95 % quantile.
    pub p95: f64,
    /// Largest number.
    pub max: f64,
}

/// A column in a real and a synthetic table. **Not private.**
///
/// Distances are in units of the real spread; `None` if that is 0, or if a table has no number in the column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ColumnComparison {
    /// The attribute's name.
    pub name: String,
    /// Whether numbers are days since 1970-01-01.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_date: bool,
    /// The real numbers; `None` if all are missing.
    pub real: Option<NumberSummary>,
    /// The synthetic numbers; `None` if all are missing.
    pub synthetic: Option<NumberSummary>,
    /// Share of missing numbers in the real table.
    pub real_missing: f64,
    /// Share of missing numbers in the synthetic table.
    pub synthetic_missing: f64,
    /// Synthetic mean less real mean, in spreads.
    pub mean_difference: Option<f64>,
    /// Wasserstein distance of order 1, `∫ |F⁻¹(u) - G⁻¹(u)| du`, in spreads.
    pub wasserstein: Option<f64>,
    /// Share of the synthetic numbers below the real minimum or above the real maximum.
    pub outside: f64,
    /// How far, in spreads, the real mean could move if every number moved within its bin and within the real range: what
    /// marginals of bins cannot see.
    pub unseen: Option<f64>,
}

impl ColumnComparison {
    /// Compares the given numbers of a column. `spread`: the unit of distances.
    pub(super) fn between(
        column: &NumericColumn,
        real: Numbers<'_>,
        synthetic: Numbers<'_>,
        spread: f64,
    ) -> Self {
        let (a, b) = (real.sorted(), synthetic.sorted());
        let missing = |all: Numbers<'_>, known: &[Counted]| {
            let (all, known) = (all.total(), total(known));
            if all > 0.0 { (all - known).max(0.0) / all } else { 0.0 }
        };
        let (of_real, of_synthetic) = (summary(&a), summary(&b));
        let in_spreads = |distance: f64| (spread > 0.0).then(|| distance / spread);
        let both = of_real.zip(of_synthetic);
        let is_outside =
            |(value, _): &&Counted| of_real.is_some_and(|r| *value < r.min || *value > r.max);
        // An empty sum would be -0.
        let outside = b.iter().filter(is_outside).fold(0.0, |sum, (_, weight)| sum + weight);
        let share =
            |part: f64, all: &[Counted]| if all.is_empty() { 0.0 } else { part / total(all) };
        Self {
            name: column.name.clone(),
            is_date: column.is_date,
            real: of_real,
            synthetic: of_synthetic,
            real_missing: missing(real, &a),
            synthetic_missing: missing(synthetic, &b),
            mean_difference: both.and_then(|(real, other)| in_spreads(other.mean - real.mean)),
            wasserstein: both.and_then(|_| in_spreads(wasserstein(&a, &b))),
            outside: share(outside, &b),
            unseen: of_real.and_then(|_| in_spreads(room(&column.bins, &a))),
        }
    }
}

/// A number and how much it counts.
type Counted = (f64, f64);

/// The numbers of a column in a table, NaN where missing, with the weights of the records.
#[derive(Clone, Copy)]
pub(super) struct Numbers<'n> {
    pub(super) values: &'n [f64],
    /// `None` if all records count the same.
    pub(super) weights: Option<&'n [f64]>,
}

impl Numbers<'_> {
    /// The weight of a record.
    pub(super) fn weight(&self, record: usize) -> f64 {
        self.weights.map_or(1.0, |weights| weights[record])
    }

    /// The numbers of records with a weight, ascending.
    pub(super) fn sorted(self) -> Vec<Counted> {
        let all = self.values.iter().enumerate().map(|(at, value)| (*value, self.weight(at)));
        let mut sorted: Vec<Counted> =
            all.filter(|(value, weight)| !value.is_nan() && *weight > 0.0).collect();
        sorted.sort_unstable_by(|one, other| {
            one.0.total_cmp(&other.0).then(one.1.total_cmp(&other.1))
        });
        sorted
    }

    fn total(&self) -> f64 {
        (0..self.values.len()).map(|at| self.weight(at)).sum()
    }
}

fn total(numbers: &[Counted]) -> f64 {
    numbers.iter().map(|(_, weight)| weight).sum()
}

fn mean(numbers: &[Counted]) -> f64 {
    numbers.iter().map(|(value, weight)| value * weight).sum::<f64>() / total(numbers)
}

/// The standard deviation of some numbers; 0 for none.
pub(super) fn spread(numbers: &[Counted]) -> f64 {
    if numbers.is_empty() {
        return 0.0;
    }
    let mean = mean(numbers);
    let squares = numbers.iter().map(|(value, weight)| weight * (value - mean).powi(2));
    (squares.sum::<f64>() / total(numbers)).sqrt()
}

fn summary(sorted: &[Counted]) -> Option<NumberSummary> {
    let ((min, _), (max, _)) = (*sorted.first()?, *sorted.last()?);
    let all = total(sorted);
    // The smallest number with at least this many percent at or below it. Sums of whole weights are exact.
    let quantile = |percent: f64| {
        let mut below = 0.0;
        let reached = |(_, weight): &&Counted| {
            below += weight;
            below * 100.0 >= percent * all
        };
        sorted.iter().find(reached).map_or(max, |(value, _)| *value)
    };
    Some(NumberSummary {
        count: sorted.len() as u64,
        mean: mean(sorted),
        spread: spread(sorted),
        min,
        p5: quantile(5.0),
        p25: quantile(25.0),
        median: quantile(50.0),
        p75: quantile(75.0),
        p95: quantile(95.0),
        max,
    })
}

/// The Wasserstein distance of order 1 between two sorted lists.
fn wasserstein(a: &[Counted], b: &[Counted]) -> f64 {
    let (all_a, all_b) = (total(a), total(b));
    // Positions on [0, 1] in units of 1/(A B), so that those of whole weights are exact.
    let (mut i, mut j, mut from, mut sum) = (0, 0, 0.0_f64, 0.0);
    let (mut below_a, mut below_b) = (0.0, 0.0);
    while let (Some((x, of_x)), Some((y, of_y))) = (a.get(i), b.get(j)) {
        let (end_a, end_b) = ((below_a + of_x) * all_b, (below_b + of_y) * all_a);
        let to = end_a.min(end_b);
        sum += (x - y).abs() * (to - from).max(0.0);
        from = to;
        if end_a <= to {
            (i, below_a) = (i + 1, below_a + of_x);
        }
        if end_b <= to {
            (j, below_b) = (j + 1, below_b + of_y);
        }
    }
    sum / (all_a * all_b)
}

/// How far the mean could move if every number moved within its bin and within the range of all, on average.
fn room(bins: &Bins, sorted: &[Counted]) -> f64 {
    let (Some((min, _)), Some((max, _))) = (sorted.first(), sorted.last()) else { return 0.0 };
    let (mut down, mut up) = (0.0, 0.0);
    for (value, weight) in sorted {
        let Some(bin) = bins.code(*value) else { continue };
        let (low, high) = (bins.edges()[bin as usize], bins.edges()[bin as usize + 1]);
        // The largest whole number of a bin is below its end.
        let high = if bins.is_integer() { high.ceil() - 1.0 } else { high };
        down += weight * (value - low.max(*min)).max(0.0);
        up += weight * (high.min(*max) - value).max(0.0);
    }
    f64::max(down, up) / total(sorted)
}
