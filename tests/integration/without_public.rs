//! AIM, MST, MWEM+PGM and independent attributes: what they choose, spend and ignore.

use jointly::data::Dataset;
use jointly::domain::{Clique, Domain};
use jointly::graph::{JunctionTree, size_mib};
use jointly::mechanism::{Aim, Independent, Mechanism, Mst, MwemPgm, Release};
use jointly::privacy::{MarginalSensitivity, NeighboringRelation, NoiseMechanism, Rho};
use jointly::query::{WeightedClique, Workload};
use jointly::{CommonError, Error};

use crate::support::{Recorder, Run, budget, bytes, candidates, people, turned_round};

const RELATIONS: [NeighboringRelation; 2] =
    [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne];

/// All four, with fits short enough for tests.
fn mechanisms() -> [Box<dyn Mechanism + Send + Sync>; 4] {
    let iterations = 200;
    [
        Box::new(Aim { iterations, ..Aim::default() }),
        Box::new(Mst { iterations, ..Mst::default() }),
        Box::new(MwemPgm { iterations, ..MwemPgm::default() }),
        Box::new(Independent { iterations, ..Independent::default() }),
    ]
}

fn cost(release: &Release, round: u32, chooses: bool) -> u64 {
    let of_round = release.ledger.entries().iter().filter(|e| e.round == round);
    let is_choice = |m: &NoiseMechanism| matches!(m, NoiseMechanism::ExponentialMechanism { .. });
    of_round.filter(|e| is_choice(&e.mechanism) == chooses).map(|e| e.rho.units()).sum()
}

#[test]
fn mechanisms_go_by_the_names_of_the_field() {
    let names = mechanisms().map(|mechanism| mechanism.name());
    assert_eq!(names, ["aim", "mst", "mwem-pgm", "independent"]);
    assert_eq!(Aim::default_rounds(15), 240);
}

