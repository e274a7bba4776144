//! Replicates of a released table, and what `combine` makes of them.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;

use crate::cli::{Bench, stderr};

const SYNTH: &str = "synth --private people.csv --schema people.json --mechanism mst --epsilon 8 --delta 1e-6 \
                     --error-share 0.1 --seed 3";

/// A folder with a private table: pay depends on age, region on nothing.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write(
        "people.json",
        r#"{"na_token": "NA", "columns": [
            {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["f", "m"]},
            {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 18, 30, 65, 99], "integer": true},
            {"name": "pay", "role": "attribute", "kind": "categorical", "codes": ["low", "high"]},
            {"name": "region", "role": "attribute", "kind": "categorical", "codes": ["n", "s", "w"]}
        ]}"#,
    );
    let row = |i: u32| {
        let age = i * 7 % 99;
        let is_high = i % 10 < if age < 30 { 2 } else { 7 };
        let pay = if is_high { "high" } else { "low" };
        format!(
            "{},{age},{pay},{}",
            ["f", "m"][(i / 11 % 2) as usize],
            ["n", "s", "w"][(i / 7 % 3) as usize]
        )
    };
    let rows: Vec<String> = (0..3000).map(row).collect();
    bench.write("people.csv", &format!("sex,age,pay,region\n{}\n", rows.join("\n")));
    bench
}

fn json(bench: &Bench, command: &str) -> Value {
    serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap()
}

#[test]
fn replicates_change_neither_the_table_nor_its_ledger() {
    let bench = bench();
    bench
        .succeed(&format!("{SYNTH} --out alone.csv --model alone.json --ledger alone.ledger.json"));
    bench.succeed(&format!(
        "{SYNTH} --tables 3 --out with.csv --model with.json --ledger with.ledger.json --report page.html"
    ));
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    assert_eq!(read("alone.csv"), read("with.csv"));
    assert_eq!(read("alone.json"), read("with.json"));
    let ledger = |name: &str| -> Value { serde_json::from_str(&read(name)).unwrap() };
    let (alone, with) = (ledger("alone.ledger.json"), ledger("with.ledger.json"));
    assert_eq!(alone["ledger"], with["ledger"]);
    assert!(alone["ledger"]["entries"].as_array().unwrap().len() > 1);
    assert_eq!(with["replicates"]["tables"], 3);
    assert_eq!(alone["replicates"], Value::Null);
    let tables: Vec<String> =
        (1..=3).map(|number| read(&format!("with.replicate-{number}.csv"))).collect();
    for (i, table) in tables.iter().enumerate() {
        assert_eq!(table.lines().count(), 3001);
        assert!(*table != read("with.csv") && !tables[..i].contains(table), "replicate {}", i + 1);
    }
    assert_eq!(with["replicates"]["rho"], 0);
    assert!(read("page.html").contains("3, made from the released table at no privacy cost"));
}

#[test]
fn combine_gives_intervals_to_what_was_measured_and_bounds_to_the_rest() {
    let bench = bench();
    bench.succeed(&format!("{SYNTH} --tables 4 --out out.csv --model model.json"));
    let combine = "combine --model model.json --synthetic out.csv --tables 4";
    let found = json(
        &bench,
        &format!("{combine} --share sex=m --mean age --share sex=m,age=0..17,pay=low,region=n"),
    );
    let number = |i: usize| &found["statistics"][i]["numbers"][0];
    assert_eq!(number(0)["support"], "measured");
    let ends = ["lower", "upper"].map(|end| number(0)["combined"][end].as_f64().unwrap());
    assert!(ends[0] < 0.5 && 0.5 < ends[1] && ends[1] - ends[0] < 0.1, "{ends:?}");
    assert_eq!(number(0)["combined"]["method"], "measurements");
    assert_eq!(number(0)["replicates"].as_array().unwrap().len(), 4);
    // Four attributes: no measured marginal holds them, nor any of the workload.
    assert_eq!(number(1)["support"], "model");
    assert_eq!((&number(1)["combined"], &number(1)["bound"]), (&Value::Null, &Value::Null));
    // Text, for the population: wider, and never an interval for what is not supported.
    let wider = json(&bench, &format!("{combine} --population --share sex=m"));
    let wide = &wider["statistics"][0]["numbers"][0]["combined"];
    let width = wide["upper"].as_f64().unwrap() - wide["lower"].as_f64().unwrap();
    assert!(width > ends[1] - ends[0], "{width}");
    let command = format!("{combine} --difference sex=m:region=n|vs|region=s");
    assert!(!bench.run(&command).status.success());
}

#[test]
fn replicates_that_cannot_be_are_refused_before_anything_is_spent() {
    let bench = bench();
    for (flags, expected) in [
        ("--tables 1 --out out.csv", "--tables is 1, expected from 2 to 1000"),
        (
            "--tables 3 --rows 50 --out out.csv",
            "a replicate repeats the run on a table of the same size",
        ),
        ("--tables 3 --out -", "replicates are files beside the table"),
        ("--tables 3 --out out.csv --model out.replicate-2.csv", "out.replicate-2.csv"),
    ] {
        let done = bench.run(&format!("{SYNTH} {flags}"));
        assert_eq!(done.status.code(), Some(2), "{flags}: {}", stderr(&done));
        assert!(stderr(&done).contains(expected), "{flags}: {}", stderr(&done));
        assert!(!bench.path("out.csv").exists());
    }
    let missing = bench.run("combine --model no.json --synthetic no.csv --share sex=m");
    assert_eq!(missing.status.code(), Some(1), "{}", stderr(&missing));
}

