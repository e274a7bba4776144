use super::*;
use crate::least_squares::Measured;
use crate::measurement::{Measurement, Provenance};

/// A model of three attributes of which all pairs were measured.
pub(in crate::posterior) fn example(stddev: f64) -> (Domain, Observed, LogLinear) {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap();
    let counts = [40.0, 10.0, 25.0, 5.0, 30.0, 20.0, 8.0, 22.0, 12.0, 18.0, 6.0, 4.0];
    let measured = |clique: [usize; 2]| {
        let clique = Clique::new(clique);
        let shape = domain.shape(&clique);
        let mut values = vec![0.0; shape.iter().product()];
        Projection::between(&domain.everything(), &[2, 3, 2], &clique)
            .add_into(&counts, &mut values);
        Measurement { clique, cell: None, values, stddev, provenance: Provenance::Private }
    };
    let all = [measured([0, 1]), measured([0, 2]), measured([1, 2])];
    let measured = Measured { records: Some(200.0), ..Measured::of(&all) };
    let observed = Observed::new(&domain, &measured, &domain.everything()).unwrap();
    let model = LogLinear::new(&domain, &observed, 200.0);
    (domain, observed, model)
}

#[test]
fn the_covariance_is_the_derivative_of_the_means() {
    let (_, observed, model) = example(3.0);
    let theta: Vec<f64> = (0..observed.size).map(|i| 0.3 * (i as f64).sin()).collect();
    let means = |theta: &[f64]| model.means(&model.distribution(theta));
    let at = means(&theta);
    let p = model.distribution(&theta);
    assert!((p.iter().sum::<f64>() - 1.0).abs() < 1e-12);
    let covariance = model.covariance(&p, &at);
    for j in 0..observed.size {
        let step = 1e-5;
        let moved = |by: f64| {
            let mut theta = theta.clone();
            theta[j] += by;
            means(&theta)
        };
        let (up, down) = (moved(step), moved(-step));
        let mut unit = vec![0.0; observed.size];
        unit[j] = 1.0;
        let times = model.covariance_times(&p, &at, &unit);
        for i in 0..observed.size {
            let slope = (up[i] - down[i]) / (2.0 * step);
            assert!((covariance[[i, j]] - slope).abs() < 1e-8, "{i}, {j}");
            assert!((times[i] - slope).abs() < 1e-8, "{i}, {j}");
        }
    }
}

#[test]
fn forbidden_combinations_have_no_probability() {
    let (domain, observed, _) = example(3.0);
    let domain = domain.forbid([vec![("a", vec![0]), ("b", vec![1, 2])]]).unwrap();
    let model = LogLinear::new(&domain, &observed, 200.0);
    let p = model.distribution(&vec![0.4; observed.size]);
    assert!(p[2..6].iter().all(|p| *p == 0.0) && p[..2].iter().all(|p| *p > 0.0));
}
