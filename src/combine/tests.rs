//! A table of a few hundred people, for tests.

use crate::data::Dataset;
use crate::domain::Schema;

pub(super) fn schema() -> Schema {
    let text = r#"{"na_token": "NA", "columns": [
        {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 2, 4, 6], "integer": true},
        {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "pay", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 10, 20], "integer": false}
    ]}"#;
    Schema::from_json(text, "schema.json").unwrap()
}

/// Counts of (age, sex, pay), the last attribute fastest: pay is 5, 15 or missing, age 0.5, 2.5 or 4.5.
pub(super) const COUNTS: [u32; 18] =
    [40, 10, 5, 30, 20, 0, 25, 25, 10, 20, 40, 5, 10, 50, 20, 5, 60, 10];

pub(super) fn table() -> Dataset {
    let mut rows = Vec::new();
    for (cell, count) in (0..).zip(COUNTS) {
        rows.extend((0..count).map(|_| [cell / 6, cell / 3 % 2, cell % 3]));
    }
    Dataset::from_rows(schema().domain(), &rows).unwrap()
}
