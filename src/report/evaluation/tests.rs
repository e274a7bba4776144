use std::fmt::Write;

use super::{Evaluation, render};
use crate::data::{Dataset, NumericColumns};
use crate::domain::Schema;
use crate::evaluation::{NumberComparison, WorkloadError};
use crate::query::Workload;

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"], "labels": ["<woman>", "man"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "na": true},
    {"name": "town", "kind": "coded", "size": 60}
]}"#;

fn table(schema: &Schema, rows: &[[u32; 3]]) -> (Dataset, NumericColumns) {
    let mut text = String::from("sex,age,town\n");
    for [sex, age, town] in rows {
        let (sex, age) = (["f", "m"][*sex as usize], ["9", "30.5", "70", ""][*age as usize]);
        writeln!(text, "{sex},{age},{town}").unwrap();
    }
    let numbers = NumericColumns::read_from(text.as_bytes(), "t.csv", schema).unwrap();
    (Dataset::from_rows(schema.domain(), rows).unwrap(), numbers)
}

fn page(real: &[[u32; 3]], synthetic: &[[u32; 3]]) -> String {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let (real, real_numbers) = table(&schema, real);
    let (synthetic, synthetic_numbers) = table(&schema, synthetic);
    let workload = Workload::all_k_way(&schema.domain(), 3).unwrap();
    let error = WorkloadError::between(&real, &synthetic, &workload, 3).unwrap();
    let numbers = NumberComparison::between(&real_numbers, &synthetic_numbers).unwrap();
    render(&Evaluation {
        files: ["real.csv".into(), "made.csv".into()],
        schema: &schema,
        real: &real,
        synthetic: &synthetic,
        error: &error,
        independent_error: 0.5,
        measures: vec![("Propensity".into(), "0.25".into())],
        numbers: Some(&numbers),
        regressions: &[],
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
        "<dt>Propensity</dt><dd>0.25</dd>",
        "5, 25, 50, 75, 95 %: 9, 9, 30.5, 30.5, 30.5",
    ] {
        assert!(page.contains(text), "{text} is not in {page}");
    }
    assert!(!page.contains("<woman>"), "names are escaped");
    assert!(!page.contains("http"), "nothing from outside");
}

#[test]
fn equal_tables_have_no_worst_pair() {
    let rows = [[0, 0, 0], [1, 2, 7]];
    let page = page(&rows, &rows);
    assert!(!page.contains("The worst pairs of columns"));
    assert!(page.contains("sex in both tables, L1 distance 0."));
}
