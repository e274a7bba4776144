use crate::domain::{Clique, Domain};
use crate::measurement::{Measurement, Provenance};
use crate::model::Accuracy;

fn measured(clique: &[usize], values: Vec<f64>, stddev: f64) -> Measurement {
    let clique = Clique::new(clique.iter().copied());
    Measurement { clique, cell: None, values, stddev, provenance: Provenance::Private }
}

fn accuracy(measurements: &[Measurement]) -> Accuracy {
    Accuracy { is_independent: true, ..Accuracy::of(measurements) }
}

#[test]
fn one_measurement_is_its_own_average() {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let values = vec![4.0, -1.0, 2.0, 0.5, 7.0, 3.0];
    let known = accuracy(&[measured(&[0, 1], values.clone(), 2.0)]);
    let found = known.measured_marginal(&domain, &Clique::new([0, 1])).unwrap().unwrap();
    for (found, expected) in found.counts().values().iter().zip(&values) {
        assert!((found - expected).abs() < 1e-12);
    }
    // Independent noise of variance 4 in each cell.
    let weights = vec![1.0, 0.0, -2.0, 0.0, 0.0, 3.0];
    assert!((found.variance(&domain, weights).unwrap() - 4.0 * 14.0).abs() < 1e-9);
}

#[test]
fn a_precise_smaller_marginal_moves_the_larger_one_to_it() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let known = accuracy(&[
        measured(&[0, 1], vec![10.0, 20.0, 30.0, 40.0], 5.0),
        measured(&[0], vec![34.0, 66.0], 1e-6),
    ]);
    let found = known.measured_marginal(&domain, &Clique::new([0, 1])).unwrap().unwrap();
    // Each row is moved by half of what its sum lacks; b keeps its differences.
    for (found, expected) in found.counts().values().iter().zip([12.0, 22.0, 28.0, 38.0]) {
        assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
    }
    assert!(found.variance(&domain, vec![1.0, 1.0, 0.0, 0.0]).unwrap() < 1e-9);
    // A cell keeps the half of the noise that is a difference within its row.
    assert!((found.variance(&domain, vec![1.0, 0.0, 0.0, 0.0]).unwrap() - 12.5).abs() < 1e-6);
}

#[test]
fn a_marginal_outside_of_every_measured_one_has_none() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let known =
        accuracy(&[measured(&[0], vec![1.0, 2.0], 1.0), measured(&[1], vec![1.0, 2.0], 1.0)]);
    assert!(known.measured_marginal(&domain, &Clique::new([0, 1])).unwrap().is_none());
    let joint = Accuracy { is_independent: false, ..known };
    assert!(joint.measured_marginal(&domain, &Clique::new([0])).unwrap().is_none());
}
