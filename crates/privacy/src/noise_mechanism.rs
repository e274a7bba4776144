//! The noise of a ledger entry, and what it costs.

use serde::{Deserialize, Serialize};

use crate::select::GRID_STEPS;
use crate::{
    Delta, NeighboringRelation, Ratio, Rho, ScoreSensitivity, StatisticSensitivity, threshold,
};

/// The noise of an entry, with the parameters that determine its cost.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", rename_all_fields = "kebab-case")]
#[non_exhaustive]
pub enum NoiseMechanism {
    /// Discrete Gaussian noise on integer counts: ρ = Δ₂² / (2σ²) (Canonne, Kamath & Steinke 2020, Theorem 14).
    DiscreteGaussian {
        /// The parameter σ², in squared counts.
        variance: Ratio,
        /// Δ₂² in squared counts.
        squared_l2_sensitivity: u32,
    },
    /// Discrete Gaussian noise on the counts of values that occur, of which those that reach a threshold are named:
    /// δ-approximate ρ-zCDP (Bun & Steinke 2016, Definition 8.1) with ρ = Δ₂² / (2σ²).
    ThresholdedGaussian {
        /// The parameter σ², in squared counts.
        variance: Ratio,
        /// Δ₂² of the counts of values that both neighbors have, in squared counts.
        squared_l2_sensitivity: u32,
        /// The smallest noisy count at which a value is named.
        threshold: u64,
        /// The largest probability that a value is named whose records are all of one neighbor.
        delta: Delta,
        /// Which tables are neighbors.
        relation: NeighboringRelation,
    },
    /// Discrete Laplace noise on integer counts: ε-DP with ε = Δ₁ / scale (Ghosh, Roughgarden & Sundararajan 2012), so
    /// ρ = ε² / 2 (Bun & Steinke 2016, Proposition 1.4).
    DiscreteLaplace {
        /// The scale, in counts.
        scale: Ratio,
        /// Δ₁ in counts.
        l1_sensitivity: u32,
    },
    /// Discrete Gaussian noise on integer queries measured together, each with its own `σ_q²`:
    /// `ρ = ½ max Σ_q ‖Δ_q‖²/σ_q²` over pairs of neighbors.
    JointDiscreteGaussian {
        /// Number of queries.
        queries: u64,
        /// `max Σ_q ‖Δ_q‖²/σ_q²`, rounded up.
        squared_sensitivity: Ratio,
        /// Which tables are neighbors.
        relation: NeighboringRelation,
    },
    /// One candidate, with probability proportional to exp(ε · score / (2 · sensitivity)): ρ = ε² / 8
    /// (Cesar & Rogers 2021). Several independent draws from that distribution cost as much each.
    ExponentialMechanism {
        /// ε of each draw, rounded down.
        epsilon: Ratio,
        /// The largest difference of a score between neighbors, before rounding to the grid.
        sensitivity: f64,
        /// Grid step for rounding scores; two steps are added to the sensitivity.
        grid: f64,
        /// Number of candidates.
        candidates: u64,
        /// Number of independent draws.
        #[serde(default = "one_draw", skip_serializing_if = "is_one_draw")]
        draws: u32,
        /// How the sensitivity follows from the relation; `None` only in ledgers of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<ScoreSensitivity>,
    },
    /// One candidate: the first in random order that a coin of probability exp(−ε · (best − score) / (2 · sensitivity))
    /// accepts: ε-DP (`McKenna` & Sheldon 2020), so ρ = ε² / 2 (Bun & Steinke 2016, Proposition 1.4).
    PermuteAndFlip {
        /// ε, rounded down.
        epsilon: Ratio,
        /// The largest difference of a score between neighbors, before rounding to the grid.
        sensitivity: f64,
        /// Grid step for rounding scores; two steps are added to the sensitivity.
        grid: f64,
        /// Number of candidates.
        candidates: u64,
        /// How the sensitivity follows from the relation; `None` only in ledgers of older versions.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        score: Option<ScoreSensitivity>,
    },
    /// Discrete Gaussian noise on real numbers rounded to a grid: ρ = Δ₂² / (2σ²), both in squared grid steps.
    GridGaussian {
        /// The parameter σ², in squared steps.
        variance: Ratio,
        /// Δ₂² of all numbers together, in squared steps, including the effect of rounding.
        squared_sensitivity: u64,
        /// Number of values.
        numbers: u64,
        /// Step of the grid, in counts.
        grid: f64,
        /// Which tables are neighbors.
        relation: NeighboringRelation,
    },
    /// Discrete Laplace noise on real numbers rounded to a grid: ε = Δ₁ / scale, and ρ = ε² / 2.
    GridLaplace {
        /// The scale, in steps.
        scale: Ratio,
        /// Δ₁ of all numbers together, in steps, including the effect of rounding.
        sensitivity: u64,
        /// Number of values.
        numbers: u64,
        /// Step of the grid, in counts.
        grid: f64,
        /// Which tables are neighbors.
        relation: NeighboringRelation,
    },
}

