//! What is read, and that every kind of model conditions exactly.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::data::Dataset;
use crate::model::{
    Drawing, Group, GroupedSupport, MarkovRandomField, Model, Products, WeightedSupport,
};
use crate::table::{CliqueLayout, Potentials};

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "role": "attribute", "kind": "categorical", "na": false, "codes": ["f", "m"]},
    {"name": "age", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 18, 30, 31, 65], "integer": true},
    {"name": "pay", "role": "attribute", "kind": "numeric", "na": false, "edges": [0, 0.5, 2], "integer": false},
    {"name": "day", "role": "attribute", "kind": "date", "na": false,
     "edges": ["2024-01-01", "2024-02-01", "2024-03-01"]}
]}"#;

#[test]
fn values_and_ranges_become_codes() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let codes = |text: &str| -> Vec<Vec<u32>> {
        let evidence = Evidence::parse(text, &schema).unwrap();
        let of = |(_, flags): (usize, &[bool])| {
            (0..).zip(flags).filter(|(_, flag)| **flag).map(|(code, _)| code).collect()
        };
        evidence.iter().map(of).collect()
    };
    assert_eq!(codes("sex=m"), [[1]]);
    assert_eq!(codes("sex=f|m, age=30"), [vec![0, 1], vec![2]]);
    assert_eq!(codes("age=0..29"), [[0, 1]]);
    assert_eq!(codes("age=18.. , pay=0.5..2"), [vec![1, 2, 3], vec![1]]);
    assert_eq!(codes("age=..17|missing"), [[0, 4]]);
    assert_eq!(codes("age=NA"), [[4]]);
    assert_eq!(codes("day=2024-02-01..2024-02-29"), [[1]]);
    let refuse = |text: &str, part: &str| {
        let error = Evidence::parse(text, &schema).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refuse("sex", "NAME=VALUE");
    refuse("sex=x", "one of f, m");
    refuse("sexx=f", "sexx");
    refuse("sex=f, sex=m", "twice");
    refuse("age=20", "whole bins; one goes from 18 to 29");
    refuse("age=70..80", "numbers from 0 to below 65");
    refuse("age=abc", "a number or a range");
    refuse("pay=0.5", "a range from one edge");
    refuse("pay=0..1", "whole bins; one goes from 0.5 to below 2");
}

/// All kinds of models of three attributes.
fn models() -> Vec<Model> {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap();
    let cliques = [Clique::new([0, 1]), Clique::new([1, 2])];
    let layout = CliqueLayout::new(&domain, cliques).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for (table, size) in [(0, 6), (1, 6)] {
        (0..size)
            .for_each(|cell| theta.table_mut(table)[cell] = f64::sin((3 * cell + table) as f64));
    }
    let field = MarkovRandomField::new(&domain, theta, 50.0).unwrap();
    let rows: Vec<[u32; 3]> = (0..12).map(|i| [i % 2, i % 3, i / 6]).collect();
    let rows = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let weights = (0..12).map(|i| f64::from(i * i % 7)).collect();
    let support = WeightedSupport::new(&rows, weights, 20.0).unwrap();
    let components =
        [vec![0.2, 0.8, 0.1, 0.2, 0.7, 0.5, 0.5], vec![1.0, 0.0, 0.6, 0.4, 0.0, 0.9, 0.1]];
    let products = Products::new(domain.clone(), &components, 30.0).unwrap();
    let weighted = products.clone().with_weights(vec![1.0, 3.0]).unwrap();
    let listed = Domain::new([("a", 2), ("c", 2)]).unwrap();
    let listed = Dataset::from_rows(listed, &[[0, 0], [0, 1], [1, 1]]).unwrap();
    let group = |code, size, weights| Group { codes: vec![code], size, weights: Arc::new(weights) };
    let groups = vec![group(0, 10.0, vec![1.0, 1.0, 2.0]), group(2, 30.0, vec![0.0, 3.0, 1.0])];
    let grouped = GroupedSupport::new(&domain, &[1], listed, groups).unwrap();
    vec![field.into(), support.into(), products.into(), weighted.into(), grouped.into()]
}

#[test]
fn every_kind_of_model_conditions_exactly() {
    for model in models() {
        let domain = model.domain().clone();
        let all = domain.everything();
        let whole = &model.marginals(std::slice::from_ref(&all)).unwrap()[0];
        let evidence = Evidence::new(&domain, [("b", vec![0, 2]), ("c", vec![1])]).unwrap();
        let given = model.given(&evidence).unwrap();
        let expected: Vec<f64> = (0_u32..12)
            .zip(whole.values())
            .map(|(cell, count)| if cell / 2 % 3 != 1 && cell % 2 == 1 { *count } else { 0.0 })
            .collect();
        let total: f64 = expected.iter().sum();
        assert!((given.total() - total).abs() < 1e-5 * total, "{model:?}");
        let found = given.marginals(&[all, Clique::new([2]), Clique::new([0, 2])]).unwrap();
        for (found, expected) in found[0].values().iter().zip(&expected) {
            assert!((found - expected).abs() < 1e-5 * total, "{model:?}");
        }
        assert!(found[1].values()[0].abs() < 1e-9 && found[2].values()[0].abs() < 1e-9);
        // Drawn and refined records agree with the evidence.
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for drawing in [Drawing::Refined, Drawing::Independent] {
            let rows =
                given.rows(200, drawing, &vec![Clique::new([0, 1])].into(), &mut rng).unwrap();
            for record in 0..200 {
                let row = rows.row(record);
                assert!(evidence.agrees(|attribute| row[attribute]), "{row:?}");
            }
        }
        let same = model.given(&Evidence::default()).unwrap().total();
        assert!((same - model.total()).abs() < 1e-9);
    }
}

#[test]
fn evidence_that_nothing_agrees_with_is_refused() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap();
    let rows = Dataset::from_rows(domain.clone(), &[[0, 0, 0]]).unwrap();
    let support = Model::from(WeightedSupport::new(&rows, vec![1.0], 5.0).unwrap());
    let evidence = Evidence::new(&domain, [("a", vec![1])]).unwrap();
    let error = support.given(&evidence).unwrap_err().to_string();
    assert!(error.contains("no record agrees with the evidence"), "{error}");
    assert!(Evidence::new(&domain, [("a", vec![2])]).is_err());
    assert!(Evidence::new(&domain, [("a", vec![])]).is_err());
    assert!(Evidence::new(&domain, [("d", vec![0])]).is_err());
}
