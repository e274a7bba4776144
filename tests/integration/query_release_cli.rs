//! MWEM, PMW^Pub, PEP and PEP^Pub from the command line.

use serde_json::Value;

use crate::cli::{Bench, stderr};

const NAMES: [&str; 4] = ["mwem", "pmw-pub", "pep", "pep-pub"];
const SYNTH: &str = "synth --private private.csv --public near=public.csv --schema schema.json \
     --workload all-2-way --epsilon 2 --delta 1e-6 --out out.csv";

#[test]
fn they_have_ledger_report_model_and_checkpoint() {
    let bench = Bench::new();
    for name in NAMES {
        for (relation, more) in [
            ("replace-one", ""),
            (
                "add-remove-one",
                " --selection permute-and-flip --queries marginals --iterate average",
            ),
        ] {
            let command = format!(
                "{SYNTH} --mechanism {name} --rounds 5 --neighbors {relation}{more} --model \
                 model.json --ledger ledger.json --report r.html --checkpoint {name}-{relation}"
            );
            let output = bench.run(&command);
            let log = stderr(&output);
            assert_eq!(output.status.code(), Some(0), "{log}");
            let uses = name.ends_with("pub");
            assert_eq!(log.contains("makes no use of public tables"), !uses, "{log}");
            assert_eq!(log.lines().filter(|line| line.starts_with("round ")).count(), 5, "{log}");
            let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
            assert_eq!(ledger["mechanism"], name);
            assert_eq!(ledger["ledger"]["spent"], ledger["ledger"]["limit"]);
            let entries = ledger["ledger"]["entries"].as_array().unwrap();
            let kind = if more.is_empty() { "exponential-mechanism" } else { "permute-and-flip" };
            let choices = entries.iter().filter(|e| e["mechanism"]["kind"] == kind);
            assert_eq!(choices.count(), 5, "{name}");
            assert!(bench.read("r.html").contains("reweighted records"));
            bench.succeed("sample --model model.json --rows 30 --out more.csv");
            assert_eq!(bench.read("more.csv").lines().count(), 31);
            bench.succeed(&command);
            let again: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
            assert_eq!(again, ledger, "{name}: nothing is paid for twice");
        }
    }
}

#[test]
fn repeats_are_allowed_by_default_in_pmw_pub_and_excluded_in_mwem() {
    let bench = Bench::new();
    for name in ["mwem", "pmw-pub"] {
        let command = format!("{SYNTH} --mechanism {name} --rounds 40 --ledger ledger.json");
        // The number of cells of the workload, which the first round chooses from.
        let candidates = |flags: &str| -> Vec<u64> {
            bench.succeed(&format!("{command}{flags}"));
            let ledger: Value = serde_json::from_str(&bench.read("ledger.json")).unwrap();
            let entries = ledger["ledger"]["entries"].as_array().unwrap();
            entries.iter().filter_map(|e| e["mechanism"]["candidates"].as_u64()).collect()
        };
        let all = candidates(" --repeats allowed");
        assert_eq!(all, vec![all[0]; 40], "{name}");
        let fewer = candidates(" --repeats excluded");
        assert_eq!(fewer[..3], [all[0], all[0] - 1, all[0] - 2], "{name}");
        let default = if name == "pmw-pub" { all } else { fewer };
        assert_eq!(candidates(""), default, "{name}");
    }
    let help = bench.run("synth --help");
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("--repeats <WHETHER>"), "{help}");
}

#[test]
fn flags_that_would_not_be_heeded_are_refused() {
    let bench = Bench::new();
    for (flags, part) in [
        ("--mechanism jam-pgm --selection exponential", "--selection is of no use"),
        ("--mechanism aim --queries single", "--queries is of no use"),
        ("--mechanism mst --iterate last", "--iterate is of no use"),
        ("--mechanism mwem --projections 3", "--projections is of no use"),
        ("--mechanism pep --size-limit-mib 3", "--size-limit-mib is of no use"),
        ("--mechanism pep-pub --repeats allowed", "--repeats is of no use"),
        ("--mechanism gem --repeats excluded", "--repeats is of no use"),
        ("--mechanism pmw-pub --iterations 3", "--iterations is of no use"),
    ] {
        bench.fail(&format!("{SYNTH} {flags}"), 2, part);
    }
    bench.fail(&format!("{SYNTH} --mechanism pep --projections 0"), 2, "projections is 0");
    let alone = SYNTH.replace("--public near=public.csv ", "");
    bench.fail(&format!("{alone} --mechanism pmw-pub"), 2, "needs a --public table");
    bench.write("part.csv", "a,b\n0,1\n1,2\n");
    let part = SYNTH.replace("public.csv", "part.csv");
    bench.fail(&format!("{part} --mechanism pep-pub"), 3, "all attributes");
}

#[test]
fn they_are_compared() {
    let bench = Bench::new();
    let protocol = |tuning: &str| {
        format!(
            "workload = \"all-2-way\"\ndelta = 1e-6\nepsilons = [2.0]\nseeds = [0]\n\
             mechanisms = [\"mwem\", \"pmw-pub\", \"pep\", \"pep-pub\"]\n[tuning.{tuning}\n\
             [[data]]\nname = \"d\"\nschema = \"schema.json\"\nprivate = \"private.csv\"\n\
             public = [\"public.csv\"]\n"
        )
    };
    bench.write("wrong.toml", &protocol("mwem]\nprojections = 3"));
    bench.fail("compare wrong.toml", 3, "projections is of no use with mechanism mwem");
    bench.write("wrong.toml", &protocol("pmw-pub]\nrepeats = \"twice\""));
    bench.fail(
        "compare wrong.toml",
        3,
        "data set 'd': repeats is \"twice\", expected allowed or excluded",
    );
    let good = "pep]\nrounds = 4\nprojections = 3\nqueries = \"single\"\n\
                [tuning.pmw-pub]\nrepeats = \"excluded\"";
    bench.write("good.toml", &protocol(good));
    bench.succeed("compare good.toml --out results");
    let results = bench.read("results/results.csv");
    assert!(NAMES.iter().all(|name| results.contains(&format!(",{name},"))), "{results}");
}