#[test]
fn the_whole_budget_is_spent_to_the_last_unit_and_the_ledger_matches_the_measurements() {
    let private = people(3000, 1, 0.0);
    for relation in RELATIONS {
        for epsilon in [0.1, 1.0, 10.0] {
            for mechanism in mechanisms() {
                let run = Run { epsilon, relation, ..Run::new(&private, &[]) };
                let name = format!("{}, {relation}, {epsilon}", mechanism.name());
                let release = run.release(&*mechanism);
                assert_eq!(release.mechanism, mechanism.name());
                assert_eq!(release.ledger.limit(), budget(epsilon), "{name}");
                assert_eq!(release.ledger.spent(), budget(epsilon), "{name}");
                let mut entries = release.ledger.entries().iter();
                if relation == NeighboringRelation::AddRemoveOne {
                    let total = entries.next().unwrap();
                    assert_eq!(total.rho, budget(epsilon).split(1, 100).unwrap().0, "{name}");
                    assert_eq!((total.round, &total.clique), (0, &None), "{name}");
                } else {
                    assert_eq!(release.model.total().to_bits(), 3000_f64.to_bits(), "{name}");
                }
                for (record, m) in release.rounds.iter().zip(&release.measurements) {
                    if candidates(record) > 0 {
                        let choice = entries.next().unwrap();
                        let NoiseMechanism::ExponentialMechanism {
                            candidates, sensitivity, ..
                        } = choice.mechanism
                        else {
                            panic!("{name}: {choice:?}");
                        };
                        assert_eq!(vec![candidates], record.choices, "{name}");
                        let unit = f64::from(MarginalSensitivity::of(relation).l1());
                        // The weight of a clique of AIM is ten an attribute: all triples of six.
                        let aim = [10.0, 20.0, 30.0].map(|weight| weight * unit);
                        let stated = if mechanism.name() == "aim" { &aim[..] } else { &[unit] };
                        assert!(stated.iter().any(|s| (s - sensitivity).abs() < 1e-9), "{name}");
                    }
                    let entry = entries.next().unwrap();
                    let names: Vec<String> =
                        m.clique.iter().map(|a| run.domain().name(a).into()).collect();
                    assert_eq!((entry.round, &entry.clique), (record.round, &Some(names)));
                    let NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity } =
                        entry.mechanism
                    else {
                        panic!("{name}: {entry:?}");
                    };
                    let stated = MarginalSensitivity::of(relation).squared_l2();
                    assert_eq!(squared_l2_sensitivity, stated, "{name}");
                    assert!((variance.to_f64().sqrt() - m.stddev).abs() < 1e-9 * m.stddev);
                }
                assert_eq!(entries.next(), None, "{name}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_thread_and_on_two() {
    let private = people(2000, 1, 0.0);
    for mechanism in mechanisms() {
        let run = Run::new(&private, &[]);
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| bytes(&run.release(&*mechanism)))
        };
        assert_eq!(on(1), on(2), "{}", mechanism.name());
    }
}

#[test]
fn public_tables_are_not_used() {
    let (private, near) = (people(2000, 1, 0.0), people(1000, 2, 0.1));
    for mechanism in mechanisms() {
        let alone = bytes(&Run::new(&private, &[]).release(&*mechanism));
        let with = bytes(&Run::new(&private, &[("near", &near)]).release(&*mechanism));
        assert_eq!(alone, with, "{}", mechanism.name());
    }
}

#[test]
fn the_error_falls_with_the_budget() {
    let private = people(5000, 1, 0.0);
    for mechanism in mechanisms() {
        let mut before = f64::INFINITY;
        for epsilon in [0.03, 0.3, 10.0] {
            let run = Run { epsilon, ..Run::new(&private, &[]) };
            let error = run.error(&run.release(&*mechanism).model);
            assert!(error < before, "{}, {epsilon}: {error} after {before}", mechanism.name());
            before = error;
        }
        let limit = if mechanism.name() == "independent" { 0.5 } else { 0.15 };
        assert!(before < limit, "{}: {before}", mechanism.name());
    }
}

#[test]
fn aim_measures_single_attributes_first_then_halves_its_noise_and_ends_with_all_that_remains() {
    let private = people(4000, 1, 0.0);
    for relation in RELATIONS {
        for epsilon in [0.1, 1.0, 10.0] {
            let run = Run { epsilon, relation, ..Run::new(&private, &[]) };
            let release = run.release(&Aim::default());
            let singles: Vec<Clique> = (0..6).map(|a| Clique::new([a])).collect();
            let first: Vec<Clique> =
                release.measurements[..6].iter().map(|m| m.clique.clone()).collect();
            assert_eq!(first, singles);
            assert!(release.rounds[..6].iter().all(|record| record.choices.is_empty()));
            let paid = release.ledger.entries().iter().filter(|e| e.round == 0);
            let rest = paid.fold(budget(epsilon), |rest, e| rest.checked_sub(e.rho).unwrap());
            // T = 16 d = 96; nine tenths of a part for measuring.
            let part = rest.split(1, 96).unwrap().0;
            let base = part.fraction(0.9).unwrap().0.units();
            let last = u32::try_from(release.rounds.len()).unwrap();
            assert!((8..97).contains(&last), "{last} rounds");
            let mut level = base;
            for round in 1..last {
                let measured = cost(&release, round, false);
                assert!(measured == level || (round > 7 && measured == 4 * level), "{round}");
                level = measured;
                if round > 6 {
                    let chosen = cost(&release, round, true);
                    assert_eq!(chosen, measured / base * (part.units() - base), "round {round}");
                }
            }
            let step = |round| cost(&release, round, false) + cost(&release, round, true);
            assert!(step(last) >= step(last - 1), "the last round gets the rest");
            assert_eq!(release.ledger.remaining(), Rho::ZERO);
        }
    }
}

#[test]
fn aim_keeps_the_model_within_the_share_of_the_limit_that_is_spent() {
    let private = people(3000, 1, 0.0);
    let limit_mib = size_mib(300);
    let run = Run { epsilon: 3.0, ..Run::new(&private, &[]) };
    let release = run.release(&Aim { size_limit_mib: limit_mib, ..Aim::default() });
    let mut held_back = 0;
    let mut spent = 0;
    for (t, record) in release.rounds.iter().enumerate() {
        spent += cost(&release, record.round, false) + cost(&release, record.round, true);
        let cliques: Vec<Clique> =
            release.measurements[..=t].iter().map(|m| m.clique.clone()).collect();
        let inside = JunctionTree::new(run.domain(), &cliques[..t]).host(&cliques[t]).is_some();
        let allowed = limit_mib * spent as f64 / budget(3.0).units() as f64;
        let size = size_mib(JunctionTree::new(run.domain(), &cliques).cells());
        assert!(inside || size <= allowed * (1.0 + 1e-12), "round {}", record.round);
        held_back += usize::from((1..41).contains(&candidates(record)));
    }
    assert!(held_back > 3, "the limit was felt in {held_back} rounds");
}

#[test]
fn aim_prefers_what_weighs_more_in_the_workload() {
    let private = people(3000, 1, 0.0);
    let domain = private.domain();
    let light = domain.clique(&["SEX", "TEN"]).unwrap();
    let heavy = domain.clique(&["MAR", "ESR"]).unwrap();
    let cliques = [(light.clone(), 1.0), (heavy.clone(), 1000.0)];
    let weighted = cliques.map(|(clique, weight)| WeightedClique { clique, weight });
    let run = Run { workload: Workload::new(weighted, domain).unwrap(), ..Run::new(&private, &[]) };
    let release = run.release(&Aim::default());
    assert_eq!(release.measurements[4].clique, heavy, "after four attributes");
    assert!(
        release
            .measurements
            .iter()
            .all(|m| { m.clique.is_subset(&light) || m.clique.is_subset(&heavy) })
    );
}

#[test]
fn mst_measures_a_spanning_tree_for_a_third_of_the_budget_each() {
    let private = people(3000, 1, 0.0);
    for seed in 0..5 {
        let seed = jointly::privacy::NoiseSeed::Fixed(seed);
        let run = Run { seed, ..Run::new(&private, &[]) };
        let release = run.release(&Mst::default());
        assert_eq!(release.measurements.len(), 6 + 5);
        let pairs: Vec<Clique> =
            release.measurements[6..].iter().map(|m| m.clique.clone()).collect();
        assert!(pairs.iter().all(|pair| pair.len() == 2));
        // Five pairs that connect six attributes are a tree, and the tree's maximal cliques are the pairs.
        let mut component = pairs[0].clone();
        for _ in 0..5 {
            for pair in &pairs {
                if !component.intersection(pair).is_empty() {
                    component = component.union(pair);
                }
            }
        }
        assert_eq!(component.len(), 6);
        let of = |rounds: std::ops::RangeInclusive<u32>, chooses| {
            rounds.map(|round| cost(&release, round, chooses)).sum::<u64>() as f64
        };
        let third = budget(1.0).units() as f64 / 3.0;
        for part in [of(1..=6, false), of(7..=11, true), of(7..=11, false)] {
            assert!((part - third).abs() < 16.0, "{part} units of {third}");
        }
    }
}

#[test]
fn mst_finds_the_only_dependence_there_is() {
    // b is a copy of a; c and d are constant over both.
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2), ("d", 2)]).unwrap();
    let rows: Vec<[u32; 4]> = (0..4000).map(|i| [i % 2, i % 2, i / 2 % 2, i / 4 % 2]).collect();
    let table = Dataset::from_rows(domain, &rows).unwrap();
    let release = Run { epsilon: 3.0, ..Run::new(&table, &[]) }.release(&Mst::default());
    assert_eq!(release.measurements[4].clique, Clique::new([0, 1]));
}

