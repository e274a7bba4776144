use std::fmt::Write;

use super::{Page, render, text};
use crate::data::{Dataset, WholeTable};
use crate::domain::Schema;
use crate::evaluation::{EvaluationSettings, Measure};

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"], "labels": ["<woman>", "man"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "na": true},
    {"name": "town", "kind": "coded", "size": 60}
]}"#;

fn table(schema: &Schema, rows: &[[u32; 3]]) -> WholeTable {
    let mut text = String::from("sex,age,town\n");
    for [sex, age, town] in rows {
        let (sex, age) = (["f", "m"][*sex as usize], ["9", "30.5", "70", ""][*age as usize]);
        writeln!(text, "{sex},{age},{town}").unwrap();
    }
    let table = WholeTable::read_from(text.as_bytes(), "t.csv", schema, None).unwrap();
    assert_eq!(table.records, Dataset::from_rows(schema.domain(), rows).unwrap());
    table
}

fn page(real: &[[u32; 3]], synthetic: &[[u32; 3]]) -> String {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (real, synthetic) = (table(&schema, real), table(&schema, synthetic));
    let settings =
        EvaluationSettings { measures: vec![Measure::UniqueMatches], ..Default::default() };
    let measures = settings.under(&schema).unwrap().between(&real, &synthetic).unwrap();
    render(&Page {
        names: ["real.csv".into(), "made.csv".into()],
        schema: &schema,
        tables: [(&real.records).into(), (&synthetic.records).into()],
        measures: &measures,
    })
    .unwrap()
}

#[test]
fn both_tables_are_on_the_page_which_says_that_it_is_private() {
    let real = [[0, 0, 0], [0, 1, 59], [1, 1, 3], [1, 3, 3]];
    let synthetic = [[0, 0, 0], [1, 1, 59], [1, 1, 3], [1, 2, 3]];
    let page = page(&real, &synthetic);
    for text in [
        "PRIVATE, NOT FOR RELEASE",
        "made.csv (synthetic) beside real.csv (real)",
        // Shares of a value in both tables, and the distance of the column: |1/2 - 1/4| twice.
        "&lt;woman&gt;: real 50 %, synthetic 25 %",
        "sex in both tables, L1 distance 0.5.",
        // The pair of sex and age: from f, middle to m, middle, and from missing to old.
        "<h3>sex × age <span class=\"soft\">L1 distance 1</span></h3>",
        "<dt>Unique real records</dt><dd>4</dd>",
        "5, 25, 50, 75, 95 %: 9, 9, 30.5, 30.5, 30.5",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    assert!(!page.contains("<woman>"), "names are escaped");
    assert!(!page.contains("http"), "nothing from outside");
}

#[test]
fn the_text_names_groups_and_what_wide_bins_hide() {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (real, synthetic) = (table(&schema, &[[0, 0, 0], [1, 1, 3]]), table(&schema, &[[0, 0, 0]]));
    let settings = EvaluationSettings { by: vec!["sex".into()], ..Default::default() };
    let found = settings.under(&schema).unwrap().between(&real, &synthetic).unwrap();
    let text = text(&found);
    assert!(text.starts_with("NOT PRIVATE: "), "{text}");
    assert!(text.contains("m (man): 1 real records, 0 synthetic ones"), "{text}");
    assert!(text.contains("Wide bins"), "{text}");
}

#[test]
fn equal_tables_have_no_worst_pair() {
    let rows = [[0, 0, 0], [1, 2, 7]];
    let page = page(&rows, &rows);
    assert!(!page.contains("The worst pairs of columns"));
    assert!(page.contains("sex in both tables, L1 distance 0."));
}

#[test]
fn the_error_is_compared_with_that_of_samples() {
    let rows = |shift: u32| -> Vec<[u32; 3]> {
        (0..400).map(|i| [(i + shift) % 2, i % 7 % 4, (i * i + shift) % 60]).collect()
    };
    let (near, same) = (page(&rows(0), &rows(1)), page(&rows(0), &rows(0)));
    assert!(
        near.contains("further from the real one than a random sample")
            || near.contains("as far from the real one as")
    );
    assert!(same.contains("The synthetic table has the marginals of the real one."), "{same}");
    assert!(!page(&rows(0)[..19], &rows(0)).contains("random sample of"), "too few records");
}
