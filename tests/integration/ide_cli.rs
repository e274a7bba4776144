//! IDE and units of privacy from the command line.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;

use crate::cli::{Bench, stderr};

const SYNTH: &str = "synth --private private.csv --public near=public.csv --schema schema.json \
     --workload all-1-way --epsilon 4 --out out.csv --ledger ledger.json";

fn ledger(bench: &Bench) -> Value {
    serde_json::from_str(&bench.read("ledger.json")).unwrap()
}

#[test]
fn groups_are_released_with_either_noise_and_under_both_relations() {
    let bench = Bench::new();
    // Another place: its codes of the group attributes are not the private ones, and are not read.
    let public = bench.read("public.csv");
    let elsewhere = public.lines().skip(1).map(|line| format!("{},77,77\n", &line[..3]));
    bench.write("public.csv", &format!("a,b,c,d\n{}", elsewhere.collect::<String>()));
    for relation in ["replace-one", "add-remove-one"] {
        for (noise, kind) in [
            ("--delta 1e-6", "discrete-gaussian"),
            ("--noise laplace", "discrete-laplace"),
            ("--noise laplace --delta 1e-6", "discrete-laplace"),
        ] {
            let command = format!(
                "{SYNTH} --mechanism ide --groups c,d --neighbors {relation} --report r.html --seed 5 {noise}"
            );
            bench.succeed(&command);
            let ledger = ledger(&bench);
            assert_eq!(
                (ledger["mechanism"].as_str(), &ledger["unit"]),
                (Some("ide"), &Value::Null)
            );
            let entries = ledger["ledger"]["entries"].as_array().unwrap();
            assert!(!entries.is_empty() && entries.iter().all(|e| e["mechanism"]["kind"] == kind));
            let pure = ledger["pure_epsilon"].as_f64();
            assert_eq!(pure.is_some(), !noise.contains("delta"), "{noise}");
            assert!(pure.is_none_or(|epsilon| epsilon <= 4.0 && epsilon > 3.99), "{pure:?}");
            let rows = bench.read("out.csv").lines().count();
            // The number of records has Laplace noise of a scale of some 10, at most.
            let off = if relation == "replace-one" { 0 } else { 100 };
            assert!(rows.abs_diff(401) <= off, "{relation} {noise}: {rows}");
            assert!(bench.read("r.html").contains("group attributes"));
        }
    }
}

#[test]
fn only_the_first_records_of_a_household_count_and_the_ledger_says_so() {
    let bench = Bench::new();
    let mut text = String::new();
    for (i, line) in bench.read("private.csv").lines().enumerate() {
        let home = if i == 0 { "home".into() } else { format!("h{}", i / 4) };
        writeln!(text, "{home},{line}").unwrap();
    }
    bench.write("private.csv", &text);
    let unit = "--neighbors add-remove-one --unit home --max-records 2 --delta 1e-6 --seed 1";
    for mechanism in ["mst", "jam-pgm --rounds 3", "pmw-pub --rounds 3", "ide --groups d", "hdmm"] {
        let output = bench.run(&format!("{SYNTH} --mechanism {mechanism} {unit}"));
        let log = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{mechanism}: {log}");
        let ledger = ledger(&bench);
        assert_eq!(
            (&ledger["unit"]["column"], &ledger["unit"]["max_records"]),
            (&"home".into(), &2.into())
        );
        assert_eq!(ledger["neighbors"]["add-remove-unit"], 2);
        assert_eq!(ledger["ledger"]["records_per_unit"], 2);
        for entry in ledger["ledger"]["entries"].as_array().unwrap() {
            if entry["mechanism"]["kind"] == "discrete-gaussian" {
                assert_eq!(entry["mechanism"]["squared-l2-sensitivity"], 4, "{entry}");
            }
        }
        // About half of 400 records are left, and nobody is told how many.
        let rows = bench.read("out.csv").lines().count();
        assert!((120..280).contains(&rows), "{mechanism}: {rows}");
        assert!(!log.contains("dropped") && !log.contains("household"), "{log}");
    }
    // What it has spent counts for the same unit only.
    bench.succeed(&format!("{SYNTH} --mechanism ide --groups d {unit}"));
    let command = SYNTH.replace("--ledger ledger.json", "--ledger-from ledger.json");
    let other = unit.replace("--max-records 2", "--max-records 3");
    bench.fail(&format!("{command} --mechanism mst {other}"), 3, "unit of 2 records");
}

#[test]
fn flags_that_contradict_one_another_are_refused() {
    let bench = Bench::new();
    let ide = "--mechanism ide --groups d";
    for (flags, code, part) in [
        ("--mechanism mst --delta 1e-6 --groups d", 2, "--groups is of no use"),
        ("--mechanism mst --delta 1e-6 --noise laplace", 2, "--noise is of no use"),
        ("--mechanism mst", 2, "--epsilon and --delta together"),
        (ide, 2, "--epsilon and --delta together"),
        (&format!("{ide} --delta 1e-6 --level-shares half"), 2, "numbers separated by commas"),
        (&format!("{ide} --delta 1e-6 --level-shares 1,2"), 4, "for each level"),
        ("--mechanism mst --delta 1e-6 --level-shares equal", 2, "--level-shares is of no use"),
        (&format!("{ide} --delta 1e-6 --rounds 3"), 2, "--rounds is of no use"),
        ("--mechanism ide --delta 1e-6 --groups e", 3, "'e'"),
        (&format!("{ide} --delta 1e-6 --unit d --max-records 2"), 2, "--neighbors add-remove-one"),
        (
            &format!("{ide} --delta 1e-6 --neighbors add-remove-one --unit d --max-records 2"),
            3,
            "an attribute of the schema",
        ),
        (
            &format!("{ide} --delta 1e-6 --neighbors add-remove-one --unit z --max-records 2"),
            3,
            "'z'",
        ),
        (
            &format!("{ide} --delta 1e-6 --neighbors add-remove-one --unit z --max-records 99"),
            4,
            "records of a unit",
        ),
    ] {
        bench.fail(&format!("{SYNTH} {flags}"), code, part);
    }
    let alone = SYNTH.replace("--public near=public.csv ", "");
    bench.fail(&format!("{alone} {ide} --delta 1e-6"), 2, "needs a --public table");
}
