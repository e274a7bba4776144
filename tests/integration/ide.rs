//! IDE: sizes and answers of groups within groups, for both relations, units, and both forms of noise.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use jointly::data::{Dataset, PublicData};
use jointly::domain::{Clique, Domain};
use jointly::mechanism::{GroupProjection, Ide, LevelShares, Mechanism, Release, Task};
use jointly::model::Sampling;
use jointly::observe::Silent;
use jointly::privacy::NeighboringRelation::{AddRemoveOne, AddRemoveUnit, ReplaceOne};
use jointly::privacy::{
    Checkpoint, Curator, Epsilon, NeighboringRelation, NoiseForm, NoiseMechanism, NoiseSeed,
    RecordsPerUnit, Rho,
};
use jointly::query::Workload;
use jointly::{Error, PrivacyError};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const AREAS: u32 = 6;
const FORMS: [NoiseForm; 2] = [NoiseForm::Gaussian, NoiseForm::Laplace];

fn relations() -> [NeighboringRelation; 3] {
    [ReplaceOne, AddRemoveOne, AddRemoveUnit(RecordsPerUnit::new(3).unwrap())]
}

/// Two states of six areas each, one of which, (1, 5), has nobody; area a prefers value a of `x`.
fn private(records: u32) -> Dataset {
    let domain = [("x", 6), ("area", AREAS), ("y", 3), ("state", 2), ("z", 2)];
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let rows: Vec<[u32; 5]> = (0..records)
        .map(|_| {
            let state = rng.random_range(0..2);
            let area = rng.random_range(0..AREAS - state);
            let x = if rng.random_bool(0.5) { area } else { rng.random_range(0..6) };
            let y = if rng.random_bool(0.7) { x / 2 } else { rng.random_range(0..3) };
            [x, area, y, state, u32::from(rng.random_bool(0.2 + 0.4 * f64::from(state)))]
        })
        .collect();
    Dataset::from_rows(Domain::new(domain).unwrap(), &rows).unwrap()
}

/// A table of another place, without groups: y follows x as in the private one.
fn public(domain: &Domain) -> PublicData {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    let rows: Vec<[u32; 3]> = (0..4000)
        .map(|_| {
            let x = rng.random_range(0..6);
            let y = if rng.random_bool(0.7) { x / 2 } else { rng.random_range(0..3) };
            [x, y, rng.random_range(0..2)]
        })
        .collect();
    let own = Domain::new([("x", 6), ("y", 3), ("z", 2)]).unwrap();
    PublicData::new("elsewhere", Dataset::from_rows(own, &rows).unwrap(), domain).unwrap()
}

fn ide(noise: NoiseForm) -> Ide {
    let groups = vec!["state".into(), "area".into()];
    Ide { groups, noise, answer_share: 0.5, level_shares: LevelShares::Equal, ..Ide::default() }
}

fn run(mechanism: &Ide, curator: &mut Curator<'_>) -> jointly::Result<Release> {
    let domain = curator.domain().clone();
    let workload = Workload::all_k_way(&domain, 1)?;
    let public = [public(&domain)];
    mechanism.run(curator, &Task::new(&workload, &public), &mut Silent)
}

fn release(noise: NoiseForm, relation: NeighboringRelation, epsilon: f64) -> Release {
    release_of(&ide(noise), relation, epsilon)
}

fn release_of(mechanism: &Ide, relation: NeighboringRelation, epsilon: f64) -> Release {
    let data = private(12_000);
    let mut curator = match mechanism.noise {
        NoiseForm::Laplace => {
            let epsilon = Epsilon::new(epsilon).unwrap();
            Curator::pure(&data, relation, epsilon, NoiseSeed::Fixed(5)).unwrap()
        }
        NoiseForm::Gaussian => {
            let limit = Rho::from_f64(epsilon).unwrap();
            Curator::new(&data, relation, limit, NoiseSeed::Fixed(5)).unwrap()
        }
    };
    run(mechanism, &mut curator).unwrap()
}

