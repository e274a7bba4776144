//! Faults of the system: full disks, limits on files, folders that cannot be written, and the order of writes that a
//! power cut could expose. Tests that need root or a tool say so and pass without them.
#![expect(clippy::unwrap_used, reason = "a failing helper fails its test")]

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::cli::{Bench, stderr};

/// A command, its arguments except outputs, and its outputs as flags and files.
type Writer = (&'static str, &'static [(&'static str, &'static str)]);

/// What can be written, by the commands that write it.
const WRITERS: [Writer; 6] = [
    (
        "synth --private private.csv --public near=public.csv --schema schema.json --workload \
         all-2-way --epsilon 2 --delta 1e-6 --mechanism jam-pgm --rounds 4 --rows 4000 --seed 1",
        &[
            ("--out", "out.csv"),
            ("--model", "model.json"),
            ("--ledger", "ledger.json"),
            ("--report", "report.html"),
        ],
    ),
    ("sample --model kept.json --rows 4000 --seed 1", &[("--out", "rows.csv")]),
    (
        "answer --private private.csv --schema schema.json --epsilon 2 --delta 1e-6 --seed 1",
        &[("--out", "answers.json"), ("--ledger", "answers-ledger.json")],
    ),
    (
        "trust --private private.csv --public public.csv --schema schema.json --epsilon 2 \
         --delta 1e-6 --seed 1",
        &[("--ledger", "trust.json")],
    ),
    (
        "thresholds --private private.csv --public public.csv --columns d --epsilon 2 --delta 1e-6 \
         --seed 1",
        &[("--out", "cdf.json"), ("--ledger", "cdf-ledger.json")],
    ),
    ("schema --public public.csv", &[("--out", "draft.json")]),
];

/// Small tables, and a model for `sample`.
fn bench() -> Bench {
    let bench = Bench::new();
    let (synth, _) = WRITERS[0];
    bench.succeed(&format!("{synth} --out kept.csv --model kept.json"));
    bench
}

/// The files that a command writes: those that it names, and the report for programs beside the page.
fn outputs(writer: &Writer) -> impl Iterator<Item = &'static str> {
    let beside = writer.1.iter().any(|(flag, _)| *flag == "--report").then_some("report.json");
    writer.1.iter().map(|(_, file)| *file).chain(beside)
}

/// The command with its outputs in a folder.
fn command((command, outputs): &Writer, folder: &str) -> String {
    outputs
        .iter()
        .fold((*command).to_owned(), |text, (flag, file)| format!("{text} {flag} {folder}/{file}"))
}

