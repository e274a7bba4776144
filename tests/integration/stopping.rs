//! Observers that stop a run: nothing is paid twice, and the ledger says what is gone.

use std::fmt::Write as _;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use jointly::mechanism::{
    Aim, AnchorPgm, DualQuery, GemPub, JamPgm, Mechanism, Mst, NeuralFit, PmwPub, Queries,
    QueryRelease,
};
use jointly::observe::{Event, Notice, Observer};
use jointly::privacy::{LedgerFile, Rho};
use jointly::{Error, Job};

use crate::support::{Run, bytes, jam, people};

/// Stops at one of its checks, and remembers what was shown.
#[derive(Default)]
struct StopAt {
    checks: u64,
    stop: Option<u64>,
    shown: Rho,
    /// What the run said it had spent when it failed.
    lost: Rho,
}

impl Observer for StopAt {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Measured { spent, .. } => self.shown = *spent,
            Event::Notice(Notice::SpentBeforeFailure { spent, ledger, .. }) => {
                assert!(ledger.is_some());
                self.lost = *spent;
            }
            _ => {}
        }
    }

    fn check(&mut self) -> ControlFlow<()> {
        self.checks += 1;
        if self.stop == Some(self.checks) {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn run() -> Run {
    let (private, near) = (people(1500, 1, 0.0), people(1000, 2, 0.1));
    Run::new(&private, &[("near", &near)])
}

fn kept(run: &Run, folder: &Path) -> Run {
    Run { checkpoint: Some((folder.to_owned(), "people")), ..run.clone() }
}

/// A run may stop at any check. This many of them, evenly spread, are tried.
const TRIED: u64 = 10;

#[test]
fn a_run_stopped_at_any_check_resumes_to_the_same_release() {
    let small = NeuralFit {
        hidden: vec![6, 5],
        embedding: 4,
        components: 8,
        steps: 3,
        ..NeuralFit::default()
    };
    let release = QueryRelease::new(4, Queries::Single);
    let mechanisms: [Box<dyn Mechanism>; 7] = [
        Box::new(jam(4)),
        Box::new(AnchorPgm { rounds: Some(14), iterations: 60, ..AnchorPgm::default() }),
        Box::new(Aim { rounds: Some(14), iterations: 60, ..Aim::default() }),
        Box::new(Mst { iterations: 60, ..Mst::default() }),
        Box::new(GemPub { network: small, release, pretrain_steps: 3 }),
        Box::new(PmwPub { release, ..PmwPub::default() }),
        Box::new(DualQuery { rounds: Some(4), ..DualQuery::default() }),
    ];
    let run = run();
    for mechanism in mechanisms {
        let name = mechanism.name();
        let mut all = StopAt::default();
        let expected = bytes(&run.with(&*mechanism, &mut all).unwrap());
        assert!(all.checks > 4, "{name}: {} checks", all.checks);
        for stop in (1..=all.checks).step_by(all.checks.div_ceil(TRIED).try_into().unwrap()) {
            let folder = tempfile::tempdir().unwrap();
            let run = kept(&run, folder.path());
            let mut observer = StopAt { stop: Some(stop), ..StopAt::default() };
            let stopped = run.with(&*mechanism, &mut observer);
            assert!(
                matches!(stopped, Err(Error::Common(jointly::CommonError::Interrupted))),
                "{name}, {stop}: {stopped:?}"
            );
            assert_eq!(observer.checks, stop, "{name}: it went on after it was stopped");
            assert_eq!(bytes(&run.release(&*mechanism)), expected, "{name}, check {stop}");
        }
    }
}

#[test]
fn fits_are_stopped_inside() {
    let mut observer = StopAt::default();
    let release = run().with(&JamPgm { iterations: 300, ..jam(3) }, &mut observer).unwrap();
    let calls: u32 = release.rounds.iter().map(|round| crate::support::fitted(round).1).sum();
    assert!(observer.checks >= u64::from(calls), "{} checks in {calls} calls", observer.checks);
}

#[test]
fn without_a_checkpoint_the_ledger_file_holds_what_was_spent() {
    let folder = tempfile::tempdir().unwrap();
    let mut table = String::from("a,b,c,d\n");
    for row in 0..400_u32 {
        writeln!(table, "{},{},{},{}", row % 3, row / 3 % 4, row / 7 % 2, row % 5).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    fs::write(at("t.csv"), table).unwrap();
    fs::write(at("domain.json"), r#"{"a": 3, "b": 4, "c": 2, "d": 5}"#).unwrap();
    let mut job = Job::new(at("t.csv"), at("domain.json"), 1.0, 1e-6);
    job.mechanism = "jam-pgm".into();
    // The same noise every time, so that every run has the same checks.
    job.seed = Some(3);
    job.workload = "all-2-way".into();
    job.ledger = Some(at("ledger.json"));
    job.out = Some(at("out.csv"));
    let mut all = StopAt::default();
    job.run(&mut all).unwrap();
    let (mut nothing, mut something) = (0, 0);
    for stop in (1..=all.checks).step_by(all.checks.div_ceil(20).try_into().unwrap()) {
        for name in ["ledger.json", "out.csv"] {
            _ = fs::remove_file(at(name));
        }
        let mut observer = StopAt { stop: Some(stop), ..StopAt::default() };
        assert!(matches!(
            job.run(&mut observer),
            Err(Error::Common(jointly::CommonError::Interrupted))
        ));
        assert!(!at("out.csv").exists());
        let written = LedgerFile::read(&at("ledger.json")).map_or(Rho::ZERO, |f| f.ledger.spent());
        assert!(
            written >= observer.shown,
            "check {stop}: {written} written, {} shown",
            observer.shown
        );
        assert_eq!(written, observer.lost, "check {stop}");
        nothing += u32::from(written.is_zero());
        something += u32::from(!written.is_zero());
    }
    assert!(nothing > 0 && something > 5, "{nothing} and {something}");
}

/// Stops once a time has passed.
struct StopAfter(Instant, Duration);

impl Observer for StopAfter {
    fn event(&mut self, _: &Event) {}

    fn check(&mut self) -> ControlFlow<()> {
        if self.0.elapsed() >= self.1 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

/// A model of many MiB, on which one fit takes minutes.
#[test]
fn a_large_fit_stops_soon() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..16).map(|i| format!("x{i}")).collect();
    let mut table = names.join(",") + "\n";
    for row in 0..2000_u64 {
        let codes: Vec<String> =
            (0..16).map(|a| ((row * (2 * a + 3) / 7) % 12).to_string()).collect();
        writeln!(table, "{}", codes.join(",")).unwrap();
    }
    let at = |name: &str| folder.path().join(name);
    fs::write(at("t.csv"), table).unwrap();
    let members: Vec<String> = names.iter().map(|name| format!("\"{name}\": 12")).collect();
    fs::write(at("domain.json"), format!("{{{}}}", members.join(","))).unwrap();
    let mut job = Job::new(at("t.csv"), at("domain.json"), 10.0, 1e-6);
    job.mechanism = "jam-pgm".into();
    job.parameters.insert("rounds".into(), 400.into());
    let (started, patience) = (Instant::now(), Duration::from_secs(2));
    assert!(matches!(
        job.run(&mut StopAfter(started, patience)),
        Err(Error::Common(jointly::CommonError::Interrupted))
    ));
    // Generous: tests share their processors.
    assert!(started.elapsed() < Duration::from_secs(12), "{:?}", started.elapsed());
}
