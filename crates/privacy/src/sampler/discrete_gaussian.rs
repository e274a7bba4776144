//! Discrete Gaussian noise.

use rand::CryptoRng;

use super::bernoulli_exp_fraction;
use super::discrete_laplace::{check_parts, geometric, signed};
use crate::Ratio;
use crate::error::Result;

/// The discrete Gaussian distribution: `P[x] ∝ exp(−x² / (2σ²))` on the integers.
///
/// Its variance is at most σ², and very nearly σ² for σ ≥ 1 (Canonne, Kamath & Steinke 2020, Corollary 9).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiscreteGaussian {
    variance: Ratio,
    /// ⌊σ⌋ + 1, the scale of the discrete Laplace proposal.
    scale: u64,
    /// σ² = numerator / denominator: `denominator · scale`.
    step: u128,
    /// `2 · numerator · denominator · scale²`.
    divisor: u128,
}

impl DiscreteGaussian {
    /// Creates the distribution with a parameter σ² above 0.
    ///
    /// # Errors
    /// A σ² of 0, or one whose numerator or denominator, in lowest terms, is above 2⁵⁰.
    pub(crate) fn new(variance: Ratio) -> Result<Self> {
        check_parts("discrete Gaussian variance", variance)?;
        let scale = (variance.numerator() / variance.denominator()).isqrt() + 1;
        let step = u128::from(variance.denominator()) * u128::from(scale);
        // denominator · scale² ≤ 4 · 2⁵⁰, so the divisor is at most 2¹⁰³.
        let divisor = 2 * u128::from(variance.numerator()) * step * u128::from(scale);
        Ok(Self { variance, scale, step, divisor })
    }

    /// The parameter σ².
    pub(crate) fn variance(&self) -> Ratio {
        self.variance
    }

    /// A draw (Canonne, Kamath & Steinke 2020, Algorithm 3).
    pub(crate) fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        let target = u128::from(self.variance.numerator());
        loop {
            // Proposal: discrete Laplace of whole scale t = ⌊σ⌋ + 1.
            let magnitude = geometric(self.scale, rng);
            let Some(value) = signed(magnitude, rng) else {
                continue;
            };
            // Accepted with probability exp(−(|x| − σ²/t)² / (2σ²)). The distance is below 2⁶², its square fits.
            let distance = (u128::from(magnitude) * self.step).abs_diff(target);
            if bernoulli_exp_fraction(distance * distance, self.divisor, rng) {
                return value;
            }
        }
    }
}

#[cfg(test)]
mod tests;