#[test]
fn statistics_of_any_mechanism_have_intervals_without_replicates() {
    let bench = bench();
    for mechanism in ["residual-planner", "hdmm", "mst"] {
        bench.succeed(&format!(
            "{} --model {mechanism}.json --out {mechanism}.csv",
            SYNTH.replace("mst", mechanism)
        ));
        let found = bench.succeed(&format!(
            "combine --model {mechanism}.json --synthetic {mechanism}.csv --share sex=m --json"
        ));
        let found: serde_json::Value = serde_json::from_str(&found).unwrap();
        let share = &found["statistics"][0]["numbers"][0];
        assert_eq!(share["support"], "measured", "{mechanism}");
        assert_eq!(share["combined"]["method"], "measurements", "{mechanism}");
        // The same number and interval as ask has.
        let asked = bench.succeed(&format!("ask --model {mechanism}.json --share sex=m --json"));
        let asked: serde_json::Value = serde_json::from_str(&asked).unwrap();
        let row = &asked["answers"][0]["rows"][0];
        let number = |value: &serde_json::Value| value.as_f64().unwrap();
        for (one, other) in [
            (&row["answer"], &share["combined"]["estimate"]),
            (&row["answer_interval"]["lower"], &share["combined"]["lower"]),
            (&row["answer_interval"]["upper"], &share["combined"]["upper"]),
        ] {
            assert!((number(one) - number(other)).abs() < 1e-9, "{mechanism}: {row} {share}");
        }
    }
}

#[test]
fn posterior_tables_are_files_for_other_software_and_intervals_in_combine() {
    let bench = bench();
    let synth = SYNTH.replace("mst", "residual-planner --workload all-2-way");
    let synth = synth.replace("--error-share 0.1 ", "");
    bench.succeed(&format!("{synth} --model model.json --out out.csv"));
    let draw = "posterior --model model.json --tables 3 --seed 5";
    bench.succeed(&format!("{draw} --columns sex,age,pay --out drawn.csv"));
    let read = |name: &str| std::fs::read_to_string(bench.path(name)).unwrap();
    let tables: Vec<String> =
        (1..=3).map(|number| read(&format!("drawn.posterior-{number}.csv"))).collect();
    for table in &tables {
        assert_eq!((table.lines().next(), table.lines().count()), (Some("sex,age,pay"), 3001));
    }
    assert!(tables[0] != tables[1] && tables[1] != tables[2]);
    bench.succeed(&format!("{draw} --columns pay,sex,age --out again.csv"));
    assert_eq!(read("again.posterior-2.csv"), tables[1]);
    for (flags, code, expected) in [
        ("--columns sex,town --out other.csv", 3, "unknown attribute 'town'"),
        ("--columns sex --out other.csv", 3, "expected 2 to 12 of them"),
        ("--columns sex,age --out -", 2, "--out is -, expected a file"),
        ("--columns sex,age --tables 1 --out other.csv", 2, "--tables"),
    ] {
        let done = bench.run(&format!("{draw} {flags}"));
        assert_eq!(done.status.code(), Some(code), "{flags}: {}", stderr(&done));
        assert!(stderr(&done).contains(expected), "{flags}: {}", stderr(&done));
        assert!(!bench.path("other.posterior-1.csv").exists());
    }
    let combine = "combine --model model.json --synthetic out.csv --logistic pay=high~age+sex=m";
    let without = json(&bench, combine);
    let number = |found: &Value, i: usize| found["statistics"][0]["numbers"][i].clone();
    assert_eq!(number(&without, 1)["combined"], Value::Null);
    let with = json(&bench, &format!("{combine} --posterior 10 --seed 1"));
    for coefficient in 0..3 {
        let found = number(&with, coefficient);
        assert_eq!(found["combined"]["method"], "posterior");
        let ends = ["lower", "upper"].map(|end| found["combined"][end].as_f64().unwrap());
        assert!(ends[0] < ends[1] && ends[1] - ends[0] < 2.0, "{ends:?}");
    }
    // Pay depends on age, and not on sex.
    assert!(number(&with, 1)["p_value"].as_f64().unwrap() < 1e-3);
    let text = bench.succeed(&format!("{combine} --posterior 10 --seed 1"));
    assert_eq!(text.matches("; from posterior tables; ").count(), 3, "{text}");
    assert!(text.ends_with("90 to 98 % of them covered.\n"), "{text}");
    bench.fail(&format!("{combine} --posterior 1"), 2, "--posterior is 1, expected from 2 to 1000");
    let alone = bench.run(&format!("{combine} --seed 1"));
    assert_eq!(alone.status.code(), Some(2), "{}", stderr(&alone));
    assert!(stderr(&alone).contains("--posterior <M>"), "{}", stderr(&alone));
}
