//! Checkpoints: an interrupted run resumes as if nothing had happened, and never pays twice.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use std::fmt::Write;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use jointly::data::Dataset;
use jointly::domain::Clique;
use jointly::estimation::Weighting;
use jointly::measurement::Provenance;
use jointly::mechanism::{
    Aim, AnchorPgm, Chooser, Contradicted, DualQuery, Fem, Gain, Gem, GemPub, Ide, Independent,
    Iterate, JamPgm, Latents, Leftover, Loss, Mechanism, Mst, Mwem, MwemPgm, NeuralFit, Pep,
    PepPub, PmwPub, Queries, QueryRelease, Rap, RapSoftmax, Repeats, Reuse, RowFit, Shrinkage,
    Task,
};
use jointly::observe::{Event, Observer, Silent};
use jointly::privacy::{
    Curator, Ledger, LedgerFile, NeighboringRelation, NoiseMechanism, NoiseSeed,
};
use jointly::query::Workload;
use jointly::{Error, PrivacyError, Result};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::support::{NAMES, Run, budget, bytes, jam, people, select, turned_round};

const ROUNDS: u32 = 6;
const FILE: &str = "checkpoint.json";

fn run() -> Run {
    let (private, near) = (people(1500, 1, 0.0), people(1000, 2, 0.3));
    Run::new(&private, &[("near", &near)])
}

/// The run that keeps its state in a folder.
fn kept(run: &Run, folder: &Path) -> Run {
    Run { checkpoint: Some((folder.to_owned(), "people, seed 1")), ..run.clone() }
}

/// The run without a checkpoint.
fn undisturbed(run: &Run) -> Run {
    Run { checkpoint: None, ..run.clone() }
}

/// Stops a run at an event by unwinding, without a message.
struct StopAt {
    round: u32,
    kind: &'static str,
}

fn kind(event: &Event) -> (&'static str, u32) {
    match event {
        Event::FittingPublicTables { .. } => ("fitting-public-tables", 0),
        Event::Started { .. } => ("started", 0),
        Event::Scored { round, .. } => ("scored", *round),
        Event::Measured { round, .. } => ("measured", *round),
        Event::Fitted { round, .. } => ("fitted", *round),
        Event::Certified { .. } => ("certified", 0),
        other => panic!("an event that this test does not know: {other:?}"),
    }
}

impl Observer for StopAt {
    fn event(&mut self, event: &Event) {
        if kind(event) == (self.kind, self.round) {
            resume_unwind(Box::new("stopped"));
        }
    }
}

fn stop(run: &Run, mechanism: &dyn Mechanism, kind: &'static str, round: u32) {
    let mut observer = StopAt { round, kind };
    let stopped = catch_unwind(AssertUnwindSafe(|| run.with(mechanism, &mut observer).map(drop)));
    assert!(stopped.is_err(), "the run was not stopped at {kind} {round}");
}

#[test]
fn a_run_stopped_anywhere_goes_on_to_the_very_same_release() {
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        let run = Run { relation, ..run() };
        let expected = bytes(&run.release(&jam(ROUNDS)));
        let mut places = vec![("started", 0)];
        for round in 1..=ROUNDS {
            places.extend(["scored", "measured", "fitted"].map(|kind| (kind, round)));
        }
        for (kind, round) in places {
            let folder = tempfile::tempdir().unwrap();
            let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
            stop(&run, &mechanism, kind, round);
            assert_eq!(bytes(&run.release(&mechanism)), expected, "{relation}, {kind} {round}");
        }
    }
}

/// A mechanism other than JAM-PGM.
type Make = fn() -> Box<dyn Mechanism>;

