//! Against least squares by dense matrices, and the law of simulated noise.

use ndarray::{Array1, Array2};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::linalg::solve_positive_definite;

/// Attributes of 2, 3, 2 and 1 values.
fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2), ("d", 1)]).unwrap()
}

fn clique(attributes: &[usize]) -> Clique {
    Clique::new(attributes.iter().copied())
}

/// The sums of the twelve cells of all attributes that a marginal is.
fn matrix(of: &Clique) -> Array2<f64> {
    let (all, shape) = (clique(&[0, 1, 2, 3]), domain().shape(&clique(&[0, 1, 2, 3])));
    let cells: usize = domain().shape(of).iter().product();
    let mut rows = Array2::zeros((cells, 12));
    for cell in 0..12 {
        let mut unit = vec![0.0; 12];
        unit[cell] = 1.0;
        let mut own = vec![0.0; cells];
        Projection::between(&all, &shape, of).add_into(&unit, &mut own);
        rows.column_mut(cell).assign(&Array1::from(own));
    }
    rows
}

/// The matrix of a marginal's residual.
fn centered(of: &Clique) -> Array2<f64> {
    let mut rows = matrix(of);
    for mut column in rows.columns_mut() {
        let mut own = column.to_vec();
        center(&domain().shape(of), &mut own);
        column.assign(&Array1::from(own));
    }
    rows
}

/// The best linear unbiased estimate of `weights · x` by the normal equations. What nothing was measured about has a prior of
/// variance 10⁸, which only a function that is not determined sees.
fn dense(measured: &Measured, weights: &Array1<f64>) -> Estimate {
    let mut normal: Array2<f64> = Array2::eye(12) * 1e-8;
    let mut right_side: Array1<f64> = Array1::zeros(12);
    let mut add = |rows: &Array2<f64>, values: &[f64], variance: f64| {
        normal += &(rows.t().dot(rows) / variance);
        right_side += &(rows.t().dot(&Array1::from(values.to_vec())) / variance);
    };
    if let Some(records) = measured.records {
        add(&Array2::ones((1, 12)), &[records], 1e-7);
    }
    for own in &measured.marginals {
        add(&matrix(&own.clique), &own.values, own.stddev.powi(2));
    }
    for (clique, own) in &measured.residuals {
        add(&centered(clique), &own.values, own.stddev.powi(2));
    }
    for own in &measured.cells {
        let row = matrix(&own.clique).row(own.cell.unwrap()).to_owned();
        add(&row.insert_axis(ndarray::Axis(0)), &own.values, own.stddev.powi(2));
    }
    let solved = solve_positive_definite(&normal, weights).unwrap();
    Estimate { value: solved.dot(&right_side), variance: solved.dot(weights) }
}

fn noisy(rng: &mut ChaCha20Rng, of: &[usize], stddev: f64) -> Measurement {
    let cells: usize = domain().shape(&clique(of)).iter().product();
    let values = (0..cells).map(|_| rng.random_range(-20.0..100.0)).collect();
    Measurement::new(clique(of), values, stddev)
}

fn everything(rng: &mut ChaCha20Rng, records: Option<f64>) -> Measured {
    let of = [(&[0, 1][..], 3.0), (&[1, 2, 3], 5.0), (&[0], 1.5), (&[1], 4.0), (&[0, 1], 9.0)];
    let marginals = of.map(|(of, stddev)| noisy(rng, of, stddev)).to_vec();
    let residual = |rng: &mut ChaCha20Rng, of: &[usize], stddev| {
        let table = noisy(rng, of, stddev).values;
        (clique(of), MeasuredResidual::centered(&domain(), &clique(of), table, stddev))
    };
    let residuals = BTreeMap::from([residual(rng, &[0, 1], 2.0), residual(rng, &[0, 2], 6.0)]);
    Measured { records, marginals, residuals, ..Measured::default() }
}

fn near(found: Estimate, expected: Estimate) {
    let is_near = |a: f64, b: f64| (a - b).abs() < 1e-4 * b.abs().max(1.0);
    assert!(
        is_near(found.value, expected.value) && is_near(found.variance, expected.variance),
        "{found:?}, expected {expected:?}"
    );
}

