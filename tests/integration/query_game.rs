//! FEM and DualQuery: what they choose, spend, tell and release.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

use jointly::data::Dataset;
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{DualQuery, Fem, FitRecord, Mechanism, Oracle, PlanFor, Release, Task};
use jointly::model::WeightedSupport;
use jointly::observe::{Event, Silent};
use jointly::privacy::{Curator, NeighboringRelation, NoiseMechanism, NoiseSeed, Rho};
use jointly::query::Workload;
use jointly::{Error, PrivacyError};
use serde_json::{Value, json};

use crate::support::{Recorder, Run, budget, bytes, people, turned_round};

const RELATIONS: [NeighboringRelation; 2] =
    [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne];
const ORACLES: [Oracle; 5] =
    [Oracle::Auto, Oracle::Exhaustive, Oracle::MaxSum, Oracle::Program, Oracle::Ascent];

/// Both, with few rounds.
fn mechanisms(oracle: Oracle) -> [Box<dyn Mechanism + Send + Sync>; 2] {
    [
        Box::new(Fem { rounds: 6, samples: 8, perturbation: 0.1, burn_in: Some(0), oracle }),
        Box::new(DualQuery { rounds: Some(7), samples: Some(5), oracle, ..DualQuery::default() }),
    ]
}

fn run() -> Run {
    Run::new(&people(2000, 1, 0.0), &[("near", &people(1500, 2, 0.2))])
}

fn support(release: &Release) -> &WeightedSupport {
    release.model.as_weighted_support().unwrap()
}

/// The number of records found, each counted as often as it was.
fn found(release: &Release) -> f64 {
    support(release).weights().iter().sum()
}

#[test]
fn mechanisms_go_by_the_names_of_the_field_and_have_the_documented_defaults() {
    assert_eq!(mechanisms(Oracle::Auto).map(|mechanism| mechanism.name()), ["fem", "dual-query"]);
    let Fem { rounds, samples, perturbation, burn_in, oracle } = Fem::default();
    assert_eq!((rounds, samples, burn_in, oracle), (100, 50, None, Oracle::Auto));
    assert_eq!(perturbation.to_bits(), 0.5_f64.to_bits());
    let DualQuery { rounds, samples, eta, .. } = DualQuery::default();
    assert_eq!((rounds, samples, eta.to_bits()), (None, None, 2.0_f64.to_bits()));
}

/// The choices of a ledger: round, draws, ε of each, ρ.
fn choices(release: &Release) -> Vec<(u32, u32, f64, Rho)> {
    let entries = release.ledger.entries().iter().filter(|entry| entry.round > 0);
    let choice = |entry: &jointly::privacy::LedgerEntry| {
        let NoiseMechanism::ExponentialMechanism { epsilon, draws, sensitivity, .. } =
            entry.mechanism
        else {
            panic!("{entry:?}")
        };
        assert_eq!((sensitivity.to_bits(), &entry.clique), (1.0_f64.to_bits(), &None));
        (entry.round, draws, epsilon.to_f64(), entry.rho)
    };
    entries.map(choice).collect()
}

#[test]
fn the_whole_budget_pays_for_choices_and_nothing_is_measured() {
    for relation in RELATIONS {
        for mechanism in mechanisms(Oracle::Auto) {
            let run = Run { relation, ..run() };
            let name = format!("{}, {relation}", mechanism.name());
            let release = run.release(&*mechanism);
            assert_eq!(release.ledger.spent(), budget(1.0), "{name}");
            assert!(release.measurements.is_empty() && release.certificate.is_none(), "{name}");
            let before = usize::from(relation == NeighboringRelation::AddRemoveOne);
            let entries = release.ledger.entries().iter();
            assert_eq!(entries.filter(|entry| entry.round == 0).count(), before, "{name}");
            let choices = choices(&release);
            let rounds: Vec<u32> = choices.iter().map(|choice| choice.0).collect();
            let last = u32::try_from(release.rounds.len()).unwrap();
            assert_eq!(rounds, (2..=last).collect::<Vec<_>>(), "{name}: the first is free");
            for (record, (_, draws, ..)) in release.rounds[1..].iter().zip(&choices) {
                let all: usize =
                    run.workload.cliques().iter().map(|c| cells(run.domain(), c)).sum();
                let among = vec![2 * all as u64; *draws as usize];
                assert_eq!(record.choices, among, "{name}: every query in both signs");
            }
            if mechanism.name() == "fem" {
                let even = choices.iter().map(|choice| choice.3.units());
                assert!(even.clone().max().unwrap() - even.min().unwrap() <= 1, "{name}");
            }
        }
    }
}

