//! Ctrl-C and termination: what was spent is reported, and is on disk.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write as _};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use jointly::privacy::LedgerFile;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::cli::Bench;

/// A bench with twelve attributes, on which a thousand rounds take much longer than this test.
fn bench() -> Bench {
    let bench = Bench::new();
    let names: Vec<String> = (0..12).map(|a| format!("x{a}")).collect();
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\": 6")).collect();
    bench.write("wide.json", &format!("{{{}}}", members.join(", ")));
    let mut table = names.join(",") + "\n";
    for row in 0..500_u64 {
        let codes: Vec<String> = (0..12).map(|a| ((row * (a + 3) / 7) % 6).to_string()).collect();
        writeln!(table, "{}", codes.join(",")).unwrap();
    }
    bench.write("wide.csv", &table);
    bench
}

const RUN: &str = "synth --private wide.csv --schema wide.json --epsilon 1 --delta 1e-6 --mechanism mwem-pgm \
                   --rounds 1000 --out out.csv";

fn send(run: &Child, signal: &str) {
    let sent = Command::new("kill").args([signal, &run.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

/// Starts a run, sends a signal once a round has been shown, and returns code, messages and the spent part of the ledger.
fn interrupted(bench: &Bench, more: &str, signal: &str) -> (Option<i32>, String, Value) {
    let mut run = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path("."))
        .args(RUN.split_whitespace())
        .args(more.split_whitespace())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut messages = BufReader::new(run.stderr.take().unwrap());
    let mut text = String::new();
    while !text.contains("round 2 of") {
        assert!(messages.read_line(&mut text).unwrap() > 0, "it ended early: {text}");
    }
    send(&run, signal);
    messages.read_to_string(&mut text).unwrap();
    let code = run.wait().unwrap().code();
    let ledger = serde_json::from_str(&bench.read("out.csv.ledger.json")).unwrap();
    (code, text, ledger)
}

#[test]
fn an_interrupted_run_says_what_it_spent_and_where_that_is_written() {
    for signal in ["-INT", "-TERM"] {
        let bench = bench();
        let (code, text, ledger) = interrupted(&bench, "", signal);
        assert_eq!(code, Some(130), "{text}");
        let last = text.lines().last().unwrap();
        assert!(
            last.starts_with("error: interrupted: rho = ") && last.contains(" was spent on what"),
            "{text}"
        );
        assert!(last.ends_with("as out.csv.ledger.json says"), "{last}");
        assert_eq!(ledger["unfinished"], true);
        let told = text.lines().filter(|line| line.starts_with("round ")).count();
        let entries = ledger["ledger"]["entries"].as_array().unwrap();
        let measured = entries.iter().filter(|entry| entry["purpose"] == "marginal").count();
        assert!(measured >= told && told >= 2, "{measured} in the ledger, {told} told");
        assert!(!bench.path("out.csv").exists());
    }
}

#[test]
fn a_run_that_is_killed_at_once_leaves_a_ledger_of_all_that_it_told() {
    let bench = bench();
    let (code, text, ledger) = interrupted(&bench, "", "-KILL");
    assert_eq!(code, None);
    let told = text.lines().filter(|line| line.starts_with("round ")).count();
    let entries = ledger["ledger"]["entries"].as_array().unwrap();
    let measured = entries.iter().filter(|entry| entry["purpose"] == "marginal").count();
    assert!(measured >= told && told >= 2, "{measured} in the ledger, {told} told");
    // A later run counts it.
    bench.succeed(
        "synth --private wide.csv --schema wide.json --epsilon 1 --delta 1e-6 --mechanism independent \
         --ledger-from out.csv.ledger.json --out next.csv",
    );
}

/// Commands that spend all at once, killed at random moments: where there is a result, or only a line of it, there is a ledger
/// that paid for it.
#[test]
fn a_command_killed_at_any_moment_leaves_no_result_without_its_ledger() {
    let bench = bench();
    let spend = "--private wide.csv --epsilon 1 --delta 1e-6 --ledger ledger.json";
    let all = format!("{spend} --schema wide.json");
    bench.write("near.csv", &(bench.read("wide.csv") + "0,0,0,0,0,0,0,0,0,0,0,0\n"));
    let ranges =
        r#"{"columns": [{"name": "x0", "kind": "numeric", "edges": [0, 600], "integer": true}]}"#;
    bench.write("ranges.json", ranges);
    let commands = [
        format!("answer {all} --workload all-2-way --out result"),
        format!("answer {all} --workload all-2-way --out result --counted"),
        format!("trust {all} --public near.csv --workload all-2-way --json"),
        format!("mixture-error {all} --public near.csv --workload all-1-way --json"),
        format!("bins {spend} --schema ranges.json --out result"),
        format!("thresholds {spend} --columns x0,x1 --grid 0,5,6 --out result"),
        format!(
            "thresholds {spend} --columns x0,x1 --class half-planes --public near.csv --rounds 3 --out result"
        ),
        format!("thresholds {spend} --columns x0,x1 --class conjunctions --out result"),
        format!("thresholds {spend} --class list --question x0<=3&x1>2 --out result"),
    ];
    let (mut draw, mut killed) = (ChaCha20Rng::seed_from_u64(11), 0);
    for command in commands {
        let start = || {
            let old = ["result", "result.config.toml", "ledger.json"];
            old.iter().for_each(|name| _ = fs::remove_file(bench.path(name)));
            let mut program = Command::new(env!("CARGO_BIN_EXE_jointly"));
            program.current_dir(bench.path(".")).args(command.split_whitespace());
            program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let started = Instant::now();
        let output = start().wait_with_output().unwrap();
        assert!(output.status.success(), "{command}: {output:?}");
        let whole = started.elapsed();
        for _ in 0..8 {
            let mut child = start();
            // Up to a little after its end, so that the last moments are hit too.
            std::thread::sleep(whole.mul_f64(draw.random_range(0.0..1.1)));
            child.kill().unwrap();
            let output = child.wait_with_output().unwrap();
            killed += usize::from(!output.status.success());
            let shown = !output.stdout.is_empty() || bench.path("result").exists();
            let ledger = LedgerFile::read(&bench.path("ledger.json"));
            let spent = ledger.as_ref().is_ok_and(|file| !file.ledger.spent().is_zero());
            assert!(!shown || spent, "{command}: {output:?}, {ledger:?}");
        }
    }
    assert!(killed > 0, "no kill hit a command");
}

#[test]
fn an_interrupted_run_with_a_checkpoint_says_how_it_resumes() {
    let bench = bench();
    let (code, text, ledger) = interrupted(&bench, "--checkpoint state", "-INT");
    assert_eq!(code, Some(130), "{text}");
    assert!(text.trim_end().ends_with("the same command resumes from state"), "{text}");
    assert_eq!(ledger["unfinished"], true);
}

#[test]
fn a_resumed_run_that_has_shown_nothing_yet_does_not_say_that_nothing_is_spent() {
    let bench = Bench::new();
    let synth = "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism jam-pgm \
                 --rounds 2 --out out.csv --checkpoint state";
    bench.succeed(&format!("{synth} --public public.csv"));
    let mut run = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path("."))
        .args(synth.split_whitespace())
        .args(["--public", "public=/dev/stdin", "--overwrite"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // More than a pipe holds: once all of it is written, the run is reading. It waits for the rest.
    let mut table = run.stdin.take().unwrap();
    table.write_all("a,b,c,d\n".as_bytes()).unwrap();
    table.write_all("0,1,1,3\n".repeat(1 << 18).as_bytes()).unwrap();
    send(&run, "-INT");
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let expected =
        "what was spent so far, if anything, is in state; the same command resumes from state";
    assert!(text.trim_end().ends_with(expected), "{text}");
}

#[test]
fn a_command_without_rounds_that_is_interrupted_after_its_ledger_says_what_it_spent() {
    let bench = Bench::new();
    bench.write("wide.json", r#"{"a": 150, "b": 150}"#);
    bench.write("wide.csv", "a,b\n3,4\n5,6\n");
    let mut run = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path("."))
        .args("answer --private wide.csv --schema wide.json --workload all-2-way".split(' '))
        .args("--epsilon 1 --delta 1e-6 --ledger l.json --out -".split(' '))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // The ledger is written before the answers, of which a pipe holds only a part: the run waits for a reader.
    let mut answers = run.stdout.take().unwrap();
    answers.read_exact(&mut [0]).unwrap();
    send(&run, "-INT");
    let output = run.wait_with_output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    let last = text.lines().last().unwrap();
    let ledger: Value = serde_json::from_str(&bench.read("l.json")).unwrap();
    let spent = ledger["ledger"]["spent"]["rho"].as_f64().unwrap();
    assert!(last.starts_with(&format!("error: interrupted: rho = {spent} of ")), "{last}");
    assert!(last.ends_with(" was spent, as l.json says"), "{last}");
}
