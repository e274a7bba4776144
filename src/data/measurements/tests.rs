use super::*;

fn schema() -> Schema {
    let text = r#"{"na_token": "", "columns": [
        {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "labels": ["Male", "Female"]},
        {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "na": true},
        {"name": "job", "kind": "categorical", "codes": ["a", "b", "c"], "other": "c"}]}"#;
    Schema::from_json(text, "schema").unwrap()
}

fn read(text: &str) -> Result<Vec<Measurement>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.csv");
    std::fs::write(&path, text).unwrap();
    read_measurements(&path, &schema())
}

#[test]
fn what_was_written_is_read_again() {
    let public = Provenance::Public { source: "ohio".into() };
    let all = [
        Measurement::new(
            Clique::new([0, 1]),
            vec![10.5, -2.0, 3.25, 0.0, 1e-7, 7.0, 8.0, 9.0],
            1.0 / 3.0,
        ),
        Measurement {
            provenance: public,
            ..Measurement::new(Clique::new([2]), vec![5.0, 6.0, 7.0], 0.0)
        },
        Measurement { cell: Some(5), ..Measurement::new(Clique::new([1, 2]), vec![-4.5], 2.5) },
    ];
    assert_eq!(read(&tidy_measurements(&all, &schema()).unwrap()).unwrap(), all);
}

#[test]
fn rows_may_come_in_any_order_and_may_be_some_only() {
    let text = "value_1,stddev,count,measurement,attribute_1\nFemale,2,7,one,sex\n1,2,3,one,sex\na,1,5,two,job\n";
    let found = read(text).unwrap();
    // Nobody said that they are public.
    let one = Measurement::new(Clique::new([0]), vec![3.0, 7.0], 2.0);
    let two = Measurement { cell: Some(0), ..Measurement::new(Clique::new([2]), vec![5.0], 1.0) };
    assert_eq!(found, [one, two]);
    let apart = text.replace("1,2,3", "1,9,3");
    assert_eq!(
        read(&apart).unwrap().len(),
        3,
        "cells with different noise are measured one by one"
    );
}

#[test]
fn mistakes_are_named_with_their_place() {
    let header = "measurement,attribute_1,value_1,count,stddev,source\n";
    for (text, wanted) in [
        ("measurement,count,stddev\n".to_owned(), "no column 'attribute_1'"),
        ("measurement,attribute_1,count,stddev\n".to_owned(), "no column 'value_1'"),
        ("attribute_1,value_1,count,stddev\n".to_owned(), "no column 'measurement'"),
        (format!("{header}1,sexe,1,3,1,x\n"), "line 2, column 'attribute_1'"),
        (format!("{header}1,sex,3,3,1,x\n"), "line 2, column 'value_1'"),
        (format!("{header}1,sex,1,,1,x\n"), "line 2, column 'count'"),
        (format!("{header}1,sex,1,nan,1,x\n"), "line 2, column 'count'"),
        (format!("{header}1,sex,1,3,-1,x\n"), "line 2, column 'stddev'"),
        (format!("{header}1,sex,1,3,1,\n"), "line 2, column 'source'"),
        (format!("{header}1,sex,1,3,1,x\n1,job,a,3,1,x\n"), "line 3"),
        (format!("{header}1,sex,1,3,1,x\n1,sex,2,3,1,y\n"), "line 3"),
        (format!("{header}1,sex,1,3,1,x\n1,sex,1,4,1,x\n"), "a cell again"),
    ] {
        let error = read(&text).unwrap_err().to_string();
        assert!(error.contains(wanted) && error.contains("m.csv"), "{text}: {error}");
    }
}
