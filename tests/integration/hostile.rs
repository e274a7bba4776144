//! Hostile command lines: a table of files and arguments, with the exit code and the message that each must end with.
//!
//! `tests/golden/hostile.txt` explains its own form. `UPDATE_GOLDEN=1` rewrites the codes and messages; read the diff.
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failing helper fails its test")]

use std::ffi::OsString;
use std::fmt::Write as _;
use std::fs;
use std::io::{Read, Write as _};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use jointly::model::ModelFile;

const TABLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/hostile.txt");

/// Fewest entries of the table.
const FEWEST: usize = 270;

/// A process that is still running then hangs. All take milliseconds; a loaded machine may be slow.
const PATIENCE: Duration = Duration::from_secs(100);

/// One entry: what to prepare, what to run, and what it must end with.
#[derive(Clone, Debug, Default)]
struct Entry {
    /// Lines of the table that prepare and run, verbatim.
    given: Vec<String>,
    exit: i32,
    message: String,
}

/// The table: its first part, with the macros, and its entries.
struct Table {
    top: String,
    macros: Vec<(String, String)>,
    entries: Vec<Entry>,
}

fn parse(text: &str) -> Table {
    let mut blocks = text.split("\n\n").map(str::trim_end).filter(|block| !block.is_empty());
    let top = blocks.next().unwrap().to_owned();
    let macros = top.lines().filter_map(|line| line.strip_prefix("let ")).map(|line| {
        let (name, text) = line.split_once(" = ").unwrap();
        (name.to_owned(), text.to_owned())
    });
    let macros = macros.collect();
    let entry = |block: &str| {
        let mut entry = Entry { exit: -1, ..Entry::default() };
        for line in block.lines() {
            if let Some(code) = line.strip_prefix("exit ") {
                entry.exit = code.parse().unwrap();
            } else if let Some(message) = line.strip_prefix("  ") {
                _ = writeln!(entry.message, "{message}");
            } else {
                entry.given.push(line.to_owned());
            }
        }
        entry
    };
    Table { top, macros, entries: blocks.map(entry).collect() }
}

/// The bytes of a text with the escapes `\n`, `\r`, `\t`, `\s` (space), `\\`, `\xHH` and `\{N:TEXT}` (repeated).
fn bytes(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        if *byte != b'\\' {
            out.push(*byte);
            continue;
        }
        let (escape, after) = rest.split_first().unwrap();
        rest = after;
        match escape {
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b's' => out.push(b' '),
            b'x' => {
                let digits = std::str::from_utf8(&rest[..2]).unwrap();
                out.push(u8::from_str_radix(digits, 16).unwrap());
                rest = &rest[2..];
            }
            b'{' => {
                let end = rest.iter().position(|byte| *byte == b'}').unwrap();
                let inside = std::str::from_utf8(&rest[..end]).unwrap();
                let (number, part) = inside.split_once(':').unwrap();
                out.extend(bytes(part).repeat(number.parse().unwrap()));
                rest = &rest[end + 1..];
            }
            other => out.push(*other),
        }
    }
    out
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    writer.write_all(plain).unwrap();
    writer.finish().unwrap()
}

/// The arguments in a line: words separated by spaces, with escapes; a word `""` is empty.
fn arguments(line: &str, macros: &[(String, String)]) -> Vec<OsString> {
    let mut line = line.to_owned();
    for (name, text) in macros {
        line = line.replace(&format!("${name}"), text);
    }
    let words = line.split(' ').filter(|word| !word.is_empty());
    words.map(|word| OsString::from_vec(bytes(if word == "\"\"" { "" } else { word }))).collect()
}

/// How a process ended: its code, or minus the signal that killed it, and what it said.
struct Ending {
    code: i32,
    message: String,
}

