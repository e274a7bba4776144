//! Measured errors of released tables: coverage, every mechanism, interrupted runs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::Path;

use jointly::data::{Dataset, Labels, Projectable, write_csv_file, write_text};
use jointly::domain::{Clique, Domain};
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{CATALOGUE, Independent, Mechanism, Release, Task, find};
use jointly::observe::{Event, Observer, Silent};
use jointly::privacy::{Curator, LedgerFile, NeighboringRelation, NoiseMechanism, NoiseSeed};
use jointly::query::{WeightedClique, Workload};
use jointly::{Budget, Drawing, Job, PublicData, Schema, demo};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::quick::quick;
use crate::support::{NAMES, budget, people};

/// The passengers and crew of the Titanic by class (crew last), sex, age (child, adult) and survival: the counts of the
/// British Board of Trade's inquiry of 1912.
fn titanic() -> Dataset {
    let counts = [
        // No: male children, female children, men, women; then those who survived.
        [[[0, 0, 35, 0], [0, 0, 17, 0]], [[118, 154, 387, 670], [4, 13, 89, 3]]],
        [[[5, 11, 13, 0], [1, 13, 14, 0]], [[57, 14, 75, 192], [140, 80, 76, 20]]],
    ];
    let mut rows = Vec::new();
    for (survived, of_age) in (0..).zip(counts) {
        for (age, of_sex) in (0..).zip(of_age) {
            for (sex, of_class) in (0..).zip(of_sex) {
                for (class, count) in (0..).zip(of_class) {
                    rows.extend(std::iter::repeat_n([class, sex, age, survived], count));
                }
            }
        }
    }
    assert_eq!(rows.len(), 2201);
    let domain = Domain::new([("class", 4), ("sex", 2), ("age", 2), ("survived", 2)]).unwrap();
    Dataset::from_rows(domain, &rows).unwrap()
}

/// A release of `records` rows, and its rows, at epsilon 1.
fn released(
    private: &Dataset,
    workload: &Workload,
    relation: NeighboringRelation,
    records: Option<usize>,
    seed: u64,
) -> (Release, Dataset) {
    let mut curator = Curator::new(private, relation, budget(1.0), NoiseSeed::Fixed(seed)).unwrap();
    curator.set_aside(0.05).unwrap();
    let mechanism = Independent { iterations: 20, ..Independent::default() };
    let mut release = mechanism.run(&mut curator, &Task::new(workload, &[]), &mut Silent).unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let records = records.unwrap_or_else(|| release.records());
    let rows = release.rows(records, Drawing::Refined, &mut rng).unwrap();
    release.measure_errors(&mut curator, &rows).unwrap();
    (release, rows)
}

/// The true errors, of counts divided by N.
fn errors(private: &Dataset, rows: &Dataset, workload: &Workload, total: f64) -> Vec<f64> {
    let cliques = workload.cliques();
    let (real, drawn) =
        (private.project_many(&cliques).unwrap(), rows.project_many(&cliques).unwrap());
    let frequency = |count: &u32| f64::from(*count) / rows.records() as f64;
    let l1 = |(real, drawn): (&Vec<u32>, &Vec<u32>)| {
        real.iter().zip(drawn).map(|(x, y)| (f64::from(*x) / total - frequency(y)).abs()).sum()
    };
    real.iter().zip(&drawn).map(l1).collect()
}

