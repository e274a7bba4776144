//! Nothing that spends or touches private rows goes without its audit. Mechanisms are those of the catalogue, settings those
//! of a job's own definition, commands and flags those of the program's help. Each is listed here, as something that does
//! nothing with private rows, or with what audits it: a line of the table of whole mechanisms, a twin, planted bugs, and a
//! test that kills the run.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use jointly::Job;
use jointly::data::{Dataset, PublicData};
use jointly::domain::Domain;
use jointly::mechanism::{CATALOGUE, Task, find};
use jointly::observe::Silent;
use jointly::privacy::{Budget, NeighboringRelation, NoiseSeed};
use jointly::query::Workload;
use jointly::settings::Setting;
use serde_json::Value;

use crate::bugs;
use crate::mechanisms;
use crate::twins;

/// What something has to do with private rows.
enum Rows {
    /// Nothing: why.
    None(&'static str),
    /// It spends, or decides which rows count or what is asked of them.
    Audited(Audited),
}

/// What audits something.
struct Audited {
    /// A line of the table of whole mechanisms.
    line: &'static str,
    /// Words of a command that the twins run.
    twin: &'static str,
    /// Planted bugs.
    bugs: &'static [&'static str],
    /// A test that kills or stops a run with it.
    killed: &'static str,
}

const fn audited(
    line: &'static str,
    twin: &'static str,
    bugs: &'static [&'static str],
    killed: &'static str,
) -> Rows {
    Rows::Audited(Audited { line, twin, bugs, killed })
}

/// Runs with and without options, killed at random moments.
const KILLED: &str = "every_option_killed_a_few_times_ends_as_an_undisturbed_run";
/// Mechanisms, killed at random moments.
const MECHANISMS: &str = "every_mechanism_killed_a_few_times_ends_as_an_undisturbed_one";
/// Commands that spend at once.
const COMMANDS: &str = "a_command_killed_at_any_moment_leaves_no_result_without_its_ledger";

const OUTPUT: Rows = Rows::None("says where what was paid for goes, or how it looks");
const SIZE: Rows = Rows::None(
    "says what is wanted, whatever the rows are; the mechanism pays for what it measures",
);

