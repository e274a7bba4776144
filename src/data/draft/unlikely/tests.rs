use std::fmt::Write;
use std::fs;

use super::*;
use crate::data::draft_unlikely;

/// Ages in bins with a status and a job: nobody below 15 is married, and who is not asked has no job.
fn rows(people: u32, is_odd: bool) -> String {
    let mut text = String::from("age,married,job\n");
    for i in 0..people {
        let age = i % 60;
        let married = if age >= 15 && i % 7 < 4 { "yes" } else { "no" };
        let job = if age < 15 { "" } else { ["a", "b"][(i % 2) as usize] };
        writeln!(text, "{age},{married},{job}").unwrap();
    }
    if is_odd {
        text.push_str("3,yes,\n");
    }
    text
}

fn schema() -> Schema {
    let json = r#"{ "columns": [
        { "name": "age", "kind": "numeric", "edges": [0, 5, 15, 30, 60], "integer": true },
        { "name": "married", "kind": "categorical", "codes": ["no", "yes"] },
        { "name": "job", "kind": "categorical", "codes": ["a", "b"], "na": true }
    ]}"#;
    Schema::from_json(json, "schema.json").unwrap()
}

fn found(tables: &[String]) -> Schema {
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<_> = (0..tables.len()).map(|n| folder.path().join(format!("{n}.csv"))).collect();
    files.iter().zip(tables).for_each(|(file, text)| fs::write(file, text).unwrap());
    let paths: Vec<&Path> = files.iter().map(AsRef::as_ref).collect();
    draft_unlikely(&schema(), &paths).unwrap().schema
}

#[test]
fn pairs_that_no_row_has_are_found_and_written_as_values() {
    let schema = found(&[rows(3_000, false)]);
    let json = schema.to_json().unwrap();
    let again = Schema::from_json(&json, "schema.json").unwrap();
    assert_eq!(again, schema);
    let of = |names: [&str; 2]| {
        let own =
            |combination: &&Combination| combination.iter().map(|(n, _)| n.as_str()).eq(names);
        schema
            .unlikely()
            .iter()
            .find(own)
            .map(|combination| (combination[0].1.clone(), combination[1].1.clone()))
    };
    assert_eq!(of(["age", "married"]), Some((vec![0, 1], vec![1])));
    // Missing from 15 on, and jobs before: two combinations, of which one is the first.
    let jobs = schema.unlikely().iter().filter(|c| c[0].0 == "age" && c[1].0 == "job");
    assert_eq!(jobs.count(), 2);
    assert!(
        json.contains(r#"{"values":{"age":{"from":0,"below":15},"married":["yes"]},"expected":"#),
        "{json}"
    );
    assert_eq!(schema.avoided().len(), 3);
}

#[test]
fn one_row_is_enough_to_contradict_and_few_are_not_enough_to_say() {
    let schema = found(&[rows(3_000, false), rows(600, true)]);
    let married = schema.unlikely().iter().find(|c| c[0].0 == "age" && c[1].0 == "married");
    assert_eq!(married.map(|c| c[0].1.clone()), Some(vec![1]), "a child of 3 is married");
    // Of 200 rows, 14 would be married below 15 by chance.
    assert!(!found(&[rows(60, false)]).unlikely().iter().any(|c| c[1].0 == "married"));
    assert!(found(&[rows(10, false)]).unlikely().is_empty());
}

#[test]
fn tables_that_lack_an_attribute_say_nothing_about_it() {
    let text = rows(3_000, false);
    let lines: Vec<&str> = text.lines().map(|line| line.rsplit_once(',').unwrap().0).collect();
    let text = lines.join("\n") + "\n";
    let schema = found(&[text]);
    assert!(schema.unlikely().iter().all(|c| c[1].0 == "married"));
    assert_eq!(schema.unlikely().len(), 1);
}

#[test]
fn earlier_ones_are_replaced() {
    let json = schema().to_json().unwrap();
    let json = json.replacen("\"columns\"", "\"unlikely\": [{\"values\": {\"age\": [{\"from\": 30, \"below\": 60}], \"job\": [\"a\"]}}], \"columns\"", 1);
    let before = Schema::from_json(&json, "schema.json").unwrap();
    assert_eq!(before.unlikely(), [vec![("age".to_owned(), vec![3]), ("job".to_owned(), vec![0])]]);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("public.csv");
    fs::write(&file, rows(10, false)).unwrap();
    assert!(draft_unlikely(&before, &[&file]).unwrap().schema.unlikely().is_empty());
}
