use std::cell::RefCell;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::Dataset;
use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::Result;
use crate::model::{MarkovRandomField, Model, WeightedSupport};
use crate::table::{CliqueLayout, Potentials};

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

fn impossible(records: &[u32], attribute: &str) -> Result<()> {
    let reason = format!("record {}, {attribute}", records[0]);
    Err(crate::CommonError::EmptyModel { reason }.into())
}

fn completed(model: &Model, known: &Dataset, seed: u64) -> Result<Dataset> {
    model.complete(known, &[], false, &mut ChaCha20Rng::seed_from_u64(seed), &impossible)
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
    let drawn = completed(&model, &known, 3).unwrap();
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
    assert_eq!(completed(&model, &known, 3).unwrap(), drawn);
}

#[test]
fn values_that_no_record_has_together_are_an_error_that_names_the_row_and_the_attribute() {
    let support = Dataset::from_rows(domain(), &[[0, 0, 0], [1, 2, 1]]).unwrap();
    let listed: Model = WeightedSupport::new(&support, vec![1.0, 2.0], 3.0).unwrap().into();
    for (model, rows) in [(field(), [[0, 0], [1, 1], [1, 2]]), (listed, [[0, 0], [1, 2], [1, 0]])] {
        let known = Dataset::from_rows(Domain::new([("c", 2), ("b", 3)]).unwrap(), &rows).unwrap();
        let error = completed(&model, &known, 1).unwrap_err().to_string();
        // Either may be left out: each says all about a.
        assert!(error.contains("record 2, b") || error.contains("record 2, c"), "{error}");
    }
}

/// A value that contradicts the others is left out of what is given where the caller allows it, and rules hold anyhow.
#[test]
fn contradictions_may_be_left_out() {
    let support = Dataset::from_rows(domain(), &[[0, 0, 0], [1, 2, 1]]).unwrap();
    let listed: Model = WeightedSupport::new(&support, vec![1.0, 2.0], 3.0).unwrap().into();
    let known =
        Dataset::from_rows(Domain::new([("c", 2), ("b", 3)]).unwrap(), &[[0, 0], [1, 0], [1, 0]]);
    let (known, left_out) = (known.unwrap(), RefCell::new(Vec::new()));
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let drawn = listed.complete(&known, &[], false, &mut rng, &|records, _| {
        left_out.borrow_mut().push(records.to_vec());
        Ok(())
    });
    assert_eq!((drawn.unwrap().records(), left_out.into_inner()), (3, vec![vec![1, 2]]));
    // Forbidden by what is known alone.
    let known = Dataset::from_rows(Domain::new([("c", 2), ("b", 3)]).unwrap(), &[[1, 2]]).unwrap();
    let error =
        field().complete(&known, &[], false, &mut rng, &|_, _| Ok(())).unwrap_err().to_string();
    assert!(error.contains("1 rows to complete have a forbidden combination"), "{error}");
}

/// A row that is unlikely as it is keeps its other values: nothing that it gets could mend it.
#[test]
fn an_unlikely_row_takes_the_columns_of_one_that_is_near() {
    let support = Dataset::from_rows(domain(), &[[0, 0, 0], [0, 1, 0], [1, 2, 1]]).unwrap();
    let listed: Model = WeightedSupport::new(&support, vec![1.0; 3], 3.0).unwrap().into();
    let values = vec![("a", vec![1]), ("b", vec![0])];
    let unlikely = StructuralZero::of(&domain(), [values]).unwrap();
    let known = Dataset::from_rows(Domain::new([("a", 2), ("b", 3)]).unwrap(), &[[1, 0]; 20]);
    let left_out = RefCell::new(0);
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let drawn = listed.complete(&known.unwrap(), &unlikely, false, &mut rng, &|records, _| {
        *left_out.borrow_mut() += records.len();
        Ok(())
    });
    assert_eq!((drawn.unwrap().records(), left_out.into_inner()), (20, 20));
}

/// A graph whose tables are too large draws a list first.
#[test]
fn records_of_a_model_with_large_tables_take_columns_of_drawn_ones() {
    let dense = Domain::new([("x", 2), ("p", 170), ("q", 170), ("r", 170)]).unwrap();
    let layout = CliqueLayout::new(&dense, [Clique::new([0, 1]), Clique::new([1, 2, 3])]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    // p is below 85 if x is 0.
    (0..170).for_each(|p| theta.table_mut(0)[if p < 85 { 170 + p } else { p }] = f64::NEG_INFINITY);
    let model: Model = MarkovRandomField::new(&dense, theta, 1.0).unwrap().into();
    let rows: Vec<[u32; 1]> = (0..100).map(|i| [i % 2]).collect();
    let known = Dataset::from_rows(Domain::new([("x", 2)]).unwrap(), &rows).unwrap();
    let drawn = completed(&model, &known, 1).unwrap();
    let p = drawn.columns()[0].iter();
    assert!(p.zip(&rows).all(|(p, x)| (p < 85) == (x[0] == 0)));
}

/// Unlikely combinations are drawn only where the known values leave nothing else.
#[test]
fn unlikely_combinations_are_drawn_where_nothing_else_is_left() {
    let model = field();
    let rule =
        |values: Vec<(&str, Vec<u32>)>| StructuralZero::of(model.domain(), [values]).unwrap();
    let rows: Vec<[u32; 1]> = (0..300).map(|i| [i % 2]).collect();
    let known = Dataset::from_rows(Domain::new([("a", 2)]).unwrap(), &rows).unwrap();
    let drawn = |unlikely: &[StructuralZero]| {
        let mut rng = ChaCha20Rng::seed_from_u64(2);
        model.complete(&known, unlikely, false, &mut rng, &impossible).unwrap().columns()[0].clone()
    };
    let (some, all) = (vec![("b", vec![1])], vec![("b", vec![0, 1, 2])]);
    assert!(drawn(&[]).iter().any(|code| code == 1));
    assert!(drawn(&rule(some)).iter().all(|code| code != 1));
    assert!(drawn(&rule(all)).iter().any(|code| code == 1));
}

#[test]
fn tables_that_cannot_be_completed_are_refused() {
    let model = field();
    let all = Dataset::from_rows(domain(), &[[0, 0, 0]]).unwrap();
    let other = Dataset::from_rows(Domain::new([("x", 2)]).unwrap(), &[[0]]).unwrap();
    let larger = Dataset::from_rows(Domain::new([("a", 3)]).unwrap(), &[[2]]).unwrap();
    let empty = Dataset::from_rows(Domain::new([("a", 2)]).unwrap(), &[] as &[[u32; 1]]).unwrap();
    for table in [all, other, larger, empty] {
        assert!(completed(&model, &table, 1).is_err(), "{:?}", table.domain());
    }
}
