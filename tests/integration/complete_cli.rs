//! `jointly sample --complete`: the rows of a table with the columns that it lacks.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Write;

use crate::cli::{Bench, stderr};

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": true, "na": true},
    {"name": "job", "kind": "categorical", "codes": ["none", "nurse", "guard"]}
], "forbidden": [{"age": {"from": 0, "below": 18}, "job": ["nurse", "guard"]}]}"#;

/// A model of people: nurses are women and guards are men; children have no job.
fn bench() -> Bench {
    let bench = Bench::new();
    let mut text = "sex,age,job\n".to_owned();
    for i in 0..3_000_usize {
        let (age, job) = match i % 3 {
            0 => (i % 18, "none"),
            _ => (18 + i % 47, ["nurse", "guard"][i % 2]),
        };
        writeln!(text, "{},{age},{job}", ["f", "m"][i % 2]).unwrap();
    }
    bench.write("people.csv", &text);
    bench.write("schema.json", SCHEMA);
    bench.succeed(
        "synth --private people.csv --schema schema.json --mechanism mst --workload all-2-way --epsilon 50 --delta 1e-6 \
         --out out.csv --model model.json",
    );
    bench
}

#[test]
fn rows_are_completed_from_their_own_values() {
    let bench = bench();
    let mut text = "id,job,age\n".to_owned();
    for i in 0..400 {
        let (job, age) = [("nurse", "30"), ("guard", "64"), ("none", "7")][i % 3];
        writeln!(text, "{i},{job},{age}").unwrap();
    }
    bench.write("partial.csv", &text);
    let complete = "sample --model model.json --complete partial.csv --keep id --seed 3";
    bench.succeed(&format!("{complete} --out full.csv"));
    let full = bench.read("full.csv");
    let mut lines = full.lines();
    assert_eq!(lines.next(), Some("id,job,age,sex"));
    let (mut agree, mut adults) = (0, 0);
    for (line, partial) in lines.by_ref().zip(text.lines().skip(1)) {
        let (own, sex) = line.rsplit_once(',').unwrap();
        assert_eq!(own, partial, "the rows are kept as they are");
        match own.split(',').nth(1) {
            Some("none") => {}
            Some(job) => {
                adults += 1;
                agree += usize::from(sex == if job == "nurse" { "f" } else { "m" });
            }
            None => unreachable!(),
        }
    }
    assert_eq!(full.lines().count(), 401);
    assert!(agree * 100 > adults * 95, "{agree} of {adults}");
    bench.succeed(&format!("{complete} --out again.csv"));
    assert_eq!(bench.read("again.csv"), full);
}

#[test]
fn tables_that_cannot_be_completed_are_refused_with_line_and_column() {
    let bench = bench();
    for (text, message) in [
        ("job,age\n", "without records"),
        (",\n1,2\n", "no attribute of the schema"),
        ("sexx,age\nf,30\n", "line 1: found the unknown column 'sexx' (did you mean 'sex'?)"),
        ("id,age\n1,30\n", "--keep NAMES keeps such columns"),
        (
            "job,age\nnurse,30\nnurse,100\n",
            "line 3, column 'age': found '100', expected a number from 0",
        ),
        ("job\nnurse\nclown\n", "line 3, column 'job': found 'clown'"),
        ("sex,age,job\nf,30,nurse\n", "at least one attribute"),
        // The schema forbids both together.
        ("job,age\nnone,7\nnurse,7\n", "partial.csv, line 3"),
    ] {
        bench.write("partial.csv", text);
        bench.fail("sample --model model.json --complete partial.csv --out full.csv", 3, message);
    }
    bench.write("partial.csv", "job\nnurse\n");
    for flags in ["--rows 5", "--given sex=f", "--draw independent"] {
        let wrong =
            format!("sample --model model.json --complete partial.csv --out full.csv {flags}");
        bench.fail(&wrong, 2, "cannot be used with");
    }
    assert!(!bench.path("full.csv").exists());
}

