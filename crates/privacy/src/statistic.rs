//! Real numbers computed from the records, released with noise on a grid.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sampler::{DiscreteGaussian, DiscreteLaplace, IntegerNoise, LARGEST_PART};
use crate::{
    MarginalSensitivity, NeighboringRelation, NoiseMechanism, Ratio, Rho, variance_at_least,
};
use jointly_pgm::domain::Clique;

/// Steps of the grid in one count.
const STEPS: u32 = 1 << 8;
/// Steps added to the sensitivity: one for the rounding of two values, one for their floating-point errors, each of
/// which may be just below half a step (`docs/theory/sensitivities.md`, section 7).
const ROUNDING_STEPS: u32 = 2;
/// ε of Laplace noise is a fraction with this power of two as its denominator.
const EPSILON_BITS: u32 = 20;
/// Values are clamped to this many steps.
const LARGEST_STEPS: f64 = (1_u64 << 52) as f64;

/// How much one record changes a list of numbers, each in counts.
///
/// It is derived from the relation and the kind of numbers; callers cannot set it directly. Proofs:
/// `docs/theory/sensitivities.md`, sections 3 and 7.
///
/// ```
/// use jointly_privacy::{NeighboringRelation::ReplaceOne, StatisticSensitivity};
/// let errors = StatisticSensitivity::l1_errors(ReplaceOne, 10)?; // each of ten changes by at most 2
/// assert_eq!(errors.steps(), 2 * 256 + 2);
/// let mixture = StatisticSensitivity::mixture_error(ReplaceOne, 0.25)?; // 1, and the bracket's width
/// assert_eq!(mixture.steps(), 256 + 64 + 2);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StatisticSensitivity {
    relation: NeighboringRelation,
    /// Length of the list.
    numbers: u32,
    /// The largest change of one number, in grid steps, including rounding.
    steps: u32,
}

impl StatisticSensitivity {
    /// Step of the grid, in counts.
    pub const GRID: f64 = 1.0 / STEPS as f64;

    /// The sensitivity of `‖M_r(D) − v_r‖₁` on several cliques r, where no `v_r` depends on the records. Each changes
    /// by 2 under replace-one, by 1 under add-remove-one, by K for units.
    ///
    /// # Errors
    /// No number, or more than 2²⁴.
    pub fn l1_errors(relation: NeighboringRelation, numbers: usize) -> Result<Self> {
        let numbers = u32::try_from(numbers).ok().filter(|n| (1..=1 << 24).contains(n));
        let numbers = numbers.ok_or_else(|| {
            Error::invalid_parameter("numbers to release", "another number", "1 to 2^24 of them")
        })?;
        let counts = MarginalSensitivity::of(relation).l1();
        Ok(Self { relation, numbers, steps: counts * STEPS + ROUNDING_STEPS })
    }

    /// The sensitivity of a mean of such numbers, with weights that are not negative and sum to 1, computed to within
    /// half a step: that of one of them, however many there are (`docs/theory/sensitivities.md`, section 9).
    ///
    /// # Errors
    /// Never fails in practice.
    pub fn mean_l1_error(relation: NeighboringRelation) -> Result<Self> {
        Self::l1_errors(relation, 1)
    }

