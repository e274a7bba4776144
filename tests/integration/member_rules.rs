//! Rules about several members of a household: drafted, checked on input, and kept in every row, through the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::households::{jointly, refused, succeeds};

const COLUMNS: &str = r#"{"columns": [
    {"name": "age", "kind": "numeric", "edges": [0, 10, 20, 30, 40, 50, 60, 70, 90], "integer": true},
    {"name": "role", "kind": "categorical", "codes": ["head", "spouse", "child", "parent"]},
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"]}
]"#;

const RULES: &str = r#""forbidden_members": [
    {"first": {"role": {"not": ["head"]}}},
    {"later": {"role": ["head"]}},
    {"one": {"role": ["spouse"]}, "another": {"role": ["spouse"]}},
    {"first": {}, "later": {"role": ["child"]}, "difference": {"age": {"below": 16}}},
    {"first": {}, "later": {"role": ["parent"]}, "difference": {"age": {"from": -15}}},
    {"one": {"role": ["parent"]}, "another": {"role": ["child"]}, "difference": {"age": {"below": 32}}}
]}"#;

/// Homes of a head, perhaps a spouse, children and a parent, that keep the rules.
fn homes(folder: &Path, name: &str, number: u32, shift: u32) {
    let mut text = String::from("home,place,age,role,sex\n");
    for home in 0..number {
        let age = 20 + (home * 7 + shift) % 45;
        let mut place = 0;
        let mut add = |age: u32, role: &str, sex: u32| {
            place += 1;
            writeln!(text, "H{home},{place},{age},{role},{sex}").unwrap();
        };
        add(age, "head", 1 + home % 2);
        if home % 3 > 0 {
            add((age + home % 9).max(22) - 4, "spouse", 2 - home % 2);
        }
        if home % 4 == 3 {
            add((age - 20) * (home % 5) / 5, "child", 1 + home / 3 % 2);
        }
        if home % 10 == 7 {
            add((age + 22).min(89), "parent", 1 + home / 5 % 2);
        }
    }
    fs::write(folder.join(name), text).unwrap();
}

fn files(folder: &Path) {
    fs::write(folder.join("plain.json"), format!("{COLUMNS}}}")).unwrap();
    fs::write(folder.join("rules.json"), format!("{COLUMNS}, {RULES}")).unwrap();
    homes(folder, "private.csv", 900, 0);
    homes(folder, "public.csv", 3000, 3);
}

/// How many homes break a rule, each of them told from the rows alone.
fn broken(path: &Path) -> (usize, usize) {
    let mut homes: BTreeMap<String, Vec<(i32, String)>> = BTreeMap::new();
    let mut reader = csv::Reader::from_path(path).unwrap();
    let header: Vec<String> = reader.headers().unwrap().iter().map(str::to_owned).collect();
    let at = |name: &str| header.iter().position(|own| own == name).unwrap();
    let (home, age, role) = (at("home"), at("age"), at("role"));
    for row in reader.records() {
        let row = row.unwrap();
        let member = (row[age].parse().unwrap(), row[role].to_owned());
        homes.entry(row[home].to_owned()).or_default().push(member);
    }
    let breaks = |members: &Vec<(i32, String)>| {
        let head = members[0].0;
        let of = |role: &'static str| members.iter().filter(move |member| member.1 == role);
        members[0].1 != "head"
            || of("head").count() != 1
            || of("spouse").count() > 1
            || of("child").any(|child| head - child.0 < 16)
            || of("parent").any(|parent| head - parent.0 >= -15)
            || of("parent").any(|parent| of("child").any(|child| parent.0 - child.0 < 32))
    };
    (homes.values().filter(|members| breaks(members)).count(), homes.len())
}

const UNITS: &str = "--unit home --max-records 4 --members age,role,sex --order place";

fn synth(mechanism: &str, schema: &str, out: &str) -> String {
    format!(
        "synth --private private.csv --schema {schema} --neighbors add-remove-one {UNITS} --epsilon 3 --delta 1e-6 \
         --seed 1 --workload all-2-way --error-share 0 {mechanism} --out {out}.csv --model {out}.model.json"
    )
}

