//! The law of every access: what is released minus what is true has exactly the distribution that the ledger's entry
//! states, under every relation, for counts of 0, 1 and many, and is independent from cell to cell and access to access.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "whole numbers")]

use crate::own;
use jointly::data::{Dataset, Tallies, Tally};
use jointly::domain::{Clique, Domain};
use jointly::privacy::{
    CellSet, Curator, Epsilon, NeighboringRelation, NoiseForm, NoiseMechanism, NoiseSeed, Ratio,
    ResidualQuery, Rho, ScoreSensitivity, Selection, StatisticSensitivity,
};

use crate::statistics::{ALARM, Counts, check_independent, check_law, chi_square, relations};

/// True counts, in turn.
const TRUE: [u32; 3] = [0, 1, 1_000_003];
/// Cells of a table: 333 of each true count.
const CELLS: usize = 999;
/// Accesses: about 10⁵ draws for each true count.
const ACCESSES: usize = 300;

fn counts(cells: usize) -> Counts {
    Counts::new((0..cells).map(|cell| TRUE[cell % 3]).collect(), 1_000_004)
}

/// A curator with more budget than a test spends, and its own noise.
fn curator(data: &Counts, relation: NeighboringRelation) -> Curator<'_> {
    Curator::new(data, relation, Rho::from_units(u64::MAX), NoiseSeed::System).unwrap()
}

fn rho(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

/// The last entry's law: the standard deviation, and the weight of a distance from 0, in whole steps.
fn stated(curator: &Curator<'_>) -> (f64, Box<dyn Fn(f64) -> f64>) {
    let gaussian = |variance: f64| -> (f64, Box<dyn Fn(f64) -> f64>) {
        (variance.sqrt(), Box::new(move |x| (-x * x / (2.0 * variance)).exp()))
    };
    let laplace = |scale: f64| -> (f64, Box<dyn Fn(f64) -> f64>) {
        (2.0 * scale, Box::new(move |x| (-x / scale).exp()))
    };
    match &curator.ledger().entries().last().unwrap().mechanism {
        NoiseMechanism::DiscreteGaussian { variance, .. }
        | NoiseMechanism::GridGaussian { variance, .. } => gaussian(variance.to_f64()),
        NoiseMechanism::DiscreteLaplace { scale, .. }
        | NoiseMechanism::GridLaplace { scale, .. } => laplace(scale.to_f64()),
        other => panic!("no law of one number: {other:?}"),
    }
}

/// Checks the noise of many accesses to the same cells.
fn check(what: &str, released: &[Vec<i64>], law: &(f64, Box<dyn Fn(f64) -> f64>)) {
    let noise: Vec<Vec<i64>> = released
        .iter()
        .map(|row| row.iter().enumerate().map(|(i, v)| v - i64::from(TRUE[i % 3])).collect())
        .collect();
    for (of, count) in TRUE.iter().enumerate() {
        let drawn: Vec<i64> =
            noise.iter().flat_map(|row| row.iter().copied().skip(of).step_by(3)).collect();
        check_law(&format!("{what}, true count {count}"), &drawn, law.0, &law.1);
    }
    let beside: Vec<(i64, i64)> =
        noise.iter().flat_map(|row| row.windows(2).map(|w| (w[0], w[1]))).collect();
    if !beside.is_empty() {
        check_independent(&format!("{what}, next cells"), &beside);
    }
    let after = noise.windows(2).flat_map(|w| w[0].iter().copied().zip(w[1].iter().copied()));
    check_independent(&format!("{what}, next accesses"), &after.collect::<Vec<_>>());
}

#[test]
fn a_marginal_has_the_gaussian_noise_of_its_entry() {
    let (data, clique) = (counts(CELLS), Clique::new([0]));
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let released: Vec<Vec<i64>> =
            (0..ACCESSES).map(|_| curator.measure(&clique, rho(0.3)).unwrap().values).collect();
        check(&format!("marginal, {relation}"), &released, &stated(&curator));
    }
}

#[test]
fn a_marginal_has_the_laplace_noise_of_its_entry() {
    let (data, clique) = (counts(CELLS), Clique::new([0]));
    let epsilon = Ratio::new(2, 3).unwrap();
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let released: Vec<Vec<i64>> = (0..ACCESSES)
            .map(|_| curator.measure_laplace(&clique, epsilon).unwrap().values)
            .collect();
        check(&format!("Laplace marginal, {relation}"), &released, &stated(&curator));
    }
}

