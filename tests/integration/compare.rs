//! `jointly compare`: whole comparisons of small tables, cut short, resumed, changed and refused.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::cli::{Bench, stderr};

pub(crate) const PROTOCOL: &str = r#"
title = "Small <tables>"
workload = "all-2-way"
delta = 1e-6
epsilons = [0.5, 5.0]
seeds = [0, 1]
iterations = 200
mechanisms = ["jam-pgm", "independent"]

[tuning.jam-pgm]
rounds = 4

[[data]]
name = "near"
schema = "schema.json"
private = "private.csv"
public = ["public.csv"]
"#;

/// True one-way marginals, the public table, and two mechanisms at two epsilons with two seeds.
const RUNS: usize = 2 + 2 * 2 * 2;

fn bench(protocol: &str) -> Bench {
    let bench = Bench::new();
    bench.write("small.toml", protocol);
    bench
}

/// The rows of a file of results, as members by name.
fn rows(bench: &Bench, file: &str) -> Vec<csv::StringRecord> {
    let text = bench.read(file);
    csv::Reader::from_reader(text.as_bytes()).records().map(Result::unwrap).collect()
}

fn column(bench: &Bench, file: &str, name: &str) -> Vec<String> {
    let text = bench.read(file);
    let header = csv::Reader::from_reader(text.as_bytes()).headers().unwrap().clone();
    let place = header.iter().position(|column| column == name).unwrap();
    rows(bench, file).iter().map(|row| row[place].to_owned()).collect()
}

/// All that does not depend on the machine, a text a row, sorted.
fn facts(bench: &Bench, file: &str) -> Vec<String> {
    let names = ["data", "mechanism", "epsilon", "seed", "workload_error", "rho_spent", "digest"];
    let columns = names.map(|name| column(bench, file, name));
    let row =
        |i: usize| columns.iter().map(|column| column[i].clone()).collect::<Vec<_>>().join(" ");
    let mut facts: Vec<String> = (0..columns[0].len()).map(row).collect();
    facts.sort();
    facts
}

#[test]
fn a_comparison_has_every_run_in_its_table_and_its_page() {
    let bench = bench(PROTOCOL);
    let text = bench.succeed("compare small.toml");
    assert!(text.starts_with("NOT PRIVATE") && text.contains("10 runs"), "{text}");
    // The table of errors, on the console too.
    let lines =
        |name: &str| text.lines().filter(|line| line.trim_start().starts_with(name)).count();
    assert_eq!((lines("mechanism  "), lines("true one-way marginals ")), (1, 1), "{text}");
    assert!(
        lines("independent ") > 0 && text.contains("Workload error, mean over seeds"),
        "{text}"
    );
    let file = "small-results/results.csv";
    assert_eq!(rows(&bench, file).len(), RUNS);
    assert!(column(&bench, file, "private").iter().all(|private| private == "false"));
    let errors = column(&bench, file, "workload_error");
    assert!(errors.iter().all(|e| (0.0..=2.0).contains(&e.parse::<f64>().unwrap())));
    let peaks = column(&bench, file, "peak_mib");
    assert!(peaks[2..].iter().all(|mib| mib.parse::<f64>().is_ok_and(|mib| mib > 1.0)));
    let page = bench.read("small-results/comparison.html");
    assert!(page.contains("NOT PRIVATE") && page.contains("Small &lt;tables&gt;"));
    // One plot with two curves, and a small picture for each mechanism.
    assert_eq!(page.matches("<svg").count(), 3);
    assert_eq!(page.matches("<polyline").count(), 4);
    assert_eq!(page.matches("<circle").count(), 8);
    assert!(page.contains("true one-way marginals") && page.contains("public table public"));
    assert!(!page.contains("http") && !page.contains("<script"), "the page needs no other file");
}

