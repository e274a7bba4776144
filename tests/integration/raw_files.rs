//! Files as offices have them, from raw to release: German, French and American, found from public rows alone.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write as _;

use serde_json::Value;

use crate::cli::Bench;

/// A number with two decimals, as it is written plainly.
fn money(i: u32) -> f64 {
    f64::from(i * 7919 % 90_000) + f64::from(i % 100) / 100.0
}

/// A number in groups of three digits.
fn grouped(x: f64, decimals: usize, group: &str, decimal: &str) -> String {
    let plain = format!("{x:.decimals$}");
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let mut text = String::new();
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            text.push_str(group);
        }
        text.push(digit);
    }
    if fraction.is_empty() { text } else { format!("{text}{decimal}{fraction}") }
}

/// Day, month, year, hour, minute.
fn moment(i: u32) -> [u32; 5] {
    [1 + i * 11 % 28, 1 + i % 12, 2014 + i % 4, i % 24, i * 13 % 60]
}

fn german(rows: std::ops::Range<u32>) -> String {
    let mut text = "geschlecht;einkommen;beginn;uhrzeit;stunden\n".to_owned();
    for i in rows {
        let [day, month, year, hour, minute] = moment(i);
        let (pay, hours) =
            (grouped(money(i), 2, ".", ","), ["19,5", "38,5", "40", "0,0"][(i % 4) as usize]);
        let sex = ["m", "w"][(i % 2) as usize];
        _ = writeln!(
            text,
            "{sex};{pay} \u{20ac};{day:02}.{month:02}.{year};{hour:02}:{minute:02};{hours}"
        );
    }
    text
}

fn french(rows: std::ops::Range<u32>) -> String {
    let mut text = "sexe\trevenu\tdebut\tpart\n".to_owned();
    for i in rows {
        let [day, month, year, ..] = moment(i);
        let pay = grouped(money(i), 2, "\u{202f}", ",");
        let part = grouped(f64::from(i % 97), 1, "", ",");
        _ = writeln!(text, "{}\t{pay}\t{day:02}/{month:02}/{year}\t{part} %", i % 2);
    }
    text
}

fn american(rows: std::ops::Range<u32>) -> String {
    let mut text = "sex,income,start\n".to_owned();
    for i in rows {
        let [day, month, year, ..] = moment(i);
        _ = writeln!(
            text,
            "{},\"${}\",{month}/{day}/{year}",
            i % 2,
            grouped(money(i % 90), 0, ",", ".")
        );
    }
    text
}

/// Drafts a schema from public rows, makes a release, and evaluates it. Returns the schema, the release, and what the draft said.
fn released(bench: &Bench, file: fn(std::ops::Range<u32>) -> String) -> (Value, String, String) {
    bench.write("public.csv", &file(0..400));
    bench.write("private.csv", &file(400..700));
    let drafted = bench.run("schema --public public.csv --out schema.json");
    let said = crate::cli::stderr(&drafted);
    assert!(drafted.status.success(), "{said}");
    let flags =
        "--schema schema.json --epsilon 5 --delta 1e-6 --mechanism mst --workload all-2-way";
    bench.succeed(&format!("synth --private private.csv {flags} --out out.csv --model model.json"));
    bench.succeed("evaluate --private private.csv --synthetic out.csv --schema schema.json --workload all-2-way");
    (serde_json::from_str(&bench.read("schema.json")).unwrap(), bench.read("out.csv"), said)
}

fn notation<'s>(schema: &'s Value, name: &str) -> Option<&'s str> {
    let columns = schema["columns"].as_array().unwrap();
    columns.iter().find(|column| column["name"] == name).unwrap()["notation"].as_str()
}

