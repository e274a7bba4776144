//! Sums over records, from their definition.

use crate::domain::{Clique, Domain};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

const TOTAL: f64 = 77.5;

/// Random records with weights, some of which are zero.
fn case(records: usize, seed: u64) -> (Dataset, Vec<f64>, Arc<CliqueLayout>, Potentials) {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 2)]).unwrap();
    let rows: Vec<[u32; 3]> =
        (0..records).map(|_| [3, 4, 2].map(|k| rng.random_range(0..k))).collect();
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let weigh = |_| if rng.random::<f64>() < 0.1 { 0.0 } else { rng.random_range(0.1..5.0) };
    let weights: Vec<f64> = (0..records).map(weigh).collect();
    let cliques = [&[0, 1][..], &[2], &[0, 2], &[], &[1]].map(|c| Clique::new(c.iter().copied()));
    let layout = CliqueLayout::new(&domain, cliques).unwrap();
    let mut theta = Potentials::zeros(&layout);
    theta.values_mut().iter_mut().for_each(|x| *x = rng.random_range(-4.0..4.0));
    (rows, weights, layout, theta)
}

/// The cell of a record in the table of a clique.
fn cell(rows: &Dataset, layout: &CliqueLayout, record: usize, clique: usize) -> usize {
    let row = rows.row(record);
    let codes = layout.cliques()[clique].iter().zip(layout.shape(clique));
    codes.fold(0, |cell, (a, k)| cell * k + usize::try_from(row[a]).unwrap())
}

/// The sum of the potentials of a record.
fn log(rows: &Dataset, theta: &Potentials, record: usize) -> f64 {
    let layout = theta.layout();
    (0..layout.cliques().len()).map(|r| theta.table(r)[cell(rows, layout, record, r)]).sum()
}

/// Marginals and log-partition value, record by record.
fn direct(rows: &Dataset, weights: &[f64], theta: &Potentials) -> (Vec<f64>, f64) {
    let layout = theta.layout();
    let sum: f64 = weights.iter().sum();
    let mass =
        (0..rows.records()).map(|record| weights[record] / sum * log(rows, theta, record).exp());
    let mass: Vec<f64> = mass.collect();
    let z: f64 = mass.iter().sum();
    let mut mu = Marginals::zeros(layout);
    for (record, mass) in mass.iter().enumerate() {
        for r in 0..layout.cliques().len() {
            mu.table_mut(r)[cell(rows, layout, record, r)] += TOTAL * mass / z;
        }
    }
    (mu.values().to_vec(), z.ln())
}

#[test]
fn it_equals_the_sum_over_records() {
    for (seed, records) in [(1, 1), (2, 7), (3, 300), (4, 3 * BLOCK + 5)] {
        let (rows, mut weights, layout, theta) = case(records, seed);
        weights[0] = 1.0;
        let oracle = ListedRecords::new(&rows, &weights, &layout).unwrap();
        let mut mu = Marginals::zeros(&layout);
        let a = oracle.marginals(&theta, TOTAL, &mut (), &mut mu).unwrap();
        let (expected, log_partition) = direct(&rows, &weights, &theta);
        assert!((a - log_partition).abs() < 1e-11, "{a}, expected {log_partition}");
        for (found, expected) in mu.values().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-10 * TOTAL, "{found}, expected {expected}");
        }
        let largest = oracle.largest_log_weight(&theta, &mut ()).unwrap().unwrap();
        let listed = (0..records).filter(|record| weights[*record] > 0.0);
        let expected = listed.map(|record| log(&rows, &theta, record)).fold(f64::MIN, f64::max);
        assert!((largest - expected).abs() < 1e-11, "{largest}, expected {expected}");
        let zero = Potentials::zeros(&layout);
        assert!(oracle.marginals(&zero, TOTAL, &mut (), &mut mu).unwrap().abs() < 1e-11);
        let (shares, log) = oracle.weights(&theta).unwrap();
        assert!((shares.iter().sum::<f64>().ln() + log - log_partition).abs() < 1e-11);
        assert!(shares.iter().zip(&weights).all(|(share, w)| (*share > 0.0) == (*w > 0.0)));
    }
}

#[test]
fn the_result_is_the_same_on_one_and_two_threads() {
    let (rows, weights, layout, theta) = case(5 * BLOCK + 17, 9);
    let oracle = ListedRecords::new(&rows, &weights, &layout).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut mu = Marginals::zeros(&layout);
        let a = pool.install(|| oracle.marginals(&theta, TOTAL, &mut (), &mut mu)).unwrap();
        let bits: Vec<u64> = mu.values().iter().chain([&a]).map(|x| x.to_bits()).collect();
        bits
    };
    assert_eq!(on(1), on(2));
}

#[test]
fn unusable_weights_and_potentials_are_errors() {
    let (rows, weights, layout, theta) = case(4, 3);
    let bad = [
        vec![1.0; 3],
        vec![0.0; 4],
        vec![1.0, -1.0, 1.0, 1.0],
        vec![1.0, f64::NAN, 1.0, 1.0],
        vec![1.0, f64::INFINITY, 1.0, 1.0],
    ];
    for weights in bad {
        assert!(ListedRecords::new(&rows, &weights, &layout).is_err(), "{weights:?}");
    }
    let oracle = ListedRecords::new(&rows, &weights, &layout).unwrap();
    let mut mu = Marginals::zeros(&layout);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
        let mut theta = theta.clone();
        theta.table_mut(1).fill(bad); // every record has a value of c
        assert!(oracle.marginals(&theta, TOTAL, &mut (), &mut mu).is_err(), "{bad}");
    }
    let fewer = CliqueLayout::new(rows.domain(), [Clique::new([2])]).unwrap();
    let theta = Potentials::zeros(&fewer);
    assert!(oracle.marginals(&theta, TOTAL, &mut (), &mut mu).is_err());
}