#[test]
fn marginals_and_their_laws_are_those_of_dense_least_squares() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    for records in [None, Some(400.0)] {
        let measured = everything(&mut rng, records);
        for asked in [&[][..], &[0], &[1], &[2], &[3], &[0, 1], &[1, 2], &[0, 2], &[1, 2, 3]] {
            let asked = clique(asked);
            assert!(measured.determines(&domain(), &asked), "{asked}");
            let solved = measured.estimates(&domain(), std::slice::from_ref(&asked)).unwrap();
            let found = solved.marginal(&asked).unwrap();
            let rows = matrix(&asked);
            for (count, row) in found.counts().iter().zip(rows.rows()) {
                let own = Estimate { value: *count, variance: found.of_cell() };
                near(own, dense(&measured, &row.to_owned()));
            }
            // Sums with weights, of some cells and of all, in both ways.
            for _ in 0..5 {
                let weights: Vec<f64> =
                    found.counts().iter().map(|_| f64::from(rng.random_range(-1..3))).collect();
                let expected = dense(&measured, &rows.t().dot(&Array1::from(weights.clone())));
                let cells: Vec<(usize, f64)> = weights.iter().copied().enumerate().collect();
                let value = cells.iter().map(|(cell, w)| w * found.counts()[*cell]).sum();
                near(Estimate { value, variance: found.variance(&cells) }, expected);
                let mut form = LinearForm::default();
                form.add(&domain(), &asked, &weights);
                near(solved.estimate(&form).unwrap(), expected);
            }
        }
        // The part of three attributes was never measured.
        let all = clique(&[0, 1, 2]);
        assert!(!measured.determines(&domain(), &all));
        assert!(
            measured
                .estimates(&domain(), std::slice::from_ref(&all))
                .unwrap()
                .marginal(&all)
                .is_none()
        );
    }
}

#[test]
fn a_function_of_pairs_needs_no_marginal_that_holds_it() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let measured = everything(&mut rng, Some(400.0));
    let (all, pairs) = (clique(&[0, 1, 2]), [clique(&[0, 1]), clique(&[1, 2]), clique(&[0, 2])]);
    let solved = measured.estimates(&domain(), std::slice::from_ref(&all)).unwrap();
    let mut form = LinearForm::default();
    let mut dense_weights: Array1<f64> = Array1::zeros(12);
    for pair in &pairs {
        let cells: usize = domain().shape(pair).iter().product();
        let weights: Vec<f64> = (0..cells).map(|_| rng.random_range(-1.0..1.0)).collect();
        form.add(&domain(), pair, &weights);
        dense_weights += &matrix(pair).t().dot(&Array1::from(weights));
    }
    near(solved.estimate(&form).unwrap(), dense(&measured, &dense_weights));
    // The same function, as weights of the cells of all three: no weight of their own part is left but for rounding.
    let mut together = LinearForm::default();
    together.add(&domain(), &all, &dense_weights.to_vec());
    near(solved.estimate(&together).unwrap(), dense(&measured, &dense_weights));
    // One cell of the three is another matter.
    let mut cell = vec![0.0; 12];
    cell[3] = 1.0;
    let mut form = LinearForm::default();
    form.add(&domain(), &all, &cell);
    assert!(solved.estimate(&form).is_none());
}

#[test]
fn single_cells_say_what_is_a_combination_of_them() {
    let of = [(&[0, 1][..], 4, 80.0, 2.0), (&[0, 1], 4, 90.0, 4.0), (&[0], 0, 150.0, 3.0)];
    let cells = of.map(|(of, cell, count, stddev)| {
        let cell = Some(cell);
        Measurement { cell, ..Measurement::new(clique(of), vec![count], stddev) }
    });
    let measured = Measured { records: Some(400.0), cells: cells.to_vec(), ..Measured::default() };
    let solved = measured.estimates(&domain(), &[]).unwrap();
    let of = |of: &[usize], cells: &[(usize, f64)]| solved.of_single_cells(&clique(of), cells);
    let unit =
        |of: &[usize], cell: usize| dense(&measured, &matrix(&clique(of)).row(cell).to_owned());
    near(of(&[0, 1], &[(4, 1.0)]).unwrap(), unit(&[0, 1], 4));
    // Also over an attribute of one value more.
    near(of(&[0, 1, 3], &[(4, 1.0)]).unwrap(), unit(&[0, 1], 4));
    // All but those with the first value, and that without the measured cell.
    near(of(&[0], &[(1, 1.0)]).unwrap(), unit(&[0], 1));
    near(of(&[0, 1], &[(3, 1.0), (5, 1.0)]).unwrap(), {
        let rows = matrix(&clique(&[0, 1]));
        dense(&measured, &(&rows.row(3) + &rows.row(5)))
    });
    assert!(of(&[0, 1], &[(3, 1.0)]).is_none() && of(&[1], &[(1, 1.0)]).is_none());
}

#[test]
fn what_is_known_of_some_attributes_is_renamed() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let measured = everything(&mut rng, None).of_attributes(&[0, 1]);
    assert_eq!(measured.marginals.len(), 4);
    assert_eq!(measured.residuals.keys().collect::<Vec<_>>(), [&clique(&[0, 1])]);
    let of_second = everything(&mut rng, None).of_attributes(&[1, 2, 3]);
    assert!(of_second.residuals.is_empty());
    assert_eq!(of_second.marginals[0].clique, clique(&[0, 1, 2]));
}

#[test]
fn tables_of_another_size_are_refused() {
    let marginals = vec![Measurement::new(clique(&[0]), vec![1.0; 3], 1.0)];
    let measured = Measured { marginals, ..Measured::default() };
    let error = measured.estimates(&domain(), &[clique(&[0])]).unwrap_err().to_string();
    assert!(error.contains("table over a has 3 cells"), "{error}");
    let error = measured.estimates(&domain(), &[clique(&[7])]).unwrap_err().to_string();
    assert!(error.contains("marginal"), "{error}");
}
