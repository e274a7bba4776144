//! What commands spend, kept in ledgers that later runs obey, whether they succeed or fail.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use serde_json::Value;

use crate::cli::Bench;

/// So many rounds that nothing is left for one of them, once the number of records is paid for.
const TOO_MANY_ROUNDS: &str = "synth --private private.csv --schema schema.json --mechanism mwem --neighbors add-remove-one \
     --epsilon 0.001 --delta 1e-9 --rounds 100000 --workload all-2-way --out out.csv --ledger failed.json";

fn after(ledger: &str, more: &str) -> String {
    format!(
        "synth --private private.csv --schema schema.json --mechanism independent --epsilon 1 \
         --delta 1e-9 --out out.csv --ledger run.json --ledger-from {ledger} {more}"
    )
}

fn ledger(bench: &Bench, file: &str) -> Value {
    serde_json::from_str::<Value>(&bench.read(file)).unwrap()["ledger"].clone()
}

#[test]
fn what_a_failed_run_has_spent_counts_in_the_next_one() {
    let bench = Bench::new();
    bench.fail(TOO_MANY_ROUNDS, 4, "more budget or fewer rounds");
    let failed = ledger(&bench, "failed.json");
    let spent = failed["spent"]["units"].as_u64().unwrap();
    assert!(spent > 0 && failed["entries"].as_array().unwrap().len() == 1);
    assert!(!bench.path("out.csv").exists());
    bench.succeed(&after("failed.json", "--neighbors add-remove-one"));
    let run = ledger(&bench, "run.json");
    assert_eq!(run["entries"][0]["purpose"], "number of records");
    assert_eq!(run["entries"][0]["rho"]["units"], spent);
    assert_eq!(run["spent"], run["limit"]);
}

#[test]
fn a_failed_run_with_a_checkpoint_tells_no_more_than_that() {
    let bench = Bench::new();
    let output = bench.run(&format!("{TOO_MANY_ROUNDS} --checkpoint state"));
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(4), "{text}");
    assert!(text.contains("what was spent is in state"), "{text}");
    assert!(!text.contains("was spent before the failure"), "{text}");
    let kept: Value = serde_json::from_str(&bench.read("state/checkpoint.json")).unwrap();
    assert!(kept["ledger"]["spent"]["units"].as_u64().unwrap() > 0);
    // Draws of the round that failed will be made again: they are in neither.
    assert_eq!(ledger(&bench, "failed.json"), kept["ledger"]);
}

#[test]
fn what_answers_have_spent_counts_in_the_next_run() {
    let bench = Bench::new();
    let answer = |out: &str, epsilon: &str| {
        format!(
            "answer --private private.csv --schema schema.json --workload all-2-way \
             --epsilon {epsilon} --delta 1e-9 --out {out} --ledger spent.json"
        )
    };
    bench.succeed(&answer("answers.csv", "0.5"));
    let of_csv = ledger(&bench, "spent.json");
    bench.succeed(&answer("answers.json", "0.5"));
    assert_eq!(of_csv["spent"], ledger(&bench, "answers.json")["spent"]);
    for earlier in ["spent.json", "answers.json"] {
        bench.succeed(&after(earlier, ""));
        assert_eq!(ledger(&bench, "run.json")["entries"][0]["purpose"], "residuals of marginals");
    }
    bench.succeed(&answer("answers.csv", "1.5"));
    bench.fail(&after("spent.json", ""), 4, "nothing is left");
    bench.fail(&answer("spent.json", "1"), 2, "is the file of --out");
}

/// A table with two columns that may name units.
fn households(bench: &Bench) {
    let people = bench.read("private.csv");
    let named = people.lines().enumerate().map(|(i, line)| match i {
        0 => format!("{line},home,street\n"),
        _ => format!("{line},{},{}\n", i / 3, i / 7),
    });
    bench.write("homes.csv", &named.collect::<String>());
}

fn of_units(column: &str, more: &str) -> String {
    format!(
        "synth --private homes.csv --schema schema.json --mechanism independent --delta 1e-9 \
         --neighbors add-remove-one --unit {column} --max-records 2 --out out.csv {more}"
    )
}

