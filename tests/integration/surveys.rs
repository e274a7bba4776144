//! `--weight`, `--totals`, `--invariants` and `--emit`, through the program.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fmt::Write;

use serde_json::Value;

use crate::cli::Bench;

pub(crate) const SCHEMA: &str = r#"{"columns": [
    {"name": "tenure", "kind": "categorical", "codes": ["1", "2"], "labels": ["owns", "rents"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100]},
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"]},
    {"name": "w", "role": "weight"},
    {"name": "other", "role": "weight"}
]}"#;

/// 3,000 people of a sample in which renters are rare and count much.
pub(crate) fn sample(shift: u32) -> String {
    let mut text = String::from("tenure,age,sex,w,other\n");
    for i in 0..3000_u32 {
        let rents = u32::from((i + shift).is_multiple_of(6));
        let weight = 20 + 60 * rents + (i * 7 + shift) % 25;
        _ = writeln!(text, "{},{},{},{weight},1", 1 + rents, i * 31 % 100, 1 + i / 7 % 2);
    }
    text
}

fn bench() -> Bench {
    let bench = Bench::new();
    bench.write("schema.json", SCHEMA);
    bench.write("private.csv", &sample(0));
    bench.write("public.csv", &sample(1));
    bench.write("tenure.csv", "people,tenure\n2400,owns\n1200,rents\n");
    bench.write(
        "age.csv",
        "age,sex,n\n0 to 17,1,400\n0,2,300\n30,1,1100\n40,2,1000\n70,1,500\n80,2,300\n",
    );
    bench
}

const SYNTH: &str = "synth --private private.csv --public near=public.csv --schema schema.json --workload all-2-way \
    --epsilon 2 --delta 1e-6 --seed 1 --out out.csv --ledger ledger.json --mechanism";

/// The weighted share of the rows with a value in the first column.
fn share(table: &str, value: &str) -> f64 {
    let at =
        table.lines().next().unwrap().split(',').position(|name| name == "w" || name == "weight");
    let mut sums = [0.0; 2];
    for line in table.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let weight = at.map_or(1.0, |at| cells[at].parse::<f64>().unwrap());
        sums[usize::from(cells[0] == value)] += weight;
    }
    sums[1] / (sums[0] + sums[1])
}

#[test]
fn every_mechanism_releases_the_population_of_a_weighted_sample() {
    let bench = bench();
    let truth = share(&sample(0), "2");
    for mechanism in ["anchor-pgm", "mst", "pmw-pub", "gem --steps 300 --rounds 8", "public-only"] {
        for emit in ["population", "weighted"] {
            let command = format!("{SYNTH} {mechanism} --weight w --emit {emit}");
            let command = match mechanism {
                "public-only" => command.replace("--epsilon 2 --delta 1e-6 ", ""),
                _ => command,
            };
            bench.succeed(&command);
            let table = bench.read("out.csv");
            assert_eq!(
                table.lines().next().unwrap().contains(",w"),
                emit == "weighted",
                "{command}"
            );
            let found = share(&table, "2");
            // A network learns the weight slowly.
            let within = if mechanism.starts_with("gem") { 0.1 } else { 0.03 };
            assert!((found - truth).abs() < within, "{command}: {found}, in truth {truth}");
        }
    }
    // A sixth of the records rents, and four tenths of the people.
    assert!(truth > 0.35);
}

#[test]
fn totals_hold_exactly_in_as_many_rows_as_there_are_people() {
    let bench = bench();
    for (mechanism, more) in [("anchor-pgm", "--weight w"), ("mst", ""), ("pmw-pub", "--weight w")]
    {
        bench.succeed(&format!(
            "{SYNTH} {mechanism} {more} --totals tenure.csv --totals age=age.csv --rows 3600"
        ));
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for line in bench.read("out.csv").lines().skip(1) {
            let cells: Vec<&str> = line.split(',').collect();
            let age = cells[1].parse::<f64>().unwrap();
            let age = if age < 18.0 { 0 } else { 1 + u32::from(age >= 65.0) };
            *counts.entry(format!("tenure {}", cells[0])).or_default() += 1;
            *counts.entry(format!("age {age}, sex {}", cells[2])).or_default() += 1;
        }
        let wanted = [
            ("age 0, sex 1", 400),
            ("age 0, sex 2", 300),
            ("age 1, sex 1", 1100),
            ("age 1, sex 2", 1000),
            ("age 2, sex 1", 500),
            ("age 2, sex 2", 300),
            ("tenure 1", 2400),
            ("tenure 2", 1200),
        ];
        let wanted: BTreeMap<String, u32> = wanted.map(|(cell, n)| (cell.to_owned(), n)).into();
        assert_eq!(counts, wanted, "{mechanism}");
        let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
        assert_eq!(ledger["population"]["largest_difference"], 0.0);
        assert_eq!(ledger["population"]["totals"], serde_json::json!(["tenure", "age"]));
    }
}

