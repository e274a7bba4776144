//! Every file and message of a run, field by field, against `docs/theory/released.md`, which says of each what paid for it.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Output;

use serde_json::Value;

use crate::twins::{self, ENGINE, INPUTS};

/// Fields, each with a command that wrote it.
type Fields = BTreeMap<String, String>;

/// Adds the paths of all values in some JSON: `ledger.entries[].rho`. Names in it have no blanks here.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let dot = if path.is_empty() { "" } else { "." };
                paths(member, &format!("{path}{dot}{}", name.replace(' ', "-")), found);
            }
        }
        Value::Array(members) if !members.is_empty() => {
            members.iter().for_each(|member| paths(member, &format!("{path}[]"), found));
        }
        _ => _ = found.insert(path.to_owned()),
    }
}

/// What the fields of a file are called in the list. The synthetic table has columns, which are stated; all other tables are
/// answers, whose columns are listed.
fn fields_of(name: &str, bytes: &[u8]) -> BTreeSet<String> {
    let json = serde_json::from_slice::<Value>(bytes).ok();
    let mut found = BTreeSet::new();
    if let Some(value) = json {
        paths(&value, "", &mut found);
    } else if name == "answers.csv" {
        let text = String::from_utf8_lossy(bytes);
        found.extend(text.lines().next().unwrap().split(',').map(str::to_owned));
    } else {
        found.insert(String::new());
    }
    found
}

/// Adds what a command has left in its folder and what it has shown.
fn add(command: &str, folder: &Path, output: &Output, fields: &mut Fields) {
    let mut see = |place: &str, found: BTreeSet<String>| {
        for path in found {
            let field = format!("{place} {path}").trim().to_owned();
            fields.entry(field).or_insert_with(|| command.to_owned());
        }
    };
    for line in String::from_utf8_lossy(&output.stderr).lines() {
        let message: Value = serde_json::from_str(line).unwrap();
        let mut found = BTreeSet::new();
        paths(&message, "", &mut found);
        see(&format!("message {}", message["event"].as_str().unwrap()), found);
    }
    let program = command.split(' ').next().unwrap();
    if !output.stdout.is_empty() {
        see(program, fields_of("", &output.stdout));
    }
    for place in [folder.to_owned(), folder.join("state")] {
        for entry in fs::read_dir(place).into_iter().flatten() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            // Exact counts are as private as the records, and no release (parts).
            let is_input = INPUTS.iter().any(|(input, _)| *input == name)
                || [ENGINE, "own.counts", "own-rows.csv", "own-homes.csv"].contains(&&*name)
                || name.starts_with("private.")
                || name.starts_with("earlier.");
            if path.is_file() && !is_input {
                let name =
                    if program == "answer" { name.replace("out.csv", "answers.csv") } else { name };
                // The list of outputs has their paths as names.
                let text = fs::read(&path).unwrap();
                let found = fields_of(&name, &text).into_iter();
                let folder = format!("{}/", folder.display());
                see(&name, found.map(|field| field.replace(&folder, "")).collect());
            }
        }
    }
}

