//! Mechanisms: what JAM-PGM and the public-only baseline choose, spend and tell.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;

use jointly::Error;
use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::graph::{JunctionTree, size_mib};
use jointly::measurement::Provenance;
use jointly::mechanism::{JamPgm, Mechanism, PublicOnly, Release};
use jointly::observe::Event;
use jointly::privacy::{
    LedgerEntry, MarginalSensitivity, NeighboringRelation, NoiseMechanism, NoiseSeed, Rho,
};
use jointly::query::{WeightedClique, Workload};

use crate::support::{
    NAMES, Recorder, Run, budget, bytes, candidates, fitted, jam, people, select, turned_round,
};

const RELATIONS: [NeighboringRelation; 2] =
    [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne];

fn public_picks(release: &Release) -> usize {
    release.measurements.iter().filter(|m| m.provenance != Provenance::Private).count()
}

/// Runs of every kind: relations, budgets, public tables, workloads.
fn runs() -> Vec<(String, Run)> {
    let private = people(3000, 1, 0.0);
    let near = people(2000, 2, 0.1);
    let far = people(2500, 3, 1.0);
    let part = select(&near, &["TEN", "SEX", "MAR"]);
    let mut runs = Vec::new();
    for relation in RELATIONS {
        for epsilon in [0.1, 1.0, 10.0] {
            for public in [
                vec![],
                vec![("near", &near)],
                vec![("far", &far), ("near", &near)],
                vec![("part", &part)],
            ] {
                let names: Vec<&str> = public.iter().map(|(name, _)| *name).collect();
                let name = format!("{relation}, {epsilon}, {names:?}");
                runs.push((name, Run { epsilon, relation, ..Run::new(&private, &public) }));
            }
        }
    }
    let pairs = Workload::all_k_way(private.domain(), 2).unwrap();
    runs.push(("pairs".into(), Run { workload: pairs, ..Run::new(&private, &[("n", &near)]) }));
    runs
}

#[test]
fn a_run_stays_within_its_budget_and_spends_all_of_it_unless_it_ends_with_a_public_marginal() {
    let mut ends = [0, 0];
    for (name, run) in runs() {
        let release = run.release(&jam(6));
        let (ledger, limit) = (&release.ledger, budget(run.epsilon));
        assert_eq!(ledger.limit(), limit, "{name}");
        assert!(ledger.spent() <= limit, "{name}");
        let sum = ledger.entries().iter().fold(Rho::ZERO, |s, e| s.checked_add(e.rho).unwrap());
        assert_eq!(sum, ledger.spent(), "{name}");
        let private = release.measurements.last().unwrap().provenance == Provenance::Private;
        ends[usize::from(private)] += 1;
        assert_eq!(private, ledger.spent() == limit, "{name}");
    }
    assert!(ends[0] > 0 && ends[1] > 0, "{ends:?}: both endings are to be tested");
}

#[test]
fn ledger_entries_and_measurements_match_one_to_one() {
    for (name, run) in runs() {
        let release = run.release(&jam(6));
        let domain = run.domain();
        let mut entries = release.ledger.entries().iter();
        let squared_l2 = MarginalSensitivity::of(run.relation).squared_l2();
        let gaussian = |entry: &LedgerEntry| match entry.mechanism {
            NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity } => {
                assert_eq!(squared_l2_sensitivity, squared_l2, "{name}");
                variance.to_f64().sqrt()
            }
            _ => panic!("{name}: {entry:?}"),
        };
        if run.relation == NeighboringRelation::AddRemoveOne {
            let total = entries.next().unwrap();
            gaussian(total);
            assert_eq!((total.round, &total.clique), (0, &None), "{name}");
        }
        assert_eq!((release.rounds.len(), release.measurements.len()), (6, 6), "{name}");
        for (number, (record, m)) in (1..).zip(release.rounds.iter().zip(&release.measurements)) {
            assert_eq!(record.round, number, "{name}");
            assert_eq!(release.measurements_of(record), std::slice::from_ref(m), "{name}");
            let select = entries.next().unwrap();
            assert_eq!((select.round, &select.clique), (number, &None), "{name}");
            let NoiseMechanism::ExponentialMechanism { candidates, sensitivity, .. } =
                select.mechanism
            else {
                panic!("{name}: {select:?}");
            };
            assert_eq!(vec![candidates], record.choices, "{name}");
            let replace = run.relation == NeighboringRelation::ReplaceOne;
            assert!((sensitivity - if replace { 4.0 } else { 2.0 }).abs() < 1e-12, "{name}");
            if m.provenance == Provenance::Private {
                let measure = entries.next().unwrap();
                let names: Vec<String> = m.clique.iter().map(|a| domain.name(a).into()).collect();
                assert_eq!((measure.round, &measure.clique), (number, &Some(names)), "{name}");
                assert!((gaussian(measure) - m.stddev).abs() < 1e-12 * m.stddev, "{name}");
                assert!(m.values.iter().all(|v| v.fract() == 0.0), "{name}: no integer");
            } else {
                assert!(m.stddev.abs() < f64::MIN_POSITIVE, "{name}");
            }
        }
        assert_eq!(entries.next(), None, "{name}");
    }
}

