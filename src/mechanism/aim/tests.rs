//! James-Stein shrinkage.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, Normal};

use super::*;
use crate::measurement::Provenance;

fn measured(values: Vec<f64>, stddev: f64) -> Measurement {
    let provenance = Provenance::Private;
    Measurement { clique: Clique::new([0]), cell: None, values, stddev, provenance }
}

#[test]
fn shrinkage_moves_towards_what_was_expected_and_never_past_it() {
    let (y, x) = (vec![10.0, 0.0, 4.0, 2.0], [6.0, 2.0, 4.0, 4.0]);
    let apply = |rule: Shrinkage, stddev| rule.apply(&measured(y.clone(), stddev), &x).values;
    assert_eq!(apply(Shrinkage::None, 2.0), y);
    // ‖y - x‖² = 24, and (k - 2) σ² = 8: a third of the way.
    let third = [10.0 - 4.0 / 3.0, 2.0 / 3.0, 4.0, 2.0 + 2.0 / 3.0];
    let found = apply(Shrinkage::JamesStein, 2.0);
    assert!(found.iter().zip(third).all(|(a, b)| (a - b).abs() < 1e-12), "{found:?}");
    assert_eq!(apply(Shrinkage::JamesStein, 4.0), x, "all of the distance may be noise");
    assert_eq!(apply(Shrinkage::JamesStein, 0.0), y, "nothing is noise");
    let pair = Shrinkage::JamesStein.apply(&measured(vec![1.0, 2.0], 9.0), &[5.0, 5.0]);
    assert_eq!(pair.values, [1.0, 2.0], "two cells are never shrunk");
}

#[test]
fn shrunk_measurements_are_closer_to_the_truth_wherever_it_is() {
    let mut rng = ChaCha20Rng::seed_from_u64(7);
    let noise = Normal::new(0.0, 3.0).unwrap();
    for distance in [0.0, 1.0, 3.0, 10.0, 50.0] {
        let (x, cells, trials) = (vec![20.0; 12], 12, 4000);
        let truth: Vec<f64> = (0..cells).map(|i| 20.0 + distance * f64::from(i % 3 - 1)).collect();
        let (mut raw, mut shrunk) = (0.0, 0.0);
        for _ in 0..trials {
            let y: Vec<f64> = truth.iter().map(|t| t + noise.sample(&mut rng)).collect();
            let found = Shrinkage::JamesStein.apply(&measured(y.clone(), 3.0), &x);
            let squares =
                |v: &[f64]| v.iter().zip(&truth).map(|(a, t)| (a - t).powi(2)).sum::<f64>();
            raw += squares(&y);
            shrunk += squares(&found.values);
        }
        assert!(shrunk < raw, "{distance}: {shrunk} against {raw}");
    }
}
