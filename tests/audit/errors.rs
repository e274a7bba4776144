//! Measured errors of a released table: their law, their cost, and that they are measured once.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]
#![expect(clippy::cast_possible_truncation, reason = "whole numbers")]

use std::path::Path;

use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{Independent, Mechanism, PublicOnly, Release, Task};
use jointly::observe::Silent;
use jointly::privacy::{
    Checkpoint, Curator, Epsilon, NeighboringRelation, NoiseMechanism, NoiseSeed, Rho,
};
use jointly::query::Workload;
use jointly::survey::Weight;
use rayon::prelude::*;

use crate::statistics::{check_independent, check_law, relations};

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

fn table(records: u32, step: u32) -> Dataset {
    let rows: Vec<[u32; 3]> = (0..records).map(|i| [i / step % 2, i / 2 % 3, i / 5 % 2]).collect();
    Dataset::from_rows(domain(), &rows).unwrap()
}

fn limit(value: f64) -> Rho {
    Rho::from_f64(value).unwrap()
}

/// A curator of pure ε, or of ρ = ε²/8.
fn curator(
    private: &Dataset,
    relation: NeighboringRelation,
    is_pure: bool,
    epsilon: f64,
) -> Curator<'_> {
    if is_pure {
        let epsilon = Epsilon::new(epsilon).unwrap();
        return Curator::pure(private, relation, epsilon, NoiseSeed::System).unwrap();
    }
    Curator::new(private, relation, limit(epsilon * epsilon / 8.0), NoiseSeed::System).unwrap()
}

/// The errors in counts, exactly.
fn exact(private: &Dataset, drawn: &Dataset, total: f64, workload: &Workload) -> Vec<f64> {
    let cliques = workload.cliques();
    let (real, found) =
        (private.project_many(&cliques).unwrap(), drawn.project_many(&cliques).unwrap());
    let scale = total / drawn.records() as f64;
    let distance = |(real, found): (&Vec<u32>, &Vec<u32>)| {
        let cells = real.iter().zip(found);
        cells.map(|(x, y)| (f64::from(*x) - scale * f64::from(*y)).abs()).sum()
    };
    real.iter().zip(&found).map(distance).collect()
}

#[test]
fn errors_have_the_noise_of_their_entry_around_the_exact_errors() {
    // Errors of hundreds of counts, far from 0, where they would be cut.
    let rows: Vec<[u32; 3]> = (0..300).map(|i| [0, 0, u32::from(i % 10 == 0)]).collect();
    let (private, public) = (table(600, 1), Dataset::from_rows(domain(), &rows).unwrap());
    let tables = [PublicData::new("p", public, &domain()).unwrap()];
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let task = Task::new(&workload, &tables);
    for relation in relations() {
        for is_pure in [false, true] {
            // Noise of a few steps.
            let epsilon = if is_pure { 70.0 } else { 2000.0 };
            let run = |_| {
                let mut curator = curator(&private, relation, is_pure, epsilon);
                curator.set_aside(0.9).unwrap();
                let mut release =
                    PublicOnly::default().run(&mut curator, &task, &mut Silent).unwrap();
                let drawn = tables[0].table().unwrap();
                release.measure_errors(&mut curator, drawn).unwrap();
                let errors = release.errors().unwrap();
                let truth = exact(&private, drawn, errors.total, &workload);
                let (found, truth) = if is_pure {
                    let mean = truth.iter().sum::<f64>() / truth.len() as f64;
                    (vec![errors.mean.estimate], vec![mean])
                } else {
                    (errors.marginals.iter().map(|e| e.measured.estimate).collect(), truth)
                };
                let steps = found.iter().zip(&truth).map(|(found, truth)| {
                    (found * errors.total * 256.0).round() as i64
                        - (truth * 256.0).round_ties_even() as i64
                });
                let entry = release.ledger.entries().last().unwrap();
                assert_eq!(entry.purpose, "errors of the released table");
                (steps.collect::<Vec<i64>>(), entry.mechanism.clone())
            };
            let (noise, mechanisms): (Vec<_>, Vec<_>) = (0..800).into_par_iter().map(run).unzip();
            assert!(mechanisms.iter().all(|mechanism| *mechanism == mechanisms[0]));
            let (stddev, weight) = stated(&mechanisms[0], is_pure);
            let all: Vec<i64> = noise.iter().flatten().copied().collect();
            let place = format!("errors, {relation}, pure {is_pure}");
            check_law(&place, &all, stddev, &weight);
            let beside: Vec<(i64, i64)> =
                noise.iter().flat_map(|row| row.windows(2).map(|w| (w[0], w[1]))).collect();
            if !beside.is_empty() {
                check_independent(&place, &beside);
            }
        }
    }
}

type Law = (f64, Box<dyn Fn(f64) -> f64>);