#[test]
fn the_model_is_of_the_population_and_has_its_number() {
    let bench = bench();
    bench.succeed(&format!(
        "{SYNTH} mst --weight w --totals tenure.csv --error-share 0 --model model.json --report report.html"
    ));
    let model: Value = serde_json::from_str(&bench.read("model.json")).unwrap();
    assert_eq!((&model["total"], &model["weight"]), (&3600.0.into(), &"w".into()));
    assert!(model.get("accuracy").is_none(), "it would be about records");
    let answer = bench.succeed("ask --model model.json --share tenure=2 --csv");
    assert!(answer.contains("0.3333"), "{answer}");
    bench.succeed("sample --model model.json --rows 900 --out more.csv --seed 1");
    let more = bench.read("more.csv");
    assert_eq!(more.lines().next(), Some("tenure,age,sex"));
    assert!((share(&more, "2") - 1.0 / 3.0).abs() < 0.01);
    let parts =
        "sample --model model.json --rows 900 --part-rows 500 --out parts --parts csv --seed 1";
    bench.succeed(parts);
    let part = bench.read("parts/part-00001.csv");
    assert_eq!((part.lines().next(), part.lines().count()), (Some("tenure,age,sex"), 401));
    assert!((share(&part, "2") - 1.0 / 3.0).abs() < 0.02);
    bench.write("known.csv", &format!("sex\n{}", "1\n2\n".repeat(2000)));
    bench.succeed("sample --model model.json --complete known.csv --out completed.csv --seed 1");
    let completed = bench.read("completed.csv");
    assert_eq!(completed.lines().next(), Some("sex,tenure,age"));
    let rent = completed.lines().filter(|line| line[1..].starts_with(",2,")).count();
    assert!((rent as f64 / 4000.0 - 1.0 / 3.0).abs() < 0.03, "{rent}");
    bench.fail(
        "sample --model model.json --complete more.csv --out c.csv",
        3,
        "lacks at least one",
    );
    bench.fail(
        "sample --model model.json --complete private.csv --out c.csv",
        3,
        "unknown column 'w'",
    );
    let page = bench.read("report.html");
    assert!(page.contains("of a population of 3,600, from 3,000 weighted records"), "{page}");
    assert!(page.contains("how well it follows the weighted private records"));
    assert!(page.contains("with a survey weight, <code>--error-share 0.05</code> does so"));
}

