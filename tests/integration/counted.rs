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

/// Splits the private table into parts, one of which is empty, and lists them.
fn split(bench: &Bench) -> [&'static str; 3] {
    let text = bench.read("private.csv");
    let (header, rows) = text.split_once('\n').unwrap();
    let rows: Vec<&str> = rows.lines().collect();
    let names = ["part-0", "part-1", "part-2"];
    let cut = rows.len() / 3;
    for (name, rows) in names.iter().zip([&rows[..cut], &[], &rows[cut..]]) {
        bench.write(&format!("{name}.csv"), &format!("{header}\n{}\n", rows.join("\n")));
    }
    bench.write("parts.txt", &names.map(|name| format!("{name}.csv\n")).concat());
    names
}

/// Counts all parts and merges them into `all.counts`.
fn count(bench: &Bench, parts: &[&str], flags: &str) {
    for part in parts {
        bench.succeed(&format!(
            "count --part {part}.csv --of parts.txt --schema schema.json --out {part}.counts {flags}"
        ));
    }
    let files: Vec<String> = parts.iter().map(|part| format!("{part}.counts")).collect();
    bench.succeed(&format!("merge --counts {} --out all.counts", files.join(" ")));
}

#[test]
fn a_run_on_merged_counts_gives_the_bytes_of_a_run_on_the_table() {
    let bench = Bench::new();
    let parts = split(&bench);
    for entry in CATALOGUE {
        let share = if entry.spends { "--error-share 0.1" } else { "" };
        let command = command(entry);
        // What decides which marginals there are, for both commands.
        let of_count: Vec<&str> = command.split("--mechanism").skip(1).collect();
        let run = |name: &str, command: &str| {
            let files = format!("--out - --ledger {name}.ledger.json --model {name}.model.json");
            let table = bench.succeed(&format!("{command} --seed 4 {share} {files}"));
            (table, bench.read(&format!("{name}.model.json")))
        };
        let held = run("held", &command);
        count(&bench, &parts, &flags_of_count(&command));
        assert_eq!(of_count.len(), 1, "{command}");
        let from_counts = command.replace("--private private.csv", "--private all.counts");
        assert_ne!(from_counts, command);
        assert_eq!(run("counts", &from_counts), held, "{}", entry.name);
    }
}