#[test]
fn intervals_cover_as_they_say_in_two_thousand_releases() {
    let private = titanic();
    // Six pairs, of which two count three times.
    let pairs = Workload::all_k_way(private.domain(), 2).unwrap();
    let weighted = pairs.weighted_cliques().iter().zip([3.0, 1.0, 1.0, 3.0, 1.0, 1.0]);
    let weighted = weighted.map(|(c, weight)| WeightedClique { clique: c.clique.clone(), weight });
    let weighted = Workload::new(weighted, private.domain()).unwrap();
    let (mut means, mut marginals, mut bands) = (0, 0, 0);
    for seed in 0..2000 {
        let (workload, relation, records) = match seed % 4 {
            0 => (&pairs, NeighboringRelation::ReplaceOne, None),
            1 => (&weighted, NeighboringRelation::ReplaceOne, Some(700)),
            2 => (&pairs, NeighboringRelation::AddRemoveOne, None),
            _ => (&weighted, NeighboringRelation::AddRemoveOne, Some(3000)),
        };
        let (release, rows) = released(&private, workload, relation, records, seed);
        let found = release.errors().unwrap();
        let truth = errors(&private, &rows, workload, found.total);
        let weights = workload.weighted_cliques().iter().map(|c| c.weight);
        let sum: f64 = weights.clone().sum();
        let mean = weights.zip(&truth).map(|(weight, error)| weight * error).sum::<f64>() / sum;
        means += u32::from(found.mean.covers(mean));
        let covered = found.marginals.iter().zip(&truth).filter(|(m, e)| m.measured.covers(**e));
        marginals += covered.count();
        let worst = truth.iter().copied().fold(0.0, f64::max);
        bands += u32::from(worst <= found.none_above.unwrap());
    }
    let [of_means, of_marginals, of_bands] =
        [f64::from(means) / 2000.0, marginals as f64 / 12_000.0, f64::from(bands) / 2000.0];
    let all = format!(
        "{of_means} of the means, {of_marginals} of the marginals, {of_bands} of the bands"
    );
    println!("{all}");
    assert!((of_means - 0.95).abs() <= 0.01, "{all}");
    assert!((of_marginals - 0.95).abs() <= 0.01, "{all}");
    // One-sided, and above the worst marginal: the bound holds with at least its probability.
    assert!(of_bands >= 0.94, "{all}");
}

#[test]
fn every_mechanism_measures_the_errors_of_its_records() {
    let (private, near) = (people(800, 1, 0.0), people(600, 2, 0.1));
    let private = private.select(&[0, 1, 2, 3]).unwrap();
    let near = near.select(&[0, 1, 2, 3]).unwrap();
    let public = [PublicData::new("near", near, private.domain()).unwrap()];
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        for entry in CATALOGUE {
            let mut parameters = quick(entry);
            if entry.name == "ide" {
                parameters.insert("groups".into(), vec![private.domain().name(0)].into());
            }
            let mechanism = entry.build(&parameters).unwrap();
            let mut curator =
                Curator::new(&private, relation, budget(20.0), NoiseSeed::Fixed(7)).unwrap();
            curator.set_aside(0.1).unwrap();
            let aside = curator.whole_ledger().limit().units() - curator.ledger().limit().units();
            let task = Task::new(&workload, &public);
            let mut release = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
            let mut rng = ChaCha20Rng::seed_from_u64(3);
            let rows = release.rows(500, Drawing::Refined, &mut rng).unwrap();
            release.measure_errors(&mut curator, &rows).unwrap();
            let (name, found) = (entry.name, release.errors().unwrap());
            let last = release.ledger.entries().last().unwrap();
            assert_eq!(last.rho.units(), aside, "{name}");
            assert!(matches!(last.mechanism, NoiseMechanism::GridGaussian { numbers: 6, .. }));
            assert!(release.ledger.spent() <= release.ledger.limit(), "{name}");
            let truth = errors(&private, &rows, &workload, found.total);
            // Six times σ: none of these draws is that far out.
            for (measured, exact) in found.marginals.iter().zip(&truth) {
                let distance = (measured.measured.estimate - exact).abs();
                assert!(
                    distance <= 6.0 * found.stddev,
                    "{name}, {relation}: {measured:?}, {exact}"
                );
            }
        }
    }
}