#[test]
fn mst_without_room_for_a_pair_is_independent() {
    let private = people(3000, 1, 0.0);
    let domain = private.domain();
    let size_limit_mib = size_mib(JunctionTree::new(domain, &[]).cells());
    let release = Run::new(&private, &[]).release(&Mst { size_limit_mib, ..Mst::default() });
    assert_eq!(release.measurements.len(), 6);
    assert_eq!(release.ledger.spent(), budget(1.0));
    let expected = Run::new(&private, &[]).release(&Independent::default());
    assert_eq!(release.measurements, expected.measurements);
}

#[test]
fn mwem_measures_cliques_of_the_workload_once_an_attribute() {
    let private = people(3000, 1, 0.0);
    let run = Run::new(&private, &[]);
    let release = run.release(&MwemPgm::default());
    assert_eq!(release.measurements.len(), 6);
    let workload = run.workload.cliques();
    assert!(release.measurements.iter().all(|m| workload.contains(&m.clique)));
    let release = run.release(&MwemPgm { rounds: Some(9), ..MwemPgm::default() });
    assert_eq!(release.rounds.len(), 9);
    for round in 1..=9 {
        assert!(cost(&release, round, true).abs_diff(cost(&release, round, false)) <= 1);
    }
    let tight = MwemPgm { size_limit_mib: size_mib(30), ..MwemPgm::default() };
    let error = run.with(&tight, &mut Recorder::default()).unwrap_err();
    assert!(matches!(error, Error::NoCandidates { .. }), "{error}");
}

