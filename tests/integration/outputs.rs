//! Where outputs go: standard output, pipes, devices, links and files.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::fs;
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, symlink};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::cli::{Bench, stderr};

const SYNTH: &str = "synth --private private.csv --schema schema.json --workload all-2-way \
                     --mechanism independent --epsilon 2 --delta 1e-6 --seed 1";
const ANSWER: &str = "answer --private private.csv --schema schema.json --workload all-2-way \
                      --epsilon 2 --delta 1e-6 --seed 1";
const TRUST: &str = "trust --private private.csv --public public.csv --schema schema.json \
                     --epsilon 2 --delta 1e-6 --seed 1";
const MIXTURE: &str = "mixture-error --private private.csv --public public.csv --schema \
                       schema.json --workload all-1-way";

/// Small tables and a model of them.
fn bench() -> Bench {
    let bench = Bench::new();
    bench.succeed(&format!("{SYNTH} --out out.csv --model model.json"));
    bench
}

/// Runs a line of the shell, in which `$J` is the tool.
fn shell(bench: &Bench, line: &str) -> Output {
    let tool = env!("CARGO_BIN_EXE_jointly");
    let folder = bench.path("");
    Command::new("sh").args(["-c", line]).env("J", tool).current_dir(folder).output().unwrap()
}

fn is_link(path: &Path) -> bool {
    fs::symlink_metadata(path).unwrap().is_symlink()
}

#[test]
fn a_dash_is_standard_output_and_carries_nothing_but_the_output() {
    let bench = bench();
    let commands = [
        format!("{SYNTH} --out"),
        format!("{SYNTH} --out out.csv --model"),
        format!("{SYNTH} --out out.csv --ledger"),
        "sample --model model.json --rows 50 --seed 1 --out".to_owned(),
        format!("{ANSWER} --out"),
        format!("{ANSWER} --out out.csv --ledger"),
        "schema --public public.csv --out".to_owned(),
    ];
    for command in commands {
        bench.succeed(&format!("{command} expected"));
        let expected = bench.read("expected");
        assert!(!expected.is_empty(), "{command}");
        for place in ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"] {
            if place.starts_with("/proc") && !Path::new(place).exists() {
                continue;
            }
            assert_eq!(bench.succeed(&format!("{command} {place}")), expected, "{command} {place}");
        }
        assert!(!bench.path("-").exists(), "{command}");
    }
    let page = bench.succeed(&format!("{SYNTH} --out out.csv --report -"));
    assert!(page.starts_with("<!") && page.trim_end().ends_with("</html>"), "{page}");
    assert!(is_link(Path::new("/dev/stdout")));
    // A file of this name is named with its folder.
    bench.succeed("sample --model model.json --rows 5 --seed 1 --out ./-");
    assert!(bench.path("-").is_file());
}

#[test]
fn standard_output_is_added_to_where_it_is_a_file() {
    let bench = bench();
    let sample = "$J -q sample --model model.json --rows 5 --seed 1 --out";
    for place in ["-", "/dev/stdout"] {
        let line = format!("echo first > x && {sample} {place} >> x && {sample} {place} >> x");
        assert!(shell(&bench, &line).status.success());
        let text = bench.read("x");
        assert!(text.starts_with("first\na,b,c,d\n"), "{text}");
        assert_eq!(text.lines().count(), 1 + 2 * 6);
    }
}

#[test]
fn an_open_descriptor_is_written_to_as_it_is() {
    let bench = bench();
    let sample = "$J -q sample --model model.json --rows 5 --seed 1 --out";
    let output = shell(&bench, &format!("echo first > x && {sample} /dev/fd/3 3>> x"));
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(bench.read("x").starts_with("first\na,b,c,d\n"));
    let output = shell(&bench, &format!("{sample} /dev/fd/3 3>&1 >/dev/null | cat"));
    assert_eq!(String::from_utf8_lossy(&output.stdout).lines().count(), 6);
    // A descriptor that is not open is found before anything is spent.
    let output =
        shell(&bench, &format!("$J {SYNTH} --out /dev/fd/77 --ledger l.json --save-config f.toml"));
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("error: --out /dev/fd/77 cannot be written: "));
    assert!(!bench.path("l.json").exists());
}

#[test]
fn only_one_output_is_standard_output() {
    let bench = bench();
    let part = "is standard output, as is --out, expected a file";
    bench.fail(&format!("{SYNTH} --out - --ledger -"), 2, part);
    bench.fail(&format!("{SYNTH} --out - --model /dev/stdout"), 2, part);
    bench.fail(&format!("{ANSWER} --out - --ledger -"), 2, part);
    // These print their results there.
    let part = "--ledger - is standard output, as is the result, expected a file";
    bench.fail(&format!("{TRUST} --ledger -"), 2, part);
    bench.fail(&format!("{MIXTURE} --epsilon 1 --ledger -"), 2, part);
    let part = "--mixture - is standard output, as is the result";
    bench.fail(&format!("{MIXTURE} --mixture -"), 2, part);
    let part = "is -, standard output; expected a folder";
    bench.fail("demo --dir -", 2, part);
    assert!(!bench.path("-").exists());
}

#[test]
fn devices_stay_devices() {
    let bench = bench();
    bench.succeed(&format!("{SYNTH} --out /dev/null --ledger /dev/null --report /dev/null"));
    assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    assert!(!is_link(Path::new("/dev/null")));
    if Path::new("/dev/full").exists() {
        let command = "sample --model model.json --rows 5 --out /dev/full";
        bench.fail(command, 1, "cannot write /dev/full: ");
        assert!(fs::metadata("/dev/full").unwrap().file_type().is_char_device());
    }
}