const OTHERS: [Make; 19] = [
    || Box::new(AnchorPgm { rounds: Some(9), iterations: 200, ..AnchorPgm::default() }),
    || {
        let chooser = Chooser::Alone;
        Box::new(AnchorPgm { rounds: Some(9), iterations: 200, chooser, ..AnchorPgm::default() })
    },
    || Box::new(Aim { rounds: Some(9), iterations: 200, ..Aim::default() }),
    || {
        let (score, shrinkage) = (Gain::Shrunk, Shrinkage::JamesStein);
        Box::new(Aim { rounds: Some(9), iterations: 200, score, shrinkage, ..Aim::default() })
    },
    || {
        let (weighting, leftover) = (Weighting::InverseVariance, Leftover::Spend);
        Box::new(JamPgm { weighting, leftover, contradicted: Contradicted::Drop, ..jam(ROUNDS) })
    },
    || Box::new(Mst { iterations: 200, ..Mst::default() }),
    || Box::new(MwemPgm { iterations: 200, ..MwemPgm::default() }),
    || Box::new(Independent { iterations: 200, ..Independent::default() }),
    || {
        let release = QueryRelease::new(ROUNDS, Queries::Single);
        Box::new(Mwem { release, reuse: Reuse::Own, repeats: Repeats::Excluded })
    },
    || {
        let rounds = QueryRelease::new(ROUNDS, Queries::Marginals);
        Box::new(PmwPub {
            release: QueryRelease { iterate: Iterate::Average, per_round: 2, ..rounds },
            ..PmwPub::default()
        })
    },
    || {
        Box::new(Pep {
            release: QueryRelease::new(ROUNDS, Queries::Marginals),
            projections: 5,
            tolerance: 0.01,
        })
    },
    || {
        Box::new(PepPub {
            release: QueryRelease::new(ROUNDS, Queries::Single),
            projections: 5,
            tolerance: 0.0,
        })
    },
    || Box::new(Gem { release: QueryRelease::new(ROUNDS, Queries::Marginals), network: small() }),
    || {
        let release = QueryRelease { iterate: Iterate::Average, ..two_a_round() };
        let latents = Latents::Fresh;
        let network = NeuralFit { latents, loss: Loss::L1, ..small() };
        Box::new(GemPub { release, network, pretrain_steps: 3 })
    },
    || {
        let release = QueryRelease { iterate: Iterate::Average, ..two_a_round() };
        Box::new(RapSoftmax { release, rows: rows(5, 60, 0.1) })
    },
    || Box::new(Rap { release: two_a_round(), rows: rows(5, 3, 0.01) }),
    || Box::new(Fem { rounds: ROUNDS, samples: 7, ..Fem::default() }),
    || Box::new(DualQuery { rounds: Some(ROUNDS), ..DualQuery::default() }),
    || {
        let (groups, noise_to_count) = (vec![NAMES[0].to_owned()], 1e9);
        Box::new(Ide { groups, noise_to_count, ..Ide::default() })
    },
];

/// A network that is trained in no time.
fn small() -> NeuralFit {
    NeuralFit { hidden: vec![6, 5], embedding: 4, components: 8, steps: 3, ..NeuralFit::default() }
}

fn rows(components: u32, steps: u32, learning_rate: f64) -> RowFit {
    RowFit { components, steps, learning_rate }
}

fn two_a_round() -> QueryRelease {
    QueryRelease { per_round: 2, ..QueryRelease::new(ROUNDS, Queries::Single) }
}

/// The event that follows when a round is durable: some mechanisms measure nothing.
fn durable(mechanism: &dyn Mechanism) -> &'static str {
    if ["fem", "dual-query"].contains(&mechanism.name()) { "fitted" } else { "measured" }
}

#[test]
fn every_mechanism_stopped_anywhere_goes_on_to_the_very_same_release() {
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        let run = Run { relation, epsilon: 3.0, ..run() };
        for make in OTHERS {
            let mechanism = make();
            let mut seen = crate::support::Recorder::default();
            let expected = bytes(&run.with(&*mechanism, &mut seen).unwrap());
            for (kind, round) in seen.0.iter().map(kind) {
                let folder = tempfile::tempdir().unwrap();
                let run = kept(&run, folder.path());
                stop(&run, &*mechanism, kind, round);
                let place = format!("{}, {relation}, {kind} {round}", mechanism.name());
                assert_eq!(bytes(&run.release(&*mechanism)), expected, "{place}");
                // A finished run is not run again.
                assert_eq!(bytes(&run.release(&*mechanism)), expected, "{place}, again");
            }
        }
    }
}

