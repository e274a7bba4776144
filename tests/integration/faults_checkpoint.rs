//! Faults around a checkpoint: kills at random moments, two runs at once, files edited or damaged, times that change.
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a failing helper fails its test")]

use std::fs::{self, File};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use jointly::mechanism::{CATALOGUE, Entry, Independent, PublicTables};
use jointly::observe::Silent;
use jointly::privacy::{Ledger, LedgerFile};
use jointly::{Error, PrivacyError};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;

use crate::checkpoints::sealed;
use crate::cli::{Bench, stderr};
use crate::quick::quick_flags;
use crate::support::{Run, people, select};

const SYNTH: &str = "synth --private private.csv --schema schema.json --epsilon 3 --delta 1e-6";
const JAM: &str = "synth --private private.csv --public near=public.csv --schema schema.json \
                   --workload all-2-way --epsilon 2 --delta 1e-6 --mechanism jam-pgm --rounds 4 --seed 1";

/// A run of a mechanism with a checkpoint.
pub(crate) fn command(entry: &Entry) -> String {
    let defaults = entry.defaults().unwrap();
    let mut command = format!("{SYNTH} --mechanism {}", entry.name);
    let mut add = |text: &str| {
        command.push(' ');
        command.push_str(text);
    };
    if entry.public_tables != PublicTables::Unused {
        add("--public near=public.csv");
    }
    if entry.uses_workload {
        add("--workload all-2-way");
    }
    if defaults.contains_key("rounds") {
        add("--rounds 8");
    }
    if defaults.contains_key("groups") {
        add("--groups a --noise-to-count 1000");
    }
    command + &quick_flags(entry)
}

