//! Student's t distribution with any number of degrees of freedom.

use statrs::function::beta::beta_reg;
use statrs::function::erf::erfc;

/// From here on the normal distribution stands for Student's: for t up to 10, probabilities differ by less than 3 parts in
/// 10⁵.
const NORMAL: f64 = 1e8;

/// `P[|T| > t]` for T with `degrees` degrees of freedom: `I_x(ν/2, 1/2)` at `x = ν / (ν + t²)`.
///
/// `degrees`: above 0; infinite for the normal distribution.
pub(super) fn two_sided(t: f64, degrees: f64) -> f64 {
    if degrees >= NORMAL {
        return erfc(t / std::f64::consts::SQRT_2);
    }
    beta_reg(degrees / 2.0, 0.5, degrees / (degrees + t * t))
}

/// The number that |T| exceeds with probability `tail`, by bisection: statrs' inverse is off by far for few degrees of
/// freedom and small tails.
///
/// `tail`: strictly between 0 and 1.
pub(super) fn two_sided_quantile(tail: f64, degrees: f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    while two_sided(high, degrees) > tail && high < 1e300 {
        (low, high) = (high, 2.0 * high);
    }
    for _ in 0..80 {
        let middle = f64::midpoint(low, high);
        if two_sided(middle, degrees) > tail {
            low = middle;
        } else {
            high = middle;
        }
    }
    f64::midpoint(low, high)
}

#[cfg(test)]
mod tests;
