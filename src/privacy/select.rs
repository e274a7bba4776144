//! The exponential mechanism, drawn exactly.

use rand::CryptoRng;

use crate::error::{Error, Result};
use crate::privacy::sampler::{bernoulli_exp_fraction, uniform_below};
use crate::privacy::{Ratio, Rho, ScoreSensitivity};

/// Scores are rounded to whole steps of `sensitivity · 2^-STEP_BITS`.
const STEP_BITS: u32 = 16;
/// Steps added to the sensitivity: one for the rounding of two scores, one for their floating-point errors, which may
/// be just below half a step each (`docs/theory/sensitivities.md`, section 5).
const ROUNDING_STEPS: u64 = 2;
/// ε is a fraction with this power of two as its denominator.
const EPSILON_BITS: u32 = 32;
/// Scores are clamped to this many steps, so that differences are exact in `f64` and fit the arithmetic.
const LARGEST_STEPS: f64 = (1_u64 << 52) as f64;

/// The exponential mechanism at a budget: `P[i] ∝ exp(ε · score_i / (2 · sensitivity))`.
#[derive(Clone, Copy, Debug)]
pub(in crate::privacy) struct ExponentialMechanism {
    /// ε in units of 2⁻³².
    epsilon: u64,
    /// Score that one step stands for.
    grid: f64,
}

impl ExponentialMechanism {
    /// The mechanism whose ε²/8, in exact arithmetic, is at most `rho` (Cesar & Rogers 2021): ε = √(8ρ), rounded down
    /// to a multiple of 2⁻³² and to at most 1024.
    pub(in crate::privacy) fn new(rho: Rho, sensitivity: ScoreSensitivity) -> Result<Self> {
        // (ε 2³²)² = 8 ρ 2⁶⁴ = 8 · units · 2⁶⁴⁻⁴⁰, below 2⁹¹.
        let square = u128::from(rho.units()) << (3 + 2 * EPSILON_BITS - Rho::UNIT_BITS);
        let largest = 1_u64 << (EPSILON_BITS + 10);
        let epsilon = u64::try_from(square.isqrt()).unwrap_or(largest).min(largest);
        if epsilon == 0 {
            return Err(Error::invalid_parameter("rho of a selection", rho, "above 0"));
        }
        let grid = sensitivity.value() / (1_u64 << STEP_BITS) as f64;
        Ok(Self { epsilon, grid })
    }

    /// ε, exactly.
    pub(in crate::privacy) fn epsilon(&self) -> Result<Ratio> {
        Ratio::new(self.epsilon, 1 << EPSILON_BITS)
    }

    /// The step of the grid, in units of the score.
    pub(in crate::privacy) fn grid(&self) -> f64 {
        self.grid
    }

    /// A candidate, drawn exactly from the distribution of the rounded scores.
    ///
    /// A candidate is proposed uniformly and accepted with probability exp(−ε (best − score) / (2 · sensitivity)), the
    /// sensitivity being that of the rounded scores. At most as many trials as candidates are expected.
    ///
    /// # Errors
    /// No candidate, or a score that is not finite; the message does not say which.
    pub(in crate::privacy) fn draw<R: CryptoRng + ?Sized>(
        &self,
        scores: &[f64],
        rng: &mut R,
    ) -> Result<usize> {
        let expected = "at least one score, and every score finite";
        if scores.is_empty() {
            return Err(Error::invalid_parameter(
                "scores of a selection",
                "an empty list",
                expected,
            ));
        }
        if scores.iter().any(|score| !score.is_finite()) {
            return Err(Error::invalid_parameter("scores of a selection", "not finite", expected));
        }
        let steps: Vec<i64> = scores.iter().map(|score| self.steps(*score)).collect();
        let best = steps.iter().copied().max().unwrap_or(0);
        // ε gap / (2 S) with ε = epsilon / 2³² and S = 2¹⁶ + 2 steps: at most 2⁹⁵ / 2⁵⁰.
        let sensitivity = (1 << STEP_BITS) + ROUNDING_STEPS;
        let denominator = u128::from(2 * sensitivity) << EPSILON_BITS;
        loop {
            let proposal = uniform_below(steps.len() as u64, rng);
            let Ok(proposal) = usize::try_from(proposal) else {
                continue;
            };
            let gap = best.abs_diff(steps[proposal]);
            let numerator = u128::from(gap) * u128::from(self.epsilon);
            if bernoulli_exp_fraction(numerator, denominator, rng) {
                return Ok(proposal);
            }
        }
    }

    /// A finite score in whole steps, to the nearest. Monotone, and never further apart than the scores by more than
    /// one step.
    fn steps(&self, score: f64) -> i64 {
        let steps = (score / self.grid).round_ties_even().clamp(-LARGEST_STEPS, LARGEST_STEPS);
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^52")]
        let steps = steps as i64;
        steps
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha20Rng;

    use super::*;
    use crate::privacy::NeighboringRelation::ReplaceOne;

    proptest! {
        #[test]
        fn rounding_to_the_grid_adds_at_most_one_step(
            score in -1e9..1e9_f64,
            difference in -1.0..=1.0_f64,
        ) {
            let mechanism = mechanism(0.1);
            let sensitivity = ScoreSensitivity::l1_error(ReplaceOne).value();
            let neighbor = score + difference * sensitivity;
            let steps = mechanism.steps(score).abs_diff(mechanism.steps(neighbor));
            prop_assert!(steps <= (1 << STEP_BITS) + 1);
        }
    }

    fn mechanism(rho: f64) -> ExponentialMechanism {
        let rho = Rho::from_f64(rho).unwrap();
        ExponentialMechanism::new(rho, ScoreSensitivity::l1_error(ReplaceOne)).unwrap()
    }

    #[test]
    fn epsilon_squared_over_eight_is_at_most_rho_and_nearly_all_of_it() {
        for units in (0..47).map(|shift| 3_u64 << shift).chain([1, 2, 7, 1 << 47]) {
            let rho = Rho::from_units(units);
            let mechanism =
                ExponentialMechanism::new(rho, ScoreSensitivity::l1_error(ReplaceOne)).unwrap();
            let square = |e: u64| u128::from(e) * u128::from(e);
            let limit = u128::from(units) << 27;
            assert!(square(mechanism.epsilon) <= limit && square(mechanism.epsilon + 1) > limit);
        }
        assert!(
            ExponentialMechanism::new(Rho::ZERO, ScoreSensitivity::l1_error(ReplaceOne)).is_err()
        );
        assert_eq!(mechanism(1e7).epsilon, 1 << 42);
    }

    #[test]
    fn scores_that_are_not_finite_are_refused_without_being_quoted() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            let error = mechanism(0.1).draw(&[7.25, score], &mut rng).unwrap_err().to_string();
            assert!(!error.contains("7.25") && !error.contains("inf") && !error.contains("NaN"));
        }
        assert!(mechanism(0.1).draw(&[], &mut rng).is_err());
    }

    #[test]
    fn scores_beyond_the_grid_are_clamped_and_a_far_winner_among_many_is_found() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut scores = vec![f64::MIN; 200_000];
        scores[123_456] = f64::MAX;
        for _ in 0..20 {
            assert_eq!(mechanism(0.01).draw(&scores, &mut rng).unwrap(), 123_456);
        }
    }
}