#[test]
fn errors_and_intervals_are_of_the_weighted_table() {
    let bench = bench();
    // Bins as wide as a weight, so that a mean is what each record weighs.
    let edges: Vec<String> = (20..=105).map(|edge| edge.to_string()).collect();
    let fine = format!(
        r#""w", "role": "weight", "kind": "numeric", "integer": true, "edges": [{}]"#,
        edges.join(", ")
    );
    bench.write("fine.json", &SCHEMA.replace(r#""w", "role": "weight""#, &fine));
    let synth = SYNTH.replace("schema.json", "fine.json").replace("--epsilon 2", "--epsilon 8");
    let evaluate = "evaluate --private private.csv --synthetic out.csv --schema fine.json --workload all-2-way \
                    --weight w --json";
    let json = |text: String| -> Value { serde_json::from_str(&text).unwrap() };
    for (more, is_known) in [
        ("", true),
        ("--emit weighted", true),
        ("--totals tenure.csv --totals age=age.csv", false),
        ("--counted", true),
    ] {
        let command = format!(
            "{synth} mst --weight w --error-share 0.2 --model model.json --report report.html {more}"
        );
        bench.succeed(&command);
        let truth = json(bench.succeed(evaluate))["error"]["mean_l1"].as_f64().unwrap();
        let ledger = json(bench.read("ledger.json"));
        let [low, high] =
            ["lower", "upper"].map(|end| ledger["errors"]["mean"][end].as_f64().unwrap());
        // The size of the population is not that of the weighted sample, but for what noise leaves.
        assert!(low - 0.02 < truth && truth < high + 0.02, "{command}: {truth}, {low} to {high}");
        assert_eq!(ledger["errors"]["left_out"]["within_bins_of"], "w");
        assert!(bench.read("report.html").contains("weighted by the mean w of their bin"));
        let model = json(bench.read("model.json"));
        assert_eq!(model.get("accuracy").is_some(), is_known, "{command}");
    }
}

#[test]
fn a_plan_knows_the_weight() {
    let bench = bench();
    let binned = r#""w", "role": "weight", "kind": "numeric", "edges": [0, 30, 60, 200]"#;
    bench.write("binned.json", &SCHEMA.replace(r#""w", "role": "weight""#, binned));
    let plan =
        "plan --workload all-2-way --epsilon 1 --delta 1e-6 --records 3000 --mechanism mst --json";
    let of = |more: &str| -> Value {
        serde_json::from_str(&bench.succeed(&format!("{plan} --schema binned.json {more}")))
            .unwrap()
    };
    let (without, with) = (of(""), of("--weight w"));
    assert_eq!((&without["attributes"], &without["workload_cliques"]), (&3.into(), &3.into()));
    // Three pairs, and three with the weight.
    assert_eq!((&with["attributes"], &with["workload_cliques"]), (&4.into(), &6.into()));
    bench.fail(&format!("{plan} --schema schema.json --weight w"), 3, "no bins in the schema");
    bench.fail(&format!("{plan} --schema binned.json --weight v"), 3, "'v'");
}

#[test]
fn intervals_of_a_weighted_table_cover_its_shares() {
    let bench = bench();
    bench.write("pairs.txt", "tenure,w\nage,w\nage,sex\n");
    let synth = SYNTH.replace("all-2-way", "pairs.txt").replace("--seed 1 ", "");
    let truth = share(&sample(0), "2");
    let combine = "combine --model model.json --synthetic out.csv --json --share tenure=2";
    let (mut covered, mut within) = (0, 0);
    for seed in 0..40 {
        bench.succeed(&format!("{synth} mst --seed {seed} --weight w --model model.json"));
        let found: Value = serde_json::from_str(&bench.succeed(combine)).unwrap();
        assert_eq!(found["weight"], "w");
        let number = &found["statistics"][0]["numbers"][0];
        let bound = |end: &str| number["combined"][end].as_f64().unwrap();
        covered += u32::from(bound("lower") < truth && truth < bound("upper"));
        let ask = "ask --model model.json --marginal tenure --json";
        let answers: Value = serde_json::from_str(&bench.succeed(ask)).unwrap();
        let row = &answers["answers"][0]["rows"][1];
        assert_eq!(row["basis"], "measured");
        let text = bench.succeed("ask --model model.json --marginal tenure");
        assert!(text.starts_with("Members of the population: "), "{text}");
        assert!(text.contains(" members, measured: ") && !text.contains("records"), "{text}");
        let people: f64 = sample(0)
            .lines()
            .skip(1)
            .filter(|line| line.starts_with('2'))
            .map(|line| line.split(',').nth(3).unwrap().parse::<f64>().unwrap())
            .sum();
        let bound = |end: &str| row["interval"][end].as_f64().unwrap();
        within += u32::from(bound("lower") < people && people < bound("upper"));
    }
    // 38 of 40 are wanted; weights differ a little within a bin.
    assert!(covered >= 33 && within >= 33, "{covered} and {within} of 40");
    bench.fail(&format!("{combine} --population"), 2, "replicate weights");
    bench.succeed(&format!("{synth} mst --seed 1 --weight w --emit weighted"));
    bench.fail(combine, 2, "records with survey weights");
}

#[test]
fn all_that_was_measured_is_one_tidy_table() {
    let bench = bench();
    bench.succeed(&format!("{SYNTH} mst --weight w --measurements measured.csv"));
    let text = bench.read("measured.csv");
    let header = "measurement,attribute_1,value_1,attribute_2,value_2,count,stddev,source";
    assert_eq!(text.lines().next(), Some(header));
    let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
    let measured: Vec<&Value> = ledger["rounds"]
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|round| round["measurements"].as_array().unwrap())
        .collect();
    let mut sums: BTreeMap<usize, (f64, u32)> = BTreeMap::new();
    for line in text.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let number: usize = cells[0].parse().unwrap();
        let clique = measured[number - 1]["clique"].as_array().unwrap();
        assert_eq!(cells[1], clique[0]);
        assert_eq!(cells[3], clique.get(1).map_or("", |name| name.as_str().unwrap()));
        let (sum, count) = sums.entry(number).or_default();
        *sum += cells[5].parse::<f64>().unwrap();
        *count += 1;
        assert_eq!(
            (cells[6].parse::<f64>().ok(), cells[7]),
            (measured[number - 1]["stddev"].as_f64(), "private")
        );
    }
    assert_eq!(sums.len(), measured.len());
    // All cells of a marginal are there: their sum is that of all records, but for noise.
    for (sum, cells) in sums.values() {
        assert!((sum - 3000.0).abs() < 60.0 * f64::from(*cells).sqrt(), "{sums:?}");
    }
    let names: Vec<&str> = text.lines().filter(|line| line.starts_with("2,age")).collect();
    assert!(text.contains(",age,18 to 64,") && text.contains(",tenure,2,"), "{names:?}");
}

#[test]
fn an_evaluation_counts_people() {
    let bench = bench();
    let words = "evaluate --private private.csv --schema schema.json --workload all-2-way --weight w --json --synthetic";
    let error = |table: &str| -> f64 {
        let found: Value =
            serde_json::from_str(&bench.succeed(&format!("{words} {table}"))).unwrap();
        assert_eq!(found["weight"], "w");
        found["error"]["mean_l1"].as_f64().unwrap()
    };
    assert!(error("private.csv").abs() < 1e-12);
    // The same records without their weights.
    let text = sample(0);
    let plain = text.lines().map(|line| line.rsplitn(3, ',').last().unwrap().to_owned() + "\n");
    bench.write("plain.csv", &plain.collect::<String>());
    assert!(error("plain.csv") > 0.2);
    let words = words.replace(" --json", "");
    for more in [
        "--measures propensity",
        "--measures unique-matches",
        "--groups sex",
        "--regress 'age~sex'",
        "--predict tenure",
        "--unit other",
    ] {
        bench.fail(&format!("{words} plain.csv {more}"), 2, "--weight cannot go with");
    }
    let other = words.replace("--private private.csv", "--private plain.csv");
    bench.fail(&format!("{other} plain.csv"), 3, "no column 'w'");
}

/// A table with weights is one in which each record stands as often as it weighs.
#[test]
fn weighted_measures_are_those_of_repeated_records() {
    let bench = bench();
    let rules = r#"{"rules": [{"name": "young renters", "forbidden": {"tenure": ["2"], "age": {"to": 18}}}]}"#;
    bench.write("rules.json", rules);
    let repeated = |text: &str, name: &str| {
        let lines = text.lines().flat_map(|line| {
            let weight = line.split(',').nth(3).unwrap().parse().unwrap_or(1);
            std::iter::repeat_n(format!("{line}\n"), weight)
        });
        bench.write(name, &lines.collect::<String>());
    };
    let few = |shift: u32| sample(shift).split_inclusive('\n').take(400).collect::<String>();
    let texts = [few(0), few(2).replace(",30,", ",8,")];
    for (text, name) in texts.iter().zip(["real", "made"]) {
        bench.write(&format!("{name}.csv"), text);
        repeated(text, &format!("{name}.all.csv"));
    }
    let evaluate = |end: &str, more: &str| -> Value {
        let words = "evaluate --schema schema.json --workload all-2-way --by sex --rules rules.json --k 2 \
                     --measures k-marginal,correlation,singles-and-pairs --json --report page.html";
        let text = bench
            .succeed(&format!("{words} --private real{end}.csv --synthetic made{end}.csv {more}"));
        serde_json::from_str(&text).unwrap()
    };
    let shares = |page: &str| {
        let from = page.find("<svg").unwrap();
        page[from..].lines().filter(|line| line.contains("<title>")).collect::<Vec<_>>().join("\n")
    };
    let weighted = evaluate("", "--weight w");
    let page = bench.read("page.html");
    assert!(page.contains("weighted by"), "{page}");
    let pictures = shares(&page);
    std::fs::remove_file(bench.path("page.html")).unwrap();
    let all = evaluate(".all", "");
    assert_eq!(shares(&bench.read("page.html")), pictures);
    assert!(!pictures.is_empty());
    let mut compared = 0;
    same("", &weighted, &all, &mut compared);
    assert!(compared > 100, "{compared}");
    // Unweighted, they are others.
    std::fs::remove_file(bench.path("page.html")).unwrap();
    assert_ne!(evaluate("", "")["correlation"], weighted["correlation"]);
}

/// Numbers of two evaluations, but for those that count records.
fn same(place: &str, one: &Value, other: &Value, compared: &mut usize) {
    // Samples of weighted records are others than those of repeated ones.
    const COUNTS: [&str; 7] =
        ["records", "violati", "count", "weight", "real_records", "synthetic_records", "yardstick"];
    match (one, other) {
        (Value::Object(members), _) => {
            for (name, value) in members {
                if !COUNTS.iter().any(|count| name.contains(count)) {
                    same(&format!("{place}.{name}"), value, &other[name], compared);
                }
            }
        }
        (Value::Array(values), Value::Array(others)) => {
            assert_eq!(values.len(), others.len(), "{place}");
            let pairs = values.iter().zip(others).enumerate();
            pairs.for_each(|(i, (a, b))| same(&format!("{place}[{i}]"), a, b, compared));
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            *compared += 1;
            assert!((a - b).abs() <= 1e-9 * b.abs().max(1.0), "{place}: {a} and {b}");
        }
        _ => assert_eq!(one, other, "{place}"),
    }
}

#[test]
fn what_cannot_be_is_refused_before_anything_is_spent() {
    let bench = bench();
    bench.write("other.csv", "people,tenure\n2400,1\n1300,2\n");
    bench.write("cross.csv", "sex,tenure,people\n1,1,2000\n1,2,150\n2,1,350\n2,2,1100\n");
    bench.write("unknown.csv", "people,tenure\n2400,1\n1300,7\n");
    bench.write("weighted.csv", "people,w\n2400,20\n");
    bench.write("none.csv", "people\n5\n");
    bench.write("weight.txt", "w\n");
    bench.write("unweighted.csv", "tenure,age,sex\n1,4,1\n2,40,2\n");
    let forbidden = SCHEMA.replace("\n]}", r#"], "forbidden": [{"tenure": ["2"], "age": [0]}]}"#);
    bench.write("forbidden.json", &forbidden);
    bench.write("impossible.csv", "age,people\n0,3600\n");
    let synth = format!("{SYNTH} mst");
    let files = bench.files();
    for (more, code, part) in [
        ("--weight wt", 3, "no such column in the schema"),
        ("--weight sex", 3, "values that are no numbers"),
        ("--emit weighted", 2, "--emit weighted needs"),
        ("--totals tenure.csv --error-share 0.1", 2, "--totals cannot go with --error-share"),
        ("--weight w --error-share 0.1 --workload weight.txt", 3, "no clique"),
        ("--weight w --compress 0.1", 2, "--weight cannot go with --compress"),
        ("--weight w --tables 2", 2, "--weight cannot go with --tables"),
        ("--totals tenure.csv --tables 2", 2, "--totals cannot go with --tables"),
        ("--totals tenure.csv --totals tenure.csv", 3, "'tenure' twice"),
        ("--totals tenure.csv --totals other.csv", 3, "given twice"),
        ("--totals tenure.csv --totals cross.csv", 3, "in the totals of"),
        ("--totals unknown.csv", 3, "unknown.csv, line 3, column 'tenure'"),
        ("--weight w --totals weighted.csv", 3, "the survey weight 'w'"),
        ("--totals none.csv", 3, "one column with counts"),
        ("--totals private.csv", 2, "is the private table"),
        (
            "--totals tenure.csv --totals impossible.csv --schema forbidden.json",
            3,
            "totals that one table can have",
        ),
    ] {
        let own = "--public near=public.csv --schema schema.json";
        let base = if more.contains("--workload") {
            synth.replace("--workload all-2-way", "")
        } else if more.contains("--schema") {
            synth.replace(own, "")
        } else {
            synth.clone()
        };
        let command = format!("{base} {more}");
        bench.fail(&command, code, part);
        assert_eq!(bench.files(), files, "{command}");
    }
    let alone = synth.replace("--public near=public.csv", "");
    bench.fail(
        &format!("{alone} --weight w"),
        3,
        "no bins in the schema, and no file of a public table",
    );
    let without = synth.replace("near=public.csv", "near=unweighted.csv");
    bench.fail(&format!("{without} --weight w"), 3, "no such column");
    bench.fail(&format!("{alone} --private unweighted.csv --weight w"), 2, "");
}