#[test]
fn a_german_file_goes_from_raw_to_release() {
    let bench = Bench::new();
    let (schema, out, _) = released(&bench, german);
    assert_eq!(schema["table"]["delimiter"], ";");
    for (name, expected) in [
        ("geschlecht", None),
        ("einkommen", Some("1.234,56 \u{20ac}")),
        ("beginn", Some("DD.MM.YYYY")),
        ("uhrzeit", Some("HH:MM")),
        ("stunden", Some("1234,56")),
    ] {
        assert_eq!(notation(&schema, name), expected, "{name}");
    }
    let mut lines = out.lines();
    assert_eq!(lines.next(), Some("geschlecht;einkommen;beginn;uhrzeit;stunden"));
    for line in lines {
        let cells: Vec<&str> = line.split(';').collect();
        assert!(cells[1].ends_with(" \u{20ac}") && !cells[1].contains(".."), "{line}");
        assert_eq!((cells[2].len(), cells[3].len()), (10, 5), "{line}");
    }
    // Answers are times and dates too, and evidence may be written so.
    let text = bench.succeed(
        "ask --model model.json --median uhrzeit --median beginn --given uhrzeit=08:00..12:00",
    );
    let median =
        text.lines().skip_while(|line| !line.contains("quantile of uhrzeit")).nth(1).unwrap();
    let hour: u32 = median.trim().split(':').next().unwrap().parse().unwrap();
    assert!((8..=12).contains(&hour), "{text}");
    // A cell that is written in another way is an error that says how.
    bench.write("other.csv", &german(400..410).replace("38,5", "38.5"));
    bench.fail(
        "synth --private other.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism mst --out x.csv",
        3,
        "column 'stunden': found '38.5', expected a number, written like '1234,56'",
    );
}

#[test]
fn a_french_file_goes_from_raw_to_release() {
    let bench = Bench::new();
    let (schema, out, _) = released(&bench, french);
    assert_eq!(schema["table"]["delimiter"], "\t");
    assert_eq!(notation(&schema, "revenu"), Some("1\u{202f}234,56"));
    assert_eq!(
        notation(&schema, "debut"),
        Some("DD/MM/YYYY"),
        "with a decimal comma, days come first"
    );
    assert_eq!(notation(&schema, "part"), Some("1234,56 %"));
    assert!(out.lines().nth(1).unwrap().ends_with(" %"), "{out}");
}

#[test]
fn an_american_file_goes_from_raw_to_release() {
    let bench = Bench::new();
    let (schema, out, said) = released(&bench, american);
    assert_eq!(schema["table"]["delimiter"], Value::Null, "a comma");
    assert_eq!(
        (notation(&schema, "income"), notation(&schema, "start")),
        (Some("$1,234"), Some("M/D/YYYY"))
    );
    assert!(out.contains("\"$"), "{out}");
    // A file of whole amounts leaves a doubt, which a flag takes away.
    assert!(said.contains("it could also be '$1234,56': --decimal decides"), "{said}");
    let drafted = bench.run("schema --public public.csv --decimal . --out other.json");
    assert!(!crate::cli::stderr(&drafted).contains("could also be"));
    bench.fail(
        "schema --public public.csv --dates tomorrow",
        2,
        "expected a form such as DD/MM/YYYY",
    );
}

#[test]
fn a_column_of_rare_values_has_a_catch_all() {
    let bench = Bench::new();
    let of = |i: u32| if i == 7 { "elf" } else { ["nurse", "cook", "clerk"][(i % 3) as usize] };
    let table = |rows: std::ops::Range<u32>| {
        rows.fold("job,sex\n".to_owned(), |text, i| {
            text + of(i) + ["\u{2c}f\n", "\u{2c}m\n"][(i % 2) as usize]
        })
    };
    bench.write("public.csv", &table(0..200));
    bench.write("private.csv", &(table(200..400) + "wizard,f\n"));
    bench.succeed("schema --public public.csv --out schema.json");
    let schema: Value = serde_json::from_str(&bench.read("schema.json")).unwrap();
    assert_eq!(schema["columns"][0]["other"], "other");
    assert_eq!(schema["columns"][1].get("other"), None, "two frequent values");
    bench.succeed("synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism mst --out out.csv");
}