impl NoiseMechanism {
    /// Whether a budget covers the mechanism, decided in integer arithmetic.
    pub(super) fn is_covered_by(&self, rho: Rho) -> bool {
        match self {
            Self::DiscreteGaussian { variance, squared_l2_sensitivity }
            | Self::ThresholdedGaussian { variance, squared_l2_sensitivity, .. } => {
                gaussian_is_covered(u64::from(*squared_l2_sensitivity), *variance, rho)
            }
            Self::GridGaussian { variance, squared_sensitivity, .. } => {
                gaussian_is_covered(*squared_sensitivity, *variance, rho)
            }
            Self::GridLaplace { scale, sensitivity, .. } => {
                laplace_is_covered(*sensitivity, *scale, rho)
            }
            Self::DiscreteLaplace { scale, l1_sensitivity } => {
                laplace_is_covered(u64::from(*l1_sensitivity), *scale, rho)
            }
            Self::JointDiscreteGaussian { squared_sensitivity, .. } => {
                // It already includes the variances, so use σ² = 1.
                let cost = u128::from(squared_sensitivity.numerator()) << Rho::UNIT_BITS;
                let paid = (2 * u128::from(rho.units()))
                    .saturating_mul(squared_sensitivity.denominator().into());
                cost <= paid
            }
            Self::ExponentialMechanism { epsilon, draws, .. } => {
                squares_are_covered(*draws, *epsilon, 8, rho)
            }
            Self::PermuteAndFlip { epsilon, .. } => squares_are_covered(1, *epsilon, 2, rho),
        }
    }

    /// Whether the parameters agree with each other.
    pub(super) fn is_consistent(&self) -> bool {
        match self {
            Self::ExponentialMechanism { sensitivity, grid, candidates, score, .. }
            | Self::PermuteAndFlip { sensitivity, grid, candidates, score, .. } => {
                let is_derived = |score: &ScoreSensitivity| {
                    score.is_valid() && score.value().to_bits() == sensitivity.to_bits()
                };
                let steps = (sensitivity / GRID_STEPS).to_bits();
                *sensitivity > 0.0
                    && sensitivity.is_finite()
                    && grid.to_bits() == steps
                    && *candidates > 0
                    && self.draws() > 0
                    && score.as_ref().is_none_or(is_derived)
            }
            Self::ThresholdedGaussian { variance, threshold, delta, relation, .. } => {
                threshold::is_covered(*relation, *variance, *threshold, delta.value())
            }
            Self::GridGaussian { squared_sensitivity, numbers, grid, relation, .. } => {
                let least = StatisticSensitivity::least_steps(*relation);
                is_grid(*grid)
                    && u128::from(*squared_sensitivity) >= u128::from(*numbers) * least * least
            }
            Self::GridLaplace { sensitivity, numbers, grid, relation, .. } => {
                let least = StatisticSensitivity::least_steps(*relation);
                is_grid(*grid) && u128::from(*sensitivity) >= u128::from(*numbers) * least
            }
            _ => true,
        }
    }

