//! `jointly fit`: a model, rows and tables from tables of counts, through the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::cli::{Bench, stderr};

const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "kind": "categorical", "codes": ["1", "2"], "labels": ["owns", "rents"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100]},
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"]}
]}"#;

/// Tables that one population of 3,600 people has.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("schema.json", SCHEMA);
    bench.write("tenure.csv", "people,tenure\n2400,owns\n1200,rents\n");
    bench.write(
        "age.csv",
        "age,sex,n\n0 to 17,1,400\n0,2,300\n30,1,1100\n40,2,1000\n70,1,500\n80,2,300\n",
    );
    bench.write(
        "both.csv",
        "tenure,age,n\n1,0,355\n2,0,345\n1,20,1400\n2,20,700\n1,70,645\n2,70,155\n",
    );
    bench.write("rare.csv", "tenure,sex,n\n1,1,1380\n1,2,1020\n2,1,620\n2,2,*\n");
    bench
}

/// How often each pair of values occurs in two columns.
fn counts(table: &str, first: &str, second: &str) -> BTreeMap<(String, String), f64> {
    let header: Vec<&str> = table.lines().next().unwrap().split(',').collect();
    let at = |name: &str| header.iter().position(|column| *column == name);
    let (first, second, weight) = (at(first).unwrap(), at(second).unwrap(), at("weight"));
    let mut found = BTreeMap::new();
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let key = (cells[first].to_owned(), cells[second].to_owned());
        *found.entry(key).or_default() +=
            weight.map_or(1.0, |at| cells[at].parse::<f64>().unwrap());
    }
    found
}

/// The counts by tenure and class of age.
fn by_age(table: &str) -> Vec<f64> {
    let mut found = vec![0.0; 6];
    for ((tenure, age), count) in counts(table, "tenure", "age") {
        let age: f64 = age.parse().unwrap();
        let class = usize::from(age >= 18.0) + usize::from(age >= 65.0);
        found[3 * usize::from(tenure == "2") + class] += count;
    }
    found
}

const FIT: &str = "fit --schema schema.json --totals tenure.csv --totals age.csv --rounded 10:both.csv --suppressed 700:rare.csv";

#[test]
fn rows_have_published_tables_and_are_within_rounded_ones() {
    let bench = bench();
    let files = "--out out.csv --model model.json --fitted fitted.csv --report page.html";
    let text = bench.succeed(&format!("{FIT} --seed 1 {files}"));
    assert!(
        text.contains(
            "made from public tables alone: nothing in it was computed from private records"
        ),
        "{text}"
    );
    assert!(text.contains("every exact count is that of the records"), "{text}");
    assert!(text.contains("tenure") && text.contains("exact, public; all met"), "{text}");
    let rows = bench.read("out.csv");
    assert_eq!(rows.lines().count(), 3601);
    let renters: f64 = by_age(&rows)[3..].iter().sum();
    assert!((renters - 1200.0).abs() < 1e-9, "{renters}");
    // 355 to 345, each five more or less, where 700 are known: rows may be off by a few more.
    let wanted = [355.0, 1400.0, 645.0, 345.0, 700.0, 155.0];
    assert!(
        by_age(&rows).iter().zip(wanted).all(|(found, wanted)| (found - wanted).abs() <= 8.0),
        "{:?}",
        by_age(&rows)
    );

    // The tables with the fitted counts.
    let fitted = bench.read("fitted.csv");
    let mut lines = fitted.lines();
    assert_eq!(
        lines.next().unwrap(),
        "table,number,attribute_1,value_1,attribute_2,value_2,least,most,stddev,origin,fitted"
    );
    assert_eq!(lines.count(), 2 + 6 + 6 + 4);
    for line in fitted.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number = |at: usize| cells[at].parse::<f64>().unwrap();
        assert!(number(10) > number(6) - 0.2 && number(10) < number(7) + 0.2, "{line}");
    }

    // The page has every file, and the command without folders.
    let page = bench.read("page.html");
    for part in [
        "Made from public tables alone: nothing in it was computed from private records.",
        ">tenure</td><td class=\"words\">exact, public</td>",
        ">rare</td><td class=\"words\">suppressed, public</td>",
        "<b>3,600</b>",
        "18 counts; of a range its middle",
        "jointly fit --schema schema.json --totals tenure=tenure.csv --totals age=age.csv --rounded 10:both.csv --suppressed 700:rare.csv",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("NOT"), "{page}");

    // The model answers, and draws.
    let answer: Value =
        serde_json::from_str(&bench.succeed("ask --model model.json --share tenure=2 --json"))
            .unwrap();
    let share = answer["answers"][0]["rows"][0]["answer"].as_f64().unwrap();
    assert!((share - 1.0 / 3.0).abs() < 1e-6, "{answer}");
    bench.succeed("sample --model model.json --rows 50 --out more.csv");

    // The same with JSON; without an output nothing is written.
    let found: Value = serde_json::from_str(&bench.succeed(&format!("{FIT} --json"))).unwrap();
    assert_eq!((&found["total"], &found["private"]), (&3600.0.into(), &true.into()));
    assert_eq!(found["groups"].as_array().unwrap().len(), 4);
}

