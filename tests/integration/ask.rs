//! `jointly ask` and `sample --given`: questions to a saved model.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;

use crate::cli::{Bench, stderr};

/// A folder with a model of three columns.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.write(
        "people.json",
        r#"{"na_token": "NA", "columns": [
            {"name": "sex", "role": "attribute", "kind": "categorical", "na": false, "codes": ["f", "m"],
             "labels": ["female", "male"]},
            {"name": "age", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 18, 30, 65, 99],
             "integer": true},
            {"name": "region", "role": "attribute", "kind": "categorical", "na": false, "codes": ["n", "s", "w"]}
        ]}"#,
    );
    let rows: Vec<String> = (0..900_u32)
        .map(|i| {
            let age = if i % 30 == 0 { "NA".to_owned() } else { (i * 7 % 99).to_string() };
            format!(
                "{},{age},{}",
                ["f", "m", "m"][(i % 3) as usize],
                ["n", "s", "w"][(i / 7 % 3) as usize]
            )
        })
        .collect();
    bench.write("people.csv", &format!("sex,age,region\n{}\n", rows.join("\n")));
    bench.succeed(
        "synth --private people.csv --schema people.json --mechanism mst --epsilon 5 --delta 1e-6 --out out.csv \
         --model model.json",
    );
    bench
}

fn json(bench: &Bench, command: &str) -> Value {
    serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap()
}

#[test]
fn a_model_answers_as_its_own_marginals_do() {
    let bench = bench();
    let ask = "ask --model model.json";
    let whole = json(&bench, &format!("{ask} --marginal sex,region --share sex=m --median age"));
    assert_eq!(whole["private"], true);
    let rows = whole["answers"][0]["rows"].as_array().unwrap();
    assert_eq!((rows.len(), rows[4]["values"][0].as_str()), (6, Some("m (male)")));
    let number = |value: &Value| value.as_f64().unwrap();
    let men: f64 = rows[3..].iter().map(|row| number(&row["answer"])).sum();
    assert!((number(&whole["answers"][1]["rows"][0]["answer"]) - men).abs() < 1e-9);
    assert!((men - 2.0 / 3.0).abs() < 0.1);
    // Given is by another way: the expected records, and the same counts, those of the model and measured ones.
    let given = json(&bench, &format!("{ask} --marginal region --given sex=m"));
    let of_model = |row: &Value| number(&row.get("model").unwrap_or(row)["count"]);
    let expected: f64 = rows[3..].iter().map(of_model).sum();
    let records = number(&given["records"]);
    assert!((records - expected).abs() < 1e-6 * records);
    let is_measured = rows[3]["basis"] == "measured";
    for (given, row) in given["answers"][0]["rows"].as_array().unwrap().iter().zip(&rows[3..]) {
        assert!((of_model(given) - of_model(row)).abs() < 1e-6 * records);
        assert_eq!(given.get("model").is_some(), is_measured, "{given}");
        assert!((number(&given["count"]) - number(&row["count"])).abs() < 1e-6 * records);
    }
    let by = json(&bench, &format!("{ask} --marginal region --by sex"));
    let third = &by["answers"][0]["rows"][3];
    assert_eq!(third["group"][0], "m (male)");
    assert!((number(&third["answer"]) * men - number(&rows[3]["answer"])).abs() < 1e-9);
}

#[test]
fn answers_are_printed_as_text_and_csv() {
    let bench = bench();
    let text = bench.succeed("ask --model model.json --mean age --quantile age=0.9 --by sex");
    assert!(text.contains("mean of age, by sex:") && text.contains("f (female)"), "{text}");
    let table = bench.succeed("ask --model model.json --marginal age --by sex --csv");
    let header = "question,sex,values,records,answer,basis,lower,upper,answer_lower,answer_upper,stddev,answer_stddev,grade\n";
    assert!(table.starts_with(header), "{table}");
    assert_eq!(table.lines().count(), 1 + 2 * 5);
    // What a count rests on, and its interval.
    let last: Vec<&str> = table.lines().last().unwrap().rsplit(',').skip(5).take(3).collect();
    assert!(["measured", "model"].contains(&last[2]), "{table}");
    assert!(last[1].is_empty() == (last[2] == "model"), "no error was measured: {table}");
    assert!(table.contains("share of each age,m (male),65 to 98,"), "{table}");
    bench.fail("ask --model model.json", 2, "required");
    bench.fail("ask --model model.json --mean sex", 3, "a numeric column or a date");
    bench.fail("ask --model model.json --quantile age", 2, "such as INCOME=0.9");
    bench.fail(
        "ask --model model.json --mean age --given age=120",
        3,
        "numbers from 0 to below 99",
    );
}