/// Everything that all commands leave, under three relations, with every option, and after an error. The seeds are fixed, so
/// that no field is seen by chance.
fn written() -> Fields {
    const UNITS: &str = "h,a,b\nx,1,2\nx,1,1\ny,0,0\ny,0,0\nz,1,1\n";
    const RECORDS: &str = "a,b\n1,2\n0,0\n1,1\n0,1\n1,0\n";
    let relations = [
        ("--neighbors replace-one", RECORDS),
        ("--neighbors add-remove-one", RECORDS),
        ("--neighbors add-remove-one --unit h --max-records 3", UNITS),
    ];
    let mut fields = Fields::new();
    for (relation, rows) in relations {
        for command in twins::commands(relation) {
            // What each mechanism writes is the same under all relations.
            if relation != relations[0].0 && command.contains("--rows 20") {
                continue;
            }
            let in_json: Vec<String> = command
                .split(" && ")
                .map(|command| {
                    let program = command.split(' ').next().unwrap();
                    let of_json =
                        if ["trust", "mixture-error"].contains(&program) { " --json" } else { "" };
                    let is_seeded = command.contains("--seed") || program == "count";
                    let seed = if is_seeded { "" } else { " --seed 1" };
                    format!("{command}{of_json}{seed} --log-format json")
                })
                .collect();
            let last = command.split(" && ").last().unwrap().to_owned();
            let seen = |folder: &Path, output: &Output| {
                assert!(output.status.success(), "{command}: {output:?}");
                add(&last, folder, output, &mut fields);
            };
            twins::ran(rows, &in_json.join(" && "), seen);
        }
    }
    // So little noise that the record that should not be is seen.
    let loud = "synth --private private.csv --schema doubted.json --epsilon 500 --delta 1e-6 --mechanism aim --rounds 4 \
                --workload all-2-way --seed 1 --out out.csv --ledger ledger.json --log-format json";
    twins::ran(RECORDS, loud, |folder, output| {
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && said.contains("\"event\":\"unlikely\""), "{said}");
        add(loud, folder, output, &mut fields);
    });
    let wrong = "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --out out.csv --log-format json";
    twins::ran("a,b\n1,7\n", wrong, |folder, output| add(wrong, folder, output, &mut fields));
    fields
}

/// A field of the list: all below it if it ends in `*`, and any name where it has `*` as a word.
fn is_of(field: &str, pattern: &str) -> bool {
    let (mut field, mut pattern) = (field.split(' ').peekable(), pattern.split(' '));
    loop {
        match (field.next(), pattern.next()) {
            (None, None) => return true,
            (Some(own), Some(of)) => match of.strip_suffix('*') {
                Some("") => {}
                Some(stem) if own.starts_with(stem) => {}
                _ if own == of => {}
                _ => return false,
            },
            _ => return false,
        }
    }
}

/// The fields of the list, each with the heading that it stands under.
fn listed() -> Vec<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/theory/released.md");
    let text = fs::read_to_string(path).unwrap();
    let mut found = Vec::new();
    for section in text.split("\n## ").skip(1) {
        let file = match section.lines().next().unwrap() {
            "The ledger file" => "ledger.json ",
            "The model" => "model.json ",
            "The report" => "report.json ",
            "The checkpoint" => "checkpoint.json ",
            _ => "",
        };
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
        for row in rows {
            let (fields, origin) = row.split_once(" | ").unwrap();
            assert!(origin.len() > 3, "{fields}: no origin");
            for field in fields.split(", ") {
                let field = field.trim_matches('`');
                let is_file = ["report.html", "lock", "outputs.json *"].contains(&field);
                found.push(if is_file { field.to_owned() } else { format!("{file}{field}") });
            }
        }
    }
    found
}

#[test]
fn the_list_of_what_leaves_a_run_is_what_leaves_it() {
    let (written, listed) = (written(), listed());
    assert!(written.len() > 250, "only {} fields", written.len());
    let unlisted: Vec<_> = written
        .iter()
        .filter(|(field, _)| !listed.iter().any(|pattern| is_of(field, pattern)))
        .map(|(field, command)| format!("{field} <- {command}"))
        .collect();
    assert!(unlisted.is_empty(), "what paid for these?\n{}", unlisted.join("\n"));
    let unseen: Vec<&String> = listed
        .iter()
        .filter(|pattern| !written.keys().any(|field| is_of(field, pattern)))
        .collect();
    assert!(unseen.is_empty(), "listed, and written by no command: {unseen:#?}");
}

#[test]
fn patterns_match_what_they_say() {
    assert!(is_of("ledger.json rounds[].fit.loss", "ledger.json rounds[].fit.*"));
    assert!(!is_of("ledger.json rounds[].fit", "ledger.json rounds[].fit.*"));
    assert!(is_of("message started event", "message * event"));
    assert!(!is_of("message started rounds", "message * event"));
    assert!(!is_of("message started", "message * event"));
}