/// Mean over groups with records of the L1 distance, as frequencies, of the marginal on some attributes.
fn distance(release: &Release, data: &Dataset, attributes: &[usize]) -> f64 {
    let groups = Clique::new([1, 3]);
    let clique = groups.union(&Clique::new(attributes.iter().copied()));
    let expected =
        data.weighted_marginals(&vec![1.0; data.records()], std::slice::from_ref(&clique));
    let expected = expected.unwrap().swap_remove(0);
    let found = release.model.marginals(std::slice::from_ref(&clique)).unwrap();
    let all = data.domain().shape(&clique);
    let (mut real, mut fit) = (vec![Vec::new(); 12], vec![Vec::new(); 12]);
    for (cell, (x, y)) in expected.iter().zip(found[0].values()).enumerate() {
        let (mut rest, mut group) = (cell, 0);
        for (attribute, k) in clique.iter().zip(&all).rev() {
            group += match attribute {
                1 => rest % k * 2,
                3 => rest % k,
                _ => 0,
            };
            rest /= k;
        }
        real[group].push(*x);
        fit[group].push(*y);
    }
    let (mut sum, mut number) = (0.0, 0);
    for (x, y) in real.iter().zip(&fit) {
        let (n, m): (f64, f64) = (x.iter().sum(), y.iter().sum());
        if n > 0.0 {
            sum += x.iter().zip(y).map(|(x, y)| (x / n - y / m).abs()).sum::<f64>();
            number += 1;
        }
    }
    sum / f64::from(number)
}

#[test]
fn groups_come_near_their_own_marginals_under_every_relation_and_noise() {
    let data = private(12_000);
    for relation in relations() {
        for noise in FORMS {
            let release =
                release(noise, relation, if noise == NoiseForm::Laplace { 20.0 } else { 4.0 });
            // Measured: x. Between measured ones: x and y, which the public table ties.
            let (single, pair) =
                (distance(&release, &data, &[0]), distance(&release, &data, &[0, 2]));
            assert!(single < 0.08, "{relation}, {noise:?}: {single}");
            assert!(pair < 0.25, "{relation}, {noise:?}: {pair}");
            assert_eq!(release.model.as_grouped_support().unwrap().groups().len(), 12);
            let total = release.model.total();
            assert!((total - 12_000.0).abs() < 60.0, "{relation}, {noise:?}: {total}");
            if relation == ReplaceOne {
                assert!((total - 12_000.0).abs() < 1e-6, "{total}");
            }
        }
    }
}

#[test]
fn every_group_has_about_its_own_size_and_one_without_records_has_next_to_none() {
    let data = private(12_000);
    let groups = Clique::new([1, 3]);
    let counts =
        data.weighted_marginals(&vec![1.0; 12_000], std::slice::from_ref(&groups)).unwrap();
    let release = release(NoiseForm::Gaussian, AddRemoveOne, 4.0);
    let fit = release.model.marginals(&[groups]).unwrap();
    for (count, size) in counts[0].iter().zip(fit[0].values()) {
        assert!((count - size).abs() < 12.0, "{count} records, size {size}");
    }
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let rows = release.model.sample(6000, Sampling::Rounded, &mut rng).unwrap();
    assert_eq!((rows.records(), rows.domain()), (6000, data.domain()));
}