#[test]
fn the_mean_is_what_evaluate_says_within_its_interval() {
    let private = people(5000, 1, 0.0);
    let workload = Workload::all_k_way(private.domain(), 3).unwrap();
    let (release, rows) =
        released(&private, &workload, NeighboringRelation::ReplaceOne, Some(4000), 3);
    let evaluated = WorkloadError::between(&private, &rows, &workload, 1).unwrap();
    let found = release.errors().unwrap();
    assert!(found.mean.covers(evaluated.mean_l1), "{:?}, {}", found.mean, evaluated.mean_l1);
    assert!(
        found.marginals.iter().all(|marginal| marginal.shrunk.is_none()),
        "twenty marginals are too few"
    );
    assert_eq!(found.marginals[0].clique, Clique::new([0, 1, 2]));
}

/// Stops a run at the event that ends it, by unwinding.
struct StopWhenCertified;

impl Observer for StopWhenCertified {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Certified(_)) {
            resume_unwind(Box::new("stopped"));
        }
    }
}

/// A job on files in a folder, with a checkpoint and noise from the system.
fn job(folder: &Path) -> Job {
    let schema = demo::schema().unwrap().select(&NAMES.map(str::to_owned)).unwrap();
    let private = people(1500, 1, 0.0);
    write_text(&folder.join("schema.json"), &schema.to_json().unwrap()).unwrap();
    write_csv_file(&folder.join("private.csv"), &private, &schema, Labels::Codes, 1).unwrap();
    let mut job = Job::new(folder.join("private.csv"), folder.join("schema.json"), 1.0, 1e-9);
    job.mechanism = "mst".into();
    job.error_share = Some(0.05);
    job.checkpoint = Some(folder.join("state"));
    job.out = Some(folder.join("out.csv"));
    job.ledger = Some(folder.join("ledger.json"));
    job.report = Some(folder.join("report.html"));
    job
}

#[test]
fn a_job_killed_before_or_after_the_errors_pays_once_and_ends_with_one_table() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    let stopped = catch_unwind(AssertUnwindSafe(|| job.run(&mut StopWhenCertified).map(drop)));
    assert!(stopped.is_err(), "stopped before the errors were measured");
    let kept = std::fs::read_to_string(folder.path().join("state/checkpoint.json")).unwrap();
    assert!(kept.contains("\"step\":\"rounds\"") && !kept.contains("errors of the"), "{kept}");
    // The unfinished ledger has the limit of the whole budget.
    let unfinished = LedgerFile::read(&folder.path().join("ledger.json")).unwrap();
    assert_eq!(unfinished.ledger.limit(), Budget::approximate(1.0, 1e-9).unwrap().rho());
    let first = job.run(&mut Silent).unwrap();
    let errors = first.release.errors().unwrap();
    assert_eq!((errors.records, errors.marginals.len()), (1500, 20));
    let files = ["out.csv", "ledger.json", "report.html"].map(|name| folder.path().join(name));
    let bytes = || files.clone().map(|file| std::fs::read(file).unwrap());
    let written = bytes();
    for _ in 0..2 {
        // As if the files had been lost with the process: the noise is the system's, and yet all is the same.
        files.iter().for_each(|file| std::fs::remove_file(file).unwrap());
        let again = job.run(&mut Silent).unwrap();
        assert_eq!(again.release.errors(), Some(errors));
        assert_eq!(again.release.ledger, first.release.ledger);
        assert!(bytes() == written, "other bytes");
    }
    let ledger = LedgerFile::read(&files[1]).unwrap().ledger;
    let purposes = ledger.entries().iter().filter(|entry| entry.purpose.contains("errors of"));
    assert_eq!(purposes.count(), 1);
    let report = String::from_utf8(written[2].clone()).unwrap();
    let sentence = errors.sentence();
    assert!(report.contains(&sentence[1..]), "{sentence}");
    assert!(report.contains("these are the worst by the best estimate"));
    // Other records would have other errors.
    let other = Job { rows: Some(100), ..job };
    let refused = other.run(&mut Silent).unwrap_err().to_string();
    assert!(refused.ends_with("these differ: released records"), "{refused}");
}