#[test]
fn a_ledger_goes_on_for_units_of_its_own_column_only() {
    let bench = Bench::new();
    households(&bench);
    bench.succeed(&of_units("home", "--epsilon 0.5 --ledger spent.json"));
    bench.succeed(&of_units("home", "--epsilon 1 --ledger-from spent.json"));
    let street = of_units("street", "--epsilon 1 --ledger-from spent.json");
    bench.fail(&street, 3, "units by home, expected by street");
    // The ledger of a run that failed knows its unit, too.
    let failed = TOO_MANY_ROUNDS.replace("private.csv", "homes.csv");
    bench.fail(&format!("{failed} --unit home --max-records 2"), 4, "fewer rounds");
    bench.succeed(&of_units("home", "--epsilon 1 --ledger-from failed.json"));
    let street = of_units("street", "--epsilon 1 --ledger-from failed.json");
    bench.fail(&street, 3, "units by home, expected by street");
}

#[test]
fn a_checkpoint_goes_on_for_its_own_unit_and_schema_only() {
    let bench = Bench::new();
    households(&bench);
    bench.succeed(&of_units("home", "--epsilon 1 --checkpoint state"));
    bench.succeed(&of_units("home", "--epsilon 1 --checkpoint state"));
    bench.fail(&of_units("street", "--epsilon 1 --checkpoint state"), 5, "other inputs");
    bench.write("schema.json", r#"{"a": 2, "b": 3, "c": 2, "d": 4 }"#);
    bench.fail(&of_units("home", "--epsilon 1 --checkpoint state"), 5, "other inputs");
}

#[cfg(unix)]
#[test]
fn an_output_that_takes_no_bytes_is_refused_before_anything_is_read() {
    let bench = Bench::new();
    let _listener = std::os::unix::net::UnixListener::bind(bench.path("socket")).unwrap();
    let command = "synth --private missing.csv --schema schema.json --epsilon 1 --delta 1e-9 --out";
    bench.fail(&format!("{command} socket"), 1, "expected a file, a pipe");
    bench.fail(&format!("{command} out.csv --ledger socket"), 1, "--ledger socket is a socket");
}

#[test]
fn a_pure_epsilon_out_of_range_is_named() {
    let bench = Bench::new();
    for epsilon in ["1e6", "1e-9", "1e300"] {
        let command = format!(
            "synth --private private.csv --public public.csv --schema schema.json --mechanism ide \
             --noise laplace --epsilon {epsilon} --out out.csv"
        );
        bench.fail(&command, 4, "expected from 2^-20 to 4096");
    }
}

#[test]
fn an_absurd_budget_is_out_of_range_wherever_it_comes_in() {
    let bench = Bench::new();
    let tables = "--private private.csv --schema schema.json";
    for epsilon in ["4097", "1e15", "1e308"] {
        let budget = format!("--epsilon {epsilon} --delta 1e-9");
        for command in [
            format!("synth {tables} --mechanism independent {budget} --out out.csv"),
            format!("plan --schema schema.json --mechanism independent {budget} --records 100"),
            format!("trust {tables} --public public.csv {budget}"),
            format!("budget {budget}"),
            format!("budget --epsilon {epsilon} --rho 1"),
            format!("budget --rho {epsilon} --delta 1e-9"),
        ] {
            bench.fail(&command, 4, "expected at most 4096");
        }
        bench.write(
            "run.toml",
            &format!("[synth]\nepsilon = {epsilon}\ndelta = 1e-9\nmechanism = \"independent\"\n"),
        );
        let configured = format!("synth --config run.toml {tables} --out out.csv");
        bench.fail(&configured, 4, "expected at most 4096");
        bench.write(
            "protocol.toml",
            &format!(
                "delta = 1e-6\nepsilons = [{epsilon}]\nseeds = [0]\nmechanisms = [\"independent\"]\n\
                 workload = \"all-2-way\"\n[[data]]\nname = \"small\"\nschema = \"schema.json\"\n\
                 private = \"private.csv\"\npublic = [\"public.csv\"]\n"
            ),
        );
        bench.fail("compare protocol.toml --out results", 3, "expected at most 4096");
    }
    assert!(!bench.path("out.csv").exists());
    bench.succeed("budget --epsilon 4096 --delta 1e-9");
    bench.succeed("budget --rho 4096 --delta 1e-9");
}

#[test]
fn a_confidence_out_of_range_is_refused_before_anything_is_spent() {
    let bench = Bench::new();
    for confidence in ["0", "1", "2", "-0.5", "nan"] {
        let command = format!(
            "trust --private private.csv --public public.csv --schema schema.json --epsilon 0.5 \
             --delta 1e-9 --ledger trust.json --confidence {confidence}"
        );
        bench.fail(&command, 2, "strictly between 0 and 1");
        assert!(!bench.path("trust.json").exists(), "{confidence}");
    }
}