/// The settings of a job.
const SETTINGS: &[(&str, Rows)] = &[
    (
        "private",
        audited(
            "Parquet",
            "--private private.parquet",
            &["empty-table-refused", "true-number-told"],
            KILLED,
        ),
    ),
    (
        "private-table",
        audited(
            "--counted",
            "synth --private-table people --engine ./engine",
            &["counts-of-a-failed-engine", "engine-told-no-units", "counts-of-other-units"],
            KILLED,
        ),
    ),
    (
        "engine",
        Rows::None("the operator's own program, which reads the table and returns counts (parts)"),
    ),
    ("public", Rows::None("public rows; that they are not the private ones is checked (jobs)")),
    ("schema", Rows::None("the schema is public")),
    ("workload", SIZE),
    ("max-cells", SIZE),
    (
        "counted",
        audited(
            "--counted",
            "--counted",
            &["counted-empty-refused", "counted-units", "counted-twice"],
            KILLED,
        ),
    ),
    (
        "weight",
        audited(
            "--weight",
            "--weight b",
            &[
                "weight-bins-of-private-rows",
                "weight-beyond-the-bins-refused",
                "weights-of-values-above-one",
                "weighted-errors-in-a-smaller-unit",
            ],
            KILLED,
        ),
    ),
    ("totals", Rows::None("public tables; that none is the private one is checked (weights)")),
    (
        "invariants",
        Rows::None("released as it is, which ledger and report say first (weights, planted bugs)"),
    ),
    ("mechanism", Rows::None("each has a line of its own below")),
    ("epsilon", Rows::None("the limit of the ledger: exact, commands")),
    ("delta", Rows::None("the limit of the ledger: exact, commands")),
    (
        "error-share",
        audited(
            "--error-share",
            "--error-share",
            &[
                "share-of-errors-not-set-aside",
                "errors-of-other-records",
                "errors-of-other-weights",
                "records-drawn-anew",
            ],
            KILLED,
        ),
    ),
    (
        "compress",
        audited("--compress", "--compress", &["merging-again", "merging-of-another-share"], KILLED),
    ),
    (
        "neighbors",
        audited(
            "independent",
            "--neighbors add-remove-one",
            &["number-of-records-public", "replaced-record-counts-once"],
            KILLED,
        ),
    ),
    (
        "unit",
        audited(
            "--unit",
            "--unit h",
            &["units-of-any-size", "sealed-without-its-unit", "checkpoint-of-other-units"],
            KILLED,
        ),
    ),
    (
        "max-records",
        audited(
            "--unit",
            "--max-records 3",
            &["units-of-one-more", "unit-counts-as-one-record"],
            KILLED,
        ),
    ),
    (
        "keep",
        audited(
            "--keep hash",
            "synth --keep hash",
            &["hashed-units-of-any-size", "hashed-units-of-one-more", "counts-of-other-units"],
            KILLED,
        ),
    ),
    (
        "unit-columns",
        audited(
            "--unit-columns",
            "--unit-columns a",
            &["missing-units-accepted", "sealed-table-of-another-unit"],
            KILLED,
        ),
    ),
    (
        "members",
        audited(
            "--members",
            "--members b",
            &[
                "members-hidden-as-one",
                "members-beyond-the-most",
                "shared-by-another-unit",
                "tallies-without-noise",
                "tallies-for-half",
            ],
            KILLED,
        ),
    ),
    ("order", audited("--members", "--order a", &["members-in-no-order"], KILLED)),
    (
        "ledger-from",
        audited(
            "ledger-from",
            "--ledger-from",
            &["job-without-its-earlier-ledger", "earlier-ledger-not-counted"],
            KILLED,
        ),
    ),
    (
        "seed",
        audited(
            "independent",
            "--seed 5",
            &["fixed-seed-is-private", "fixed-seed-called-private"],
            KILLED,
        ),
    ),
    ("rows", SIZE),
    ("emit", OUTPUT),
    (
        "complete",
        audited(
            "--error-share",
            "--complete few.csv",
            &["private-rows-completed", "errors-of-other-records"],
            KILLED,
        ),
    ),
    ("keep-columns", OUTPUT),
    ("draw", OUTPUT),
    ("labels", OUTPUT),
    ("tables", audited("--error-share", "--tables 2", &["job-without-a-ledger-on-disk"], KILLED)),
    ("out", OUTPUT),
    ("units-out", OUTPUT),
    ("model", OUTPUT),
    ("measurements", OUTPUT),
    (
        "ledger",
        audited(
            "ledger-from",
            "--ledger ledger.json",
            &["ledger-not-on-disk", "told-before-it-is-on-disk"],
            KILLED,
        ),
    ),
    ("report", OUTPUT),
    (
        "checkpoint",
        audited(
            "resumed independent",
            "--checkpoint state",
            &["checkpoint-not-written", "checkpoint-of-another-table", "file-of-another-time"],
            MECHANISMS,
        ),
    ),
];