#[test]
fn the_ledger_is_never_over_its_limit_and_names_what_was_measured() {
    for relation in relations() {
        for (noise, epsilon) in FORMS.into_iter().flat_map(|noise| [0.3, 3.0].map(|e| (noise, e))) {
            let release = release(noise, relation, epsilon);
            let ledger = &release.ledger;
            assert!(ledger.spent() <= ledger.limit());
            assert_eq!(ledger.entries().len(), release.measurements.len());
            assert_eq!(ledger.records_per_unit(), relation.unit());
            // Sizes of states, answers of states, sizes of areas, answers of areas: a fourth each.
            let levels = |has_area, sizes| {
                let of = ledger.entries().iter().filter(move |entry| {
                    let clique = entry.clique.as_ref().unwrap();
                    let names = clique.iter().filter(|n| *n == "state" || *n == "area").count();
                    (clique.iter().any(|n| n == "area"), clique.len() == names) == (has_area, sizes)
                });
                of.map(|entry| match entry.mechanism {
                    NoiseMechanism::DiscreteLaplace { scale, l1_sensitivity } => {
                        assert_eq!(noise, NoiseForm::Laplace);
                        f64::from(l1_sensitivity) / scale.to_f64() / epsilon
                    }
                    _ => entry.rho.to_f64() / ledger.limit().to_f64(),
                })
                .sum::<f64>()
            };
            for (has_area, sizes) in [(false, true), (true, true), (false, false), (true, false)] {
                let share = levels(has_area, sizes);
                let is_empty = share == 0.0 && !sizes; // no marginal was worth its noise
                // What the states leave over is for the answers of the areas.
                let more = has_area && !sizes && levels(false, false) == 0.0;
                let expected = if more { 0.5 } else { 0.25 };
                assert!(
                    is_empty || (share - expected).abs() < 1e-3,
                    "{relation} {noise:?}: {share}"
                );
            }
            match noise {
                NoiseForm::Laplace => assert!(ledger.pure_epsilon().unwrap() <= epsilon),
                NoiseForm::Gaussian => assert_eq!(ledger.pure_epsilon(), None),
            }
            let written = serde_json::to_string(ledger).unwrap();
            let read: jointly::privacy::Ledger = serde_json::from_str(&written).unwrap();
            assert_eq!(&read, ledger);
        }
    }
}