#[test]
fn a_cell_has_the_noise_of_its_entry() {
    let (data, clique) = (counts(3), Clique::new([0]));
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let mut cell = |x| curator.measure_cell(&clique, x, rho(0.2)).unwrap().value;
        let released: Vec<Vec<i64>> =
            (0..100_000).map(|_| vec![cell(0), cell(1), cell(2)]).collect();
        check(&format!("cell, {relation}"), &released, &stated(&curator));
    }
}

/// Blocks of three cells, one of each true count, so that all have the same sum; the last block has one cell.
#[test]
fn blocks_have_the_noise_of_their_entry_around_the_sums_of_their_cells() {
    let data = counts(3 * CELLS + 1);
    let sum: i64 = TRUE.iter().map(|count| i64::from(*count)).sum();
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let released: Vec<Vec<i64>> = (0..ACCESSES)
            .map(|_| {
                let values = curator.measure_blocks(0, 3, rho(0.3)).unwrap().values;
                assert_eq!(values.len(), CELLS + 1);
                let moved = |(i, value): (usize, &i64)| value - sum + i64::from(TRUE[i % 3]);
                values.iter().take(CELLS).enumerate().map(moved).collect()
            })
            .collect();
        check(&format!("blocks, {relation}"), &released, &stated(&curator));
    }
}

/// How many of two columns have the value 1: one of them in no record, both in one, and none in many.
#[test]
fn a_marginal_of_tallies_has_the_noise_of_its_entry_around_what_the_records_say() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let mut rows = vec![[0, 0]; 1003];
    rows.push([1, 1]);
    let exact = [1003, 0, 1];
    let data = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let ones = Tally { name: "ones".into(), of: vec![(0, vec![1]), (1, vec![1])] };
    let tallies = Tallies::new(domain, [], vec![ones]).unwrap();
    for relation in relations() {
        let limit = Rho::from_units(u64::MAX);
        let mut curator = Curator::new(&data, relation, limit, NoiseSeed::System).unwrap();
        let mut measured = || -> Vec<i64> {
            let clique = Clique::new([0]);
            let noisy = curator.measure_tallied(&tallies, &clique, rho(0.2)).unwrap();
            assert_eq!(noisy.values.len(), 3);
            let moved = |(i, value): (usize, &i64)| value - exact[i] + i64::from(TRUE[i]);
            noisy.values.iter().enumerate().map(moved).collect()
        };
        let released: Vec<Vec<i64>> = (0..30_000).map(|_| measured()).collect();
        check(&format!("tallies, {relation}"), &released, &stated(&curator));
    }
}

/// Sums of no, one and many records, in one, two and three cells; and of all records, as the sum of no attribute's cell.
#[test]
fn a_sum_of_cells_has_the_noise_of_its_entry_around_the_sum() {
    let (data, clique) = (counts(3), Clique::new([0]));
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let mut sum = |before: u32| {
            let cells = CellSet::new(std::iter::once(0..before)).unwrap();
            let exact: i64 = TRUE[..before as usize].iter().map(|count| i64::from(*count)).sum();
            let noisy = curator.measure_sum(&clique, &cells, rho(0.2)).unwrap();
            noisy.value - exact + i64::from(TRUE[before as usize - 1])
        };
        let released: Vec<Vec<i64>> = (0..100_000).map(|_| vec![sum(1), sum(2), sum(3)]).collect();
        check(&format!("sum of cells, {relation}"), &released, &stated(&curator));
        let mut all = || {
            let cells = CellSet::new([]).unwrap();
            curator.measure_sum(&Clique::default(), &cells, rho(0.2)).unwrap().value - 1_000_004
        };
        let drawn: Vec<i64> = (0..100_000).map(|_| all()).collect();
        let law = stated(&curator);
        check_law(&format!("sum of all cells, {relation}"), &drawn, law.0, &law.1);
    }
}

#[test]
fn the_number_of_records_has_the_noise_of_its_entry() {
    for records in TRUE {
        let data = Counts::new(vec![0], records.into());
        for relation in relations() {
            if relation.has_public_total() {
                assert!(curator(&data, relation).measure_total(rho(1.0)).is_err());
                continue;
            }
            let what = format!("number of records, {records}, {relation}");
            let mut gaussian = curator(&data, relation);
            let drawn: Vec<i64> = (0..100_000)
                .map(|_| gaussian.measure_total(rho(0.2)).unwrap() - i64::from(records))
                .collect();
            let law = stated(&gaussian);
            check_law(&what, &drawn, law.0, &law.1);
            let pairs: Vec<_> = drawn.windows(2).map(|w| (w[0], w[1])).collect();
            check_independent(&what, &pairs);

            // `total` is at least 1, so that its law shows where there are many records.
            if records > 1 {
                let total = |_| {
                    let epsilon = Epsilon::new(50.0).unwrap();
                    let mut curator =
                        Curator::pure(&data, relation, epsilon, NoiseSeed::System).unwrap();
                    let found = curator.total().unwrap() as i64 - i64::from(records);
                    (found, stated(&curator))
                };
                let (drawn, mut laws): (Vec<i64>, Vec<_>) = (0..100_000).map(total).unzip();
                let law = laws.swap_remove(0);
                check_law(&format!("{what}, Laplace"), &drawn, law.0, &law.1);
            }
        }
    }
}