#[test]
fn the_same_seed_draws_the_same_rows() {
    let bench = bench();
    for name in ["one.csv", "two.csv"] {
        bench.succeed(&format!("{FIT} --seed 5 --rows 100 --out {name}"));
    }
    assert_eq!(bench.read("one.csv"), bench.read("two.csv"));
    assert_eq!(bench.read("one.csv").lines().count(), 101);
}

#[test]
fn public_records_get_weights_under_which_tables_hold() {
    let bench = bench();
    let mut public = String::from("tenure,age,sex\n");
    for i in 0..500_u32 {
        // Nobody of 65 rents.
        let age = i * 37 % 100;
        _ = writeln!(public, "{},{age},{}", if age < 65 { 1 + i % 2 } else { 1 }, 1 + i / 3 % 2);
    }
    bench.write("public.csv", &public);
    let tables =
        "fit --schema schema.json --totals tenure.csv --totals age.csv --public public.csv";
    bench.succeed(&format!("{tables} --emit weighted --out out.csv"));
    let rows = bench.read("out.csv");
    let owners: f64 = by_age(&rows)[..3].iter().sum();
    assert!((owners - 2400.0).abs() < 1e-3, "{owners}");
    assert!(rows.lines().count() < 502, "each record once");
    bench.succeed(&format!("{tables} --out all.csv --seed 1"));
    let owners: f64 = by_age(&bench.read("all.csv"))[..3].iter().sum();
    assert!((owners - 2400.0).abs() < 1e-9, "{owners}");
    bench.fail(&format!("{FIT} --emit weighted --out no.csv"), 2, "--emit weighted needs --public");
}

/// People of whom a third rents.
fn private(records: u32) -> String {
    let mut text = String::from("tenure,age,sex\n");
    for i in 0..records {
        let tenure = 1 + u32::from(i.is_multiple_of(3));
        _ = writeln!(text, "{tenure},{},{}", i * 31 % 100, 1 + i / 7 % 2);
    }
    text
}

/// A run with measurements, and what `fit` makes of them.
#[test]
fn measurements_of_a_run_are_fitted_again_for_what_its_ledger_promised() {
    let bench = bench();
    bench.write("private.csv", &private(3000));
    let synth = "synth --private private.csv --schema schema.json --workload all-2-way --mechanism aim --epsilon 2 --delta 1e-6 \
        --out out.csv --ledger ledger.json --measurements m.csv";
    bench.succeed(synth);
    let fit = "fit --schema schema.json --measurements m.csv";
    bench.fail(fit, 3, "no ledger that paid for them");
    let said: Value =
        serde_json::from_str(&bench.succeed(&format!("{fit} --ledger ledger.json --json")))
            .unwrap();
    let guarantee = said["guarantee"].as_str().unwrap();
    assert!(
        guarantee.starts_with("(2, 1e-6)-differentially private for one record (replace-one): "),
        "{guarantee}"
    );
    assert_eq!(said["private"], true);
    let rms = said["groups"][0]["rms"].as_f64().unwrap();
    assert!(rms > 0.2 && rms < 1.5, "{rms}");
    assert!((said["total"].as_f64().unwrap() - 3000.0).abs() < 200.0, "{said}");

    // Nobody says that measurements without a source are public, and no ledger pays for counts without noise.
    let text = bench.read("m.csv");
    let unsaid = text.lines().map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n");
    bench.write("unsaid.csv", &unsaid.collect::<String>());
    let unsaid = "fit --schema schema.json --measurements unsaid.csv";
    bench.fail(unsaid, 3, "no ledger that paid for them");
    bench.write(
        "plain.csv",
        "measurement,attribute_1,value_1,count,stddev,source\n1,sex,1,9,0,private\n",
    );
    let plain = "fit --schema schema.json --measurements plain.csv --ledger ledger.json";
    bench.fail(plain, 3, "counts of a private table without noise");

    // Cleared by hand, it promises nothing; nor with the noise of a fixed seed.
    let cleared = bench.run(&format!("{fit} --cleared m --model model.json"));
    let said = String::from_utf8_lossy(&cleared.stdout).into_owned();
    assert!(said.starts_with("NOT differentially private: m came from private records"), "{said}");
    assert!(stderr(&cleared).contains("warning: NOT differentially private"));
    let asked = bench.run("ask --model model.json --share tenure=2");
    assert!(stderr(&asked).contains("the model is NOT PRIVATE"), "{}", stderr(&asked));
    bench.succeed(&format!("{synth} --seed 1"));
    let seeded = bench.succeed(&format!("{fit} --ledger ledger.json --report page.html"));
    let page = bench.read("page.html");
    assert!(
        page.contains("NOT PRIVATE: the noise of the measurements came from a fixed seed"),
        "{page}"
    );
    assert!(page.contains("(sd)</td>") && page.contains("noisy, paid by the ledger"), "{page}");
    assert!(seeded.starts_with("NOT PRIVATE: the noise"), "{seeded}");
}

