//! Jobs that merge rare values first: both steps share one budget, and the second knows of the first.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fmt::Write;

use jointly::observe::Silent;
use jointly::privacy::Rho;
use jointly::{Budget, Job};

/// Two attributes; one has 30 values, most of them rare.
fn job(folder: &std::path::Path) -> Job {
    let mut text = String::from("job,sex\n");
    for i in 0..600_u32 {
        let job = if i % 5 < 4 { i % 2 } else { 2 + i / 5 % 28 };
        writeln!(text, "{job},{}", i / 3 % 2).unwrap();
    }
    std::fs::write(folder.join("private.csv"), text).unwrap();
    std::fs::write(folder.join("schema.json"), r#"{"job": 30, "sex": 2}"#).unwrap();
    let mut job = Job::new(folder.join("private.csv"), folder.join("schema.json"), 1.0, 1e-9);
    job.mechanism = "independent".into();
    job.workload = "all-1-way".into();
    job.compress = Some(0.25);
    job
}

#[test]
fn the_cost_of_merging_counts_in_the_run() {
    let folder = tempfile::tempdir().unwrap();
    let release = job(folder.path()).run(&mut Silent).unwrap().release;
    let entries = release.ledger.entries();
    let early: Vec<Rho> = entries.iter().filter(|e| e.round == 0).map(|e| e.rho).collect();
    let limit = Budget::approximate(1.0, 1e-9).unwrap().rho();
    assert_eq!(early, [limit.fraction(0.25).unwrap().0]);
    let all = entries.iter().try_fold(Rho::ZERO, |sum, entry| sum.checked_add(entry.rho));
    assert_eq!(all.unwrap(), release.ledger.spent());
    assert!(release.ledger.spent() <= limit && release.ledger.limit() == limit);
    // What the mechanism measured has the noise of three quarters of the budget, over two attributes.
    let left = limit.checked_sub(early[0]).unwrap();
    for measured in &release.measurements {
        let paid = 1.0 / measured.stddev.powi(2);
        assert!(paid <= 1.000_001 * left.to_f64(), "{paid} of {}", left.to_f64());
    }
}

#[test]
fn an_interrupted_run_pays_for_merging_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut job = job(folder.path());
    job.mechanism = "aim".into();
    job.checkpoint = Some(folder.path().join("state"));
    let first = job.run(&mut Silent).unwrap().release.ledger;
    let kept = std::fs::read(folder.path().join("state/checkpoint.json")).unwrap();
    let again = job.run(&mut Silent).unwrap().release.ledger;
    assert_eq!(first, again);
    assert_eq!(kept, std::fs::read(folder.path().join("state/checkpoint.json")).unwrap());
}
