//! Tests of decoding: what is written reads back as the same codes.

use proptest::prelude::*;

use super::*;
use crate::data::{AbsentColumns, read_csv, read_csv_from};
use crate::domain::GroupValue;

fn written(table: &Dataset, schema: &Schema, labels: Labels, seed: u64) -> String {
    let mut out = Vec::new();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    write_csv(&mut out, table, schema, labels, &mut rng).unwrap();
    String::from_utf8(out).unwrap()
}

fn every_code(schema: &Schema, records: u32) -> Dataset {
    let domain = schema.domain();
    let rows: Vec<Vec<u32>> = (0..records)
        .map(|r| domain.attributes().iter().map(|a| r % a.cardinality).collect())
        .collect();
    Dataset::from_rows(domain, &rows).unwrap()
}

#[test]
fn raw_codes_labels_and_missing_tokens_are_written() {
    let schema = Schema::from_json(
        r#"{"na_token": "N", "columns": [
        {"name": "S", "kind": "categorical", "codes": ["01", "a,b"], "labels": ["one", "two"], "na": true},
        {"name": "C", "kind": "coded", "size": 2}]}"#,
        "s",
    )
    .unwrap();
    let table = every_code(&schema, 3);
    assert_eq!(written(&table, &schema, Labels::Codes, 1), "S,C\n01,0\n\"a,b\",1\nN,0\n");
    assert_eq!(written(&table, &schema, Labels::Text, 1), "S,C\none,0\ntwo,1\nN,0\n");
}

#[test]
fn numbers_are_whole_where_the_column_is_and_outer_bins_are_plausible() {
    let schema = Schema::from_json(
        r#"{"columns": [
        {"name": "P", "kind": "numeric", "edges": [-10000000, -0.5, 0.5, 2500, 5000, 10000000]},
        {"name": "R", "kind": "numeric", "edges": [0, 0.001, 0.25, 1, 5, 9]}]}"#,
        "s",
    )
    .unwrap();
    let table = every_code(&schema, 2000);
    let text = written(&table, &schema, Labels::Codes, 17);
    for line in text.lines().skip(1) {
        let (whole, real) = line.split_once(',').unwrap();
        let whole: i64 = whole.parse().unwrap();
        assert!((-3000..7600).contains(&whole), "{whole}");
        assert!(real.len() <= 8, "{real}");
    }
    assert_eq!(text, written(&table, &schema, Labels::Codes, 17), "same seed, same bytes");
    assert_ne!(text, written(&table, &schema, Labels::Codes, 18));
    let again = read_csv_from(text.as_bytes(), "t", &schema, AbsentColumns::Refuse).unwrap();
    assert_eq!(again, table);
}

#[test]
fn values_are_drawn_from_the_pieces_of_their_bins() {
    let schema = Schema::from_json(
        r#"{"columns": [
        {"name": "W", "kind": "numeric", "edges": [0, 10, 100, 1000],
         "draw": [[0, 30], [2, 8, 10, 5], [40, 70], [50, 60, 30], [999, 1]]},
        {"name": "R", "kind": "numeric", "edges": [0, 1, 2, 9], "integer": false,
         "draw": [[0.1, 0.5, 3, 0.1], [1.5, 7], [2.25, 3, 1]]}]}"#,
        "s",
    )
    .unwrap();
    let table = every_code(&schema, 6000);
    let text = written(&table, &schema, Labels::Codes, 5);
    let again = read_csv_from(text.as_bytes(), "t", &schema, AbsentColumns::Refuse).unwrap();
    assert_eq!(again, table);
    let (mut zeros, mut forties) = (0, 0);
    for line in text.lines().skip(1) {
        let (whole, real) = line.split_once(',').unwrap();
        zeros += u32::from(whole == "0");
        forties += u32::from(whole == "40");
        let number: i32 = whole.parse().unwrap();
        assert!([0, 2, 7, 40, 999].contains(&number) || (50..60).contains(&number), "{whole}");
        let is_known = ["0.1", "0.2", "0.3", "0.4", "1.5"].contains(&real);
        assert!(is_known || (2.25..3.0).contains(&real.parse().unwrap()), "{real}");
    }
    assert!((1400..1600).contains(&zeros) && (1300..1500).contains(&forties), "{zeros} {forties}");
}

