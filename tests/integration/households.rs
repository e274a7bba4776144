//! `synth --unit-columns`, `sample` of its model and `evaluate --unit`, through the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::{Command, Output};

use jointly::Job;
use jointly::observe::{Event, Observer, Silent};

/// The program in a folder.
pub(crate) fn jointly(folder: &Path, words: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jointly"));
    command.current_dir(folder).args(words.split_whitespace()).output().unwrap()
}

pub(crate) fn succeeds(folder: &Path, words: &str) -> String {
    let output = jointly(folder, words);
    assert!(output.status.success(), "{words}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A command that fails, with these parts in its message.
pub(crate) fn refused(folder: &Path, words: &str, parts: &[&str]) {
    let output = jointly(folder, words);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "{words}: {text}");
    assert!(parts.iter().all(|part| text.contains(part)), "{words}: {text}");
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
    refused(
        folder,
        "sample --model m.json --rows 90 --given sex=1 --out d.csv",
        &["tenure, income"],
    );
    let combine = "combine --model m.json --synthetic a.csv --tables 0 --share sex=1";
    refused(folder, combine, &["rows that come as units"]);
}

const COUPLES: &str = r#"{"columns": [
    {"name": "tenure", "role": "attribute", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 18, 40, 65, 100]},
    {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["1", "2"]},
    {"name": "job", "role": "attribute", "kind": "categorical", "codes": ["yes", "no"], "na": true}
], "forbidden": [{"age": [{"from": 0, "below": 18}], "job": {"not": [null]}}]}"#;

/// 800 homes: of one, of two of like age and other sex, and of these with one child.
fn couples(folder: &Path) {
    fs::write(folder.join("couples.json"), COUPLES).unwrap();
    for (name, shift) in [("couples.csv", 0), ("others.csv", 7)] {
        let mut text = String::from("home,place,age,sex,tenure,job\n");
        for home in 0..800 {
            let (size, age) = (1 + (home + shift) % 3, 20 + home * 37 % 75);
            for person in 0..size {
                let age = if person == 2 { age % 17 } else { age };
                let sex = if person == 1 { 1 + home % 2 } else { 2 - home % 2 };
                let job = ["yes", "no"][usize::from(home % 5 == 0)];
                let job = if age < 18 { "" } else { job };
                let tenure = if size > 1 { "own" } else { "rent" };
                _ = writeln!(text, "H{home},{},{age},{sex},{tenure},{job}", person + 1);
            }
        }
        fs::write(folder.join(name), text).unwrap();
    }
}

const TOGETHER: &str = "synth --private couples.csv --schema couples.json --neighbors add-remove-one --unit home \
    --max-records 3 --unit-columns tenure --members age,sex,job --order place --epsilon 3 --delta 1e-6 --seed 1";

/// The members of each home, checked: numbered from 1, in one home of one tenure, children without a job.
fn members(path: &Path) -> Vec<Vec<(u32, String)>> {
    let mut homes: BTreeMap<String, Vec<(u32, String)>> = BTreeMap::new();
    let (mut reader, mut tenures) = (csv::Reader::from_path(path).unwrap(), BTreeMap::new());
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    assert_eq!(header, ["home", "tenure", "place", "age", "sex", "job"]);
    for row in reader.records() {
        let row = row.unwrap();
        let home = homes.entry(row[0].to_owned()).or_default();
        assert_eq!(row[2], (home.len() + 1).to_string());
        let tenure = tenures.entry(row[0].to_owned()).or_insert_with(|| row[1].to_owned());
        assert_eq!(*tenure, row[1]);
        let age = row[3].parse().unwrap();
        assert!(age >= 18 || row[5].is_empty(), "{row:?}");
        home.push((age, row[4].to_owned()));
    }
    homes.into_values().collect()
}