#[test]
fn noise_from_the_system_is_paid_once_by_every_mechanism() {
    let run = Run { seed: NoiseSeed::System, ..run() };
    for make in OTHERS {
        for round in [1, 2, 5, 6] {
            let folder = tempfile::tempdir().unwrap();
            let (mechanism, run) = (make(), kept(&run, folder.path()));
            stop(&run, &*mechanism, durable(&*mechanism), round);
            let before = ledger(folder.path()).unwrap();
            let release = run.release(&*mechanism);
            assert_eq!(release.ledger.spent(), budget(1.0), "{}", mechanism.name());
            assert_eq!(&release.ledger.entries()[..before.entries().len()], before.entries());
        }
    }
}

/// The budget, the size limit that grows with it, and the noise are those of what is left.
#[test]
fn a_run_after_an_earlier_ledger_is_the_run_with_what_that_leaves() {
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        let run = Run { relation, epsilon: 3.0, ..run() };
        let (limit, before) = (budget(run.epsilon), budget(2.0));
        let whole = limit.checked_add(before).unwrap();
        let mut first = Curator::new(&run.private, relation, before, run.seed).unwrap();
        first.measure(&Clique::new([0]), before).unwrap();
        let task = Task::new(&run.workload, &run.public);
        let tight: Make = || {
            let size_limit_mib = 0.002;
            Box::new(JamPgm { rounds: Some(ROUNDS), size_limit_mib, ..jam(ROUNDS) })
        };
        for make in OTHERS.into_iter().chain([tight]) {
            let mechanism = make();
            let alone = run.release(&*mechanism);
            let mut curator = Curator::new(&run.private, relation, whole, run.seed).unwrap();
            curator.charge_earlier(&LedgerFile::new("first", None, &first)).unwrap();
            let after = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
            assert_eq!(after.measurements, alone.measurements, "{}, {relation}", mechanism.name());
            assert_eq!(after.rounds, alone.rounds, "{}, {relation}", mechanism.name());
            let spent = alone.ledger.spent().checked_add(before).unwrap();
            assert_eq!(after.ledger.spent(), spent, "{}, {relation}", mechanism.name());
        }
    }
}

#[test]
fn a_checkpoint_of_another_mechanism_is_refused() {
    let run = run();
    for (i, make) in OTHERS.iter().enumerate() {
        let folder = tempfile::tempdir().unwrap();
        let run = kept(&run, folder.path());
        stop(&run, &*make(), durable(&*make()), 2);
        let other = OTHERS[(i + 1) % OTHERS.len()]();
        let file = folder.path().join(FILE);
        assert_refused(run.with(&*other, &mut Silent), &file, other.name());
    }
}

#[test]
fn a_run_stopped_in_every_round_goes_on_to_the_very_same_release() {
    let run = run();
    let folder = tempfile::tempdir().unwrap();
    let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
    for round in 1..=ROUNDS {
        stop(&run, &mechanism, "scored", round);
        stop(&run, &mechanism, "measured", round);
    }
    let release = run.release(&mechanism);
    assert_eq!(bytes(&release), bytes(&undisturbed(&run).release(&mechanism)));
    // A finished run is not run again.
    assert_eq!(bytes(&run.release(&mechanism)), bytes(&release));
    assert_eq!(ledger(folder.path()).unwrap(), release.ledger);
}

#[test]
fn a_resumed_run_says_in_which_round_it_begins() {
    let run = run();
    let folder = tempfile::tempdir().unwrap();
    let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
    stop(&run, &mechanism, "fitted", 3);
    let mut seen = crate::support::Recorder::default();
    run.with(&mechanism, &mut seen).unwrap();
    assert!(matches!(seen.0[0], Event::Started { first_round: 4, rounds: ROUNDS, .. }));
}

#[test]
fn noise_from_the_system_is_drawn_anew_and_the_budget_is_still_spent_once() {
    let run = Run { seed: NoiseSeed::System, public: Vec::new(), ..run() };
    for round in 1..=ROUNDS {
        let folder = tempfile::tempdir().unwrap();
        let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
        stop(&run, &mechanism, "scored", round);
        let before = ledger(folder.path());
        let release = run.release(&mechanism);
        assert_eq!(release.ledger.spent(), budget(1.0));
        let kept = before.map_or(0, |before| {
            assert_eq!(&release.ledger.entries()[..before.entries().len()], before.entries());
            before.entries().len()
        });
        assert_eq!(kept, 2 * (round as usize - 1));
    }
}