#[test]
fn questions_may_cut_bins() {
    let bench = bench();
    let whole = "ask --model model.json --mean age --quantile age=0.99 --share age=20..40";
    let found = json(&bench, &format!("{whole} --given age=20..40"));
    assert_eq!(found["cut_bins"], serde_json::json!(["age: 18 to 29", "age: 30 to 64"]));
    let rows = |answer: usize| &found["answers"][answer]["rows"][0];
    let number = |value: &Value| value.as_f64().unwrap();
    let mean = number(&rows(1)["answer"]);
    assert!((27.0..33.0).contains(&mean), "{found}");
    assert!((number(&rows(2)["answer"]) - 40.0).abs() < 1e-9, "the largest age");
    assert!((number(&rows(0)["answer"]) - 1.0).abs() < 1e-9, "all of them");
    // The records that are given, by another way, and with the bins that are cut.
    let other = json(&bench, whole);
    let share = &other["answers"][0];
    let of_model = &share["rows"][0]["model"]["count"];
    assert!((number(of_model) - number(&found["records"])).abs() < 1e-6);
    assert_eq!(share["cut_bins"], found["cut_bins"]);
    let interval = &share["rows"][0]["interval"];
    // At least none, and at most all records of 18 to 64.
    assert_eq!(number(&interval["lower"]).to_bits(), 0.0_f64.to_bits());
    let adults = json(&bench, "ask --model model.json --share age=18..64");
    assert!(number(&interval["upper"]) >= number(&adults["answers"][0]["rows"][0]["count"]));
    let text = bench.succeed(&format!("{whole} --given age=20..40"));
    assert!(text.contains("--given cuts bins (age: 18 to 29, age: 30 to 64)"), "{text}");
    // What is drawn agrees with what is given.
    bench.succeed("sample --model model.json --given age=20..40 --rows 300 --out given.csv");
    let given = bench.read("given.csv");
    let ages: Vec<u32> = given
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(1).unwrap().parse().unwrap())
        .collect();
    assert!(ages.len() == 300 && ages.iter().all(|age| (20..41).contains(age)), "{given}");
    // Intervals of statistics are about bins.
    bench.fail(
        "combine --model model.json --synthetic out.csv --share age=20..40",
        3,
        "cuts the bin 18 to 29 and the bin 30 to 64",
    );
}

/// A model that starts from public tables says which, and a graph without them does not.
#[test]
fn public_tables_that_a_model_starts_from_are_named() {
    let small = "--rounds 2 --components 20 --steps 5 --pretrain-steps 5 --hidden 8";
    for mechanism in ["anchor-pgm", "pmw-pub", "gem-pub", "pep-pub", "jam-pgm", "aim"] {
        let bench = Bench::new();
        let size = if mechanism == "gem-pub" { small } else { "" };
        bench.succeed(&format!(
            "synth --private private.csv --public older=public.csv --schema schema.json --mechanism {mechanism} {size} \
             --epsilon 0.5 --delta 1e-6 --seed 1 --out out.csv --model model.json"
        ));
        let asked = "ask --model model.json --marginal a,b,c,d";
        let found = json(&bench, asked);
        let basis = found["answers"][0]["rows"][0]["basis"].as_str().unwrap().to_owned();
        let parts = &found["answers"][0]["parts"];
        let text = bench.succeed(asked);
        let is_named =
            text.contains("from public table older") && text.contains(": a x b x c x d\n");
        let starts = !["jam-pgm", "aim"].contains(&mechanism);
        assert_eq!((&*basis == "public", is_named), (starts, starts), "{mechanism}: {text}");
        assert_eq!(parts["is_public"], starts, "{mechanism}: {parts}");
    }
}

#[test]
fn means_and_quantiles_have_intervals_or_say_why_not() {
    let bench = bench();
    let text = bench.succeed("ask --model model.json --mean age --median age");
    assert_eq!(text.matches("; measured: ").count(), 2, "{text}");
    // Three attributes were never measured together. What was is named.
    let text = bench.succeed("ask --model model.json --mean age --by sex,region");
    assert_eq!(text.matches("; never measured together: no interval").count(), 6, "{text}");
    let line = text.lines().find(|line| line.starts_with("  measured: ")).unwrap();
    assert!(line.ends_with("; how they go together follows from the model"), "{line}");
    let table = bench.succeed("ask --model model.json --mean age --csv");
    let line: Vec<&str> = table.lines().nth(1).unwrap().split(',').collect();
    let ends = [line[7], line[3], line[8]].map(|cell| cell.parse::<f64>().unwrap());
    assert!(line[4] == "measured" && ends[0] < ends[1] && ends[1] < ends[2], "{table}");
    // Its letter, in all three forms.
    let letter = line[11];
    assert!(["A", "B", "C", "D", "E", "F"].contains(&letter), "{table}");
    let text = bench.succeed("ask --model model.json --mean age");
    assert!(text.contains("; measured: ") && text.contains(&format!("; {letter})")), "{text}");
    let json = bench.succeed("ask --model model.json --mean age --together --json");
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(found["together"], true, "{json}");
    assert!(found["answers"][0]["rows"][0]["grade"].is_string(), "{json}");
}

