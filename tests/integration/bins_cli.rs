//! `jointly bins`: bins by the private rows, and a release that counts their cost.
#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

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

const OPEN: &str = r#"{"columns": [
    {"name": "job", "kind": "categorical", "codes": ["none", "other"], "other": "other", "na": true},
    {"name": "hours", "kind": "numeric", "edges": [0, 100], "integer": true}
]}"#;

/// Three jobs of a thousand people each, none, and some that only one has.
fn workers() -> String {
    let mut text = String::from("hours,job\n");
    for i in 0..4_000_u32 {
        let job = match i % 80 {
            0 => format!("job {i}"),
            1 => String::new(),
            _ => ["nurse", "cook, chef", "guard", "none"][i as usize % 4].to_owned(),
        };
        writeln!(text, "{},\"{job}\"", i * 7 % 80).unwrap();
    }
    text
}

fn codes(schema: &Schema, name: &str) -> Vec<String> {
    match &schema.column(name).unwrap().kind {
        Some(Kind::Categorical { codes, .. }) => codes.clone(),
        _ => panic!("{name}"),
    }
}

#[test]
fn categories_of_many_records_are_named_and_a_release_counts_their_delta() {
    let bench = Bench::new();
    bench.write("workers.csv", &workers());
    bench.write("open.json", OPEN);
    let flags =
        "--private workers.csv --schema open.json --categories job --epsilon 0.5 --delta 1e-6";
    for neighbors in ["replace-one", "add-remove-one"] {
        let output = bench.run(&format!(
            "bins {flags} --neighbors {neighbors} --category-share 0.4 --ledger bins.json --out s.json"
        ));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("job: 3 values named"), "{}", stderr(&output));
        let text = "1 column in bins and 1 column with categories by the private rows";
        assert!(stderr(&output).contains(text), "{}", stderr(&output));
        let schema = Schema::read(&bench.path("s.json")).unwrap();
        assert_eq!(codes(&schema, "job"), ["none", "cook, chef", "guard", "nurse", "other"]);
        let Some(Kind::Numeric(hours)) = &schema.column("hours").unwrap().kind else { panic!() };
        assert!(hours.count() > 5);

        let earlier = LedgerFile::read(&bench.path("bins.json")).unwrap();
        assert_eq!(earlier.delta, Some(1e-6));
        let spent = earlier.ledger.delta_spent();
        assert!(spent > 4.99e-7 && spent <= 5e-7, "{spent:e}");
        assert!(earlier.ledger.remaining().is_zero());
        bench.succeed(&format!(
            "synth --private workers.csv --schema s.json --mechanism independent --epsilon 1 --delta 1e-6 \
             --neighbors {neighbors} --ledger-from bins.json --ledger all.json --out out.csv --report page.html"
        ));
        let all = LedgerFile::read(&bench.path("all.json")).unwrap();
        assert_eq!((all.epsilon, all.delta), (Some(1.0), Some(1e-6)));
        assert_eq!(all.ledger.delta_spent().to_bits(), spent.to_bits());
        let half = jointly::Budget::approximate(1.0, 5e-7).unwrap().rho();
        let difference = all.ledger.limit().to_f64() / half.to_f64() - 1.0;
        assert!(difference.abs() < 1e-6, "the rest of delta decides rho: {difference:e}");
        assert!(bench.read("page.html").contains("\u{3b4} = 1e-6"));
        assert!(bench.read("out.csv").lines().any(|line| line.contains("\"cook, chef\"")));
        // A plan counts both.
        let plan = bench.succeed(&format!(
            "plan --schema s.json --mechanism independent --epsilon 1 --delta 1e-6 --records 4000 \
             --neighbors {neighbors} --ledger-from bins.json --json"
        ));
        let plan: serde_json::Value = serde_json::from_str(&plan).unwrap();
        let left = all.ledger.limit().to_f64() - earlier.ledger.spent().to_f64();
        assert!((plan["rho"].as_f64().unwrap() - left).abs() < 1e-9, "{}", plan["rho"]);
        assert_eq!(plan["earlier_delta"].as_f64(), Some(spent));
        // A budget whose delta does not pay for it.
        bench.fail(
            &format!(
                "synth --private workers.csv --schema s.json --mechanism independent --epsilon 1 --delta 4e-7 \
                 --neighbors {neighbors} --ledger-from bins.json --out no.csv"
            ),
            3,
            "delta",
        );
    }
}

#[test]
fn categories_alone_and_of_units() {
    let bench = Bench::new();
    let rows: Vec<String> = workers()
        .lines()
        .enumerate()
        .map(
            |(i, line)| {
                if i == 0 { format!("{line},home\n") } else { format!("{line},h{}\n", i / 2) }
            },
        )
        .collect();
    bench.write("workers.csv", &rows.concat());
    bench.write("open.json", &OPEN.replace("[0, 100]", "[0, 50, 100]"));
    let output = bench.run(
        "bins --private workers.csv --schema open.json --categories job --epsilon 1 --delta 1e-6 \
         --neighbors add-remove-one --unit home --max-records 2 --ledger bins.json --out s.json",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("s.json: 1 column with categories"), "{}", stderr(&output));
    let ledger = LedgerFile::read(&bench.path("bins.json")).unwrap().ledger;
    assert_eq!(ledger.entries().len(), 1);
    assert!(ledger.remaining().is_zero());
}

#[test]
fn columns_that_have_no_open_categories_are_refused_before_anything_is_spent() {
    let bench = Bench::new();
    bench.write("workers.csv", &workers());
    bench.write("open.json", OPEN);
    let flags = "--private workers.csv --schema open.json --epsilon 1 --delta 1e-6 --ledger l.json --out s.json";
    for (names, message) in
        [("hours", "whose bins `columns` finds"), ("job,job", "twice"), ("age", "age")]
    {
        bench.fail(&format!("bins {flags} --categories {names}"), 3, message);
    }
    for delta in ["1e-6", "0", "-1"] {
        let wrong = format!("bins {flags} --categories job --category-delta {delta}");
        bench.fail(&wrong, 2, "--category-delta");
    }
    bench.fail(
        &format!("bins {flags} --categories job --category-share 1.5"),
        2,
        "--category-share",
    );
    bench.write("closed.json", &OPEN.replace(", \"other\": \"other\"", ""));
    let closed = flags.replace("open.json", "closed.json");
    bench.fail(&format!("bins {closed} --categories job"), 3, "'other'");
    assert!(!bench.path("l.json").exists() && !bench.path("s.json").exists());
}
