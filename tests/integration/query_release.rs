//! MWEM, PMW^Pub, PEP and PEP^Pub: what they choose, spend, tell and answer.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::Error;
use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{
    Iterate, Mechanism, Mwem, Pep, PepPub, PmwPub, Queries, QueryRelease, Release, Repeats, Reuse,
};
use jointly::model::{Distribution, Model, ModelFile, ModelLimits, Sampling, WeightedSupport};
use jointly::observe::{Event, Silent};
use jointly::privacy::{
    MarginalSensitivity, NeighboringRelation, NoiseMechanism, NoiseSeed, Selection,
};
use jointly::query::{WeightedClique, Workload};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::support::{
    Recorder, Run, budget, bytes, candidates, fitted, people, select, turned_round,
};

const RELATIONS: [NeighboringRelation; 2] =
    [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne];

/// Settings that tests go through: both selections, both kinds of queries, both iterates.
fn settings() -> Vec<QueryRelease> {
    let single = QueryRelease::new(6, Queries::Single);
    let marginals = QueryRelease::new(6, Queries::Marginals);
    vec![
        QueryRelease { iterate: Iterate::Average, ..single },
        QueryRelease { selection: Selection::Exponential, measure_share: 0.3, ..marginals },
        single,
        marginals,
    ]
}

/// All four.
fn mechanisms(release: &QueryRelease) -> [Box<dyn Mechanism + Send + Sync>; 4] {
    let (release, projections) = (*release, 10);
    [
        Box::new(Mwem { release, ..Mwem::default() }),
        Box::new(PmwPub { release, ..PmwPub::default() }),
        Box::new(Pep { release, projections, tolerance: 0.0 }),
        Box::new(PepPub { release, projections, tolerance: 0.0 }),
    ]
}

fn run() -> Run {
    Run::new(&people(2000, 1, 0.0), &[("near", &people(1500, 2, 0.2))])
}

fn support(release: &Release) -> &WeightedSupport {
    release.model.as_weighted_support().unwrap()
}

#[test]
fn mechanisms_go_by_the_names_of_the_field_and_have_the_rounds_of_their_papers() {
    let names = mechanisms(&settings()[0]).map(|mechanism| mechanism.name());
    assert_eq!(names, ["mwem", "pmw-pub", "pep", "pep-pub"]);
    let rounds = [
        Mwem::default().release.rounds,
        PmwPub::default().release.rounds,
        Pep::default().release.rounds,
        PepPub::default().release.rounds,
    ];
    assert_eq!(rounds, [100, 50, 25, 25]);
}

