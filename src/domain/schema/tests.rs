//! Tests of the schema.

use super::*;

fn error(text: &str) -> String {
    Schema::from_json(text, "s.json").unwrap_err().to_string()
}

fn column(members: &str) -> String {
    format!("{{\"columns\": [{{\"name\": \"A\", \"role\": \"attribute\", {members}}}]}}")
}

#[test]
fn a_schema_keeps_attributes_only_and_counts_missing_last() {
    let schema = Schema::from_json(
        r#"{"dataset": "d", "na_token": "N", "columns": [
            {"name": "ID", "role": "id"},
            {"name": "S", "role": "attribute", "kind": "categorical", "codes": ["1", "2"], "na": true},
            {"name": "X", "role": "derived", "kind": "numeric", "na": true},
            {"name": "P", "role": "attribute", "kind": "numeric", "edges": [-10, -0.5, 0.5, 9], "na": false}]}"#,
        "s.json",
    )
    .unwrap();
    let domain = schema.domain();
    assert_eq!((domain.len(), domain.cardinality(0), domain.cardinality(1)), (2, 3, 3));
    assert_eq!(schema.column("S").unwrap().na_code(), Some(2));
    assert_eq!(schema.column("P").unwrap().na_code(), None);
    let again = Schema::from_json(&schema.to_json().unwrap(), "again").unwrap();
    assert_eq!(schema, again);
}