/// The ledger on disk; `None` before the first entry.
fn ledger(folder: &Path) -> Option<Ledger> {
    stored(folder).map(|stored| serde_json::from_value(stored["ledger"].clone()).unwrap())
}

fn stored(folder: &Path) -> Option<Value> {
    let text = fs::read_to_string(folder.join(FILE)).ok()?;
    Some(serde_json::from_str(&text).unwrap())
}

/// The step "rounds" of a run that has no others.
fn rounds(stored: &Value) -> &Value {
    let step = &stored["steps"][0];
    assert_eq!((&step["step"], &stored["steps"][1]), (&"rounds".into(), &Value::Null));
    &step["value"]
}

/// At every event, compares the checkpoint on disk with what the event says.
struct Watch {
    folder: PathBuf,
    measured: u32,
}

impl Observer for Watch {
    fn event(&mut self, event: &Event) {
        let stored = stored(&self.folder);
        let list = |name: &str| {
            stored.as_ref().map_or(Vec::new(), |s| rounds(s)[name].as_array().unwrap().clone())
        };
        let ledger = ledger(&self.folder);
        let entries = ledger.as_ref().map_or(&[][..], |ledger| ledger.entries());
        if let Event::Measured { round, spent, limit, .. } = event {
            // Durable before it is reported.
            let ledger = ledger.as_ref().unwrap();
            assert_eq!((ledger.spent(), ledger.limit()), (*spent, *limit));
            self.measured = *round;
        }
        assert_eq!(list("measurements").len(), self.measured as usize);
        assert_eq!(list("rounds").len(), self.measured as usize);
        // Every number from private rows is paid for: a choice and, where it was private, a measurement.
        for (round, m) in (1..=self.measured).zip(list("measurements")) {
            let provenance: Provenance = serde_json::from_value(m["provenance"].clone()).unwrap();
            let of_round = entries.iter().filter(|e| e.round == round);
            let expected = 1 + usize::from(provenance == Provenance::Private);
            assert_eq!(of_round.count(), expected, "round {round}");
        }
        assert!(entries.iter().all(|e| e.round <= self.measured));
        let has_total = stored.is_some_and(|stored| !rounds(&stored)["total"].is_null());
        assert_eq!(has_total, entries.iter().any(|e| e.round == 0));
    }
}

#[test]
fn nothing_from_private_rows_is_on_disk_before_its_ledger_entry_or_told_before_it_is_on_disk() {
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        let folder = tempfile::tempdir().unwrap();
        let run = kept(&Run { relation, ..run() }, folder.path());
        let mut watch = Watch { folder: folder.path().into(), measured: 0 };
        let release = run.with(&jam(ROUNDS), &mut watch).unwrap();
        assert_eq!(watch.measured, ROUNDS);
        assert_eq!(ledger(folder.path()).unwrap(), release.ledger);
        let noisy = |e: &&jointly::privacy::LedgerEntry| {
            matches!(e.mechanism, NoiseMechanism::DiscreteGaussian { .. })
        };
        assert!(release.ledger.entries().iter().any(|e| noisy(&e)));
    }
}

fn assert_refused(result: Result<jointly::mechanism::Release>, file: &Path, what: &str) -> String {
    let error = result.map(drop).unwrap_err();
    assert!(matches!(error, Error::Privacy(PrivacyError::Checkpoint { .. })), "{what}: {error}");
    let message = error.to_string();
    assert!(message.contains(file.to_str().unwrap()), "{what}: {message}");
    message
}