fn cells(domain: &Domain, clique: &Clique) -> usize {
    domain.shape(clique).iter().product()
}

/// The example of the specification: η = 1000 √(6/(10 · 11 · 10 · 21)) = 16.12.
#[test]
fn dual_query_draws_by_the_eta_that_its_budget_buys() {
    let private = people(1000, 1, 0.0);
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    let limit = Rho::from_f64(0.5).unwrap();
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(1)).unwrap();
    let mechanism = DualQuery { rounds: Some(11), ..DualQuery::default() };
    let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent).unwrap();
    let eta = DualQuery::eta(limit, 1000.0, 10, 11);
    assert!((eta - 1000.0 * (6.0_f64 / (10.0 * 11.0 * 10.0 * 21.0)).sqrt()).abs() < 1e-9);
    assert!((eta - 16.12).abs() < 0.005, "{eta}");
    for (round, draws, epsilon, rho) in choices(&release) {
        assert_eq!(draws, 10);
        // P(q) ~ exp(ε score / 2) = exp(η Σ_{τ<t} (q(D) - q(x_τ))), a score in counts being n times their mean.
        let expected = 2.0 * eta * f64::from(round - 1) / 1000.0;
        assert!((epsilon - expected).abs() < 1e-6, "round {round}: {epsilon}, not {expected}");
        let t = f64::from(round);
        let share = 0.5 * 6.0 * (t - 1.0).powi(2) / (11.0 * 10.0 * 21.0);
        assert!((rho.to_f64() - share).abs() < 12.0 * (-40.0_f64).exp2(), "round {round}");
    }
    let short = limit.units() - release.ledger.spent().units();
    assert!(short < 11, "short by {short} units");
    // Rounds that follow from the wished η have nearly that.
    let private = people(4000, 1, 0.0);
    let run = Run::new(&private, &[]);
    let release = run.release(&DualQuery::default());
    let rounds = u32::try_from(release.rounds.len()).unwrap();
    let eta = DualQuery::eta(budget(1.0), 4000.0, 10, rounds);
    assert!((1.5..3.5).contains(&eta), "{eta} in {rounds} rounds");
    let (domain, workload) = (run.domain(), &run.workload);
    let (relation, rho) = (run.relation, budget(1.0));
    let about = PlanFor { domain, workload, relation, rho, records: 4000 };
    assert_eq!(DualQuery::default().plan(&about).unwrap().rounds, rounds);
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_thread_and_on_two() {
    for oracle in ORACLES {
        for mechanism in mechanisms(oracle) {
            // At more, the largest errors are chosen whatever the seed.
            let run = Run { epsilon: 0.1, ..run() };
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| bytes(&run.release(&*mechanism)))
            };
            let once = on(1);
            assert_eq!(once, on(2), "{}, {oracle:?}", mechanism.name());
            let other = Run { seed: NoiseSeed::Fixed(2), ..run.clone() };
            assert_ne!(once, bytes(&other.release(&*mechanism)), "{}", mechanism.name());
        }
    }
}

#[test]
fn exact_oracles_release_the_same_records() {
    for i in [0, 1] {
        let records = |oracle| {
            let release = run().release(&*mechanisms(oracle)[i]);
            for record in &release.rounds {
                let Some(FitRecord::BestResponses { records, proved, .. }) = record.fit else {
                    panic!("{record:?}")
                };
                assert_eq!(records, proved, "{oracle:?}");
            }
            support(&release).clone()
        };
        let exhaustive = records(Oracle::Exhaustive);
        for oracle in [Oracle::Auto, Oracle::MaxSum, Oracle::Program] {
            assert_eq!(records(oracle), exhaustive, "{oracle:?}");
        }
    }
}

