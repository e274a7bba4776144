//! The kill matrix: plants each bug of `tests/audit/bugs.rs` in a copy of the source and runs the audit suite against it.
//!
//! `cargo test --test kill_matrix` plants all of them. After `--`, `--changed` takes those that were not seen since their
//! files changed, `--sample N` takes N at random (`--seed S` repeats a sample), and any other words take the bugs whose names
//! contain one of them. The bugs are switches in one build of `target/planted/source`, which an environment variable turns
//! on, so that the project's own source has none. `.ci/planted` notes of every bug the digest of its files when a test last
//! saw it: to be committed.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a failed build of the matrix ends it")]
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program that prints a table")]

#[path = "audit/bugs.rs"]
mod bugs;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bugs::Bug;
use sha2::{Digest, Sha256};

/// The variable that turns a bug on.
const VARIABLE: &str = "JOINTLY_PLANTED_BUG";
/// Bugs at a time.
const WORKERS: usize = 2;
/// A run that takes longer is stopped. That is no kill: without a bug, the whole suite on one thread may take as long.
const PATIENCE: Duration = Duration::from_secs(300);
/// What the manifest names, and what the sources include.
const COPIED: [&str; 12] = [
    "Cargo.lock",
    "README.md",
    "rustfmt.toml",
    "clippy.toml",
    "crates",
    "src",
    "tests",
    "examples",
    "benches",
    "docs",
    "python/Cargo.toml",
    "python/src",
];
/// Sources in which bugs are planted, with what the bugs' files begin with.
const PARTS: [(&str, &str); 2] = [("", "src"), ("privacy", "crates/privacy/src")];
/// Where it is noted what was seen.
const NOTED: &str = ".ci/planted";
const PLANTED: &str = r#"//! Which planted bug is switched on.

use std::sync::OnceLock;

/// Whether it is this one.
pub fn bug(name: &str) -> bool {
    static ON: OnceLock<Option<String>> = OnceLock::new();
    ON.get_or_init(|| std::env::var("JOINTLY_PLANTED_BUG").ok()).as_deref() == Some(name)
}
"#;

fn main() -> ExitCode {
    let started = Instant::now();
    let (bugs, chosen) = (bugs::all(), std::env::args().skip(1).collect::<Vec<_>>());
    let bugs = choose(bugs, &chosen);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let planted = root.join("target/planted");
    // Of what is planted, whatever is edited while the tests run.
    let digests: Vec<String> = bugs.iter().map(|bug| digest(bug)).collect();
    copy(root, &planted.join("source"));
    plant(&planted.join("source"));
    if bugs.is_empty() {
        println!(
            "No bug's files have changed since a test saw it; every bug can still be planted."
        );
        return ExitCode::SUCCESS;
    }
    lend_dependencies(&root.join("target/debug"), &planted.join("build/debug"));
    let tests = Tests::build(&planted);
    eprintln!("built after {:.0?}", started.elapsed());
    let (left, done) = (Mutex::new(bugs.iter().rev().collect::<Vec<_>>()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..WORKERS {
            scope.spawn(|| {
                loop {
                    let Some(bug) = left.lock().unwrap().pop() else { break };
                    let begun = Instant::now();
                    let outcome = tests.against(bug);
                    eprintln!("{}: {outcome:?}, {:.0?}", bug.name, begun.elapsed());
                    done.lock().unwrap().push((bug.name, outcome, begun.elapsed()));
                }
            });
        }
    });
    let done = done.into_inner().unwrap();
    println!("| bug | what it does | killed by | s |\n| --- | --- | --- | --- |");
    let mut survivors = Vec::new();
    for bug in &bugs {
        let (_, outcome, took) = done.iter().find(|(name, ..)| *name == bug.name).unwrap();
        let by = match outcome {
            Outcome::Killed(by) => format!("`{by}`"),
            Outcome::Hung | Outcome::Survived => {
                survivors.push(bug.name);
                "**nothing**".into()
            }
        };
        println!("| {} | {} | {by} | {:.1} |", bug.name, bug.what, took.as_secs_f64());
    }
    let killers = done.iter().filter_map(|(_, outcome, _)| match outcome {
        Outcome::Killed(by) => Some(by.as_str()),
        _ => None,
    });
    tests.check_without_a_bug(&killers.collect());
    let seen = bugs.iter().zip(digests).filter(|(bug, _)| !survivors.contains(&bug.name));
    note(seen.map(|(bug, digest)| (bug.name.to_owned(), digest)));
    println!(
        "\n{} bugs, {} survivors, {:.0} s in all.",
        bugs.len(),
        survivors.len(),
        started.elapsed().as_secs_f64()
    );
    if survivors.is_empty() {
        return ExitCode::SUCCESS;
    }
    eprintln!("the suite does not see: {}", survivors.join(", "));
    ExitCode::FAILURE
}

