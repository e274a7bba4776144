//! A private table that is only counted gives the release of its records, byte by byte.

#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use jointly::data::{CountPlan, Dataset, Projectable};
use jointly::mechanism::{CATALOGUE, JamPgm, Mechanism, Mst, Release, Task};
use jointly::observe::Silent;
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};
use jointly::query::Workload;
use jointly::{Schema, demo};

use crate::cli::Bench;
use crate::faults_checkpoint::command;

/// A run on records, or on what was counted of them.
fn run(mechanism: &dyn Mechanism, data: &dyn Projectable, workload: &Workload) -> Release {
    let (relation, rho) = (NeighboringRelation::ReplaceOne, Rho::from_f64(0.5).unwrap());
    let mut curator = Curator::new(data, relation, rho, NoiseSeed::Fixed(11)).unwrap();
    mechanism.run(&mut curator, &Task::new(workload, &[]), &mut Silent).unwrap()
}

/// What a release says, as bytes.
fn bytes(release: &Release, schema: &Schema) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    release.model_file(schema.clone()).write(&path).unwrap();
    serde_json::to_string(&release.ledger).unwrap() + &std::fs::read_to_string(path).unwrap()
}

#[test]
fn mechanisms_see_no_difference_between_counts_and_records() {
    let schema = demo::schema().unwrap();
    let table: Dataset = demo::Generator { records: 3000, seed: 4, drift: 0.0 }.generate().unwrap();
    let domain = schema.domain();
    let (workload, _) = Workload::all_k_way(&domain, 2).unwrap().restrict(&domain, 300).unwrap();
    let mechanisms: [&dyn Mechanism; 2] =
        [&Mst::default(), &JamPgm { rounds: Some(6), ..JamPgm::default() }];
    for mechanism in mechanisms {
        let cliques = mechanism.counts(&domain, &workload).unwrap();
        let plan = CountPlan::new(&schema, &cliques).unwrap();
        let [mut left, mut right] = [plan.counter(), plan.counter()];
        left.update_rows(&table, 0..1234).unwrap();
        right.update_rows(&table, 1234..3000).unwrap();
        right.merge(&left.state().unwrap()).unwrap();
        let counted = right.finish().unwrap();
        let held = bytes(&run(mechanism, &table, &workload), &schema);
        assert_eq!(bytes(&run(mechanism, &counted, &workload), &schema), held);
    }
}

#[test]
fn every_mechanism_writes_the_same_bytes() {
    let bench = Bench::new();
    for entry in CATALOGUE {
        let run = |name: &str, flags: &str| {
            let files = format!("--out - --ledger {name}.ledger.json --model {name}.model.json");
            let table = bench.succeed(&format!("{} --seed 4 {flags} {files}", command(entry)));
            let ledger = if entry.spends {
                bench.read(&format!("{name}.ledger.json"))
            } else {
                String::new()
            };
            (table, ledger, bench.read(&format!("{name}.model.json")))
        };
        let share = if entry.spends { "--error-share 0.1" } else { "" };
        let held = run("held", share);
        assert!(held.0.len() > 100, "{}", entry.name);
        assert_eq!(run("counted", &format!("{share} --counted")), held, "{}", entry.name);
    }
}

#[test]
fn answers_are_the_same() {
    let bench = Bench::new();
    let answer = "answer --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --seed 3 \
                  --workload all-1-way --out -";
    for mechanism in ["residual-planner", "hdmm", "hdmm --widest 3"] {
        let held = bench.succeed(&format!("{answer} --mechanism {mechanism}"));
        let counted = bench.succeed(&format!("{answer} --mechanism {mechanism} --counted"));
        assert!(held.len() > 100 && counted == held, "{mechanism}");
    }
}

#[test]
fn what_needs_records_is_refused_before_anything_is_spent() {
    let bench = Bench::new();
    let synth = "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --counted \
                 --mechanism independent --out out.csv";
    bench.fail(&format!("{synth} --compress 0.1"), 2, "--counted cannot go with --compress");
    let units = "--unit d --max-records 2 --neighbors add-remove-one";
    bench.fail(&format!("{synth} {units}"), 2, "--counted cannot go with --unit");
    bench.write("private.csv", "a,b,c,d\n0,0,0,0\n1,1,1,7\n");
    bench.fail(synth, 3, "private.csv, line 3, column 'd'");
    bench.write("private.csv", "a,b,c,d\n");
    bench.fail(synth, 3, "at least one record");
    assert!(!bench.path("out.csv").exists() && !bench.path("out.csv.ledger.json").exists());
    // Where the number of records is private, an empty table is a table.
    bench.succeed(&format!("{synth} --neighbors add-remove-one"));
}

#[test]
fn a_model_is_sampled_into_parts() {
    let bench = Bench::new();
    bench.succeed(
        "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism independent \
         --seed 1 --out out.csv --model model.json",
    );
    let sample = "sample --model model.json --rows 25 --seed 5";
    bench.succeed(&format!("{sample} --out parts --parts csv --part-rows 10"));
    let lines = |part| bench.read(&format!("parts/part-0000{part}.csv")).lines().count();
    assert_eq!([0, 1, 2].map(lines), [11, 11, 6]);
    bench.succeed(&format!("{sample} --out again --parts csv --part-rows 10"));
    for part in ["part-00000.csv", "part-00002.csv"] {
        assert_eq!(bench.read(&format!("again/{part}")), bench.read(&format!("parts/{part}")));
    }
    bench.fail(&format!("{sample} --out parts --parts csv"), 3, "a folder without parts");
    bench.fail(&format!("{sample} --out - --parts csv"), 2, "--out is -");
    bench.fail(&format!("{sample} --out new --parts csv --part-rows 0"), 2, "rows of a part is 0");
}