#[test]
fn a_public_marginal_is_the_tables_own_scaled_to_the_private_total() {
    for (name, run) in runs() {
        let release = run.release(&jam(6));
        for m in &release.measurements {
            let Provenance::Public { source } = &m.provenance else { continue };
            let table = run.public.iter().find(|table| table.name() == source).unwrap();
            assert!(table.covers(&m.clique), "{name}");
            let counts = table.project_many(std::slice::from_ref(&m.clique)).unwrap();
            let scale = release.model.total() / table.records() as f64;
            for (value, count) in m.values.iter().zip(&counts[0]) {
                assert!((value - scale * f64::from(*count)).abs() < 1e-9 * release.model.total());
            }
        }
    }
}

#[test]
fn every_choice_is_a_subset_of_a_workload_clique() {
    let private = people(2000, 1, 0.0);
    let domain = private.domain();
    let cliques = [["SEX", "MAR", "TEN"].as_slice(), &["ESR", "SCH"]];
    let weighted =
        cliques.map(|names| WeightedClique { clique: domain.clique(names).unwrap(), weight: 1.0 });
    let workload = Workload::new(weighted, domain).unwrap();
    let closure = workload.downward_closure();
    assert_eq!(closure.len(), 10);
    for seed in 0..4 {
        let seed = NoiseSeed::Fixed(seed);
        let run =
            Run { workload: workload.clone(), seed, ..Run::new(&private, &[("p", &private)]) };
        let release = run.release(&jam(12));
        assert!(release.measurements.iter().all(|m| closure.contains(&m.clique)));
        // The attribute that no clique names stays uniform.
        let insured = domain.position("PRIVCOV").unwrap();
        let share = &release.model.marginals(&[Clique::new([insured])]).unwrap()[0];
        assert!(share.values().iter().all(|x| (x - 1000.0).abs() < 1e-6));
    }
}

#[test]
fn a_workload_of_one_clique_needs_no_other() {
    let private = people(2000, 1, 0.0);
    let clique = private.domain().clique(&["MAR", "ESR"]).unwrap();
    let one = [WeightedClique { clique: clique.clone(), weight: 3.0 }];
    let workload = Workload::new(one, private.domain()).unwrap();
    let run = Run { workload, epsilon: 10.0, ..Run::new(&private, &[]) };
    let release = run.release(&jam(5));
    assert!(release.measurements.iter().all(|m| m.clique.is_subset(&clique)));
    assert!(run.error(&release.model) < 0.1, "{}", run.error(&release.model));
}

