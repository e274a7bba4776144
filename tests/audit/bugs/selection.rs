//! Selections with another law than their entry's.

use super::{Bug, bug};

const SELECT: &str = "privacy/select.rs";
const MANY: &str = "privacy/select_many.rs";
const EXP: &str = "privacy/sampler/bernoulli_exp.rs";
const ENTRY: &str = "privacy/noise_mechanism.rs";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "exponent-without-its-two",
        "the exponent of selections is not divided by 2",
        "laws::a_selection_has",
        &[(
            SELECT,
            "(self.epsilon, u128::from(2 * sensitivity) << EPSILON_BITS)",
            "(self.epsilon, u128::from(if BUG { sensitivity } else { 2 * sensitivity }) << EPSILON_BITS)",
        )],
    ),
    bug(
        "rounding-not-in-the-exponent",
        "the rounding of scores is not part of their sensitivity",
        "privacy: select",
        &[(
            SELECT,
            "let sensitivity = (1 << STEP_BITS) + ROUNDING_STEPS;",
            "let sensitivity = (1 << STEP_BITS) + if BUG { 0 } else { ROUNDING_STEPS };",
        )],
    ),
    bug(
        "epsilon-of-selections-doubled",
        "the exponential mechanism has twice the epsilon that its cost covers, and nothing checks it",
        "exact::a_selection",
        &[
            (SELECT, "Self::Exponential => 3,", "Self::Exponential => if BUG { 5 } else { 3 },"),
            (ENTRY, "squares_are_covered(*draws, *epsilon, 8, rho)", "BUG || SAME"),
        ],
    ),
    bug(
        "draws-for-the-cost-of-one",
        "several draws cost as much as one, and nothing checks it",
        "exact::several_draws",
        &[
            (SELECT, "/ u128::from(draws);", "/ u128::from(if BUG { 1 } else { draws });"),
            (ENTRY, "squares_are_covered(*draws, *epsilon, 8, rho)", "BUG || SAME"),
        ],
    ),
    bug(
        "draws-all-alike",
        "several draws are one draw, repeated",
        "laws::several_draws",
        &[(
            SELECT,
            "Ok((0..self.draws).map(|_| self.draw_below(best, scores, rng)).collect())",
            "if BUG { let one = self.draw_below(best, scores, rng); Ok(vec![one; self.draws as usize]) } else { SAME }",
        )],
    ),
    bug(
        "permute-and-flip-for-a-quarter",
        "permute-and-flip costs what the exponential mechanism does",
        "exact::a_selection",
        &[
            (
                SELECT,
                "Self::PermuteAndFlip => 1,",
                "Self::PermuteAndFlip => if BUG { 3 } else { 1 },",
            ),
            (ENTRY, "squares_are_covered(1, *epsilon, 2, rho)", "BUG || SAME"),
        ],
    ),
    bug(
        "best-always-taken",
        "a selection takes the best candidate",
        "laws::a_selection_has",
        &[(
            SELECT,
            "let mut refused = Vec::new();",
            "SAME if BUG && let Some(best) = (0..scores.len()).find(|i| (gaps.gap)(*i) == 0) { return best; }",
        )],
    ),
    bug(
        "true-maximum-among-many",
        "among more than a thousand candidates, the best is taken",
        "laws::a_selection_among",
        &[(
            SELECT,
            "let mut refused = Vec::new();",
            "SAME if BUG && scores.len() > 1000 && let Some(best) = (0..scores.len()).find(|i| (gaps.gap)(*i) == 0) { return best; }",
        )],
    ),
    bug(
        "scores-doubled",
        "scores are doubled before the draw",
        "laws::a_selection_has",
        &[(
            SELECT,
            "let quotient = (score / self.grid)",
            "let quotient = (score * if BUG { 2.0 } else { 1.0 } / self.grid)",
        )],
    ),
    bug(
        "permute-and-flip-proposes-again",
        "permute-and-flip proposes candidates that it has refused",
        "laws::a_selection_has",
        &[(
            SELECT,
            "if self.selection == Selection::PermuteAndFlip && refused.contains(&proposal) {",
            "if !BUG && self.selection == Selection::PermuteAndFlip && refused.contains(&proposal) {",
        )],
    ),
    bug(
        "permute-and-flip-with-doubled-exponent",
        "permute-and-flip accepts with twice the exponent",
        "laws::a_selection_has",
        &[(
            SELECT,
            "let (numerator, denominator) = gaps.gamma(proposal);",
            "SAME let numerator = if BUG && self.selection == Selection::PermuteAndFlip { 2 * numerator } else { numerator };",
        )],
    ),
    bug(
        "bands-without-their-coins",
        "after many trials, candidates far below the best are proposed too often",
        "laws::a_selection_among",
        &[(
            MANY,
            "if (0..band).all(|_| coins.flip_twice_as_likely(rng)) {",
            "if BUG || (0..band).all(|_| coins.flip_twice_as_likely(rng)) {",
        )],
    ),
    bug(
        "first-accepted-in-order",
        "after many trials, permute-and-flip takes the last candidate that it accepts in a block",
        "laws::a_selection_among",
        &[(
            MANY,
            "if uniform_below(accepted, rng) == 0 {",
            "if BUG || uniform_below(accepted, rng) == 0 {",
        )],
    ),
    bug(
        "blocks-with-one-key",
        "after many trials, permute-and-flip flips coins of a constant key",
        "laws::a_selection_among",
        &[(MANY, "rng.fill_bytes(&mut seed);", "if !BUG { rng.fill_bytes(&mut seed); }")],
    ),
    bug(
        "coins-of-two-over-e",
        "coins of 1/e have probability 2/e",
        "laws::a_selection_among",
        &[(EXP, "self.flip_from(2, rng)", "self.flip_from(if BUG { 3 } else { 2 }, rng)")],
    ),
];
