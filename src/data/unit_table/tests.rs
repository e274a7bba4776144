use super::*;
use crate::data::UnitsOfSchema;
use crate::data::read_units_csv_from;

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["1", "2"]},
    {"name": "income", "role": "attribute", "kind": "numeric", "edges": [0, 1000, 50000], "na": true},
    {"name": "rent", "role": "attribute", "kind": "numeric", "edges": [0.0, 0.25, 900.3]},
    {"name": "built", "role": "attribute", "kind": "date", "edges": ["1990-01-01", "2000-01-01", "2010-01-01"]}
]}"#;

/// A unit of two, one of one without an income, one of three, and the table as it is written.
fn written(seed: u64) -> (Schema, Units, Vec<Vec<String>>, Dataset) {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let units = Units::new("home", 3).unwrap().linked(["income", "rent", "built"]).unwrap();
    let wide = units.widened(&schema).unwrap();
    let rows = [
        [0, 1, 0, 1, 1],
        [1, 1, 0, 1, 1],
        [0, 2, 1, 0, 0],
        [1, 0, 1, 1, 2],
        [0, 0, 1, 1, 2],
        [1, 0, 1, 1, 2],
    ];
    let rows = Dataset::from_rows(wide.domain(), &rows).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.csv");
    let table = UnitTable { rows: &rows, numbers: &[0, 0, 1, 2, 2, 2], units: &units };
    table.write((&path, None), &wide, Labels::Codes, seed).unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    let cells = text.lines().map(|line| line.split(',').map(str::to_owned).collect()).collect();
    let again = read_units_csv_from(text.as_bytes(), "t.csv", &schema, &units).unwrap();
    assert_eq!(again, rows);
    (schema, units, cells, rows)
}

#[test]
fn rows_of_a_unit_have_one_number_and_one_text_in_the_columns_that_they_share() {
    let mut incomes = std::collections::BTreeSet::new();
    for seed in 0..20 {
        let (_, _, cells, _) = written(seed);
        assert_eq!(cells[0], ["home", "sex", "income", "rent", "built"]);
        let homes: Vec<&str> = cells[1..].iter().map(|row| row[0].as_str()).collect();
        assert_eq!(homes, ["1", "1", "2", "3", "3", "3"]);
        assert_eq!((&cells[1][2..], &cells[4][2..]), (&cells[2][2..], &cells[5][2..]));
        assert_eq!((&cells[5][2..], cells[3][2].as_str()), (&cells[6][2..], ""));
        incomes.insert(cells[1][2].clone());
    }
    // Values are drawn inside the bin.
    assert!(incomes.len() > 10, "{incomes:?}");
}

#[test]
fn types_of_columns_are_those_of_the_schema() {
    let (schema, units, _, rows) = written(1);
    let wide = units.widened(&schema).unwrap();
    let table = UnitTable { rows: &rows, numbers: &[0, 0, 1, 2, 2, 2], units: &units };
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (_, made) = table.with_numbers(&wide, &mut rng).unwrap();
    for name in ["income", "rent"] {
        let kinds = [&wide, &made].map(|schema| match &schema.column(name).unwrap().kind {
            Some(Kind::Numeric(bins)) => bins.is_integer(),
            _ => panic!("{name} has another kind"),
        });
        assert_eq!(kinds[0], kinds[1]);
    }
    assert!(made.column("home.records").is_none());
}

#[test]
fn records_of_another_schema_and_too_few_numbers_are_refused() {
    let (schema, units, _, rows) = written(1);
    let wide = units.widened(&schema).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let refused = |numbers: &[u32], schema: &Schema, rng: &mut ChaCha20Rng| {
        UnitTable { rows: &rows, numbers, units: &units }.with_numbers(schema, rng).is_err()
    };
    assert!(refused(&[0, 0], &wide, &mut rng));
    assert!(refused(&[0, 0, 1, 2, 2, 2], &schema, &mut rng));
    assert!(!refused(&[0, 0, 1, 2, 2, 2], &wide, &mut rng));
}