#[test]
fn a_named_pipe_is_written_to_and_stays() {
    let bench = bench();
    let pipe = bench.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    symlink("pipe", bench.path("link")).unwrap();
    let sample = "sample --model model.json --rows 50 --seed 1 --out";
    bench.succeed(&format!("{sample} expected"));
    for place in ["pipe", "link"] {
        let path = pipe.clone();
        let reader = std::thread::spawn(move || fs::read_to_string(path).unwrap());
        bench.succeed(&format!("{sample} {place}"));
        assert_eq!(reader.join().unwrap(), bench.read("expected"));
        assert!(fs::symlink_metadata(&pipe).unwrap().file_type().is_fifo());
    }
    bench.fail(&format!("{SYNTH} --out pipe --ledger link"), 2, "is the file of --out");
}

#[test]
fn a_link_is_followed_and_stays() {
    let bench = bench();
    fs::create_dir(bench.path("there")).unwrap();
    fs::create_dir(bench.path("links")).unwrap();
    let sample = "sample --model model.json --rows 50 --seed 1 --out";
    bench.succeed(&format!("{sample} expected"));
    bench.write("there/old.csv", "old");
    // To a file, over another link, and to a file that does not exist yet.
    symlink("../there/old.csv", bench.path("links/old")).unwrap();
    symlink("old", bench.path("links/again")).unwrap();
    symlink("../there/new.csv", bench.path("links/new")).unwrap();
    symlink(bench.path("there/whole.csv"), bench.path("links/absolute")).unwrap();
    let places =
        [("old", "old.csv"), ("again", "old.csv"), ("new", "new.csv"), ("absolute", "whole.csv")];
    for (link, file) in places {
        bench.write("there/old.csv", "old");
        bench.succeed(&format!("{sample} links/{link}"));
        assert!(is_link(&bench.path(&format!("links/{link}"))), "{link}");
        assert_eq!(bench.read(&format!("there/{file}")), bench.read("expected"), "{link}");
    }
    assert_eq!(fs::read_dir(bench.path("links")).unwrap().count(), 4);
    assert_eq!(fs::read_dir(bench.path("there")).unwrap().count(), 3);
}

#[test]
fn a_link_that_leads_nowhere_is_refused_before_anything_is_spent() {
    let bench = bench();
    symlink("second", bench.path("first")).unwrap();
    symlink("first", bench.path("second")).unwrap();
    symlink("no/folder/x", bench.path("lost")).unwrap();
    symlink(".", bench.path("here")).unwrap();
    symlink("private.csv", bench.path("input")).unwrap();
    symlink("out.csv", bench.path("output")).unwrap();
    let command = format!("{SYNTH} --ledger l.json --out");
    bench.fail(&format!("{command} first"), 1, "cannot be written: its links lead in a circle");
    bench.fail(&format!("{command} lost"), 1, "cannot write into folder");
    bench.fail(&format!("{command} here"), 1, "is a folder, expected a file");
    bench.fail(&format!("{command} input"), 2, "is the file of --private");
    bench.fail(&format!("{command} out.csv --model output"), 2, "is the file of --out");
    assert!(!bench.path("l.json").exists());
    assert!(is_link(&bench.path("first")) && is_link(&bench.path("input")));
}

/// Starts a command, reads a little of its standard output, closes the pipe, and waits for the end.
fn closed_early(bench: &Bench, command: &str) -> (Option<i32>, String) {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path(""))
        .args(command.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = child.stdout.take().unwrap();
    let mut some = [0; 4];
    out.read_exact(&mut some).unwrap();
    drop(out);
    let ended = child.wait_with_output().unwrap();
    (ended.status.code(), stderr(&ended))
}

#[test]
fn a_reader_that_leaves_ends_the_command_quietly() {
    let bench = bench();
    let (code, message) = closed_early(&bench, "sample --model model.json --rows 1000000 --out -");
    assert_eq!(code, Some(0), "{message}");
    assert!(!message.contains("error"), "{message}");
    // The other outputs are still written.
    let (code, message) =
        closed_early(&bench, &format!("{SYNTH} --rows 300000 --out - --report r.html"));
    assert_eq!(code, Some(0), "{message}");
    assert!(bench.read("r.html").contains("</html>"));
    let output = shell(&bench, "$J budget --epsilon 1 --delta 1e-9 | true");
    assert!(stderr(&output).is_empty());
}

#[test]
fn the_json_of_a_ledger_on_standard_output_can_be_read() {
    let bench = bench();
    let text = bench.succeed(&format!("{SYNTH} --out out.csv --ledger -"));
    let ledger: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{e}: {text}"));
    assert_eq!(ledger["format"], "jointly-ledger");
}

#[test]
fn any_number_of_records_is_drawn_until_the_reader_leaves() {
    let bench = bench();
    let command = "sample --model model.json --draw independent --rows 9999999999 --out -";
    let (code, message) = closed_early(&bench, command);
    assert_eq!(code, Some(0), "{message}");
    bench.fail("sample --model model.json --rows 0 --out -", 2, "--rows is 0");
    // The whole table of `synth` is held in memory.
    let command = format!("{SYNTH} --rows 4294967295 --out - --ledger l.json");
    let part = "the synthetic table would take 4294967295 records, the limit is 2147483648 records";
    bench.fail(&command, 3, part);
    assert!(!bench.path("l.json").exists());
}
