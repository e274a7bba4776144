//! Distributions of a count around its prediction: Poisson and negative binomial.

use statrs::function::gamma::ln_gamma;

/// Standard deviations to either side within which all probability lies, to 10⁻¹².
const REACH: f64 = 12.0;
/// Standard deviations of a count above which quantiles come from a smooth approximation.
const SMOOTH: f64 = 2000.0;
/// Size above which the negative binomial is indistinguishable from the Poisson distribution.
const POISSON: f64 = 1e7;

/// A count of this mean, with the variance `mean + mean²/size`: negative binomial, or Poisson for an infinite size.
#[derive(Clone, Copy, Debug)]
pub(super) struct Count {
    mean: f64,
    size: f64,
}

impl Count {
    /// `mean`: at least 0. `excess`: the variance beyond that of the Poisson distribution, at least 0.
    pub(super) fn new(mean: f64, excess: f64) -> Self {
        let size = if excess > 0.0 { mean * mean / excess } else { f64::INFINITY };
        Self { mean, size: if size < POISSON { size } else { f64::INFINITY } }
    }

    fn variance(self) -> f64 {
        self.mean + self.mean * self.mean / self.size
    }

    /// `P[X = k]`.
    fn probability(self, k: f64) -> f64 {
        let Self { mean, size } = self;
        if size.is_infinite() {
            return (k * mean.ln() - mean - ln_gamma(k + 1.0)).exp();
        }
        let chosen = ln_gamma(size + k) - ln_gamma(size) - ln_gamma(k + 1.0);
        (chosen + size * (size / (size + mean)).ln() + k * (mean / (size + mean)).ln()).exp()
    }

    /// `E|X − mean|`, in closed form: `2 (m + 1) P[X = m + 1] (1 + mean/size)` with m the whole part of the mean, as the sum
    /// of `(mean − k) P[X = k]` over k ≤ m telescopes.
    pub(super) fn mean_deviation(self) -> f64 {
        if self.mean <= 0.0 || self.size <= 0.0 {
            return 0.0;
        }
        let next = self.mean.floor() + 1.0;
        let found = 2.0 * next * self.probability(next) * (1.0 + self.mean / self.size);
        if found.is_finite() { found } else { 2.0 * self.mean }
    }

    /// The smallest counts whose distribution functions reach these probabilities, in ascending order.
    pub(super) fn quantiles(self, [low, high]: [f64; 2], z: f64) -> [f64; 2] {
        if self.mean <= 0.0 || self.size <= 0.0 {
            return [0.0, 0.0];
        }
        let deviation = self.variance().sqrt();
        if deviation > SMOOTH {
            // The cube root of a gamma variable is nearly normal (Wilson & Hilferty 1931).
            let shape = (self.mean / deviation).powi(2);
            let at = |z: f64| {
                let root = 1.0 - 1.0 / (9.0 * shape) + z / (3.0 * shape.sqrt());
                self.mean * root.max(0.0).powi(3)
            };
            return [at(-z).floor(), at(z).ceil()];
        }
        let mut k = (self.mean - REACH * deviation).floor().max(0.0);
        let odds = self.mean / if self.size.is_infinite() { 1.0 } else { self.size + self.mean };
        let mut probability = self.probability(k);
        let (mut sum, mut lower) = (probability, None);
        // Far to the right for distributions of a long tail.
        let end = self.mean + 40.0 * deviation + 40.0;
        loop {
            if lower.is_none() && sum >= low {
                lower = Some(k);
            }
            if sum >= high || k > end {
                return [lower.unwrap_or(k), k];
            }
            let more = if self.size.is_infinite() { 1.0 } else { self.size + k };
            probability *= odds * more / (k + 1.0);
            sum += probability;
            k += 1.0;
        }
    }
}

#[cfg(test)]
mod tests;
