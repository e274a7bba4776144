//! Persons and households in a table each: in, with `persons.csv+households.csv`, and out, with `--units-out`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::households::{refused, succeeds};

const SCHEMA: &str = r#"{"columns": [
    {"name": "home", "role": "id"},
    {"name": "state", "role": "constant"},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 40, 65, 100], "integer": true},
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"]},
    {"name": "tenure", "kind": "categorical", "codes": ["own", "rent"]},
    {"name": "income", "kind": "numeric", "edges": [0, 20000, 50000, 90000], "integer": true, "na": true}
]}"#;

/// The same rows in one table and in two: of homes in another order, with one where nobody lives.
fn files(folder: &Path) {
    fs::write(folder.join("schema.json"), SCHEMA).unwrap();
    for (name, shift) in [("private", 0), ("public", 5)] {
        let mut joined = String::from("home,state,place,age,sex,tenure,income\n");
        let mut persons = String::from("home,state,place,age,sex\n");
        let mut homes = vec!["31,own,77,HE".to_owned()];
        for home in 0..500 {
            let size = 1 + (home * 7 + shift) % 4;
            let tenure = if size > 2 { "own" } else { "rent" };
            let income =
                if home % 5 == 0 { String::new() } else { (home * 149 % 90_000).to_string() };
            homes.push(format!("31,{tenure},{income},H{home}"));
            for place in 1..=size {
                let (age, sex) = ((home * 31 + place * 23) % 100, 1 + (home + place) % 2);
                let person = format!("H{home},31,{place},{age},{sex}");
                writeln!(joined, "{person},{tenure},{income}").unwrap();
                writeln!(persons, "{person}").unwrap();
            }
        }
        homes.reverse();
        fs::write(folder.join(format!("{name}.csv")), joined).unwrap();
        fs::write(folder.join(format!("{name}_p.csv")), persons).unwrap();
        let homes = format!("state,tenure,income,home\n{}\n", homes.join("\n"));
        fs::write(folder.join(format!("{name}_h.csv")), homes).unwrap();
    }
}

const UNITS: &str = "--schema schema.json --neighbors add-remove-one --unit home --max-records 4 --unit-columns tenure,income \
    --epsilon 3 --delta 1e-6 --seed 1 --workload all-2-way";
const PAIR: &str = "private_p.csv+private_h.csv";

#[test]
fn two_tables_are_read_as_the_one_that_they_make() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let both = |words: &str, [one, two]: [&str; 2]| {
        for (table, public, out) in
            [("private.csv", "public.csv", one), (PAIR, "public_p.csv+public_h.csv", two)]
        {
            let words = words.replace("PRIVATE", table).replace("PUBLIC", public);
            succeeds(folder, &format!("{words} --out {out}"));
        }
        assert_eq!(
            fs::read(folder.join(one)).unwrap(),
            fs::read(folder.join(two)).unwrap(),
            "{words}"
        );
    };
    both(&format!("synth --private PRIVATE {UNITS} --mechanism mst"), ["a.csv", "b.csv"]);
    both(
        &format!(
            "synth --private PRIVATE --public o=PUBLIC {UNITS} --mechanism jam-pgm --rounds 6"
        ),
        ["c.csv", "d.csv"],
    );
    let members = "--members age,sex --order place --mechanism mst";
    both(&format!("synth --private PRIVATE {UNITS} {members}"), ["e.csv", "f.csv"]);
    both(
        "answer --private PRIVATE --schema schema.json --neighbors add-remove-one --unit home --max-records 4 --epsilon 1 --delta 1e-6 \
         --seed 1 --workload all-2-way",
        ["g.csv", "h.csv"],
    );
    let evaluated = |table: &str| {
        succeeds(
            folder,
            &format!("evaluate --private {table} --synthetic a.csv --schema schema.json --json"),
        )
    };
    assert_eq!(evaluated("private.csv"), evaluated(PAIR));
    // A file with a plus in its name is that file.
    fs::copy(folder.join("private.csv"), folder.join("private_p.csv+private_h.csv")).unwrap();
    fs::remove_file(folder.join("private_h.csv")).unwrap();
    succeeds(folder, &format!("synth --private {PAIR} {UNITS} --mechanism mst --out i.csv"));
    assert_eq!(fs::read(folder.join("a.csv")).unwrap(), fs::read(folder.join("i.csv")).unwrap());
}