#[test]
fn an_invariant_in_the_ledger_stays_with_the_fit() {
    let bench = bench();
    bench.write("private.csv", &private(3600));
    bench.succeed(
        "synth --private private.csv --schema schema.json --workload all-2-way --mechanism independent --epsilon 2 --delta 1e-6 \
         --invariants kept=tenure.csv --out out.csv --ledger ledger.json --measurements m.csv --model m.json",
    );
    let said = bench.succeed(
        "fit --schema schema.json --measurements m.csv --ledger ledger.json --model fitted.json",
    );
    assert!(
        said.starts_with("among private tables that share kept, (2, 1e-6)-differentially private"),
        "{said}"
    );
    // And with every model that is made from it.
    for model in ["m.json", "fitted.json"] {
        for command in ["ask --share sex=1 --json --model", "sample --rows 10 --out - --model"] {
            let output = bench.run(&format!("{command} {model}"));
            let said = stderr(&output);
            assert!(output.status.success(), "{said}");
            assert!(
                said.contains("guarantee holds only among private tables that share kept, which"),
                "{command} {model}: {said}"
            );
        }
        let text = bench.succeed(&format!("ask --share sex=1 --json --model {model}"));
        let answers: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(answers["conditional_on"], serde_json::json!(["kept"]));
    }
    bench.succeed("fit --schema schema.json --totals tenure.csv --model public.json");
    let said = stderr(&bench.run("ask --share sex=1 --model public.json"));
    assert!(!said.contains("guarantee"), "{said}");
}

#[test]
fn tables_that_contradict_one_another_are_named() {
    let bench = bench();
    bench.write("other.csv", "sex,n\n1,2000\n2,1650\n");
    bench.write("shifted.csv", "sex,n\n1,1900\n2,1700\n");
    bench.write("more.csv", "tenure,n\n1,2400\n2,1300\n");
    bench.write("text.csv", "sex,n\n1,many\n2,3\n");
    for (words, wanted, code) in [
        ("--totals age.csv --totals other.csv", "expected 3600, as in the totals of age x sex", 3),
        (
            "--totals age.csv --totals shifted.csv",
            "1900 records in sex 0, expected 2000, as in the totals of age x sex",
            3,
        ),
        ("--totals tenure.csv --totals more.csv", "given twice", 3),
        ("--totals tenure.csv --total 3000", "3000, expected 3600, as in the exact tables", 3),
        ("--totals tenure.csv --totals tenure=age.csv", "'tenure' twice", 3),
        ("--totals tenure.csv --cleared nobody", "'nobody', expected names of tables: tenure", 3),
        ("--rounded tenure.csv", "expected BASE:[NAME=]FILE", 3),
        ("--rounded 0:tenure.csv", "a whole number of at least 1 before the colon", 3),
        ("--rounded random-x:tenure.csv", "a whole number of at least 1 before the colon", 3),
        ("--rounded 5:text.csv", "line 2, column 'n'", 3),
        ("--rounded random-3:text.csv", "line 2, column 'n'", 3),
        ("", "no table, expected at least one", 3),
        ("--totals age.csv --size-limit-mib 1e-9", "the graphical model of these tables", 3),
        ("--totals age.csv --size-limit-mib -1", "--size-limit-mib is -1", 2),
        ("--totals age.csv --rows 0", "--rows is 0", 2),
        ("--totals age.csv --out -", "standard output has the summary", 2),
        ("--totals age.csv --out age.csv", "is the file of", 2),
        ("--rounded 10:tenure.csv --rounded 10:again=more.csv", "1295 to 1305 in tenure 1", 3),
    ] {
        let command = format!("fit --schema schema.json {words}");
        bench.fail(&command, code, wanted);
    }
    // Impossible with the schema's rules.
    let rules =
        SCHEMA.replacen('{', r#"{"forbidden": [{"tenure": ["2"], "age": {"below": 18}}], "#, 1);
    bench.write("rules.json", &rules);
    bench.write("third.csv", "tenure,n\n1,100\n2,3500\n");
    bench.fail("fit --schema rules.json --totals age.csv --totals third.csv", 3, "the totals of");
}
