//! Runs whose rare values are merged first: every mechanism, interrupted runs, ledgers.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use jointly::Job;
use jointly::data::{Projectable, read_csv, write_text};
use jointly::domain::{Clique, Kind, Schema};
use jointly::mechanism::CATALOGUE;
use jointly::observe::{Event, Notice, Observer, Silent};
use jointly::privacy::LedgerFile;
use serde_json::{Value, json};

use crate::cli::{Bench, stderr};
use crate::quick::quick;

/// Forty jobs, of which three are frequent; hours in bins, most of them at 40.
pub(crate) fn people(shift: u32) -> String {
    let mut text = String::from("job,sex,hours\n");
    for i in 0..2_000_u32 {
        let job = if i % 10 < 9 { i % 3 } else { 3 + (i / 10 + shift) % 37 };
        let hours = if i % 4 < 3 { 40 } else { i * 7 % 60 };
        writeln!(text, "j{job:02},{},{hours}", i / 2 % 2).unwrap();
    }
    text
}

pub(crate) fn schema() -> String {
    let codes: Vec<String> = (0..40).map(|job| format!("j{job:02}")).collect();
    let edges: Vec<u32> = (0..=60).collect();
    json!({ "columns": [
        { "name": "job", "kind": "categorical", "codes": codes },
        { "name": "sex", "kind": "categorical", "codes": ["0", "1"] },
        { "name": "hours", "kind": "numeric", "edges": edges, "integer": true },
    ]})
    .to_string()
}

fn job(folder: &Path) -> Job {
    write_text(&folder.join("private.csv"), &people(0)).unwrap();
    write_text(&folder.join("public.csv"), &people(5)).unwrap();
    write_text(&folder.join("schema.json"), &schema()).unwrap();
    let mut job = Job::new(folder.join("private.csv"), folder.join("schema.json"), 1.0, 1e-9);
    job.compress = Some(0.2);
    job.out = Some(folder.join("out.csv"));
    job.ledger = Some(folder.join("ledger.json"));
    job
}

#[test]
fn every_mechanism_runs_on_merged_values_and_writes_all_of_them() {
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let folder = tempfile::tempdir().unwrap();
        let mut job = job(folder.path());
        job.mechanism = entry.name.into();
        job.parameters = quick(entry);
        job.seed = Some(1);
        job.public.push(folder.path().join("public.csv").display().to_string().parse().unwrap());
        job.workload = "all-2-way".into();
        if !entry.uses_workload {
            job.workload = Job::default().workload;
        }
        let done = job.run(&mut Silent).unwrap_or_else(|e| unreachable!("{}: {e}", entry.name));
        let values = done.tables.schema.domain().cardinality(0);
        assert!((4..20).contains(&values), "{}: {values}", entry.name);
        // The file has the values of the schema as it was, the rare ones among them.
        let schema = Schema::read(&folder.path().join("schema.json")).unwrap();
        let written = read_csv(&folder.path().join("out.csv"), &schema).unwrap();
        let counts = written.project(&Clique::new([0])).unwrap();
        let rare: Vec<u32> = counts[3..].to_vec();
        let total: u32 = rare.iter().sum();
        assert!(total > 20, "{}: {total}", entry.name);
        assert!(rare.iter().filter(|count| **count > 0).count() > 15, "{}: {rare:?}", entry.name);
        let ledger = LedgerFile::read(&folder.path().join("ledger.json")).unwrap().ledger;
        assert!(ledger.spent() <= ledger.limit());
        assert_eq!(ledger.entries().iter().filter(|entry| entry.round == 0).count(), 2);
    }
}

/// Stops a run before the mechanism begins, or at its first fit, by unwinding.
struct StopAt {
    merged: bool,
}

impl Observer for StopAt {
    fn event(&mut self, event: &Event) {
        let is_here = match event {
            Event::Notice(Notice::Compressed { .. }) => self.merged,
            Event::Fitted { .. } => true,
            _ => false,
        };
        if is_here {
            resume_unwind(Box::new("stopped"));
        }
    }
}

