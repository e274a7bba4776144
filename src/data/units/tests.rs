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

#[test]
fn linked_records_have_the_number_of_records_of_their_unit_that_count() {
    let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json").unwrap();
    let units = Units::new("home", 2).unwrap().linked(["sex"]).unwrap();
    let table = &b"home,sex\nA,0\nB,1\nA,1\nA,1\nC,0\nC,1\n"[..];
    let data = read_units_csv_from(table, "t.csv", &schema, &units).unwrap();
    let rows: Vec<_> = (0..data.records()).map(|i| data.row(i)).collect();
    // The third record of A does not count; sizes are 2, 1, 2.
    assert_eq!(rows, [[0, 1], [1, 0], [1, 1], [0, 1], [1, 1]]);
    assert_eq!(data.domain(), &units.widened(&schema).unwrap().domain());
    assert_eq!(data.domain().attributes()[1].name, "home.records");
}

/// All tables of up to four records of two homes and a third one, with and without the third: as proved in
/// docs/theory/sensitivities.md, section 8.
#[test]
fn one_unit_more_changes_its_own_records_alone_also_with_their_number() {
    let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json").unwrap();
    for most in 1..=3_u32 {
        let units = Units::new("home", most).unwrap().linked(["sex"]).unwrap();
        let sorted = |lines: &[(char, u32)]| {
            let lines: Vec<String> =
                lines.iter().map(|(home, sex)| format!("{home},{sex}\n")).collect();
            let text = format!("home,sex\n{}", lines.concat());
            let data = read_units_csv_from(text.as_bytes(), "t.csv", &schema, &units).unwrap();
            let mut rows: Vec<Vec<u32>> = (0..data.records()).map(|i| data.row(i)).collect();
            rows.sort();
            rows
        };
        let mut largest = 0;
        for mut number in 0..6_u32.pow(4) {
            let mut lines = Vec::new();
            for _ in 0..4 {
                lines.push((['A', 'B', 'X'][(number % 3) as usize], number / 3 % 2));
                number /= 6;
            }
            let without: Vec<(char, u32)> =
                lines.iter().copied().filter(|(home, _)| *home != 'X').collect();
            let (with, without) = (sorted(&lines), sorted(&without));
            // Every record of the smaller table is in the larger one, and the rest are of one unit.
            let mut rest = with.clone();
            for row in &without {
                let at = rest.iter().position(|other| other == row);
                rest.remove(at.expect("the records of other units stay as they are"));
            }
            let of_unit = lines.iter().filter(|(home, _)| *home == 'X').count().min(most as usize);
            assert_eq!(rest.len(), of_unit);
            assert!(rest.iter().all(|row| row[1] as usize + 1 == of_unit));
            largest = largest.max(rest.len());
        }
        assert_eq!(largest, most as usize);
    }
}

#[test]
fn names_that_cannot_be_linked_are_refused() {
    let schema = Schema::from_json(r#"{"sex": 2, "home.records": 3}"#, "domain.json").unwrap();
    let units = || Units::new("home", 2).unwrap();
    let clash = units().linked(["sex"]).unwrap().widened(&schema).unwrap_err().to_string();
    assert!(clash.contains("home.records"), "{clash}");
    let unknown = units().linked(["age"]).unwrap().widened(&schema).unwrap_err().to_string();
    assert!(unknown.contains("'age'"), "{unknown}");
    assert!(units().linked(["sex", "sex"]).is_err());
}