/// Two values that are each possible, and no record of the model has both: a boy would have no job, and men have one.
#[test]
fn a_contradiction_names_the_row_and_the_column() {
    let bench = Bench::new();
    let schema = SCHEMA.replace(
        "], \"forbidden\": [",
        "], \"forbidden\": [{\"sex\": [\"m\"], \"job\": [\"none\"]}, ",
    );
    bench.write("schema.json", &schema);
    bench.write(
        "people.csv",
        &format!("sex,age,job\n{}", "f,7,none\nm,30,guard\nf,40,nurse\n".repeat(200)),
    );
    bench.succeed(
        "synth --private people.csv --schema schema.json --mechanism mst --workload all-2-way --epsilon 50 --delta 1e-6 \
         --out out.csv --model model.json",
    );
    bench.write("partial.csv", "id,age,sex\n1,7,f\n2,7,m\n");
    bench.fail(
        "sample --model model.json --complete partial.csv --keep id --out full.csv",
        3,
        "partial.csv, line 3, column '",
    );
}

#[test]
fn the_page_of_an_evaluation_is_marked_as_private() {
    let bench = bench();
    bench.write("made.csv", "sex,age,job\nf,30,nurse\nm,7,none\nm,8,none\n");
    let found = bench.succeed(
        "evaluate --private people.csv --synthetic made.csv --schema schema.json --workload all-2-way --report page.html \
         --measures unique-matches --by sex",
    );
    assert!(found.starts_with("NOT PRIVATE"));
    let page = bench.read("page.html");
    for text in [
        "PRIVATE, NOT FOR RELEASE",
        "made.csv (synthetic) beside people.csv (real)",
        "Unique real records",
        "The worst pairs of columns",
        "Numeric columns",
    ] {
        assert!(page.contains(text), "{text}");
    }
    assert!(!page.contains("http") && !page.contains("<script"), "the page needs no other file");
    bench.fail(
        "evaluate --private people.csv --synthetic made.csv --schema schema.json --report people.csv",
        2,
        "--report",
    );
}

const SYNTH: &str = "synth --private people.csv --schema schema.json --mechanism mst --workload all-2-way --epsilon 50 --delta 1e-6";

/// A run completes the rows of a file. Its report and its measured errors are those of the completed rows.
#[test]
fn a_run_completes_released_rows() {
    let bench = bench();
    let mut text = "number,job,age\n".to_owned();
    for i in 0..400 {
        let (job, age) = [("nurse", "30"), ("guard", "64"), ("guard", "64"), ("none", "7")][i % 4];
        writeln!(text, "{i},{job},{age}").unwrap();
    }
    bench.write("rows.csv", &text);
    let run = format!("{SYNTH} --complete rows.csv --keep-columns number --seed 3");
    let said =
        stderr(&bench.run(&format!("{run} --out full.csv --model own.json --report page.html")));
    let full = bench.read("full.csv");
    assert!(full.starts_with("number,job,age,sex\n"));
    for (line, partial) in full.lines().zip(text.lines()).skip(1) {
        let (own, sex) = line.rsplit_once(',').unwrap();
        assert_eq!(own, partial, "the rows are kept as they are");
        assert!(
            own.ends_with(",7") || sex == if own.contains("nurse") { "f" } else { "m" },
            "{line}"
        );
    }
    assert!(said.contains("would have to change their cell"), "{said}");
    let page = bench.read("page.html");
    assert!(page.contains("the rows of rows.csv, whose age, job were given"));
    // Half of the rows are guards, and a third of the people.
    let ledger: serde_json::Value =
        serde_json::from_str(&bench.read("full.csv.ledger.json")).unwrap();
    let errors = ledger["errors"]["marginals"].as_array().unwrap();
    let of = |names: &[&str]| {
        let error = errors.iter().find(|error| {
            let own = error["clique"].as_array().unwrap();
            own.iter().map(|name| name.as_str().unwrap()).eq(names.iter().copied())
        });
        error.unwrap()["measured"]["estimate"].as_f64().unwrap()
    };
    assert!(of(&["age", "job"]) > 0.1, "{errors:?}");
    // The same model, as a run that draws records makes, but for these errors.
    bench.succeed(&format!("{SYNTH} --seed 3 --out drawn.csv --model drawn.json"));
    let model =
        |name: &str| -> serde_json::Value { serde_json::from_str(&bench.read(name)).unwrap() };
    let (own, drawn) = (model("own.json"), model("drawn.json"));
    assert_eq!(own["factors"], drawn["factors"]);
    assert!(drawn["accuracy"]["errors"].as_array().is_some_and(|errors| !errors.is_empty()));
    assert!(own["accuracy"]["errors"].as_array().is_none_or(Vec::is_empty));
}