#[test]
fn a_killed_run_pays_for_the_rare_values_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.mechanism = "aim".into();
    job.checkpoint = Some(folder.path().join("state"));
    for merged in [true, false] {
        let stopped = catch_unwind(AssertUnwindSafe(|| job.run(&mut StopAt { merged }).map(drop)));
        assert!(stopped.is_err());
    }
    let file = folder.path().join("state/checkpoint.json");
    let merging = || {
        let stored: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(stored["steps"][0]["step"], "merging");
        stored["steps"][0]["value"].clone()
    };
    let kept = merging();
    let first = job.run(&mut Silent).unwrap();
    let again = job.run(&mut Silent).unwrap();
    assert_eq!(merging(), kept);
    assert_eq!(first.release.ledger, again.release.ledger);
    assert_eq!(first.tables.schema, again.tables.schema);
    let entries = first.release.ledger.entries();
    let early = entries.iter().filter(|entry| entry.round == 0).filter_map(|e| e.clique.clone());
    assert_eq!(early.collect::<Vec<_>>(), [["job"], ["hours"]]);
    // Marginals of another share or of other noise, rounds of other parameters, and rounds without merging.
    let parameters = json!({ "rounds": 20 }).as_object().unwrap().clone();
    let others = [
        (Job { compress: Some(0.3), ..job.clone() }, "attributes whose values are merged"),
        (Job { seed: Some(7), ..job.clone() }, "noise seed"),
        (Job { parameters, ..job.clone() }, "mechanism"),
        (Job { compress: None, ..job.clone() }, "it has the step 'merging' where"),
    ];
    for (other, part) in others {
        let refused = other.run(&mut Silent).unwrap_err().to_string();
        assert!(refused.contains("checkpoint.json") && refused.contains(part), "{refused}");
    }
    // A file that was changed by hand says nothing.
    let text = std::fs::read_to_string(&file).unwrap();
    write_text(&file, &text.replacen("\"values\":[", "\"values\":[9", 1)).unwrap();
    let refused = job.run(&mut Silent).unwrap_err().to_string();
    assert!(refused.contains("changed or damaged"), "{refused}");
}

#[test]
fn a_resumed_run_leaves_the_fuller_ledger_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.mechanism = "aim".into();
    job.checkpoint = Some(folder.path().join("state"));
    let entries =
        || LedgerFile::read(&folder.path().join("ledger.json")).unwrap().ledger.entries().len();
    let mut found = Vec::new();
    for merged in [false, true] {
        let stopped = catch_unwind(AssertUnwindSafe(|| job.run(&mut StopAt { merged }).map(drop)));
        assert!(stopped.is_err());
        found.push(entries());
    }
    assert!(found[0] > 2 && found[1] >= found[0], "{found:?}");
}

#[test]
fn what_a_mechanism_refuses_it_refuses_before_rare_values_are_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.mechanism = "aim".into();
    job.parameters = json!({ "rounds": 3 }).as_object().unwrap().clone();
    let refused = job.run(&mut Silent).unwrap_err().to_string();
    assert!(refused.contains("more rounds than attributes"), "{refused}");
    job.mechanism = "public-only".into();
    job.parameters = serde_json::Map::new();
    job.public.push(folder.path().join("public.csv").display().to_string().parse().unwrap());
    let refused = job.run(&mut Silent).unwrap_err().to_string();
    assert!(refused.contains("measures private marginals"), "{refused}");
    assert!(!folder.path().join("ledger.json").exists());
}

#[test]
fn the_command_line_merges_asks_and_samples() {
    let bench = Bench::new();
    bench.write("people.csv", &people(0));
    bench.write("schema.json", &schema());
    let output = bench.run(
        "synth --private people.csv --schema schema.json --mechanism mst --epsilon 1 --delta 1e-9 --compress 0.1 \
         --out out.csv --model model.json --report report.html --workload all-2-way",
    );
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(stderr(&output).contains("rare values merged in 2 attributes: 102 values became"));
    let asked = bench.run("ask --model model.json --marginal job");
    let asked = String::from_utf8(asked.stdout).unwrap();
    assert!(asked.contains("rare") && asked.contains("j01"), "{asked}");
    let model = Schema::from_json(
        &serde_json::from_str::<serde_json::Value>(&bench.read("model.json")).unwrap()["schema"]
            .to_string(),
        "model",
    )
    .unwrap();
    let Some(Kind::Categorical { groups, .. }) = &model.column("job").unwrap().kind else {
        unreachable!()
    };
    let member = &groups[0].values[0].text;
    bench.fail(&format!("ask --model model.json --marginal sex --given job={member}"), 3, "'rare'");
    bench.succeed("sample --model model.json --rows 500 --given job=rare --out more.csv");
    let rows = bench.read("more.csv");
    assert!(
        rows.lines().skip(1).all(|row| groups[0].values.iter().any(|v| row.starts_with(&v.text)))
    );
    bench.succeed("evaluate --private people.csv --synthetic out.csv --schema schema.json --workload all-2-way");
    bench.fail(
        "synth --private people.csv --schema schema.json --epsilon 1 --delta 1e-9 --compress 1 --out no.csv",
        2,
        "strictly between 0 and 1",
    );
    // The ledger of one run counts in the next, which has a checkpoint.
    for _ in 0..2 {
        bench.succeed(
            "synth --private people.csv --schema schema.json --mechanism aim --epsilon 2 --delta 1e-9 --compress 0.1 \
             --ledger-from out.csv.ledger.json --checkpoint state --out both.csv --ledger both.json \
             --workload all-2-way",
        );
    }
    let both = LedgerFile::read(&bench.path("both.json")).unwrap().ledger;
    let earlier = LedgerFile::read(&bench.path("out.csv.ledger.json")).unwrap().ledger;
    assert!(both.entries().len() > earlier.entries().len() + 3 && both.spent() <= both.limit());
}