#[test]
fn a_killed_comparison_goes_on_and_runs_only_what_is_missing() {
    let bench = bench(PROTOCOL);
    bench.succeed("compare small.toml --out whole");
    let mut child = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path("."))
        .args(["compare", "small.toml", "--out", "cut"])
        .stderr(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let file = bench.path("cut/results.csv");
    let lines = || fs::read_to_string(&file).unwrap_or_default().lines().count();
    for _ in 0..60_000 {
        if lines() > 3 || child.try_wait().unwrap().is_some() {
            break;
        }
        sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // Cut within the fourth row, as if killed while it was written.
    let text = bench.read("cut/results.csv");
    let kept: usize = text.split_inclusive('\n').take(4).map(str::len).sum();
    bench.write("cut/results.csv", &text[..kept - 7]);
    let output = bench.run("compare small.toml --out cut");
    let log = stderr(&output);
    assert_eq!(output.status.code(), Some(0), "{log}");
    assert!(log.contains("2 of 10 runs are there already"), "{log}");
    assert_eq!(log.lines().filter(|line| line.contains(": error ")).count(), RUNS - 2, "{log}");
    assert_eq!(facts(&bench, "cut/results.csv"), facts(&bench, "whole/results.csv"));
    // Nothing is missing now.
    let log = stderr(&bench.run("compare small.toml --out cut"));
    assert!(log.contains("10 of 10 runs") && !log.contains(": error "), "{log}");
}

#[test]
fn a_finished_run_of_another_protocol_is_refused_and_more_seeds_are_not() {
    let bench = bench(PROTOCOL);
    bench.succeed("compare small.toml --out out --mechanism independent");
    let first = facts(&bench, "out/results.csv");
    for (old, new) in [
        ("delta = 1e-6", "delta = 1e-7"),
        ("all-2-way", "all-1-way"),
        ("iterations = 200", "iterations = 201"),
    ] {
        bench.write("small.toml", &PROTOCOL.replace(old, new));
        bench.fail("compare small.toml --out out", 5, "was run under another protocol");
    }
    let longer =
        PROTOCOL.replace("seeds = [0, 1]", "seeds = [0, 1, 2]").replace("0.5, ", "0.5, 1, ");
    bench.write("small.toml", &longer);
    let log = stderr(&bench.run("compare small.toml --out out --mechanism independent"));
    assert!(log.contains("6 of 11 runs are there already"), "{log}");
    let after = facts(&bench, "out/results.csv");
    assert!(first.iter().all(|row| after.contains(row)));
    // Other contents of a file are another protocol, too.
    let table = bench.read("private.csv").replacen("0,", "1,", 1);
    bench.write("private.csv", &table);
    bench.fail("compare small.toml --out out", 5, "on other tables");
}

#[test]
fn results_with_other_columns_are_refused_and_left_as_they_are() {
    let bench = bench(&PROTOCOL.replace("[0.5, 5.0]", "[5.0]").replace("[0, 1]", "[0]"));
    bench.succeed("compare small.toml --out out --mechanism independent");
    let whole = bench.read("out/results.csv");
    let place = whole.split(',').position(|column| column == "group_score").unwrap();
    let without = |line: &str| -> String {
        let fields = line.split(',').enumerate().filter(|(at, _)| *at != place);
        fields.map(|(_, field)| field).collect::<Vec<_>>().join(",") + "\n"
    };
    let older: String = whole.lines().map(without).collect();
    bench.write("out/results.csv", &older);
    bench.fail("compare small.toml --out out", 5, "line 1: has other columns");
    assert_eq!(bench.read("out/results.csv"), older);
}

#[test]
fn runs_that_use_no_public_table_are_shared_by_data_sets_with_the_same_private_table() {
    let second = "\n[[data]]\nname = \"far\"\nschema = \"schema.json\"\nprivate = \"private.csv\"\n\
                  public = [\"private.csv\"]\n";
    let bench = bench(&format!("{PROTOCOL}{second}"));
    bench.succeed("compare small.toml --out out --seed 0 --epsilon 5");
    let file = "out/results.csv";
    let [data, mechanism, seconds] =
        ["data", "mechanism", "seconds"].map(|name| column(&bench, file, name));
    let of = |set: &str, name: &str| {
        (0..data.len()).find(|i| data[*i] == set && mechanism[*i] == name).unwrap()
    };
    let [near, far] = ["near", "far"].map(|set| of(set, "independent"));
    assert_eq!(seconds[near], seconds[far]);
    let errors = column(&bench, file, "workload_error");
    let [near, far] = ["near", "far"].map(|set| of(set, "jam-pgm"));
    assert_ne!(errors[near], errors[far]);
    assert_eq!(errors[of("far", "public table private")], "0.0");
}

#[test]
fn splits_selected_columns_measures_and_rules_are_heeded() {
    let protocol = PROTOCOL
        .replace("public = [\"public.csv\"]", "split = { every = 4 }\ndrop = [\"*\"]\nkeep = [\"a\", \"b\", \"d\"]\nrules = \"rules.json\"\npredict = [\"b\"]")
        .replace("iterations", "measures = [\"k-marginal\", \"propensity\", \"correlation\", \"unique-matches\", \"singles-and-pairs\"]\nk = 2\niterations");
    let bench = bench(&protocol);
    bench.write(
        "rules.json",
        r#"{"rules": [{"name": "r", "forbidden": {"a": ["1"], "b": ["0"]}}]}"#,
    );
    bench.succeed("compare small.toml --out out --seed 0 --epsilon 5");
    let file = "out/results.csv";
    for name in [
        "k_marginal",
        "pmse_ratio",
        "cramers_v_max",
        "unique_share",
        "edit_share",
        "singles_l1",
        "pairs_max",
        "predicted_area",
        "predicted_right_real",
    ] {
        let values = column(&bench, file, name);
        assert!(values[0].is_empty(), "marginals alone have no records: {name}");
        assert!(values[1..].iter().all(|value| value.parse::<f64>().is_ok()), "{name}: {values:?}");
    }
    // The k-marginal score over the pairs of the workload is the workload error in other words.
    let [errors, scores] = ["workload_error", "k_marginal"].map(|name| column(&bench, file, name));
    let [error, score] = [&errors, &scores].map(|values| values[2].parse::<f64>().unwrap());
    assert!((score - 1000.0 * (1.0 - error / 2.0)).abs() < 1e-9);
    // Pairs are the workload here.
    assert_eq!(column(&bench, file, "pairs_l1")[1..], errors[1..]);
    assert!(bench.read("out/comparison.html").contains("k-marginal score"));
    let by_value = protocol.replace("{ every = 4 }", "{ attribute = \"d\", codes = [3] }");
    bench.write("small.toml", &by_value);
    bench.succeed("compare small.toml --out other --seed 0 --epsilon 5 --mechanism jam-pgm");
}

#[test]
fn spoiled_public_tables_are_used_and_never_mistaken_for_others() {
    let mut protocol = PROTOCOL.replace("[0.5, 5.0]", "[5.0]").replace("[0, 1]", "[0]");
    for (name, source, spoil) in [
        ("reversed", "public = [\"public.csv\"]", "\"reversed-codes\""),
        ("shuffled", "public = [\"public.csv\"]", "\"shuffled-columns\""),
        ("swapped", "public = [\"public.csv\"]", "{ swapped = [\"b\", \"d\"] }"),
        ("thirty", "public = [\"public.csv\"]", "{ records = 30 }"),
        ("all", "public = [\"public.csv\"]", "{ records = 1000 }"),
        ("constant", "public = [\"public.csv\"]", "\"constant\""),
        ("part", "split = { every = 4 }", "\"reversed-codes\""),
        ("part-constant", "split = { every = 4 }", "\"constant\""),
    ] {
        let files = "schema = \"schema.json\"\nprivate = \"private.csv\"";
        writeln!(protocol, "\n[[data]]\nname = \"{name}\"\n{files}\n{source}\nspoil = {spoil}")
            .unwrap();
    }
    let bench = bench(&protocol);
    bench.succeed("compare small.toml --out out");
    let file = "out/results.csv";
    let [data, mechanism, errors, digests, seconds] =
        ["data", "mechanism", "workload_error", "digest", "seconds"]
            .map(|name| column(&bench, file, name));
    let of = |set: &str, name: &str| {
        let same = |i: &usize| data[*i] == set && mechanism[*i].starts_with(name);
        (0..data.len()).find(same).unwrap()
    };
    let baseline = |set: &str| errors[of(set, "public table")].parse::<f64>().unwrap();
    let spoiled = ["reversed", "shuffled", "swapped", "thirty", "constant"];
    for set in spoiled {
        assert!(baseline(set) > baseline("near"), "{set}: {errors:?}");
        assert_eq!(seconds[of(set, "independent")], seconds[of("near", "independent")]);
    }
    assert!(baseline("part-constant") > baseline("part"));
    // Whole tables: the same numbers, but under an identity of their own.
    for name in ["public table", "jam-pgm"] {
        let [all, near] = ["all", "near"].map(|set| of(set, name));
        assert_eq!(errors[all], errors[near]);
        let of_name = mechanism.iter().zip(&digests).filter(|(m, _)| m.starts_with(name));
        let own: HashSet<&String> = of_name.map(|(_, digest)| digest).collect();
        assert_eq!(own.len(), 9, "{name}");
    }
    // Another spoil under the same name is another protocol.
    bench.write("small.toml", &protocol.replace("{ records = 30 }", "{ records = 31 }"));
    bench.fail(
        "compare small.toml --out out",
        5,
        "'thirty, public table public' was run under another",
    );
}

#[test]
fn sampled_public_parts_are_the_same_for_all_runs_and_reach_their_error() {
    let splits = [
        ("tenth", "{ public_fraction = 0.1 }"),
        ("other", "{ public_fraction = 0.1, seed = 1 }"),
        ("strata", "{ public_fraction = 0.1, stratify = \"d\" }"),
        ("target", "{ public_error = 0.5 }"),
        ("out-of-reach", "{ public_error = 0.001 }"),
    ];
    let mut protocol = PROTOCOL.replace("[0.5, 5.0]", "[5.0]").replace("[0, 1]", "[0]");
    protocol.truncate(protocol.find("[[data]]").unwrap());
    for (name, split) in splits {
        let files = "schema = \"schema.json\"\nprivate = \"private.csv\"";
        writeln!(protocol, "\n[[data]]\nname = \"{name}\"\n{files}\nsplit = {split}").unwrap();
    }
    let bench = bench(&protocol);
    // The last target cannot be met: its runs fail with the error that could be, and the others are kept.
    bench.fail("compare small.toml --out out", 3, "half of all");
    let file = "out/results.csv";
    let [data, mechanism, errors] =
        ["data", "mechanism", "workload_error"].map(|name| column(&bench, file, name));
    let of = |set: &str, name: &str| -> f64 {
        let same = |i: &usize| data[*i] == set && mechanism[*i] == name;
        errors[(0..data.len()).find(same).unwrap()].parse().unwrap()
    };
    assert!(data.iter().all(|set| set != "out-of-reach"), "{data:?}");
    assert_eq!(data.len(), 4 * 4);
    assert!(of("target", "public table part") <= 0.5);
    let apart = |one: &str, two: &str| {
        (of(one, "public table part") - of(two, "public table part")).abs() > 1e-9
    };
    assert!(apart("tenth", "other") && apart("tenth", "strata"), "{errors:?}");
    // Another seed of the split is another protocol.
    bench.write("small.toml", &protocol.replace("seed = 1", "seed = 2"));
    bench.fail("compare small.toml --out out", 5, "'other, true one-way marginals'");
}

#[test]
fn wrong_protocols_are_refused_with_file_line_and_what_was_expected() {
    let bench = bench(PROTOCOL);
    for (old, new, code, part) in [
        ("delta = 1e-6", "delta = 1e-6\ndleta = 1", 3, "small.toml, line 5: unknown field `dleta`"),
        ("delta = 1e-6", "delta = 2", 3, "small.toml, line 4: delta is 2, expected"),
        ("[0.5, 5.0]", "[0.5, -1]", 3, "small.toml, line 5: epsilon is -1"),
        ("[0.5, 5.0]", "[0.5, 0.5]", 3, "small.toml, line 5: a member twice"),
        ("[0, 1]", "[]", 3, "small.toml, line 6: an empty list"),
        ("\"independent\"]", "\"magic\"]", 3, "small.toml, line 8: mechanism: 'magic'"),
        ("title = ", "title ", 3, "small.toml, line 2"),
        ("name = \"near\"", "", 3, "missing field `name`"),
        ("rounds = 4", "rounds = 0", 3, "rounds is 0"),
        (
            "[tuning.jam-pgm]",
            "[tuning.independent]",
            3,
            "rounds is of no use with mechanism independent",
        ),
        ("public = [", "split = { every = 2 }\npublic = [", 3, "both 'split' and 'public'"),
        (
            "public = [",
            "split = { each = 2 }\npublic = [",
            3,
            "small.toml, line 17: unknown field `each`",
        ),
        (
            "public = [\"public.csv\"]",
            "split = { public_fraction = 1.5 }",
            3,
            "small.toml, line 17: split: public_fraction is 1.5, expected a share strictly between 0 and 1",
        ),
        (
            "public = [\"public.csv\"]",
            "split = { public_error = 0 }",
            3,
            "small.toml, line 17: split: public_error is 0, expected a workload error strictly between 0 and 2",
        ),
        (
            "public = [\"public.csv\"]",
            "split = { every = 1 }",
            3,
            "small.toml, line 17: split: a split that leaves no record private",
        ),
        (
            "public = [\"public.csv\"]",
            "split = { public_fraction = 0.1, stratify = \"z\" }",
            3,
            "unknown attribute 'z' in small.toml, data set 'near', split",
        ),
        (
            "public = [\"public.csv\"]",
            "split = { public_fraction = 0.1, stratify = \"d\", shares = [1] }",
            3,
            "small.toml, data set 'near', split: 1 shares for 'd'",
        ),
        (
            "public = [",
            "spoil = \"reversed\"\npublic = [",
            3,
            "small.toml, line 17: expected \"reversed-codes\"",
        ),
        ("public = [", "spoil = { records = 0 }\npublic = [", 3, "expected 'records' above 0"),
        ("public = [", "spoil = { swapped = [\"a\", \"a\"] }\npublic = [", 3, "two different"),
        ("public = [", "spoil = { swapped = [\"a\", \"z\"] }\npublic = [", 3, "spoil: 'z'"),
        ("public = [\"public.csv\"]", "spoil = \"constant\"", 3, "'spoil' without a public table"),
        (
            "public = [\"public.csv\"]",
            "weight = \"w\"\nsplit = { every = 2 }",
            3,
            "'weight' with 'split'",
        ),
        ("public = [", "totals = [[\"a\"]]\npublic = [", 3, "'totals' alone"),
        ("public = [", "weight = \"w\"\ntotals = [[\"z\"]]\npublic = [", 3, "totals: 'z'"),
        ("public = [", "weight_in_runs = false\npublic = [", 3, "'weight_in_runs' alone"),
        ("public = [", "weight = \"a\"\npublic = [", 3, "the attribute 'a'"),
        ("public = [", "weight = \"w\"\npredict = [\"a\"]\npublic = [", 2, "classifiers"),
        ("public = [", "drop = [\"x*\"]\npublic = [", 3, "unknown attribute 'x*'"),
        ("\"private.csv\"", "\"none.csv\"", 1, "cannot read none.csv"),
    ] {
        let text = PROTOCOL.replacen(old, new, 1);
        assert_ne!(text, PROTOCOL, "{old}");
        bench.write("small.toml", &text);
        bench.fail("compare small.toml --out out", code, part);
    }
    bench.write("small.toml", PROTOCOL);
    bench.fail("compare small.toml --data far", 2, "--data is far");
    bench.fail("compare small.toml --epsilon 2", 2, "--epsilon is 2");
    bench.fail("compare small.toml --mechanism aim", 2, "--mechanism is aim");
    bench.fail("compare none.toml", 1, "cannot read none.toml");
    assert!(!bench.path("out/results.csv").exists(), "nothing was run");
}

#[test]
fn a_public_table_without_some_attributes_is_used_but_not_measured_by_itself() {
    let bench = bench(PROTOCOL);
    let narrow: Vec<String> = bench
        .read("public.csv")
        .lines()
        .map(|line| line.rsplit_once(',').unwrap().0.to_owned() + "\n")
        .collect();
    bench.write("public.csv", &narrow.concat());
    let log = stderr(&bench.run("compare small.toml --out out --mechanism jam-pgm"));
    assert!(log.contains("public table public: lacks attributes, left out"), "{log}");
    assert_eq!(rows(&bench, "out/results.csv").len(), 1 + 4);
}

#[test]
fn a_run_that_fails_is_told_and_the_others_are_kept() {
    let protocol =
        PROTOCOL.replace("\"jam-pgm\", ", "\"aim\", ").replace("tuning.jam-pgm", "tuning.aim");
    let bench = bench(&protocol);
    // With four rounds AIM cannot measure four single attributes and something else.
    bench.fail("compare small.toml --out out", 3, "near, aim, epsilon 0.5, seed 0: aim: 4 rounds");
    assert_eq!(rows(&bench, "out/results.csv").len(), RUNS - 4);
}

#[test]
fn the_protocols_of_the_repository_are_read_to_the_end() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("protocols");
    let names = [
        "jam.toml",
        "acs.toml",
        "adversarial.toml",
        "never-hurts.toml",
        "pmw-pub.toml",
        "adaptive-measurements.toml",
        "jam-others.toml",
        "repeats.toml",
        "surveys.toml",
    ];
    for name in names {
        let text = fs::read_to_string(folder.join(name)).unwrap();
        let bench = bench(&text);
        // The data are not there: that is found out only after the file is understood.
        bench.fail("compare small.toml --out out", 1, "JOINTLY_DATA");
    }
}