fn run(folder: &Path, arguments: &[OsString]) -> Ending {
    let mut child = Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(folder)
        .env_remove("JOINTLY_DATA")
        .env_remove("RUST_BACKTRACE")
        .env_remove("RAYON_NUM_THREADS")
        .env("COLUMNS", "100")
        // Entries write over what the fixtures have made.
        .arg("--overwrite")
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stderr.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut said = Vec::new();
        pipe.read_to_end(&mut said).map(|_| said)
    });
    let started = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if started.elapsed() > PATIENCE {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let said = String::from_utf8_lossy(&reader.join().unwrap().unwrap()).into_owned();
    let code = status.code().unwrap_or_else(|| -status.signal().unwrap_or(0));
    Ending { code, message: shown(&said, folder) }
}

/// What a process said, without the folder's name, and without the usage that follows the message about a flag.
fn shown(said: &str, folder: &Path) -> String {
    let real = fs::canonicalize(folder).unwrap();
    let said = said.replace(&real.display().to_string(), "DIR");
    let said = said.replace(&folder.display().to_string(), "DIR");
    let mut text = String::new();
    for line in said.lines() {
        if line.starts_with("Usage: ") || line.starts_with("For more information") {
            break;
        }
        if line.trim().is_empty() {
            continue;
        }
        for c in line.trim_end().chars() {
            _ = if c.is_control() {
                write!(text, "{}", c.escape_debug())
            } else {
                text.write_char(c)
            };
        }
        text.push('\n');
    }
    text
}

/// Prepares a folder and runs an entry in it.
fn try_entry(entry: &Entry, macros: &[(String, String)], fixtures: &Path) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    for file in fs::read_dir(fixtures).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), folder.path().join(file.file_name())).unwrap();
    }
    let read = |name: &str| fs::read(folder.path().join(name)).expect(name);
    for line in &entry.given {
        let Some((verb, rest)) = line.split_once(' ') else { continue };
        let (name, text) = rest.split_once(' ').unwrap_or((rest, ""));
        let path = folder.path().join(name);
        match verb {
            "file" => fs::write(path, bytes(text)).unwrap(),
            "gzip" => fs::write(path, gzip(&bytes(text))).unwrap(),
            // The first bytes of a file: `cut NEW OLD BYTES`.
            "cut" => {
                let (old, most) = text.split_once(' ').unwrap();
                let old = read(old);
                fs::write(path, &old[..most.parse::<usize>().unwrap().min(old.len())]).unwrap();
            }
            // A file with one text replaced, which it must have: `edit NEW OLD FROM => TO`; a model that then gets the
            // digest of what it has, as its maker could give it: `remake NEW OLD FROM => TO`.
            "edit" | "remake" => {
                let (old, change) = text.split_once(' ').unwrap();
                let (from, to) = change.split_once(" =>").unwrap();
                let old = String::from_utf8(read(old)).unwrap();
                assert!(old.contains(from), "{line}: no such text in {old}");
                let to = String::from_utf8(bytes(to.strip_prefix(' ').unwrap_or(to))).unwrap();
                let mut changed = old.replacen(from, &to, 1);
                if verb == "remake" {
                    changed = ModelFile::with_digest(&changed, "model").unwrap_or(changed);
                }
                fs::write(path, changed).unwrap();
            }
            "folder" => fs::create_dir(path).unwrap(),
            "link" => std::os::unix::fs::symlink(text, path).unwrap(),
            "first" => {
                let done = run(folder.path(), &arguments(rest, macros));
                assert_eq!(done.code, 0, "{line}: {}", done.message);
            }
            "$" => return run(folder.path(), &arguments(rest, macros)),
            _ => {}
        }
    }
    Ending { code: -1, message: format!("an entry without a command: {entry:?}") }
}