#[test]
fn a_domain_file_keeps_its_order() {
    let schema = Schema::from_json(r#"{"z": 2, "a": 3, "m": 1}"#, "domain.json").unwrap();
    let domain = schema.domain();
    let names: Vec<&str> = domain.attributes().iter().map(|a| a.name.as_str()).collect();
    assert_eq!(names, ["z", "a", "m"]);
    assert_eq!(domain.cardinality(2), 1);
    let again: Schema = serde_json::from_str(&schema.to_json().unwrap()).unwrap();
    assert_eq!(schema, again);
}

#[test]
fn a_domain_attribute_may_be_called_columns() {
    let schema = Schema::from_json(r#"{"columns": 2, "rows": 3}"#, "domain.json").unwrap();
    assert_eq!(schema.domain().len(), 2);
}

#[test]
fn bad_schemas_are_told_apart() {
    for (text, part) in [
        ("hello".into(), "not JSON"),
        ("[1]".into(), "a list, expected an object"),
        ("{}".into(), "an empty object"),
        (r#"{"a": 0}"#.into(), "column 'a': size 0, expected at least 1"),
        (r#"{"a": -1}"#.into(), "attribute 'a': size -1"),
        (r#"{"a": 2.5}"#.into(), "size 2.5"),
        (r#"{"a": 2, "a": 3}"#.into(), "attribute 'a' occurs twice in s.json"),
        (r#"{"a": 99999999}"#.into(), "99999999 codes, the limit is 16777216 codes"),
        (r#"{"columns": []}"#.into(), "no column with the role 'attribute'"),
        (r#"{"columns": [{"name": "A", "role": "boss"}]}"#.into(), "boss"),
        (column(r#""na": true"#), "no 'kind'"),
        (column(r#""kind": "textual""#), "kind 'textual'"),
        (column(r#""kind": "categorical""#), "no 'codes'"),
        (column(r#""kind": "categorical", "codes": []"#), "no code, expected at least one"),
        (column(r#""kind": "categorical", "codes": ["1", "1"]"#), "code '1' twice"),
        (column(r#""kind": "categorical", "codes": ["1"], "labels": []"#), "0 labels for 1 codes"),
        (column(r#""kind": "categorical", "codes": ["1", ""], "na": true"#), "missing token ''"),
        (column(r#""kind": "categorical", "codes": ["1"], "other": "9""#), "'other' code '9'"),
        (column(r#""kind": "numeric""#), "no 'edges'"),
        (column(r#""kind": "numeric", "edges": [1]"#), "1 edges, expected at least two"),
        (column(r#""kind": "numeric", "edges": [1, 1]"#), "edge 1 followed by 1"),
        (column(r#""kind": "numeric", "edges": [2, 1]"#), "increasing edges"),
    ] {
        let message = error(&text);
        assert!(message.contains(part), "{text}: {message}");
    }
}

#[test]
fn one_code_is_enough() {
    let text = column(r#""kind": "categorical", "codes": ["only"]"#);
    assert_eq!(Schema::from_json(&text, "s").unwrap().domain().cardinality(0), 1);
}

#[test]
fn a_missing_token_that_is_a_number_in_range_is_refused() {
    let text = r#"{"na_token": "-1", "columns": [
        {"name": "A", "role": "attribute", "kind": "numeric", "edges": [-5, 5], "na": true}]}"#;
    assert!(error(text).contains("the missing token '-1' among the values"));
}

#[test]
fn selecting_columns_keeps_the_order_of_the_schema() {
    let schema = Schema::from_json(r#"{"z": 2, "a": 3, "m": 1}"#, "domain.json").unwrap();
    let some = schema.select(&["m", "z"]).unwrap();
    assert_eq!((some.domain().name(0), some.domain().name(1)), ("z", "m"));
    assert!(schema.select(&["q"]).unwrap_err().to_string().contains("unknown attribute 'q'"));
    assert!(schema.select(&["z", "z"]).is_err());
    assert!(schema.select::<&str>(&[]).is_err());
}

#[test]
fn dates_formats_pieces_and_notes_are_read_and_written_again() {
    let schema =
        Schema::from_json(include_str!("../../../tests/corpus/schema/drafted.json"), "s").unwrap();
    let table = schema.table();
    assert_eq!((table.delimiter, table.encoding, table.trim), (';', Encoding::Latin1, true));
    assert_eq!(table.names.as_ref().map(Vec::len), Some(4));
    assert_eq!((schema.na_token(), schema.missing()), ("?", &["NA".to_owned(), String::new()][..]));
    let Some(Kind::Date(days)) = &schema.column("d").unwrap().kind else { panic!() };
    assert_eq!((days.count(), days.pieces().len(), days.pieces_of(0).len()), (2, 2, 2));
    assert_eq!(schema.column("n").unwrap().note.as_deref(), Some("why"));
    assert_eq!(schema.domain().structural_zeros().len(), 1, "February with an n of 0");
    let text = schema.to_json().unwrap();
    assert!(text.contains("[\"2024-01-05\", \"2024-01-20\", 9, 7]"), "{text}");
    assert_eq!(Schema::from_json(&text, "again").unwrap(), schema);
    let kept = schema.select(&["d"]).unwrap();
    assert_eq!((kept.table(), kept.missing()), (schema.table(), schema.missing()));
}

#[test]
fn other_forms_of_dates_tables_and_missing_marks_are_refused() {
    let column = |members: &str| format!(r#"{{"columns": [{{"name": "d", {members}}}]}}"#);
    let table = |members: &str| {
        format!(
            r#"{{"table": {{{members}}}, "columns": [{{"name": "c", "kind": "coded", "size": 2}}]}}"#
        )
    };
    for (text, part) in [
        (column(r#""kind": "date", "edges": ["2024-02-30", "2024-03-01"]"#), "expected a date"),
        (column(r#""kind": "date", "edges": [0, 31]"#), "expected a date"),
        (column(r#""kind": "numeric", "edges": ["2024-02-03", 7]"#), "expected a number"),
        (column(r#""kind": "date", "edges": ["2024-03-01", "2024-02-01"]"#), "increasing"),
        (column(r#""kind": "numeric", "edges": [0, 9], "draw": [[1, 0]]"#), "rows"),
        (column(r#""kind": "numeric", "edges": [0, 9], "draw": [[]]"#), "[value, rows]"),
        (column(r#""kind": "numeric", "edges": [0, 9], "draw": [[8, 12, 3]]"#), "inside one bin"),
        (column(r#""kind": "numeric", "edges": [0, 9], "outside": "wrap""#), "wrap"),
        (table(r#""delimiter": "\"""#), "delimiter"),
        (table(r#""delimiter": "ab""#), "ab"),
        (table(r#""names": ["a", "a"]"#), "twice"),
        (table(r#""encoding": "ebcdic""#), "ebcdic"),
        (table(r#""quote": "x""#), "quote"),
    ] {
        let message = Schema::from_json(&text, "s").unwrap_err().to_string();
        assert!(message.contains(part), "{text}: {message}");
    }
    let schema = Schema::from_json(
        r#"{"columns": [{"name": "c", "kind": "coded", "size": 2, "na": true}]}"#,
        "s",
    );
    assert!(schema.unwrap().with_missing(vec!["1".into()]).is_err(), "1 is a value");
}

/// A schema with one unlikely combination of two attributes.
fn with_unlikely(rule: &str) -> Result<Schema> {
    let text = format!(
        r#"{{"columns": [
            {{"name": "age", "kind": "numeric", "edges": [0, 15, 30, 60], "integer": true}},
            {{"name": "job", "kind": "categorical", "codes": ["a", "b", "c"], "na": true}},
            {{"name": "n", "kind": "coded", "size": 4}},
            {{"name": "day", "kind": "date", "edges": ["2020-01-01", "2021-01-01", "2022-01-01"]}}
        ], "unlikely": [{rule}]}}"#
    );
    Schema::from_json(&text, "schema.json")
}

#[test]
fn unlikely_combinations_are_values_of_the_table_and_come_back_as_written() {
    let rule = r#"{"values": {"age": {"below": 15}, "job": ["a", "b"]}, "expected": 120.5}"#;
    let schema = with_unlikely(rule).unwrap();
    assert_eq!(schema.unlikely(), [vec![("age".into(), vec![0]), ("job".into(), vec![0, 1])]]);
    assert_eq!(schema.avoided()[0].forbidden().iter().filter(|is| **is).count(), 2);
    assert!(schema.domain().structural_zeros().is_empty(), "they stay possible");
    assert_eq!(Schema::from_json(&schema.to_json().unwrap(), "again").unwrap(), schema);
    for (rule, expected) in [
        (r#"{"values": {}}"#, "unlikely combination 1"),
        (r#"{"values": {"age": {"below": 99}, "job": ["a"]}}"#, "edges of its bins, from 0 to 60"),
        (r#"{"values": {"age": {"below": 15}, "jobs": ["a"]}}"#, "'jobs', which is no attribute"),
        (r#"{"age": {"below": 15}}"#, "no `values` or `expected`"),
    ] {
        let error = with_unlikely(rule).unwrap_err().to_string();
        assert!(error.contains(expected), "{rule}: {error}");
    }
}

#[test]
fn bins_are_cut_where_numbers_of_rules_end_inside_them() {
    let schema = |rules: &str| {
        let text = format!(
            r#"{{"columns": [
                {{"name": "age", "kind": "numeric", "edges": [0, 30, 60], "draw": [[0, 30, 90]]}},
                {{"name": "day", "kind": "date", "edges": ["2024-01-01", "2024-03-01"]}},
                {{"name": "pay", "kind": "numeric", "integer": false, "edges": [0, 10]}},
                {{"name": "job", "kind": "categorical", "codes": ["a", "b"]}}], {rules}}}"#
        );
        Schema::from_json(&text, "schema.json").unwrap()
    };
    let edges = |schema: &Schema, name: &str| match &schema.column(name).unwrap().kind {
        Some(Kind::Numeric(bins) | Kind::Date(bins)) => bins.edges().to_vec(),
        _ => Vec::new(),
    };
    let found = schema(
        r#""forbidden": [{"age": {"below": 15}, "job": ["a"]}, {"age": [40, 41, 42], "day": "2024-02-01"}],
           "unlikely": [{"values": {"pay": {"from": 2.5}, "job": ["b"]}}],
           "functional_dependencies": [{"from": "job", "to": "age", "map": {"b": {"from": 20}}}]"#,
    );
    assert_eq!(edges(&found, "age"), [0.0, 15.0, 20.0, 30.0, 40.0, 43.0, 60.0]);
    assert_eq!(edges(&found, "day").len(), 4, "one day");
    assert_eq!(edges(&found, "pay"), [0.0, 2.5, 10.0]);
    let forbids = |age: u32, job: u32| {
        let code = |attribute: usize| [age, 0, 0, job][attribute];
        found.domain().structural_zeros().iter().any(|zero| zero.forbids(&found.domain(), code))
    };
    assert!(forbids(0, 0) && !forbids(1, 0) && forbids(0, 1) && forbids(1, 1) && !forbids(2, 1));
    // As written, it is the same schema again.
    assert_eq!(Schema::from_json(&found.to_json().unwrap(), "again").unwrap(), found);
    let as_they_are = schema(r#""forbidden": [{"age": {"below": 30}, "job": ["a"]}]"#);
    assert_eq!(edges(&as_they_are, "age"), [0.0, 30.0, 60.0]);
}

#[test]
fn unlikely_combinations_in_codes_are_written_as_values() {
    let codes: Vec<Combination> = vec![
        vec![("age".into(), vec![0, 1]), ("job".into(), vec![1, 3])],
        vec![("n".into(), vec![1, 3]), ("day".into(), vec![1])],
    ];
    let found = codes
        .iter()
        .map(|codes| UnlikelyCombination { codes: codes.clone(), expected: Some(31.26) });
    let rule = r#"{"values": {"n": [0], "job": [null]}}"#;
    let schema = with_unlikely(rule).unwrap().with_unlikely(found.collect()).unwrap();
    let mut again =
        Schema::from_json(&schema.to_json().unwrap(), "again").unwrap().unlikely().to_vec();
    assert_eq!(again, schema.unlikely());
    again.remove(0);
    let sorted = |mut c: Combination| {
        c.sort();
        c
    };
    assert_eq!(
        again.into_iter().map(sorted).collect::<Vec<_>>(),
        codes.into_iter().map(sorted).collect::<Vec<_>>()
    );
    // Those that name a column that is not there, or values that it no longer has, are left out.
    assert_eq!(schema.select(&["age", "job"]).unwrap().unlikely().len(), 1);
    let bins = |_: &str, _: &Bins| Bins::new(vec![0.0, 60.0], Some(true), "age");
    let coarser = schema.with_bins("bins", ["age"], bins).unwrap();
    assert_eq!(coarser.unlikely().len(), 2, "a range over all bins is one still");
    let bins = |_: &str, _: &Bins| Bins::new(vec![0.0, 40.0, 60.0], Some(true), "age");
    assert_eq!(schema.with_bins("bins", ["age"], bins).unwrap().unlikely().len(), 2);
    assert_eq!(schema.keeping_unlikely(&[true, false, true]).unwrap().unlikely().len(), 2);
}