/// The flags of commands that read a private table, but those of a job, and of the program itself.
const FLAGS: &[(&str, Rows)] = &[
    (
        "answer --counted",
        audited("answer hdmm", "answer --counted", &["counted-for-another-unit"], COMMANDS),
    ),
    (
        "answer --private-table",
        audited(
            "--counted",
            "answer --private-table people --engine ./engine",
            &["counts-of-a-failed-engine", "engine-told-no-units"],
            COMMANDS,
        ),
    ),
    ("answer --engine", Rows::None("the operator's own program, as of synth")),
    (
        "answer --keep",
        audited("--keep hash", "answer --keep hash", &["hashed-units-of-one-more"], COMMANDS),
    ),
    ("answer --mechanism", Rows::None("each has a line of its own below")),
    ("answer --objective", SIZE),
    ("answer --widest", SIZE),
    ("bins --columns", audited("bins", "bins --out", &["sum-of-cells-counts-twice"], COMMANDS)),
    (
        "bins --categories",
        audited(
            "bins --categories",
            "bins --categories",
            &["threshold-not-applied", "categories-of-all-records"],
            COMMANDS,
        ),
    ),
    ("bins --category-share", Rows::None("divides what is paid; the ledger has the limit")),
    (
        "bins --category-delta",
        audited(
            "bins --categories",
            "bins --categories",
            &["delta-limit-not-enforced", "delta-not-summed"],
            COMMANDS,
        ),
    ),
    ("mixture-error --cells", SIZE),
    (
        "mixture-error --tolerance",
        audited(
            "mixture-error",
            "mixture-error",
            &["mixture-error-with-a-narrow-bracket", "mixture-error-without-bracket"],
            COMMANDS,
        ),
    ),
    (
        "mixture-error --mixture",
        Rows::None("of the exact answer, which says that it is NOT PRIVATE"),
    ),
    ("mixture-error --json", OUTPUT),
    (
        "thresholds --columns",
        audited("thresholds", "thresholds --columns", &["command-without-its-ledger"], COMMANDS),
    ),
    ("thresholds --grid", SIZE),
    ("thresholds --cuts", SIZE),
    (
        "thresholds --class",
        audited(
            "thresholds, half-planes",
            "thresholds --class half-planes",
            &[
                "record-on-both-sides",
                "sides-of-records-that-do-not-count",
                "sides-of-empty-refused",
            ],
            COMMANDS,
        ),
    ),
    (
        "thresholds --question",
        audited(
            "thresholds, boxes",
            "thresholds --class list --question",
            &["ranges-of-half", "listed-queries-doubled"],
            COMMANDS,
        ),
    ),
    (
        "thresholds --release",
        audited("thresholds, boxes", "thresholds --release pmw", &["scores-doubled"], COMMANDS),
    ),
    ("thresholds --rounds", SIZE),
    ("thresholds --confidence", OUTPUT),
    ("trust --cells", SIZE),
    ("trust --mixture-share", audited("trust", "trust", &["trust-of-one-number"], COMMANDS)),
    ("trust --rows", Rows::None("rows of public tables")),
    ("trust --confidence", OUTPUT),
    ("trust --worst", OUTPUT),
    (
        "trust --private-table",
        audited(
            "--counted",
            "trust --private-table people --engine ./engine",
            &["counts-of-a-failed-engine", "engine-told-no-units"],
            COMMANDS,
        ),
    ),
    ("trust --engine", Rows::None("the operator's own program, as of synth")),
    (
        "trust --keep",
        audited("--keep hash", "trust --keep hash", &["hashed-units-of-one-more"], COMMANDS),
    ),
    ("trust --json", OUTPUT),
    ("evaluate", Rows::None("its result says that it is NOT PRIVATE")),
];

/// What a mechanism may ask of the curator, with the bugs that are planted there.
const ACCESSES: &[(&str, &[&str])] = &[
    ("discrete-gaussian marginal", &["gaussian-sigma-halved", "marginal-l2-of-one-cell"]),
    ("discrete-gaussian cell of a marginal", &["no-noise-on-zero", "cell-not-charged"]),
    ("discrete-gaussian number of records", &["total-without-noise", "total-not-charged"]),
    ("discrete-laplace marginal", &["laplace-scale-halved", "laplace-cost-halved"]),
    (
        "joint-discrete-gaussian residuals of marginals",
        &["residuals-with-half-the-sigma", "residuals-not-charged"],
    ),
    ("exponential-mechanism choose a marginal", &["exponent-without-its-two", "score-halved"]),
    ("exponential-mechanism choose a model", &["score-weight-ignored", "scores-doubled"]),
    ("exponential-mechanism choose a query", &["best-always-taken", "cell-error-of-one-record"]),
    (
        "permute-and-flip choose a query",
        &["permute-and-flip-with-doubled-exponent", "permute-and-flip-for-a-quarter"],
    ),
    (
        "exponential-mechanism choose a query with its sign",
        &["draws-all-alike", "draws-for-the-cost-of-one"],
    ),
];

/// Names of tests, in all files of tests.
fn tests() -> String {
    fn read(folder: &Path, all: &mut String) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                read(&path, all);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                all.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    let mut all = String::new();
    read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests"), &mut all);
    all
}

