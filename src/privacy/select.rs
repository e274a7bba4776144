//! Selections with scores, drawn exactly: the exponential mechanism and permute-and-flip.

use rand::CryptoRng;
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::privacy::sampler::{bernoulli_exp_fraction, uniform_below};
use crate::privacy::select_many::{Gaps, exponential, permute_and_flip};
use crate::privacy::{NoiseMechanism, Ratio, Rho, ScoreSensitivity};

/// Scores are rounded to whole steps of `sensitivity · 2^-STEP_BITS`.
const STEP_BITS: u32 = 16;
/// Steps added to the sensitivity: one for the rounding of two scores, one for their floating-point errors, which may
/// be just below half a step each (`docs/theory/sensitivities.md`, section 5).
const ROUNDING_STEPS: u64 = 2;
/// ε is a fraction with this power of two as its denominator.
const EPSILON_BITS: u32 = 32;
/// Scores are clamped to this many steps, so that differences are exact in `f64` and fit the arithmetic.
const LARGEST_STEPS: f64 = (1_u64 << 52) as f64;

/// Scores that one thread goes through in one go.
const PART: usize = 1 << 14;

/// Trials after which all candidates are gone through in place of further ones.
const TRIALS: usize = 512;

/// How one of many candidates is chosen by noisy scores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Selection {
    /// `P[i] ∝ exp(ε · score_i / (2 · sensitivity))`: (ε²/8)-zCDP, as it has bounded range ε (Cesar & Rogers 2021).
    #[default]
    Exponential,
    /// Candidates in random order, each accepted with probability `exp(-ε (best - score_i) / (2 · sensitivity))`: ε-DP,
    /// hence (ε²/2)-zCDP. At the same ε never worse in expectation than the exponential mechanism, at the same ρ its ε is
    /// half as large (`McKenna` & Sheldon 2020, Algorithm 1).
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
pub(in crate::privacy) struct Selector {
    selection: Selection,
    /// ε in units of 2⁻³².
    epsilon: u64,
    /// The most that a score differs between neighbors.
    sensitivity: f64,
    /// Score that one step stands for.
    grid: f64,
}

impl Selector {
    /// The largest ε whose cost, ε²/8 or ε²/2, is in exact arithmetic at most `rho`, rounded down to a multiple of 2⁻³²
    /// and to at most 1024.
    pub(in crate::privacy) fn new(
        selection: Selection,
        rho: Rho,
        sensitivity: ScoreSensitivity,
    ) -> Result<Self> {
        // (ε 2³²)² = 8 ρ 2⁶⁴ = 8 · units · 2⁶⁴⁻⁴⁰, below 2⁹¹.
        let bits = selection.square_bits() + 2 * EPSILON_BITS - Rho::UNIT_BITS;
        let square = u128::from(rho.units()) << bits;
        let largest = 1_u64 << (EPSILON_BITS + 10);
        let epsilon = u64::try_from(square.isqrt()).unwrap_or(largest).min(largest);
        if epsilon == 0 {
            return Err(Error::invalid_parameter("rho of a selection", rho, "above 0"));
        }
        let sensitivity = sensitivity.value();
        let grid = sensitivity / (1_u64 << STEP_BITS) as f64;
        Ok(Self { selection, epsilon, sensitivity, grid })
    }

    /// How the ledger has it.
    pub(in crate::privacy) fn noise_mechanism(&self, candidates: u64) -> Result<NoiseMechanism> {
        let epsilon = Ratio::new(self.epsilon, 1 << EPSILON_BITS)?;
        let Self { sensitivity, grid, .. } = *self;
        Ok(match self.selection {
            Selection::Exponential => {
                NoiseMechanism::ExponentialMechanism { epsilon, sensitivity, grid, candidates }
            }
            Selection::PermuteAndFlip => {
                NoiseMechanism::PermuteAndFlip { epsilon, sensitivity, grid, candidates }
            }
        })
    }

