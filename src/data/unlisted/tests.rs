use super::{Counts, read as read_file};
use crate::data::Units;
use crate::domain::Schema;

const SCHEMA: &str = r#"{"na_token": "NA", "missing": ["?"], "columns": [
    {"name": "job", "kind": "categorical", "codes": ["cook", "other"], "other": "other", "na": true},
    {"name": "town", "kind": "categorical", "codes": ["other"], "other": "other"},
    {"name": "age", "kind": "numeric", "edges": [0, 100]},
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]}
]}"#;

fn read(text: &[u8], names: &[&str], units: Option<&Units>) -> crate::Result<Vec<Counts>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("people.csv");
    std::fs::write(&path, text).unwrap();
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
    read_file((&path).into(), &schema, &names, units)
}

fn counts(values: &Counts) -> Vec<(&str, u32)> {
    values.iter().map(|(text, count)| (text.as_str(), *count)).collect()
}

#[test]
fn what_is_neither_listed_nor_missing_is_counted_in_the_order_of_the_texts() {
    let text = b"id,town,job\n1,Ulm,cook\n1,Aachen,nurse\n2,?,other\n2,NA,nurse\n3, ,\"a \"\"b\"\"\"\n3,Ulm,?\n";
    let found = read(text, &["job", "town"], None).unwrap();
    assert_eq!(counts(&found[0]), [("a \"b\"", 1), ("nurse", 2)]);
    // A mark of a missing value is no category, also where it is not allowed.
    assert_eq!(counts(&found[1]), [("Aachen", 1), ("Ulm", 2)]);
    // Of each unit, only the records that count.
    let units = Units::new("id", 1).unwrap();
    let found = read(text, &["town"], Some(&units)).unwrap();
    assert_eq!(counts(&found[0]), [("Ulm", 1)]);
}

#[test]
fn columns_and_cells_that_cannot_be_counted_are_refused() {
    let text = b"town,job\nUlm,cook\n\xff\xfe,cook\n";
    for (names, message) in [
        (&["age"][..], "bins"),
        (&["sex"], "other"),
        (&["none"], "none"),
        (&["town"], "line 3, column 'town'"),
    ] {
        let error = read(text, names, None).err().unwrap().to_string();
        assert!(error.contains(message), "{names:?}: {error}");
    }
    let error = read(b"job\ncook\n", &["town"], None).err().unwrap().to_string();
    assert!(error.contains("without 'town'"), "{error}");
}
