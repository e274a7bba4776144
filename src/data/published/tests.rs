use super::*;

fn schema() -> Schema {
    let text = r#"{"na_token": "", "columns": [
        {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "labels": ["Male", "Female"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "na": true},
        {"name": "id", "role": "id"}]}"#;
    Schema::from_json(text, "schema").unwrap()
}

fn read(text: &str) -> Result<PublishedTable> {
    read_with(text, Protection::None)
}

fn read_with(text: &str, protection: Protection) -> Result<PublishedTable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("totals.csv");
    std::fs::write(&path, text).unwrap();
    read_published(&path, &schema(), protection)
}

#[test]
fn values_are_texts_of_records_labels_or_names_of_bins() {
    let table = read("people,age,sex\n10,0 to 17,Male\n7,18,2\n5,64,2\n1.5,,1\n2,missing,Female\n")
        .unwrap();
    assert_eq!(table.clique, Clique::new([0, 1]));
    assert_eq!(table.least, table.most);
    assert_eq!(table.least, [10.0, 0.0, 0.0, 1.5, 0.0, 12.0, 0.0, 2.0]);
    assert_eq!(table.unlisted, 4);
}

#[test]
fn mistakes_are_named_with_their_place() {
    for (text, wanted) in [
        ("sex,age\n1,3\n", "0 columns that are no attribute"),
        ("sex,id,people\n1,3,4\n", "2 columns that are no attribute"),
        ("people\n1\n", "1 columns that are no attribute"),
        ("sex,people\n1,3\n3,4\n", "line 3, column 'sex'"),
        ("sex,people\n1,3\n2,\n", "line 3, column 'people'"),
        ("sex,people\n1,3\n2,-4\n", "a count of at least 0"),
        ("sex,people\n1,3\n2,inf\n", "a count of at least 0"),
        ("sex,people\n1,3\n1,4\n", "a combination again"),
        ("age,people\n130,3\n", "line 2, column 'age'"),
    ] {
        let error = read(text).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("totals.csv"), "{text}: {error}");
    }
}

#[test]
fn rounded_and_suppressed_counts_are_between_two_numbers() {
    let text = "sex,age,people\n1,3,40\n1,20,<10\n2,3,0\n2,20,5\n2,70,1\n";
    let table = read_with(text, Protection::Rounded(2.5)).unwrap();
    assert_eq!(table.least, [37.5, 0.0, 0.0, 0.0, 0.0, 2.5, 0.0, 0.0]);
    assert_eq!(table.most, [42.5, 9.0, 2.5, 2.5, 2.5, 7.5, 3.5, 2.5]);
    assert_eq!(table.unlisted, 3);
    let text = "sex,people\n1,40\n2,(D)\n";
    let table = read_with(text, Protection::Suppressed(5.0)).unwrap();
    assert_eq!((table.least, table.most), (vec![40.0, 0.0], vec![40.0, 4.0]));
    for (text, protection) in [
        ("sex,people\n1,\n", Protection::Rounded(2.5)),
        ("sex,people\n1,<0\n", Protection::Rounded(2.5)),
        ("sex,people\n1,<x\n", Protection::Suppressed(5.0)),
        ("sex,people\n1,-3\n", Protection::Suppressed(5.0)),
    ] {
        let error = read_with(text, protection).unwrap_err().to_string();
        assert!(error.contains("line 2, column 'people'"), "{error}");
    }
}

#[test]
fn a_published_table_has_a_header_where_records_have_none() {
    let text = r#"{"table": {"names": ["sex", "job"]}, "columns": [
        {"name": "sex", "kind": "categorical", "codes": ["1", "2"]},
        {"name": "job", "kind": "categorical", "codes": ["a", "b"]}]}"#;
    let schema = Schema::from_json(text, "schema").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("jobs.csv");
    std::fs::write(&path, "job,people\na,3\nb,4\n").unwrap();
    let table = read_published(&path, &schema, Protection::None).unwrap();
    assert_eq!((table.clique, table.least), (Clique::new([1]), vec![3.0, 4.0]));
}
