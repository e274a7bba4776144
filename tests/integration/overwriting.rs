//! Output files that exist already: no command replaces or removes one unasked.

use std::fs;
use std::process::Child;

use serde_json::Value;

use crate::cli::{Bench, stderr};
use crate::compare::PROTOCOL;

const SYNTH: &str = "synth --private private.csv --schema schema.json --workload all-2-way --mechanism independent \
                     --epsilon 2 --delta 1e-6 --seed 1";
const SPEND: &str = "--private private.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 1";
/// A column of numbers without bins.
const RANGES: &str =
    r#"{"columns": [{"name": "d", "kind": "numeric", "edges": [0, 1000000], "integer": true}]}"#;
/// What a user has in the place of an output.
const PRECIOUS: &str = "somebody's work\n";

/// A command without an output, and the flag and the file that it will write.
fn commands() -> Vec<(String, &'static str, &'static str)> {
    let bins = format!("bins {SPEND}").replace("schema.json", "ranges.json");
    let thresholds = "thresholds --private private.csv --columns d --grid 0,3,4 --epsilon 2 --delta 1e-6 --seed 1";
    let thresholds = thresholds.to_owned();
    let synth = |rest: &str| format!("{SYNTH} --out t.csv {rest}");
    let all = vec![
        (SYNTH.to_owned(), "--out", "t.csv"),
        (synth(""), "", "t.csv.ledger.json"),
        (synth(""), "", "t.csv.config.toml"),
        (synth(""), "--save-config", "flags.toml"),
        (synth(""), "--model", "model.json"),
        (synth(""), "--ledger", "ledger.json"),
        (synth(""), "--report", "report.html"),
        (synth("--report report.html"), "", "report.json"),
        (synth("--tables 2"), "", "t.replicate-1.csv"),
        (synth("--tables 2"), "", "t.replicate-2.csv"),
        (format!("answer {SPEND} --workload all-1-way"), "--out", "answers.csv"),
        (format!("answer {SPEND} --workload all-1-way --out answers.csv"), "--ledger", "l.json"),
        (format!("trust {SPEND} --public public.csv"), "--ledger", "l.json"),
        (
            format!("mixture-error {SPEND} --public public.csv --workload all-1-way"),
            "--ledger",
            "l.json",
        ),
        (
            "mixture-error --private private.csv --public public.csv --schema schema.json --workload all-1-way"
                .to_owned(),
            "--mixture",
            "weights.csv",
        ),
        ("schema --public public.csv".to_owned(), "--out", "draft.json"),
        ("schema --schema schema.json --to sdv:sdv.json".to_owned(), "", "sdv.json"),
        (bins.clone(), "--out", "bins.json"),
        (format!("{bins} --out bins.json"), "--ledger", "l.json"),
        (thresholds.clone(), "--out", "shares.json"),
        (format!("{thresholds} --out shares.json"), "--ledger", "l.json"),
        ("sample --model given.json --rows 5".to_owned(), "--out", "more.csv"),
        (
            "evaluate --private private.csv --synthetic public.csv --schema schema.json".to_owned(),
            "--report",
            "page.html",
        ),
    ];
    all
}

#[test]
fn every_output_of_every_command_is_kept_unless_overwriting_is_asked_for() {
    for (command, flag, file) in commands() {
        let bench = Bench::new();
        bench.succeed(&format!("{SYNTH} --out given.csv --model given.json"));
        bench.write("ranges.json", RANGES);
        let command = if flag.is_empty() { command } else { format!("{command} {flag} {file}") };
        bench.write(file, PRECIOUS);
        let before = bench.files();
        let output = bench.keeping(&command);
        let told = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{command}: {told}");
        assert!(told.contains(file) && told.contains("exists already"), "{command}: {told}");
        assert!(told.contains("--overwrite"), "{command}: {told}");
        assert_eq!(bench.read(file), PRECIOUS, "{command}");
        // Refused before anything was written or spent.
        assert_eq!(bench.files(), before, "{command}");

        bench.succeed(&command);
        assert_ne!(bench.read(file), PRECIOUS, "{command}");
    }
}

