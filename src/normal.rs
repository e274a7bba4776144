//! Quantiles of the normal distribution, and one of the Laplace distribution.

use statrs::function::erf::erfc_inv;

/// Probability with which an interval holds.
pub(crate) const CONFIDENCE: f64 = 0.95;

/// The 97.5 % quantile: half the width of a 95 % interval, in standard deviations.
pub(crate) const TWO_SIDED: f64 = 1.959_963_984_540_054;

/// The 97.5 % quantile of the Laplace distribution, in standard deviations: `ln 20 / √2`. That of sums of such noise is
/// smaller.
pub(crate) const LAPLACE: f64 = 2.118_3;

/// The number of standard deviations to each side that a variable leaves with some probability: of the normal
/// distribution, or of the Laplace distribution, whose tails are those of sums of such noise or heavier.
///
/// `outside`: in (0, 1), on both sides together.
pub(crate) fn deviations(outside: f64, is_laplace: bool) -> f64 {
    if is_laplace {
        -outside.ln() / std::f64::consts::SQRT_2
    } else {
        upper_quantile(outside / 2.0)
    }
}

/// The number that a standard normal variable exceeds with probability `tail`.
///
/// `tail`: in (0, 1). The upper tail is the argument, so that small ones keep their precision.
pub(crate) fn upper_quantile(tail: f64) -> f64 {
    std::f64::consts::SQRT_2 * erfc_inv(2.0 * tail)
}

#[cfg(test)]
mod tests;
