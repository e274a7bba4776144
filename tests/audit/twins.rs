//! Twins: on neighboring tables, the command line has the same exit code, the same files, and the same form of output.
//! Numbers and names of marginals are noise or paid for; everything else must not depend on a record.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::process::Command;

use jointly::mechanism::CATALOGUE;
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::RANGES;
use crate::quick::quick_flags;

const SCHEMA: &str = r#"{"a": 2, "b": 3}"#;
const PUBLIC: &str = "a,b\n0,0\n0,1\n1,2\n1,1\n0,2\n1,0\n0,0\n";

/// What an observer sees of a run, without numbers and names.
#[derive(Debug, PartialEq, Eq)]
struct Form {
    code: Option<i32>,
    stdout: BTreeSet<String>,
    stderr: BTreeSet<String>,
    files: BTreeSet<String>,
    ledger: BTreeSet<String>,
}

/// A line's beginning, without digits. What follows a colon is noise, or names a marginal that was paid for.
fn shape(line: &str) -> String {
    let head = line.split(':').next().unwrap_or("");
    let words = head.split_whitespace().take(3);
    let words =
        words.map(|word| word.replace(|c: char| c.is_ascii_digit() || ".-".contains(c), ""));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

fn shapes(bytes: &[u8]) -> BTreeSet<String> {
    String::from_utf8_lossy(bytes).lines().map(shape).collect()
}

/// The members of a ledger, and the kinds of its entries.
fn members(ledger: &Value) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = ledger.as_object().unwrap().keys().cloned().collect();
    // Whether JAM-PGM measures a marginal or takes it from a public table is a choice that it has paid for.
    let is_paid =
        |entry: &&Value| ledger["mechanism"] == "jam-pgm" && entry["purpose"] == "marginal";
    for entry in ledger["ledger"]["entries"].as_array().unwrap().iter().filter(|e| !is_paid(e)) {
        found.insert(format!("{} {}", entry["mechanism"]["kind"], entry["purpose"]));
    }
    found
}

fn run(private: &str, command: &str) -> Form {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("schema.json", SCHEMA);
    write("ranges.json", RANGES);
    write("public.csv", PUBLIC);
    write("private.csv", private);
    let output = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(folder.path())
        .args(command.split_whitespace())
        .output()
        .unwrap();
    let names = fs::read_dir(folder.path()).unwrap();
    let files = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    let ledger = fs::read_to_string(folder.path().join("ledger.json")).unwrap_or("null".into());
    let ledger: Value = serde_json::from_str(&ledger).unwrap();
    Form {
        code: output.status.code(),
        stdout: shapes(&output.stdout),
        stderr: shapes(&output.stderr),
        files,
        ledger: if ledger.is_null() { BTreeSet::new() } else { members(&ledger) },
    }
}

/// Every command that spends, for a relation.
fn commands(relation: &str) -> Vec<String> {
    let all =
        format!("--private private.csv --schema schema.json --epsilon 1 --delta 1e-6 {relation}");
    let mut commands = Vec::new();
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let own = entry.defaults().unwrap();
        let mut command = format!(
            "synth {all} --public near=public.csv --mechanism {} --out out.csv --rows 20 \
             --model model.json --ledger ledger.json --report report.html",
            entry.name
        );
        if entry.uses_workload {
            command.push_str(" --workload all-2-way");
        }
        if entry.name == "ide" {
            command.push_str(" --groups a");
        }
        if own.contains_key("rounds") {
            command.push_str(if ["aim", "anchor-pgm"].contains(&entry.name) {
                " --rounds 4"
            } else {
                " --rounds 2"
            });
        }
        command.push_str(&quick_flags(entry));
        commands.push(command);
    }
    let ranges = all.replace("schema.json", "ranges.json");
    commands.push(format!("bins {ranges} --out bins.json --ledger ledger.json"));
    if !relation.contains("--unit") {
        let more = "--public public.csv --workload all-2-way --ledger ledger.json";
        commands
            .push(format!("answer {all} --workload all-2-way --out out.csv --ledger ledger.json"));
        commands.push(format!("trust {all} {more}"));
        commands.push(format!("mixture-error {all} {more}"));
        let pure = all.replace(" --delta 1e-6", "");
        commands.push(format!("mixture-error {pure} {more}"));
    }
    commands
}

fn check(relation: &str, twins: [&str; 2]) {
    for command in commands(relation) {
        let [one, other] = twins.map(|private| run(private, &command));
        assert_eq!(one.code, Some(0), "{command}: {one:?}");
        assert_eq!(one, other, "{command}");
    }
}

const NONE: &str = "a,b\n";
const UNITS: &str = "h,a,b\n";

#[test]
fn no_record_and_one_record_look_alike() {
    check("--neighbors add-remove-one", [NONE, "a,b\n1,2\n"]);
}

#[test]
fn no_unit_and_one_unit_look_alike() {
    let relation = "--neighbors add-remove-one --unit h --max-records 3";
    let one = format!("{UNITS}x,1,2\nx,1,2\nx,0,2\nx,1,0\n");
    check(relation, [UNITS, &one]);
}

#[test]
fn a_unit_more_looks_alike() {
    let relation = "--neighbors add-remove-one --unit h --max-records 2";
    let mut some = String::new();
    (0..60).for_each(|i| writeln!(some, "h{},{},{}", i / 3, i % 2, i % 3).unwrap());
    let (some, more) =
        (format!("{UNITS}{some}"), format!("{UNITS}{some}new,1,1\nnew,1,1\nnew,0,0\n"));
    check(relation, [&some, &more]);
}

#[test]
fn a_record_at_the_edge_of_the_domain_looks_alike() {
    let same = "0,0\n".repeat(40);
    check(
        "--neighbors replace-one",
        [&format!("{NONE}{same}0,0\n"), &format!("{NONE}{same}1,2\n")],
    );
}
