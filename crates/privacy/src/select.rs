//! Exact sampling of selections by score: the exponential mechanism and permute-and-flip.

use rand::CryptoRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::sampler::{bernoulli_exp_fraction, uniform_below};
use crate::select_many::{Gaps, exponential, permute_and_flip};
use crate::{NoiseMechanism, Ratio, Rho, ScoreSensitivity};

/// Scores are rounded to whole steps of `sensitivity · 2^-STEP_BITS`.
const STEP_BITS: u32 = 16;
/// The sensitivity in such steps.
pub(crate) const GRID_STEPS: f64 = (1_u64 << STEP_BITS) as f64;
/// Steps added to the sensitivity: one for the rounding of two scores, one for their floating-point errors. As
/// differences are whole, these may be just below a step each (`docs/theory/sensitivities.md`, section 5).
const ROUNDING_STEPS: u64 = 2;
/// ε is a fraction with this power of two as its denominator.
const EPSILON_BITS: u32 = 32;
/// Scores are clamped to this many steps, so that differences are exact in `f64` and fit the arithmetic.
const LARGEST_STEPS: f64 = (1_u64 << 52) as f64;

/// Number of scores per parallel block.
const PART: usize = 1 << 14;

/// Number of trials after which the distribution over all candidates is computed instead.
const TRIALS: usize = 512;

/// How to choose one of many candidates by noisy scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// `P[i] ∝ exp(ε · score_i / (2 · sensitivity))`: (ε²/8)-zCDP, as it has bounded range ε (Cesar & Rogers 2021).
    #[default]
    Exponential,
    /// Candidates in random order, each accepted with probability `exp(-ε (best - score_i) / (2 · sensitivity))`: ε-DP,
    /// hence (ε²/2)-zCDP. At the same ε it is never worse in expectation than the exponential mechanism; at the same
    /// ρ its ε is half as large (`McKenna` & Sheldon 2020, Algorithm 1).
    PermuteAndFlip,
}

impl Selection {
    /// `ε² / ρ`, as a power of two: ε = √(8ρ) or √(2ρ).
    const fn square_bits(self) -> u32 {
        match self {
            Self::Exponential => 3,
            Self::PermuteAndFlip => 1,
        }
    }
}

/// A selection at a budget.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selector {
    selection: Selection,
    /// ε of each draw in units of 2⁻³².
    epsilon: u64,
    /// Number of independent draws.
    draws: u32,
    /// The largest difference of a score between neighbors.
    sensitivity: ScoreSensitivity,
    /// Size of one step.
    grid: f64,
}

impl Selector {
    /// The largest ε whose cost, ε²/8 or ε²/2, is in exact arithmetic at most `rho`, rounded down to a multiple of 2⁻³²
    /// and to at most 1024.
    pub(crate) fn new(
        selection: Selection,
        rho: Rho,
        sensitivity: ScoreSensitivity,
    ) -> Result<Self> {
        Self::of_draws(selection, rho, sensitivity, 1)
    }

    /// The exponential mechanism, drawn from several times for `rho` in all.
    pub(crate) fn exponential(rho: Rho, sensitivity: ScoreSensitivity, draws: u32) -> Result<Self> {
        Self::of_draws(Selection::Exponential, rho, sensitivity, draws)
    }

    fn of_draws(
        selection: Selection,
        rho: Rho,
        sensitivity: ScoreSensitivity,
        draws: u32,
    ) -> Result<Self> {
        if draws == 0 {
            return Err(Error::invalid_parameter("draws of a selection", draws, "at least 1"));
        }
        // (ε 2³²)² = 8 ρ 2⁶⁴ = 8 · units · 2⁶⁴⁻⁴⁰, below 2⁹¹, divided among the draws.
        let bits = selection.square_bits() + 2 * EPSILON_BITS - Rho::UNIT_BITS;
        let square = (u128::from(rho.units()) << bits) / u128::from(draws);
        let largest = 1_u64 << (EPSILON_BITS + 10);
        let epsilon = u64::try_from(square.isqrt()).unwrap_or(largest).min(largest);
        if epsilon == 0 {
            return Err(Error::invalid_budget("rho of a selection", rho, "above 0"));
        }
        let grid = sensitivity.value() / GRID_STEPS;
        Ok(Self { selection, epsilon, draws, sensitivity, grid })
    }

    /// The mechanism as an entry of the ledger.
    pub(crate) fn noise_mechanism(&self, candidates: u64) -> Result<NoiseMechanism> {
        let epsilon = Ratio::new(self.epsilon, 1 << EPSILON_BITS)?;
        let (score, grid) = (Some(self.sensitivity.as_stated()), self.grid);
        let sensitivity = self.sensitivity.value();
        Ok(match self.selection {
            Selection::Exponential => NoiseMechanism::ExponentialMechanism {
                epsilon,
                sensitivity,
                grid,
                candidates,
                draws: self.draws,
                score,
            },
            Selection::PermuteAndFlip => {
                NoiseMechanism::PermuteAndFlip { epsilon, sensitivity, grid, candidates, score }
            }
        })
    }