#[test]
fn a_data_set_that_names_groups_has_their_score_and_ide_works_on_them() {
    let grouped = PROTOCOL
        .replace(r#"["jam-pgm", "independent"]"#, r#"["ide", "independent"]"#)
        .replace("[tuning.jam-pgm]\nrounds = 4\n", "")
        .replace("[0.5, 5.0]", "[5.0]")
        .replace("[0, 1]", "[0]")
        + "groups = [\"c\", \"d\"]\n";
    let bench = bench(&grouped);
    bench.succeed("compare small.toml");
    let file = "small-results/results.csv";
    let names = column(&bench, file, "mechanism");
    let scores = column(&bench, file, "group_score");
    assert_eq!(names.len(), 4);
    for (name, score) in names.iter().zip(&scores) {
        let score = score.parse::<f64>().ok();
        // There are no records of the multiplied-out marginals.
        assert_eq!(score.is_none(), name == "true one-way marginals", "{name}");
        assert!(score.is_none_or(|score| (0.0..=2.0).contains(&score)), "{name}: {score:?}");
    }
    let of = |mechanism: &str| {
        let place = names.iter().position(|name| name == mechanism).unwrap();
        scores[place].parse::<f64>().unwrap()
    };
    assert!(of("ide") < of("independent"), "{scores:?}");
    assert!(bench.read("small-results/comparison.html").contains("group score"));
    // Sizes of groups, and answers in each: more than a level of everyone would have.
    let ide = names.iter().position(|name| name == "ide").unwrap();
    assert!(column(&bench, file, "private_marginals")[ide].parse::<u32>().unwrap() > 3);
    bench.write("small.toml", &grouped.replace("\"d\"", "\"e\""));
    bench.fail("compare small.toml --out other", 3, "'e'");
}

#[test]
fn weighted_samples_are_compared_as_what_they_stand_for() {
    let protocol = r#"
workload = "all-2-way"
delta = 1e-6
epsilons = [8.0]
seeds = [0]
mechanisms = ["mst", "public-only"]
measures = ["singles-and-pairs"]

[[data]]
name = "records"
schema = "survey.json"
private = "sample.csv"
public = ["near.csv"]

[[data]]
name = "weights"
schema = "survey.json"
private = "sample.csv"
public = ["near.csv"]
weight = "w"

[[data]]
name = "totals"
schema = "survey.json"
private = "sample.csv"
public = ["near.csv"]
weight = "w"
totals = [["tenure", "age"], ["sex"]]

[[data]]
name = "neither"
schema = "survey.json"
private = "sample.csv"
public = ["near.csv"]
weight = "w"
weight_in_runs = false

[[data]]
name = "totals-alone"
schema = "survey.json"
private = "sample.csv"
public = ["near.csv"]
weight = "w"
weight_in_runs = false
totals = [["tenure", "age"], ["sex"]]
"#;
    let bench = bench(protocol);
    // The weight before all attributes.
    let weight = "{\"name\": \"w\", \"role\": \"weight\"}";
    let others = crate::surveys::SCHEMA.replace(&format!(",\n    {weight}"), "");
    let schema = others.replace("{\"columns\": [", &format!("{{\"columns\": [{weight},"));
    assert!(schema.find(weight) < schema.find("tenure"));
    bench.write("survey.json", &schema);
    bench.write("sample.csv", &crate::surveys::sample(0));
    bench.write("near.csv", &crate::surveys::sample(1));
    bench.succeed("compare small.toml --out out");
    let names = ["data", "mechanism", "workload_error", "singles_l1"];
    let columns = names.map(|name| column(&bench, "out/results.csv", name));
    let of = |set: &str, mechanism: &str, place: usize| -> f64 {
        let is_it = |i: &usize| columns[0][*i] == set && columns[1][*i] == mechanism;
        let i = (0..columns[0].len()).find(is_it).unwrap();
        columns[place][i].parse().unwrap()
    };
    // What the mechanism releases is as near to the weighted table as to the records where there are no weights.
    for set in ["records", "weights", "totals"] {
        assert!(of(set, "mst", 2) < 0.08, "{set}: {}", of(set, "mst", 2));
        assert!(of(set, "public table near", 2) < 0.1, "{set}");
    }
    // The release with totals has them, whatever the noise; all columns but the age.
    assert!(of("totals", "mst", 3) < of("weights", "mst", 3));
    assert!(of("totals", "public-only", 2) < 0.1);
    // Records that nobody weighs are further from the population; totals alone bring them back.
    assert!(of("neither", "mst", 2) > 2.0 * of("weights", "mst", 2), "{columns:?}");
    assert!(of("totals-alone", "mst", 2) < 0.5 * of("neither", "mst", 2), "{columns:?}");
    // Other totals are another protocol.
    bench.write("small.toml", &protocol.replace("[\"sex\"]", "[\"age\"]"));
    bench.fail("compare small.toml --out out", 5, "'totals, ");
}