    /// ε of pure differential privacy in units of 2⁻⁴⁰, rounded up; `None` for Gaussian noise, which has no such ε.
    pub(super) fn pure_epsilon(&self) -> Option<u128> {
        let units = |numerator: u128, denominator: u64| {
            let scaled = numerator.checked_mul(1 << EPSILON_BITS)?;
            (denominator > 0).then(|| scaled.div_ceil(denominator.into()))
        };
        let laplace = |l1_sensitivity: u64, scale: Ratio| {
            let l1 = u128::from(l1_sensitivity);
            units(l1.checked_mul(scale.denominator().into())?, scale.numerator())
        };
        match self {
            Self::DiscreteGaussian { .. }
            | Self::ThresholdedGaussian { .. }
            | Self::JointDiscreteGaussian { .. }
            | Self::GridGaussian { .. } => None,
            Self::DiscreteLaplace { scale, l1_sensitivity } => {
                laplace(u64::from(*l1_sensitivity), *scale)
            }
            Self::GridLaplace { scale, sensitivity, .. } => laplace(*sensitivity, *scale),
            Self::ExponentialMechanism { epsilon, .. } | Self::PermuteAndFlip { epsilon, .. } => {
                let one = u128::from(epsilon.numerator());
                units(one * u128::from(self.draws()), epsilon.denominator())
            }
        }
    }

    /// The probability with which the noise does not protect at all: 0 but for thresholds.
    pub(super) fn delta(&self) -> f64 {
        match self {
            Self::ThresholdedGaussian { delta, .. } => delta.value(),
            _ => 0.0,
        }
    }

    /// The number of candidates that it chooses: 0 if it adds noise to numbers.
    pub fn draws(&self) -> u32 {
        match self {
            Self::ExponentialMechanism { draws, .. } => *draws,
            Self::PermuteAndFlip { .. } => 1,
            _ => 0,
        }
    }

    /// The number of candidates that it chooses among; `None` if it adds noise to numbers.
    pub fn candidates(&self) -> Option<u64> {
        match self {
            Self::ExponentialMechanism { candidates, .. }
            | Self::PermuteAndFlip { candidates, .. } => Some(*candidates),
            _ => None,
        }
    }
}

/// The number of draws of a ledger of an older version, and the one that is not written.
const fn one_draw() -> u32 {
    1
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
const fn is_one_draw(draws: &u32) -> bool {
    *draws == one_draw()
}

/// Whether the step of a grid is the one that statistics are rounded to.
fn is_grid(grid: f64) -> bool {
    grid.to_bits() == StatisticSensitivity::GRID.to_bits()
}

/// Number of fractional bits used to sum ε.
pub(super) const EPSILON_BITS: u32 = 40;

/// Whether `Δ₂² / (2σ²) ≤ ρ`, in integers.
fn gaussian_is_covered(squared_l2_sensitivity: u64, variance: Ratio, rho: Rho) -> bool {
    // The right side may saturate; the left side must not.
    let cost = u128::from(squared_l2_sensitivity)
        .checked_mul(variance.denominator().into())
        .and_then(|cost| cost.checked_mul(1 << Rho::UNIT_BITS));
    let paid = (2 * u128::from(rho.units())).saturating_mul(variance.numerator().into());
    variance.numerator() > 0 && cost.is_some_and(|cost| cost <= paid)
}

/// Whether `(Δ₁ / scale)² / 2 ≤ ρ`, in integers.
fn laplace_is_covered(l1_sensitivity: u64, scale: Ratio, rho: Rho) -> bool {
    let cost = u128::from(l1_sensitivity)
        .checked_mul(scale.denominator().into())
        .and_then(|x| x.checked_mul(x))
        .and_then(|cost| cost.checked_mul(1 << Rho::UNIT_BITS));
    let scale = u128::from(scale.numerator()) * u128::from(scale.numerator());
    let paid = (2 * u128::from(rho.units())).saturating_mul(scale);
    scale > 0 && cost.is_some_and(|cost| cost <= paid)
}

/// Whether `draws · ε² / divisor ≤ ρ`, in integers.
fn squares_are_covered(draws: u32, epsilon: Ratio, divisor: u128, rho: Rho) -> bool {
    let square = |part: u64| u128::from(part) * u128::from(part);
    let cost = square(epsilon.numerator())
        .checked_mul(draws.into())
        .and_then(|cost| cost.checked_mul(1 << Rho::UNIT_BITS));
    let paid = (divisor * u128::from(rho.units())).saturating_mul(square(epsilon.denominator()));
    cost.is_some_and(|cost| cost <= paid)
}
