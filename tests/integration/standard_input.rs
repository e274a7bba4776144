//! `-` as a table to read: standard input.
#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::io::Write;
use std::process::{Command, Output, Stdio};

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::cli::{Bench, stderr};

const SYNTH: &str = "synth --public public.csv --schema schema.json --mechanism jam-pgm --rounds 3 --epsilon 1 \
                     --delta 1e-6 --seed 5";

/// Runs a command with bytes on its standard input.
fn piped(bench: &Bench, command: &str, bytes: &[u8]) -> Output {
    let mut run = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path("."))
        .args(command.split_whitespace())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A command that refuses its flags leaves early.
    _ = run.stdin.take().unwrap().write_all(bytes);
    run.wait_with_output().unwrap()
}

/// The standard output of a command that must succeed.
fn succeed(bench: &Bench, command: &str, bytes: &[u8]) -> String {
    let output = piped(bench, command, bytes);
    assert_eq!(output.status.code(), Some(0), "{command}: {}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

/// A command that must fail with a code and a part of a message.
fn fail(bench: &Bench, command: &str, bytes: &[u8], code: i32, part: &str) {
    let output = piped(bench, command, bytes);
    let text = stderr(&output);
    assert_eq!(output.status.code(), Some(code), "{command}: {text}");
    assert!(text.contains(part), "{command}: {text}");
}

#[test]
fn a_table_from_standard_input_is_the_table_from_a_file() {
    let bench = Bench::new();
    let private = bench.read("private.csv");
    bench.succeed(&format!("{SYNTH} --private private.csv --out file.csv"));
    let synth = format!("{SYNTH} --private - --out pipe.csv --report page.html");
    succeed(&bench, &synth, private.as_bytes());
    assert_eq!(bench.read("pipe.csv"), bench.read("file.csv"));
    assert!(bench.read("page.json").contains("synth --private - --public"));
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(private.as_bytes()).unwrap();
    let written = succeed(&bench, &format!("{SYNTH} --private - --out -"), &gzip.finish().unwrap());
    assert_eq!(written, bench.read("file.csv"));
    let answer =
        "answer --schema schema.json --workload all-1-way --epsilon 1 --delta 1e-6 --seed 2";
    bench.succeed(&format!("{answer} --private private.csv --out file.json"));
    succeed(&bench, &format!("{answer} --private - --out pipe.json"), private.as_bytes());
    assert_eq!(bench.read("pipe.json"), bench.read("file.json"));
}

#[test]
fn a_table_that_is_read_twice_may_come_from_standard_input() {
    let bench = Bench::new();
    bench.write(
        "schema.json",
        r#"{"columns": [{"name": "b", "kind": "numeric", "edges": [0, 1, 2, 3]}]}"#,
    );
    let (private, public) = (bench.read("private.csv"), bench.read("public.csv"));
    let evaluate = "evaluate --schema schema.json --workload all-1-way --json";
    let of_files =
        bench.succeed(&format!("{evaluate} --private private.csv --synthetic public.csv"));
    let from = format!("{evaluate} --private - --synthetic public.csv");
    assert_eq!(succeed(&bench, &from, private.as_bytes()), of_files);
    let from = format!("{evaluate} --private private.csv --synthetic - --report page.html");
    assert_eq!(succeed(&bench, &from, public.as_bytes()), of_files);
    assert!(bench.read("page.html").contains("standard input"));
}

#[test]
fn what_standard_input_cannot_be_is_refused() {
    let bench = Bench::new();
    let twice = "evaluate --private - --synthetic - --schema schema.json";
    fail(&bench, twice, b"", 2, "--private cannot go with --synthetic: both are standard input");
    let twice = "synth --private private.csv --public a=- --public b=- --schema schema.json --epsilon 1 --delta 1e-6 \
                 --out out.csv";
    fail(&bench, twice, b"", 2, "--public cannot go with --public: both are standard input");
    fail(
        &bench,
        &format!("{SYNTH} --private - --public p=- --out out.csv"),
        b"",
        2,
        "is the private table",
    );
    let kept = format!("{SYNTH} --private - --out out.csv --checkpoint state");
    fail(&bench, &kept, b"", 2, "--checkpoint cannot go with a table from standard input (-)");
    assert!(!bench.path("state").exists());
    let synth = format!("{SYNTH} --private - --out out.csv");
    fail(&bench, &synth, b"PAR1 and more", 3, "standard input: a Parquet file, expected CSV");
    fail(&bench, &synth, b"a,b,c,d\n0,1,1,3\n0,9,1,3\n", 3, "standard input, line 3, column 'b'");
    fail(&bench, &synth, b"", 3, "standard input");
    assert!(!bench.path("out.csv").exists());
    // A file of that name.
    bench.write("-", &bench.read("private.csv"));
    succeed(&bench, &format!("{SYNTH} --private ./- --out out.csv"), b"");
}
