use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;
use crate::data::{UnitTable, read_public_units_csv, read_units_csv_from};

const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100]},
    {"name": "job", "kind": "coded", "size": 2, "na": true},
    {"name": "extra", "kind": "coded", "size": 2}
], "na_token": ""}"#;

fn homes() -> Units {
    let units = Units::new("home", 2).unwrap().linked(["tenure"]).unwrap();
    units.with_members(["age", "job"], "place").unwrap()
}

fn read(table: &str) -> Result<Dataset> {
    let schema = Schema::from_json(SCHEMA, "schema.json")?;
    read_units_csv_from(table.as_bytes(), "t.csv", &schema, &homes())
}

const TABLE: &str = "place,home,age,job,tenure,extra\n2,A,30,1,own,0\n1,B,70,,rent,1\n1,A,10,,own,0\n3,A,99,0,own,1\n";

#[test]
fn the_rows_of_a_unit_are_one_record_in_their_order() {
    let found = read(TABLE).unwrap();
    let names: Vec<&str> =
        found.domain().attributes().iter().map(|attribute| attribute.name.as_str()).collect();
    assert_eq!(names, ["tenure", "home.records", "age.1", "job.1", "age.2", "job.2"]);
    // The third of A does not count, and B has no second.
    assert_eq!([found.row(0), found.row(1)], [[0, 1, 0, 2, 1, 1], [1, 0, 2, 2, 3, 2]]);
}

#[test]
fn records_are_written_as_the_rows_of_their_members() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (units, found) = (homes(), read(TABLE).unwrap());
    let numbers = [0, 1];
    let table = UnitTable { rows: &found, numbers: &numbers, units: &units };
    let wide = units.widened(&schema).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (rows, written) = table.with_numbers(&wide, &mut rng).unwrap();
    let names: Vec<&str> = written.attributes().map(|column| column.name.as_str()).collect();
    assert_eq!(names, ["home", "tenure", "place", "age", "job"]);
    let rows: Vec<Vec<u32>> = (0..rows.records()).map(|row| rows.row(row)).collect();
    assert_eq!(rows, [[1, 0, 1, 0, 2], [1, 0, 2, 1, 1], [2, 1, 1, 2, 2]]);
    // Written and read again, they are the same records.
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    table.write((&path, None), &wide, crate::data::Labels::Codes, 3).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(text.starts_with("home,tenure,place,age,job\n1,own,1,"), "{text}");
    let with_extra: String = text.lines().enumerate().fold(String::new(), |all, (i, line)| {
        all + line + if i == 0 { ",extra\n" } else { ",0\n" }
    });
    let again = read(&with_extra).unwrap();
    assert_eq!(again.columns(), found.columns());
}

#[test]
fn what_is_wrong_is_named() {
    let refused = |table: &str, part: &str| {
        let error = read(table).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused(&TABLE.replace("2,A,30", "second,A,30"), "line 2, column 'place'");
    refused(&TABLE.replace("2,A,30", "inf,A,30"), "a finite number");
    refused(&TABLE.replace("place,home", "position,home"), "without a column 'place'");
    refused(&TABLE.replace("place,home", "place,house"), "without a column 'home'");
    refused(&TABLE.replace("2,A,30", "2,,30"), "column 'home'");
    refused(&TABLE.replace("2,A,30", "2,A,130"), "column 'age'");
}

#[test]
fn public_tables_may_lack_columns_but_not_the_unit() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    std::fs::write(&path, "home,place,age\nA,1,30\nA,2,5\nB,1,70\n").unwrap();
    let found = read_public_units_csv(&path, &schema, &homes()).unwrap();
    assert_eq!(found.domain().len(), 3, "the size and two ages");
    assert_eq!([found.row(0), found.row(1)], [[1, 1, 0], [0, 2, 3]]);
    std::fs::write(&path, "place,age\n1,30\n").unwrap();
    let error = read_public_units_csv(&path, &schema, &homes()).unwrap_err().to_string();
    assert!(error.contains("without a column 'home'"), "{error}");
}