#[test]
fn a_checkpoint_of_other_inputs_is_refused() {
    let run = run();
    let folder = tempfile::tempdir().unwrap();
    let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
    stop(&run, &mechanism, "measured", 3);
    let file = folder.path().join(FILE);
    let before = fs::read(&file).unwrap();
    let (private, near) = (run.private.clone(), people(1000, 2, 0.1));
    let public = |tables: &[(&str, &Dataset)]| Run::new(&private, tables).public;
    let domain = private.domain();
    let pairs = Workload::all_k_way(domain, 2).unwrap();
    let five = select(&private, &["SEX", "SCH", "MAR", "ESR", "PRIVCOV"]);
    let inputs = [
        ("epsilon", Run { epsilon: 2.0, ..run.clone() }),
        ("workload", Run { workload: pairs, ..run.clone() }),
        ("seed", Run { seed: NoiseSeed::Fixed(2), ..run.clone() }),
        ("no seed", Run { seed: NoiseSeed::System, ..run.clone() }),
        ("relation", Run { relation: NeighboringRelation::AddRemoveOne, ..run.clone() }),
        ("no public table", Run { public: Vec::new(), ..run.clone() }),
        ("public name", Run { public: public(&[("other", &near)]), ..run.clone() }),
        ("public rows", Run { public: public(&[("near", &turned_round(&near))]), ..run.clone() }),
        ("two public", Run { public: public(&[("near", &near), ("b", &near)]), ..run.clone() }),
        ("domain", kept(&Run::new(&five, &[("near", &near)]), folder.path())),
    ];
    for (what, other) in inputs {
        assert_refused(other.with(&mechanism, &mut Silent), &file, what);
    }
    let checkpoint = Some((folder.path().to_owned(), "another table"));
    let other_label = Run { checkpoint, ..run.clone() };
    assert_refused(other_label.with(&mechanism, &mut Silent), &file, "label");
    let parameters = [
        ("rounds", JamPgm { rounds: Some(7), ..mechanism.clone() }),
        ("default rounds", JamPgm { rounds: None, ..mechanism.clone() }),
        ("share", JamPgm { measure_share: 0.7, ..mechanism.clone() }),
        ("size limit", JamPgm { size_limit_mib: 70.0, ..mechanism.clone() }),
        ("iterations", JamPgm { iterations: 201, ..mechanism.clone() }),
    ];
    for (what, other) in parameters {
        assert_refused(run.with(&other, &mut Silent), &file, what);
    }
    // Refusals change nothing on disk, and the right inputs still go on.
    assert_eq!(fs::read(&file).unwrap(), before);
    assert_eq!(bytes(&run.release(&mechanism)), bytes(&undisturbed(&run).release(&mechanism)));
}

/// A checkpoint with the checksum of its contents, in the form in which it is written.
pub(crate) fn sealed(mut stored: Value) -> Vec<u8> {
    let members = stored.as_object_mut().unwrap();
    let version = members.remove("version").unwrap();
    members.remove("checksum");
    let text = stored.to_string();
    let rest = &text[1..];
    let checksum = Sha256::digest(rest).iter().fold(String::new(), |mut hex, byte| {
        write!(hex, "{byte:02x}").unwrap();
        hex
    });
    format!("{{\"version\":{version},\"checksum\":\"{checksum}\",{rest}").into_bytes()
}

/// What is done to a stored checkpoint.
type Change<'a> = &'a dyn Fn(&mut Value);

