//! `mixture-error`, `trust` and `synth --ledger-from` as scripts see them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::cli::Bench;

const TRUST: &str = "trust --private private.csv --public near=public.csv --schema schema.json \
                     --epsilon 0.5 --delta 1e-9 --ledger trust.json";
const MIXTURE: &str = "mixture-error --real private.csv --support public.csv --schema schema.json \
                       --workload all-2-way";

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_exact_answer_is_marked_and_its_mixture_sums_to_one() {
    let bench = Bench::new();
    let text = bench.succeed(&format!("{MIXTURE} --mixture mixture.csv"));
    assert!(text.starts_with("NOT PRIVATE") && text.contains("proved to be at least"), "{text}");
    let answer = json(&bench.succeed(&format!("{MIXTURE} --json")));
    let number = |name: &str| answer[name].as_f64().unwrap();
    assert!(number("upper") - number("lower") <= 1e-6 && answer["private"] == false);
    let mixture = bench.read("mixture.csv");
    let mut lines = mixture.lines();
    assert_eq!(lines.next(), Some("\"a\",\"b\",\"c\",\"d\",weight"));
    let weights = lines.map(|line| line.rsplit(',').next().unwrap().parse::<f64>().unwrap());
    assert!((weights.sum::<f64>() - 1.0).abs() < 1e-9);
}

#[test]
fn a_private_answer_holds_the_release_alone() {
    let bench = Bench::new();
    for (flags, delta) in [("--epsilon 1", 0.0), ("--epsilon 1 --delta 1e-9", 1e-9)] {
        let command = format!("{MIXTURE} {flags} --json --ledger ledger.json");
        let answer = json(&bench.succeed(&command));
        let mut names: Vec<&String> = answer.as_object().unwrap().keys().collect();
        names.sort();
        let expected = [
            "cells",
            "confidence",
            "delta",
            "epsilon",
            "half_width",
            "private",
            "rho",
            "stddev",
            "value",
        ];
        assert_eq!(names, expected);
        assert!(answer["private"] == true && answer["delta"] == delta);
        let ledger = json(&bench.read("ledger.json"));
        assert_eq!(ledger["ledger"]["entries"].as_array().unwrap().len(), 1);
    }
    let text = bench.succeed(&format!("{MIXTURE} --epsilon 1 --seed 3 --quiet"));
    assert!(text.starts_with("NOT PRIVATE: the noise came from a fixed seed"), "{text}");
    bench.fail(&format!("{MIXTURE} --epsilon -1"), 4, "epsilon is -1");
    // The number of records is measured too, with Laplace noise.
    bench.succeed(&format!("{MIXTURE} --epsilon 1 --neighbors add-remove-one --ledger l.json"));
    let ledger = json(&bench.read("l.json"));
    let entries = ledger["ledger"]["entries"].as_array().unwrap();
    assert_eq!(entries[0]["purpose"], "number of records");
    assert!(entries.len() == 2 && ledger["pure_epsilon"].as_f64().unwrap() <= 1.0);
    bench.fail(&format!("{MIXTURE} --epsilon 1 --mixture m.csv"), 2, "cannot be used with");
}

#[test]
fn a_run_after_trust_stays_within_its_own_budget() {
    let bench = Bench::new();
    let text = bench.succeed(TRUST);
    assert!(text.contains("near") && text.contains("worst pairs"), "{text}");
    let spent = json(&bench.read("trust.json"))["ledger"]["spent"]["units"].as_u64().unwrap();
    let synth = |epsilon: &str, more: &str| {
        format!(
            "synth --private private.csv --public public.csv --schema schema.json --delta 1e-9 \
             --epsilon {epsilon} --ledger-from trust.json --mechanism jam-pgm --rounds 3 --workload all-2-way \
             --out out.csv --ledger run.json {more}"
        )
    };
    bench.succeed(&synth("1", ""));
    let ledger = &json(&bench.read("run.json"))["ledger"];
    let units = |name: &str| ledger[name]["units"].as_u64().unwrap();
    assert!(units("spent") <= units("limit") && units("spent") > spent);
    let first = &ledger["entries"][0];
    assert_eq!(first["purpose"], "best mixture error of near");
    assert_eq!(first["round"], 0);
    bench.fail(&synth("0.4", ""), 4, "nothing is left");
    bench.fail(&synth("1", "--neighbors add-remove-one"), 3, "as in this run");
    bench.succeed(&synth("1", "--checkpoint state"));
    bench.succeed(&format!("{TRUST} --seed 7"));
    bench.fail(&synth("1", ""), 3, "NOT PRIVATE");
    bench.succeed(&synth("1", "--seed 7"));
    bench.write("trust.json", "{}");
    bench.fail(&synth("1", ""), 3, "expected a ledger");
}

#[test]
fn trust_repeats_with_a_seed_and_says_so() {
    let bench = Bench::new();
    let run = |more: &str| bench.succeed(&format!("{TRUST} --json {more}"));
    assert_eq!(run("--seed 7"), run("--seed 7"));
    let report = json(&run(""));
    assert_eq!(report["is_private"], true);
    assert_eq!(report["tables"][0]["marginals"].as_array().unwrap().len(), 4 + 6);
    assert!(bench.succeed(&format!("{TRUST} --seed 7 --quiet")).starts_with("NOT PRIVATE"));
    bench.fail(&TRUST.replace("0.5", "0"), 4, "epsilon is 0");
}