/// Says that a test was skipped, past the capture of a passing test's output.
fn skipped(why: &str) {
    _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

/// A file system of a few pages, or a view of a folder, as long as this exists.
struct Mounted(PathBuf);

impl Mounted {
    /// `None`, said aloud, where the system does not let this process mount.
    fn new(place: PathBuf, commands: &[&[&str]]) -> Option<Self> {
        fs::create_dir_all(&place).unwrap();
        for (number, arguments) in commands.iter().enumerate() {
            let command = Command::new("mount").args(*arguments).arg(&place).output();
            if !command.is_ok_and(|done| done.status.success()) {
                skipped(&format!("this process cannot mount: {}", arguments.join(" ")));
                if number > 0 {
                    drop(Self(place));
                }
                return None;
            }
        }
        Some(Self(place))
    }

    /// A disk of a number of pages of 4 KiB.
    fn disk(bench: &Bench, pages: u32) -> Option<Self> {
        let size = format!("size={}k", 4 * pages);
        Self::new(bench.path("disk"), &[&["-t", "tmpfs", "-o", &size, "tmpfs"]])
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The outputs in a folder. The file of flags is none: it names the folder, and a run succeeds without it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(Result::unwrap);
    let files = entries.filter(|entry| entry.path().is_file()).map(|entry| {
        let name = entry.file_name().into_string().unwrap();
        (name, fs::read(entry.path()).unwrap())
    });
    files.filter(|(name, _)| !name.ends_with(".config.toml")).collect()
}

/// Removes all files of a folder.
fn clear(folder: &Path) {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.filter(|path| path.is_file()).for_each(|path| fs::remove_file(path).unwrap());
}

/// Checks a run that may have failed for want of space: every output is the former file or the whole new one, nothing
/// else is there, and a failure has code 1 and names a file that it left as it was. Whether the run succeeded.
fn left_whole(
    output: &Output,
    before: &BTreeMap<String, Vec<u8>>,
    after: &BTreeMap<String, Vec<u8>>,
    new: &BTreeMap<String, Vec<u8>>,
    what: &str,
) -> bool {
    let message = stderr(output);
    let mut kept = Vec::new();
    for (name, content) in after {
        if Some(content) == before.get(name) {
            kept.push(name);
        } else if Some(content) != new.get(name) {
            // The ledger is written before each round is reported. After a failure it is the last such state.
            let ledger: serde_json::Value = serde_json::from_slice(content).unwrap_or_default();
            assert_eq!(ledger["unfinished"], true, "{what}: {name} is neither old nor new");
            assert_eq!(output.status.code(), Some(1), "{what}: {message}");
            kept.push(name);
        }
    }
    assert_eq!(after.len(), before.len(), "{what}: parts stay: {:?}", after.keys());
    kept.retain(|name| new.contains_key(*name));
    if kept.is_empty() {
        assert_eq!(output.status.code(), Some(0), "{what}: {message}");
        return true;
    }
    // A signal has no code.
    assert_eq!(output.status.code(), Some(1), "{what}: {:?} {message}", output.status);
    let error = message.lines().find(|line| line.starts_with("error: ")).unwrap();
    assert!(kept.iter().any(|name| error.contains(&***name)), "{what}: {error}");
    false
}

/// Writes a file. The system may take a moment to give back the pages of files that were removed.
fn fill(file: &Path, bytes: &[u8]) {
    for _ in 0..100 {
        if fs::write(file, bytes).is_ok() {
            return;
        }
        _ = fs::remove_file(file);
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    fs::write(file, bytes).unwrap();
}

#[test]
fn on_a_full_disk_every_output_is_the_former_file_or_the_whole_new_one() {
    const PAGES: u32 = 128;
    let bench = bench();
    fs::create_dir(bench.path("new")).unwrap();
    let Some(disk) = Mounted::disk(&bench, PAGES) else { return };
    let filler = disk.0.join("filler");
    for writer in &WRITERS {
        bench.succeed(&command(writer, "new"));
        let names = || outputs(writer);
        let new = files(&bench.path("new"));
        let new = new.into_iter().filter(|(name, _)| names().any(|own| own == name)).collect();
        let (mut failures, mut free) = (0, 0);
        loop {
            clear(&disk.0);
            names().for_each(|file| fill(&disk.0.join(file), b"former"));
            let taken = PAGES - free - u32::try_from(names().count()).unwrap();
            fill(&filler, &vec![0; 4096 * taken as usize]);
            let before = files(&disk.0);
            let command = command(writer, "disk");
            let output = bench.run(&command);
            let what = format!("{free} pages for {command}");
            if left_whole(&output, &before, &files(&disk.0), &new, &what) {
                break;
            }
            let told = stderr(&output);
            assert!(told.contains("No space left") || told.contains("os error 28"), "{told}");
            failures += 1;
            free += if free < 8 { 1 } else { 6 };
        }
        assert!(failures > 0, "{} fits a full disk", writer.0);
        clear(&disk.0);
    }
    // The demo's folder is full before its first table is whole.
    _ = fs::remove_file(&filler);
    let output = bench.run("demo --dir disk");
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    assert!(stderr(&output).contains("cannot write disk/private.csv: No space left"));
    assert!(files(&disk.0).is_empty());
}

#[test]
fn a_limit_on_the_size_of_files_is_an_error_and_no_signal() {
    let bench = bench();
    for folder in ["new", "small"] {
        fs::create_dir(bench.path(folder)).unwrap();
    }
    for writer in &WRITERS {
        bench.succeed(&command(writer, "new"));
        let names = || outputs(writer);
        let new = files(&bench.path("new"));
        let new = new.into_iter().filter(|(name, _)| names().any(|own| own == name)).collect();
        let mut failures = 0;
        for blocks in [0, 1, 4, 8, 16, 40, 100, 100_000] {
            names().for_each(|file| bench.write(&format!("small/{file}"), "former"));
            let before = files(&bench.path("small"));
            let command = command(writer, "small");
            let tool = env!("CARGO_BIN_EXE_jointly");
            let line = format!("ulimit -f {blocks}; exec {tool} {command} --overwrite");
            let folder = bench.path("");
            let output = Command::new("sh").args(["-c", &line]).current_dir(folder).output();
            let what = format!("{blocks} blocks for {command}");
            let after = files(&bench.path("small"));
            failures += u32::from(!left_whole(&output.unwrap(), &before, &after, &new, &what));
        }
        assert!((1..8).contains(&failures), "{}: {failures}", writer.0);
        names().for_each(|file| fs::remove_file(bench.path("small").join(file)).unwrap());
    }
}

#[test]
fn a_full_disk_stops_a_run_with_a_checkpoint_and_space_lets_it_go_on() {
    let bench = bench();
    let (synth, _) = WRITERS[0];
    bench.succeed(&format!("{synth} --out new.csv --ledger new.json"));
    let Some(disk) = Mounted::disk(&bench, 64) else { return };
    let filler = disk.0.join("filler");
    let command = format!("{synth} --out out.csv --ledger ledger.json --checkpoint disk/state");
    // Folder and lock need no page; the checkpoint grows from one round to the next.
    let mut failures = 0;
    for free in [0, 1, 2, 3, 4, 5, 6, 8, 60] {
        fs::write(&filler, vec![0; 4096 * (64 - free)]).unwrap();
        let output = bench.run(&command);
        if output.status.code() == Some(0) {
            break;
        }
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        let named = ["checkpoint.json", "outputs.json"]
            .map(|name| format!("cannot write disk/state/{name}: No space"));
        assert!(named.iter().any(|named| message.contains(named)), "{message}");
        let parts = files(&disk.0.join("state"));
        let known = ["lock", "checkpoint.json", "outputs.json"];
        assert!(parts.keys().all(|name| known.contains(&name.as_str())), "{parts:?}");
        failures += 1;
        fs::remove_file(&filler).unwrap();
    }
    assert!(failures > 0);
    assert_eq!(bench.read("out.csv"), bench.read("new.csv"));
    assert_eq!(bench.read("ledger.json"), bench.read("new.json"));
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_anything_is_spent() {
    let bench = bench();
    let folder = bench.path("disk");
    let place = folder.to_str().unwrap();
    let bind: [&[&str]; 2] = [&["--bind", place], &["-o", "remount,ro,bind"]];
    let read_only = Mounted::new(folder.clone(), &bind);
    if read_only.is_none() {
        // Permissions bind whoever is not root.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o555)).unwrap();
        if fs::write(folder.join("x"), "").is_ok() {
            skipped("permissions do not bind this process");
            return;
        }
    }
    for writer in &WRITERS {
        let output = bench.run(&command(writer, "disk"));
        let message = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{message}");
        assert!(message.contains("cannot write into folder"), "{message}");
        assert!(!message.contains("rho"), "something was spent: {message}");
    }
    let (synth, _) = WRITERS[0];
    bench.fail(
        &format!("{synth} --out x.csv --checkpoint disk/state"),
        1,
        "cannot create disk/state",
    );
    assert!(!bench.path("x.csv").exists());
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
}

#[test]
fn a_folder_of_the_system_takes_no_file() {
    let bench = bench();
    for folder in ["/proc", "/sys"].iter().filter(|folder| Path::new(folder).is_dir()) {
        let command = format!("sample --model kept.json --rows 5 --out {folder}/x.csv");
        bench.fail(&command, 1, "cannot write into folder");
    }
}

/// One call of the system, as `strace -y` writes it.
struct Call<'a> {
    name: &'a str,
    line: &'a str,
}

impl<'a> Call<'a> {
    fn new(line: &'a str) -> Option<Self> {
        let call = line.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start();
        let (name, _) = call.split_once('(')?;
        Some(Self { name, line: call })
    }

    /// The path of the descriptor that it works on.
    fn path(&self) -> &'a str {
        let from = self.line.find('<').map_or("", |start| &self.line[start + 1..]);
        from.split('>').next().unwrap_or_default()
    }

    /// The paths that a renaming moves from and to.
    fn moved(&self) -> (&'a str, &'a str) {
        let mut quoted = self.line.split('"').skip(1).step_by(2);
        (quoted.next().unwrap_or_default(), quoted.next().unwrap_or_default())
    }
}

/// A file is whole on disk before it gets its name, and its name is on disk before anything else is written or said.
#[test]
fn files_are_synced_before_they_are_moved_and_folders_after() {
    if !Command::new("strace").arg("-V").output().is_ok_and(|done| done.status.success()) {
        skipped("strace is not installed (apt-get install strace)");
        return;
    }
    let bench = bench();
    let trace = bench.path("trace");
    let calls = "trace=write,fsync,fdatasync,rename,renameat,renameat2";
    let command = command(&WRITERS[0], ".") + " --checkpoint state";
    let output = Command::new("strace")
        .args(["-f", "-y", "-e", calls, "-o", trace.to_str().unwrap()])
        .arg(env!("CARGO_BIN_EXE_jointly"))
        .args(command.split_whitespace())
        .current_dir(bench.path(""))
        .env("RAYON_NUM_THREADS", "1")
        .output()
        .unwrap();
    if stderr(&output).contains("ptrace") {
        skipped(&format!("this process cannot trace: {}", stderr(&output)));
        return;
    }
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = bench.read("trace");
    let calls: Vec<Call> = text.lines().filter_map(Call::new).collect();
    let mut moved = BTreeMap::new();
    for (at, call) in calls.iter().enumerate() {
        if !call.name.starts_with("rename") {
            continue;
        }
        let (from, to) = call.moved();
        assert!(Path::new(from).extension().is_some_and(|end| end == "tmp"), "{}", call.line);
        let of_part = calls[..at].iter().filter(|call| call.path() == from);
        let names: Vec<&str> = of_part.map(|call| call.name).collect();
        assert_eq!(names.last(), Some(&"fsync"), "{to} is moved before it is synced: {names:?}");
        assert!(names.contains(&"write"), "{to}: {names:?}");
        let next = &calls[at + 1];
        let folder = Path::new(to).parent().unwrap().to_str().unwrap();
        assert_eq!((next.name, next.path()), ("fsync", folder), "after {}", call.line);
        let name = Path::new(to).file_name().unwrap().to_str().unwrap();
        *moved.entry(name.to_owned()).or_insert(0) += 1;
    }
    let (_, outputs) = WRITERS[0];
    for (_, file) in outputs {
        assert!(moved.contains_key(*file), "{file} was not moved into place: {moved:?}");
    }
    // One for each round, and one for the errors.
    assert_eq!(moved.get("checkpoint.json"), Some(&5), "{moved:?}");
}