#[test]
fn the_members_of_a_synthetic_home_belong_together() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    couples(folder);
    let share = |homes: &[Vec<(u32, String)>]| {
        let pairs: Vec<_> = homes.iter().filter(|home| home.len() > 1).collect();
        let group = |age: u32| [18, 40, 65].iter().filter(|edge| age >= **edge).count();
        let fit = |home: &&&Vec<(u32, String)>| {
            group(home[0].0) == group(home[1].0) && home[0].1 != home[1].1
        };
        let children = homes.iter().filter(|home| home.len() == 3);
        let is_child = |home: &&Vec<(u32, String)>| home[2].0 < 18;
        assert!(children.clone().filter(is_child).count() as f64 > 0.9 * children.count() as f64);
        pairs.iter().filter(fit).count() as f64 / pairs.len() as f64
    };
    for (i, more) in ["", "--public others.csv", "--mechanism aim"].into_iter().enumerate() {
        let command = format!(
            "{TOGETHER} {more} --out {i}.csv --model {i}.model.json --report {i}.html --ledger {i}.ledger.json"
        );
        let said = jointly(folder, &command);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        assert!(String::from_utf8_lossy(&said.stderr).contains("units with their members"));
        let homes = members(&folder.join(format!("{i}.csv")));
        assert!(homes.len().abs_diff(800) < 40, "{}", homes.len());
        // Independent members would be so in an eighth of the homes.
        assert!(share(&homes) > 0.8, "{more}: {}", share(&homes));
        let ledger = fs::read_to_string(folder.join(format!("{i}.ledger.json"))).unwrap();
        let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
        assert_eq!(
            ledger["unit"],
            serde_json::json!({"column": "home", "max_records": 3, "one_record": true})
        );
        assert_eq!(ledger["ledger"]["records_per_unit"], 1);
        let report = fs::read_to_string(folder.join(format!("{i}.html"))).unwrap();
        assert!(report.contains("age, sex, job of each, in the order of place"), "{more}");
        assert!(!report.contains("they are independent"), "{more}");
    }
    // The model draws homes, and answers what their members have together.
    succeeds(folder, "sample --model 1.model.json --rows 300 --seed 2 --out more.csv");
    let homes = members(&folder.join("more.csv"));
    assert!(homes.len() == 300 && share(&homes) > 0.8);
    succeeds(
        folder,
        "sample --model 1.model.json --rows 90 --given home.records=3,tenure=own --out three.csv",
    );
    assert!(members(&folder.join("three.csv")).iter().all(|home| home.len() == 3));
    refused(
        folder,
        "sample --model 1.model.json --rows 90 --given sex.1=1 --out d.csv",
        &["tenure"],
    );
    // 266 of 800 homes have three members.
    let ask = "ask --model 1.model.json --json --share home.records=3,age.3=0..17";
    let answer: serde_json::Value = serde_json::from_str(&succeeds(folder, ask)).unwrap();
    let share = answer["answers"][0]["rows"][0]["answer"].as_f64().unwrap();
    assert!((share - 0.333).abs() < 0.05, "{answer}");
}

/// Homes drawn from graphical models and from lists of records have as many members as their size says, who keep the rules.
#[test]
fn households_of_several_models_keep_the_rules_of_their_members() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    couples(folder);
    for (mechanism, rounds) in
        [("independent", None), ("mst", None), ("jam-pgm", Some(12)), ("gem", Some(2))]
    {
        let mut settings = serde_json::json!({
            "mechanism": mechanism, "neighbors": "add-remove-one", "unit": "home", "max-records": 3, "seed": 1,
            "unit-columns": ["tenure"], "members": ["age", "sex", "job"], "order": "place", "error-share": 0.0,
            "epsilon": 3.0, "delta": 1e-6, "workload": "all-2-way",
        });
        if let Some(rounds) = rounds {
            settings["rounds"] = rounds.into();
        }
        let mut job = jointly::Job::from_settings(settings).unwrap();
        job.private = folder.join("couples.csv").into();
        job.schema = folder.join("couples.json").into();
        let done = job.fit(&mut jointly::Silent).unwrap();
        let domain = done.written.domain();
        assert!(domain.structural_zeros().len() > 5);
        for record in 0..done.rows.records() {
            let row = done.rows.row(record);
            let mut zeros = domain.structural_zeros().iter();
            let broken = zeros.find(|zero| zero.forbids(&domain, |attribute| row[attribute]));
            assert!(broken.is_none(), "{mechanism}: {row:?} {broken:?}");
        }
    }
}

#[test]
fn other_columns_come_from_a_run_whose_budget_counts_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    couples(folder);
    let some = TOGETHER.replace("age,sex,job", "age");
    succeeds(folder, &format!("{some} --mechanism mst --out homes.csv --ledger homes.json"));
    let people = "synth --private couples.csv --schema couples.json --neighbors add-remove-one --unit home --max-records 3 \
        --epsilon 5 --delta 1e-6 --seed 2 --mechanism mst --ledger-from homes.json --out people.csv --model people.model.json";
    succeeds(folder, people);
    let ledger = fs::read_to_string(folder.join("people.csv.ledger.json")).unwrap();
    assert!(
        ledger.contains(r#""records_per_unit": 1"#) && ledger.contains(r#""records_per_unit": 3"#)
    );
    succeeds(
        folder,
        "sample --model people.model.json --complete homes.csv --keep home,place --out all.csv --seed 1",
    );
    let all = fs::read_to_string(folder.join("all.csv")).unwrap();
    assert_eq!(
        all.lines().count(),
        fs::read_to_string(folder.join("homes.csv")).unwrap().lines().count()
    );
    let header = all.lines().next().unwrap();
    assert!(
        ["home", "place", "age", "sex", "job", "tenure"].iter().all(|name| header.contains(name)),
        "{header}"
    );
}