/// Gives the planted build what the project's own has compiled of other packages, so that it compiles only what bugs are
/// planted in. Where nothing is there yet, or cargo thinks otherwise of it, the build takes longer.
fn lend_dependencies(from: &Path, to: &Path) {
    let is_own = |name: &str| {
        let name = name.trim_start_matches("lib");
        name.starts_with("jointly")
            || ["audit-", "integration-", "kill_matrix-"].iter().any(|own| name.starts_with(own))
    };
    if to.exists() || !from.exists() {
        return;
    }
    for part in [".fingerprint", "build", "deps"] {
        fs::create_dir_all(to.join(part)).unwrap();
        let Ok(entries) = fs::read_dir(from.join(part)) else { continue };
        for entry in entries.map(Result::unwrap) {
            let name = entry.file_name();
            if !is_own(&name.to_string_lossy()) {
                lend(&entry.path(), &to.join(part).join(&name));
            }
        }
    }
}

/// A second name for files that are only read, and a copy of small ones, which cargo may write; with their times, by which
/// cargo knows what is new.
fn lend(from: &Path, to: &Path) {
    const SMALL: u64 = 1 << 16;
    let about = fs::metadata(from).unwrap();
    if about.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            lend(&entry.path(), &to.join(entry.file_name()));
        }
    } else if about.len() > SMALL {
        fs::hard_link(from, to).unwrap();
    } else {
        fs::copy(from, to).unwrap();
        let copied = fs::File::options().write(true).open(to).unwrap();
        copied.set_modified(about.modified().unwrap()).unwrap();
    }
}

/// The bugs that the arguments ask for.
fn choose(mut all: Vec<&'static Bug>, arguments: &[String]) -> Vec<&'static Bug> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let mut is_changed = false;
    let (mut sample, mut seed) = (None, u64::try_from(now % (1 << 60)).unwrap());
    let mut words = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let mut number = || -> u64 {
            let text = rest.next().unwrap_or_else(|| panic!("{argument} needs a number"));
            text.parse().unwrap_or_else(|_| panic!("{argument} {text}: expected a number"))
        };
        match argument.as_str() {
            "--sample" => sample = Some(usize::try_from(number()).unwrap()),
            "--seed" => seed = number(),
            "--changed" => is_changed = true,
            option if option.starts_with('-') => {
                panic!(
                    "{option}: expected --changed, --sample N, --seed S or parts of the names of bugs"
                )
            }
            word => words.push(word),
        }
    }
    let names = all.len();
    all.retain(|bug| words.is_empty() || words.iter().any(|word| bug.name.contains(word)));
    assert!(!all.is_empty(), "none of {names} bugs has such a name");
    if is_changed {
        let noted = noted();
        all.retain(|bug| noted.get(bug.name) != Some(&digest(bug)));
    }
    if let Some(sample) = sample {
        println!("A sample of {sample} of {} bugs, --seed {seed}.\n", all.len());
        let key = |bug: &&Bug| {
            use std::hash::{DefaultHasher, Hash, Hasher};
            let mut hasher = DefaultHasher::new();
            (seed, bug.name).hash(&mut hasher);
            hasher.finish()
        };
        all.sort_by_key(key);
        all.truncate(sample);
    }
    all
}

