//! Twins: on neighboring tables, the command line has the same exit code, the same files, and the same form of output.
//! Numbers and names of marginals are noise or paid for; everything else must not depend on a record.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

#[cfg(feature = "parquet")]
use jointly::data::{Labels, read_csv_or_empty, write_csv_file};
#[cfg(feature = "parquet")]
use jointly::domain::Schema;
use jointly::mechanism::CATALOGUE;
use serde_json::Value;
use tempfile::TempDir;

use crate::commands::RANGES;
use crate::quick::quick_flags;

const SCHEMA: &str = r#"{"a": 2, "b": 3}"#;
/// A column with rare values, for merging.
const WIDE: &str = r#"{"a": 2, "b": 20}"#;
/// A column whose categories are found.
const OPEN: &str = r#"{"columns": [
    {"name": "a", "kind": "categorical", "codes": ["other"], "other": "other"},
    {"name": "b", "kind": "categorical", "codes": ["0", "1", "2"]}
]}"#;
/// A column with survey weights.
const WEIGHTED: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2},
    {"name": "b", "role": "weight", "kind": "numeric", "edges": [0, 1, 2, 3]}
]}"#;
/// Records of which one kind is unlikely.
const DOUBTED: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2}, {"name": "b", "kind": "coded", "size": 3}
], "unlikely": [{"values": {"a": [0], "b": [0]}, "expected": 30.5}]}"#;
/// A rule that fits leave to draws.
const FIRM: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 300}, {"name": "b", "kind": "coded", "size": 300}
], "forbidden": [{"a": {"not": [0, 1]}, "b": [0]}]}"#;
/// Rules about the members of a unit.
const TOGETHER: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2}, {"name": "b", "kind": "coded", "size": 3}
], "forbidden_members": [
    {"one": {"b": [1]}, "another": {"b": [1]}}, {"first": {}, "later": {}, "difference": {"b": {"from": 2}}}
]}"#;
/// Units that are named in a table of their own.
const NAMED: &str = r#"{"columns": [
    {"name": "h", "role": "id"}, {"name": "a", "kind": "coded", "size": 2}, {"name": "b", "kind": "coded", "size": 3}
]}"#;
const PUBLIC: &str = "a,b\n0,0\n0,1\n1,2\n1,1\n0,2\n1,0\n0,0\n";

/// Public files beside the private table.
pub(crate) const INPUTS: [(&str, &str); 14] = [
    ("schema.json", SCHEMA),
    ("ranges.json", RANGES),
    ("wide.json", WIDE),
    ("open.json", OPEN),
    ("weighted.json", WEIGHTED),
    ("doubted.json", DOUBTED),
    ("firm.json", FIRM),
    ("together.json", TOGETHER),
    ("named.json", NAMED),
    ("people.csv", "a,people\n0,30\n1,70\n"),
    ("public.csv", PUBLIC),
    ("part.csv", "b\n0\n2\n2\n1\n"),
    ("few.csv", "number,b\n7,0\n7,2\n8,1\n"),
    ("homes.csv", "h,a,b\n1,0,0\n1,1,1\n2,0,2\n3,1,0\n3,0,1\n4,0,0\n4,1,2\n4,0,1\n"),
];

/// The program that counts, in the same folder.
pub(crate) const ENGINE: &str = "engine";

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

/// The same table as a Parquet and as an Arrow file, if it can be read.
#[cfg(feature = "parquet")]
fn write_binary(folder: &Path) {
    let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
    let Ok(table) = read_csv_or_empty(&folder.join("private.csv"), &schema) else { return };
    for name in ["private.parquet", "private.arrow"] {
        write_csv_file(&folder.join(name), &table, &schema, Labels::Codes, 1).unwrap();
    }
}

/// Rows of units as two tables: the column `b` in one, `a` of the first row of each unit in the other.
fn write_apart(folder: &Path, private: &str) {
    let mut units: Vec<&str> = Vec::new();
    let (mut rows, mut homes) = (String::from("h,b\n"), String::from("h,a\n"));
    for line in private.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        writeln!(rows, "{},{}", cells[0], cells[2]).unwrap();
        if !units.contains(&cells[0]) {
            units.push(cells[0]);
            writeln!(homes, "{},{}", cells[0], cells[1]).unwrap();
        }
    }
    fs::write(folder.join("own-rows.csv"), rows).unwrap();
    fs::write(folder.join("own-homes.csv"), homes).unwrap();
}