    /// A candidate, drawn exactly from the distribution of the rounded scores.
    ///
    /// A candidate is proposed uniformly and accepted with probability exp(−ε (best − score) / (2 · sensitivity)), the
    /// sensitivity being that of the rounded scores. After a refusal the exponential mechanism proposes anew among all,
    /// and permute-and-flip among those that were not refused yet. Where many are refused, the rest of these trials is
    /// drawn at once, from the same distribution ([`exponential`], [`permute_and_flip`]).
    ///
    /// # Errors
    /// No candidate, or a score that is not finite; the message does not say which.
    pub(in crate::privacy) fn draw<R: CryptoRng + ?Sized>(
        &self,
        scores: &[f64],
        rng: &mut R,
    ) -> Result<usize> {
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
        let best = self.steps(best);
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
                return Ok(proposal);
            }
            refused.push(proposal);
        }
        // The trials so far change nothing for those to come, save that permute-and-flip is done with the refused ones.
        Ok(match self.selection {
            Selection::Exponential => exponential(&gaps, rng),
            Selection::PermuteAndFlip => {
                refused.sort_unstable();
                permute_and_flip(&gaps, &refused, rng)
            }
        })
    }

    /// `ε / (2 S)` for a step, as numerator and denominator: `ε = epsilon / 2³²`, and `S = 2¹⁶ + 2` steps.
    fn exponent(&self) -> (u64, u128) {
        let sensitivity = (1 << STEP_BITS) + ROUNDING_STEPS;
        (self.epsilon, u128::from(2 * sensitivity) << EPSILON_BITS)
    }

    /// A finite score in whole steps, to the nearest. Monotone, and never further apart than the scores by more than
    /// one step.
    fn steps(&self, score: f64) -> i64 {
        // Adding a number in whose range floats are 1 apart rounds, ties to even; `round_ties_even` is a slow call here.
        const WHOLE: f64 = 3.0 * (1_u64 << 51) as f64;
        let quotient = (score / self.grid).clamp(-LARGEST_STEPS, LARGEST_STEPS);
        let is_small = quotient.abs() < (1_u64 << 50) as f64;
        let steps = if is_small { (quotient + WHOLE) - WHOLE } else { quotient.round_ties_even() };
        #[expect(clippy::cast_possible_truncation, reason = "a whole number of at most 2^52")]
        let steps = steps as i64;
        steps
    }
}