#[test]
fn the_whole_budget_is_spent_to_the_last_unit_and_the_ledger_matches_the_measurements() {
    for relation in RELATIONS {
        for settings in settings() {
            for mechanism in mechanisms(&settings) {
                let run = Run { relation, ..run() };
                let name = format!("{}, {relation}, {settings:?}", mechanism.name());
                let release = run.release(&*mechanism);
                assert_eq!(release.ledger.limit(), budget(1.0), "{name}");
                assert_eq!(release.ledger.spent(), budget(1.0), "{name}");
                assert_eq!((release.rounds.len(), release.measurements.len()), (6, 6), "{name}");
                let mut entries = release.ledger.entries().iter();
                if relation == NeighboringRelation::AddRemoveOne {
                    let total = entries.next().unwrap();
                    assert_eq!((total.round, &total.clique, total.cell), (0, &None, None));
                }
                for (record, m) in release.rounds.iter().zip(&release.measurements) {
                    let choice = entries.next().unwrap();
                    let (NoiseMechanism::PermuteAndFlip { sensitivity, candidates, .. }
                    | NoiseMechanism::ExponentialMechanism { sensitivity, candidates, .. }) =
                        choice.mechanism
                    else {
                        panic!("{name}: {choice:?}");
                    };
                    let flips = matches!(choice.mechanism, NoiseMechanism::PermuteAndFlip { .. });
                    assert_eq!(flips, settings.selection == Selection::PermuteAndFlip, "{name}");
                    assert!((sensitivity - 1.0).abs() < 1e-12, "{name}");
                    assert_eq!(vec![candidates], record.choices, "{name}");

                    let entry = entries.next().unwrap();
                    let names: Vec<String> =
                        m.clique.iter().map(|a| run.domain().name(a).into()).collect();
                    assert_eq!((entry.round, &entry.clique), (record.round, &Some(names)));
                    assert_eq!(entry.cell, m.cell.map(|cell| cell as u64), "{name}");
                    let NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity } =
                        entry.mechanism
                    else {
                        panic!("{name}: {entry:?}");
                    };
                    let single = settings.queries == Queries::Single;
                    assert_eq!(m.cell.is_some(), single, "{name}");
                    let stated =
                        if single { 1 } else { MarginalSensitivity::of(relation).squared_l2() };
                    assert_eq!(squared_l2_sensitivity, stated, "{name}");
                    assert!((variance.to_f64().sqrt() - m.stddev).abs() < 1e-9 * m.stddev);
                    let share = entry.rho.to_f64() / (entry.rho.to_f64() + choice.rho.to_f64());
                    assert!((share - settings.measure_share).abs() < 1e-6, "{name}");
                }
                assert_eq!(entries.next(), None, "{name}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_one_thread_and_on_two() {
    for settings in settings() {
        for mechanism in mechanisms(&settings) {
            let run = run();
            let on = |threads: usize| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| bytes(&run.release(&*mechanism)))
            };
            let once = on(1);
            assert_eq!(once, on(2), "{}", mechanism.name());
            let other = Run { seed: NoiseSeed::Fixed(2), ..run.clone() };
            assert_ne!(once, bytes(&other.release(&*mechanism)), "{}", mechanism.name());
        }
    }
}

/// Private records of both sexes, public ones of one: no weights bring the two cells of SEX, the first attribute, nearer
/// the truth, and no cell of another attribute is nearly as wrong.
fn one_sex_is_public(epsilon: f64) -> Run {
    let private = people(2000, 1, 0.0);
    let near = people(1500, 1, 0.0);
    let rows: Vec<Vec<u32>> = (0..1500).map(|r| near.row(r)).filter(|row| row[0] == 0).collect();
    let public = Dataset::from_rows(private.domain().clone(), &rows).unwrap();
    let workload = Workload::all_k_way(private.domain(), 1).unwrap();
    Run { workload, epsilon, ..Run::new(&private, &[("one sex", &public)]) }
}

/// What a run measured, and the number of candidates of each of its choices.
fn chosen(release: &Release) -> (Vec<(Clique, Option<usize>)>, Vec<u64>) {
    let measured = release.measurements.iter().map(|m| (m.clique.clone(), m.cell)).collect();
    let choices = release.rounds.iter().flat_map(|round| round.choices.clone()).collect();
    (measured, choices)
}

#[test]
fn a_query_whose_error_stays_the_largest_is_measured_again_and_again() {
    let run = one_sex_is_public(100.0);
    let release = QueryRelease::new(12, Queries::Single);
    let (measured, choices) = chosen(&run.release(&PmwPub { release, ..PmwPub::default() }));
    assert_eq!((measured.len(), &choices), (12, &vec![23; 12]));
    assert!(measured.iter().all(|(clique, _)| *clique == Clique::new([0])), "{measured:?}");

    let excluded = PmwPub { release, repeats: Repeats::Excluded, ..PmwPub::default() };
    let (mut measured, choices) = chosen(&run.release(&excluded));
    assert_eq!(choices, (12..24).rev().collect::<Vec<u64>>());
    measured.sort_unstable();
    measured.dedup();
    assert_eq!(measured.len(), 12);
}

#[test]
fn there_may_be_more_rounds_than_queries() {
    let run = one_sex_is_public(10.0);
    let workload = Workload::all_k_way(run.domain(), 1).unwrap();
    let sex = workload.cliques().into_iter().filter(|clique| *clique == Clique::new([0]));
    let sex = sex.map(|clique| WeightedClique { clique, weight: 1.0 });
    let run = Run { workload: Workload::new(sex, run.domain()).unwrap(), ..run };
    for (repeats, expected) in
        [(Repeats::Allowed, [2, 2, 2, 2, 2]), (Repeats::Excluded, [2, 1, 2, 1, 2])]
    {
        let release = QueryRelease::new(5, Queries::Single);
        let mechanisms: [Box<dyn Mechanism>; 2] = [
            Box::new(Mwem { release, repeats, ..Mwem::default() }),
            Box::new(PmwPub { release, repeats, ..PmwPub::default() }),
        ];
        for mechanism in mechanisms {
            let release = run.release(&*mechanism);
            let (measured, choices) = chosen(&release);
            assert_eq!((measured.len(), choices), (5, expected.to_vec()), "{}", mechanism.name());
            assert_eq!(release.ledger.spent(), release.ledger.limit());
            assert_eq!(release.ledger.entries().len(), 10);
        }
    }
}

#[test]
fn the_queries_of_one_round_are_distinct_and_those_of_two_rounds_need_not_be() {
    let run = one_sex_is_public(100.0);
    for queries in [Queries::Single, Queries::Marginals] {
        let release = QueryRelease { per_round: 2, ..QueryRelease::new(3, queries) };
        let release = run.release(&PmwPub { release, ..PmwPub::default() });
        let (measured, choices) = chosen(&release);
        let all = if queries == Queries::Single { 23 } else { 6 };
        assert_eq!(choices, [all, all - 1].repeat(3));
        for pair in measured.chunks(2) {
            assert_ne!(pair[0], pair[1]);
            assert_eq!(pair[0].0, Clique::new([0]));
        }
    }
}

#[test]
fn nothing_measured_is_selected_again_while_there_is_anything_else() {
    let run = Run { workload: Workload::all_k_way(run().domain(), 2).unwrap(), ..run() };
    let release = run.release(&Pep {
        release: QueryRelease::new(17, Queries::Marginals),
        projections: 2,
        tolerance: 0.0,
    });
    let mut cliques: Vec<&Clique> = release.measurements.iter().map(|m| &m.clique).collect();
    let again = cliques.split_off(15);
    cliques.sort();
    cliques.dedup();
    // All fifteen pairs, and two of them again.
    assert_eq!((cliques.len(), again.len()), (15, 2));
    let left: Vec<usize> = release.rounds.iter().map(candidates).collect();
    assert_eq!((left[0], left[14], left[15]), (15, 1, 15));
}

#[test]
fn every_support_comes_near_the_truth_where_the_budget_is_large() {
    let private = people(5000, 1, 0.0);
    // Every private record is public, at other frequencies.
    let mut rows: Vec<Vec<u32>> = (0..5000).map(|r| private.row(r)).collect();
    let far = people(20_000, 3, 1.0);
    rows.extend((0..far.records()).map(|r| far.row(r)));
    let public = Dataset::from_rows(private.domain().clone(), &rows).unwrap();
    let run = Run { epsilon: 30.0, ..Run::new(&private, &[("all", &public)]) };
    let at_start = WeightedSupport::from_public(run.domain(), &run.public, 5000.0).unwrap();
    let before = run.error(&at_start.into());
    let uniform = WeightedSupport::all_cells(run.domain(), 5000.0).unwrap();
    let uniform = run.error(&uniform.into());
    let release = QueryRelease::new(20, Queries::Marginals);
    for mechanism in mechanisms(&release) {
        let found = run.release(&*mechanism);
        let error = run.error(&found.model);
        let name = mechanism.name();
        let before = if name.ends_with("pub") { before } else { uniform };
        assert!(error < 0.7 * before, "{name}: {error}, {before} before");
        if name.starts_with("pep") {
            assert!(error < 0.12, "{name}: {error}");
            // Every answer is met, as nearly as ten projections a round allow.
            assert!(fitted(found.rounds.last().unwrap()).0 < 0.05, "{name}");
        }
    }
}

#[test]
fn pep_is_not_worse_than_mwem_at_the_same_queries() {
    let private = people(5000, 1, 0.0);
    for epsilon in [0.3, 3.0] {
        let (mut mwem, mut pep) = (0.0, 0.0);
        for seed in 0..8 {
            let run = Run { epsilon, seed: NoiseSeed::Fixed(seed), ..Run::new(&private, &[]) };
            mwem += run.error(&run.release(&Mwem::default()).model) / 8.0;
            pep += run.error(&run.release(&Pep::default()).model) / 8.0;
        }
        assert!(pep < 1.05 * mwem, "epsilon {epsilon}: {pep}, {mwem} of MWEM");
    }
}

#[test]
fn several_public_tables_are_taken_together_and_one_without_an_attribute_is_refused() {
    let private = people(1000, 1, 0.0);
    let (near, far) = (people(400, 2, 0.1), people(700, 3, 1.0));
    let run = Run::new(&private, &[("near", &near), ("far", &far)]);
    let union = WeightedSupport::from_public(run.domain(), &run.public, 1000.0).unwrap();
    let counts = |table: &Dataset| table.project(&Clique::new([0, 3])).unwrap();
    let pooled = counts(&near).into_iter().zip(counts(&far)).map(|(a, b)| f64::from(a + b));
    let found = union.marginals(&[Clique::new([0, 3])]).unwrap().swap_remove(0);
    for (pooled, found) in pooled.zip(found.values()) {
        assert!((pooled * 1000.0 / 1100.0 - found).abs() < 1e-9);
    }
    let release = run
        .release(&PmwPub { release: QueryRelease::new(3, Queries::Single), ..PmwPub::default() });
    assert_eq!(support(&release).size(), union.size());
    let part = select(&near, &["SEX", "MAR"]);
    let refused = |public: &[(&str, &Dataset)]| {
        let error = Run::new(&private, public).with(&PepPub::default(), &mut Silent).unwrap_err();
        error.to_string()
    };
    let message = refused(&[("near", &near), ("part", &part)]);
    assert!(message.contains("'part'") && message.contains("SCH"), "{message}");
    assert!(refused(&[]).contains("number of public tables"));
}

#[test]
fn public_tables_are_not_used_by_mwem_and_pep_and_bind_the_others() {
    let private = people(1000, 1, 0.0);
    let near = people(800, 2, 0.1);
    for mechanism in [0, 2].map(|i| mechanisms(&settings()[0]).into_iter().nth(i).unwrap()) {
        let alone = bytes(&Run::new(&private, &[]).release(&*mechanism));
        let with = bytes(&Run::new(&private, &[("near", &near)]).release(&*mechanism));
        assert_eq!(alone, with, "{}", mechanism.name());
    }
    let everything = private.domain().everything();
    let public = near.project(&everything).unwrap();
    for mechanism in [1, 3].map(|i| mechanisms(&settings()[0]).into_iter().nth(i).unwrap()) {
        let release = Run::new(&private, &[("near", &near)]).release(&*mechanism);
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        for method in [Sampling::Rounded, Sampling::Independent] {
            let rows = release.model.sample(3000, method, &mut rng).unwrap();
            let drawn = rows.project(&everything).unwrap();
            assert!(drawn.iter().zip(&public).all(|(drawn, public)| *drawn == 0 || *public > 0));
        }
    }
}

#[test]
fn a_misleading_public_table_does_not_break_a_run() {
    let private = people(1000, 1, 0.0);
    let wrong = turned_round(&private);
    let one = Dataset::from_rows(private.domain().clone(), &[[0_u32; 6]]).unwrap();
    for relation in RELATIONS {
        for public in [&wrong, &one] {
            for settings in settings() {
                for mechanism in mechanisms(&settings) {
                    let epsilon = 20.0;
                    let run = Run { epsilon, relation, ..Run::new(&private, &[("p", public)]) };
                    let release = run.release(&*mechanism);
                    let mass: f64 = support(&release).weights().iter().sum();
                    assert!((mass / support(&release).weights().len() as f64).is_finite());
                    assert!(mass > 0.0 && release.ledger.spent() == budget(20.0));
                }
            }
        }
    }
}

#[test]
fn a_domain_or_a_workload_that_is_too_large_is_refused_before_anything_is_spent() {
    let domain = Domain::new((0..23).map(|i| (format!("a{i}"), 2))).unwrap();
    let rows = [[0_u32; 23], [1; 23]];
    let private = Dataset::from_rows(domain, &rows).unwrap();
    let run = Run {
        workload: Workload::all_k_way(private.domain(), 2).unwrap(),
        ..Run::new(&private, &[])
    };
    for mechanism in [0, 2].map(|i| mechanisms(&settings()[0]).into_iter().nth(i).unwrap()) {
        let error = run.with(&*mechanism, &mut Silent).unwrap_err();
        assert!(matches!(error, Error::Common(jointly::CommonError::TooLarge { .. })), "{error}");
    }
    let wide = Domain::new([("a", 9000), ("b", 9000)]).unwrap();
    let private = Dataset::from_rows(wide, &[[1_u32, 2]]).unwrap();
    let run = Run {
        workload: Workload::all_k_way(private.domain(), 2).unwrap(),
        ..Run::new(&private, &[("p", &private)])
    };
    let error = run.with(&PmwPub::default(), &mut Silent).unwrap_err();
    assert!(error.to_string().contains("queries of a workload"), "{error}");
}

#[test]
fn parameters_out_of_range_are_refused() {
    let good = QueryRelease::new(2, Queries::Single);
    let refused = |mechanism: &dyn Mechanism| run().with(mechanism, &mut Silent).is_err();
    assert!(refused(&Mwem { release: QueryRelease { rounds: 0, ..good }, ..Mwem::default() }));
    for share in [0.0, 1.0, f64::NAN] {
        assert!(refused(&Mwem {
            release: QueryRelease { measure_share: share, ..good },
            ..Mwem::default()
        }));
    }
    assert!(refused(&Pep { release: good, projections: 0, tolerance: 0.0 }));
    assert!(refused(&PepPub { release: good, projections: 0, tolerance: 0.0 }));
    for tolerance in [-0.1, 1.0, f64::NAN] {
        assert!(refused(&Pep { release: good, projections: 1, tolerance }));
    }
}

#[test]
fn past_queries_are_used_again_or_not_and_a_tolerance_leaves_small_errors() {
    use jointly::mechanism::FitRecord::WeightedSupport;
    let run = run();
    let release = QueryRelease::new(12, Queries::Single);
    let used = |mechanism: &dyn Mechanism| -> (Vec<u32>, f64) {
        let release = run.release(mechanism);
        let fits = release.rounds.iter().map(|round| match round.fit.unwrap() {
            WeightedSupport { queries, largest_error, .. } => (queries, largest_error),
            other => unreachable!("{other:?}"),
        });
        let fits: Vec<(u32, f64)> = fits.collect();
        (fits.iter().map(|(queries, _)| *queries).collect(), fits[11].1)
    };
    assert_eq!(used(&Mwem { release, reuse: Reuse::Own, ..Mwem::default() }).0, [1; 12]);
    let reused = used(&Mwem { release, ..Mwem::default() }).0;
    assert!(reused.iter().any(|queries| *queries > 1), "{reused:?}");
    let (strict, met) = used(&Pep { release, projections: 200, tolerance: 0.0 });
    let (lenient, left) = used(&Pep { release, projections: 200, tolerance: 0.02 });
    assert!(lenient.iter().sum::<u32>() < strict.iter().sum::<u32>(), "{lenient:?} {strict:?}");
    assert!(met < left && left <= 0.02, "{met} {left}");
}

#[test]
fn structural_zeros_have_no_weight() {
    let domain = people(1, 1, 0.0).domain().clone();
    let rule = vec![("SEX", vec![0]), ("MAR", vec![1, 2])];
    let zeros = domain.forbid([rule]).unwrap();
    let private = people(2000, 1, 0.0);
    let kept: Vec<Vec<u32>> = (0..2000)
        .map(|r| private.row(r))
        .filter(|row| row[0] != 0 || !(1..=2).contains(&row[2]))
        .collect();
    let private = Dataset::from_rows(zeros, &kept).unwrap();
    let near = people(500, 2, 0.0); // holds records that are forbidden
    let run = Run::new(&private, &[("near", &near)]);
    for mechanism in mechanisms(&settings()[3]) {
        let release = run.release(&*mechanism);
        let table = release.model.marginals(&[Clique::new([0, 2])]).unwrap().swap_remove(0);
        let forbidden = table.values()[1].abs().max(table.values()[2].abs());
        assert!(forbidden < f64::MIN_POSITIVE, "{}: {forbidden}", mechanism.name());
    }
}

#[test]
fn events_say_nothing_that_the_release_does_not() {
    for settings in settings() {
        for mechanism in mechanisms(&settings) {
            let mut seen = Recorder::default();
            let release = run().with(&*mechanism, &mut seen).unwrap();
            let mut kinds = [0; 4];
            for event in &seen.0 {
                match event {
                    Event::Started { rounds, first_round, candidates, .. } => {
                        kinds[0] += 1;
                        assert_eq!((*rounds, *first_round, *candidates), (6, 1, 20));
                    }
                    Event::Scored { round, candidates, .. } => {
                        kinds[1] += 1;
                        let record = &release.rounds[*round as usize - 1];
                        assert_eq!(*candidates, crate::support::candidates(record));
                    }
                    Event::Measured { round, stddev, spent, limit, .. } => {
                        kinds[2] += 1;
                        let record = &release.rounds[*round as usize - 1];
                        let known = release.measurements_of(record)[0].stddev;
                        assert_eq!(stddev.to_bits(), known.to_bits());
                        assert!(spent <= limit);
                    }
                    Event::Fitted { round, fit } => {
                        kinds[3] += 1;
                        assert_eq!(Some(*fit), release.rounds[*round as usize - 1].fit);
                    }
                    other => panic!("an event that this test does not know: {other:?}"),
                }
            }
            assert_eq!(kinds, [1, 6, 6, 6], "{}", mechanism.name());
        }
    }
}

#[test]
fn a_released_support_is_written_and_read_back() {
    let schema = jointly::domain::Schema::from_json(
        r#"{"SEX": 2, "SCH": 4, "MAR": 5, "ESR": 5, "PRIVCOV": 2, "TEN": 5}"#,
        "d",
    );
    let schema = schema.unwrap();
    let private = people(500, 1, 0.0);
    let sizes = |d: &Domain| (0..d.len()).map(|a| d.cardinality(a)).collect::<Vec<_>>();
    assert_eq!(sizes(&schema.domain()), sizes(private.domain()));
    let release = Run::new(&private, &[])
        .release(&Mwem { release: QueryRelease::new(3, Queries::Single), ..Mwem::default() });
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.json");
    let file = release.model_file(schema);
    file.write(&path).unwrap();
    let back = ModelFile::read(&path, ModelLimits::default()).unwrap();
    let draw = |model: &Model| {
        model.sample(700, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(4)).unwrap()
    };
    assert_eq!(draw(&back.model), draw(&release.model));
    assert_eq!((back.mechanism.as_str(), back.is_private), ("mwem", false));
}