/// A program that counts whatever it is asked to: it returns what was counted before.
#[cfg(unix)]
fn write_engine(folder: &Path) {
    use std::os::unix::fs::PermissionsExt;
    let place = folder.join(ENGINE);
    fs::write(&place, "#!/bin/sh\nexec cat own.counts\n").unwrap();
    fs::set_permissions(place, fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs commands in a new folder, one after another with `&&` between them, each of which finds the files of those before.
/// Shows the folder and the output of the last.
pub(crate) fn ran<T>(private: &str, commands: &str, seen: impl FnOnce(&Path, &Output) -> T) -> T {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    for (name, text) in INPUTS {
        write(name, text);
    }
    write("private.csv", private);
    if private.starts_with('h') {
        write_apart(folder.path(), private);
    }
    #[cfg(unix)]
    write_engine(folder.path());
    #[cfg(feature = "parquet")]
    if !private.starts_with('h') {
        write_binary(folder.path());
    }
    let run = |command: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_jointly"));
        program.current_dir(folder.path()).args(command.split_whitespace()).output().unwrap()
    };
    let output = commands.split(" && ").map(run).last().unwrap();
    seen(folder.path(), &output)
}

fn run(private: &str, commands: &str) -> Form {
    ran(private, commands, |folder, output| {
        let names = fs::read_dir(folder).unwrap();
        let files = names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        let ledger = fs::read_to_string(folder.join("ledger.json")).unwrap_or("null".into());
        let ledger: Value = serde_json::from_str(&ledger).unwrap();
        let mut stderr = shapes(&output.stderr);
        if commands.contains("anchor-pgm") {
            // Which model is published, the anchored one or a fit, is a choice that was paid for; only a fit has a certificate.
            stderr.remove("fit");
        }
        if commands.contains("doubted.json") {
            // "1 of 1 unlikely combinations": whether one is dropped follows from what was measured, which was paid for.
            stderr.remove("of");
        }
        Form {
            code: output.status.code(),
            stdout: shapes(&output.stdout),
            stderr,
            files,
            ledger: if ledger.is_null() { BTreeSet::new() } else { members(&ledger) },
        }
    })
}

/// Every command that spends, for a relation, and every option that spends or touches private rows.
pub(crate) fn commands(relation: &str) -> Vec<String> {
    let all =
        format!("--private private.csv --schema schema.json --epsilon 1 --delta 1e-6 {relation}");
    let is_of_units = relation.contains("--unit");
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
    // It spends on its errors alone.
    commands.push(format!(
        "synth {all} --public near=public.csv --mechanism public-only --rounds 2 --workload all-2-way \
         --out out.csv --ledger ledger.json --report report.html"
    ));
    let aim = "--mechanism aim --rounds 4 --workload all-2-way";
    let synth =
        format!("synth {all} {aim} --out out.csv --ledger ledger.json --report report.html");
    let others = ["wide", "ranges", "open", "weighted", "doubted", "firm"];
    let [wide, ranges, open, weighted, doubted, firm] = others
        .map(|name| format!("{name}.json"))
        .map(|name| (synth.replace("schema.json", &name), all.replace("schema.json", &name)));
    commands.push(format!("{} --compress 0.2", wide.0));
    commands.push(format!(
        "{} --compress 0.2 --error-share 0.1 --checkpoint state --model model.json",
        wide.0
    ));
    commands.push(format!("{synth} --error-share 0.1"));
    commands.push(format!("{} --model model.json --error-share 0.1", doubted.0));
    commands.push(format!("{} --model model.json", firm.0));
    let weighted = weighted.0.replace("--rounds 4", "--rounds 6") + " --weight b";
    let more = "--model model.json --measurements measurements.csv";
    commands.push(format!("{weighted} --checkpoint state {more}"));
    commands.push(format!("{weighted} --totals people.csv --emit weighted"));
    commands.push(format!("{weighted} --error-share 0.1 --model model.json"));
    commands.push(format!("{weighted} --error-share 0.1 --emit weighted --checkpoint state"));
    commands.push(format!("{synth} --invariants people.csv --model model.json"));
    commands.extend(of_other_rows(&synth));
    commands.push(format!("{synth} --checkpoint state"));
    commands.push(format!("{synth} --seed 5"));
    let earlier =
        format!("answer {all} --workload all-1-way --out earlier.csv --ledger earlier.json");
    let later = synth.replace("--epsilon 1 ", "--epsilon 2 ");
    commands.push(format!("{earlier} && {later} --ledger-from earlier.json"));
    commands.push(format!("{later} --checkpoint state && {later} --checkpoint state --overwrite"));
    let alone =
        "--mechanism anchor-pgm --chooser alone --public near=public.csv --workload all-2-way";
    commands.push(format!("synth {all} {alone} --out out.csv --ledger ledger.json --rounds 4"));
    commands.push(format!("bins {} --out bins.json --ledger ledger.json", ranges.1));
    commands.push(format!("bins {} --categories a --out bins.json --ledger ledger.json", open.1));
    let columns = "--columns a,b --grid 0,2,3 --out shares.json --ledger ledger.json";
    let thresholds = format!("thresholds {} {columns}", all.replace("--schema schema.json ", ""));
    commands.push(thresholds.clone());
    commands.push(format!("{thresholds} --class boxes --release pmw --rounds 3"));
    let [conjunctions, planes, list] = [
        "--columns a,b --class conjunctions",
        "--columns a,b --class half-planes --public public.csv --rounds 4",
        "--class list --question a<=0&b>1 --question b<=0",
    ]
    .map(|class| thresholds.replace("--columns a,b --grid 0,2,3", class));
    commands.extend([conjunctions, planes, list]);
    let answer = format!("answer {all} --workload all-2-way --out out.csv --ledger ledger.json");
    let more = "--public public.csv --workload all-2-way --ledger ledger.json";
    commands.push(answer.clone());
    let trust = format!("trust {all} {more}");
    commands.push(trust.clone());
    commands.push(format!("trust {all} {} --public part.csv", more.replace("2-way", "1-way")));
    if cfg!(unix) {
        commands.extend(on_counts(relation, aim, [&synth, &answer, &trust]));
    }
    if is_of_units {
        commands.extend([&synth, &answer, &trust].map(|command| format!("{command} --keep hash")));
        commands.extend(in_units(&synth));
    } else {
        commands.push(format!("{synth} --counted"));
        commands.push(format!("{answer} --counted"));
        if cfg!(feature = "parquet") {
            commands.push(synth.replace("private.csv", "private.parquet"));
            commands.push(synth.replace("private.csv", "private.arrow"));
        }
        commands.push(format!("mixture-error {all} {more}"));
        commands.push(format!("mixture-error {} {more}", all.replace(" --delta 1e-6", "")));
    }
    commands
}

/// Runs that write rows beside those that are drawn, or in their place.
fn of_other_rows(synth: &str) -> [String; 4] {
    let completed = format!("{synth} --complete few.csv --keep-columns number");
    [
        format!("{synth} --tables 2"),
        format!("{completed} --error-share 0.1 --model model.json"),
        format!("{completed} --checkpoint state"),
        format!("{completed} --error-share 0.1 --public public.csv")
            .replace("--mechanism aim --rounds 4", "--mechanism anchor-pgm --rounds 6"),
    ]
}

/// Runs whose rows come as units.
fn in_units(synth: &str) -> [String; 6] {
    let more = "--error-share 0.1 --model model.json";
    [
        format!("{synth} --unit-columns a"),
        format!("{synth} --unit-columns a {more}"),
        format!("{synth} --unit-columns a --units-out homes-out.csv {more}")
            .replace("private.csv", "own-rows.csv+own-homes.csv")
            .replace("schema.json", "named.json"),
        format!("{synth} --members b --order a {more}").replace("--rounds 4", "--rounds 6"),
        format!("{synth} --members b --order a {more}")
            .replace("--rounds 4", "--rounds 6")
            .replace("schema.json", "together.json"),
        // So large a budget that what units are made of is measured.
        format!("{synth} --members b --order a --public homes.csv")
            .replace("--mechanism aim --rounds 4", "--mechanism anchor-pgm --rounds 6")
            .replace("--epsilon 1 ", "--epsilon 900 "),
    ]
}

/// Commands on what was counted before, by `count` and by another program.
fn on_counts(relation: &str, aim: &str, [synth, answer, trust]: [&str; 3]) -> [String; 5] {
    let is_of_units = relation.contains("--unit");
    let keep = if is_of_units { "--keep hash" } else { "" };
    let units = if is_of_units {
        relation.replace("--neighbors add-remove-one", "") + " " + keep
    } else {
        String::new()
    };
    let count = format!("count --part private.csv --schema schema.json {units} --out own.counts");
    let counted = |command: &str| command.replace("private.csv", "own.counts") + " " + keep;
    let elsewhere = |command: &str| {
        let there = "--private-table people --engine ./engine";
        counted(&command.replace("--private private.csv", there))
    };
    let pairs = format!("{count} --workload all-2-way");
    [
        format!("{count} {aim} && {}", counted(synth)),
        format!("{count} {aim} && {}", elsewhere(synth)),
        format!("{count} {aim} && {} --checkpoint state", elsewhere(synth)),
        format!("{pairs} --mechanism hdmm && {}", elsewhere(answer)),
        format!("{pairs} --mechanism aim && {}", elsewhere(trust)),
    ]
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