#[test]
fn what_is_spent_is_the_whole_budget_and_each_level_has_its_share() {
    // Two states, twelve areas: by groups 2^p and 12^p.
    let by_groups = |power: f64| 2_f64.powf(power) / (2_f64.powf(power) + 12_f64.powf(power));
    for relation in relations() {
        for noise in FORMS {
            let power = if noise == NoiseForm::Gaussian { 2.0 / 3.0 } else { 0.5 };
            for (level_shares, of_states) in [
                (LevelShares::ByGroups, by_groups(power)),
                (LevelShares::Equal, 0.5),
                (LevelShares::Given(vec![1.0, 7.0]), 0.125),
            ] {
                let what = format!("{relation} {noise:?} {level_shares}");
                let mechanism = Ide { level_shares, noise_to_count: 1e9, ..ide(noise) };
                let release = release_of(&mechanism, relation, 2.0);
                let ledger = &release.ledger;
                assert_eq!(ledger.entries().len(), 8, "{what}");
                let cost = |area: bool| -> f64 {
                    let entries = ledger.entries().iter();
                    let is_of = |names: &Vec<String>| names.iter().any(|n| n == "area") == area;
                    let of = entries.filter(|e| e.clique.as_ref().is_some_and(is_of));
                    of.map(|entry| match entry.mechanism {
                        NoiseMechanism::DiscreteLaplace { scale, l1_sensitivity } => {
                            f64::from(l1_sensitivity) / scale.to_f64() / 2.0
                        }
                        _ => entry.rho.to_f64() / 2.0,
                    })
                    .sum()
                };
                assert!((cost(false) - of_states).abs() < 1e-5, "{what}: {}", cost(false));
                assert!((cost(false) + cost(true) - 1.0).abs() < 1e-9, "{what}");
                match noise {
                    NoiseForm::Gaussian => assert_eq!(ledger.spent(), ledger.limit(), "{what}"),
                    NoiseForm::Laplace => {
                        let epsilon = ledger.pure_epsilon().unwrap();
                        assert!(epsilon <= 2.0 && epsilon > 2.0 - 1e-5, "{what}: {epsilon}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_a_level_does_not_need_goes_to_the_answers_of_the_last() {
    // A tenth of the noise's variance that a state's answers would need, and next to none of the areas'.
    let mechanism = Ide {
        level_shares: LevelShares::Given(vec![1.0, 1e5]),
        noise_to_count: 1.0,
        ..ide(NoiseForm::Gaussian)
    };
    let release = release_of(&mechanism, AddRemoveOne, 1.0);
    let of_states = release.measurements.iter().filter(|m| !m.clique.iter().any(|a| a == 1));
    assert_eq!(of_states.count(), 1, "sizes alone");
    assert!(release.measurements.len() > 2);
    assert_eq!(release.ledger.spent(), release.ledger.limit());
}

#[test]
fn a_checkpoint_of_other_shares_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let data = private(2000);
    let run_with = |mechanism: &Ide, limit: f64| {
        let limit = Rho::from_f64(limit).unwrap();
        let curator = Curator::new(&data, AddRemoveOne, limit, NoiseSeed::System).unwrap();
        let checkpoint = Checkpoint::open(folder.path(), "areas, seed 1")?;
        run(mechanism, &mut curator.with_checkpoint(checkpoint))
    };
    let usual = ide(NoiseForm::Gaussian);
    let first = run_with(&usual, 1.0).unwrap();
    assert_eq!(run_with(&usual, 1.0).unwrap().measurements, first.measurements);
    for other in [
        Ide { level_shares: LevelShares::ByGroups, ..usual.clone() },
        Ide { answer_share: 0.6, ..usual.clone() },
        Ide { groups: vec!["area".into(), "state".into()], ..usual.clone() },
        Ide { noise: NoiseForm::Laplace, ..usual.clone() },
        Ide { noise_to_count: 5.0, ..usual.clone() },
        Ide { cliques: Some(1), ..usual.clone() },
    ] {
        let error = run_with(&other, 1.0).unwrap_err();
        assert!(matches!(error, Error::Privacy(PrivacyError::Checkpoint { .. })), "{error}");
    }
    assert!(matches!(
        run_with(&usual, 1.1).unwrap_err(),
        Error::Privacy(PrivacyError::Checkpoint { .. })
    ));
    // Passes affect only the tables, but a resumed run must still be the one that began.
    let error = run_with(&Ide { passes: 3, ..usual.clone() }, 1.0).unwrap_err();
    assert!(matches!(error, Error::Privacy(PrivacyError::Checkpoint { .. })), "{error}");
}

#[test]
fn a_release_repeats_with_its_seed_whatever_the_number_of_threads() {
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| release(NoiseForm::Gaussian, AddRemoveOne, 0.5))
    };
    let (one, three) = (with(1), with(3));
    assert_eq!(one.measurements, three.measurements);
    assert_eq!(one.model.as_grouped_support(), three.model.as_grouped_support());
}

#[test]
fn without_groups_there_is_one_table_of_everyone() {
    let data = private(3000);
    let rows = data.select(&[0, 2, 4]).unwrap();
    let limit = Rho::from_f64(1.0).unwrap();
    let mut curator = Curator::new(&rows, ReplaceOne, limit, NoiseSeed::Fixed(1)).unwrap();
    let release = run(&Ide::default(), &mut curator).unwrap();
    assert_eq!(release.model.as_grouped_support().unwrap().groups().len(), 1);
    assert!((release.model.total() - 3000.0).abs() < 1e-9);
    // The size is public: all of the budget is for answers.
    let spent = release.ledger.spent().to_f64();
    assert!(spent > 0.999 && spent <= 1.0, "{spent}");
}

#[test]
fn a_budget_that_pays_for_no_answer_still_gives_sizes_and_the_prior() {
    let data = private(300);
    let limit = Rho::from_f64(1e-4).unwrap();
    let mut curator = Curator::new(&data, AddRemoveOne, limit, NoiseSeed::Fixed(1)).unwrap();
    let release = run(&ide(NoiseForm::Gaussian), &mut curator).unwrap();
    assert_eq!(release.measurements.len(), 2);
    let prior = release.model.as_grouped_support().unwrap();
    assert!(prior.groups().iter().all(|group| group.weights == prior.groups()[0].weights));
}

#[test]
fn settings_and_groups_that_make_no_sense_are_refused_before_anything_is_spent() {
    let data = private(500);
    let limit = Rho::from_f64(1.0).unwrap();
    let usual = ide(NoiseForm::Gaussian);
    let named = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    for wrong in [
        Ide { groups: named(&["county"]), ..usual.clone() },
        Ide { groups: named(&["area", "area"]), ..usual.clone() },
        Ide { groups: named(&["x", "area", "y", "state", "z"]), ..usual.clone() },
        Ide { answer_share: 1.0, ..usual.clone() },
        Ide { answer_share: f64::NAN, ..usual.clone() },
        Ide { cliques: Some(0), ..usual.clone() },
        Ide { noise_to_count: 0.0, ..usual.clone() },
        Ide { level_shares: LevelShares::Given(vec![1.0]), ..usual.clone() },
        Ide { level_shares: LevelShares::Given(vec![0.0, 1.0]), ..usual.clone() },
    ] {
        let mut curator = Curator::new(&data, ReplaceOne, limit, NoiseSeed::Fixed(1)).unwrap();
        assert!(run(&wrong, &mut curator).is_err(), "{wrong:?}");
        assert!(curator.spent().is_zero());
    }
    let mut curator = Curator::new(&data, ReplaceOne, limit, NoiseSeed::Fixed(1)).unwrap();
    let workload = Workload::all_k_way(data.domain(), 1).unwrap();
    let task = Task::new(&workload, &[]);
    assert!(usual.run(&mut curator, &task, &mut Silent).is_err());
    assert!(curator.spent().is_zero());
}

#[test]
fn a_pure_curator_refuses_gaussian_noise_and_more_epsilon_than_there_is() {
    let data = private(500);
    let epsilon = Epsilon::new(1.0).unwrap();
    let mut curator = Curator::pure(&data, ReplaceOne, epsilon, NoiseSeed::Fixed(1)).unwrap();
    let clique = Clique::new([0]);
    let rho = Rho::from_f64(0.01).unwrap();
    let error = curator.measure(&clique, rho).unwrap_err();
    assert!(matches!(error, PrivacyError::BudgetExceeded { .. }), "{error}");
    let ratio = |n, d| jointly::privacy::Ratio::new(n, d).unwrap();
    // 5/8 + 3/8 is all there is, although ρ would leave room for more.
    let noisy = curator.measure_laplace(&clique, ratio(5, 8)).unwrap();
    assert_eq!(noisy.scale, ratio(16, 5)); // Δ₁ = 2
    assert!(curator.measure_laplace(&clique, ratio(4, 8)).is_err());
    assert_eq!(curator.remaining_epsilon().unwrap(), ratio(3, 8));
    curator.measure_laplace(&clique, ratio(3, 8)).unwrap();
    assert_eq!(curator.ledger().pure_epsilon(), Some(1.0));
    assert!(curator.measure_laplace(&clique, ratio(1, 1 << 20)).is_err());
    assert!(curator.spent() <= curator.ledger().limit());
    for wrong in [ratio(0, 1), ratio(1025, 1)] {
        assert!(curator.measure_laplace(&clique, wrong).is_err());
    }
}

#[test]
fn groups_are_scaled_by_closed_form_by_linear_programs_and_in_two_stages() {
    let with =
        |projection| release_of(&Ide { projection, ..ide(NoiseForm::Gaussian) }, ReplaceOne, 1.0);
    let closed = with(GroupProjection::ClosedForm);
    let singles: Vec<Clique> = (0..closed.model.domain().len()).map(|a| Clique::new([a])).collect();
    let shares = |release: &Release| -> Vec<f64> {
        let marginals = release.model.marginals(&singles).unwrap();
        marginals
            .iter()
            .flat_map(|m| m.values().to_vec())
            .map(|n| n / release.model.total())
            .collect()
    };
    let expected = shares(&closed);
    for projection in [GroupProjection::Lp, GroupProjection::TwoStages] {
        let other = with(projection);
        assert_eq!(other.measurements, closed.measurements, "measured alike, {projection:?}");
        let off =
            shares(&other).iter().zip(&expected).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(off < 0.02, "{projection:?}: {off}");
        assert_ne!(shares(&other), expected, "{projection:?} is another method");
    }
}