/// The files that every entry finds.
fn fixtures(macros: &[(String, String)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let table = |records: u32, step: u32| {
        let rows = (0..records).map(|i| (i * step + i / 7) % 24);
        rows.fold("a,b,c\n".to_owned(), |mut text, i| {
            _ = writeln!(text, "{},{},{}", i % 2, i / 2 % 3, i / 6);
            text
        })
    };
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    write("p.csv", &table(60, 1));
    write("u.csv", &table(40, 5));
    write("s.json", r#"{"a": 2, "b": 3, "c": 4}"#);
    write("w.txt", "a,b\nb,c\n");
    write(
        "t.json",
        "{\"columns\": [{\"name\": \"sex\", \"kind\": \"categorical\", \"codes\": [\"f\", \"m\"]},\n\
         {\"name\": \"age\", \"kind\": \"numeric\", \"edges\": [0, 18, 65, 120], \"na\": true}],\n\
         \"na_token\": \"NA\"}\n",
    );
    write(
        "c.toml",
        "delta = 1e-6\nepsilons = [1.0]\nseeds = [0]\nmechanisms = [\"independent\"]\nworkload = \"all-2-way\"\n\n\
         [[data]]\nname = \"small\"\nschema = \"s.json\"\nprivate = \"p.csv\"\npublic = [\"u.csv\"]\n",
    );
    write(
        "d.csv",
        "NAME,SEX,C,1,Sex\nVAL,SEX,C,1,1,1,Male\nVAL,SEX,C,1,2,2,Female\n\
         NAME,AGEP,N,2,Age\nVAL,AGEP,N,2,0,99,Age\n",
    );
    for line in [
        "$SYNTH --seed 1 --mechanism jam-pgm --rounds 2 --model m.json --ledger l.json",
        "$PUB --model g.json",
    ] {
        let done = run(folder.path(), &arguments(line, macros));
        assert_eq!(done.code, 0, "{}", done.message);
    }
    folder
}

#[test]
fn every_hostile_command_line_ends_with_its_code_and_its_message() {
    let mut table = parse(&fs::read_to_string(TABLE).unwrap());
    assert!(table.entries.len() >= FEWEST, "{} entries", table.entries.len());
    let fixtures = fixtures(&table.macros);
    let next = AtomicUsize::new(0);
    let endings = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((i, entry)) = {
                    let i = next.fetch_add(1, Ordering::Relaxed);
                    table.entries.get(i).map(|entry| (i, entry))
                } {
                    let ending = try_entry(entry, &table.macros, fixtures.path());
                    endings.lock().unwrap().push((i, ending));
                }
            });
        }
    });
    let mut endings = endings.into_inner().unwrap();
    endings.sort_by_key(|(i, _)| *i);
    assert_eq!(endings.len(), table.entries.len(), "an entry could not be tried");
    let mut wrong = String::new();
    for (entry, (_, ending)) in table.entries.iter_mut().zip(endings) {
        let command = entry.given.last().cloned().unwrap_or_default();
        let Ending { code, message } = ending;
        assert!((0..=5).contains(&code), "{command}: ended with {code}: {message}");
        assert!(!message.contains("panicked") && !message.contains("RUST_BACKTRACE"), "{message}");
        let is_error =
            |line: &&str| line.starts_with("error: ") || line.starts_with("{\"event\":\"error\"");
        let errors = message.lines().filter(is_error).count();
        assert_eq!(errors, usize::from(code != 0), "{command}: {message}");
        if (code, &message) != (entry.exit, &entry.message) {
            _ = write!(wrong, "{command}\nexit {code}, expected {}\n{message}", entry.exit);
            _ = writeln!(wrong, "expected:\n{}", entry.message);
        }
        (entry.exit, entry.message) = (code, message);
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(TABLE, written(&table)).unwrap();
    }
    assert!(wrong.is_empty(), "UPDATE_GOLDEN=1 rewrites the table; read the diff.\n\n{wrong}");
}

fn written(table: &Table) -> String {
    let mut text = format!("{}\n", table.top);
    for entry in &table.entries {
        _ = writeln!(text, "\n{}\nexit {}", entry.given.join("\n"), entry.exit);
        entry.message.lines().for_each(|line| _ = writeln!(text, "  {line}"));
    }
    text
}

#[test]
fn hundreds_of_threads_are_not_started() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_jointly"));
    command.env("RAYON_NUM_THREADS", "2000").args(["budget", "--epsilon", "1", "--delta", "1e-9"]);
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.starts_with("warning: RAYON_NUM_THREADS is 2000, expected at most "), "{said}");
}
