//! Records that are brought near the model's marginals.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain};
use jointly::model::{MarkovRandomField, Refinement, Sampling};
use jointly::table::{CliqueLayout, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

/// A chain over five attributes with uneven potentials, standing for `total` records.
fn chain(total: f64) -> MarkovRandomField {
    let domain = Domain::new([("a", 4), ("b", 7), ("c", 3), ("d", 9), ("e", 5)]).unwrap();
    let arms: Vec<Clique> = (0..4).map(|a| Clique::new([a, a + 1])).collect();
    let layout = CliqueLayout::new(&domain, arms).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (i, x) in theta.values_mut().iter_mut().enumerate() {
        *x = 2.0 * (3.7 * i as f64).sin();
    }
    MarkovRandomField::new(&domain, theta, total).unwrap()
}

fn draw(model: &MarkovRandomField, records: usize, seed: u64) -> Dataset {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    model.sample(records, Sampling::Rounded, &mut rng).unwrap()
}

fn subsets_of_size(domain: &Domain, size: usize) -> Vec<Clique> {
    let all = Clique::new(0..domain.len());
    all.subsets().into_iter().filter(|subset| subset.len() == size).collect()
}

/// Mean over cliques of the L1 distance of frequencies.
fn distance(model: &MarkovRandomField, rows: &Dataset, cliques: &[Clique]) -> f64 {
    let expected = model.marginals(cliques).unwrap();
    let counts = rows.project_many(cliques).unwrap();
    let of_clique = |(counts, expected): (&Vec<u32>, &jointly::table::Factor)| {
        let cells = counts.iter().zip(expected.values());
        let off = |(n, e): (&u32, &f64)| {
            (f64::from(*n) / rows.records() as f64 - e / model.total()).abs()
        };
        cells.map(off).sum::<f64>()
    };
    counts.iter().zip(&expected).map(of_clique).sum::<f64>() / cliques.len() as f64
}

/// Five attributes of three to nine values with uneven potentials, so that some combinations are rare: even seeds make a
/// star around the first attribute, odd ones a chain. With every `[hub, left, right]` where left and right are next to
/// the hub and independent given it.
fn star_or_chain(seed: u64) -> (MarkovRandomField, Vec<[usize; 3]>) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let names = ["a", "b", "c", "d", "e"];
    let domain = Domain::new(names.map(|name| (name, rng.random_range(3..=9_u32)))).unwrap();
    let is_star = seed.is_multiple_of(2);
    let arms = (1..5).map(|leaf| Clique::new([if is_star { 0 } else { leaf - 1 }, leaf]));
    let siblings = if is_star {
        (1..5).flat_map(|left| (left + 1..5).map(move |right| [0, left, right])).collect()
    } else {
        (1..4).map(|hub| [hub, hub - 1, hub + 1]).collect()
    };
    let mut theta = Potentials::zeros(&CliqueLayout::new(&domain, arms).unwrap());
    for x in theta.values_mut() {
        *x = 2.0 * rng.sample::<f64, _>(StandardNormal);
    }
    (MarkovRandomField::new(&domain, theta, 1e6).unwrap(), siblings)
}

/// How far G is from independence of left and right given the hub, in standard deviations of the normal distribution
/// (Wilson & Hilferty 1931).
fn dependence(rows: &Dataset, [hub, left, right]: [usize; 3]) -> f64 {
    let size = |attribute| rows.domain().cardinality(attribute);
    let codes = |attribute: usize| rows.columns()[attribute].iter().map(|code| code as usize);
    let mut counts = vec![vec![vec![0.0; size(right)]; size(left)]; size(hub)];
    for ((h, l), r) in codes(hub).zip(codes(left)).zip(codes(right)) {
        counts[h][l][r] += 1.0;
    }
    let (mut statistic, mut degrees) = (0.0, 0.0);
    for table in &counts {
        let of_left: Vec<f64> = table.iter().map(|row| row.iter().sum()).collect();
        let of_right: Vec<f64> =
            (0..size(right)).map(|r| table.iter().map(|row| row[r]).sum()).collect();
        let total: f64 = of_left.iter().sum();
        for (row, of_left) in table.iter().zip(&of_left) {
            for (n, of_right) in row.iter().zip(&of_right).filter(|(n, _)| **n > 0.0) {
                statistic += 2.0 * n * (n * total / (of_left * of_right)).ln();
            }
        }
        let seen = |sums: &[f64]| sums.iter().filter(|sum| **sum > 0.0).count() as f64;
        degrees += (seen(&of_left) - 1.0).max(0.0) * (seen(&of_right) - 1.0).max(0.0);
    }
    let variance = 2.0 / (9.0 * degrees);
    ((statistic / degrees).cbrt() - (1.0 - variance)) / variance.sqrt()
}

/// Whether a Poisson variable is as large as `count` with a probability below that of six standard deviations.
fn is_far_above(count: u32, expected: f64) -> bool {
    let mut term = (-expected).exp();
    for k in 1..=count {
        term *= expected / f64::from(k);
    }
    let mut tail = 0.0;
    for k in count + 1..count + 200 {
        tail += term;
        term *= expected / f64::from(k);
    }
    tail < 9.87e-10
}

