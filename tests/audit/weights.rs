//! Survey weights, totals and invariants: what of them may depend on private rows, and what is said of it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use jointly::Job;
use jointly::observe::Silent;
use jointly::synthesis::PublicFile;
use serde_json::Value;
use tempfile::TempDir;

const SCHEMA: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2},
    {"name": "w", "role": "weight"}
]}"#;

/// A job on records with these weights, in a folder with a public table.
fn job(folder: &Path, weights: impl Fn(u32) -> u32) -> Job {
    let table = |weight: &dyn Fn(u32) -> u32| {
        let mut text = String::from("a,w\n");
        (0..400_u32).for_each(|i| writeln!(text, "{},{}", i / 3 % 2, weight(i)).unwrap());
        text
    };
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    fs::write(folder.join("public.csv"), table(&|i| 10 + i % 40)).unwrap();
    fs::write(folder.join("private.csv"), table(&weights)).unwrap();
    fs::write(folder.join("people.csv"), "a,people\n0,4000\n1,6000\n").unwrap();
    let mut job = Job::new(folder.join("private.csv"), folder.join("schema.json"), 1.0, 1e-6);
    job.public.push(folder.join("public.csv").to_str().unwrap().parse().unwrap());
    job.mechanism = "independent".into();
    job.workload = "all-1-way".into();
    job.weight = Some("w".into());
    job.seed = Some(1);
    job.model = Some(folder.join("model.json"));
    job.ledger = Some(folder.join("ledger.json"));
    job.report = Some(folder.join("report.html"));
    job
}

fn people(folder: &Path) -> PublicFile {
    PublicFile { name: "people".into(), path: folder.join("people.csv") }
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn bins_and_their_means_are_those_of_the_public_rows() {
    let schemas = [|i| 10 + i % 40, |_| 3].map(|weights: fn(u32) -> u32| {
        let folder = TempDir::new().unwrap();
        job(folder.path(), weights).run(&mut Silent).unwrap();
        json(&folder.path().join("model.json"))["schema"].clone()
    });
    let bins = &schemas[0]["columns"][1];
    assert_eq!(bins["edges"].as_array().unwrap().len(), 9, "{bins}");
    assert_eq!(schemas[0], schemas[1]);
}

#[test]
fn a_weight_above_all_public_ones_counts_in_the_last_bin() {
    let folder = TempDir::new().unwrap();
    let done = job(folder.path(), |i| if i == 7 { 1_000_000 } else { 30 }).run(&mut Silent);
    let done = done.unwrap();
    let domain = done.tables.schema.domain();
    assert_eq!((domain.cardinality(1), done.written.domain().len()), (8, 1));
}

#[test]
fn an_invariant_is_said_first_and_a_total_is_not() {
    let folder = TempDir::new().unwrap();
    let mut with = job(folder.path(), |i| 10 + i % 40);
    with.invariants = vec![people(folder.path())];
    with.seed = None;
    with.run(&mut Silent).unwrap();
    let ledger = json(&folder.path().join("ledger.json"));
    assert_eq!(ledger["conditional_on"], serde_json::json!(["people"]));
    let note = ledger["note"].as_str().unwrap();
    assert!(note.starts_with("the tables in conditional_on were released without protection"));
    let first = "Released as they are in the private table, without any protection: people.";
    let guarantee = |folder: &TempDir| {
        let report = json(&folder.path().join("report.json"));
        report["guarantee"]["text"].as_str().unwrap().to_owned()
    };
    assert!(guarantee(&folder).starts_with(first), "{}", guarantee(&folder));
    // It stays with the ledger: a later run of the same records is conditional on it too.
    let later = TempDir::new().unwrap();
    let mut after = job(later.path(), |i| 10 + i % 40);
    (after.seed, after.epsilon) = (None, Some(3.0));
    after.ledger_from = Some(folder.path().join("ledger.json"));
    after.run(&mut Silent).unwrap();
    let ledger = json(&later.path().join("ledger.json"));
    assert_eq!(ledger["conditional_on"], serde_json::json!(["people"]));
    assert!(guarantee(&later).starts_with(first), "{}", guarantee(&later));

    let folder = TempDir::new().unwrap();
    let mut with = job(folder.path(), |i| 10 + i % 40);
    with.totals = vec![people(folder.path())];
    with.run(&mut Silent).unwrap();
    assert!(json(&folder.path().join("ledger.json")).get("conditional_on").is_none());
    let report = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(!report.contains("without any protection"));
}

#[test]
fn the_private_table_is_no_table_of_totals() {
    let folder = TempDir::new().unwrap();
    let mut job = job(folder.path(), |_| 30);
    job.totals = vec![PublicFile { name: "own".into(), path: folder.path().join("private.csv") }];
    let error = job.run(&mut Silent).unwrap_err().to_string();
    assert!(error.contains("is the private table"), "{error}");
}
