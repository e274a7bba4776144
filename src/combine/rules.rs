//! One number with its interval: from what was measured, or from a released table and its replicates.
//!
//! Derivation: `docs/theory/several-tables.md`.

use serde::Serialize;

use crate::combine::MeasuredStatistic;
use crate::combine::student::{two_sided, two_sided_quantile};
use crate::error_bars::CONFIDENCE;
use crate::normal::LAPLACE;

/// The factor of the squared bias in the variance. The bias of a release is estimated by that of its replicates, which are
/// made from a table that is already smooth; see `docs/results/several-tables.md` for how it was chosen.
const BIAS: f64 = 1.0;

/// What an interval is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The value on the private table.
    PrivateTable,
    /// The value in the population that the private table is a random sample of.
    Population,
}

/// What an interval comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// The measurements of the release, and the law of their noise.
    Measurements,
    /// The released table and its replicates.
    Replicates,
    /// Tables drawn from the posterior distribution of the private one.
    Posterior,
}

/// An estimate with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct CombinedEstimate {
    /// What it comes from.
    pub method: Method,
    /// The value on the measured marginal, `2 q̂ − q̄` from replicates, or the mean over posterior tables.
    pub estimate: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// Degrees of freedom of the t distribution that the interval refers to; infinite for the normal distribution.
    #[serde(skip_serializing_if = "is_infinite")]
    pub degrees: f64,
    /// The lower end of the 95 % interval.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
    /// Whether the noise has the Laplace distribution, whose tails are heavier.
    #[serde(skip)]
    pub(super) is_laplace: bool,
}

impl CombinedEstimate {
    /// The estimate from the measurements alone: the law of the noise is known. Sums of Gaussian noise are normal. Sums of
    /// Laplace noise have tails of at most those of a single draw with their variance, to which the interval refers.
    ///
    /// `sampling`: as in [`of_replicates`](Self::of_replicates).
    pub fn of_measurements(found: &MeasuredStatistic, sampling: f64, is_laplace: bool) -> Self {
        let variance = found.noise + sampling;
        let found = Self::with(Method::Measurements, found.value, variance, f64::INFINITY);
        if !is_laplace {
            return found;
        }
        let half = LAPLACE * found.standard_error;
        let (lower, upper) = (found.estimate - half, found.estimate + half);
        Self { lower, upper, is_laplace, ..found }
    }

    /// An estimate whose interval is known. `error`: its standard error, to first order.
    pub(super) fn of_region(estimate: f64, error: f64, [lower, upper]: [f64; 2]) -> Self {
        let found = Self::with(Method::Measurements, estimate, error * error, f64::INFINITY);
        Self { lower, upper, ..found }
    }

    /// Combines a released table's value with those of its replicates. `None` for fewer than two replicates.
    ///
    /// `released`: q̂. `replicates`: `q_1, …, q_M`. `sampling`: the variance of the statistic in a random sample of the size of
    /// the private table, or 0 for the value on the private table itself.
    ///
    /// ```
    /// use jointly::combine::CombinedEstimate;
    /// let found = CombinedEstimate::of_replicates(0.40, &[0.41, 0.39, 0.40, 0.42, 0.38], 0.0).expect("five replicates");
    /// assert!((found.estimate - 0.40).abs() < 1e-12 && found.lower < 0.36 && 0.44 < found.upper);
    /// ```
    pub fn of_replicates(released: f64, replicates: &[f64], sampling: f64) -> Option<Self> {
        let spread = Spread::of(replicates)?;
        let bias = spread.mean - released;
        let noise = spread.between + BIAS * bias * bias;
        let variance = noise + sampling;
        // Satterthwaite's rule, with the squared bias taken as known.
        let degrees = spread.degrees(variance);
        Some(Self::with(Method::Replicates, released - bias, variance, degrees))
    }

    /// Rubin's rules for the values of a statistic on tables that are each as likely to be the private one
    /// ([`crate::posterior`]): the variance is `Ū + (1 + 1/M) B`. `None` for fewer than two tables.
    ///
    /// `values`: one from each table. `sampling`: Ū, the mean over the tables of the statistic's variance in a random sample, or 0 for
    /// the value on the private table itself.
    ///
    /// ```
    /// use jointly::combine::CombinedEstimate;
    /// let found = CombinedEstimate::of_imputations(&[0.41, 0.39, 0.40, 0.42, 0.38], 0.01).expect("five tables");
    /// assert!((found.estimate - 0.40).abs() < 1e-12 && (found.standard_error - (0.01_f64 + 1.2 * 0.00025).sqrt()).abs() < 1e-12);
    /// ```
    pub fn of_imputations(values: &[f64], sampling: f64) -> Option<Self> {
        let spread = Spread::of(values)?;
        let variance = sampling + spread.between;
        let degrees = spread.degrees(variance);
        Some(Self::with(Method::Posterior, spread.mean, variance, degrees))
    }

    fn with(method: Method, estimate: f64, variance: f64, degrees: f64) -> Self {
        let standard_error = variance.sqrt();
        let half = two_sided_quantile(1.0 - CONFIDENCE, degrees) * standard_error;
        let (lower, upper) = (estimate - half, estimate + half);
        Self { method, estimate, standard_error, degrees, lower, upper, is_laplace: false }
    }

    /// The p value of the test that the statistic has this value, two-sided.
    pub fn p_value(&self, value: f64) -> f64 {
        let distance = (self.estimate - value).abs();
        if self.standard_error > 0.0 {
            tail(distance / self.standard_error, self.degrees, self.is_laplace)
        } else {
            f64::from(u8::from(distance == 0.0))
        }
    }

    /// Whether a number is in the interval, its ends included.
    pub fn covers(&self, number: f64) -> bool {
        (self.lower..=self.upper).contains(&number)
    }
}

/// The values of a statistic on M tables.
struct Spread {
    many: f64,
    mean: f64,
    /// `(1 + 1/M) B`, with B their variance.
    between: f64,
}

impl Spread {
    /// `None` for fewer than two values.
    fn of(values: &[f64]) -> Option<Self> {
        let many = values.len() as f64;
        if values.len() < 2 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / many;
        let squares: f64 = values.iter().map(|q| (q - mean).powi(2)).sum();
        Some(Self { many, mean, between: squares / (many - 1.0) * (1.0 + 1.0 / many) })
    }

    /// The degrees of freedom of a variance of which this is a part, and the rest is known.
    fn degrees(&self, variance: f64) -> f64 {
        if self.between > 0.0 {
            (self.many - 1.0) * (variance / self.between).powi(2)
        } else {
            f64::INFINITY
        }
    }
}

/// The probability of a distance of this many standard deviations or more.
pub(super) fn tail(deviations: f64, degrees: f64, is_laplace: bool) -> f64 {
    let tail = two_sided(deviations, degrees);
    let laplace = (-std::f64::consts::SQRT_2 * deviations).exp();
    if is_laplace { tail.max(laplace) } else { tail }
}

/// JSON has no infinity.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_infinite(degrees: &f64) -> bool {
    degrees.is_infinite()
}

#[cfg(test)]
mod tests;
