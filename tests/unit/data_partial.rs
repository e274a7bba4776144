//! Unit tests of `src/data/partial.rs`.

use super::PartialTable;
use crate::data::{Dataset, Labels};
use crate::domain::Schema;

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "na": true},
    {"name": "job", "kind": "categorical", "codes": ["cook, chef", "nurse"]}
]}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

fn read(text: &str) -> crate::Result<PartialTable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial.csv");
    std::fs::write(&path, text).unwrap();
    PartialTable::read(&path, &schema())
}

#[test]
fn rows_keep_their_texts_and_their_order() {
    let table = read("id,age,note\n7,30.25,\"a \"\"b\"\"\"\n8,NA,\n").unwrap();
    assert_eq!(table.known().row(0), [1]);
    assert_eq!(table.known().row(1), [3]);
    let more = schema().select(&["sex", "job"]).unwrap().domain();
    let more = Dataset::from_rows(more, &[[1, 0], [0, 1]]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    table.write_with(&more, &schema(), &path, Labels::Codes, 1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let expected = "id,age,note,sex,job\n7,30.25,\"a \"\"b\"\"\",m,\"cook, chef\"\n8,NA,,f,nurse\n";
    assert_eq!(text, expected);
    // Compressed, the same; as Parquet, not at all.
    let gzip = folder.path().join("out.csv.gz");
    table.write_with(&more, &schema(), &gzip, Labels::Codes, 1).unwrap();
    assert_eq!(&std::fs::read(&gzip).unwrap()[..2], [0x1f, 0x8b]);
    assert!(
        table
            .write_with(&more, &schema(), &folder.path().join("o.parquet"), Labels::Codes, 1)
            .is_err()
    );
    // Other numbers of records, and columns that are there.
    assert!(table.write_with(&more.take(&[0]), &schema(), &path, Labels::Codes, 1).is_err());
    let age = schema().select(&["age"]).unwrap().domain();
    let age = Dataset::from_rows(age, &[[1], [1]]).unwrap();
    assert!(table.write_with(&age, &schema(), &path, Labels::Codes, 1).is_err());
}

#[test]
fn errors_name_line_and_column() {
    for (text, message) in [
        ("age\n", "without records"),
        ("id\n1\n", "no attribute of the schema"),
        ("age,job\n30,\"cook, chef\"\n30,cook\n", "line 3, column 'job'"),
        ("age\n30\n200\n", "line 3, column 'age'"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let table = read("job,age\n\n\"cook, chef\",30\nnurse,31\n").unwrap();
    let error = table.contradiction(1, "age", "another").to_string();
    assert!(error.contains("line 4, column 'age'") && error.contains("'31'"), "{error}");
}