#[test]
fn every_model_keeps_the_rules_about_members() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    assert_eq!(broken(&folder.join("private.csv")), (0, 900));
    for (name, mechanism) in [
        ("independent", "--mechanism independent"),
        ("mst", "--mechanism mst"),
        ("jam", "--mechanism jam-pgm --public public.csv --rounds 20"),
        ("anchor", "--public public.csv --rounds 20"),
        ("alone", "--rounds 20"),
        ("listed", "--mechanism pmw-pub --public public.csv --rounds 4"),
    ] {
        succeeds(folder, &synth(mechanism, "rules.json", name));
        let (found, homes) = broken(&folder.join(format!("{name}.csv")));
        assert!(found == 0 && homes > 800, "{name}: {found} of {homes}");
        // The model file knows them, also for the numbers in bins, in both ways of drawing.
        for draw in ["", "--draw independent"] {
            let sample = format!(
                "sample --model {name}.model.json --rows 2000 --seed 5 {draw} --out more.csv --overwrite"
            );
            succeeds(folder, &sample);
            assert_eq!(broken(&folder.join("more.csv")), (0, 2000), "{name} {draw}");
        }
    }
    // They are what keeps them out.
    succeeds(folder, &synth("--mechanism mst", "plain.json", "plain"));
    let (found, homes) = broken(&folder.join("plain.csv"));
    assert!(found * 10 > homes, "{found} of {homes}");
    // The holder of the private file can count what other tables break.
    let evaluated = |table: &str| {
        let words = format!(
            "evaluate --private private.csv --synthetic {table} --schema rules.json {UNITS} --json"
        );
        let found: serde_json::Value = serde_json::from_str(&succeeds(folder, &words)).unwrap();
        found["with_members"]["rules"].as_array().unwrap().clone()
    };
    // Rules on columns that are not compared are not said to be kept.
    let words = "evaluate --private private.csv --synthetic plain.csv --schema rules.json --json";
    let said = succeeds(folder, &format!("{words} {}", UNITS.replace("age,role,sex", "age,sex")));
    assert!(said.contains("one_member") && !said.contains("\"rules\""), "{said}");
    let rules = evaluated("plain.csv");
    assert_eq!(rules.len(), 6);
    assert_eq!(rules[1]["rule"], r#"{"later":{"role":["head"]}}"#);
    assert!(rules.iter().all(|rule| rule["units"]["real"] == 0.0));
    let shares: Vec<f64> =
        rules.iter().map(|rule| rule["units"]["synthetic"].as_f64().unwrap()).collect();
    assert!(shares[2] > 0.01 && shares[3] > 0.01, "{shares:?}");
    // Each is at most, and all together are at least, what the rows break as far as bins tell.
    let all = found as f64 / homes as f64;
    assert!(shares.iter().all(|share| *share <= all), "{shares:?} {all}");
    assert!(evaluated("mst.csv").iter().all(|rule| rule["units"]["synthetic"] == 0.0));
    let text = jointly(
        folder,
        &format!(
            "evaluate --private private.csv --synthetic plain.csv --schema rules.json {UNITS}"
        ),
    );
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(
        text.contains("Units whose members break a rule (real)")
            && text.contains(r#"{"later":{"role":["head"]}}"#),
        "{text}"
    );
}

#[test]
fn what_no_public_home_has_is_drafted_and_left_out_of_drawn_homes() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let draft =
        format!("schema --schema plain.json --public public.csv {UNITS} --out unlikely.json");
    let said = jointly(folder, &draft).stderr;
    let said = String::from_utf8_lossy(&said);
    assert!(said.contains("unlikely combinations of members"), "{said}");
    let drafted = fs::read_to_string(folder.join("unlikely.json")).unwrap();
    for rule in [
        r#"{"values":{"first":{"role":{"not":["head"]}}}"#,
        r#"{"values":{"later":{"role":["head"]}}"#,
        r#"{"values":{"one":{"role":["spouse"]},"another":{"role":["spouse"]}}"#,
    ] {
        assert!(drafted.contains(rule), "{drafted}");
    }
    succeeds(folder, &synth("--mechanism mst", "unlikely.json", "unlikely"));
    succeeds(folder, &synth("--mechanism mst", "plain.json", "plain"));
    let [(of_unlikely, _), (plain, _)] =
        ["unlikely.csv", "plain.csv"].map(|name| broken(&folder.join(name)));
    assert!(of_unlikely * 2 < plain, "{of_unlikely} and {plain}");
}

#[test]
fn a_home_that_breaks_a_rule_is_refused_with_its_line() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let text = fs::read_to_string(folder.join("private.csv")).unwrap();
    // The home is not the first one, and its rows are apart.
    let text = text.replacen("H4,2,", "H4,2,88,head,1\nH4,3,", 1)
        + "H901,1,30,head,1\nH902,1,40,head,1\nH901,2,20,child,1\n";
    fs::write(folder.join("private.csv"), &text).unwrap();
    let line = text.lines().position(|line| line.starts_with("H4,1")).unwrap() + 1;
    let run = synth("--mechanism mst", "rules.json", "x");
    refused(
        folder,
        &run,
        &[
            &format!("private.csv, line {line}"),
            "role.2 = head",
            "home that begins here",
            "forbidden_members",
        ],
    );
    assert!(!folder.join("x.csv").exists() && !folder.join("x.csv.ledger.json").exists());
    let others: Vec<&str> = text.lines().filter(|line| !line.starts_with("H4,")).collect();
    fs::write(folder.join("private.csv"), others.join("\n")).unwrap();
    let line = others.iter().position(|line| line.starts_with("H901,1")).unwrap() + 1;
    // A child of 20 to 29 has no head of 30 to 39 if the numbers in these bins may be 16 apart, and so this one stays; a head
    // of 20 to 29 never is.
    succeeds(folder, &run);
    let young = others.join("\n").replace("H901,1,30,", "H901,1,20,");
    fs::write(folder.join("private.csv"), young).unwrap();
    refused(
        folder,
        &format!("{run} --overwrite"),
        &[
            &format!("private.csv, line {line}"),
            "age.1 = 20 to 29",
            "role.2 = child",
            "age.2 = 20 to 29",
        ],
    );
    // Public homes as well.
    let public = fs::read_to_string(folder.join("public.csv")).unwrap() + "P,1,40,spouse,1\n";
    fs::write(folder.join("public.csv"), public).unwrap();
    refused(
        folder,
        &synth("--public public.csv", "rules.json", "y"),
        &["public.csv, line", "role.1 = spouse"],
    );
}

#[test]
fn units_are_named_whole_to_draft_their_rules() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let schema = "schema --schema plain.json --public public.csv --out x.json";
    refused(folder, &format!("{schema} --unit home"), &["--members", "--order", "--max-records"]);
    refused(folder, &format!("{schema} --members age"), &["--unit"]);
    refused(folder, &format!("schema --public public.csv --out x.json {UNITS}"), &["--schema"]);
    let other = UNITS.replace("role", "rank");
    refused(folder, &format!("{schema} {other}"), &["rank", "columns of members"]);
    let other = UNITS.replace("home", "house");
    refused(folder, &format!("{schema} {other}"), &["public.csv", "'house'"]);
    assert!(!folder.join("x.json").exists());
}