#[test]
fn marginals_of_all_orders_come_nearer_to_the_model() {
    let model = chain(1000.0);
    let triples = subsets_of_size(model.domain(), 3);
    for (records, seed) in [(300, 1), (1000, 2), (5000, 3)] {
        let drawn = draw(&model, records, seed);
        let refined = model.refine(&drawn, &triples.clone().into()).unwrap();
        assert_eq!(refined.records(), records);
        for (size, share) in [(1, 1.0), (2, 0.5), (3, 0.6)] {
            let cliques = subsets_of_size(model.domain(), size);
            let (before, after) =
                (distance(&model, &drawn, &cliques), distance(&model, &refined, &cliques));
            // Single attributes are nearly exact before; they may be off by rounding.
            let rounding = if size == 1 { 9.0 / records as f64 } else { 0.0 };
            assert!(after < share * before + rounding, "{records}, {size}: {before} to {after}");
        }
    }
}

#[test]
fn marginals_that_nobody_asked_for_do_not_suffer() {
    // Pairs along the chain only: triples, and pairs across it, keep the distance of drawn records.
    let model = chain(2000.0);
    let arms: Vec<Clique> = (0..4).map(|a| Clique::new([a, a + 1])).collect();
    let (mut before, mut after) = (0.0, 0.0);
    let others: Vec<Clique> = subsets_of_size(model.domain(), 2)
        .into_iter()
        .filter(|pair| !arms.contains(pair))
        .chain(subsets_of_size(model.domain(), 3))
        .collect();
    for seed in 0..10 {
        let drawn = draw(&model, 2000, seed);
        before += distance(&model, &drawn, &others);
        after += distance(&model, &model.refine(&drawn, &arms.clone().into()).unwrap(), &others);
    }
    assert!(after < 1.05 * before, "{before} to {after}");
}

/// Twelve models, a million records each, refined on all cliques of a size.
///
/// False alarm: 1e-6 for the independences together; one in a thousand for the hundreds of thousands of cells, if they were
/// Poisson variables (drawn tables vary less); 1e-6 for the records in rare combinations. A cell expected below 20 cannot
/// be too empty at six standard deviations.
fn check_rare_cells_and_independences(size: usize) {
    let (mut rare, mut rare_expected) = (0.0, 0.0);
    for seed in 0..12 {
        let (model, siblings) = star_or_chain(seed);
        let drawn = draw(&model, 1_000_000, 100 + seed);
        let refined = model.refine(&drawn, &subsets_of_size(model.domain(), size).into()).unwrap();
        for siblings in siblings {
            // At most 54 tests: 1e-6 / 54 is below the tail from 5.59.
            let deviations = dependence(&refined, siblings);
            assert!(deviations < 5.59, "model {seed}, {siblings:?}: {deviations}");
        }
        let all = Clique::new(0..5);
        for clique in all.subsets().into_iter().filter(|clique| clique.len() >= 3) {
            let expected = &model.marginals(std::slice::from_ref(&clique)).unwrap()[0];
            let counts = refined.project(&clique).unwrap();
            for (count, expected) in counts.iter().zip(expected.values()) {
                let is_off = *expected < 20.0 && is_far_above(*count, *expected);
                assert!(!is_off, "model {seed}, {clique}: {count} for {expected}");
                if clique == all && *expected < 1.0 {
                    rare += f64::from(*count);
                    rare_expected += expected;
                }
            }
        }
    }
    // Each record is in one cell of all attributes.
    let most = rare_expected + 4.75 * rare_expected.sqrt();
    assert!(rare < most, "{rare} records in rare combinations, {rare_expected} expected");
}

#[test]
fn refined_on_pairs_siblings_stay_independent_and_rare_cells_rare() {
    check_rare_cells_and_independences(2);
}

#[test]
fn refined_on_triples_siblings_stay_independent_and_rare_cells_rare() {
    check_rare_cells_and_independences(3);
}

#[test]
fn combinations_that_no_record_can_have_stay_empty() {
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 5)]).unwrap();
    let rules = [
        vec![("a", vec![0]), ("b", vec![1, 2])],
        vec![("a", vec![2]), ("b", vec![0]), ("c", vec![0, 1, 2])],
    ];
    let domain = domain.forbid(rules).unwrap();
    let layout = CliqueLayout::new(&domain, [Clique::new([1, 2])]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (i, x) in theta.values_mut().iter_mut().enumerate() {
        *x = (1.3 * i as f64).cos();
    }
    let model = MarkovRandomField::new(&domain, theta, 500.0).unwrap();
    for seed in 0..5 {
        let drawn = draw(&model, 500, seed);
        // Asked for cliques that do not show the rules.
        let refined = model.refine(&drawn, &vec![Clique::new([0, 2])].into()).unwrap();
        assert!(refined != drawn);
        for row in 0..refined.records() {
            let row = refined.row(row);
            assert!(!(row[0] == 0 && [1, 2].contains(&row[1])), "{row:?}");
            assert!(!(row[0] == 2 && row[1] == 0 && row[2] <= 2), "{row:?}");
        }
    }
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let model = chain(3000.0);
    let drawn = draw(&model, 3000, 4);
    let pairs = subsets_of_size(model.domain(), 2);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| model.refine(&drawn, &pairs.clone().into()).unwrap())
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn what_cannot_be_refined_is_refused_or_left_alone() {
    let model = chain(100.0);
    let drawn = draw(&model, 100, 5);
    let error = model.refine(&drawn, &vec![Clique::new([2, 5])].into()).unwrap_err();
    assert!(error.to_string().contains("#5"), "{error}");
    let other = chain(1.0).refine(&drawn.select(&[0, 1]).unwrap(), &Refinement::default());
    assert!(other.is_err());
    assert_eq!(model.refine(&drawn, &Refinement::default()).unwrap(), drawn);
}