    /// Draws a candidate exactly from the distribution of the rounded scores.
    ///
    /// Each trial proposes a candidate uniformly and accepts it with probability
    /// exp(−ε (best − score) / (2 · sensitivity)), with the sensitivity of the rounded scores. After a rejection, the
    /// exponential mechanism proposes again among all candidates, and permute-and-flip among those not yet rejected.
    /// After many rejections, the outcome of the remaining trials is drawn in one step, from the same distribution
    /// ([`exponential`], [`permute_and_flip`]).
    ///
    /// # Errors
    /// No candidate, or a score that is not finite; the message does not say which.
    pub(crate) fn draw<R: CryptoRng + ?Sized>(&self, scores: &[f64], rng: &mut R) -> Result<usize> {
        let best = self.best(scores)?;
        Ok(self.draw_below(best, scores, rng))
    }

    /// As many independent draws as were paid for, each as by [`draw`](Self::draw).
    ///
    /// # Errors
    /// As [`draw`](Self::draw).
    pub(crate) fn draw_all<R: CryptoRng + ?Sized>(
        &self,
        scores: &[f64],
        rng: &mut R,
    ) -> Result<Vec<usize>> {
        let best = self.best(scores)?;
        Ok((0..self.draws).map(|_| self.draw_below(best, scores, rng)).collect())
    }

    /// The best score in steps.
    fn best(&self, scores: &[f64]) -> Result<i64> {
        let expected = "at least one score, and every score finite";
        let parts = scores.par_chunks(PART).map(|part| {
            let finite = part.iter().fold(true, |all, score| all & score.is_finite());
            (finite, part.iter().copied().fold(f64::MIN, f64::max))
        });
        let (finite, best) =
            parts.reduce(|| (true, f64::MIN), |one, other| (one.0 && other.0, one.1.max(other.1)));
        if !finite {
            return Err(Error::invalid_parameter("scores of a selection", "not finite", expected));
        }
        if scores.is_empty() {
            let found = "an empty list";
            return Err(Error::invalid_parameter("scores of a selection", found, expected));
        }
        // Rounding is monotone: the best score has the most steps.
        Ok(self.steps(best))
    }

    /// One draw among finite scores, whose best has this many steps.
    fn draw_below<R: CryptoRng + ?Sized>(&self, best: i64, scores: &[f64], rng: &mut R) -> usize {
        let gap = |candidate: usize| best.abs_diff(self.steps(scores[candidate]));
        let gaps = Gaps { gap, candidates: scores.len(), exponent: self.exponent() };
        let mut refused = Vec::new();
        for _ in 0..TRIALS {
            let proposal = index_below(scores.len(), rng);
            if self.selection == Selection::PermuteAndFlip && refused.contains(&proposal) {
                continue;
            }
            let (numerator, denominator) = gaps.gamma(proposal);
            if bernoulli_exp_fraction(numerator, denominator, rng) {
                return proposal;
            }
            refused.push(proposal);
        }
        // Earlier trials do not affect later ones, except that permute-and-flip does not propose rejected candidates
        // again.
        match self.selection {
            Selection::Exponential => exponential(&gaps, rng),
            Selection::PermuteAndFlip => {
                refused.sort_unstable();
                permute_and_flip(&gaps, &refused, rng)
            }
        }
    }

    /// `ε / (2 S)` for a step, as numerator and denominator: `ε = epsilon / 2³²`, and `S = 2¹⁶ + 2` steps.
    fn exponent(&self) -> (u64, u128) {
        let sensitivity = (1 << STEP_BITS) + ROUNDING_STEPS;
        (self.epsilon, u128::from(2 * sensitivity) << EPSILON_BITS)
    }

    /// Rounds a finite score to the nearest whole step. Rounding is monotone, and widens the gap between two scores
    /// by at most one step.
    fn steps(&self, score: f64) -> i64 {
        // Adding a number large enough that floats are 1 apart rounds, ties to even; `round_ties_even` is slow here.
        const WHOLE: f64 = 3.0 * (1_u64 << 51) as f64;
        let quotient = (score / self.grid).clamp(-LARGEST_STEPS, LARGEST_STEPS);
        let is_small = quotient.abs() < (1_u64 << 50) as f64;
        let steps = if is_small { (quotient + WHOLE) - WHOLE } else { quotient.round_ties_even() };
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^52")]
        let steps = steps as i64;
        steps
    }
}

/// A uniform index below a length above 0.
#[expect(clippy::cast_possible_truncation, reason = "below a length")]
fn index_below<R: CryptoRng + ?Sized>(length: usize, rng: &mut R) -> usize {
    uniform_below(length as u64, rng) as usize
}

#[cfg(test)]
mod tests;
