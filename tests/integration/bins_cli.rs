//! `jointly bins`: bins by the private rows, and a release that counts their cost.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;

use jointly::domain::{Kind, Schema};
use jointly::privacy::LedgerFile;

use crate::cli::{Bench, stderr};

const RANGES: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "hours", "kind": "numeric", "edges": [0, 100], "integer": true, "na": true},
    {"name": "pay", "kind": "numeric", "edges": [0, 1000000], "integer": true}
]}"#;

/// Half of the people work 40 hours; a third has no pay.
fn people() -> String {
    let mut text = String::from("sex,hours,pay\n");
    for i in 0..3_000_u32 {
        let hours = if i.is_multiple_of(2) { "40".to_owned() } else { (i * 7 % 80).to_string() };
        let hours = if i.is_multiple_of(11) { String::new() } else { hours };
        let pay = if i.is_multiple_of(3) { 0 } else { i * 7_919 % 90_000 };
        writeln!(text, "{},{hours},{pay}", ["f", "m"][i as usize % 2]).unwrap();
    }
    text
}

#[test]
fn ranges_become_bins_and_a_release_counts_their_cost() {
    let bench = Bench::new();
    bench.write("people.csv", &people());
    bench.write("ranges.json", RANGES);
    let output = bench.run(
        "bins --private people.csv --schema ranges.json --epsilon 0.5 --delta 1e-6 --ledger bins.json --out s.json",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("s.json: 2 columns in bins by the private rows"));
    let schema = Schema::read(&bench.path("s.json")).unwrap();
    let edges = |name: &str| {
        let Some(Kind::Numeric(bins)) = &schema.column(name).unwrap().kind else {
            panic!("{name}")
        };
        bins.edges().to_vec()
    };
    assert!(edges("hours").windows(2).any(|pair| pair == [40.0, 41.0]), "{:?}", edges("hours"));
    assert_eq!(edges("pay")[..2], [0.0, 1.0]);
    let earlier = LedgerFile::read(&bench.path("bins.json")).unwrap();
    assert!(earlier.private && earlier.ledger.remaining().is_zero());
    bench.succeed(
        "synth --private people.csv --schema s.json --mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 \
         --ledger-from bins.json --ledger all.json --out out.csv",
    );
    let all = LedgerFile::read(&bench.path("all.json")).unwrap();
    assert!(all.ledger.entries().len() > earlier.ledger.entries().len());
    assert_eq!(all.ledger.entries()[0].purpose, earlier.ledger.entries()[0].purpose);
    // Values are drawn where rows were, but for noise: few have much more than 90,000, in a range that is ten times as far.
    let rows = bench.read("out.csv");
    let far = rows.lines().skip(1).filter(|line| {
        line.rsplit(',').next().unwrap().parse::<f64>().is_ok_and(|pay| pay > 200_000.0)
    });
    let far = far.count();
    assert!(far < 150, "{far}");
}

#[test]
fn what_cannot_be_cut_is_refused_before_anything_is_spent() {
    let bench = Bench::new();
    bench.write("people.csv", &people());
    bench.write("ranges.json", RANGES);
    let flags = "--private people.csv --epsilon 1 --delta 1e-6 --ledger l.json --out s.json";
    let columns = [("sex", "the kind 'numeric'"), ("hours,hours", "twice"), ("age", "age")];
    for (names, message) in columns {
        bench.fail(&format!("bins {flags} --schema ranges.json --columns {names}"), 3, message);
    }
    bench.write("few.json", &RANGES.replace("1000000", "10").replace("100]", "20]"));
    bench.fail(&format!("bins {flags} --schema few.json"), 2, "a bin of its own");
    bench.write("none.json", r#"{"sex": 2}"#);
    bench.fail(&format!("bins {flags} --schema none.json"), 3, "columns to cut");
    // A private number outside the range stops the run: the operator sees where.
    bench.write("short.json", &RANGES.replace("1000000", "50000"));
    bench.fail(&format!("bins {flags} --schema short.json"), 3, "column 'pay'");
    assert!(!bench.path("l.json").exists() && !bench.path("s.json").exists());
}
