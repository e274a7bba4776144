use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::Error;
use crate::model::{MarkovRandomField, Model, WeightedSupport};
use crate::table::{CliqueLayout, Potentials};

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

fn impossible(record: usize, attribute: &str) -> Error {
    crate::CommonError::EmptyModel { reason: format!("record {record}, {attribute}") }.into()
}

/// A graphical model with factors on a, b and b, c; b = 2 never occurs with c = 1.
fn field() -> Model {
    let domain =
        domain().forbid([vec![("b".to_owned(), vec![2]), ("c".to_owned(), vec![1])]]).unwrap();
    let layout = CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([1, 2])]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    let tables = [[1.0, 2.0, 3.0, 4.0, 1.0, 1.0], [1.0, 3.0, 2.0, 1.0, 5.0, 1.0_f64]];
    for (table, values) in tables.iter().enumerate() {
        theta.table_mut(table).iter_mut().zip(values).for_each(|(cell, x)| *cell = x.ln());
    }
    MarkovRandomField::new(&domain, theta, 100.0).unwrap().into()
}

#[test]
fn completed_values_have_the_conditional_distribution_of_each_row() {
    let model = field();
    let known = Domain::new([("c", 2), ("a", 2)]).unwrap();
    let rows: Vec<[u32; 2]> = (0..40_000).map(|i| [i / 7 % 2, i % 2]).collect();
    let known = Dataset::from_rows(known, &rows).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let drawn = model.complete(&known, &mut rng, &impossible).unwrap();
    assert_eq!((drawn.records(), drawn.domain().len()), (40_000, 1));
    for c in 0..2 {
        for a in 0..2 {
            // The exact joint table, by hand.
            let of_ab = [[1.0, 2.0, 3.0], [4.0, 1.0, 1.0]][a as usize];
            let of_bc = [[1.0, 3.0], [2.0, 1.0], [5.0, 0.0]].map(|of_c| of_c[c as usize]);
            let weights: Vec<f64> = of_ab.iter().zip(of_bc).map(|(x, y)| x * y).collect();
            let sum: f64 = weights.iter().sum();
            let own: Vec<u32> = (0..rows.len())
                .filter(|row| rows[*row] == [c, a])
                .map(|row| drawn.row(row)[0])
                .collect();
            for (b, weight) in (0_u32..).zip(weights) {
                let (n, p) = (own.len() as f64, weight / sum);
                let found = own.iter().filter(|code| **code == b).count() as f64;
                let sd = (n * p * (1.0 - p)).sqrt();
                assert!(
                    (found - n * p).abs() <= 6.0 * sd,
                    "b = {b} given c = {c}, a = {a}: {found}"
                );
            }
        }
    }
    // The same seed, the same values.
    let again = model.complete(&known, &mut ChaCha20Rng::seed_from_u64(3), &impossible).unwrap();
    assert_eq!(again, drawn);
}

#[test]
fn values_that_no_record_has_together_are_an_error_that_names_the_row_and_the_attribute() {
    let support = Dataset::from_rows(domain(), &[[0, 0, 0], [1, 2, 1]]).unwrap();
    let listed: Model = WeightedSupport::new(&support, vec![1.0, 2.0], 3.0).unwrap().into();
    for (model, rows) in [(field(), [[0, 0], [1, 1], [1, 2]]), (listed, [[0, 0], [1, 2], [1, 0]])] {
        let known = Dataset::from_rows(Domain::new([("c", 2), ("b", 3)]).unwrap(), &rows).unwrap();
        let error = model.complete(&known, &mut ChaCha20Rng::seed_from_u64(1), &impossible);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("record 2, b"), "{error}");
    }
}

#[test]
fn tables_that_cannot_be_completed_are_refused() {
    let model = field();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let all = Dataset::from_rows(domain(), &[[0, 0, 0]]).unwrap();
    let other = Dataset::from_rows(Domain::new([("x", 2)]).unwrap(), &[[0]]).unwrap();
    let larger = Dataset::from_rows(Domain::new([("a", 3)]).unwrap(), &[[2]]).unwrap();
    let empty = Dataset::from_rows(Domain::new([("a", 2)]).unwrap(), &[] as &[[u32; 1]]).unwrap();
    for table in [all, other, larger, empty] {
        assert!(model.complete(&table, &mut rng, &impossible).is_err(), "{:?}", table.domain());
    }
}
