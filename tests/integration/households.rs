//! `synth --unit-columns`, `sample` of its model and `evaluate --unit`, through the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// The program in a folder.
fn jointly(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jointly"));
    command.current_dir(folder).args(words.split_whitespace()).output().unwrap()
}

fn succeeds(folder: &Path, words: &str) -> String {
    let output = jointly(folder, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(folder: &Path, words: &str, part: &str) {
    let output = jointly(folder, words);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && text.contains(part), "{words}: {text}");
}

const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "role": "attribute", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "income", "role": "attribute", "kind": "numeric", "edges": [0, 20000, 50000, 90000], "na": true},
    {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 18, 65, 100]},
    {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["1", "2"]}
]}"#;

/// 600 homes of one to four records, and a public table of others; one without homes.
fn files(folder: &Path) {
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    for (name, shift) in [("private.csv", 0), ("public.csv", 5)] {
        let mut text = String::from("home,age,sex,tenure,income\n");
        for home in 0..600 {
            let size = 1 + (home * 7 + shift) % 4;
            let tenure = if size > 2 { "own" } else { "rent" };
            let income =
                if home % 5 == 0 { String::new() } else { (home * 149 % 90_000).to_string() };
            for person in 0..size {
                let (age, sex) = ((home * 31 + person * 23) % 100, 1 + (home + person) % 2);
                _ = writeln!(text, "H{home},{age},{sex},{tenure},{income}");
            }
        }
        fs::write(folder.join(name), text).unwrap();
    }
    fs::write(folder.join("people.csv"), "age,sex\n7,1\n30,2\n70,1\n44,2\n").unwrap();
}

const SYNTH: &str = "synth --private private.csv --schema schema.json --neighbors add-remove-one \
    --unit home --max-records 3 --unit-columns tenure,income --epsilon 3 --delta 1e-6 --seed 1";

/// The rows of each home. They agree on tenure and income, as written.
fn homes(path: &Path) -> BTreeMap<String, Vec<Vec<String>>> {
    let mut homes: BTreeMap<String, Vec<Vec<String>>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(path).unwrap();
    assert_eq!(
        reader.headers().unwrap().iter().collect::<Vec<_>>(),
        ["home", "tenure", "income", "age", "sex"]
    );
    for row in reader.records() {
        let row: Vec<String> = row.unwrap().iter().map(str::to_owned).collect();
        homes.entry(row[0].clone()).or_default().push(row);
    }
    for rows in homes.values() {
        assert!(rows.len() <= 3 && rows.iter().all(|row| row[1..3] == rows[0][1..3]));
    }
    homes
}

#[test]
fn synthetic_homes_agree_have_the_sizes_of_the_real_ones_and_come_again_from_the_model() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    succeeds(
        folder,
        &format!(
            "{SYNTH} --public public.csv --public people.csv --mechanism jam-pgm --out a.csv --model m.json --error-share 0.05 --report r.html"
        ),
    );
    let found = homes(&folder.join("a.csv"));
    // A quarter of the homes is of one record, a quarter of two, and half of three or more, of which three count.
    for (size, share) in [(1, 0.25), (2, 0.25), (3, 0.5)] {
        let own = found.values().filter(|rows| rows.len() == size).count() as f64;
        assert!(
            (own / found.len() as f64 - share).abs() < 0.05,
            "{size}: {own} of {}",
            found.len()
        );
    }
    assert!(fs::read_to_string(folder.join("r.html")).unwrap().contains("rows of a unit"));

    let evaluate = "evaluate --private private.csv --synthetic a.csv --schema schema.json --workload all-2-way --json \
        --unit home --max-records 3 --unit-columns tenure,income --per-unit sex=1";
    let answer: serde_json::Value = serde_json::from_str(&succeeds(folder, evaluate)).unwrap();
    let units = &answer["by_units"];
    assert_eq!(units["contradictions"], serde_json::json!({ "real": 0.0, "synthetic": 0.0 }));
    assert!(units["sizes_l1"].as_f64().unwrap() < 0.1);
    assert_eq!(units["units"]["synthetic"], found.len());

    succeeds(folder, "sample --model m.json --rows 400 --seed 3 --out b.csv");
    let rows: usize = homes(&folder.join("b.csv")).values().map(Vec::len).sum();
    assert!(rows.abs_diff(400) < 6);
    succeeds(folder, "sample --model m.json --rows 90 --given home.records=3 --seed 3 --out c.csv");
    assert!(homes(&folder.join("c.csv")).values().all(|rows| rows.len() == 3));
    refused(folder, "sample --model m.json --rows 90 --given sex=1 --out d.csv", "tenure, income");
    let combine = "combine --model m.json --synthetic a.csv --tables 0 --share sex=1";
    refused(folder, combine, "rows that come as units");
}

#[test]
fn a_run_that_resumes_gives_the_same_homes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let synth = format!("{SYNTH} --mechanism jam-pgm --rounds 4 --error-share 0.05");
    succeeds(folder, &format!("{synth} --checkpoint state --out a.csv"));
    succeeds(folder, &format!("{synth} --checkpoint state --out b.csv"));
    let [one, again] = ["a.csv", "b.csv"].map(|name| fs::read(folder.join(name)).unwrap());
    assert_eq!(one, again);
    let other = synth.replace("tenure,income", "tenure");
    refused(folder, &format!("{other} --checkpoint state --out c.csv"), "checkpoint");
}

#[test]
fn what_cannot_be_linked_is_refused_before_anything_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    fs::write(folder.join("pairs.txt"), "age sex\ntenure income\n").unwrap();
    let out = "--out a.csv --mechanism";
    refused(folder, &format!("{SYNTH} {out} mst --tables 3"), "--tables");
    refused(folder, &format!("{SYNTH} {out} jam-pgm --workload pairs.txt"), "home.records");
    let unknown = SYNTH.replace("tenure,income", "rooms");
    refused(folder, &format!("{unknown} {out} mst"), "'rooms'");
    let alone = "synth --private private.csv --schema schema.json --neighbors add-remove-one --unit home --max-records 3 \
        --unit-columns tenure --mechanism public-only --public people.csv --out a.csv";
    refused(folder, alone, "no column 'home'");
    refused(folder, &SYNTH.replace("--unit home --max-records 3", "--out a.csv"), "--unit");
    let groups =
        r#""codes": ["own", "rent", "g"], "groups": [{"code": "g", "values": ["free", "paid"]}]"#;
    let grouped = SCHEMA.replace(r#""codes": ["own", "rent"]"#, groups);
    fs::write(folder.join("schema.json"), grouped).unwrap();
    refused(folder, &format!("{SYNTH} {out} mst"), "drawn row by row");
    assert!(!folder.join("a.csv").exists() && !folder.join("a.csv.ledger.json").exists());
}