/// The digests under which the bugs were last seen.
fn noted() -> BTreeMap<String, String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(NOTED);
    let text = fs::read_to_string(path).unwrap_or_default();
    let line = |line: &str| line.split_once(' ').map(|(bug, digest)| (bug.into(), digest.into()));
    text.lines().filter_map(line).collect()
}

/// Notes the bugs that were seen, and forgets those that there are no longer.
fn note(seen: impl Iterator<Item = (String, String)>) {
    let mut noted = noted();
    noted.extend(seen);
    noted.retain(|name, _| bugs::all().iter().any(|bug| bug.name == name));
    let lines = noted.iter().map(|(name, digest)| format!("{name} {digest}\n"));
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(NOTED);
    fs::write(path, lines.collect::<String>()).unwrap();
}

/// A digest of a bug, of the files it is planted in and of the tests that see it.
fn digest(bug: &Bug) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: BTreeSet<PathBuf> = BTreeSet::new();
    for (file, ..) in bug.patches {
        let is_of = |(prefix, _): &&(&str, &str)| Path::new(file).starts_with(prefix);
        let (prefix, part) = PARTS.iter().rev().find(is_of).unwrap();
        files.insert(root.join(part).join(Path::new(file).strip_prefix(prefix).unwrap()));
    }
    if let Some((_, filter)) = bug.by.split_once(": ") {
        let (mut own, folder) = (BTreeMap::new(), root.join("crates/privacy/src"));
        sources("", &folder, &folder, &mut own);
        let is_named = |path: &&PathBuf| path.to_string_lossy().contains(filter);
        files.extend(own.keys().filter(is_named).map(|path| folder.join(path)));
    } else {
        let module = bug.by.split("::").next().unwrap();
        files.insert(root.join("tests/audit").join(module).with_extension("rs"));
    }
    let mut digest = Sha256::new();
    digest.update(format!("{:?}", (bug.name, bug.by, bug.patches)));
    for file in files {
        digest.update(
            fs::read(&file).unwrap_or_else(|_| panic!("{}: no {}", bug.name, file.display())),
        );
    }
    digest.finalize().iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Copies what the build needs, and removes what is no longer there. Files that have not changed keep their time, so
/// that a second run compiles nothing.
fn copy(root: &Path, to: &Path) {
    for name in COPIED {
        copy_tree(&root.join(name), &to.join(name));
    }
    // Without the unit tests of the library, which see no bug and take a minute to build.
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    write_if_new(&to.join("Cargo.toml"), (manifest + "\n[lib]\ntest = false\n").as_bytes());
}