#[test]
fn a_table_of_another_schema_is_refused() {
    let schema = Schema::from_json(r#"{"a": 2}"#, "s").unwrap();
    for other in [r#"{"b": 2}"#, r#"{"a": 3}"#] {
        let table = every_code(&Schema::from_json(other, "s").unwrap(), 1);
        let mut rng = ChaCha20Rng::seed_from_u64(0);
        assert!(write_csv(Vec::new(), &table, &schema, Labels::Codes, &mut rng).is_err());
    }
}

#[test]
fn a_compressed_file_reads_back_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let schema = Schema::from_json(r#"{"a": 2, "b": 300}"#, "s").unwrap();
    let table = every_code(&schema, 1000);
    for name in ["t.csv", "t.csv.gz"] {
        let path = folder.path().join(name);
        write_csv_file(&path, &table, &schema, Labels::Codes, 1).unwrap();
        assert_eq!(read_csv(&path, &schema).unwrap(), table);
        let gzip = std::fs::read(&path).unwrap().starts_with(&[0x1f, 0x8b]);
        assert_eq!(gzip, name == "t.csv.gz");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
}

fn edges() -> impl Strategy<Value = Vec<f64>> {
    let steps = prop_oneof![
        prop::collection::vec((1_u32..40).prop_map(f64::from), 1..8),
        prop::collection::vec(1e-9..1e3, 1..8),
        prop::collection::vec((1_u32..9).prop_map(|n| f64::from(n) / 2.0), 1..8),
    ];
    (prop_oneof![Just(0.0), Just(-0.5), Just(-1e6), -1e3..1e3], steps).prop_map(|(first, steps)| {
        let mut edges: Vec<f64> = vec![first];
        for step in steps {
            edges.push(edges[edges.len() - 1] + step);
        }
        edges
    })
}

fn kind() -> impl Strategy<Value = Kind> {
    let codes = prop::collection::btree_set("[ -~é\n]{0,12}", 1..9);
    prop_oneof![
        (codes, 0_usize..4).prop_map(|(codes, grouped)| {
            let codes = codes.into_iter().filter(|code| code != "?").chain(["!".repeat(20)]);
            let mut codes: Vec<String> = codes.collect();
            let grouped = codes.split_off(codes.len() - grouped.min(codes.len()));
            let value = |(text, rows)| GroupValue { text, label: None, rows };
            let values: Vec<GroupValue> = grouped.into_iter().zip(1..).map(value).collect();
            let code = u32::try_from(codes.len()).unwrap();
            let groups: Vec<Group> =
                if values.is_empty() { Vec::new() } else { vec![Group { code, values }] };
            codes.extend(groups.iter().map(|_| "the group".to_owned()));
            Kind::Categorical { codes, labels: None, other: None, groups }
        }),
        edges().prop_map(|edges| Kind::Numeric(Bins::new(edges, None, "e").unwrap())),
        (1_u32..2000).prop_map(|size| Kind::Coded { size }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn any_table_of_any_schema_reads_back_as_the_same_codes(
        kinds in prop::collection::vec((kind(), any::<bool>()), 1..6), seed: u64,
    ) {
        let columns = kinds.into_iter().enumerate().map(|(i, (kind, na))| {
            let mut column = SchemaColumn::attribute(format!("c,{i}"), kind);
            column.na = na;
            column
        });
        let schema = Schema::new("?", columns.collect()).unwrap();
        let table = every_code(&schema, 200);
        let text = written(&table, &schema, Labels::Codes, seed);
        let again = read_csv_from(text.as_bytes(), "t", &schema, AbsentColumns::Refuse).unwrap();
        prop_assert_eq!(again, table);
        let json = schema.to_json().unwrap();
        prop_assert_eq!(Schema::from_json(&json, "again").unwrap(), schema);
    }
}