    /// The sensitivity of N f, where f is the best mixture error and N the constant that divides all counts. The
    /// released number is the middle of a bracket of fixed width around N f. The sensitivity is `1 + width`, and
    /// `K + width` for units.
    ///
    /// `width`: in counts, in (0, 1024]; rounded up to the grid.
    ///
    /// # Errors
    /// A width outside that range.
    pub fn mixture_error(relation: NeighboringRelation, width: f64) -> Result<Self> {
        if !(width > 0.0 && width <= 1024.0) {
            return Err(Error::invalid_parameter("width in counts", width, "in (0, 1024]"));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^18")]
        let slack = (width * f64::from(STEPS)).ceil() as u32;
        let counts = relation.changed_cell();
        Ok(Self { relation, numbers: 1, steps: counts * STEPS + slack + ROUNDING_STEPS })
    }

    /// The least change of one number, in grid steps, that any statistic of this kind states: that of one cell.
    pub(crate) const fn least_steps(relation: NeighboringRelation) -> u128 {
        (relation.changed_cell() * STEPS + ROUNDING_STEPS) as u128
    }

    /// Length of the list.
    pub(crate) fn numbers(self) -> usize {
        self.numbers as usize
    }

    /// The largest change of one number, in grid steps of 2⁻⁸ counts, including rounding.
    pub fn steps(self) -> u32 {
        self.steps
    }

    /// `Δ₂²` of the whole list, in squared steps.
    fn squared_l2(self) -> u64 {
        u64::from(self.numbers) * u64::from(self.steps) * u64::from(self.steps)
    }

    /// Δ₁ of the whole list, in steps.
    fn l1(self) -> u64 {
        u64::from(self.numbers) * u64::from(self.steps)
    }
}

/// Numbers of a type of one's own, with their proof in one place, as [`Score`](crate::Score) for scores.
pub trait Statistic: Sync {
    /// What is kept of the marginals counted so far.
    type Kept: Default;

    /// How much one record changes the numbers, and how many there are.
    ///
    /// # Errors
    /// Parameters out of range.
    fn sensitivity(&self, relation: NeighboringRelation) -> Result<StatisticSensitivity>;

    /// The marginals that the numbers are computed from, in batches that fit in memory.
    fn batches(&self) -> Vec<Vec<Clique>>;

    /// Takes over the exact marginals of the next batch. Nothing else may leave: no printing, no files, no panic on a count.
    fn add(&self, kept: &mut Self::Kept, marginals: &[Vec<u32>]);

    /// The numbers, in counts, as many as the sensitivity is of.
    fn values(&self, kept: &Self::Kept) -> Vec<f64>;
}

/// The form of the noise of [`Curator::measure_statistic`](crate::Curator::measure_statistic).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseForm {
    /// Discrete Gaussian: ρ-zCDP.
    #[default]
    Gaussian,
    /// Discrete Laplace: ε-differentially private with ε = √(2ρ), rounded down, which is ρ-zCDP.
    Laplace,
}

/// Real numbers with noise: they may be published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NoisyStatistics {
    /// The numbers with noise, in counts, in the given order.
    pub values: Vec<f64>,
    /// Standard deviation of the noise in each number, in counts.
    pub stddev: f64,
    /// The form of the noise.
    pub form: NoiseForm,
}

impl NoisyStatistics {
    /// Half the width, in counts, of intervals around `numbers` of these values. With probability at least
    /// `confidence`, all intervals cover the measured values simultaneously, by the union bound.
    ///
    /// `confidence`: strictly between 0 and 1. The intervals cover only the noise, not any uncertainty of the values
    /// before noise.
    ///
    /// # Errors
    /// A confidence outside that range, or no number.
    pub fn half_width(&self, confidence: f64, numbers: usize) -> Result<f64> {
        if !(confidence > 0.0 && confidence < 1.0) || numbers == 0 {
            let expected = "strictly between 0 and 1, for at least one number";
            return Err(Error::invalid_parameter("confidence", confidence, expected));
        }
        let miss = (1.0 - confidence) / numbers as f64;
        // The discrete Gaussian is subgaussian with σ² (CKS 2020): P[|X| ≥ t] ≤ 2 exp(−t²/2σ²). For the discrete Laplace,
        // in steps, P[|X| ≥ t] = 2 exp(−t/scale)/(1 + exp(−1/scale)) ≤ exp(−(t − 1)/scale).
        let step = StatisticSensitivity::GRID;
        Ok(step
            + match self.form {
                NoiseForm::Gaussian => self.stddev * (2.0 * (2.0 / miss).ln()).sqrt(),
                NoiseForm::Laplace => {
                    step + self.stddev / std::f64::consts::SQRT_2 * (1.0 / miss).ln()
                }
            })
    }
}

