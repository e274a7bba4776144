//! Student's t distribution with any number of degrees of freedom.

use crate::model::ln_gamma;

/// Steps of the continued fraction; it converges in far fewer.
const STEPS: u32 = 500;

/// `P[|T| > t]` for T with `degrees` degrees of freedom: `I_x(ν/2, 1/2)` at `x = ν / (ν + t²)`.
///
/// `degrees`: above 0; infinite for the normal distribution.
pub(super) fn two_sided(t: f64, degrees: f64) -> f64 {
    let square = t * t;
    // Beyond 10⁷ degrees of freedom, the normal distribution: the difference is below 10⁻⁷.
    let degrees = degrees.min(1e7);
    incomplete_beta(degrees / (degrees + square), degrees / 2.0, 0.5)
}

/// The number that |T| exceeds with probability `tail`, by bisection.
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

/// The regularized incomplete beta function `I_x(a, b)`, by the continued fraction of DLMF 8.17.22.
fn incomplete_beta(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 || x >= 1.0 {
        return x.clamp(0.0, 1.0);
    }
    // The fraction converges quickly below the mean of the distribution.
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(1.0 - x, b, a);
    }
    let front = ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p();
    front.exp() / (a * fraction(x, a, b))
}

/// `1 + d₁/(1 + d₂/(1 + ...))`, by Lentz's method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    let away = |number: f64| if number.abs() < 1e-300 { 1e-300 } else { number };
    let (mut value, mut numerator, mut denominator) = (1.0, 1.0, 0.0);
    for step in 1..=STEPS {
        let m = f64::from(step / 2);
        let d = if step % 2 == 0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        denominator = 1.0 / away(1.0 + d * denominator);
        numerator = away(1.0 + d / numerator);
        let change = numerator * denominator;
        value *= change;
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

#[cfg(test)]
mod tests;