/// An index below a length, which is above 0; uniform.
#[expect(clippy::cast_possible_truncation, reason = "below a length")]
fn index_below<R: CryptoRng + ?Sized>(length: usize, rng: &mut R) -> usize {
    uniform_below(length as u64, rng) as usize
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
        fn steps_are_whole_numbers_nearest_to_the_quotient(half_steps in -1e7..1e7_f64, up in 0..50) {
            let mechanism = selector(Selection::Exponential, 0.1);
            // Halves of small numbers are ties; their products are large ones.
            let quotient = half_steps.round() / 2.0 * f64::from(up).exp2();
            let expected = quotient.round_ties_even().clamp(-LARGEST_STEPS, LARGEST_STEPS);
            let found = mechanism.steps(quotient * mechanism.grid);
            prop_assert_eq!((found as f64).to_bits(), (expected + 0.0).to_bits());
        }

        #[test]
        fn rounding_to_the_grid_adds_at_most_one_step(
            score in -1e9..1e9_f64,
            difference in -1.0..=1.0_f64,
        ) {
            let mechanism = selector(Selection::Exponential, 0.1);
            let sensitivity = ScoreSensitivity::l1_error(ReplaceOne).value();
            let neighbor = score + difference * sensitivity;
            let steps = mechanism.steps(score).abs_diff(mechanism.steps(neighbor));
            prop_assert!(steps <= (1 << STEP_BITS) + 1);
        }
    }

    const BOTH: [Selection; 2] = [Selection::Exponential, Selection::PermuteAndFlip];

    fn selector(selection: Selection, rho: f64) -> Selector {
        let rho = Rho::from_f64(rho).unwrap();
        Selector::new(selection, rho, ScoreSensitivity::l1_error(ReplaceOne)).unwrap()
    }

    #[test]
    fn epsilon_squared_over_eight_or_two_is_at_most_rho_and_nearly_all_of_it() {
        let sensitivity = ScoreSensitivity::l1_error(ReplaceOne);
        for (selection, bits) in BOTH.into_iter().zip([27, 25]) {
            for units in (0..47).map(|shift| 3_u64 << shift).chain([1, 2, 7, 1 << 47]) {
                let selector =
                    Selector::new(selection, Rho::from_units(units), sensitivity).unwrap();
                let square = |e: u64| u128::from(e) * u128::from(e);
                let limit = u128::from(units) << bits;
                assert!(square(selector.epsilon) <= limit && square(selector.epsilon + 1) > limit);
            }
            assert!(Selector::new(selection, Rho::ZERO, sensitivity).is_err());
            assert_eq!(selector(selection, 1e7).epsilon, 1 << 42);
        }
    }

    #[test]
    fn scores_that_are_not_finite_are_refused_without_being_quoted() {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for selection in BOTH {
            let selector = selector(selection, 0.1);
            for score in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
                let error = selector.draw(&[7.25, score], &mut rng).unwrap_err().to_string();
                let quoted = ["7.25", "inf", "NaN"].iter().any(|text| error.contains(text));
                assert!(!quoted, "{error}");
            }
            assert!(selector.draw(&[], &mut rng).is_err());
        }
    }

    #[test]
    fn scores_beyond_the_grid_are_clamped_and_a_far_winner_among_many_is_found() {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        let mut scores = vec![f64::MIN; 200_000];
        scores[123_456] = f64::MAX;
        for selection in BOTH {
            for _ in 0..20 {
                assert_eq!(selector(selection, 0.01).draw(&scores, &mut rng).unwrap(), 123_456);
            }
        }
    }

    #[test]
    fn many_candidates_are_drawn_with_the_probabilities_of_their_mechanism() {
        // Groups of equal scores; the gap of the first is 0. Few are accepted, so that most draws go through all.
        let groups = [(1.0, 2_usize), (0.9, 8), (0.55, 900), (0.5, 2000), (0.2, 90), (-9.0, 500)];
        let mut rng = ChaCha20Rng::seed_from_u64(4);
        for (selection, factor) in BOTH.into_iter().zip([8.0, 2.0]) {
            let selector = selector(selection, 0.5);
            // A unit of score is a γ of 12.
            let unit = 12.0 * 4.0 * (1.0 + 2.0 / 65536.0) / (factor * 0.5_f64).sqrt();
            let scores: Vec<f64> =
                groups.iter().flat_map(|(s, n)| std::iter::repeat_n(s * unit, *n)).collect();
            let group: Vec<usize> =
                (0..).zip(groups).flat_map(|(g, (_, n))| std::iter::repeat_n(g, n)).collect();
            let coin = |score: f64| (-12.0 * (1.0 - score)).exp();
            let expected: Vec<f64> = match selection {
                Selection::Exponential => {
                    let weights = groups.map(|(s, n)| n as f64 * coin(s));
                    weights.iter().map(|w| w / weights.iter().sum::<f64>()).collect()
                }
                // n p ∫₀¹ Π (1 - p_j s) ds without one factor, by the midpoint rule.
                Selection::PermuteAndFlip => groups
                    .iter()
                    .map(|(score, n)| {
                        let middle = |i: i32| (f64::from(i) + 0.5) / 20_000.0;
                        let product = |s: f64| -> f64 {
                            let all: f64 = groups
                                .iter()
                                .map(|(t, n)| *n as f64 * (-coin(*t) * s).ln_1p())
                                .sum();
                            (all - (-coin(*score) * s).ln_1p()).exp()
                        };
                        let integral: f64 = (0..20_000).map(|i| product(middle(i))).sum();
                        *n as f64 * coin(*score) * integral / 20_000.0
                    })
                    .collect(),
            };
            let draws = 20_000;
            let mut found = [0.0; 6];
            for _ in 0..draws {
                found[group[selector.draw(&scores, &mut rng).unwrap()]] += 1.0;
            }
            let chi_square: f64 = (0..5)
                .map(|g| (found[g] - f64::from(draws) * expected[g]).powi(2) / expected[g])
                .sum::<f64>()
                / f64::from(draws);
            // Four degrees of freedom, five groups: exceeded with probability 10⁻⁶.
            assert!(chi_square < 33.4, "{selection:?}: {found:?}, shares {expected:?}");
            assert!(found[5] < 1.0, "a hopeless candidate was drawn");
        }
    }

    #[test]
    fn both_draw_equal_scores_evenly_and_permute_and_flip_the_better_of_two_more_often() {
        // Two candidates, acceptance e^-1 for the worse: it is drawn with probability e^-1 / (1 + e^-1), or e^-1 / 2.
        let mut rng = ChaCha20Rng::seed_from_u64(3);
        for (selection, expected) in BOTH.into_iter().zip([0.268_941_421, 0.183_939_721]) {
            let selector = selector(selection, 0.5);
            let gap = 4.0 / Ratio::new(selector.epsilon, 1 << EPSILON_BITS).unwrap().to_f64();
            let draws = 200_000;
            let worse = (0..draws).filter(|_| selector.draw(&[0.0, gap], &mut rng).unwrap() == 0);
            let (worse, mean) = (worse.count() as f64, expected * f64::from(draws));
            // 5 standard deviations: a false alarm below 10⁻⁶. The grid moves the mean by less than 3·10⁻⁵ of it.
            let slack = 5.0 * (mean * (1.0 - expected)).sqrt();
            assert!((worse - mean).abs() < slack, "{selection:?}: {worse}, {mean}");
        }
    }
}
