//! `--labels text`: categorical values by their labels.

use crate::cli::Bench;

const SCHEMA: &str = r#"{"columns": [
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "labels": ["man", "woman"]},
    {"name": "b", "kind": "categorical", "codes": ["0", "1", "2"]}
]}"#;

/// A table, its schema with labels, and the flags of a run on them.
fn bench() -> (Bench, &'static str) {
    let bench = Bench::new();
    bench.write("labels.json", SCHEMA);
    bench.write("sexes.csv", &format!("sex,b\n{}", "1,0\n2,1\n2,2\n".repeat(100)));
    let synth = "synth --private sexes.csv --schema labels.json --mechanism mst --workload all-2-way --epsilon 20 \
                 --delta 1e-6 --seed 3";
    (bench, synth)
}

/// A table of codes with the labels in the first column.
fn labelled(codes: &str) -> String {
    let line = |line: &str| match line.split_once(',') {
        Some(("1", rest)) => format!("man,{rest}\n"),
        Some(("2", rest)) => format!("woman,{rest}\n"),
        _ => format!("{line}\n"),
    };
    codes.lines().map(line).collect()
}

#[test]
fn the_same_records_are_written_with_labels() {
    let (bench, synth) = bench();
    bench.succeed(&format!("{synth} --out codes.csv --model model.json"));
    bench.succeed(&format!("{synth} --out text.csv --labels text --report page.html"));
    let text = bench.read("text.csv");
    assert!(text.contains("man,0\n") && text.contains("woman,2\n"), "{text}");
    assert_eq!(text, labelled(&bench.read("codes.csv")));
    assert!(bench.read("page.json").contains("--labels text"));
    for (asked, name) in [("codes", "c.csv"), ("text", "t.csv")] {
        let sample = "sample --model model.json --rows 50 --seed 1";
        bench.succeed(&format!("{sample} --labels {asked} --out {name}"));
    }
    assert_eq!(bench.read("t.csv"), labelled(&bench.read("c.csv")));
    bench.write("partial.csv", "b\n0\n");
    bench.succeed("sample --model model.json --complete partial.csv --labels text --out full.csv");
    assert!(bench.read("full.csv").starts_with("b,sex\n0,"), "{}", bench.read("full.csv"));
    assert!(bench.read("full.csv").contains("man"));
    let unreadable = "evaluate --private sexes.csv --synthetic text.csv --schema labels.json";
    bench.fail(unreadable, 3, "text.csv, line 2, column 'sex'");
}

#[test]
fn replicates_are_never_written_with_labels() {
    let (bench, synth) = bench();
    let both = format!("{synth} --out out.csv --tables 2 --labels text");
    bench.fail(&both, 2, "--tables cannot go with --labels text: combine reads");
    assert!(!bench.path("out.csv").exists());
}
