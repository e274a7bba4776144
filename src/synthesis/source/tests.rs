//! Tables in memory are those of files.

use std::path::Path;

use super::PrivateSource;
use crate::data::{Dataset, Labels, Units, write_csv_file};
use crate::demo::{Generator, schema};
use crate::mechanism::Release;
use crate::observe::Silent;
use crate::privacy::{NeighboringRelation, PrivacyUnit, PrivateTable};
use crate::synthesis::{Job, PublicFile, PublicTable};

fn sealed(rows: Dataset) -> PrivateTable {
    PrivateTable::of_records(rows, PrivacyUnit::default()).unwrap()
}

fn people(seed: u64) -> Dataset {
    Generator { records: 400, seed, drift: 0.1 }.generate().unwrap()
}

fn run(mut job: Job) -> crate::Result<Release> {
    job.mechanism = "jam-pgm".into();
    job.workload = "all-2-way".into();
    job.parameters.insert("rounds".into(), 3.into());
    job.seed = Some(5);
    Ok(job.fit(&mut Silent)?.release)
}

fn in_memory() -> Job {
    let mut job = Job::new(sealed(people(1)), schema().unwrap(), 1.0, 1e-6);
    job.public.push(PublicTable { name: "near".into(), source: people(2).into() });
    job
}

#[test]
fn records_in_memory_give_the_release_of_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let schema = schema().unwrap();
    crate::data::write_text(&at("schema.json"), &schema.to_json().unwrap()).unwrap();
    for (name, seed) in [("private.csv", 1), ("public.csv", 2)] {
        write_csv_file(&at(name), &people(seed), &schema, Labels::Codes, seed).unwrap();
    }
    let mut files = Job::new(at("private.csv"), at("schema.json"), 1.0, 1e-6);
    files.public.push(PublicFile { name: "near".into(), path: at("public.csv") }.into());
    let (one, other) = (run(files).unwrap(), run(in_memory()).unwrap());
    assert_eq!(one.measurements, other.measurements);
    assert_eq!(one.ledger, other.ledger);
}

#[test]
fn records_must_be_those_of_the_job() {
    let other = Job { schema: r#"{"a": 2}"#.parse_schema().into(), ..in_memory() };
    assert!(run(other).is_err());
    let neighbors = NeighboringRelation::AddRemoveOne;
    let households = |most| PrivacyUnit::of_units(Units::new("home", most).unwrap()).unwrap();
    let limited = |unit: PrivacyUnit| {
        let private = PrivateTable::of_records(people(1), unit).unwrap().into();
        let unit = Some("home".to_owned());
        run(Job { private, neighbors, unit, max_records: Some(2), ..in_memory() })
    };
    assert!(limited(households(2)).is_ok());
    for unit in [PrivacyUnit::default(), PrivacyUnit::of_record(neighbors), households(3)] {
        let error = limited(unit).unwrap_err().to_string();
        assert!(error.ends_with("expected units of column 'home', 2 records each"), "{error}");
    }
    let nobody = Dataset::from_rows(schema().unwrap().domain(), &[[0_u32; 0]; 0]).unwrap();
    let nobody = PrivateTable::of_records(nobody, PrivacyUnit::of_record(neighbors)).unwrap();
    assert!(run(Job { private: nobody.clone().into(), ..in_memory() }).is_err());
    assert!(run(Job { private: nobody.into(), neighbors, ..in_memory() }).is_ok());
}

#[test]
fn a_checkpoint_belongs_to_the_label_of_records_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let labeled = |label: &str, folder: &Path| {
        let private = PrivateSource::Sealed { table: sealed(people(1)), label: label.into() };
        run(Job { private, checkpoint: Some(folder.into()), ..in_memory() })
    };
    assert!(labeled("first", folder.path()).is_ok());
    assert!(labeled("first", folder.path()).is_ok());
    assert!(labeled("second", folder.path()).is_err());
}

trait ParseSchema {
    fn parse_schema(&self) -> crate::Schema;
}

impl ParseSchema for str {
    fn parse_schema(&self) -> crate::Schema {
        crate::Schema::from_json(self, "domain.json").unwrap()
    }
}