#[test]
fn the_model_grows_with_the_budget_spent_and_stays_within_the_limit() {
    let private = people(3000, 1, 0.0);
    let near = people(3000, 2, 0.1);
    let domain = private.domain();
    let mut held_back = 0;
    for epsilon in [0.1, 3.0] {
        let run = Run { epsilon, ..Run::new(&private, &[("near", &near)]) };
        // 400 cells of 2,000, and a fifteenth of that in the first round.
        let limit_mib = size_mib(400);
        let mechanism = JamPgm { size_limit_mib: limit_mib, ..jam(15) };
        let release = run.release(&mechanism);
        let both = 2 * run.workload.downward_closure().len();
        let mut spent = Rho::ZERO;
        for (t, record) in release.rounds.iter().enumerate() {
            let cliques: Vec<Clique> =
                release.measurements[..=t].iter().map(|m| m.clique.clone()).collect();
            let share = spent.to_f64() / budget(epsilon).to_f64();
            let allowed = limit_mib * if t == 0 { 1.0 / 15.0 } else { share };
            let tree = JunctionTree::new(domain, &cliques);
            let inside = JunctionTree::new(domain, &cliques[..t]).host(&cliques[t]).is_some();
            let fits = size_mib(tree.cells()) <= allowed * (1.0 + 1e-12);
            assert!(inside || fits, "round {}: {} cells, {allowed} MiB", t + 1, tree.cells());
            let model_mib = record.fit.unwrap().model_mib();
            assert!(model_mib <= limit_mib && candidates(record) <= both);
            assert!((model_mib - size_mib(tree.cells())).abs() < 1e-12);
            held_back += usize::from(candidates(record) < both);
            let of_round = release.ledger.entries().iter().filter(|e| e.round == record.round);
            spent = of_round.fold(spent, |s, e| s.checked_add(e.rho).unwrap());
        }
    }
    assert!(held_back > 10, "the limit was felt in {held_back} rounds");
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_thread_and_on_two() {
    let private = people(2000, 1, 0.0);
    let near = people(1500, 2, 0.2);
    for relation in RELATIONS {
        let run = Run { relation, ..Run::new(&private, &[("near", &near)]) };
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&run.release(&jam(8))))
        };
        let once = on(1);
        assert_eq!(once, on(1));
        assert_eq!(once, on(2));
        assert_eq!(once, on(3));
        let other = Run { seed: NoiseSeed::Fixed(2), ..run.clone() };
        assert_ne!(once, bytes(&other.release(&jam(8))));
    }
}

#[test]
fn the_order_of_public_columns_and_further_ones_change_nothing() {
    let private = people(2000, 1, 0.0);
    let near = people(1500, 2, 0.2);
    let mut turned: Vec<&str> = NAMES.to_vec();
    turned.reverse();
    turned.swap(1, 4);
    let permuted = select(&near, &turned);
    let whole = jointly::demo::Generator { records: 1500, seed: 2, drift: 0.2 };
    let with_further_columns = whole.generate().unwrap();
    let release = |table: &Dataset| bytes(&Run::new(&private, &[("near", table)]).release(&jam(8)));
    let expected = release(&near);
    assert_eq!(expected, release(&permuted));
    assert_eq!(expected, release(&with_further_columns));
}

#[test]
fn a_public_table_that_lacks_attributes_supplies_only_cliques_that_it_covers() {
    let private = people(3000, 1, 0.0);
    let part = select(&private, &["TEN", "SEX", "MAR"]);
    let run = Run { epsilon: 0.01, ..Run::new(&private, &[("part", &part)]) };
    let covered = run.domain().clique(&["SEX", "MAR", "TEN"]).unwrap();
    let mut picks = 0;
    for seed in 0..5 {
        let release = Run { seed: NoiseSeed::Fixed(seed), ..run.clone() }.release(&jam(6));
        // 41 private candidates and 7 public ones.
        assert_eq!(candidates(release.rounds.last().unwrap()), 41 + 7);
        let free = release.measurements.iter().filter(|m| m.provenance != Provenance::Private);
        picks += free.inspect(|m| assert!(m.clique.is_subset(&covered))).count();
    }
    assert!(picks > 0);
}

#[test]
fn of_several_public_tables_the_one_that_is_right_is_taken() {
    let private = people(4000, 1, 0.0);
    let wrong = turned_round(&private);
    let run = Run::new(&private, &[("wrong", &wrong), ("right", &private)]);
    let mut picks: BTreeMap<String, usize> = BTreeMap::new();
    for seed in 0..4 {
        let release = Run { seed: NoiseSeed::Fixed(seed), ..run.clone() }.release(&jam(10));
        for m in &release.measurements {
            if let Provenance::Public { source } = &m.provenance {
                *picks.entry(source.clone()).or_default() += 1;
            }
        }
    }
    let of = |name: &str| picks.get(name).copied().unwrap_or(0);
    assert!(of("right") > 10 && of("right") > 5 * of("wrong"), "{picks:?}");
}