#[test]
fn nothing_is_removed_that_has_the_name_of_a_replicate() {
    let bench = Bench::new();
    bench.write("t.replicate-1.csv", &bench.read("private.csv"));
    let private = bench.read("private.csv");
    let own = SYNTH.replace("private.csv", "t.replicate-1.csv");
    for flags in ["", " --overwrite"] {
        let output = bench.keeping(&format!("{own} --out t.csv{flags}"));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        let told = stderr(&output);
        assert!(told.contains("t.replicate-1.csv lies beside it"), "{told}");
        assert_eq!(bench.read("t.replicate-1.csv"), private);
        assert!(!bench.path("t.csv").exists() && !bench.path("t.csv.ledger.json").exists());
        // As a replicate that is to be written, it is an input all the same.
        let output = bench.keeping(&format!("{own} --out t.csv --tables 2{flags}"));
        assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
        assert!(stderr(&output).contains("is the file of --private"), "{}", stderr(&output));
        assert_eq!(bench.read("t.replicate-1.csv"), private);
    }
    // A gap in the numbers, and a folder, before anything is spent.
    let bench = Bench::new();
    fs::create_dir(bench.path("t.replicate-7.csv")).unwrap();
    bench.fail(&format!("{SYNTH} --out t.csv --tables 2"), 2, "t.replicate-7.csv lies beside it");
    assert!(!bench.path("t.csv.ledger.json").exists() && bench.path("t.replicate-7.csv").is_dir());
    // Fewer replicates than before leave no old one beside the new table.
    let bench = Bench::new();
    bench.succeed(&format!("{SYNTH} --out t.csv --tables 3"));
    bench.fail(&format!("{SYNTH} --out t.csv --tables 2"), 2, "t.replicate-3.csv lies beside it");
    bench.succeed(&format!("{SYNTH} --out t.csv --tables 3"));
}

#[test]
fn outputs_that_collide_are_refused_before_the_run() {
    let bench = Bench::new();
    let before = bench.files();
    let spend = format!("{SPEND} --workload all-1-way");
    for command in [
        format!("{SYNTH} --out t.csv --model t.csv"),
        format!("{SYNTH} --out t.csv --ledger t.csv"),
        format!("{SYNTH} --out t.csv --model t.csv.ledger.json"),
        format!("{SYNTH} --out t.csv --model t.csv.config.toml"),
        format!("{SYNTH} --out t.csv --report r.html --model r.json"),
        format!("{SYNTH} --out t.csv --tables 2 --model t.replicate-2.csv"),
        format!("{SYNTH} --out t.csv --save-config t.csv"),
        format!("{SYNTH} --out t.csv --save-config t.csv.ledger.json"),
        format!("answer {spend} --out a.csv --ledger a.csv"),
        format!("answer {spend} --out a.csv --ledger a.csv.config.toml"),
        format!("{SYNTH} --out t.csv --report private.csv"),
    ] {
        let output = bench.run(&command);
        assert_eq!(output.status.code(), Some(2), "{command}: {}", stderr(&output));
        assert!(stderr(&output).contains("is the file of"), "{command}: {}", stderr(&output));
        assert_eq!(bench.files(), before, "{command}");
    }
}

#[test]
fn a_demo_keeps_what_its_folder_holds() {
    let bench = Bench::new();
    bench.write("private.csv", PRECIOUS);
    let before = bench.files();
    let output = bench.keeping("demo --dir .");
    assert_eq!(output.status.code(), Some(2), "{}", stderr(&output));
    assert!(stderr(&output).contains("private.csv exists already"), "{}", stderr(&output));
    assert_eq!((bench.read("private.csv").as_str(), bench.files()), (PRECIOUS, before));
}