fn copy_tree(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for known in fs::read_dir(to).unwrap().map(Result::unwrap) {
            let is_gone = !from.join(known.file_name()).exists();
            if is_gone && known.path().is_dir() {
                fs::remove_dir_all(known.path()).unwrap();
            } else if is_gone && known.file_name() != "planted.rs" {
                fs::remove_file(known.path()).unwrap();
            }
        }
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
            copy_tree(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.exists() && !is_source(to) {
        write_if_new(to, &fs::read(from).unwrap());
    }
}

/// Whether a file is written by [`plant`].
fn is_source(to: &Path) -> bool {
    let parts = to.iter().rev().take_while(|part| *part != "source").collect::<Vec<_>>();
    let below = parts.into_iter().rev().collect::<PathBuf>();
    let is_in_part = PARTS.iter().any(|(_, part)| below.starts_with(part));
    is_in_part && to.extension().is_some_and(|extension| extension == "rs")
}

fn write_if_new(to: &Path, bytes: &[u8]) {
    if fs::read(to).ok().as_deref() != Some(bytes) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
}

/// Writes the library's source with all bugs, each behind its switch.
fn plant(to: &Path) {
    let mut files = BTreeMap::new();
    for (prefix, part) in PARTS {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join(part);
        sources(prefix, &from, &from, &mut files);
    }
    let mut patches: BTreeMap<(&str, &str), Vec<(&str, &str)>> = BTreeMap::new();
    for bug in bugs::all() {
        for (file, find, replace) in bug.patches {
            patches.entry((file, find)).or_default().push((bug.name, replace));
        }
    }
    // Patches of a file from its end to its beginning, so that places stay valid.
    let mut places: BTreeMap<&str, Vec<(usize, &str, String)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for ((file, find), all) in patches {
        let name = all[0].0;
        let text = files.get(Path::new(file)).unwrap_or_else(|| panic!("{name}: no file {file}"));
        let found: Vec<usize> = text.match_indices(find).map(|(at, _)| at).collect();
        let [at] = found[..] else {
            wrong.push(format!("{name}: {file} has {} times, expected once: {find}", found.len()));
            continue;
        };
        let krate = if file.starts_with("cli/") { "jointly" } else { "crate" };
        // A replacement without what stood there leaves no room for another one below it.
        let mut all = all;
        all.sort_by_key(|(_, replace)| replace.contains("SAME"));
        if all.iter().filter(|(_, replace)| !replace.contains("SAME")).count() > 1 {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            wrong.push(format!("{file}: only one of {names:?} would be there, at: {find}"));
            continue;
        }
        let planted = all.iter().fold(find.to_owned(), |same, (name, replace)| {
            let switch = format!("{krate}::planted::bug(\"{name}\")");
            replace.replace("BUG", &switch).replace("SAME", &same)
        });
        places.entry(file).or_default().push((at, find, planted));
    }
    for (file, mut places) in places {
        places.sort_by_key(|place| std::cmp::Reverse(place.0));
        let text = files.get_mut(Path::new(file)).unwrap();
        let mut before = text.len();
        for (at, find, planted) in places {
            if at + find.len() > before {
                wrong.push(format!("{file}: patches overlap at: {find}"));
                continue;
            }
            text.replace_range(at..at + find.len(), &planted);
            before = at;
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for (path, text) in &mut files {
        if path.starts_with("privacy") && !path.starts_with("privacy/sampler") {
            // A switch is read at run time.
            *text = text.replace("const fn ", "fn ");
        }
        if path.ends_with("lib.rs") {
            text.push_str("\n/// Planted bugs.\npub mod planted;\n");
        }
        let is_of = |(prefix, _): &&(&str, &str)| path.starts_with(prefix);
        let (prefix, part) = PARTS.iter().rev().find(is_of).unwrap();
        write_if_new(&to.join(part).join(path.strip_prefix(prefix).unwrap()), text.as_bytes());
    }
    for (_, part) in PARTS {
        write_if_new(&to.join(part).join("planted.rs"), PLANTED.as_bytes());
    }
}

fn sources(prefix: &str, root: &Path, folder: &Path, found: &mut BTreeMap<PathBuf, String>) {
    for entry in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let path = entry.path();
        if path.is_dir() {
            sources(prefix, root, &path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            found.insert(Path::new(prefix).join(path.strip_prefix(root).unwrap()), text);
        }
    }
}

/// What a suite makes of a bug.
#[derive(Debug)]
enum Outcome {
    /// The first test that fails.
    Killed(String),
    Hung,
    Survived,
}

/// The executables of the planted build.
struct Tests {
    folder: PathBuf,
    audit: PathBuf,
    privacy: PathBuf,
}

impl Tests {
    fn build(planted: &Path) -> Self {
        let features: &[&str] =
            if cfg!(feature = "parquet") { &["--features", "parquet"] } else { &[] };
        // Not in the folder of the other builds: cargo would take one copy of the library for the other.
        let output = Command::new(env!("CARGO"))
            .args(["test", "--no-run", "--package", "jointly", "--package", "jointly-privacy"])
            .args(["--lib", "--test", "audit"])
            .args(features)
            .args(["--message-format", "json", "--target-dir"])
            .arg(planted.join("build"))
            .current_dir(planted.join("source"))
            .stderr(Stdio::inherit())
            .output()
            .unwrap();
        let messages = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<serde_json::Value> =
            messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for message in messages.iter().filter(|message| message["message"]["level"] == "error") {
            eprintln!("{}", message["message"]["rendered"].as_str().unwrap_or_default());
        }
        assert!(output.status.success(), "the planted source does not compile");
        let executable = |name: &str| {
            let is_it = |message: &&serde_json::Value| {
                message["reason"] == "compiler-artifact"
                    && message["profile"]["test"] == true
                    && message["target"]["name"] == name
            };
            let message =
                messages.iter().find(is_it).unwrap_or_else(|| panic!("no tests of {name}"));
            PathBuf::from(message["executable"].as_str().unwrap())
        };
        let (audit, privacy) = (executable("audit"), executable("jointly_privacy"));
        Self { folder: planted.join("source"), audit, privacy }
    }

    /// First the tests that are expected to see it, then all.
    fn against(&self, bug: &Bug) -> Outcome {
        let (tests, filter) = match bug.by.split_once(": ") {
            Some((_, filter)) => (&self.privacy, filter),
            None => (&self.audit, bug.by),
        };
        let first = self.execute(tests, bug.name, &[filter]);
        if matches!(first, Outcome::Survived) { self.run(bug.name) } else { first }
    }

    /// The whole suite, and the unit tests of the privacy path.
    fn run(&self, bug: &str) -> Outcome {
        match self.execute(&self.audit, bug, &[]) {
            Outcome::Survived => self.execute(&self.privacy, bug, &[]),
            outcome => outcome,
        }
    }

    /// A test that has seen a bug must pass without one.
    fn check_without_a_bug(&self, killers: &BTreeSet<&str>) {
        let exactly: Vec<&str> = killers.iter().copied().chain(["--exact"]).collect();
        for tests in [&self.audit, &self.privacy] {
            match self.execute(tests, "", &exactly) {
                Outcome::Survived => {}
                other => panic!("without a bug too: {other:?}"),
            }
        }
    }

    fn execute(&self, tests: &Path, bug: &str, filter: &[&str]) -> Outcome {
        // Two bugs run at a time; without a bug, the suite runs alone.
        let threads = if bug.is_empty() { "2" } else { "1" };
        let mut child = Command::new(tests)
            .args(filter)
            .args(["--test-threads", threads])
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env("RAYON_NUM_THREADS", "1")
            .env("PROPTEST_FAILURE_PERSISTENCE", "off")
            .env(VARIABLE, bug)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut stdout = child.stdout.take().unwrap();
        let reader = std::thread::spawn(move || {
            let mut text = Vec::new();
            std::io::Read::read_to_end(&mut stdout, &mut text).map(|_| text).unwrap_or_default()
        });
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                child.kill().unwrap();
                child.wait().unwrap();
                return Outcome::Hung;
            }
            std::thread::sleep(Duration::from_millis(20));
        };
        if status.success() {
            return Outcome::Survived;
        }
        let text = reader.join().unwrap();
        let text = String::from_utf8_lossy(&text);
        let failed = text.lines().find_map(|line| {
            let name = line.strip_prefix("test ")?;
            // A process that aborts leaves the name of the test that ran.
            Some(name.split_once(" ... ").filter(|(_, end)| !end.starts_with("ok"))?.0)
                .filter(|_| !line.ends_with("ignored") && !line.contains(" ... ignored,"))
        });
        Outcome::Killed(failed.unwrap_or("an abort").to_owned())
    }
}
