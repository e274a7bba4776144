use std::fmt::Write;

use super::PaidCategories;
use crate::data::{read_csv, read_private_csv};
use crate::domain::{Kind, Schema};
use crate::privacy::NeighboringRelation::{AddRemoveOne, ReplaceOne};
use crate::privacy::{Budget, NoiseSeed, PrivacyUnit};

const SCHEMA: &str = r#"{"columns": [
    {"name": "town", "kind": "categorical", "codes": ["other", "Ulm"], "other": "other", "na": true},
    {"name": "job", "kind": "categorical", "codes": ["cook", "none of these"], "labels": ["a cook", "any"],
     "other": "none of these"},
    {"name": "age", "kind": "numeric", "edges": [0, 100]}
]}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

fn codes(schema: &Schema, name: &str) -> (Vec<String>, Option<u32>) {
    match &schema.column(name).unwrap().kind {
        Some(Kind::Categorical { codes, other, .. }) => (codes.clone(), *other),
        _ => unreachable!(),
    }
}

/// 900 people in three towns, each tenth with a job of its own.
fn people() -> String {
    let mut text = "town,job,age\n".to_owned();
    for i in 0..900 {
        let job = if i % 10 == 0 { format!("job {i}") } else { ["nurse", "cook"][i % 2].into() };
        writeln!(text, "{},{job},30", ["Ulm", "Bonn", "Aachen"][i % 3]).unwrap();
    }
    text
}

#[test]
fn values_of_many_records_become_codes_and_all_of_the_budget_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, people()).unwrap();
    let schema = schema();
    let categories = PaidCategories::new(&schema, &["town", "job"]).unwrap();
    for relation in [ReplaceOne, AddRemoveOne] {
        let unit = PrivacyUnit::of_record(relation);
        let table = read_private_csv(&path, &schema, &unit).unwrap();
        let budget = Budget::approximate(1.0, 1e-6).unwrap().with_threshold_delta(4e-7).unwrap();
        let mut curator = table.curator(Some(budget), NoiseSeed::Fixed(7), None).unwrap();
        let values = categories.read(&unit, &path).unwrap();
        let found = categories.run(&mut curator, values).unwrap();
        assert!(curator.remaining().is_zero());
        let ledger = curator.ledger();
        assert_eq!((ledger.entries().len(), ledger.delta_limit()), (2, 4e-7));
        let left = (4e-7 - ledger.delta_spent()) / 4e-7;
        assert!(left > 0.0 && left < 1e-11, "{left:e}");
        let schema = categories.add(&schema, &found).unwrap();
        let town = ["other", "Ulm", "Aachen", "Bonn"].map(str::to_owned).to_vec();
        assert_eq!(codes(&schema, "town"), (town, Some(0)));
        let job = ["cook", "nurse", "none of these"].map(str::to_owned).to_vec();
        assert_eq!(codes(&schema, "job"), (job, Some(2)));
        // What is written reads as the same, and codes the same table.
        let again = Schema::from_json(&schema.to_json().unwrap(), "found").unwrap();
        assert_eq!(again, schema);
        assert_eq!(read_csv(&path, &again).unwrap().row(0), [1, 2, 0]);
    }
}

#[test]
fn columns_without_other_and_budgets_without_delta_are_refused() {
    let schema = schema();
    for wrong in [&["age"][..], &["town", "town"], &["none"], &[]] {
        assert!(PaidCategories::new(&schema, wrong).is_err(), "{wrong:?}");
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, people()).unwrap();
    let unit = PrivacyUnit::default();
    let table = read_private_csv(&path, &schema, &unit).unwrap();
    let categories = PaidCategories::new(&schema, &["town"]).unwrap();
    let budget = Budget::approximate(1.0, 1e-6).unwrap();
    let mut curator = table.curator(Some(budget), NoiseSeed::Fixed(7), None).unwrap();
    let values = categories.read(&unit, &path).unwrap();
    assert!(categories.run(&mut curator, values).is_err() && curator.spent().is_zero());
    for part in [1e-6, 2e-6, -1e-9, f64::NAN] {
        assert!(budget.with_threshold_delta(part).is_err(), "{part}");
    }
    assert!(Budget::pure(1.0).unwrap().with_threshold_delta(1e-9).is_err());
}