fn stated(mechanism: &NoiseMechanism, is_pure: bool) -> Law {
    assert_eq!(is_pure, matches!(mechanism, NoiseMechanism::GridLaplace { .. }));
    match mechanism {
        NoiseMechanism::GridGaussian { variance, numbers, squared_sensitivity, .. } => {
            assert_eq!(*numbers, 3);
            let variance = variance.to_f64();
            // σ² = Δ²/(2ρ) for 90 % of ρ.
            let least = *squared_sensitivity as f64 / 900_000.0;
            assert!((variance / least - 1.0).abs() < 1e-6, "{variance} and {least}");
            (variance.sqrt(), Box::new(move |x| (-x * x / (2.0 * variance)).exp()))
        }
        NoiseMechanism::GridLaplace { scale, numbers, sensitivity, .. } => {
            assert_eq!(*numbers, 1);
            let scale = scale.to_f64();
            assert!((scale / (*sensitivity as f64 / 63.0) - 1.0).abs() < 1e-5, "{scale}");
            (2.0 * scale, Box::new(move |x| (-x / scale).exp()))
        }
        other => panic!("not the errors of a table: {other:?}"),
    }
}

/// The third attribute as a survey weight, of which the largest is 8.
fn weight() -> Weight {
    Weight { attribute: 2, means: vec![2.0, 8.0] }
}

/// The weighted errors in records of the largest weight, exactly. `total`: of the population.
fn exact_weighted(
    private: &Dataset,
    (drawn, weights): (&Dataset, Option<&[f64]>),
    total: f64,
    cliques: &[Clique],
) -> Vec<f64> {
    let of = |table: &Dataset, weight: &dyn Fn(usize) -> f64, clique: &Clique| -> Vec<f64> {
        let mut cells = vec![0.0; table.project(clique).unwrap().len()];
        let own = table.cells(clique).unwrap();
        own.iter().enumerate().for_each(|(at, cell)| cells[*cell as usize] += weight(at));
        cells
    };
    let bins = private.cells(&Clique::new([2])).unwrap();
    let of_private = |at: usize| weight().means[bins[at] as usize] / 8.0;
    let of_drawn = |at: usize| weights.map_or(1.0, |weights| weights[at]);
    let scale = total / 8.0 / (0..drawn.records()).map(of_drawn).sum::<f64>();
    let distance = |clique: &Clique| {
        let cells = of(private, &of_private, clique).into_iter();
        cells.zip(of(drawn, &of_drawn, clique)).map(|(x, y)| (x - scale * y).abs()).sum()
    };
    cliques.iter().map(distance).collect()
}

#[test]
fn weighted_errors_have_the_noise_of_their_entry_around_the_exact_errors() {
    let rows: Vec<[u32; 3]> = (0..300).map(|i| [0, 0, u32::from(i % 10 == 0)]).collect();
    let (private, public) = (table(600, 1), Dataset::from_rows(domain(), &rows).unwrap());
    let tables = [PublicData::new("p", public, &domain()).unwrap()];
    // Cliques with the weight are not those of a table without it.
    let workload = Workload::all_k_way(&domain(), 1).unwrap();
    let task = Task::new(&workload, &tables);
    let drawn = tables[0].table().unwrap().select(&[0, 1]).unwrap();
    let heavy: Vec<f64> = (0..300).map(|i| f64::from(1 + i % 3)).collect();
    for relation in relations() {
        for weights in [None, Some(&*heavy)] {
            let run = |_| {
                let mut curator = curator(&private, relation, false, 2000.0);
                curator.set_aside(0.9).unwrap();
                let mut release =
                    PublicOnly::default().run(&mut curator, &task, &mut Silent).unwrap();
                let weight = weight();
                release
                    .measure_weighted_errors(&mut curator, &drawn, weights, &weight, 2500.0)
                    .unwrap();
                let errors = release.errors().unwrap();
                let cliques: Vec<Clique> =
                    errors.marginals.iter().map(|e| e.clique.clone()).collect();
                assert_eq!(cliques, [Clique::new([0]), Clique::new([1])]);
                assert_eq!(errors.left_out.within_bins_of.as_deref(), Some("c"));
                let truth = exact_weighted(&private, (&drawn, weights), errors.total, &cliques);
                let steps = errors.marginals.iter().zip(&truth).map(|(found, truth)| {
                    (found.measured.estimate * errors.total / 8.0 * 256.0).round() as i64
                        - (truth * 256.0).round_ties_even() as i64
                });
                let entry = release.ledger.entries().last().unwrap();
                (steps.collect::<Vec<i64>>(), entry.mechanism.clone())
            };
            let (noise, mechanisms): (Vec<_>, Vec<_>) = (0..800).into_par_iter().map(run).unzip();
            let NoiseMechanism::GridGaussian { variance, numbers, .. } = &mechanisms[0] else {
                panic!("{:?}", mechanisms[0])
            };
            let variance = variance.to_f64();
            assert_eq!(*numbers, 2);
            let all: Vec<i64> = noise.into_iter().flatten().collect();
            let place = format!("weighted errors, {relation}, weights {}", weights.is_some());
            let law = move |x: f64| (-x * x / (2.0 * variance)).exp();
            check_law(&place, &all, variance.sqrt(), law);
        }
    }
}