/// Noise on the grid.
pub(crate) struct GridNoise {
    noise: IntegerNoise,
    form: NoiseForm,
    /// In steps.
    stddev: f64,
}

impl GridNoise {
    /// The noise that a budget buys, and its entry in the ledger.
    ///
    /// # Errors
    /// A `rho` of 0, or one so small that the noise does not fit the sampler.
    pub(crate) fn new(
        sensitivity: StatisticSensitivity,
        form: NoiseForm,
        rho: Rho,
    ) -> Result<(Self, NoiseMechanism)> {
        let too_small =
            || Error::invalid_budget("rho of a measurement", rho, "enough for the sampler");
        if rho.is_zero() {
            return Err(too_small());
        }
        let (numbers, relation) = (u64::from(sensitivity.numbers), sensitivity.relation);
        let grid = StatisticSensitivity::GRID;
        match form {
            NoiseForm::Gaussian => {
                let squared_sensitivity = sensitivity.squared_l2();
                // One part in 2⁴⁰ more than Δ₂²/(2ρ) outweighs the rounding of this quotient.
                let least = squared_sensitivity as f64 / (2.0 * rho.to_f64());
                let variance = variance_at_least(least * (1.0 + 1e-12)).map_err(|_| too_small())?;
                let noise = DiscreteGaussian::new(variance).map_err(|_| too_small())?;
                let entry = NoiseMechanism::GridGaussian {
                    variance,
                    squared_sensitivity,
                    numbers,
                    grid,
                    relation,
                };
                let stddev = variance.to_f64().sqrt();
                Ok((Self { noise: IntegerNoise::Gaussian(noise), form, stddev }, entry))
            }
            NoiseForm::Laplace => {
                // (ε 2²⁰)² = 2ρ 2⁴⁰ = 2 · units; an ε above 2⁶ is no use.
                let epsilon = (2 * u128::from(rho.units())).isqrt();
                let epsilon =
                    u64::try_from(epsilon).unwrap_or(u64::MAX).min(1 << (EPSILON_BITS + 6));
                let scaled = sensitivity.l1().checked_mul(1 << EPSILON_BITS);
                let scaled = scaled.filter(|s| *s <= LARGEST_PART).ok_or_else(too_small)?;
                let scale = Ratio::new(scaled, epsilon)?;
                let entry = NoiseMechanism::GridLaplace {
                    scale,
                    sensitivity: sensitivity.l1(),
                    numbers,
                    grid,
                    relation,
                };
                let noise = IntegerNoise::Laplace(DiscreteLaplace::new(scale)?);
                let stddev = scale.to_f64() * std::f64::consts::SQRT_2;
                Ok((Self { noise, form, stddev }, entry))
            }
        }
    }

    /// Converts values in counts to whole steps. Values that are not finite become 0.
    pub(crate) fn steps(values: &[f64]) -> Vec<i64> {
        let step = |value: &f64| {
            let exact =
                if value.is_finite() { (value * f64::from(STEPS)).round_ties_even() } else { 0.0 };
            #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^52")]
            let exact = exact.clamp(-LARGEST_STEPS, LARGEST_STEPS) as i64;
            exact
        };
        values.iter().map(step).collect()
    }

    /// The noise on each number, in steps.
    pub(crate) fn of_steps(&self) -> &IntegerNoise {
        &self.noise
    }

    /// Converts noisy steps to counts.
    pub(crate) fn in_counts(&self, noisy: &[i64]) -> NoisyStatistics {
        let steps = f64::from(STEPS);
        let values = noisy.iter().map(|value| *value as f64 / steps).collect();
        NoisyStatistics { values, stddev: self.stddev / steps, form: self.form }
    }
}
