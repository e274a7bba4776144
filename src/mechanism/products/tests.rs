use ndarray::Array2;

use super::adam::{Adam, cosine};
use super::targets::{Targets, largest};
use super::*;
use crate::domain::{Clique, Domain};
use crate::measurement::{Measurement, Provenance};

fn measurement(clique: Clique, cell: Option<usize>, values: Vec<f64>) -> Measurement {
    Measurement { clique, cell, values, stddev: 1.0, provenance: Provenance::Private }
}

#[test]
fn answers_are_clamped_and_forbidden_cells_are_zero() {
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).unwrap();
    let domain = domain.forbid([vec![("a", vec![1]), ("c", vec![0])]]).unwrap();
    let mut targets = Targets::new(&domain);
    let all = Clique::new([0, 1, 2]);
    targets.push(
        &measurement(all.clone(), None, vec![-5.0, 50.0, 120.0, 0.0, 8.0, 8.0, 8.0, 8.0]),
        100.0,
    );
    targets.push(&measurement(all, Some(6), vec![9.0]), 100.0);
    targets.push(&measurement(Clique::new([1]), Some(1), vec![30.0]), 100.0);
    assert_eq!(targets.sizes().collect::<Vec<_>>(), [8, 1, 1]);
    let uniform = Array2::from_elem((6, 3), 0.5);
    let errors = targets.errors::<f64>(&uniform, None);
    let expected: Vec<f64> = [0.0, 0.5, 1.0, 0.0, 0.0, 0.08, 0.0, 0.08].map(|a| 0.125 - a).into();
    for (found, expected) in errors[0].iter().zip(&expected) {
        assert!((found - expected).abs() < 1e-12);
    }
    assert!((errors[1][0] - 0.125).abs() < 1e-12 && (errors[2][0] - 0.2).abs() < 1e-12);
    assert!((largest(&errors) - 0.875).abs() < 1e-12);
    let some = targets.errors::<f64>(&uniform, Some(&[2]));
    assert_eq!((some[0].len(), some[1].len(), some[2].len()), (0, 0, 1));
    // One list of slopes only: those of the second attribute.
    let gradient = targets.pull_back::<f64>(&uniform, &[vec![], vec![], vec![1.0]]);
    assert_eq!(gradient.column(0).to_vec(), [0.0, 0.0, 0.0, 1.0 / 3.0, 0.0, 0.0]);
}

#[test]
fn the_loss_counts_large_errors_only() {
    let errors = || vec![vec![0.3, -0.4], vec![0.1]];
    let l2 = Loss::L2.slopes(errors(), 0.2).unwrap();
    assert!((l2[0][0] - 0.3).abs() < 1e-12 && (l2[0][1] + 0.4).abs() < 1e-12);
    assert!(l2[1][0] == 0.0);
    assert_eq!(Loss::L1.slopes(errors(), 0.2).unwrap(), [vec![0.5, -0.5], vec![0.0]]);
    assert!(Loss::L2.slopes(errors(), 0.5).is_none());
    // Met exactly: there is no slope to follow.
    assert!(Loss::L2.slopes(vec![vec![0.0]], 0.0).is_none());
}

#[test]
fn adam_takes_steps_of_its_rate_at_first() {
    let mut parameters = vec![Array2::from_elem((1, 2), 1.0_f64)];
    let mut adam = Adam::new(&parameters);
    let gradient = Array2::from_shape_vec((1, 2), vec![3.0, -0.5]).unwrap();
    adam.step(&mut parameters, &[gradient], 0.1);
    assert!((parameters[0][(0, 0)] - 0.9).abs() < 1e-6);
    assert!((parameters[0][(0, 1)] - 1.1).abs() < 1e-6);
    assert!((cosine(1.0, 0.2, 0, 100) - 1.0).abs() < 1e-12);
    assert!((cosine(1.0, 0.2, 50, 100) - 0.6).abs() < 1e-12);
    assert!((cosine(1.0, 0.2, 100, 100) - 0.2).abs() < 1e-12);
}
