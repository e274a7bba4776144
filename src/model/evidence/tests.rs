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
        let of = |(_, shares): (usize, &[f64])| {
            (0..).zip(shares).filter(|(_, share)| **share > 0.0).map(|(code, _)| code).collect()
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
    refuse("age=70..80", "numbers from 0 to below 65");
    refuse("age=abc", "a number or a range");
    refuse("age=9..5", "numbers from 0 to below 65");
    refuse("pay=0.5", "numbers that records are drawn with");
}

#[test]
fn a_range_that_cuts_a_bin_has_a_share_of_it() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let parse = |text| Evidence::parse(text, &schema).unwrap();
    let shares = |evidence: &Evidence| evidence.iter().next().unwrap().1.to_vec();
    let adult = parse("age=21..40|missing");
    assert_eq!(shares(&adult), [0.0, 0.75, 1.0, 10.0 / 34.0, 1.0]);
    assert_eq!(adult.cut_bins(), ["age: 18 to 29", "age: 31 to 64"]);
    assert_eq!(shares(&parse("age=20|21|22")), shares(&parse("age=20..22")));
    assert_eq!(shares(&parse("day=2024-01-31..2024-02-29")), [1.0 / 31.0, 1.0]);
    assert_eq!(shares(&parse("pay=0..1")), [1.0, 1.0 / 3.0]);
    // What is said of codes needs whole bins.
    let error = Evidence::of_whole_bins("age=21..40", &schema).unwrap_err().to_string();
    assert!(error.contains("cuts the bin 18 to 29 and the bin 31 to 64"), "{error}");
    assert!(Evidence::of_whole_bins("age=18..30", &schema).unwrap().cut_bins().is_empty());
    // From a cut bin, only numbers that agree are drawn.
    let narrowed = adult.narrowed(&schema).unwrap();
    let Some(Kind::Numeric(bins)) = &narrowed.column("age").unwrap().kind else { panic!() };
    let ends: Vec<(f64, f64)> = bins.pieces().iter().map(|p| (p.from, p.below)).collect();
    assert_eq!(ends, [(21.0, 30.0), (31.0, 41.0)]);
    let again = Evidence::parse("age=25..35", &narrowed).unwrap();
    assert!((shares(&again)[1] - 5.0 / 9.0).abs() < 1e-4, "of the records that agreed before");
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
        // A fifth of the records of the last value of b.
        let mut cut = evidence.clone();
        *cut.shares.get_mut(&1).unwrap() = vec![1.0, 0.0, 0.2];
        for (evidence, share) in [(evidence, 1.0), (cut, 0.2)] {
            let given = model.given(&evidence).unwrap();
            let of_cell = |cell: u32| match (cell / 2 % 3, cell % 2) {
                (0, 1) => 1.0,
                (2, 1) => share,
                _ => 0.0,
            };
            let expected: Vec<f64> =
                (0..12).zip(whole.values()).map(|(cell, count)| of_cell(cell) * count).collect();
            let total: f64 = expected.iter().sum();
            assert!((given.total() - total).abs() < 1e-5 * total, "{model:?}");
            let asked = [all.clone(), Clique::new([2]), Clique::new([0, 2])];
            let found = given.marginals(&asked).unwrap();
            for (found, expected) in found[0].values().iter().zip(&expected) {
                assert!((found - expected).abs() < 1e-5 * total, "{model:?}");
            }
            assert!(found[1].values()[0].abs() < 1e-9 && found[2].values()[0].abs() < 1e-9);
            // Drawn and refined records agree with the evidence.
            let mut rng = ChaCha20Rng::seed_from_u64(1);
            for drawing in [Drawing::Refined, Drawing::Independent] {
                let refinement = vec![Clique::new([0, 1])].into();
                let rows = given.rows(200, drawing, &refinement, &mut rng).unwrap();
                for record in 0..200 {
                    let row = rows.row(record);
                    assert!(evidence.agrees(|attribute| row[attribute]), "{row:?}");
                }
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