#[test]
fn independent_attributes_are_independent() {
    let private = people(3000, 1, 0.0);
    let release =
        Run { epsilon: 100.0, ..Run::new(&private, &[]) }.release(&Independent::default());
    let cliques = [Clique::new([1]), Clique::new([2]), Clique::new([1, 2])];
    let found = release.model.marginals(&cliques).unwrap();
    let (a, b, ab) = (found[0].values(), found[1].values(), found[2].values());
    for (i, x) in a.iter().enumerate() {
        for (j, y) in b.iter().enumerate() {
            assert!((ab[i * b.len() + j] - x * y / 3000.0).abs() < 1e-6);
        }
    }
    assert!(release.rounds.iter().all(|record| record.choices.is_empty()));
}

#[test]
fn misleading_or_tiny_tables_do_no_harm() {
    let column = |cardinality, codes: &[u32]| {
        let domain = Domain::new([("a", cardinality)]).unwrap();
        let rows: Vec<[u32; 1]> = codes.iter().map(|c| [*c]).collect();
        Dataset::from_rows(domain, &rows).unwrap()
    };
    let people = people(20, 1, 0.0);
    let empty = Dataset::from_rows::<[u32; 6]>(people.domain().clone(), &[]).unwrap();
    let tables =
        [column(3, &[0, 1, 1, 2]), column(2, &[1]), column(1, &[0]), empty, turned_round(&people)];
    for table in tables {
        for relation in RELATIONS {
            for mechanism in mechanisms() {
                let release = Run { relation, ..Run::new(&table, &[]) }.release(&*mechanism);
                assert_eq!(release.ledger.spent(), budget(1.0), "{}", mechanism.name());
                assert!(release.model.total() >= 1.0);
            }
        }
    }
}

#[test]
fn parameters_that_make_no_sense_are_refused_before_anything_is_spent() {
    let private = people(100, 1, 0.0);
    let mut wrong: Vec<Box<dyn Mechanism>> = Vec::new();
    for rounds in [0, 1, 6] {
        // Six attributes take a round each.
        wrong.push(Box::new(Aim { rounds: Some(rounds), ..Aim::default() }));
    }
    wrong.push(Box::new(MwemPgm { rounds: Some(0), ..MwemPgm::default() }));
    for measure_share in [0.0, 1.0, f64::NAN] {
        wrong.push(Box::new(Aim { measure_share, ..Aim::default() }));
        wrong.push(Box::new(MwemPgm { measure_share, ..MwemPgm::default() }));
    }
    for size_limit_mib in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        wrong.push(Box::new(Aim { size_limit_mib, ..Aim::default() }));
        wrong.push(Box::new(Mst { size_limit_mib, ..Mst::default() }));
        wrong.push(Box::new(Independent { size_limit_mib, ..Independent::default() }));
    }
    wrong.push(Box::new(Mst { iterations: 0, ..Mst::default() }));
    for relation in RELATIONS {
        for mechanism in &wrong {
            let mut seen = Recorder::default();
            let run = Run { relation, ..Run::new(&private, &[]) };
            let error = run.with(&**mechanism, &mut seen).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Common(
                        CommonError::InvalidParameter { .. }
                            | CommonError::InvalidSpecification { .. }
                    ) | Error::NoCandidates { .. }
                ),
                "{}: {error}",
                mechanism.name()
            );
            assert!(seen.0.is_empty());
        }
    }
}