#[test]
fn noisy_marginals_are_written_with_the_names_of_values() {
    let bench = bench();
    bench.succeed(
        "answer --private people.csv --schema people.json --workload all-2-way --epsilon 5 --delta 1e-6 --out a.csv",
    );
    let text = bench.read("a.csv");
    assert!(text.starts_with("attributes,codes,values,count,stddev,lower,upper\n"), "{text}");
    assert!(text.contains("sex x age,1 3,m (male) x 65 to 98,"), "{text}");
    assert!(text.contains("sex x age,0 4,f (female) x missing,"), "{text}");
}

#[test]
fn records_are_drawn_under_evidence() {
    let bench = bench();
    for draw in ["refined", "independent"] {
        let output = bench.run(&format!(
            "sample --model model.json --given age=18..64,sex=f --rows 300 --draw {draw} --out given.csv"
        ));
        assert!(output.status.success(), "{}", stderr(&output));
        let text = bench.read("given.csv");
        assert_eq!(text.lines().count(), 301);
        for line in text.lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells[0], "f", "{line}");
            assert!((18..65).contains(&cells[1].parse().unwrap()), "{line}");
        }
    }
}

#[test]
fn counts_have_intervals_from_measurements_and_from_measured_errors() {
    let bench = bench();
    bench.succeed(
        "synth --private people.csv --schema people.json --mechanism mst --epsilon 5 --delta 1e-6 --out out.csv \
         --workload all-3-way --error-share 0.1 --model model.json",
    );
    let found = json(
        &bench,
        "ask --model model.json --marginal region --marginal sex,age,region --mean age",
    );
    let rows = |answer: usize| found["answers"][answer]["rows"].as_array().unwrap().clone();
    // 900 records, every third in each region; MST measures every attribute.
    for row in rows(0) {
        assert_eq!(row["basis"], "measured");
        let [lower, upper] = ["lower", "upper"].map(|end| row["interval"][end].as_f64().unwrap());
        assert!(lower < upper && lower > 200.0 && upper < 400.0, "{row}");
    }
    assert!(
        rows(1).iter().all(|row| row["basis"] == "model" && row["interval"]["upper"].is_number())
    );
    assert!(rows(2).iter().all(|row| row.get("interval").is_none()), "a mean");
    assert!(rows(2).iter().all(|row| row["answer_interval"]["upper"].is_number()), "a mean");
    let text = bench.succeed("ask --model model.json --share sex=m");
    assert!(text.contains("records, measured: ") && text.contains(" to "), "{text}");
    // Of the records that agree with evidence, what was measured together with it.
    let given = bench.succeed("ask --model model.json --marginal sex --given sex=m");
    assert!(given.contains(", measured: "), "{given}");
    let given = bench.succeed("ask --model model.json --marginal sex,region --given age=..17");
    assert!(!given.contains("records, measured"), "{given}");
}

#[test]
fn answers_lie_in_their_own_intervals() {
    // At a small budget a fit of many noisy marginals lies outside the interval of some of them.
    let bench = bench();
    let (mut measured, mut outside) = (0, 0);
    for seed in 0..6 {
        bench.succeed(&format!(
            "synth --private people.csv --schema people.json --mechanism aim --rounds 12 --workload all-3-way \
             --epsilon 0.3 --delta 1e-6 --seed {seed} --out out.csv --model m.json"
        ));
        let asked = json(
            &bench,
            "ask --model m.json --marginal sex --marginal age --marginal region --marginal sex,age --marginal age,region \
             --marginal sex,region --share age=0..29",
        );
        for answer in asked["answers"].as_array().unwrap() {
            for row in answer["rows"].as_array().unwrap() {
                let number = |value: &Value| value.as_f64().unwrap();
                let Some(interval) = row.get("interval") else { continue };
                let [count, lower, upper] =
                    [&row["count"], &interval["lower"], &interval["upper"]].map(number);
                assert!((lower..=upper).contains(&count), "{row}");
                assert!(lower >= 0.0, "{row}");
                if let Some(share) = row.get("answer_interval") {
                    let ends = number(&share["lower"])..=number(&share["upper"]);
                    assert!(ends.contains(&number(&row["answer"])), "{row}");
                }
                measured += usize::from(row["basis"] == "measured");
                // What the model says is another number.
                let of_model = row.get("model").map(|model| number(&model["count"]));
                outside += usize::from(of_model.is_some_and(|x| !(lower..=upper).contains(&x)));
            }
        }
    }
    assert!(measured > 50 && outside > 0, "{measured} measured, {outside} outside");
}