#[test]
fn residuals_have_the_noise_of_their_queries() {
    let data = counts(CELLS);
    let clique = Clique::new([0]);
    let domain = jointly::data::Projectable::domain(&data);
    // Not centered, so that the true values are the counts themselves.
    let variance = Ratio::new(31, 7).unwrap();
    let query = ResidualQuery::new(domain, clique, Clique::default(), variance).unwrap();
    assert_eq!(query.scale(), 1);
    for relation in relations() {
        let mut curator = curator(&data, relation);
        let queries = [query.clone(), query.clone()];
        let cost = rho(10.0);
        let mut released = Vec::new();
        for _ in 0..ACCESSES / 2 {
            let noisy = curator.measure_residuals(&queries, cost).unwrap();
            released.extend(noisy.into_iter().map(|noisy| noisy.values));
        }
        let variance = variance.to_f64();
        let law: (f64, Box<dyn Fn(f64) -> f64>) =
            (variance.sqrt(), Box::new(move |x| (-x * x / (2.0 * variance)).exp()));
        check(&format!("residuals, {relation}"), &released, &law);
    }
}

#[test]
fn statistics_have_the_noise_of_their_entry_on_their_grid() {
    let (data, clique) = (counts(99), Clique::new([0]));
    for relation in relations() {
        for (form, cost) in [(NoiseForm::Gaussian, 500_000.0), (NoiseForm::Laplace, 2_000_000.0)] {
            let sensitivity = StatisticSensitivity::l1_errors(relation, 99).unwrap();
            let (mut released, mut law) = (Vec::new(), None);
            for _ in 0..3000 {
                let mut curator = curator(&data, relation);
                let at = (form, rho(cost));
                let noisy =
                    own::measure(&mut curator, &clique, sensitivity, own::counts, at).unwrap();
                let steps = noisy.values.iter().enumerate().map(|(i, value)| {
                    let noise = (value - f64::from(TRUE[i % 3])) * 256.0;
                    assert!(noise.fract().abs() < 1e-9, "{value} is not on the grid");
                    noise.round() as i64 + i64::from(TRUE[i % 3])
                });
                released.push(steps.collect());
                law.get_or_insert_with(|| stated(&curator));
            }
            check(&format!("statistics, {form:?}, {relation}"), &released, &law.unwrap());
        }
    }
}

/// `P[i]` of permute-and-flip for acceptance probabilities p: `p_i ∫ ∏_{j≠i} (1 - p_j s) ds`, by the midpoint rule.
fn permute_and_flip(accepted: &[f64]) -> Vec<f64> {
    const STEPS: u32 = 4000;
    let mut sums = vec![0.0; accepted.len()];
    for step in 0..STEPS {
        let s = (f64::from(step) + 0.5) / f64::from(STEPS);
        let all: f64 = accepted.iter().map(|p| (-p * s).ln_1p()).sum();
        for (sum, p) in sums.iter_mut().zip(accepted) {
            *sum += (all - (-p * s).ln_1p()).exp();
        }
    }
    sums.iter().zip(accepted).map(|(sum, p)| p * sum / f64::from(STEPS)).collect()
}