#[test]
fn what_does_not_join_is_refused_where_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    let run = format!("synth --private {PAIR} {UNITS} --mechanism mst --out x.csv");
    let persons = fs::read_to_string(folder.join("private_p.csv")).unwrap();
    let homes = fs::read_to_string(folder.join("private_h.csv")).unwrap();
    let with = |name: &str, text: &str, parts: &[&str]| {
        let before = fs::read_to_string(folder.join(name)).unwrap();
        fs::write(folder.join(name), text).unwrap();
        refused(folder, &run, parts);
        fs::write(folder.join(name), before).unwrap();
    };
    let line = homes.lines().position(|line| line.ends_with(",H7")).unwrap() + 1;
    let h7 = homes.lines().nth(line - 1).unwrap();
    let twice = format!("{homes}{h7}\n");
    with("private_h.csv", &twice, &["private_h.csv, line 503", "'H7'", "one row for each unit"]);
    let first = persons.lines().position(|line| line.starts_with("H7,")).unwrap() + 1;
    let line_of = format!("private_p.csv, line {first}, column 'home'");
    with(
        "private_h.csv",
        &homes.replace(&format!("{h7}\n"), ""),
        &[&line_of, "'H7'", "private_h.csv has"],
    );
    let wrong = h7.replace("own", "lease").replace("rent", "lease");
    let place = format!("private_h.csv, line {line}, column 'tenure'");
    with("private_h.csv", &homes.replace(h7, &wrong), &[&place, "'lease'"]);
    with(
        "private_p.csv",
        &persons.replacen("H9,31,1,2,", "H9,31,1,179,", 1),
        &["private_p.csv, line", "'179'"],
    );
    with(
        "private_h.csv",
        &homes.replacen("home", "house", 1),
        &["private_h.csv, line 1", "role 'id'"],
    );
    refused(folder, &run.replace("private_h", "nowhere"), &["cannot read nowhere.csv:"]);
    refused(folder, &run.replace("private_p", "nowhere"), &["cannot read nowhere.csv:"]);
    refused(folder, &run.replace(PAIR, "this+that.csv"), &["cannot read this+that.csv:"]);
    for (out, name) in [("private_h.csv", "--private"), ("private_p.csv", "--private")] {
        let onto = run.replace("x.csv", out) + " --overwrite";
        refused(folder, &onto, &[out, "is the file of", name]);
    }
    let public = format!("{run} --public o=private_h.csv");
    refused(folder, &public, &["private_h.csv is the private table"]);
    assert!(!folder.join("x.csv").exists());
    assert_eq!(fs::read_to_string(folder.join("private_h.csv")).unwrap(), homes);
    assert_eq!(fs::read_to_string(folder.join("private_p.csv")).unwrap(), persons);
}

/// The rows of a CSV file by column.
fn read(path: &Path) -> Vec<BTreeMap<String, String>> {
    let mut reader = csv::Reader::from_path(path).unwrap();
    reader.deserialize().collect::<Result<_, _>>().unwrap()
}

#[test]
fn persons_and_homes_are_written_apart() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path();
    files(folder);
    for (name, more) in [
        ("rows", "--mechanism mst"),
        ("members", "--members age,sex --order place --mechanism mst"),
    ] {
        let run = format!("synth --private {PAIR} {UNITS} {more} --model {name}.json --overwrite");
        succeeds(folder, &format!("{run} --out p.csv --units-out h.csv"));
        check(folder);
        let sample = format!(
            "sample --model {name}.json --seed 3 --rows 700 --out p.csv --units-out h.csv --overwrite"
        );
        succeeds(folder, &sample);
        check(folder);
        // What was written can be evaluated as it was read.
        let evaluate = format!(
            "evaluate --private {PAIR} --synthetic p.csv+h.csv --schema schema.json --unit home \
            --max-records 4 --unit-columns tenure,income --json"
        );
        let found: serde_json::Value = serde_json::from_str(&succeeds(folder, &evaluate)).unwrap();
        assert_eq!(found["by_units"]["contradictions"]["synthetic"], 0.0);
    }
    let run =
        format!("synth --private {PAIR} {UNITS} --mechanism mst --out x.csv --units-out y.csv");
    refused(folder, &run.replace("y.csv", "x.csv"), &["--units-out x.csv is the file of --out"]);
    refused(
        folder,
        &run.replace("y.csv", "private_h.csv"),
        &["--units-out private_h.csv is the file of --private"],
    );
    refused(folder, &run.replace("--unit-columns tenure,income", ""), &["--unit-columns"]);
    fs::write(folder.join("y.csv"), "mine").unwrap();
    refused(folder, &run, &["y.csv", "--overwrite"]);
    assert_eq!(fs::read_to_string(folder.join("y.csv")).unwrap(), "mine");
    succeeds(
        folder,
        "synth --private private.csv --schema schema.json --mechanism mst --epsilon 1 --delta 1e-6 --out n.csv --model n.json",
    );
    refused(
        folder,
        "sample --model n.json --out x.csv --units-out z.csv",
        &["--units-out needs a model of units"],
    );
    refused(
        folder,
        "sample --model rows.json --out x.csv --units-out x.csv",
        &["--units-out x.csv is the file of --out"],
    );
}

/// Each home is in the homes once, with the number of its persons.
fn check(folder: &Path) {
    let [persons, homes] = ["p.csv", "h.csv"].map(|name| read(&folder.join(name)));
    let names = |row: &BTreeMap<String, String>| row.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&homes[0]), ["home", "home.records", "income", "tenure"]);
    assert!(["age", "home", "sex"].iter().all(|name| persons[0].contains_key(*name)));
    assert!(!persons[0].contains_key("tenure") && !persons[0].contains_key("income"));
    let mut sizes: BTreeMap<&str, usize> = BTreeMap::new();
    persons.iter().for_each(|row| *sizes.entry(&row["home"]).or_default() += 1);
    assert!(homes.len() > 200 && homes.len() == sizes.len());
    for (number, home) in (1..).zip(&homes) {
        assert_eq!(home["home"], number.to_string());
        assert_eq!(home["home.records"], sizes[home["home"].as_str()].to_string());
    }
    // Numbers of homes are drawn in their bins.
    let incomes = homes.iter().map(|home| home["income"].as_str());
    let distinct: std::collections::BTreeSet<&str> = incomes.collect();
    assert!(distinct.len() > 100 && distinct.contains(""), "{}", distinct.len());
}
