use proptest::prelude::*;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::NeighboringRelation::ReplaceOne;

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
            let selector = Selector::new(selection, Rho::from_units(units), sensitivity).unwrap();
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
                        let all: f64 =
                            groups.iter().map(|(t, n)| *n as f64 * (-coin(*t) * s).ln_1p()).sum();
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

#[test]
fn the_exponent_counts_two_steps_of_rounding_and_half_of_epsilon() {
    for how in [Selection::Exponential, Selection::PermuteAndFlip] {
        let selector = selector(how, 0.5);
        let (numerator, denominator) = selector.exponent();
        assert_eq!((numerator, denominator), (selector.epsilon, (2 * (65_536 + 2)) << 32));
    }
}