/// What there is to audit with.
struct Means {
    lines: BTreeSet<String>,
    twins: Vec<String>,
    bugs: BTreeSet<&'static str>,
    tests: String,
}

impl Means {
    fn all() -> Self {
        let relations = [
            "--neighbors replace-one",
            "--neighbors add-remove-one",
            "--neighbors add-remove-one --unit h --max-records 3",
        ];
        Self {
            lines: mechanisms::subjects().into_iter().map(|subject| subject.name).collect(),
            twins: relations.iter().flat_map(|relation| twins::commands(relation)).collect(),
            bugs: bugs::all().iter().map(|bug| bug.name).collect(),
            tests: tests(),
        }
    }

    fn check(&self, what: &str, rows: &Rows) {
        let Rows::Audited(Audited { line, twin, bugs, killed }) = rows else {
            let Rows::None(why) = rows else { unreachable!("one or the other") };
            assert!(why.len() > 15, "{what}: why?");
            return;
        };
        assert!(self.lines.contains(*line), "{what}: no line '{line}' in the table");
        let is_twin = |command: &&String| {
            twin.split(' ').all(|word| command.split(' ').any(|own| own == word))
        };
        assert!(
            self.twins.iter().any(|command| is_twin(&command)),
            "{what}: no twin runs '{twin}'"
        );
        assert!(!bugs.is_empty(), "{what}: no planted bug");
        bugs.iter().for_each(|bug| assert!(self.bugs.contains(bug), "{what}: no bug '{bug}'"));
        assert!(self.tests.contains(&format!("fn {killed}()")), "{what}: no test '{killed}'");
    }
}

fn listed(list: &'static [(&'static str, Rows)]) -> BTreeMap<&'static str, &'static Rows> {
    let map: BTreeMap<_, _> = list.iter().map(|(name, rows)| (*name, rows)).collect();
    assert_eq!(map.len(), list.len(), "one is listed twice");
    map
}

#[test]
fn every_setting_of_a_job_is_audited_or_does_nothing_with_private_rows() {
    let (means, listed) = (Means::all(), listed(SETTINGS));
    let settings: BTreeSet<String> = Job::SETTINGS.iter().map(Setting::name).collect();
    let names: BTreeSet<String> = listed.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(settings, names, "list the setting here, with its audit");
    listed.iter().for_each(|(name, rows)| means.check(name, rows));
}

/// The flags in a command's help.
fn flags(command: &str) -> BTreeSet<String> {
    let output =
        Command::new(env!("CARGO_BIN_EXE_jointly")).args([command, "--help"]).output().unwrap();
    let help = String::from_utf8(output.stdout).unwrap();
    let lines = help.lines().map(str::trim_start);
    let flags =
        lines.filter(|line| line.starts_with('-')).filter_map(|line| line.split("--").nth(1));
    flags.map(|flag| flag.split([' ', ',', '=']).next().unwrap().to_owned()).collect()
}

#[test]
fn every_flag_of_a_command_that_reads_a_private_table_is_audited_or_does_nothing_with_it() {
    let (means, listed) = (Means::all(), listed(FLAGS));
    listed.iter().for_each(|(name, rows)| means.check(name, rows));
    let help = Command::new(env!("CARGO_BIN_EXE_jointly")).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let commands: Vec<&str> = commands.filter_map(|line| line.split_whitespace().next()).collect();
    assert!(commands.contains(&"synth") && commands.contains(&"bins"), "{commands:?}");
    let of_job: BTreeSet<String> = Job::SETTINGS.iter().map(Setting::name).collect();
    let of_program = flags("budget");
    let mut found = BTreeSet::new();
    for command in commands
        .into_iter()
        .filter(|command| command.chars().all(|c| c.is_ascii_lowercase() || c == '-'))
    {
        let own = flags(command);
        if !own.contains("private") || command == "synth" {
            continue;
        }
        if command == "evaluate" {
            found.insert(command.to_owned());
            continue;
        }
        let is_general = |flag: &&String| of_job.contains(*flag) || of_program.contains(*flag);
        // A flag of a job is listed there, but where a command gives it another meaning.
        let named = own.iter().filter(|flag| {
            !is_general(flag) || listed.contains_key(&*format!("{command} --{flag}"))
        });
        found.extend(named.map(|flag| format!("{command} --{flag}")));
    }
    let names: BTreeSet<String> = listed.keys().map(|name| (*name).to_owned()).collect();
    assert_eq!(found, names, "list the flag here, with its audit");
}