#[test]
fn without_a_public_table_every_measurement_is_private_and_the_error_falls_with_the_budget() {
    let private = people(5000, 1, 0.0);
    let run = Run::new(&private, &[]);
    let mut before = f64::INFINITY;
    for epsilon in [0.1, 1.0, 10.0] {
        let release = Run { epsilon, ..run.clone() }.release(&jam(12));
        assert_eq!(public_picks(&release), 0);
        assert_eq!(release.ledger.spent(), budget(epsilon));
        let error = run.error(&release.model);
        assert!(error < before, "epsilon {epsilon}: {error}, before {before}");
        before = error;
    }
    assert!(before < 0.1, "{before}");
}

#[test]
fn an_identical_public_table_is_mostly_taken_at_a_small_budget() {
    let private = people(3000, 1, 0.0);
    let run = Run { epsilon: 0.3, ..Run::new(&private, &[("same", &private)]) };
    let alone = Run { epsilon: 0.3, ..Run::new(&private, &[]) };
    let (mut picks, mut with, mut without) = (0, 0.0, 0.0);
    for seed in 0..4 {
        let seed = NoiseSeed::Fixed(seed);
        let release = Run { seed, ..run.clone() }.release(&jam(15));
        picks += public_picks(&release);
        with += run.error(&release.model) / 4.0;
        let release = Run { seed, ..alone.clone() }.release(&jam(15));
        without += run.error(&release.model) / 4.0;
    }
    assert!(picks > 48, "{picks} of 60");
    assert!(with < 0.15 && with < 0.3 * without, "{with}, {without} without");
}

#[test]
fn a_misleading_public_table_is_mostly_refused_at_a_large_budget() {
    let private = people(3000, 1, 0.0);
    let wrong = turned_round(&private);
    let run = Run { epsilon: 10.0, ..Run::new(&private, &[("wrong", &wrong)]) };
    let (mut picks, mut error) = (0, 0.0);
    for seed in 0..4 {
        let release = Run { seed: NoiseSeed::Fixed(seed), ..run.clone() }.release(&jam(15));
        picks += public_picks(&release);
        error += run.error(&release.model) / 4.0;
    }
    assert!(picks <= 6, "{picks} of 60");
    assert!(error < 0.1, "{error}");
}

#[test]
fn a_private_number_of_records_is_measured_once_for_one_percent() {
    let private = people(3000, 1, 0.0);
    let relation = NeighboringRelation::AddRemoveOne;
    let run = Run { relation, ..Run::new(&private, &[("same", &private)]) };
    let release = run.release(&jam(5));
    let counted: Vec<&LedgerEntry> =
        release.ledger.entries().iter().filter(|e| e.round == 0).collect();
    assert_eq!(counted.len(), 1);
    let share = budget(1.0).split(1, 100).unwrap().0;
    assert_eq!((counted[0].purpose.as_str(), counted[0].rho), ("number of records", share));
    // σ² = 1/(2ρ); six standard deviations: 10⁻⁹.
    let stddev = (1.0 / (2.0 * share.to_f64())).sqrt();
    let total = release.model.total();
    assert!(total.fract() == 0.0 && (total - 3000.0).abs() < 6.0 * stddev, "{total}, {stddev}");
    // Under replace-one the number is public and exact.
    let release = Run::new(&private, &[]).release(&jam(5));
    assert!((release.model.total() - 3000.0).abs() < 1e-9);
    assert!(release.ledger.entries().iter().all(|e| e.round > 0));
}

#[test]
fn a_limit_too_small_for_any_clique_is_a_clear_error() {
    let private = people(100, 1, 0.0);
    let run = Run::new(&private, &[("same", &private)]);
    let mechanism = JamPgm { size_limit_mib: 1e-6, ..jam(5) };
    let error = run.with(&mechanism, &mut Recorder::default()).unwrap_err();
    assert!(matches!(error, Error::SizeLimit { .. }), "{error}");
    assert!(error.to_string().contains("MiB"), "{error}");
    let mechanism = PublicOnly {
        size_limit_mib: 1e-6,
        rounds: Some(3),
        iterations: 10,
        ..PublicOnly::default()
    };
    let error = run.with(&mechanism, &mut Recorder::default()).unwrap_err();
    assert!(matches!(error, Error::SizeLimit { .. }), "{error}");
}

