//! Records that are brought near the model's marginals.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain};
use jointly::model::{MarkovRandomField, Sampling};
use jointly::table::{CliqueLayout, Potentials};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

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

#[test]
fn marginals_of_all_orders_come_nearer_to_the_model() {
    let model = chain(1000.0);
    let triples = subsets_of_size(model.domain(), 3);
    for (records, seed) in [(300, 1), (1000, 2), (5000, 3)] {
        let drawn = draw(&model, records, seed);
        let refined = model.refine(&drawn, &triples).unwrap();
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
        after += distance(&model, &model.refine(&drawn, &arms).unwrap(), &others);
    }
    assert!(after < 1.05 * before, "{before} to {after}");
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
        let refined = model.refine(&drawn, &[Clique::new([0, 2])]).unwrap();
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
        pool.install(|| model.refine(&drawn, &pairs).unwrap())
    };
    assert_eq!(with(1), with(3));
}

#[test]
fn what_cannot_be_refined_is_refused_or_left_alone() {
    let model = chain(100.0);
    let drawn = draw(&model, 100, 5);
    let error = model.refine(&drawn, &[Clique::new([2, 5])]).unwrap_err();
    assert!(error.to_string().contains("#5"), "{error}");
    let other = chain(1.0).refine(&drawn.select(&[0, 1]).unwrap(), &[]);
    assert!(other.is_err());
    assert_eq!(model.refine(&drawn, &[]).unwrap(), drawn);
}