fn start(bench: &Bench, command: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_jointly"))
        .current_dir(bench.path(""))
        .args(command.split_whitespace())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// The ledger of a checkpoint; `None` before the first.
fn kept(bench: &Bench, folder: &str) -> Option<Ledger> {
    let text = fs::read_to_string(bench.path(folder).join("checkpoint.json")).ok()?;
    let stored: Value = serde_json::from_str(&text).unwrap();
    Some(serde_json::from_value(stored["ledger"].clone()).unwrap())
}

/// The number of rounds in a checkpoint.
fn rounds(bench: &Bench, folder: &str) -> u64 {
    let text = fs::read_to_string(bench.path(folder).join("checkpoint.json")).unwrap_or_default();
    let stored: Value = serde_json::from_str(&text).unwrap_or_default();
    let mut steps = stored["steps"].as_array().into_iter().flatten();
    let step = steps.find(|step| step["step"] == "rounds");
    step.and_then(|step| step["value"]["rounds"].as_array()).map_or(0, |all| all.len() as u64)
}

/// The last round whose measurements a run has reported, in lines of JSON.
fn told(log: &str) -> u64 {
    let events = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let measured = events.filter(|event| event["event"] == "measured");
    measured.filter_map(|event| event["round"].as_u64()).max().unwrap_or(0)
}

/// What kills have hit.
#[derive(Default)]
struct Hits {
    kills: u32,
    /// Kills between the first round on disk and the last.
    between: u32,
    /// Kills after which nothing was on disk.
    before: u32,
}

/// Kills and resumes a run until a number of kills have hit it; a run that ends is begun again in another folder. After
/// each kill, the ledger on disk begins with the one before. `ended` sees every run that ends.
fn killed(
    bench: &Bench,
    command: &str,
    kills: u32,
    whole: Duration,
    draw: &mut ChaCha20Rng,
    mut ended: impl FnMut(&str),
) -> Hits {
    let mut hits = Hits::default();
    let mut attempt = 0;
    while hits.kills < kills {
        attempt += 1;
        let folder = format!("state-{attempt}");
        let command = format!("{command} --checkpoint {folder} --log-format json");
        let mut before: Option<Ledger> = None;
        loop {
            let mut child = start(bench, &command);
            let kills = hits.kills < kills;
            if kills {
                std::thread::sleep(whole.mul_f64(draw.random::<f64>()));
                child.kill().unwrap();
            }
            let output = child.wait_with_output().unwrap();
            let now = kept(bench, &folder);
            let begins =
                |now: &Ledger, before: &Ledger| now.entries().starts_with(before.entries());
            match (&now, &before) {
                (Some(now), Some(before)) => assert!(begins(now, before), "{command}"),
                (now, before) => assert!(now.is_some() >= before.is_some(), "{command}"),
            }
            // A round was on disk before it was reported.
            let (told, stored) = (told(&stderr(&output)), rounds(bench, &folder));
            assert!(told <= stored, "{command}: told round {told}, and {stored} are on disk");
            if let Some(now) = &now {
                assert!(now.spent() <= now.limit(), "{command}");
            }
            let change = now.is_some() && before != now;
            before = now;
            if output.status.success() {
                break;
            }
            assert_eq!(output.status.code(), None, "{command}: {}", stderr(&output));
            hits.kills += 1;
            hits.between += u32::from(change);
            hits.before += u32::from(before.is_none());
        }
        ended(&folder);
        fs::remove_dir_all(bench.path(&folder)).unwrap();
        remove_outputs(bench);
    }
    hits
}

/// Removes what a run has written, which another run would not replace.
fn remove_outputs(bench: &Bench) {
    for name in ["out.csv", "ledger.json", "out.csv.config.toml", "homes-out.csv"] {
        _ = fs::remove_file(bench.path(name));
    }
}

/// Every mechanism with a checkpoint, killed with a fixed seed and with the system's noise.
fn every_mechanism_killed(kills: u32) {
    let mut draw = ChaCha20Rng::seed_from_u64(7);
    let mut between = 0;
    for entry in CATALOGUE.iter().filter(|entry| entry.resumes) {
        let bench = Bench::new();
        let command = format!("{} --out out.csv --ledger ledger.json", command(entry));
        let fixed = format!("{command} --seed 3");
        let started = Instant::now();
        bench.succeed(&format!("{fixed} --checkpoint whole"));
        let whole = started.elapsed();
        let (table, ledger) = (bench.read("out.csv"), bench.read("ledger.json"));
        remove_outputs(&bench);
        let hits = killed(&bench, &fixed, kills, whole, &mut draw, |_| {
            assert_eq!(bench.read("out.csv"), table, "{fixed}");
            assert_eq!(bench.read("ledger.json"), ledger, "{fixed}");
        });
        let file = LedgerFile::read(&bench.path("ledger.json"));
        assert!(file.is_err(), "removed after each run");
        bench.succeed(&command);
        let counted = entries(&bench.read("ledger.json"));
        remove_outputs(&bench);
        let system = killed(&bench, &command, kills, whole, &mut draw, |folder| {
            let text = bench.read("ledger.json");
            let stored: Value = serde_json::from_str(&text).unwrap();
            let own: Ledger = serde_json::from_value(stored["ledger"].clone()).unwrap();
            assert_eq!(Some(&own), kept(&bench, folder).as_ref(), "{command}");
            if !["ide", "jam-pgm", "aim", "anchor-pgm"].contains(&entry.name) {
                // These pay for the same steps whatever the noise.
                assert_eq!(entries(&text), counted, "{command}");
            }
        });
        eprintln!(
            "{}: a run takes {whole:?}; fixed seed: {} kills, {} after a new round, {} before any; \
             system noise: {}, {}, {}",
            entry.name,
            hits.kills,
            hits.between,
            hits.before,
            system.kills,
            system.between,
            system.before
        );
        between += hits.between + system.between;
    }
    assert!(between > 0, "no kill hit a run between two rounds");
}

/// Rounds and purposes of the entries of a ledger file.
fn entries(text: &str) -> Vec<(u64, String)> {
    let stored: Value = serde_json::from_str(text).unwrap();
    let entries = stored["ledger"]["entries"].as_array().unwrap().iter();
    let kind = |entry: &Value| entry["mechanism"]["kind"].as_str().unwrap().to_owned();
    entries.map(|entry| (entry["round"].as_u64().unwrap(), kind(entry))).collect()
}

#[test]
fn every_mechanism_killed_a_few_times_ends_as_an_undisturbed_one() {
    every_mechanism_killed(10);
}

#[test]
#[ignore = "the long form of the test above"]
fn every_mechanism_killed_fifty_times_ends_as_an_undisturbed_one() {
    every_mechanism_killed(50);
}

/// Every step of a run: merging, rounds, drawing, errors.
#[test]
fn merging_rounds_and_errors_are_paid_for_once_however_often_a_run_is_killed() {
    let bench = Bench::new();
    bench.write("private.csv", &crate::compression::people(0));
    bench.write("schema.json", &crate::compression::schema());
    let command = format!(
        "{SYNTH} --mechanism aim --workload all-2-way --rounds 6 --compress 0.2 --error-share 0.1 \
         --out out.csv --ledger ledger.json"
    );
    let started = Instant::now();
    bench.succeed(&format!("{command} --seed 3 --checkpoint whole"));
    let whole = started.elapsed();
    let (table, ledger) = (bench.read("out.csv"), bench.read("ledger.json"));
    remove_outputs(&bench);
    let mut draw = ChaCha20Rng::seed_from_u64(8);
    let fixed = killed(&bench, &format!("{command} --seed 3"), 15, whole, &mut draw, |_| {
        assert_eq!(bench.read("out.csv"), table);
        assert_eq!(bench.read("ledger.json"), ledger);
    });
    let system = killed(&bench, &command, 15, whole, &mut draw, |folder| {
        let own = LedgerFile::read(&bench.path("ledger.json")).unwrap().ledger;
        assert_eq!(Some(&own), kept(&bench, folder).as_ref());
        let of_errors = own.entries().iter().filter(|entry| entry.purpose.starts_with("errors"));
        let merging = own.entries().iter().take_while(|entry| entry.round == 0);
        assert_eq!((of_errors.count(), merging.count()), (1, 2));
        assert_eq!(own.spent(), own.limit());
    });
    eprintln!("{} and {} kills after a new step", fixed.between, system.between);
    assert!(fixed.between + system.between > 0, "no kill hit a run between two steps");
}

/// Homes of three of one sex, which a rule demands, in a table beside their members.
fn two_tables(bench: &Bench, people: &str) {
    let jobs = people.lines().skip(1).filter_map(|line| line.split(',').next());
    let row = |i: usize| format!("{},{},{}\n", i / 3, i % 3, i / 3 % 2);
    let rows = "h,n,sex\n".to_owned() + &(0..jobs.clone().count()).map(row).collect::<String>();
    let home = |(h, job): (usize, &str)| format!("{h},{job}\n");
    let homes = jobs.step_by(3).enumerate().map(home).collect::<String>();
    let homes = "h,job\n".to_owned() + &homes;
    bench.write("rows.csv", &rows);
    bench.write("homes.csv", &homes);
    let rule = r#"{"forbidden_members":[{"one":{"sex":["0"]},"another":{"sex":["1"]}}],"columns":[{"name":"h","role":"id"},"#;
    bench.write("homes.json", &crate::compression::schema().replace(r#"{"columns":["#, rule));
}

/// What a run does with private rows beside its rounds: counting, units, merging, errors, replicates, an earlier ledger.
#[test]
fn every_option_killed_a_few_times_ends_as_an_undisturbed_run() {
    let bench = Bench::new();
    let people = crate::compression::people(0);
    bench.write("private.csv", &people);
    let in_units = |people: &str| {
        let rows = people.lines().enumerate().map(|(i, line)| match i {
            0 => format!("h,n,{line}\n"),
            _ => format!("{},{},{line}\n", i / 3, i % 3),
        });
        rows.collect::<String>()
    };
    bench.write("units.csv", &in_units(&people));
    bench.write("others.csv", &in_units(&crate::compression::people(1)));
    bench.write("schema.json", &crate::compression::schema());
    let weighted = crate::compression::schema()
        .replace(r#""name":"hours""#, r#""name":"hours","role":"weight""#);
    assert!(weighted.contains("weight"), "{weighted}");
    bench.write("weighted.json", &weighted);
    bench.write("people.csv", "sex,people\n0,40000\n1,10000\n");
    bench.write("few.csv", "number,sex\n7,0\n7,1\n8,1\n");
    two_tables(&bench, &people);
    let aim = "--mechanism aim --workload all-2-way --rounds 6 --out out.csv --ledger ledger.json";
    bench.succeed(
        "answer --private private.csv --schema schema.json --epsilon 1 --delta 1e-7 --workload all-1-way \
         --out first.csv --ledger first.json",
    );
    bench.succeed(
        "count --part private.csv --schema schema.json --mechanism aim --workload all-2-way --out all.counts",
    );
    let households = format!(
        "{} {aim} --neighbors add-remove-one --unit h --max-records 3",
        SYNTH.replace("private.csv", "units.csv")
    );
    // A program that counts: it returns what was counted before.
    bench.write_program("engine", "#!/bin/sh\nexec cat all.counts\n");
    let elsewhere = "--private-table people --engine ./engine";
    let commands = [
        format!("{SYNTH} {aim} --counted"),
        format!("{} {aim}", SYNTH.replace("--private private.csv", elsewhere)),
        SYNTH.replace("private.csv", "all.counts") + " " + aim,
        format!("{SYNTH} {aim} --neighbors add-remove-one --error-share 0.1"),
        format!("{SYNTH} {aim} --ledger-from first.json"),
        format!(
            "{} --weight hours --totals people.csv",
            SYNTH.replace("schema.json", "weighted.json") + " " + aim
        ),
        format!(
            "{} --weight hours --error-share 0.1 --emit weighted",
            SYNTH.replace("schema.json", "weighted.json") + " " + aim
        ),
        format!("{SYNTH} {aim} --tables 2"),
        format!("{SYNTH} {aim} --error-share 0.1 --complete few.csv --keep-columns number"),
        format!("{households} --compress 0.2"),
        format!("{households} --unit-columns sex"),
        format!("{households} --keep hash"),
        format!("{households} --members sex --order n"),
        format!(
            "{households} --members sex --order n --unit-columns job --units-out homes-out.csv"
        )
        .replace("units.csv", "rows.csv+homes.csv")
        .replace("schema.json", "homes.json"),
        // What units are made of is measured too.
        households
            .replace("--mechanism aim", "--mechanism anchor-pgm")
            .replace("epsilon 3", "epsilon 9")
            + " --public others.csv --members sex --order n",
    ];
    let (mut draw, mut between) = (ChaCha20Rng::seed_from_u64(9), 0);
    for command in commands {
        let others = || {
            for number in 1..=2 {
                _ = fs::remove_file(bench.path(&format!("out.replicate-{number}.csv")));
            }
        };
        let command = format!("{command} --seed 3");
        let started = Instant::now();
        bench.succeed(&format!("{command} --checkpoint whole"));
        let whole = started.elapsed();
        let (table, ledger) = (bench.read("out.csv"), bench.read("ledger.json"));
        fs::remove_dir_all(bench.path("whole")).unwrap();
        remove_outputs(&bench);
        others();
        let hits = killed(&bench, &command, 5, whole, &mut draw, |_| {
            assert_eq!(bench.read("out.csv"), table, "{command}");
            assert_eq!(bench.read("ledger.json"), ledger, "{command}");
            others();
        });
        between += hits.between;
    }
    eprintln!("{between} kills after a new step");
    assert!(between > 0, "no kill hit a run between two steps");
}

fn signal(child: &Child, name: &str) {
    let number = child.id().to_string();
    assert!(Command::new("kill").args([name, &number]).status().unwrap().success());
}

#[test]
fn a_second_run_is_refused_while_the_first_lives_and_not_once_it_is_killed() {
    let bench = Bench::new();
    bench.succeed(&format!("{JAM} --out new.csv --ledger new.json"));
    let command = format!("{JAM} --out out.csv --ledger ledger.json --checkpoint state");
    let lock = bench.path("state").join("lock");
    let held = |file: &File| matches!(file.try_lock(), Err(fs::TryLockError::WouldBlock));
    // A first run that is stopped while it has the lock. It may end before the signal: then another is started.
    let mut first = loop {
        _ = fs::remove_dir_all(bench.path("state"));
        let child = start(&bench, &command);
        while !lock.exists() {
            std::thread::yield_now();
        }
        signal(&child, "-STOP");
        if held(&File::open(&lock).unwrap()) {
            break child;
        }
        signal(&child, "-KILL");
        child.wait_with_output().unwrap();
    };
    bench.fail(&command, 1, "out.csv is locked by another run");
    let elsewhere = command.replace("out.csv", "other.csv").replace("ledger.json", "other.json");
    bench.fail(&elsewhere, 5, "another run is using it");
    signal(&first, "-KILL");
    first.wait().unwrap();
    bench.succeed(&command);
    assert_eq!(bench.read("out.csv"), bench.read("new.csv"));
    assert_eq!(bench.read("ledger.json"), bench.read("new.json"));
}

/// A state of another version is refused at every attempt, so no message may say that the command resumes.
#[test]
fn a_refused_checkpoint_is_not_said_to_resume() {
    let bench = Bench::new();
    let command = format!("{JAM} --out out.csv --checkpoint state");
    bench.succeed(&command);
    let file = bench.path("state/checkpoint.json");
    let mut stored: Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    stored["steps"][0]["value"]["state"]["version"] = 99.into();
    fs::write(&file, sealed(stored)).unwrap();
    let text = stderr(&bench.run(&command));
    assert!(text.contains(" 99', expected '"), "{text}");
    assert!(!text.contains("resume"), "{text}");
}

/// The private file's time is compared with the one noted before, never with the clock.
#[test]
fn a_time_in_the_future_or_the_past_is_as_good_as_any_and_a_changed_one_is_refused() {
    let bench = Bench::new();
    let set = |time: SystemTime| {
        let file = File::options().write(true).open(bench.path("private.csv")).unwrap();
        file.set_modified(time).unwrap();
    };
    let day = Duration::from_secs(86_400);
    let times = [
        SystemTime::now() + 365 * day,
        SystemTime::now() - 365 * day,
        SystemTime::UNIX_EPOCH,
        SystemTime::UNIX_EPOCH - day,
        SystemTime::UNIX_EPOCH - 2 * day,
    ];
    for (number, time) in times.into_iter().enumerate() {
        let command = format!("{JAM} --out out.csv --ledger ledger.json --checkpoint s{number}");
        set(time);
        bench.succeed(&command);
        let ledger = bench.read("ledger.json");
        bench.succeed(&command);
        for other in times.into_iter().filter(|other| *other != time) {
            set(other);
            bench.fail(&command, 5, "it belongs to other inputs or parameters");
        }
        set(time);
        // The checkpoint's own times mean nothing.
        for file in ["checkpoint.json", "lock"] {
            let path = bench.path(&format!("s{number}/{file}"));
            File::options().write(true).open(path).unwrap().set_modified(other_than(time)).unwrap();
        }
        bench.succeed(&command);
        assert_eq!(bench.read("ledger.json"), ledger);
    }
}

fn other_than(time: SystemTime) -> SystemTime {
    time + Duration::from_secs(40 * 86_400)
}

#[test]
fn a_checkpoint_edited_by_hand_is_refused_and_stays_as_it_is() {
    let bench = Bench::new();
    let command = format!("{JAM} --out out.csv --ledger ledger.json --checkpoint state");
    bench.succeed(&command);
    let good = bench.read("state/checkpoint.json");
    let edits: [(&str, &str); 4] = [
        // A number, white space, a line's end, and a member that no one reads.
        ("\"values\":[", "\"values\":[1"),
        ("\"rounds\":", "\"rounds\": "),
        ("\"state\":", "\n\"state\":"),
        ("\"total\":", "\"note\":\"mine\",\"total\":"),
    ];
    for (from, to) in edits {
        let edited = good.replacen(from, to, 1);
        assert_ne!(edited, good, "{from}");
        bench.write("state/checkpoint.json", &edited);
        let part = "checkpoint state/checkpoint.json: its checksum does not match, it was changed \
                    or damaged";
        bench.fail(&command, 5, part);
        assert_eq!(bench.read("state/checkpoint.json"), edited);
    }
    bench.write("state/checkpoint.json", &good);
    bench.succeed(&command);
}

#[test]
fn every_flipped_byte_and_every_cut_of_a_checkpoint_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let private = select(&people(50, 1, 0.0), &["SEX", "SCH"]);
    let checkpoint = Some((folder.path().to_owned(), "people"));
    let run = Run { checkpoint, ..Run::new(&private, &[]) };
    let mechanism = Independent { iterations: 10, ..Independent::default() };
    run.release(&mechanism);
    let file = folder.path().join("checkpoint.json");
    let good = fs::read(&file).unwrap();
    let refused = |bytes: &[u8], what: &str| {
        fs::write(&file, bytes).unwrap();
        let found = catch_unwind(AssertUnwindSafe(|| run.with(&mechanism, &mut Silent).map(drop)));
        let error = found.unwrap_or_else(|_| panic!("{what}: a panic")).unwrap_err();
        assert!(
            matches!(error, Error::Privacy(PrivacyError::Checkpoint { .. })),
            "{what}: {error}"
        );
        let message = error.to_string();
        let told = ["changed or damaged", ": version "].iter().any(|part| message.contains(part));
        assert!(told, "{what}: {message}");
        assert_eq!(fs::read(&file).unwrap(), bytes, "{what}");
    };
    for at in 0..good.len() {
        let mut bytes = good.clone();
        bytes[at] ^= 1 << (at % 8);
        refused(&bytes, &format!("byte {at}"));
    }
    for length in 0..good.len().min(400) {
        refused(&good[..length], &format!("the first {length} bytes"));
    }
    refused(&[&good[..], b" "].concat(), "a byte more");
    refused(&[&good[..], &good[..]].concat(), "twice");
    fs::write(&file, &good).unwrap();
    run.release(&mechanism);
    assert!(Path::new(&file).exists());
}