#[test]
fn parameters_that_make_no_sense_are_refused_before_anything_is_spent() {
    let private = people(100, 1, 0.0);
    let run = Run::new(&private, &[]);
    let mut wrong = vec![JamPgm { rounds: Some(0), ..jam(5) }];
    wrong.push(JamPgm { iterations: 0, ..jam(5) });
    for measure_share in [0.0, 1.0, -0.5, 1.5, f64::NAN, f64::INFINITY] {
        wrong.push(JamPgm { measure_share, ..jam(5) });
    }
    for size_limit_mib in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        wrong.push(JamPgm { size_limit_mib, ..jam(5) });
    }
    for mechanism in wrong {
        let mut seen = Recorder::default();
        let error = run.with(&mechanism, &mut seen).unwrap_err();
        assert!(
            matches!(error, Error::Common(jointly::CommonError::InvalidParameter { .. })),
            "{mechanism:?}: {error}"
        );
        assert!(seen.0.is_empty());
    }
    for mechanism in [
        PublicOnly { rounds: Some(0), ..PublicOnly::default() },
        PublicOnly { iterations: 0, ..PublicOnly::default() },
        PublicOnly { size_limit_mib: f64::NAN, ..PublicOnly::default() },
    ] {
        let run = Run::new(&private, &[("same", &private)]);
        let error = run.with(&mechanism, &mut Recorder::default()).unwrap_err();
        assert!(
            matches!(error, Error::Common(jointly::CommonError::InvalidParameter { .. })),
            "{mechanism:?}: {error}"
        );
    }
}

#[test]
fn the_smallest_tables_work() {
    let column = |cardinality, codes: &[u32]| {
        let domain = Domain::new([("a", cardinality)]).unwrap();
        let rows: Vec<[u32; 1]> = codes.iter().map(|c| [*c]).collect();
        Dataset::from_rows(domain, &rows).unwrap()
    };
    let one_row = Dataset::from_rows(people(1, 1, 0.0).domain().clone(), &[[0; 6]]).unwrap();
    for table in [column(3, &[0, 1, 1, 2]), column(2, &[1]), column(1, &[0, 0]), one_row] {
        for relation in RELATIONS {
            for public in [vec![], vec![("same", &table)]] {
                let run = Run { relation, ..Run::new(&table, &public) };
                let release = run.release(&jam(4));
                assert_eq!(release.rounds.len(), 4);
                assert!(release.ledger.spent() <= budget(1.0));
                assert!(bytes(&release).len() > 1000);
            }
        }
    }
}

#[test]
fn a_table_without_records_gives_a_model_of_noise_alone() {
    let domain = people(1, 1, 0.0).domain().clone();
    let empty = Dataset::from_rows::<[u32; 6]>(domain, &[]).unwrap();
    for relation in RELATIONS {
        let release = Run { relation, ..Run::new(&empty, &[]) }.release(&jam(3));
        assert_eq!(release.ledger.spent(), budget(1.0));
        assert!(release.model.total() >= 1.0);
    }
}

#[test]
fn the_public_only_baseline_spends_nothing_and_comes_close_to_its_table() {
    let private = people(3000, 1, 0.0);
    let wrong = turned_round(&private);
    let run = Run::new(&private, &[("wrong", &wrong), ("unused", &private)]);
    let mechanism = PublicOnly { rounds: Some(15), iterations: 300, ..PublicOnly::default() };
    let release = run.release(&mechanism);
    assert_eq!(release.ledger.spent(), Rho::ZERO);
    assert!(release.ledger.entries().is_empty());
    assert_eq!(release.measurements.len(), 15);
    let source = Provenance::Public { source: "wrong".into() };
    assert!(release.measurements.iter().all(|m| m.provenance == source));
    let of_public = Run::new(&wrong, &[]);
    assert!(of_public.error(&release.model) < 0.1, "{}", of_public.error(&release.model));
    assert!(run.error(&release.model) > 0.3);
    let error = Run::new(&private, &[]).with(&mechanism, &mut Recorder::default()).unwrap_err();
    assert!(
        matches!(error, Error::Common(jointly::CommonError::InvalidParameter { .. })),
        "{error}"
    );
}

#[test]
fn the_public_only_baseline_does_not_depend_on_private_records() {
    let public = people(2000, 2, 0.2);
    let release = |private: &Dataset| {
        let run = Run::new(private, &[("p", &public)]);
        bytes(&run.release(&PublicOnly { rounds: Some(8), ..PublicOnly::default() }))
    };
    let private = people(3000, 1, 0.0);
    assert_eq!(release(&private), release(&turned_round(&private)));
}