#[test]
fn what_is_set_aside_is_kept_from_the_run_and_spent_on_errors_alone() {
    let private = table(600, 1);
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    for relation in relations() {
        for is_pure in [false, true] {
            let mut curator = curator(&private, relation, is_pure, 4.0);
            let whole = curator.ledger().limit();
            curator.set_aside(0.25).unwrap();
            assert!(curator.set_aside(0.25).is_err(), "set aside twice");
            assert_eq!(curator.whole_ledger().limit(), whole);
            let before = curator.remaining();
            assert!(curator.measure(&jointly::domain::Clique::new([0]), whole).is_err());
            let drawn = table(50, 1);
            if is_pure {
                let left = curator.remaining_epsilon().unwrap().to_f64();
                assert!((left - 3.0).abs() < 1e-5, "{left}");
                assert_eq!(curator.release_set_aside().unwrap(), limit(0.5));
                assert_eq!(curator.ledger().limit(), whole);
                continue;
            }
            assert!((before.to_f64() / whole.to_f64() - 0.75).abs() < 1e-9);
            let task = Task::new(&workload, &[]);
            let mut release = Independent::default().run(&mut curator, &task, &mut Silent).unwrap();
            assert!(release.ledger.spent() <= before && release.ledger.limit() == before);
            release.measure_errors(&mut curator, &drawn).unwrap();
            assert_eq!(release.ledger.limit(), whole);
            assert!(release.ledger.spent() <= whole);
            let entries = release.ledger.entries();
            assert_eq!(entries.last().unwrap().rho.units(), whole.units() - before.units());
            assert!(release.measure_errors(&mut curator, &drawn).is_err(), "measured twice");
        }
    }
}

/// A run in a folder, whose errors are measured there.
fn kept(
    private: &Dataset,
    workload: &Workload,
    folder: &Path,
    drawn: &Dataset,
) -> jointly::Result<Release> {
    let relation = NeighboringRelation::AddRemoveOne;
    let curator = Curator::new(private, relation, limit(2.0), NoiseSeed::System)?;
    let mut curator = curator.with_checkpoint(Checkpoint::open(folder, "t")?);
    curator.set_aside(0.1)?;
    let task = Task::new(workload, &[]);
    let mut release = Independent::default().run(&mut curator, &task, &mut Silent)?;
    release.measure_errors(&mut curator, drawn)?;
    assert_eq!(release.ledger, *curator.ledger());
    Ok(release)
}

/// The same records with other weights are another release.
fn the_weights_count_too(private: &Dataset, workload: &Workload) {
    let folder = tempfile::tempdir().unwrap();
    let drawn = table(80, 3).select(&[0, 1]).unwrap();
    let run = |weight_of: fn(u32) -> f64| {
        let relation = NeighboringRelation::AddRemoveOne;
        let curator = Curator::new(private, relation, limit(2.0), NoiseSeed::System).unwrap();
        let checkpoint = Checkpoint::open(folder.path(), "t").unwrap();
        let mut curator = curator.with_checkpoint(checkpoint);
        curator.set_aside(0.1).unwrap();
        let task = Task::new(workload, &[]);
        let mut release = Independent::default().run(&mut curator, &task, &mut Silent).unwrap();
        let weights: Vec<f64> = (0..80).map(weight_of).collect();
        release.measure_weighted_errors(&mut curator, &drawn, Some(&weights), &weight(), 2500.0)?;
        Ok::<_, jointly::Error>(release.errors().cloned())
    };
    let first = run(|at| f64::from(1 + at % 3)).unwrap();
    assert_eq!(run(|at| f64::from(1 + at % 3)).unwrap(), first);
    let refused = run(|at| f64::from(1 + at % 4)).unwrap_err().to_string();
    assert!(refused.ends_with("these differ: released records"), "{refused}");
}

#[test]
fn errors_in_a_checkpoint_are_charged_and_never_measured_again() {
    let (private, drawn) = (table(600, 1), table(80, 3));
    let workload = Workload::all_k_way(&domain(), 2).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let first = kept(&private, &workload, folder.path(), &drawn).unwrap();
    for _ in 0..2 {
        // The noise is from the system: only the kept numbers can be the same.
        let again = kept(&private, &workload, folder.path(), &drawn).unwrap();
        assert_eq!(again.errors(), first.errors());
        assert_eq!(again.ledger, first.ledger, "charged in full, and once");
    }
    // Errors of other records would be a second measurement.
    let refused = kept(&private, &workload, folder.path(), &table(81, 3)).unwrap_err().to_string();
    assert!(refused.ends_with("these differ: released records"), "{refused}");
    assert_eq!(kept(&private, &workload, folder.path(), &drawn).unwrap().errors(), first.errors());
    // Two runs at once would both measure.
    the_weights_count_too(&private, &workload);
    let held = Checkpoint::open(folder.path(), "t").unwrap();
    let second = Checkpoint::open(folder.path(), "t").unwrap_err().to_string();
    assert!(second.contains("another run"), "{second}");
    drop(held);
    let file = folder.path().join("checkpoint.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"values\":[", "\"values\":[1", 1)).unwrap();
    let changed = Checkpoint::open(folder.path(), "t").unwrap_err().to_string();
    assert!(changed.contains("changed or damaged"), "{changed}");
}