#[test]
fn every_round_releases_its_records_but_those_burnt_in() {
    let run = run();
    let all = run.release(&*mechanisms(Oracle::Auto)[0]);
    assert!((found(&all) - 48.0).abs() < 1e-9);
    let burnt =
        Fem { rounds: 6, samples: 8, perturbation: 0.1, burn_in: Some(4), ..Fem::default() };
    let burnt = run.release(&burnt);
    assert!((found(&burnt) - 16.0).abs() < 1e-9);
    assert_eq!((burnt.rounds, burnt.ledger), (all.rounds, all.ledger), "it is post-processing");
    let by_default =
        run.release(&Fem { rounds: 6, samples: 8, perturbation: 0.1, ..Fem::default() });
    assert!((found(&by_default) - 24.0).abs() < 1e-9, "the first three rounds are left out");
    let one_a_round = run.release(&*mechanisms(Oracle::Auto)[1]);
    assert!((found(&one_a_round) - 7.0).abs() < 1e-9);
}

#[test]
fn records_come_nearer_to_the_truth_than_uniform_ones() {
    let private = people(20_000, 1, 0.0);
    let run = Run { epsilon: 3.0, ..Run::new(&private, &[]) };
    let uniform = WeightedSupport::all_cells(run.domain(), 20_000.0).unwrap();
    let uniform = run.error(&uniform.into());
    let both: [Box<dyn Mechanism>; 2] = [Box::new(Fem::default()), Box::<DualQuery>::default()];
    for mechanism in both {
        let error = run.error(&run.release(&*mechanism).model);
        assert!(error < 0.6 * uniform, "{}: {error}, uniform {uniform}", mechanism.name());
    }
}

#[test]
fn public_tables_change_nothing() {
    let private = people(1000, 1, 0.0);
    for mechanism in mechanisms(Oracle::Auto) {
        let alone = bytes(&Run::new(&private, &[]).release(&*mechanism));
        let wrong = turned_round(&private);
        let with = bytes(&Run::new(&private, &[("wrong", &wrong)]).release(&*mechanism));
        assert_eq!(alone, with, "{}", mechanism.name());
    }
}

#[test]
fn forbidden_records_are_never_found() {
    let domain = people(1, 1, 0.0).domain().clone();
    let zeros = domain.forbid([vec![("SEX", vec![0]), ("MAR", vec![1, 2])]]).unwrap();
    let private = people(2000, 1, 0.0);
    let kept: Vec<Vec<u32>> = (0..2000)
        .map(|r| private.row(r))
        .filter(|row| row[0] != 0 || !(1..=2).contains(&row[2]))
        .collect();
    let private = Dataset::from_rows(zeros, &kept).unwrap();
    let run = Run::new(&private, &[]);
    for oracle in ORACLES {
        for (mechanism, all) in mechanisms(oracle).into_iter().zip([48.0, 7.0]) {
            let release = run.release(&*mechanism);
            let name = format!("{}, {oracle:?}", mechanism.name());
            // None was dropped from the support.
            assert!((found(&release) - all).abs() < 1e-9, "{name}");
            let rows = support(&release).rows();
            let rows = (0..rows.records()).map(|r| rows.row(r));
            assert!(
                rows.into_iter().all(|row| row[0] != 0 || !(1..=2).contains(&row[2])),
                "{name}"
            );
        }
    }
}

#[test]
fn a_domain_that_cannot_be_listed_is_searched() {
    let domain = Domain::new((0..40).map(|i| (format!("a{i}"), 3))).unwrap();
    let row = |i: u32| (0..40).map(|a| (i / (a % 5 + 1)) % 3).collect::<Vec<u32>>();
    let rows: Vec<Vec<u32>> = (0..500).map(row).collect();
    let private = Dataset::from_rows(domain, &rows).unwrap();
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    let run = Run { workload, ..Run::new(&private, &[]) };
    for mechanism in mechanisms(Oracle::Auto) {
        let release = run.release(&*mechanism);
        assert_eq!(release.model.total().to_bits(), 500_f64.to_bits(), "{}", mechanism.name());
    }
    for oracle in [Oracle::Exhaustive, Oracle::MaxSum] {
        for mechanism in mechanisms(oracle) {
            let error = run.with(&*mechanism, &mut Silent).unwrap_err();
            assert!(
                matches!(error, Error::Common(jointly::CommonError::TooLarge { .. })),
                "{error}"
            );
        }
    }
}