/// A list has no record for most combinations: as many values as possible count, and the rules hold.
#[test]
fn a_list_completes_rows_that_nobody_has() {
    let bench = bench();
    bench.write("public.csv", "sex,age,job\nf,30,nurse\nm,64,guard\nf,7,none\nm,70,none\n");
    bench.write("rows.csv", "age,job\n70,guard\n30,nurse\n7,none\n");
    let run =
        SYNTH.replace("--mechanism mst", "--mechanism pmw-pub --rounds 3 --public public.csv");
    let told = stderr(&bench.run(&format!("{run} --complete rows.csv --seed 3 --out full.csv")));
    assert!(told.contains("completed rows: 3; values of theirs left out of account, as the model has no record with them and the others: 1"), "{told}");
    assert_eq!(
        bench.read("full.csv").lines().skip(2).collect::<Vec<_>>(),
        ["30,nurse,f", "7,none,f"]
    );
}

#[test]
fn runs_that_cannot_complete_rows_are_refused_before_they_spend() {
    let bench = bench();
    let run = |flags: &str| format!("{SYNTH} --complete rows.csv --out full.csv {flags}");
    for (text, message) in [
        ("number,job\n1,nurse\n", "others to keep; --keep-columns NAMES keeps such columns"),
        ("job\nclown\n", "line 2, column 'job': found 'clown'"),
        ("job,age\nnone,7\nnurse,7\n", "line 3"),
        ("sex,age,job\nf,30,nurse\n", "at least one attribute"),
        ("job\n", "without records"),
        // Boys would have no job, and no man has none.
        ("number,age,sex\n1,7,f\n2,7,m\n", "line 3, column '"),
    ] {
        if text.contains("7,m") {
            let rule = "], \"forbidden\": [{\"sex\": [\"m\"], \"job\": [\"none\"]}, ";
            bench.write("schema.json", &SCHEMA.replace("], \"forbidden\": [", rule));
        }
        bench.write("rows.csv", text);
        let keep = if text.contains("number,age") { "--keep-columns number" } else { "" };
        bench.fail(&run(keep), 3, message);
    }
    bench.write("schema.json", SCHEMA);
    bench.write("rows.csv", "job\nnurse\n");
    for (flags, message) in [
        ("--rows 5", "--complete cannot go with --rows"),
        ("--tables 3", "--complete cannot go with --tables"),
        ("--compress 0.1", "--complete cannot go with --compress"),
        ("--draw independent", "--complete cannot go with --draw"),
        ("--complete people.csv", "is the private table"),
    ] {
        let command = match flags {
            "--complete people.csv" => run("").replace("rows.csv", "people.csv"),
            _ => run(flags),
        };
        bench.fail(&command, 2, message);
    }
    bench.fail(&format!("{SYNTH} --keep-columns job --out full.csv"), 2, "required arguments");
    assert!(!bench.path("full.csv").exists() && !bench.path("full.csv.ledger.json").exists());
}
