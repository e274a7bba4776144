//! Sums of exponentials whose exponents are thousands apart.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

/// `ln Σ exp(terms)`, with the largest term taken out.
fn log_sum(terms: impl Iterator<Item = f64> + Clone) -> f64 {
    let max = terms.clone().fold(f64::NEG_INFINITY, f64::max);
    if max == f64::NEG_INFINITY {
        max
    } else {
        max + terms.map(|t| (t - max).exp()).sum::<f64>().ln()
    }
}

#[test]
fn every_cell_of_a_sum_is_accurate_however_far_apart_the_terms_are() {
    let domain = Domain::new([("a", 40), ("b", 30)]).unwrap();
    let (rows, columns) = (40, 30);
    let [a, b, both] = [vec![0], vec![1], vec![0, 1]].map(Clique::new);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for scale in [1.0, 50.0, 400.0, 5000.0] {
        let mut draw = |cells: usize, rising: f64| -> Vec<f64> {
            let cell = |i: usize| scale * (rng.random_range(-1.0..1.0) + rising * i as f64);
            let mut found: Vec<f64> = (0..cells).map(cell).collect();
            found[cells / 2] = f64::NEG_INFINITY;
            found
        };
        // Later rows have larger terms, earlier ones, or neither.
        for rising in [0.0, 0.5, -0.5] {
            let (of_a, of_both) = (draw(rows, rising), draw(rows * columns, 0.0));
            let inputs = [(&a, of_a.as_slice()), (&both, of_both.as_slice())];
            let outputs = [a.clone(), b.clone(), Clique::default()];
            let found = log_contract(&domain, &both, &inputs, &outputs);
            let term = |i: usize, j: usize| of_a[i] + of_both[i * columns + j];
            let mut expected: Vec<f64> = (0..rows)
                .map(|i| log_sum((0..columns).map(move |j| (i, j)).map(|(i, j)| term(i, j))))
                .collect();
            expected.extend((0..columns).map(|j| log_sum((0..rows).map(|i| term(i, j)))));
            let all = (0..rows * columns).map(|cell| term(cell / columns, cell % columns));
            expected.push(log_sum(all));
            for (found, expected) in found.iter().flatten().zip(expected) {
                let is_close = (found - expected).abs() <= 1e-12 * expected.abs().max(1.0);
                assert!(
                    is_close || (*found < -1e300 && expected < -1e300),
                    "{scale}, {rising}: {found}, {expected}"
                );
            }
        }
    }
}