#[test]
fn events_say_nothing_that_the_release_does_not() {
    for (name, run) in runs() {
        let mut seen = Recorder::default();
        let release = run.with(&jam(6), &mut seen).unwrap();
        let mut rounds = release.rounds.iter();
        let mut current = None;
        let mut spent: BTreeMap<u32, Rho> = BTreeMap::new();
        for entry in release.ledger.entries() {
            let last = spent.last_key_value().map_or(Rho::ZERO, |(_, rho)| *rho);
            spent.insert(entry.round, last.checked_add(entry.rho).unwrap());
        }
        let closure = run.workload.downward_closure().len();
        let mut kinds = [0; 5];
        for event in &seen.0 {
            match event {
                Event::Started { mechanism, rounds, first_round, candidates, limit } => {
                    kinds[0] += 1;
                    assert_eq!((*mechanism, *rounds, *first_round), ("jam-pgm", 6, 1), "{name}");
                    assert_eq!((*candidates, *limit), (closure, budget(run.epsilon)), "{name}");
                }
                Event::Scored { round, candidates, exact, sampled } => {
                    kinds[1] += 1;
                    current = rounds.next();
                    let record = current.unwrap();
                    let known = crate::support::candidates(record);
                    assert_eq!((*round, *candidates), (record.round, known), "{name}");
                    assert!(exact + sampled <= closure, "{name}");
                }
                Event::Measured {
                    round,
                    rounds,
                    clique,
                    provenance,
                    stddev,
                    spent: so_far,
                    limit,
                } => {
                    kinds[2] += 1;
                    let record = current.unwrap();
                    assert_eq!((*round, *rounds), (record.round, 6), "{name}");
                    let m = &release.measurements_of(record)[0];
                    assert_eq!(run.domain().clique(clique).unwrap(), m.clique, "{name}");
                    assert_eq!(provenance, &m.provenance, "{name}");
                    assert_eq!(stddev.to_bits(), m.stddev.to_bits(), "{name}");
                    assert_eq!((*so_far, *limit), (spent[round], budget(run.epsilon)), "{name}");
                }
                Event::Fitted { round, fit } => {
                    kinds[3] += 1;
                    let record = current.unwrap();
                    assert_eq!((*round, Some(*fit)), (record.round, record.fit), "{name}");
                }
                Event::Certified(told) => {
                    kinds[4] += 1;
                    assert_eq!(*told, release.certificate.unwrap(), "{name}");
                    assert_eq!(told.loss.to_bits(), fitted(current.unwrap()).0.to_bits(), "{name}");
                    assert!((0.0..=told.loss).contains(&told.lower_bound), "{name}");
                    assert!(told.excess >= 0.0, "{name}");
                }
                other => panic!("{name}: an event that this test does not know: {other:?}"),
            }
        }
        assert_eq!(kinds, [1, 6, 6, 6, 1], "{name}");
    }
}

#[test]
fn a_release_under_a_fixed_seed_says_that_it_is_not_private() {
    let private = people(200, 1, 0.0);
    let run = Run::new(&private, &[]);
    assert!(!run.release(&jam(2)).is_private);
    let system = Run { seed: NoiseSeed::System, ..run };
    assert!(system.release(&jam(2)).is_private);
    assert_ne!(bytes(&system.release(&jam(2))), bytes(&system.release(&jam(2))));
}

#[test]
fn a_public_table_over_another_domain_is_refused_when_it_is_taken_in() {
    let private = people(10, 1, 0.0);
    let other = Dataset::from_rows(Domain::new([("SEX", 3)]).unwrap(), &[[2]]).unwrap();
    assert!(PublicData::new("p", other, private.domain()).is_err());
    let empty = Dataset::from_rows::<[u32; 6]>(private.domain().clone(), &[]).unwrap();
    assert!(PublicData::new("p", empty, private.domain()).is_err());
    assert_eq!(private.project(&Clique::new([0])).unwrap().iter().sum::<u32>(), 10);
}

#[test]
fn mechanisms_go_by_the_names_of_the_field() {
    assert_eq!((jam(1).name(), PublicOnly::default().name()), ("jam-pgm", "public-only"));
    assert_eq!((JamPgm::default_rounds(15), JamPgm::default_rounds(52)), (30, 104));
}
