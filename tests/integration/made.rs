//! The command in a report makes the reported table again.

use std::collections::BTreeSet;

use jointly::mechanism::all_parameters;
use serde_json::Value;

use crate::cli::Bench;

/// Flags that change no byte of what is made: how it is shown, how fast, and where flags come from.
const NOT_MADE: [&str; 8] =
    ["log-format", "quiet", "threads", "config", "save-config", "overwrite", "help", "engine"];

/// Jobs that use all flags between them.
const JOBS: [&str; 8] = [
    "--public near=public.csv --mechanism jam-pgm --rounds 3 --workload cliques.json --epsilon 2 --delta 1e-6 \
     --neighbors add-remove-one --error-share 0.1 --draw independent --labels text --rows 150 --seed 5 --out t.csv \
     --model m.json --ledger l.json --report r.html --checkpoint state",
    "--mechanism mst --workload all-2-way --max-cells 9 --epsilon 2 --delta 1e-6 --compress 0.2 --ledger-from first.json \
     --seed 5 --out t.csv --report r.html",
    "--mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --counted --tables 2 --seed 5 --out t.csv --report r.html",
    "--mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --neighbors add-remove-one --unit home --max-records 3 \
     --unit-columns a --seed 5 --out t.csv --units-out u.csv --report r.html",
    "--mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --neighbors add-remove-one --unit home --max-records 3 \
     --members b,c --order d --seed 5 --out t.csv --report r.html",
    "--schema weighted.json --mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --weight d --totals b.csv \
     --invariants c.csv --emit weighted --measurements m.csv --seed 5 --out t.csv --report r.html",
    "--private-table people --mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --neighbors add-remove-one --unit home \
     --max-records 3 --keep hash --seed 5 --out t.csv --report r.html",
    "--mechanism mst --workload all-2-way --epsilon 2 --delta 1e-6 --complete few.csv --keep-columns number --seed 5 --out t.csv \
     --report r.html",
];

/// A schema in which the last column is a survey weight.
const WEIGHTED: &str = r#"{"columns": [
    {"name": "a", "kind": "coded", "size": 2}, {"name": "b", "kind": "coded", "size": 3},
    {"name": "c", "kind": "coded", "size": 2}, {"name": "d", "role": "weight", "kind": "numeric", "edges": [0, 1, 2, 3, 4]}
]}"#;

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("cliques.json", r#"[["a", "b"], ["b", "d"], ["c", "d"]]"#);
    bench.write("weighted.json", WEIGHTED);
    bench.write("b.csv", "b,people\n0,100\n1,200\n2,100\n");
    bench.write("c.csv", "c,people\n0,150\n1,250\n");
    bench.write("few.csv", "number,b\n7,0\n7,2\n8,1\n");
    let with_homes: Vec<String> =
        bench.read("private.csv").lines().enumerate().map(with_home).collect();
    bench.write("private.csv", &(with_homes.join("\n") + "\n"));
    bench.succeed(
        "synth --private private.csv --schema schema.json --mechanism independent --epsilon 0.5 --delta 1e-7 --seed 9 \
         --out first.csv --ledger first.json",
    );
    bench.succeed(
        "count --part private.csv --schema schema.json --mechanism mst --workload all-2-way --unit home --max-records 3 \
         --keep hash --out all.counts",
    );
    bench.write_program("engine", "#!/bin/sh\nexec cat all.counts\n");
    bench
}

/// Rows of a home are next to one another, and agree on the first column.
fn with_home((row, line): (usize, &str)) -> String {
    match row {
        0 => format!("{line},home"),
        _ => format!("{}{},{}", row / 2 % 2, &line[1..], row / 2),
    }
}

/// The flags of a command, without their dashes.
fn flags(command: &str) -> BTreeSet<String> {
    let words = command.split(|c: char| c.is_whitespace() || "[]=,;:".contains(c));
    words.filter_map(|word| word.strip_prefix("--")).map(str::to_owned).collect()
}

#[test]
fn the_command_of_a_report_makes_its_table_again() {
    let mut seen = BTreeSet::new();
    for job in JOBS {
        let bench = bench();
        let schema = if job.contains("--schema") { "" } else { "--schema schema.json" };
        // The program that counts is not said: it is where it is, and changes nothing.
        let engine = if job.contains("--private-table") { "--engine ./engine" } else { "" };
        let private = if engine.is_empty() { "--private private.csv" } else { engine };
        bench.succeed(&format!("synth {private} {schema} {job}"));
        let made = bench.read("t.csv");
        let report: Value = serde_json::from_str(&bench.read("r.json")).unwrap();
        let command = report["made"]["command"].as_str().unwrap().to_owned();
        assert!(bench.read("r.html").contains("jointly synth"), "{job}");
        seen.append(&mut flags(&command));
        for flag in flags(job) {
            assert!(flags(&command).contains(&flag), "--{flag} is missing: {command}");
        }
        let again = self::bench();
        again.succeed(&format!("{} {engine}", command.strip_prefix("jointly ").unwrap()));
        assert_eq!(again.read("t.csv"), made, "{command}");
    }
    // Every flag that `synth` has, but those of mechanisms, which a unit test takes from the catalogue.
    let help = Bench::new().succeed("synth --help");
    let lines = help.lines().map(str::trim_start);
    let known = lines.filter(|line| line.starts_with("--") || line.starts_with("-q, --"));
    let known: BTreeSet<String> = known.filter_map(|line| flags(line).into_iter().next()).collect();
    assert!(known.len() > 40, "{known:?}");
    for flag in known.iter().filter(|flag| !NOT_MADE.contains(&flag.as_str())) {
        let is_of_a_mechanism = all_parameters().any(|parameter| parameter.name == *flag);
        assert!(is_of_a_mechanism || seen.contains(flag), "--{flag} is in no command of a report");
    }
}