#[test]
fn what_members_cannot_go_with_is_refused_before_anything_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    couples(folder);
    fs::write(folder.join("persons.csv"), "age,sex\n7,1\n30,2\n").unwrap();
    let refused = |more: &str, part: &str| {
        refused(folder, &format!("{TOGETHER} --mechanism mst --out x.csv {more}"), &[part]);
        assert!(!folder.join("x.csv").exists());
    };
    refused("--compress 0.1", "--compress cannot go with --members");
    refused("--counted", "cannot go with");
    refused("--keep hash", "--keep hash cannot go with --members");
    refused("--tables 3", "cannot go with");
    refused("--public persons.csv", "without a column 'home'");
    let changed = |from: &str, to: &str, part: &str| {
        let command = TOGETHER.replace(from, to);
        assert_ne!(command, TOGETHER);
        let output = jointly(folder, &format!("{command} --mechanism mst --out x.csv"));
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && text.contains(part), "{command}: {text}");
    };
    changed("--order place", "", "--order");
    changed("--members age,sex,job", "", "--members");
    changed("--order place", "--order age", "by which they are ordered");
    changed("--members age,sex,job", "--members age,tenure", "'tenure', a column of units");
    changed("--members age,sex,job", "--members age,wages", "wages");
    changed("--order place", "--order rank", "without a column 'rank'");
    changed("--max-records 3", "--max-records 40", "1 to 32");
    changed("--unit home --max-records 3 --unit-columns tenure", "", "--unit");
}

/// Homes of three, each a child or not. In every private one the number of children is even, which no two members say: among
/// them, children are independent. The public ones are of all kinds.
fn even_homes(folder: &Path) {
    let schema = r#"{"columns": [
        {"name": "tenure", "role": "attribute", "kind": "coded", "size": 2},
        {"name": "child", "role": "attribute", "kind": "coded", "size": 2}
    ]}"#;
    fs::write(folder.join("schema.json"), schema).unwrap();
    let kinds: [&[usize]; 2] = [&[0b000, 0b011, 0b101, 0b110], &[0, 1, 2, 3, 4, 5, 6, 7]];
    for (name, kinds) in ["private.csv", "public.csv"].into_iter().zip(kinds) {
        let mut text = String::from("home,place,tenure,child\n");
        for home in 0..800 {
            let kind = kinds[home % kinds.len()];
            for place in 0..3 {
                _ = writeln!(text, "H{home},{place},{},{}", home / 8 % 2, kind >> place & 1);
            }
        }
        fs::write(folder.join(name), text).unwrap();
    }
}

const EVEN: &str = "synth --private private.csv --schema schema.json --neighbors add-remove-one --unit home --max-records 3 \
    --unit-columns tenure --members child --order place --epsilon 5 --delta 1e-6 --seed 1 --public public.csv --rounds 20";

#[test]
fn what_homes_are_made_of_is_measured_and_kept() {
    let folder = tempfile::tempdir().unwrap();
    even_homes(folder.path());
    succeeds(
        folder.path(),
        &format!("{EVEN} --out out.csv --ledger ledger.json --report report.html"),
    );
    let mut children: BTreeMap<String, u32> = BTreeMap::new();
    for row in fs::read_to_string(folder.path().join("out.csv")).unwrap().lines().skip(1) {
        let (home, child) = (row.split(',').next().unwrap(), row.rsplit(',').next().unwrap());
        *children.entry(home.to_owned()).or_default() += child.parse::<u32>().unwrap();
    }
    let odd = children.values().filter(|number| *number % 2 == 1).count();
    assert!(children.len() > 700 && odd * 20 < children.len(), "{odd} of {}", children.len());

    // The measures of a holder of the private file see the same; no marginal of two members does.
    let errors = |table: &str| -> [f64; 2] {
        let found = succeeds(
            folder.path(),
            &format!(
                "evaluate --private private.csv --synthetic {table} --schema schema.json --workload all-2-way --json \
                 --unit home --max-records 3 --unit-columns tenure --members child --order place"
            ),
        );
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let of = |part: &str| found["with_members"][part]["mean_l1"].as_f64().unwrap();
        [of("two_members"), of("compositions")]
    };
    let ([pairs, made_of], [public_pairs, public_made_of]) =
        (errors("out.csv"), errors("public.csv"));
    assert!(public_pairs < 1e-9 && public_made_of > 0.9, "{public_pairs}, {public_made_of}");
    assert!(pairs < 0.1 && made_of < 0.15, "{pairs}, {made_of}");

    let ledger = fs::read_to_string(folder.path().join("ledger.json")).unwrap();
    let ledger: serde_json::Value = serde_json::from_str(&ledger).unwrap();
    let entries = ledger["ledger"]["entries"].as_array().unwrap();
    let of = |purpose: &str| entries.iter().filter(|entry| entry["purpose"] == purpose).count();
    // Three tables: by tenure, each of two groups; and both groups.
    assert_eq!((of("choose a composition"), of("marginal of tallies")), (3, 3));
    let report = fs::read_to_string(folder.path().join("report.html")).unwrap();
    assert!(report.contains("child of code 1") && report.contains("some of a fit, reweighted"));
}