/// Draws selections among scores given in sensitivities, and checks them against the entry's law.
fn check_selection(
    relation: NeighboringRelation,
    how: Selection,
    scores: &[f64],
    cost: Rho,
    draws: usize,
) {
    let data = Counts::new(vec![1], 1);
    let mut curator = curator(&data, relation);
    let sensitivity = ScoreSensitivity::l1_error(relation).weighted(0.7).unwrap();
    let mut observed = vec![0.0; scores.len()];
    let mut before = None;
    let mut pairs = Vec::new();
    for _ in 0..draws {
        let scaled = |_: &[u32]| scores.iter().map(|s| s * sensitivity.value()).collect();
        let sealed = own::scores(&curator, &Clique::new([0]), scores.len(), sensitivity, scaled);
        let choice = curator.select(how, sealed, cost, "choose").unwrap();
        observed[choice] += 1.0;
        let choice = i64::try_from(choice).unwrap();
        pairs.extend(before.map(|before| (before, choice)));
        before = Some(choice);
    }
    let entry = &curator.ledger().entries().last().unwrap().mechanism;
    let (NoiseMechanism::ExponentialMechanism { epsilon, sensitivity: stated, .. }
    | NoiseMechanism::PermuteAndFlip { epsilon, sensitivity: stated, .. }) = entry
    else {
        panic!("not a selection: {entry:?}")
    };
    assert_eq!(stated.to_bits(), sensitivity.value().to_bits());
    // Two steps of 2⁻¹⁶ are added to the sensitivity.
    let rate = epsilon.to_f64() / (2.0 * (1.0 + 2.0 / 65_536.0));
    let best = scores.iter().copied().fold(f64::MIN, f64::max);
    let accepted: Vec<f64> = scores.iter().map(|s| (rate * (s - best)).exp()).collect();
    let weights = match how {
        Selection::Exponential => accepted,
        Selection::PermuteAndFlip => permute_and_flip(&accepted),
    };
    let sum: f64 = weights.iter().sum();
    let probabilities: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let z = chi_square(&observed, &probabilities);
    assert!(z < ALARM, "{how:?}, {relation}, {} candidates: {z:.1} sd", scores.len());
    check_independent(&format!("{how:?}, {relation}"), &pairs);
}

#[test]
fn a_selection_has_the_law_of_its_entry() {
    for relation in relations() {
        for how in [Selection::Exponential, Selection::PermuteAndFlip] {
            check_selection(relation, how, &[3.0, 0.0, 2.5, 2.0, -1.0], rho(0.2), 100_000);
        }
    }
}

#[test]
fn several_draws_have_the_law_of_their_entry_and_are_independent() {
    for (scores, cost) in [(vec![3.0, 0.0, 2.5, 2.0, -1.0], 1.0), (vec![-9.0; 3_000], 2.0)] {
        let mut scores: Vec<f64> = scores;
        scores[0] = 3.0;
        let data = Counts::new(vec![1], 1);
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = curator(&data, relation);
        let sensitivity = ScoreSensitivity::signed_cell_error(relation);
        let mut observed = vec![0.0; scores.len()];
        let mut pairs = Vec::new();
        let mut epsilon = 0.0;
        for _ in 0..if scores.len() > 100 { 500 } else { 20_000 } {
            let (many, clique) = (scores.len(), Clique::new([0]));
            let sealed = own::scores(&curator, &clique, many, sensitivity, |_| scores.clone());
            let chosen = curator.select_times(sealed, rho(cost), 5, "choose").unwrap();
            chosen.iter().for_each(|choice| observed[*choice] += 1.0);
            let at = |i: usize| i64::try_from(chosen[i]).unwrap();
            pairs.extend((1..5).map(|i| (at(i - 1), at(i))));
            let entry = &curator.ledger().entries().last().unwrap().mechanism;
            let NoiseMechanism::ExponentialMechanism { epsilon: stated, draws: 5, .. } = entry
            else {
                panic!("not five draws: {entry:?}")
            };
            epsilon = stated.to_f64();
        }
        assert!((epsilon - (8.0 * cost / 5.0).sqrt()).abs() < 1e-6);
        let rate = epsilon / (2.0 * (1.0 + 2.0 / 65_536.0));
        let weights: Vec<f64> = scores.iter().map(|s| (rate * (s - 3.0)).exp()).collect();
        let sum: f64 = weights.iter().sum();
        let probabilities: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
        let z = chi_square(&observed, &probabilities);
        assert!(z < ALARM, "{} candidates: {z:.1} sd", scores.len());
        check_independent(&format!("draws among {}", scores.len()), &pairs);
    }
}

/// One candidate stands out from many: most trials are refused, and the rest of the draw is made in one step.
#[test]
fn a_selection_among_very_many_has_the_law_of_its_entry() {
    let mut scores = vec![-9.0; 3_000];
    scores[17] = 0.0;
    scores[1_234] = -1.0;
    scores[2_999] = -2.0;
    let relation = NeighboringRelation::ReplaceOne;
    for (how, cost) in [(Selection::Exponential, 0.4), (Selection::PermuteAndFlip, 1.6)] {
        check_selection(relation, how, &scores, rho(cost), 2_000);
    }
}
