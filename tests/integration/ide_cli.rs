//! IDE and units of privacy from the command line.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use serde_json::Value;

use crate::cli::{Bench, stderr};

const SYNTH: &str = "synth --private private.csv --public near=public.csv --schema schema.json \
     --epsilon 4 --out out.csv --ledger ledger.json";

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
            // The errors are measured after the run, with noise of the budget's form.
            let (errors, run) = entries.split_last().unwrap();
            assert_eq!(errors["purpose"], "errors of the released table");
            assert!(!run.is_empty() && run.iter().all(|e| e["mechanism"]["kind"] == kind));
            let pure = ledger["pure_epsilon"].as_f64();
            assert_eq!(pure.is_some(), !noise.contains("delta"), "{noise}");
            assert!(pure.is_none_or(|epsilon| epsilon <= 4.0 && epsilon > 3.99), "{pure:?}");
            let rows = bench.read("out.csv").lines().count();
            // The number of records has Laplace noise of a scale of some 10, at most.
            let off = if relation == "replace-one" { 0 } else { 100 };
            assert!(rows.abs_diff(401) <= off, "{relation} {noise}: {rows}");
            assert!(bench.read("r.html").contains("c, d"));
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
        // About half of 400 records are left; the number stays private.
        let rows = bench.read("out.csv").lines().count();
        assert!((120..280).contains(&rows), "{mechanism}: {rows}");
        assert!(!log.contains("dropped") && !log.contains("household"), "{log}");
    }
    // What it has spent counts for the same unit only.
    bench.succeed(&format!("{SYNTH} --mechanism ide --groups d {unit}"));
    let command = SYNTH.replace("--ledger ledger.json", "--ledger-from ledger.json");
    let other = unit.replace("--unit home", "--unit flat");
    bench.write("private.csv", &text.replacen("home", "flat", 1));
    bench.fail(&format!("{command} --mechanism mst {other}"), 3, "units by home");
}

#[test]
fn a_model_with_groups_is_kept_and_gives_more_records() {
    let bench = Bench::new();
    let flags = "--mechanism ide --groups c,d --delta 1e-6 --seed 3 --model m.json";
    bench.succeed(&format!("{SYNTH} {flags} --level-shares 1,3 --report r.html"));
    assert!(bench.read("r.html").contains("1,3"));
    let model: Value = serde_json::from_str(&bench.read("m.json")).unwrap();
    assert_eq!((&model["version"], &model["private"]), (&7.into(), &false.into()));
    assert_eq!(model["groups"]["attributes"], serde_json::json!(["c", "d"]));
    assert_eq!(model["groups"]["groups"].as_array().unwrap().len(), 8);
    bench.succeed("sample --model m.json --rows 4000 --out more.csv --seed 1");
    // Ten times the records, ten times each group.
    let count =
        |file: &str, end: &str| bench.read(file).lines().filter(|l| l.ends_with(end)).count();
    for group in ["0,0", "0,1", "0,2", "0,3", "1,0", "1,1", "1,2", "1,3"] {
        let group = format!(",{group}");
        let (few, many) = (count("out.csv", &group), count("more.csv", &group));
        assert!(many.abs_diff(10 * few) <= 11, "{group}: {few}, {many}");
    }
}

#[test]
fn a_finished_run_with_a_checkpoint_is_not_paid_again() {
    let bench = Bench::new();
    let flags = "--mechanism ide --groups c,d --delta 1e-6 --neighbors add-remove-one";
    for noise in ["gaussian", "laplace"] {
        let command = format!("{SYNTH} {flags} --noise {noise} --checkpoint state-{noise}");
        bench.succeed(&command);
        let first = ledger(&bench);
        bench.succeed(&command);
        assert_eq!(ledger(&bench), first);
        bench.fail(&format!("{command} --level-shares equal"), 5, "other inputs");
    }
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
        (&format!("{ide} --delta 1e-6 --level-shares 1,2"), 2, "for each level"),
        ("--mechanism mst --delta 1e-6 --level-shares equal", 2, "--level-shares is of no use"),
        (&format!("{ide} --delta 1e-6 --rounds 3"), 2, "--rounds is of no use"),
        (&format!("{ide} --delta 1e-6 --workload all-1-way"), 2, "--workload is of no use"),
        (&format!("{ide} --delta 1e-6 --max-cells 9"), 2, "--max-cells is of no use"),
        ("--mechanism ide --delta 1e-6 --groups e", 3, "'e'"),
        (
            &format!("{ide} --delta 1e-6 --unit d --max-records 2"),
            2,
            "--unit needs --neighbors add-remove-one",
        ),
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
            2,
            "--max-records is 99",
        ),
    ] {
        bench.fail(&format!("{SYNTH} {flags}"), code, part);
    }
    let alone = SYNTH.replace("--public near=public.csv ", "");
    bench.fail(&format!("{alone} {ide} --delta 1e-6"), 2, "needs a --public table");
}
