//! From the flags to the ledger: for every command and form of noise, the limit is what (ε, δ) buys, and the entries
//! stay within it. Two processes never share noise.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::Command;

use jointly::mechanism::CATALOGUE;
use jointly::privacy::{Budget, Ledger, LedgerFile};
use tempfile::TempDir;

use crate::quick::quick_flags;

const PUBLIC: &str = "a,b\n0,0\n0,1\n1,2\n1,1\n0,2\n1,0\n0,0\n";

/// A number in a single bin, for `bins` to cut.
pub(crate) const RANGES: &str = r#"{"columns": [
    {"name": "a", "kind": "numeric", "edges": [0, 1000], "integer": true},
    {"name": "b", "kind": "categorical", "codes": ["0", "1", "2"]}
]}"#;

fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    let rows = "0,0\n0,2\n1,1\n1,2\n".repeat(20);
    for (name, text) in [
        ("schema.json", r#"{"a": 2, "b": 3}"#),
        ("ranges.json", RANGES),
        ("public.csv", PUBLIC),
        ("private.csv", &format!("a,b\n{rows}")),
    ] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Runs a command that must succeed. Its ledger, and the marginals or the table that it made.
fn run(command: &str) -> (LedgerFile, Vec<u8>) {
    let folder = folder();
    let output = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(folder.path())
        .args(command.split_whitespace())
        .output()
        .unwrap();
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    let ledger = LedgerFile::read(&folder.path().join("ledger.json")).unwrap();
    (ledger, fs::read(folder.path().join("out.csv")).unwrap_or(output.stdout))
}

/// Every command that spends, without its budget; and whether its noise may be Laplace noise.
fn commands() -> Vec<(String, bool)> {
    let all = "--private private.csv --schema schema.json --ledger ledger.json";
    let mut commands: Vec<(String, bool)> = Vec::new();
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let few = if entry.name == "ide" { "--groups a" } else { "--workload all-2-way" };
        let (name, quick) = (entry.name, quick_flags(entry));
        let public = "--public near=public.csv";
        commands.push((
            format!("synth {all} {public} --mechanism {name} --out out.csv {few}{quick}"),
            false,
        ));
    }
    let ide = "--mechanism ide --groups a --noise laplace --out out.csv";
    commands.push((format!("synth {all} --public near=public.csv {ide}"), true));
    for name in ["residual-planner", "hdmm"] {
        let more = format!("--mechanism {name} --workload all-2-way --out out.csv");
        commands.push((format!("answer {all} {more}"), false));
    }
    let ranges = all.replace("schema.json", "ranges.json");
    commands.push((format!("bins {ranges} --out bins.json"), false));
    let columns =
        "--private private.csv --ledger ledger.json --columns a,b --grid 0,2,3 --out out.json";
    commands.push((format!("thresholds {columns}"), false));
    commands.push((format!("thresholds {columns} --class boxes --release pmw --rounds 3"), false));
    for class in [
        "--columns a,b --class conjunctions",
        "--columns a,b --class half-planes --public public.csv --rounds 4",
        "--class list --question a<=0&b>1 --question b<=0",
    ] {
        let columns = columns.replace("--columns a,b --grid 0,2,3", class);
        commands.push((format!("thresholds {columns}"), false));
    }
    commands.push((format!("trust {all} --public public.csv --workload all-2-way"), false));
    let mixture = format!("mixture-error {all} --public public.csv --workload all-2-way");
    commands.push((mixture.clone(), false));
    commands.push((mixture, true));
    commands
}

#[test]
fn every_command_spends_within_what_its_flags_buy() {
    for (command, pure) in commands() {
        for neighbors in ["replace-one", "add-remove-one"] {
            let (epsilon, delta) = (1.25, 1e-7);
            let budget = Budget::new(epsilon, (!pure).then_some(delta)).unwrap();
            let delta = if pure { String::new() } else { format!("--delta {delta}") };
            let command = format!("{command} --epsilon {epsilon} {delta} --neighbors {neighbors}");
            let (file, _) = run(&command);
            let ledger = &file.ledger;
            assert_eq!(ledger.limit(), budget.rho(), "{command}");
            assert_eq!(file.epsilon, Some(epsilon), "{command}");
            assert_eq!(file.delta, Some(budget.delta()), "{command}");
            assert_eq!(file.neighbors.to_string(), neighbors, "{command}");
            assert!(file.private, "{command}");
            let sum: u64 = ledger.entries().iter().map(|entry| entry.rho.units()).sum();
            assert_eq!(sum, ledger.spent().units(), "{command}");
            assert!(sum > 0 && sum <= budget.rho().units(), "{command}");
            assert_eq!(ledger.epsilon_limit().is_some(), pure, "{command}");
            if pure {
                let spent = ledger.pure_epsilon().unwrap();
                assert!(spent > 0.9 * epsilon && spent <= epsilon, "{command}: {spent}");
            }
            let counted = ledger.entries().iter().filter(|e| e.purpose == "number of records");
            // Mechanisms that measure a partition of the records first take n from it.
            let counted = counted.count();
            let most = usize::from(neighbors == "add-remove-one");
            assert!(counted <= most, "{command}");
            let adds_up = ["residual-planner", "hdmm", "--mechanism ide", "thresholds"];
            assert!(
                counted == most || adds_up.iter().any(|name| command.contains(name)),
                "{command}"
            );
        }
    }
}

/// What a command spends comes on top of an earlier ledger, within one limit. `mixture-error` takes none.
#[test]
fn every_command_counts_an_earlier_ledger() {
    let first = "answer --private private.csv --schema schema.json --workload all-1-way --epsilon 1 --delta 1e-7 \
                 --out first.csv --ledger first.json";
    for (command, pure) in commands() {
        if pure || command.starts_with("mixture-error") {
            continue;
        }
        let folder = folder();
        let run = |command: &str| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_jointly"));
            let output = program
                .current_dir(folder.path())
                .args(command.split_whitespace())
                .output()
                .unwrap();
            assert!(output.status.success(), "{command}: {output:?}");
        };
        run(first);
        run(&format!("{command} --epsilon 2 --delta 1e-6 --ledger-from first.json"));
        let ledger = |name: &str| LedgerFile::read(&folder.path().join(name)).unwrap().ledger;
        let (earlier, both) = (ledger("first.json"), ledger("ledger.json"));
        let costs = |ledger: &Ledger| ledger.entries().iter().map(|e| e.rho).collect::<Vec<_>>();
        assert!(costs(&both).starts_with(&costs(&earlier)), "{command}");
        assert!(both.spent() > earlier.spent() && both.spent() <= both.limit(), "{command}");
        assert_eq!(both.limit(), Budget::approximate(2.0, 1e-6).unwrap().rho(), "{command}");
    }
}

#[test]
fn processes_that_start_together_draw_different_noise() {
    let command = "answer --private private.csv --schema schema.json --ledger ledger.json --epsilon 0.001 \
                   --delta 1e-9 --workload all-2-way --out out.csv";
    let threads: Vec<_> = (0..6).map(|_| std::thread::spawn(move || run(command).1)).collect();
    let mut drawn: Vec<Vec<u8>> = threads.into_iter().map(|t| t.join().unwrap()).collect();
    drawn.sort();
    drawn.dedup();
    assert_eq!(drawn.len(), 6, "two processes made the same answers");
}
