use serde::Serialize;

use super::*;
use crate::data::{Keep, Labels};
use crate::domain::Encoding;
use crate::evaluation::{EvaluationSettings, Measure};
use crate::mixture_error::ScoredCells;
use crate::model::{Drawing, PartForm};
use crate::privacy::NeighboringRelation;

/// The values that names stand for.
fn values<T: DeserializeOwned>(names: Choices) -> Vec<T> {
    names.iter().map(|(name, _)| serde_json::from_value(json!(name)).unwrap()).collect()
}

/// Each name stands for a value that is written by that name.
fn check<T: DeserializeOwned + Serialize>(names: Choices) {
    let written: Vec<Value> = values::<T>(names).iter().map(|value| json!(value)).collect();
    let expected: Vec<Value> = names.iter().map(|(name, _)| json!(name)).collect();
    assert_eq!(written, expected);
}

#[test]
fn names_to_choose_from_are_those_that_files_have() {
    check::<NeighboringRelation>(NeighboringRelation::NAMES);
    check::<Drawing>(Drawing::NAMES);
    check::<Labels>(Labels::NAMES);
    check::<Keep>(Keep::NAMES);
    check::<Encoding>(Encoding::NAMES);
    check::<ScoredCells>(ScoredCells::NAMES);
    let forms = values::<PartForm>(PartForm::NAMES);
    assert_eq!(forms, [PartForm::Csv, PartForm::CsvGz, PartForm::Parquet]);
    let measures = EvaluationSettings::SETTINGS.iter().find(|setting| setting.field == "measures");
    let Form::Choices(names) = measures.unwrap().form else { panic!("a list of names") };
    check::<Measure>(names);
}

#[test]
fn queries_are_told_without_folders() {
    let told = [
        (
            "SELECT * FROM '/home/me/people.parquet' WHERE a / b > 2",
            "SELECT * FROM 'people.parquet' WHERE a / b > 2",
        ),
        ("/home/me/people/", "people"),
        ("file:///home/me/people.csv", "people.csv"),
        ("SELECT \"A\" FROM 'people.csv'", "SELECT \"A\" FROM 'people.csv'"),
        ("SELECT x/2 AS x FROM t WHERE y = 'a/b'", "SELECT x/2 AS x FROM t WHERE y = 'a/b'"),
        ("SELECT * FROM 's3://place/people/' p", "SELECT * FROM 'people' p"),
    ];
    for (query, expected) in told {
        assert_eq!(without_folders(query), expected);
    }
}