/// The flags of a `synth` that `count` needs too.
fn flags_of_count(command: &str) -> String {
    let words: Vec<&str> = command.split_whitespace().collect();
    let skipped = ["--private", "--schema", "--epsilon", "--delta", "--public"];
    let own = words.windows(2).filter(|pair| pair[0].starts_with("--"));
    let own = own.filter(|pair| !skipped.contains(&pair[0]));
    own.map(|pair| if pair[1].starts_with("--") { pair[0].to_owned() } else { pair.join(" ") })
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn counts_that_are_not_the_table_are_refused_by_name() {
    let bench = Bench::new();
    let parts = split(&bench);
    let flags = "--mechanism independent --workload all-2-way";
    count(&bench, &parts, flags);
    let synth = format!(
        "synth --schema schema.json --epsilon 1 --delta 1e-6 {flags} --seed 1 --out out.csv"
    );
    bench.succeed(&format!("{synth} --private all.counts"));
    bench.succeed("merge --counts part-0.counts part-2.counts --out some.counts");
    bench.fail(
        &format!("{synth} --private some.counts"),
        3,
        "some.counts: no counts of 'part-1', expected all parts of the table",
    );
    bench.fail(
        "merge --counts part-0.counts all.counts --out twice.counts",
        3,
        "all.counts: part 'part-0', which was counted already",
    );
    bench.succeed(
        "count --part part-1.csv --of parts.txt --schema schema.json --mechanism independent \
         --workload all-1-way --out other.counts",
    );
    bench.fail(
        "merge --counts part-0.counts other.counts --out mixed.counts",
        3,
        "other.counts: counts by another plan",
    );
    bench.fail(
        "count --part private.csv --of parts.txt --schema schema.json --out no.counts",
        3,
        "part 'private', expected one of the table's parts: 'part-0', 'part-1', 'part-2'",
    );
    for name in ["twice.counts", "mixed.counts", "no.counts"] {
        assert!(!bench.path(name).exists(), "{name}");
    }
    // What was not counted is missed before anything is spent.
    bench.fail(
        "synth --schema schema.json --epsilon 1 --delta 1e-6 --mechanism mst --workload all-3-way --out new.csv \
         --private all.counts",
        3,
        "all.counts: no counts of",
    );
    assert!(!bench.path("new.csv.ledger.json").exists());
    bench.fail(&format!("{synth} --private all.counts --compress 0.1"), 2, "cannot go with");
    let units = "--unit d --max-records 2 --neighbors add-remove-one";
    bench.fail(&format!("{synth} --private all.counts {units}"), 3, "counts of all records");
}

#[test]
fn exact_counts_are_refused_where_a_release_or_a_public_table_is_expected() {
    let bench = Bench::new();
    let parts = split(&bench);
    count(&bench, &parts, "--mechanism independent --workload all-2-way");
    let found = "exact counts of private records";
    for command in [
        "synth --private private.csv --public all.counts --schema schema.json --epsilon 1 --delta 1e-6 --out x.csv",
        "synth --private private.csv --totals all.counts --schema schema.json --epsilon 1 --delta 1e-6 --out x.csv",
        "evaluate --private private.csv --synthetic all.counts --schema schema.json",
        "schema --public all.counts --out x.json",
        "sample --model all.counts --rows 10 --out x.csv",
        "ask --model all.counts --marginal a",
        "combine --synthetic all.counts --model all.counts --share a=0",
        "fit --schema schema.json --totals all.counts --out x.csv",
        "fit --schema schema.json --measurements all.counts --out x.csv",
    ] {
        bench.fail(command, 3, found);
    }
    bench.fail("count --part all.counts --schema schema.json --out again.counts", 3, found);
    bench.fail("count --part private.csv --schema schema.json --out -", 3, "go nowhere else");
}

#[test]
fn a_public_table_may_be_counted_too() {
    let bench = Bench::new();
    let counted = |schema: &str, out: &str| {
        bench.succeed(&format!(
            "count --part public.csv --as-public --schema {schema} --mechanism aim --workload all-2-way --out {out}"
        ));
    };
    counted("schema.json", "public.counts");
    let synth = |mechanism: &str, public: &str| {
        let budget = if mechanism == "public-only" { "" } else { "--epsilon 2 --delta 1e-6" };
        format!(
            "synth --private private.csv --schema schema.json {budget} --workload all-2-way --seed 4 --mechanism {mechanism} \
             --public near={public} --out - --ledger {public}.ledger.json --model {public}.model.json"
        )
    };
    for mechanism in
        ["jam-pgm --rounds 4", "public-only", "gem-pub --rounds 2 --pretrain-steps 20 --steps 5"]
    {
        let run = |public: &str| {
            let table = bench.succeed(&synth(mechanism, public));
            (table, bench.read(&format!("{public}.model.json")))
        };
        assert_eq!(run("public.counts"), run("public.csv"), "{mechanism}");
    }
    // Its model of the public table is the same; it has no records to mix in.
    bench.succeed(&synth("anchor-pgm", "public.counts"));
    for mechanism in ["pmw-pub --rounds 2", "pep-pub --rounds 2"] {
        let found = "public table 'near': counts alone, expected records";
        bench.fail(&synth(mechanism, "public.counts"), 3, found);
    }
    let jam = synth("jam-pgm --rounds 4", "public.counts");
    bench.fail(&format!("{jam} --compress 0.1"), 3, "merging values changes the codes");
    let triples = synth("jam-pgm", "public.counts").replace("all-2-way", "all-3-way");
    bench.fail(&triples, 3, "public table 'near': no counts of");
    // A table that lacks an attribute is counted under a schema without it.
    bench.write("fewer.json", r#"{"a": 2, "c": 2, "d": 4}"#);
    counted("fewer.json", "fewer.counts");
    bench.succeed(&synth("jam-pgm --rounds 4", "fewer.counts"));
    bench.write("other.json", r#"{"a": 2, "b": 4, "c": 2, "d": 4}"#);
    counted("other.json", "other.counts");
    let found = "other.counts: counts of 'b' in other values or bins";
    bench.fail(&synth("jam-pgm", "other.counts"), 3, found);
}

#[test]
fn counts_of_public_and_of_private_tables_are_told_apart() {
    let bench = Bench::new();
    let flags = "--schema schema.json --mechanism aim --workload all-2-way";
    bench.write("parts.txt", "private\npublic\n");
    bench.succeed(&format!("count --part private.csv --of parts.txt {flags} --out private.counts"));
    bench.succeed(&format!(
        "count --part public.csv --of parts.txt --as-public {flags} --out public.counts"
    ));
    let files = ["private.counts public.counts", "public.counts private.counts"];
    for (files, found) in
        files.iter().zip(["counts of a public table", "counts of private records"])
    {
        let merge = format!("merge --counts {files} --out merged.counts");
        bench.fail(&merge, 3, &format!("{found}, expected counts of"));
    }
    let synth = "synth --schema schema.json --epsilon 1 --delta 1e-6 --mechanism aim --workload all-2-way --out x.csv";
    bench.fail(&format!("{synth} --private public.counts"), 3, "counts of a public table");
    bench.fail(
        &format!("{synth} --private private.csv --public private.counts"),
        3,
        "exact counts of private",
    );
    let units = "--unit d --max-records 2";
    let count = format!("count --part public.csv --as-public {flags} {units} --out units.counts");
    bench.fail(&count, 2, "all of its rows count");
    // A checkpoint knows them.
    bench.succeed(&format!("count --part public.csv --as-public {flags} --out one.counts"));
    bench.write(
        "less.csv",
        &bench.read("public.csv").split_inclusive('\n').take(90).collect::<String>(),
    );
    bench.succeed(&format!("count --part less.csv --as-public {flags} --out less.counts"));
    let run = |public: &str| {
        format!(
            "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --mechanism jam-pgm --rounds 3 \
             --workload all-2-way --public near={public} --checkpoint state --out {public}.csv"
        )
    };
    bench.succeed(&run("one.counts"));
    bench.succeed(&run("one.counts"));
    bench.fail(&run("less.counts"), 5, "public table 'near'");
}

/// What `sample --parts` wrote is a table: for `evaluate`, as a private and as a public one, whole and counted.
#[test]
fn a_folder_of_files_is_a_table() {
    let bench = Bench::new();
    bench.write("schema.json", r#"{"a": 2, "b": 3, "c": 4}"#);
    let row = |i: u32| format!("{},{},{}\n", i % 2, i / 2 % 3, i * i % 4);
    let rows: String = (0..90).map(row).collect();
    bench.write("all.csv", &format!("a,b,c\n{rows}"));
    let synth = "synth --schema schema.json --epsilon 1 --delta 1e-6 --mechanism mst --workload all-2-way --seed 1";
    bench.succeed(&format!("{synth} --private all.csv --model model.json --out first.csv"));
    let sample = "sample --model model.json --rows 95 --part-rows 20 --seed 2";
    let forms = if cfg!(feature = "parquet") {
        &["csv", "csv-gz", "parquet"][..]
    } else {
        &["csv", "csv-gz"]
    };
    let mut tables = Vec::new();
    for form in forms {
        bench.succeed(&format!("{sample} --out {form} --parts {form}"));
        for (flags, place) in [("", form.to_string()), ("--counted", format!("{form}/part-*"))] {
            bench.succeed(&format!(
                "{synth} --private {place} {flags} --public near=first.csv --out out.csv"
            ));
            tables.push((bench.read("out.csv"), bench.read("out.csv.ledger.json")));
        }
    }
    assert!(tables.iter().all(|table| *table == tables[0]));
    let found =
        bench.succeed("evaluate --private csv --synthetic csv-gz --schema schema.json --json");
    let found: serde_json::Value = serde_json::from_str(&found).unwrap();
    assert_eq!((&found["real_records"], &found["synthetic_records"]), (&95.into(), &95.into()));

    let among = "would be one of the files of --private, expected a file elsewhere";
    bench.succeed(&format!("{sample} --out parts --parts csv"));
    for place in ["parts", "parts/*.csv"] {
        let refused = format!("{synth} --private {place} --out parts/part-9.csv");
        bench.fail(&refused, 2, among);
    }
    bench.fail(
        &format!("{synth} --private parts --public near=parts/part-00001.csv --out new.csv"),
        2,
        "part-00001.csv",
    );
}