#[test]
fn parameters_out_of_range_are_refused() {
    let fem = |change: fn(&mut Fem)| {
        let mut fem = Fem { rounds: 3, ..Fem::default() };
        change(&mut fem);
        fem.check().is_err() && run().with(&fem, &mut Silent).is_err()
    };
    assert!(fem(|fem| fem.rounds = 1) && fem(|fem| fem.samples = 0));
    assert!(fem(|fem| fem.perturbation = -0.1) && fem(|fem| fem.perturbation = f64::NAN));
    assert!(fem(|fem| fem.burn_in = Some(3)) && fem(|fem| fem.samples = 10_001));
    let dual = |change: fn(&mut DualQuery)| {
        let mut dual = DualQuery { rounds: Some(3), ..DualQuery::default() };
        change(&mut dual);
        dual.check().is_err() && run().with(&dual, &mut Silent).is_err()
    };
    assert!(dual(|dual| dual.rounds = Some(1)) && dual(|dual| dual.samples = Some(0)));
    assert!(dual(|dual| dual.eta = 0.0) && dual(|dual| dual.eta = f64::NAN));
    assert!(dual(|dual| dual.rounds = Some(100_001)));
}

#[test]
fn a_budget_of_a_unit_makes_uniform_choices_and_not_an_error() {
    // The shares of early rounds are below a unit of the ledger: ε is 0 there.
    let private = people(50, 1, 0.0);
    let workload = Workload::all_k_way(private.domain(), 2).unwrap();
    let limit = Rho::from_units(3);
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(1)).unwrap();
    let mechanism = DualQuery { rounds: Some(5), ..DualQuery::default() };
    let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent).unwrap();
    assert_eq!((release.rounds.len(), release.ledger.spent()), (5, limit));
    assert!(choices(&release).len() < 4);
}

#[test]
fn events_say_nothing_that_the_release_does_not() {
    for (mechanism, rounds) in mechanisms(Oracle::Auto).into_iter().zip([6, 7]) {
        let mut seen = Recorder::default();
        let release = run().with(&*mechanism, &mut seen).unwrap();
        let mut kinds = [0; 3];
        for event in &seen.0 {
            match event {
                Event::Started { rounds: planned, first_round: 1, candidates: 20, .. } => {
                    kinds[0] += 1;
                    assert_eq!(*planned, rounds);
                }
                Event::Scored { round, candidates, .. } => {
                    kinds[1] += 1;
                    let record = &release.rounds[*round as usize - 1];
                    assert_eq!(Some(*candidates as u64), record.choices.first().copied());
                }
                Event::Fitted { round, fit } => {
                    kinds[2] += 1;
                    assert_eq!(Some(*fit), release.rounds[*round as usize - 1].fit);
                }
                other => panic!("an event that this test does not know: {other:?}"),
            }
        }
        assert_eq!(kinds, [1, rounds - 1, rounds], "{}", mechanism.name());
    }
}

/// What is done to a stored checkpoint.
type Change = fn(&mut Value);

#[test]
fn a_checkpoint_whose_choices_do_not_match_its_ledger_is_refused() {
    let changes: [(&str, Change); 6] = [
        ("no state", |s| s["state"] = Value::Null),
        ("a choice less", |s| drop(s["state"]["value"][2].as_array_mut().unwrap().pop())),
        ("a choice more", |s| s["state"]["value"][2].as_array_mut().unwrap().push(json!(0))),
        ("a round less", |s| drop(s["state"]["value"].as_array_mut().unwrap().pop())),
        ("outside the candidates", |s| s["state"]["value"][1][0] = json!(99_999_999)),
        ("a draw less in the ledger", |s| {
            drop(s["rounds"][2]["choices"].as_array_mut().unwrap().pop());
        }),
    ];
    for mechanism in mechanisms(Oracle::Auto) {
        let folder = tempfile::tempdir().unwrap();
        let checkpoint = Some((folder.path().to_owned(), "people"));
        let run = Run { checkpoint, ..run() };
        let whole = bytes(&run.release(&*mechanism));
        let file = folder.path().join("checkpoint.json");
        let good = std::fs::read(&file).unwrap();
        for (what, change) in changes {
            let mut stored: Value = serde_json::from_slice(&good).unwrap();
            change(&mut stored["steps"][0]["value"]);
            std::fs::write(&file, crate::checkpoints::sealed(stored)).unwrap();
            let error = run.with(&*mechanism, &mut Silent).map(drop).unwrap_err();
            assert!(
                matches!(error, Error::Privacy(PrivacyError::Checkpoint { .. })),
                "{what}: {error}"
            );
        }
        std::fs::write(&file, &good).unwrap();
        assert_eq!(bytes(&run.release(&*mechanism)), whole, "{}", mechanism.name());
    }
}