/// What runs of a mechanism and of its variants ask of their curator: kinds of noise, and purposes without names of attributes.
fn accesses(name: &str) -> BTreeSet<String> {
    let domain = Domain::new([("a", 2), ("b", 3)]).unwrap();
    let rows: Vec<[u32; 2]> = (0..60).map(|i| [i % 2, i % 3]).collect();
    let private = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let public = PublicData::new("near", private.clone(), &domain).unwrap();
    let (workload, public) = (Workload::all_k_way(&domain, 2).unwrap(), [public]);
    let (entry, relation) = (find(name).unwrap(), NeighboringRelation::AddRemoveOne);
    let mut found = BTreeSet::new();
    for given in mechanisms::variants(entry) {
        let is_pure = given.get("noise").is_some_and(|noise| noise == "laplace");
        let budget = if is_pure { Budget::pure(4.0) } else { Budget::approximate(4.0, 1e-6) };
        let mut curator = budget.unwrap().curator(&private, relation, NoiseSeed::Fixed(1)).unwrap();
        let mechanism = entry.build(&given).unwrap();
        let task = Task::new(&workload, &public);
        let release = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
        let ledger = serde_json::to_value(&release.ledger).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let entries = ledger["entries"].as_array().unwrap().iter();
        let access = |entry: &Value| {
            format!("{} {}", text(&entry["mechanism"]["kind"]), text(&entry["purpose"]))
        };
        found.extend(entries.map(access));
    }
    found
}

#[test]
fn every_mechanism_is_audited_and_asks_for_nothing_without_planted_bugs() {
    let means = Means::all();
    let known: BTreeMap<&str, &[&str]> = ACCESSES.iter().copied().collect();
    let mut asked = BTreeSet::new();
    for entry in CATALOGUE.iter().filter(|entry| entry.spends) {
        let name = entry.name;
        let line = means.lines.iter().find(|line| line.split([',', ' ']).next() == Some(name));
        assert!(line.is_some(), "{name}: no line in the table");
        let twin = format!("--mechanism {name} ");
        assert!(means.twins.iter().any(|command| command.contains(&twin)), "{name}: no twin");
        for access in accesses(name) {
            let bugs = known.get(&*access);
            let bugs = bugs.unwrap_or_else(|| panic!("{name}: no planted bug for '{access}'"));
            bugs.iter().for_each(|bug| assert!(means.bugs.contains(bug), "{name}: no bug '{bug}'"));
            asked.insert(access);
        }
    }
    let unasked: Vec<&&str> = known.keys().filter(|access| !asked.contains(**access)).collect();
    assert!(unasked.is_empty(), "no mechanism asks for {unasked:?}; they ask for {asked:?}");
    assert!(means.tests.contains(&format!("fn {MECHANISMS}()")));
}

/// A planted bug whose text is gone would be found by the kill matrix, minutes later.
#[test]
fn every_planted_bug_can_be_planted_and_names_the_tests_that_see_it() {
    let (root, tests) = (Path::new(env!("CARGO_MANIFEST_DIR")), tests());
    for bug in bugs::all() {
        let place = |file: &str| match file.strip_prefix("privacy/") {
            Some(file) => root.join("crates/privacy/src").join(file),
            None => root.join("src").join(file),
        };
        for (file, from, _) in bug.patches {
            let text = fs::read_to_string(place(file)).unwrap();
            assert_eq!(text.matches(from).count(), 1, "{}: {from} in {file}", bug.name);
        }
        assert!(bug.patches.iter().any(|(.., to)| to.contains("BUG")), "{}: always on", bug.name);
        let name = bug.by.rsplit("::").next().unwrap();
        let is_there = bug.by.starts_with("privacy: ") || tests.contains(&format!("fn {name}"));
        assert!(is_there && bug.what.len() > 10, "{}: seen by no test '{}'", bug.name, bug.by);
    }
}