/// Stops at the first check after a given number of measurements.
struct StopAfter {
    measurements: usize,
    seen: usize,
}

impl Observer for StopAfter {
    fn event(&mut self, event: &Event) {
        self.seen += usize::from(matches!(event, Event::Measured { .. }));
    }

    fn check(&mut self) -> ControlFlow<()> {
        if self.seen < self.measurements {
            ControlFlow::Continue(())
        } else {
            ControlFlow::Break(())
        }
    }
}

#[test]
fn a_run_that_measures_what_homes_are_made_of_resumes_after_each_of_its_measurements() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    even_homes(folder.path());
    let settings = serde_json::json!({
        "private": at("private.csv"), "schema": at("schema.json"), "public": [at("public.csv")],
        "neighbors": "add-remove-one", "unit": "home", "max-records": 3, "unit-columns": ["tenure"],
        "members": ["child"], "order": "place", "epsilon": 5.0, "delta": 1e-6, "seed": 1,
        "rounds": 20, "out": at("out.csv"), "ledger": at("ledger.json"),
    });
    let job = Job::from_settings(settings).unwrap();
    let whole = job.run(&mut Silent).unwrap();
    let paid = fs::read(at("ledger.json")).unwrap();
    assert_eq!(whole.release.compositions.len(), 3);
    let all = whole.release.measurements.len() + 3;
    for measurements in 1..=all {
        let state = tempfile::tempdir().unwrap();
        ["out.csv", "ledger.json"].iter().for_each(|name| fs::remove_file(at(name)).unwrap());
        let kept = Job { checkpoint: Some(state.path().to_owned()), ..job.clone() };
        let stopped = kept.run(&mut StopAfter { measurements, seen: 0 });
        assert!(stopped.is_err(), "{measurements} of {all}");
        _ = fs::remove_file(at("ledger.json"));
        let again = kept.run(&mut Silent).unwrap();
        assert_eq!(again.release.compositions, whole.release.compositions, "after {measurements}");
        assert_eq!(again.rows, whole.rows, "after {measurements}");
        assert!(fs::read(at("ledger.json")).unwrap() == paid, "after {measurements}");
    }
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
    refused(folder, &format!("{other} --checkpoint state --out c.csv"), &["checkpoint"]);
}

#[test]
fn what_cannot_be_linked_is_refused_before_anything_is_spent() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    fs::write(folder.join("pairs.txt"), "age sex\ntenure income\n").unwrap();
    let out = "--out a.csv --mechanism";
    refused(folder, &format!("{SYNTH} {out} mst --tables 3"), &["--tables"]);
    refused(folder, &format!("{SYNTH} {out} jam-pgm --workload pairs.txt"), &["home.records"]);
    let unknown = SYNTH.replace("tenure,income", "rooms");
    refused(folder, &format!("{unknown} {out} mst"), &["'rooms'"]);
    let alone = "synth --private private.csv --schema schema.json --neighbors add-remove-one --unit home --max-records 3 \
        --unit-columns tenure --mechanism public-only --public people.csv --out a.csv";
    refused(folder, alone, &["no column 'home'"]);
    refused(folder, &SYNTH.replace("--unit home --max-records 3", "--out a.csv"), &["--unit"]);
    let groups =
        r#""codes": ["own", "rent", "g"], "groups": [{"code": "g", "values": ["free", "paid"]}]"#;
    let grouped = SCHEMA.replace(r#""codes": ["own", "rent"]"#, groups);
    fs::write(folder.join("schema.json"), grouped).unwrap();
    refused(folder, &format!("{SYNTH} {out} mst"), &["drawn row by row"]);
    assert!(!folder.join("a.csv").exists() && !folder.join("a.csv.ledger.json").exists());
}
