//! The shortest road of `docs/guide/release.md`, with the commands and the edit as they stand there, and the decisions that a
//! raw file needs.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::MultiGzDecoder;
use serde_json::{Value, json};

use crate::cli::{Bench, stderr};

const GUIDE: &str = include_str!("../../docs/guide/release.md");

/// The text between two fences below the heading of the shortest road.
fn block(language: &str) -> &'static str {
    let section = GUIDE.split("\n## ").find(|part| part.starts_with("The shortest road"));
    let fence = format!("```{language}\n");
    let block = section.and_then(|section| section.split_once(fence.as_str()));
    block.and_then(|(_, rest)| rest.split_once("\n```")).map_or("", |(block, _)| block)
}

/// The commands of a console block, without `jointly`, and with continued lines joined.
fn commands() -> Vec<String> {
    let joined = block("console").replace("\\\n", " ");
    let typed = joined.lines().filter_map(|line| line.strip_prefix("$ jointly "));
    typed.map(str::to_owned).collect()
}

/// The lines that a diff takes out, and those that it puts in.
fn edit() -> (String, String) {
    let lines = |mark: char| {
        let own = block("diff").lines().filter_map(|line| line.strip_prefix(mark));
        own.flat_map(|line| [line, "\n"]).collect::<String>()
    };
    (lines('-'), lines('+'))
}

#[test]
fn the_shortest_road_takes_four_commands_and_one_edit() {
    let bench = Bench::new();
    let raw = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/raw");
    for name in ["people.csv", "neighbors.csv"] {
        let copied = fs::copy(raw.join(name), bench.path(name));
        assert!(copied.is_ok_and(|bytes| bytes < 100_000), "{name}");
    }
    fs::remove_file(bench.path("schema.json")).unwrap_or_default();
    let commands = commands();
    assert!((3..=4).contains(&commands.len()), "{commands:?}");
    assert_eq!(block("diff").matches("@@ ").count(), 1, "one edit");
    let [draft, rest @ ..] = commands.as_slice() else { return };
    bench.succeed(draft);
    // Without the edit nothing is spent: the message says what is missing.
    bench.fail(&rest[0], 3, "column 'sector': found 'Agriculture and mining'");
    assert!(!bench.path("ledger.json").exists());
    let (out, put) = edit();
    let schema = bench.read("schema.json");
    assert_eq!(schema.matches(&out).count(), 1, "{out}");
    bench.write("schema.json", &schema.replace(&out, &put));
    for command in rest {
        bench.succeed(command);
    }
    let table = bench.read("synthetic.csv");
    assert!(table.starts_with("age,sex,marital,education,sector,"), "{}", &table[..80]);
    assert_eq!(table.lines().count(), 1001);
    for file in ["ledger.json", "report.html"] {
        assert!(bench.path(file).exists(), "{file}");
    }
}

/// The columns of the raw Adult table, as `adult.names` lists them.
const ADULT: &str = "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,\
                     capital-gain,capital-loss,hours-per-week,native-country,income";

/// Gives a column a code for values that it does not list.
fn catch_all(schema: &mut Value, column: &str) {
    let columns = schema["columns"].as_array_mut().unwrap();
    let column = columns.iter_mut().find(|one| one["name"] == column).unwrap();
    column["codes"].as_array_mut().unwrap().push(json!("other"));
    column["other"] = json!("other");
}

#[test]
fn the_raw_adult_table_takes_two_decisions_at_most() {
    let root = std::env::var_os("JOINTLY_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let Ok(packed) = fs::File::open(root.join("adult-raw-uci/adult.data.gz")) else {
        eprintln!("SKIPPED: no adult-raw-uci in {}, set JOINTLY_DATA", root.display());
        return;
    };
    let mut text = String::new();
    MultiGzDecoder::new(packed).read_to_string(&mut text).unwrap();
    assert!(text.contains(", ?,"), "blanks and question marks, as published");
    // The first half of the rows is public.
    let half = text.match_indices('\n').nth(16_280).unwrap().0 + 1;
    let bench = Bench::new();
    bench.write("public.data", &text[..half]);
    bench.write("private.data", &text[half..]);
    // Decision 1: the names, from the documentation.
    bench.write("names.txt", ADULT);
    bench.succeed("schema --public public.data --header-file names.txt --out adult.json");
    let mut decisions = 1;
    // Further decisions: a catch-all for each column in which the private rows have more.
    loop {
        let output = bench.run(
            "synth --private private.data --public public.data --schema adult.json --workload all-1-way \
             --mechanism independent --epsilon 1 --delta 1e-9 --out out.csv",
        );
        if output.status.success() {
            break;
        }
        decisions += 1;
        let said = stderr(&output);
        assert!(decisions <= 2, "{said}");
        let column = said.split("column '").nth(1).and_then(|rest| rest.split('\'').next());
        let mut schema: Value = serde_json::from_str(&bench.read("adult.json")).unwrap();
        catch_all(&mut schema, column.unwrap());
        bench.write("adult.json", &schema.to_string());
    }
    assert_eq!(bench.read("out.csv").lines().count(), 1 + text[half..].trim().lines().count());
}
