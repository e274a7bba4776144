//! Unit tests of `src/data/units.rs`.

use super::*;

fn read(table: &str, most: u32) -> Result<Dataset> {
    let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
    read_units_csv_from(table.as_bytes(), "t.csv", &schema, &Units::new("home", most)?)
}

#[test]
fn the_first_records_of_each_unit_count_wherever_they_are_in_the_file() {
    let table = "home,sex\nA,0\nB,1\nA,1\nA,1\nB,0\nC,0\n";
    let rows = |most| {
        let data = read(table, most).unwrap();
        (0..data.records()).map(|i| data.row(i)[0]).collect::<Vec<_>>()
    };
    assert_eq!(rows(1), [0, 1, 0]);
    assert_eq!(rows(2), [0, 1, 1, 0, 0]);
    assert_eq!(rows(9), [0, 1, 1, 1, 0, 0]);
}

#[test]
fn one_household_more_changes_a_table_by_its_first_records_alone() {
    let others = "A,0\nB,1\nA,1\n";
    let without = read(&format!("home,sex\n{others}"), 2).unwrap();
    let with = read(&format!("home,sex\nX,1\nX,1\nX,0\n{others}X,0\n"), 2).unwrap();
    assert_eq!(with.records(), without.records() + 2);
    let tail = |d: &Dataset, skip| (skip..d.records()).map(|i| d.row(i)).collect::<Vec<_>>();
    assert_eq!(tail(&with, 2), tail(&without, 0));
}

#[test]
fn records_without_a_unit_and_columns_that_are_no_unit_are_refused() {
    for table in ["home,sex\n,0\n", "sex\n0\n", "home,home,sex\nA,A,0\n"] {
        assert!(read(table, 2).is_err(), "{table}");
    }
    let schema = Schema::from_json(r#"{"home": 2}"#, "domain.json").unwrap();
    let units = Units::new("home", 2).unwrap();
    let error = read_units_csv_from(&b"home\n1\n"[..], "t.csv", &schema, &units).unwrap_err();
    assert!(error.to_string().contains("attribute of the schema"), "{error}");
}