#[test]
fn a_damaged_or_newer_checkpoint_is_refused() {
    let run = run();
    let folder = tempfile::tempdir().unwrap();
    let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
    stop(&run, &mechanism, "measured", 3);
    let file = folder.path().join(FILE);
    let good = fs::read(&file).unwrap();
    let try_with = |content: &[u8], what: &str| {
        fs::write(&file, content).unwrap();
        assert_refused(run.with(&mechanism, &mut Silent), &file, what)
    };
    for length in [0, 1, good.len() / 3, good.len() - 1] {
        try_with(&good[..length], "truncated");
    }
    try_with(b"\xff\xfe not text", "garbled");
    try_with(b"[]", "no object");
    let newer = br#"{"version": 6, "everything": "different"}"#;
    assert!(try_with(newer, "newer").contains("version 6, expected 5"));
    let older = br#"{"version": 4, "everything": "different"}"#;
    assert!(try_with(older, "older").contains("version 4, expected 5"));
    // Damage that the checksum would find first, were it not computed anew.
    let changes: [(&str, Change); 13] = [
        ("a cell less", &|s| drop(s["measurements"][0]["values"].as_array_mut().unwrap().pop())),
        ("an attribute outside", &|s| {
            s["measurements"][0]["clique"] = serde_json::json!([99]);
        }),
        ("a measurement less", &|s| drop(s["measurements"].as_array_mut().unwrap().pop())),
        ("a round less", &|s| {
            s["measurements"].as_array_mut().unwrap().pop();
            s["rounds"].as_array_mut().unwrap().pop();
        }),
        ("a round number", &|s| s["rounds"][2]["round"] = 5.into()),
        ("potentials outside", &|s| s["state"]["value"][0][0] = serde_json::json!([99])),
        ("potentials not measured", &|s| {
            s["state"]["value"][0] = serde_json::json!([[0, 1, 2, 3, 4, 5], vec![0.0; 2000]]);
        }),
        ("a potential less", &|s| drop(s["state"]["value"][0][1].as_array_mut().unwrap().pop())),
        ("potentials twice", &|s| {
            let first = s["state"]["value"][0].clone();
            s["state"]["value"].as_array_mut().unwrap().push(first);
        }),
        ("a state of another kind", &|s| s["state"]["kind"] = "weights".into()),
        ("a newer state", &|s| s["state"]["version"] = 2.into()),
        ("a choice less", &|s| drop(s["rounds"][0]["choices"].as_array_mut().unwrap().pop())),
        ("an unpaid total", &|s| s["total"] = 1500.0.into()),
    ];
    for (what, change) in changes {
        let mut stored: Value = serde_json::from_slice(&good).unwrap();
        change(&mut stored["steps"][0]["value"]);
        let message = try_with(&sealed(stored.clone()), what);
        assert!(!message.contains("checksum"), "{what}: {message}");
        let message = try_with(&serde_json::to_vec(&stored).unwrap(), what);
        assert!(message.ends_with("its checksum does not match, it was changed or damaged"));
    }
    let steps: [(&str, Change); 6] = [
        ("an input", &|s| s["steps"][0]["inputs"]["workload"] = "00".into()),
        ("another step", &|s| s["steps"][0]["step"] = "merging".into()),
        ("a step before it", &|s| {
            let step = s["steps"][0].clone();
            s["steps"].as_array_mut().unwrap().insert(0, step);
        }),
        ("an entry of no step", &|s| {
            let last = s["steps"][0]["entries"]["end"].as_u64().unwrap() - 1;
            s["steps"][0]["entries"]["end"] = last.into();
        }),
        ("an entry of an earlier ledger", &|s| s["steps"][0]["entries"]["start"] = 1.into()),
        ("entries that are not there", &|s| s["steps"][0]["entries"]["end"] = 1000.into()),
    ];
    for (what, change) in steps {
        let mut stored: Value = serde_json::from_slice(&good).unwrap();
        change(&mut stored);
        try_with(&sealed(stored), what);
    }
    // Entries taken off the ledger, which would give their budget back.
    let mut stored: Value = serde_json::from_slice(&good).unwrap();
    let cut: Ledger = serde_json::from_value(stored["ledger"].clone()).unwrap();
    stored["ledger"] = serde_json::to_value(Ledger::new(cut.limit())).unwrap();
    try_with(&sealed(stored), "an empty ledger");
    fs::write(&file, &good).unwrap();
    assert_eq!(bytes(&run.release(&mechanism)), bytes(&undisturbed(&run).release(&mechanism)));
}

#[test]
fn what_a_killed_write_leaves_behind_does_no_harm() {
    let run = run();
    let folder = tempfile::tempdir().unwrap();
    let (mechanism, run) = (jam(ROUNDS), kept(&run, folder.path()));
    stop(&run, &mechanism, "measured", 2);
    fs::write(folder.path().join(".checkpoint.json.x.tmp"), "{\"version\": 3, \"check").unwrap();
    assert_eq!(bytes(&run.release(&mechanism)), bytes(&undisturbed(&run).release(&mechanism)));
}