#[test]
fn shares_out_of_range_and_shares_of_no_budget_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let job = job(folder.path());
    for share in [1.0, -0.1, f64::NAN] {
        let refused = Job { error_share: Some(share), ..job.clone() }.run(&mut Silent);
        assert!(refused.unwrap_err().to_string().contains("strictly between 0 and 1"));
    }
    let (mechanism, checkpoint) = ("public-only".into(), None);
    let mut none = Job { epsilon: None, delta: None, mechanism, checkpoint, ..job };
    let (public, schema) =
        (people(400, 2, 0.1), Schema::read(none.schema.file().unwrap()).unwrap());
    write_csv_file(&folder.path().join("near.csv"), &public, &schema, Labels::Codes, 1).unwrap();
    none.public.push(folder.path().join("near.csv").display().to_string().parse().unwrap());
    assert!(none.run(&mut Silent).unwrap_err().to_string().contains("budget"));
    // With one, the errors are all that it spends.
    let free = Job { epsilon: Some(1.0), delta: Some(1e-9), ..none };
    let done = free.run(&mut Silent).unwrap().release;
    assert_eq!((done.ledger.entries().len(), done.errors().is_some()), (1, true));
}

#[test]
fn errors_are_measured_unless_that_is_declined() {
    let folder = tempfile::tempdir().unwrap();
    let job = Job { checkpoint: None, ..job(folder.path()) };
    let share = |error_share| {
        let out = folder.path().join(format!("{error_share:?}.csv"));
        let job = Job {
            error_share,
            out: Some(out),
            model: None,
            ledger: None,
            report: None,
            ..job.clone()
        };
        let release = job.run(&mut Silent).unwrap().release;
        let last = release.ledger.entries().last().unwrap().rho.to_f64();
        release.errors().is_some().then(|| last / release.ledger.limit().to_f64())
    };
    assert_eq!(share(Some(0.0)), None);
    assert!((share(None).unwrap() - 0.05).abs() < 1e-6, "a twentieth of the budget");
}

/// HDMM and the residual planner fit a model to answers with common noise. What they measured has a known law all the same.
#[test]
fn what_mechanisms_measured_covers_the_private_counts() {
    let private = people(1000, 1, 0.0);
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    let domain = private.domain();
    for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
        for name in ["hdmm", "residual-planner", "mst"] {
            let mechanism = find(name).unwrap().build(&serde_json::Map::new()).unwrap();
            let mut curator =
                Curator::new(&private, relation, budget(1.0), NoiseSeed::Fixed(1)).unwrap();
            let task = Task::new(&workload, &[]);
            let release = mechanism.run(&mut curator, &task, &mut Silent).unwrap();
            let measured = release.accuracy().measured;
            assert_eq!(measured.records.is_some(), relation == NeighboringRelation::ReplaceOne);
            let known = |clique: &&Clique| measured.determines(domain, clique);
            let cliques = workload.cliques();
            let cliques: Vec<Clique> = cliques.iter().filter(known).cloned().collect();
            // MST measures a tree of pairs, the others all of them.
            let expected = if name == "mst" { domain.len() - 1 } else { workload.len() };
            assert!(cliques.len() >= expected, "{name}: {} pairs", cliques.len());
            let solved = measured.estimates(domain, &cliques).unwrap();
            let (mut squares, mut cells) = (0.0, 0.0);
            for clique in &cliques {
                let found = solved.marginal(clique).unwrap();
                let exact = private.project(clique).unwrap();
                let pairs = exact.iter().zip(found.counts());
                let errors = pairs.map(|(truth, count)| (f64::from(*truth) - count).powi(2));
                squares += errors.sum::<f64>() / found.of_cell();
                cells += exact.len() as f64;
            }
            assert!((squares / cells - 1.0).abs() < 0.25, "{name}: {}", squares / cells);
        }
    }
}
