//! The command-line tool as scripts see it: output, files, messages and exit codes.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

/// A folder with small tables: four attributes, a private and a public table.
pub(crate) struct Bench {
    folder: TempDir,
}

impl Bench {
    pub(crate) fn new() -> Self {
        let bench = Self { folder: tempfile::tempdir().unwrap() };
        bench.write("schema.json", r#"{"a": 2, "b": 3, "c": 2, "d": 4}"#);
        bench.write("private.csv", &table(400, 1));
        bench.write("public.csv", &table(150, 5));
        bench
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap();
    }

    /// Writes a script that can be run.
    pub(crate) fn write_program(&self, name: &str, text: &str) {
        self.write(name, text);
        let done = Command::new("chmod").arg("755").arg(self.path(name)).status();
        assert!(done.unwrap().success());
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    /// Runs the tool in the folder, with the words of `command` as arguments. Files that exist already are replaced:
    /// [`keeping`](Self::keeping) is what users have.
    pub(crate) fn run(&self, command: &str) -> Output {
        self.keeping(&format!("{command} --overwrite"))
    }

    /// As [`run`](Self::run), without `--overwrite`.
    pub(crate) fn keeping(&self, command: &str) -> Output {
        Command::new(env!("CARGO_BIN_EXE_jointly"))
            .current_dir(self.folder.path())
            .env_remove("JOINTLY_DATA")
            .args(command.split_whitespace())
            .output()
            .unwrap()
    }

    /// Runs a command that must succeed; its standard output.
    pub(crate) fn succeed(&self, command: &str) -> String {
        let output = self.run(command);
        assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// Runs a command that must fail with a code and a message on one line.
    pub(crate) fn fail(&self, command: &str, code: i32, part: &str) {
        let output = self.run(command);
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(code), "{command}: {message}");
        let told = message.lines().any(|line| line.starts_with("error: ") && line.contains(part));
        assert!(told, "{command}: {message}");
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let names = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

/// Rows in which `b` and `d` follow `a`.
fn table(records: u32, step: u32) -> String {
    let mut text = String::from("a,b,c,d\n");
    for i in 0..records {
        let (a, noise) = (i * step % 7 % 2, i * 13 % 11);
        let b = if noise < 8 { 2 * a } else { 1 };
        writeln!(text, "{a},{b},{},{}", i / 3 % 2, (a + noise) % 4).unwrap();
    }
    text
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub(crate) fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap();
    assert!((found - expected).abs() <= 1e-4 * expected.abs(), "{found}, expected {expected}");
}

const SYNTH: &str = "synth --private private.csv --public near=public.csv --schema schema.json \
                     --workload all-2-way --epsilon 2 --delta 1e-6 --mechanism jam-pgm --rounds 5 --out out.csv";

#[test]
fn budgets_convert_all_ways() {
    let bench = Bench::new();
    let answer = |command: &str| -> Value {
        serde_json::from_str(&bench.succeed(&format!("budget --json {command}"))).unwrap()
    };
    close(&answer("--epsilon 1 --delta 1e-9")["rho"], 0.014_973);
    close(&answer("--rho 0.5 --delta 1e-6")["epsilon"], 5.2215);
    let delta = answer("--rho 0.01 --epsilon 1")["delta"].as_f64().unwrap();
    assert!((1.6e-13..1.7e-13).contains(&delta), "{delta}");
    let text = bench.succeed("budget --epsilon 1 --delta 1e-9");
    assert!(text.contains("rho      0.01497") && text.contains("(computed)"), "{text}");
}

#[test]
fn budgets_out_of_range_end_with_code_4_and_other_flags_with_code_2() {
    let bench = Bench::new();
    for epsilon in ["0", "-1", "inf", "nan"] {
        bench.fail(&format!("budget --epsilon {epsilon} --delta 1e-6"), 4, "epsilon is");
        let synth = SYNTH.replace("--epsilon 2", &format!("--epsilon {epsilon}"));
        bench.fail(&synth, 4, "epsilon is");
    }
    for delta in ["0", "1", "-0.1", "2"] {
        bench.fail(&format!("budget --epsilon 1 --delta {delta}"), 4, "delta is");
        bench.fail(&SYNTH.replace("--delta 1e-6", &format!("--delta {delta}")), 4, "delta is");
    }
    bench.fail("budget --rho 0 --delta 1e-6", 4, "rho is 0");
    bench.fail(&format!("{SYNTH} --measure-share 1"), 2, "--measure-share is 1");
    bench.fail(&format!("{SYNTH} --size-limit-mib 0"), 2, "--size-limit-mib is 0");
    bench.fail(
        &format!("{SYNTH} --rounds 0").replace("--mechanism jam-pgm --rounds 5 ", ""),
        2,
        "--rounds is 0",
    );
    bench.fail(&format!("{SYNTH} --iterations 0"), 2, "--iterations is 0");
    assert!(!bench.path("out.csv").exists());
}

#[test]
fn wrong_usage_ends_with_code_2() {
    let bench = Bench::new();
    bench.fail("dance", 2, "unrecognized subcommand");
    bench.fail("synth --private private.csv", 2, "required arguments");
    bench.fail("budget --epsilon 1", 2, "expected two of");
    bench.fail("budget --epsilon x --delta 1e-6", 2, "invalid value");
    bench.fail(&format!("{SYNTH} --public near=schema.json"), 2, "distinct names");
    bench.fail(&format!("{SYNTH} --rows 0"), 2, "--rows is 0");
    bench.fail(&SYNTH.replace("--epsilon 2 --delta 1e-6", "--epsilon 2"), 2, "--delta");
    bench.fail(&SYNTH.replace("out.csv", "./private.csv"), 2, "is the file of --private");
    bench.fail(&format!("{SYNTH} --ledger out.csv"), 2, "is the file of --out");
    bench.fail(&format!("{SYNTH} --model schema.json"), 2, "is the file of --schema");
    let private = table(400, 1);
    assert_eq!(bench.read("private.csv"), private, "inputs are never written to");
}

#[test]
fn wrong_input_ends_with_code_3_and_names_the_place() {
    let bench = Bench::new();
    bench.write("bad.csv", "a,b,c,d\n0,1,1,3\n0,7,1,3\n");
    bench.fail(&SYNTH.replace("private.csv", "bad.csv"), 3, "bad.csv, line 3, column 'b'");
    bench.write("workload.txt", "a,b\na,x\n");
    let synth = SYNTH.replace("all-2-way", "workload.txt");
    bench.fail(&synth, 3, "unknown attribute 'x' in workload.txt, line 2");
    bench.fail(&SYNTH.replace("all-2-way", "all-9-way"), 3, "from 1 to 4 attributes");
    bench.fail(&SYNTH.replace("all-2-way", "some-way"), 2, "expected all-K-way");
    bench.write("no.json", "{}");
    bench.fail(&SYNTH.replace("schema.json", "no.json"), 3, "no.json");
    bench.fail(&format!("{SYNTH} --max-cells 1"), 3, "more than 1 cells");
    bench.write("cut.csv.gz", "\u{1f}");
    fs::write(bench.path("cut.csv.gz"), [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 75]).unwrap();
    bench.fail(&SYNTH.replace("private.csv", "cut.csv.gz"), 3, "cut short or damaged");
    assert!(!bench.path("out.csv").exists());
}

#[test]
fn files_that_cannot_be_read_or_written_end_with_code_1_before_anything_is_spent() {
    let bench = Bench::new();
    bench.fail(&SYNTH.replace("private.csv", "none.csv"), 1, "cannot read none.csv");
    bench.fail(&format!("{SYNTH} --report none/report.html"), 1, "--report");
    bench.fail(&SYNTH.replace("out.csv", "."), 1, "is a folder");
    let names = ["private.csv", "public.csv", "schema.json"];
    assert_eq!(bench.files(), names, "nothing is left behind");
}

#[test]
fn plans_need_no_data() {
    let bench = Bench::new();
    let command = "plan --schema schema.json --workload all-2-way --epsilon 1 --delta 1e-9 \
                   --records 1000 --mechanism jam-pgm --rounds 10";
    let plan: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    // A twentieth of the budget measures the errors of the release.
    close(&plan["steps"][0]["stddev"], (10.0 / (0.8 * 0.95 * 0.014_973_f64)).sqrt());
    close(&plan["error_half_width"], 1.96 * 2.0 / (2.0 * 0.05 * 0.014_973_f64).sqrt() / 1000.0);
    let all = format!("{command} --error-share 0");
    let command = all.as_str();
    let plan: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    assert_eq!(plan["workload_cliques"], 6);
    assert_eq!(plan["closure_cliques"], 10);
    assert_eq!(plan["workload_cells"], 6 + 4 + 8 + 6 + 12 + 8);
    close(&plan["log10_domain_size"], 48_f64.log10());
    // sigma^2 = T / (0.8 rho) under replace-one.
    close(&plan["steps"][0]["stddev"], (10.0 / (0.8 * 0.014_973_f64)).sqrt());
    assert_eq!(plan["noisy"][2]["cells"], 12);
    assert!(plan["too_large"].as_array().unwrap().is_empty());
    let text = bench.succeed(&format!("{command} --size-limit-mib 0.00007"));
    assert!(text.contains("does not fit: b x d"), "{text}");
    assert!(!text.contains("does not fit: b\n"), "single attributes always fit: {text}");
    let halved: Value = serde_json::from_str(
        &bench.succeed(&format!("{command} --json --neighbors add-remove-one")),
    )
    .unwrap();
    close(&halved["steps"][0]["stddev"], (10.0 / (2.0 * 0.99 * 0.8 * 0.014_973_f64)).sqrt());
    bench.fail(&command.replace("--records 1000", "--records 0"), 2, "--records is 0");
    bench.fail(&command.replace("--error-share 0", "--error-share 1"), 2, "--error-share is 1");
}

#[test]
fn a_plan_states_the_worst_case_of_reweighting_public_records() {
    let bench = Bench::new();
    let command = "plan --schema schema.json --workload all-2-way --epsilon 1 --delta 1e-9 \
                   --error-share 0 --records 5000000 --public-records 300 --mixture-error 0.02";
    let plan: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    let worst = &plan["worst_case"];
    assert_eq!(worst["queries"], 44);
    // ln(2 · 44/0.05)/(2 · 0.02²) = 9341.3.
    assert_eq!(worst["sufficient_records"], 9342);
    // Computed apart, at rho = 0.014973 (four digits): 0.05683 after 71,820 rounds.
    assert!((worst["error"].as_f64().unwrap() - 0.056_83).abs() < 2e-5, "{worst}");
    assert!(worst["rounds"].as_u64().unwrap().abs_diff(71_820) < 100, "{worst}");
    let text = bench.succeed(command);
    assert!(text.contains("error of a query, 95 % sure, at most"), "{text}");
    let without = command.replace("--public-records 300 --mixture-error 0.02", "");
    assert!(!bench.succeed(&without).contains("95 % sure"));
    let private_n = format!("{command} --neighbors add-remove-one");
    bench.fail(&private_n, 2, "--public-records needs --neighbors replace-one");
}

#[test]
fn noisy_answers_in_a_file_become_the_constraints_of_a_posterior() {
    use jointly::data::read_public_csv;
    use jointly::estimation::prior::{Answers, PriorAware};
    use jointly::model::Distribution;
    use jointly::{PublicData, Schema, model::WeightedSupport};
    let bench = Bench::new();
    bench.succeed(
        "answer --private private.csv --schema schema.json --workload all-1-way --epsilon 10 --delta 1e-6 \
         --out noisy.csv",
    );
    let schema = Schema::read(&bench.path("schema.json")).unwrap();
    let domain = schema.domain();
    let public = read_public_csv(&bench.path("public.csv"), &schema).unwrap();
    let public = PublicData::new("public", public, &domain).unwrap();
    let prior = WeightedSupport::from_public(&domain, &[public], 400.0).unwrap();
    let posterior = |file: &str| {
        let answers = Answers::read(&bench.path(file), &domain, 400.0).unwrap();
        let model = PriorAware::default().update(&prior, &answers).unwrap().model;
        (answers, model)
    };
    let (answers, model) = posterior("noisy.csv");
    assert_eq!(answers.len(), 4);
    for answers in &answers {
        assert_eq!(answers.cells, None);
        let found = model.marginals(std::slice::from_ref(&answers.clique)).unwrap();
        let off = found[0].values().iter().zip(&answers.frequencies);
        assert!(off.clone().all(|(count, y)| (count / 400.0 - y).abs() < 0.02), "{answers:?}");
    }
    // Without the line of one cell, the others of its marginal are still met.
    let text = bench.read("noisy.csv");
    let cut: Vec<&str> = text.lines().filter(|line| !line.starts_with("d,3,")).collect();
    assert_eq!(cut.len() + 1, text.lines().count());
    bench.write("some.csv", &(cut.join("\n") + "\n"));
    let (answers, model) = posterior("some.csv");
    assert_eq!(answers[3].cells, Some(vec![0, 1, 2]));
    let found = model.marginals(std::slice::from_ref(&answers[3].clique)).unwrap();
    let met = found[0].values().iter().zip(&answers[3].frequencies);
    assert!(met.clone().all(|(count, y)| (count / 400.0 - y).abs() < 0.02), "{answers:?}");
}

#[test]
fn every_mechanism_has_a_plan() {
    let bench = Bench::new();
    for entry in jointly::mechanism::CATALOGUE {
        let command = format!(
            "plan --schema schema.json --workload all-2-way --epsilon 1 --delta 1e-9 \
             --records 1000 --mechanism {} --json",
            entry.name
        );
        let plan: Value = serde_json::from_str(&bench.succeed(&command)).unwrap();
        assert_eq!(plan["mechanism"], entry.name);
        assert!(plan["rounds"].as_u64().unwrap() > 0, "{}", entry.name);
        // Without groups there are no sizes to measure, and answers depend on the table. Some only choose.
        let measures_nothing = ["ide", "fem", "dual-query"].contains(&entry.name);
        let steps = plan["steps"].as_array().unwrap();
        assert_eq!(steps.is_empty(), !entry.spends || measures_nothing, "{}", entry.name);
        let noise = steps.iter().all(|step| step["stddev"].as_f64().unwrap() > 0.0);
        assert!(noise, "{}: {steps:?}", entry.name);
    }
}

#[test]
fn plans_tell_size_work_and_memory_of_a_model_apart() {
    let bench = Bench::new();
    bench.write("measured.txt", "a, b\nb, d\n");
    let command = "plan --schema schema.json --workload all-2-way --epsilon 1 --delta 1e-9 \
                   --records 1000";
    let answer = |more: &str| -> Value {
        let text = bench.succeed(&format!("{command} --json {more}"));
        serde_json::from_str(&text).unwrap()
    };
    let plan = answer("--measured measured.txt");
    let engine = &plan["engine"];
    assert_eq!((&plan["measured_given"], &engine["measured_cliques"]), (&true.into(), &2.into()));
    assert_eq!(engine["measured_cells"], 6 + 12);
    // The maximal cliques: those two, and `c` alone. A call walks over the larger of the two once, the other twice.
    assert_eq!(engine["model_cells"], 6 + 12 + 2);
    assert!(engine["work_cells"].as_u64().unwrap() >= 6 + 6 + 12);
    assert!(engine["held_bytes"].as_u64().unwrap() > 8 * (6 + 12));
    assert!(engine["seconds_per_call"].as_f64().unwrap() > 0.0);

    let plan = answer("--rounds 5 --size-limit-mib 0.0005");
    assert_eq!(plan["measured_given"], false);
    assert!(plan["engine"]["measured_cliques"].as_u64().unwrap() <= 5);
    assert!(plan["engine"]["model_mib"].as_f64().unwrap() <= 0.0005);
    let text = bench.succeed(&format!("{command} --measured measured.txt"));
    assert!(text.contains("memory held by a fit"), "{text}");

    let small = format!("{command} --measured measured.txt --size-limit-mib 0.0001");
    bench.fail(&small, 3, "the model of the measured cliques");
    bench.fail(&format!("{command} --rounds 3"), 3, "more rounds than attributes");
    bench.fail(&format!("{command} --measured nowhere.txt"), 1, "nowhere.txt");
}

#[test]
fn schemas_are_drafted_from_public_tables() {
    let bench = Bench::new();
    bench.succeed("schema --public public.csv --out drafted.json");
    let schema: Value = serde_json::from_str(&bench.read("drafted.json")).unwrap();
    assert_eq!(schema["columns"].as_array().unwrap().len(), 4);
    let printed = bench.succeed("schema --public public.csv");
    assert_eq!(printed, bench.read("drafted.json"));
    bench.fail("schema", 2, "required arguments");
    bench.fail("schema --public public.csv --out public.csv", 2, "is the file of --public");
    bench.succeed(
        "evaluate --real public.csv --synthetic public.csv --schema drafted.json \
         --workload all-2-way",
    );
}

#[test]
fn evaluations_are_those_computed_by_hand_and_say_that_they_are_not_private() {
    let bench = Bench::new();
    bench.write("domain.json", r#"{"a": 2, "b": 2}"#);
    bench.write("real.csv", "a,b\n0,0\n1,1\n");
    bench.write("fake.csv", "b,a\n0,0\n1,0\n0,1\n1,1\n");
    let command = "evaluate --real real.csv --synthetic fake.csv --schema domain.json \
                   --workload all-2-way";
    let text = bench.succeed(command);
    assert!(text.starts_with("NOT PRIVATE"), "{text}");
    let answer: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    assert_eq!(answer["private"], false);
    close(&answer["error"]["mean_l1"], 1.0);
    close(&answer["error"]["max_query"], 0.25);
    close(&answer["error"]["rmse_query"], 0.25);
    close(&answer["independent_error"], 1.0);
    assert_eq!(answer["error"]["worst"][0]["clique"][1], "b");
}

#[test]
fn more_measures_and_edit_rules_are_those_computed_by_hand() {
    let bench = Bench::new();
    bench.write("domain.json", r#"{"a": 2, "b": 2}"#);
    bench.write("real.csv", "a,b\n0,0\n0,0\n0,0\n1,1\n");
    bench.write("fake.csv", "a,b\n0,0\n1,0\n1,1\n1,1\n");
    bench.write(
        "rules.json",
        r#"{"rules": [{"name": "r", "forbidden": {"a": ["1"], "b": ["0"]}}]}"#,
    );
    let command = "evaluate --real real.csv --synthetic fake.csv --schema domain.json \
                   --workload all-1-way --k 2 --rules rules.json \
                   --measures k-marginal,propensity,correlation,unique-matches,singles-and-pairs --predict b";
    let answer: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    assert_eq!(answer["private"], false);
    // (3, 0, 0, 1) / 4 against (1, 0, 1, 2) / 4: L1 1.
    close(&answer["k_marginal"]["score"], 500.0);
    close(&answer["correlation"]["pearson"]["max"], 1.0 - 1.0 / 3.0_f64.sqrt());
    close(&answer["unique_matches"]["share_of_unique"], 1.0);
    // a: (3, 1) / 4 against (1, 3) / 4; b: (3, 1) / 4 against (2, 2) / 4.
    close(&answer["singles_and_pairs"]["singles"]["mean_l1"], 0.75);
    close(&answer["singles_and_pairs"]["pairs"]["max_query"], 0.5);
    // Of those with a = 1 two of three have b = 1, and of those with a = 0 none.
    close(&answer["predictions"][0]["synthetic"]["right"], 1.0);
    close(&answer["predictions"][0]["synthetic"]["area"], 1.0);
    close(&answer["predictions"][0]["most_frequent"], 0.75);
    close(&answer["edit_rules"]["synthetic"]["share"], 0.25);
    assert_eq!(answer["edit_rules"]["real"]["violating"], 0);
    assert!(answer["propensity"]["ratio"].as_f64().unwrap() > 1.0);
    let text = bench.succeed(command);
    assert!(text.starts_with("NOT PRIVATE") && text.contains("against 'r'"), "{text}");
    assert!(text.contains("Classifier of b, area under ROC") && text.contains("Pairs, mean L1"));
    let plain: Value = serde_json::from_str(&bench.succeed(
        "evaluate --real real.csv --synthetic fake.csv --schema domain.json --workload all-1-way --json",
    ))
    .unwrap();
    assert!(plain.get("k_marginal").is_none(), "{plain}");
    bench.fail(&command.replace("--k 2", "--k 3"), 3, "from 1 to 2 attributes");
    bench.fail(&command.replace("k-marginal,", "charm,"), 2, "invalid value 'charm'");
}

#[test]
fn numbers_are_compared_as_numbers_and_by_groups() {
    let bench = Bench::new();
    bench.write(
        "schema.json",
        r#"{"na_token": "", "columns": [
            {"name": "sex", "role": "attribute", "kind": "categorical", "na": false, "codes": ["f", "m"]},
            {"name": "rooms", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 10], "integer": true},
            {"name": "age", "role": "attribute", "kind": "numeric", "na": false, "edges": [0, 99], "integer": true}
        ]}"#,
    );
    bench.write("real.csv", "sex,rooms,age\nf,2,20\nf,4,30\nm,,31\nm,6,50\n");
    bench.write("fake.csv", "sex,rooms,age\nf,9,20\nm,9,50\n");
    let command = "evaluate --private real.csv --synthetic fake.csv --schema schema.json \
                   --workload all-1-way --by sex";
    let answer: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    let rooms = &answer["numbers"]["columns"][0];
    close(&rooms["mean_difference"], 5.0 / (8.0_f64 / 3.0).sqrt());
    close(&rooms["wasserstein"], 5.0 / (8.0_f64 / 3.0).sqrt());
    close(&rooms["outside"], 1.0);
    close(&answer["numbers"]["groups"][1]["columns"][0]["real"]["mean"], 6.0);
    // The only bin has the right share, so the workload error of the numbers that are there is 0.
    let text = bench.succeed(command);
    assert!(text.contains("Wide bins can hide") && text.contains("rooms (1.225)"), "{text}");
    assert!(text.contains("m: 2 real records, 1 synthetic ones"), "{text}");
    bench.fail(&command.replace("--by sex", "--by sexx"), 3, "--by");
    let regress = command.replace("--by sex", "--regress age~sex");
    assert!(bench.succeed(&regress).contains("sex = m"));
    bench.fail(&regress.replace("age~sex", "sex~age"), 3, "a numeric column on the left");
}

#[test]
fn a_score_by_groups_is_that_computed_by_hand() {
    let bench = Bench::new();
    bench.write("domain.json", r#"{"area": 3, "a": 2, "b": 2}"#);
    bench.write("real.csv", "area,a,b\n0,0,0\n0,1,1\n1,0,0\n");
    bench.write("fake.csv", "area,a,b\n0,0,0\n0,1,0\n2,0,0\n");
    let command = "evaluate --real real.csv --synthetic fake.csv --schema domain.json \
                   --workload all-1-way --groups area";
    let answer: Value = serde_json::from_str(&bench.succeed(&format!("{command} --json"))).unwrap();
    // Area 0 has L1 1; areas 1 and 2 are in one table only.
    close(&answer["by_groups"]["score"], 5.0 / 3.0);
    close(&answer["by_groups"]["points"], 1000.0 / 6.0);
    assert_eq!(
        (&answer["by_groups"]["groups"], &answer["by_groups"]["penalized"]),
        (&3.into(), &2.into())
    );
    assert_eq!(answer["by_groups"]["by_group"][0]["real"], 2);
    assert!(bench.succeed(command).contains("Group score (mean L1 distance, 0 to 2)"));
    bench.fail(
        &command.replace("--groups area", "--groups region"),
        3,
        "unknown attribute 'region'",
    );
}

#[test]
fn a_fixed_seed_repeats_every_file_and_marks_it_as_not_private() {
    let bench = Bench::new();
    // The page has the name of the table, as part of the command.
    let files = |n: u32| {
        format!("--out {n}/t.csv --model {n}/t.model --ledger {n}/t.ledger --report {n}/t.html")
    };
    for n in [1, 2] {
        fs::create_dir(bench.path(&n.to_string())).unwrap();
        let command = SYNTH.replace("--out out.csv", &files(n));
        let output = bench.run(&format!("{command} --seed 7"));
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(stderr(&output).contains("NOT PRIVATE"));
    }
    for extension in ["csv", "model", "ledger", "html", "json"] {
        let of = |n: u32| bench.read(&format!("{n}/t.{extension}"));
        assert!(!of(1).is_empty());
        assert!(of(1) == of(2), "{extension} differs");
    }
    let ledger: Value = serde_json::from_str(&bench.read("1/t.ledger")).unwrap();
    assert_eq!(ledger["private"], false);
    assert!(ledger["note"].as_str().unwrap().contains("NOT PRIVATE"));
    let units = |name: &str| ledger["ledger"][name]["units"].as_u64().unwrap();
    assert_eq!(units("spent") + units("remaining"), units("limit"));
    assert_eq!(ledger["rounds"].as_array().unwrap().len(), 5);
    assert!(bench.read("1/t.html").contains("NOT PRIVATE"));
    assert_eq!(bench.read("1/t.csv").lines().count(), 401);
}

#[test]
fn a_model_too_small_for_any_pair_takes_single_attributes() {
    let bench = Bench::new();
    // The four attributes alone have 11 cells: 8.39e-5 MiB.
    bench.succeed(&format!("{SYNTH} --size-limit-mib 8.4e-5 --ledger ledger.json"));
    let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
    for round in ledger["rounds"].as_array().unwrap() {
        assert_eq!(round["measurements"][0]["clique"].as_array().unwrap().len(), 1);
    }
    bench.fail(&format!("{SYNTH} --size-limit-mib 1e-9"), 3, "MiB, and independent attributes");
}

#[test]
fn a_private_run_says_so_and_its_model_can_be_sampled() {
    let bench = Bench::new();
    bench.succeed(&format!(
        "{SYNTH} --model model.json --ledger ledger.json --report r.html --rows 50"
    ));
    let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
    assert_eq!(ledger["private"], true);
    assert!(!bench.read("r.html").contains("NOT PRIVATE"));
    assert_eq!(bench.read("out.csv").lines().count(), 51);
    for name in ["one.csv", "two.csv"] {
        bench.succeed(&format!("sample --model model.json --rows 30 --seed 3 --out {name}"));
    }
    assert_eq!(bench.read("one.csv"), bench.read("two.csv"));
    assert_eq!(bench.read("one.csv").lines().count(), 31);
    bench.fail("sample --model schema.json --rows 3 --out x.csv", 3, "schema.json");
    bench.fail("sample --model model.json --rows 3 --out model.json", 2, "--model");
}

#[test]
fn the_public_only_baseline_spends_nothing() {
    let bench = Bench::new();
    bench.succeed(
        "synth --private private.csv --public public.csv --schema schema.json --workload \
         all-2-way --mechanism public-only --rounds 4 --out out.csv --ledger ledger.json \
         --report r.html",
    );
    let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
    assert_eq!(ledger["ledger"]["spent"]["units"], 0);
    assert_eq!(ledger["epsilon"], Value::Null);
    // With a budget, the default error share is spent, so a ledger is written even without --ledger.
    let with_budget = "synth --private private.csv --public public.csv --schema schema.json --workload all-2-way \
                       --mechanism public-only --rounds 4 --epsilon 1 --delta 1e-9 --out paid.csv";
    bench.succeed(with_budget);
    let paid: Value = serde_json::from_str(&bench.read("paid.csv.ledger.json")).unwrap();
    assert_eq!(paid["ledger"]["entries"][0]["purpose"], "errors of the released table");
    assert!(paid["ledger"]["spent"]["units"].as_u64() > Some(0));
    bench.fail(
        "synth --private private.csv --schema schema.json --mechanism public-only --out o.csv",
        2,
        "--public",
    );
}

#[test]
fn mechanisms_without_public_tables_have_ledger_report_model_and_checkpoint() {
    let bench = Bench::new();
    for (name, rounds) in
        [("aim", " --rounds 20"), ("mst", ""), ("mwem-pgm", ""), ("independent", "")]
    {
        for relation in ["replace-one", "add-remove-one"] {
            let command = format!(
                "synth --private private.csv --public near=public.csv --schema schema.json \
                 --workload all-2-way --epsilon 2 --delta 1e-6 --mechanism {name}{rounds} \
                 --neighbors {relation} --out out.csv --model model.json --ledger ledger.json \
                 --report r.html --checkpoint {name}-{relation}"
            );
            let output = bench.run(&command);
            let log = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{log}");
            assert!(log.contains(&format!("{name} makes no use of public tables")), "{log}");
            let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
            assert_eq!(
                (&ledger["mechanism"], &ledger["neighbors"]),
                (&name.into(), &relation.into())
            );
            assert_eq!(ledger["ledger"]["spent"], ledger["ledger"]["limit"]);
            let rounds = ledger["rounds"].as_array().unwrap();
            assert_eq!(log.lines().filter(|line| line.starts_with("round ")).count(), rounds.len());
            assert!(rounds.iter().all(|round| round["measurements"][0]["source"] == "private"));
            assert!(bench.read("r.html").contains("near (150 records), not used"));
            bench.succeed("sample --model model.json --rows 30 --out more.csv");
            bench.succeed(&command);
            let again: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
            assert_eq!(again, ledger, "{name}: nothing is paid for twice");
        }
    }
}

#[test]
fn flags_that_a_mechanism_would_not_heed_are_refused() {
    let bench = Bench::new();
    for name in ["mst", "independent"] {
        let line = SYNTH.replace("jam-pgm", name);
        bench.fail(&line, 2, "--rounds is of no use");
    }
    let synth = SYNTH.replace("--mechanism jam-pgm --rounds 5 ", "");
    bench.fail(&format!("{synth} --mechanism mst --measure-share 0.5"), 2, "--measure-share is");
    let unpaid = synth.replace("--epsilon 2 --delta 1e-6", "");
    for name in ["aim", "mst", "mwem-pgm", "independent", "jam-pgm"] {
        bench.fail(&format!("{unpaid} --mechanism {name}"), 2, "--epsilon and --delta");
    }
    let few = SYNTH.replace("jam-pgm --rounds 5", "aim --rounds 4");
    bench.fail(&few, 3, "4 rounds");
}

#[test]
fn names_are_escaped_in_the_report() {
    let bench = Bench::new();
    bench.write("odd.json", r#"{"<b>": 2, "x&y": 3}"#);
    for name in ["odd.csv", "even.csv"] {
        bench.write(name, "<b>,x&y\n0,1\n1,2\n0,0\n1,1\n");
    }
    bench.succeed(
        "synth --private odd.csv --public <i>=even.csv --schema odd.json --workload all-2-way \
         --epsilon 1 --delta 1e-6 --mechanism jam-pgm --rounds 2 --out out.csv --report r.html",
    );
    let report = bench.read("r.html");
    assert!(report.contains("&lt;b&gt;") && report.contains("x&amp;y"));
    assert!(!report.contains("<b>x") && !report.contains("<i>=") && !report.contains("><i><"));
}

#[test]
fn progress_is_plain_lines_when_standard_error_is_no_terminal() {
    let bench = Bench::new();
    let output = bench.run(SYNTH);
    let log = stderr(&output);
    assert!(!log.contains('\u{1b}') && !log.contains('\r'), "{log}");
    assert_eq!(log.lines().filter(|line| line.starts_with("round ")).count(), 5, "{log}");
    assert!(output.stdout.is_empty());
    let output = bench.run(&format!("{SYNTH} --quiet --ledger other.json"));
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
}

#[test]
fn the_json_log_is_one_object_a_line() {
    let bench = Bench::new();
    let output = bench.run(&format!("{SYNTH} --log-format json --seed 1"));
    let log: Vec<Value> =
        stderr(&output).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let count = |event: &str| log.iter().filter(|line| line["event"] == event).count();
    assert_eq!((count("warning"), count("started"), count("finished")), (1, 1, 1));
    assert_eq!((count("scored"), count("measured"), count("fitted")), (5, 5, 5));
    let last = log.last().unwrap();
    assert_eq!((&last["event"], &last["private"]), (&"finished".into(), &false.into()));
    for (command, code, kind) in [
        ("--log-format json budget --epsilon 0 --delta 0.1", 4, "privacy"),
        ("budget --nonsense --log-format=json", 2, "usage"),
        ("schema --public none.csv --log-format json", 1, "internal"),
    ] {
        let output = bench.run(command);
        assert_eq!(output.status.code(), Some(code), "{command}");
        let line: Value = serde_json::from_str(stderr(&output).trim_end()).unwrap();
        assert_eq!((&line["event"], &line["kind"]), (&"error".into(), &kind.into()));
        assert_eq!(line["exit_code"], code);
    }
}

#[test]
fn a_finished_checkpoint_is_not_paid_for_again_and_other_inputs_are_refused() {
    let bench = Bench::new();
    let command = format!("{SYNTH} --checkpoint state --ledger ledger.json");
    bench.succeed(&command);
    let first = bench.read("ledger.json");
    bench.succeed(&command);
    assert_eq!(bench.read("ledger.json"), first);
    bench.fail(&command.replace("--epsilon 2", "--epsilon 3"), 5, "checkpoint");
    bench.fail(&command.replace("all-2-way", "all-1-way"), 5, "checkpoint");
    bench.fail(&format!("{command} --seed 1"), 5, "checkpoint");
}

#[test]
fn help_tells_the_exit_codes() {
    let bench = Bench::new();
    let help = bench.succeed("--help");
    assert!(help.contains("Exit codes") && help.contains("checkpoint is refused"));
    assert!(bench.succeed("--version").starts_with("jointly "));
    assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/guide/command-line.md").exists());
}

#[test]
fn completions_and_the_manual_know_the_commands_and_flags() {
    let bench = Bench::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = bench.succeed(&format!("completions {shell}"));
        assert!(script.contains("mixture-error") && script.contains("max-cells"), "{shell}");
    }
    let other = bench.run("completions csh");
    assert_eq!(other.status.code(), Some(2));
    assert!(stderr(&other).contains("possible values: bash"), "{}", stderr(&other));
    let page = bench.succeed("man");
    assert!(page.starts_with(".ie") && page.contains("\\-\\-error\\-share"), "{}", &page[..200]);
}

#[test]
fn numbers_of_records_are_read_as_people_write_them() {
    let bench = Bench::new();
    bench.succeed(&format!("{SYNTH} --max-cells 1e4 --rows 1_000"));
    assert_eq!(bench.read("out.csv").lines().count(), 1_001);
    bench.fail(&format!("{SYNTH} --rows 1.5"), 2, "expected a whole number");
}

#[test]
fn a_workload_is_answered_as_json_with_its_ledger_or_as_csv() {
    let bench = Bench::new();
    let common = "--private private.csv --schema schema.json --epsilon 1 --delta 1e-6";
    for name in ["residual-planner", "hdmm"] {
        for neighbors in ["replace-one", "add-remove-one"] {
            bench.succeed(&format!(
                "answer {common} --workload all-2-way --mechanism {name} --neighbors {neighbors} \
                 --out answers.json"
            ));
            let answers: Value = serde_json::from_str(&bench.read("answers.json")).unwrap();
            assert_eq!((&answers["mechanism"], &answers["private"]), (&name.into(), &true.into()));
            assert_eq!(answers["ledger"]["remaining"]["units"], 0);
            let marginals = answers["marginals"].as_array().unwrap();
            assert_eq!(marginals.len(), 6);
            let first = &marginals[0];
            assert_eq!((&first["attributes"][1], &first["shape"][1]), (&"b".into(), &3.into()));
            assert_eq!(first["counts"].as_array().unwrap().len(), 6);
            assert!(first["stddev"].as_f64().unwrap() > 0.0);
        }
        let seeded = format!(
            "answer {common} --workload all-1-way --mechanism {name} --seed 1 --out answers.csv"
        );
        let warning = stderr(&bench.run(&seeded));
        assert!(warning.contains("NOT PRIVATE"), "{warning}");
        let text = bench.read("answers.csv");
        assert_eq!(text.lines().count(), 1 + 2 + 3 + 2 + 4);
        assert!(text.lines().nth(1).unwrap().starts_with("a,0,0,"), "{text}");
    }
    let hdmm = format!("answer {common} --mechanism hdmm --objective max-variance --out o.csv");
    bench.fail(&hdmm, 2, "--objective");
    bench.fail(&format!("answer {common} --out private.csv"), 2, "--out");
}

#[test]
fn answers_make_a_model() {
    let bench = Bench::new();
    let common = "--private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --out s.csv";
    for name in ["residual-planner", "hdmm"] {
        let synth = format!("synth {common} --workload all-2-way --mechanism {name}");
        bench.succeed(&format!("{synth} --ledger ledger.json --report report.html"));
        let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
        assert_eq!(ledger["mechanism"], name);
        assert_eq!(bench.read("s.csv").lines().count(), 401);
        bench.fail(&format!("{synth} --rounds 3"), 2, "--rounds");
        bench.fail(&format!("{synth} --checkpoint kept"), 2, "--checkpoint");
    }
}