/// Set in the child processes of the test below: the checkpoint's folder.
const CHILD: &str = "JOINTLY_TEST_CHECKPOINT";
/// Set to anything in children whose noise comes from the system.
const SYSTEM_NOISE: &str = "JOINTLY_TEST_SYSTEM_NOISE";
/// More rounds than elsewhere, so that a kill has many places to hit.
const KILLED_ROUNDS: u32 = 20;

/// What the children run, and their parent afterwards.
fn killed_run(system_noise: bool) -> Run {
    if system_noise {
        return Run { seed: NoiseSeed::System, public: Vec::new(), ..run() };
    }
    run()
}

/// No test by itself: what the test below starts and kills.
#[test]
fn child_of_the_killing_test() {
    let Some(folder) = std::env::var_os(CHILD) else { return };
    let run = killed_run(std::env::var_os(SYSTEM_NOISE).is_some());
    kept(&run, Path::new(&folder)).release(&jam(KILLED_ROUNDS));
}

/// Starts the run in another process.
fn child(folder: &Path, system_noise: bool) -> std::process::Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "checkpoints::child_of_the_killing_test"]).env(CHILD, folder);
    if system_noise {
        command.env(SYSTEM_NOISE, "1");
    }
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Kills a child, without a chance to clean up, after a share of the time that a whole run takes; whether it was cut
/// short between its first and its last round.
fn kill_at(share: f64, whole: Duration, folder: &Path, system_noise: bool) -> bool {
    let mut process = child(folder, system_noise);
    std::thread::sleep(whole.mul_f64(share));
    process.kill().unwrap();
    process.wait().unwrap();
    let done = ledger(folder).map_or(0, |ledger| ledger.entries().last().unwrap().round);
    (1..KILLED_ROUNDS).contains(&done)
}

#[test]
fn a_run_killed_at_random_moments_ends_as_an_undisturbed_one() {
    let folder = tempfile::tempdir().unwrap();
    let start = Instant::now();
    assert!(child(folder.path(), false).wait().unwrap().success());
    let whole = start.elapsed();
    let run = killed_run(false);
    let undisturbed = run.release(&jam(KILLED_ROUNDS));
    assert_eq!(ledger(folder.path()).unwrap(), undisturbed.ledger);
    let expected = bytes(&undisturbed);
    let mut draw = ChaCha20Rng::seed_from_u64(11);
    let mut cut = 0;
    for kill in 0..20 {
        let folder = tempfile::tempdir().unwrap();
        cut += u32::from(kill_at(draw.random(), whole, folder.path(), false));
        if kill % 4 == 0 {
            // Killed again after it resumed.
            kill_at(draw.random(), whole, folder.path(), false);
        }
        let release = kept(&run, folder.path()).release(&jam(KILLED_ROUNDS));
        assert_eq!(release.ledger.spent(), undisturbed.ledger.spent(), "kill {kill}");
        assert_eq!(bytes(&release), expected, "kill {kill}");
    }
    eprintln!("a run takes {whole:?}; {cut} of 20 kills hit between the first and the last round");
    assert!(cut >= 3, "only {cut} kills hit a run under way");
    // The same with noise that nobody knows: all that is asked is spent, and nothing twice.
    let run = killed_run(true);
    for kill in 0..6 {
        let folder = tempfile::tempdir().unwrap();
        kill_at(draw.random(), whole, folder.path(), true);
        let before = ledger(folder.path());
        let release = kept(&run, folder.path()).release(&jam(KILLED_ROUNDS));
        assert_eq!(release.ledger.spent(), budget(1.0), "system noise, kill {kill}");
        assert_eq!(release.ledger.entries().len(), 2 * KILLED_ROUNDS as usize);
        if let Some(before) = before {
            assert_eq!(&release.ledger.entries()[..before.entries().len()], before.entries());
        }
    }
}

#[test]
fn two_runs_over_one_checkpoint_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let other = fs::File::create(folder.path().join("lock")).unwrap();
    other.lock().unwrap();
    let (mechanism, run) = (jam(2), kept(&run(), folder.path()));
    let error = run.with(&mechanism, &mut Silent).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Privacy(PrivacyError::Checkpoint { .. })), "{error}");
    assert!(error.to_string().contains("another run"), "{error}");
    drop(other);
    run.release(&mechanism);
}