#[test]
fn a_comparison_continues_its_own_results_and_no_other_file() {
    let bench = Bench::new();
    bench.write("p.toml", PROTOCOL);
    for text in ["somebody's,table\n1,2", "no line end", "data,other\n"] {
        fs::create_dir_all(bench.path("out")).unwrap();
        fs::write(bench.path("out/results.csv"), text).unwrap();
        let output = bench.keeping("compare p.toml --out out");
        assert!(!output.status.success());
        assert_eq!(fs::read_to_string(bench.path("out/results.csv")).unwrap(), text);
    }
    // A run that was killed while it wrote the header has left its beginning.
    fs::write(bench.path("out/results.csv"), "data,mech").unwrap();
    let only = "compare p.toml --out out --mechanism independent --epsilon 5 --seed 1";
    assert!(bench.keeping(only).status.success());
    assert!(bench.keeping(only).status.success());
    fs::remove_file(bench.path("out/results.csv")).unwrap();
    fs::write(bench.path("out/comparison.html"), PRECIOUS).unwrap();
    let output = bench.keeping("compare p.toml --out out");
    assert!(!output.status.success());
    assert_eq!(fs::read_to_string(bench.path("out/comparison.html")).unwrap(), PRECIOUS);
}

#[test]
fn two_runs_at_once_do_not_share_a_ledger() {
    let bench = Bench::new();
    // Large enough that the runs overlap; each would have replaced the other's account of what was spent.
    let run = |out: &str| {
        let command = format!(
            "synth --private private.csv --schema schema.json --workload all-2-way --mechanism mwem-pgm --rounds 60 \
             --epsilon 2 --delta 1e-6 --ledger ledger.json --out {out}"
        );
        let words = command.split_whitespace();
        std::process::Command::new(env!("CARGO_BIN_EXE_jointly"))
            .current_dir(bench.path(""))
            .args(words)
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap()
    };
    let runs = [run("one.csv"), run("two.csv"), run("three.csv")];
    let ended = runs.map(Child::wait_with_output).map(Result::unwrap);
    let succeeded: Vec<_> = ended.iter().filter(|run| run.status.success()).collect();
    assert_eq!(succeeded.len(), 1, "{:?}", ended.each_ref().map(stderr));
    for refused in ended.iter().filter(|run| !run.status.success()) {
        let told = stderr(refused);
        let is_known = told.contains("is locked by another run") || told.contains("exists already");
        assert!(is_known && told.contains("ledger.json"), "{told}");
    }
    let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
    assert_eq!(ledger["unfinished"], Value::Null);
    assert!(!bench.files().iter().any(|name| name.contains(".lock")), "{:?}", bench.files());
}

#[test]
fn a_resumed_run_replaces_its_own_files_and_no_others() {
    let bench = Bench::new();
    let command = format!(
        "{} --checkpoint state --report r.html --model m.json --out t.csv --tables 2",
        SYNTH.replace("independent", "mst")
    );
    let first = bench.keeping(&command);
    assert!(first.status.success(), "{}", stderr(&first));
    let made = bench.read("t.csv");
    // The same command again is the same run, which has written these files.
    let again = bench.keeping(&command);
    assert!(again.status.success(), "{}", stderr(&again));
    assert_eq!(bench.read("t.csv"), made);
    // Another run in the same folder is refused, and makes these files no less known.
    let other = bench.keeping(&command.replace("--epsilon 2", "--epsilon 1"));
    assert_eq!(other.status.code(), Some(5), "{}", stderr(&other));
    assert!(stderr(&other).contains("these differ: budget"), "{}", stderr(&other));
    // A file that was edited since is somebody's work.
    bench.write("t.csv", PRECIOUS);
    let edited = bench.keeping(&command);
    assert_eq!(edited.status.code(), Some(2), "{}", stderr(&edited));
    assert!(stderr(&edited).contains("t.csv exists already"), "{}", stderr(&edited));
    assert_eq!(bench.read("t.csv"), PRECIOUS);
    // Killed between two files: what it had begun to write is its own.
    fs::remove_file(bench.path("t.csv")).unwrap();
    fs::remove_file(bench.path("r.html")).unwrap();
    let rest = bench.keeping(&command);
    assert!(rest.status.success(), "{}", stderr(&rest));
    assert_eq!(bench.read("t.csv"), made);
    // Another place is anybody's.
    bench.write("other.csv", PRECIOUS);
    let other = bench.keeping(&command.replace("t.csv", "other.csv"));
    assert_eq!(other.status.code(), Some(2), "{}", stderr(&other));
    assert_eq!(bench.read("other.csv"), PRECIOUS);
}
