//! Models: marginals off the measured cliques against brute force, and records against the model.
//!
//! Statistical tests have a false-alarm rate of 10⁻⁶ at most and fixed seeds: a failure is a fault.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain};
use jointly::model::{MarkovRandomField, Sampling};
use jointly::table::{CliqueLayout, Factor, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const METHODS: [Sampling; 2] = [Sampling::Rounded, Sampling::Independent];
/// 10⁻⁶ quantile of the normal distribution, one-sided.
const NORMAL_QUANTILE: f64 = 4.7534;

fn domain(cardinalities: &[u32]) -> Domain {
    Domain::new(cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k))).unwrap()
}

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

/// Uniform potentials in ±`scale`, a share of which is minus infinity.
fn potentials(
    domain: &Domain,
    cliques: &[Clique],
    scale: f64,
    forbidden: f64,
    rng: &mut ChaCha20Rng,
) -> Potentials {
    let layout = CliqueLayout::new(domain, cliques.to_vec()).unwrap();
    let mut theta = Potentials::zeros(&layout);
    for x in theta.values_mut() {
        *x = scale * rng.random_range(-1.0..1.0);
        if rng.random::<f64>() < forbidden {
            *x = f64::NEG_INFINITY;
        }
    }
    theta
}

fn model(domain: &Domain, cliques: &[Clique], scale: f64, seed: u64) -> MarkovRandomField {
    let theta = potentials(domain, cliques, scale, 0.0, &mut rng(seed));
    MarkovRandomField::new(domain, theta, 1e4).unwrap()
}

fn random_clique(attributes: usize, most: usize, rng: &mut ChaCha20Rng) -> Clique {
    let size = rng.random_range(1..=most.min(attributes));
    Clique::new((0..size).map(|_| rng.random_range(0..attributes)))
}

/// The cell of a table over `clique` that a record lies in.
fn cell(domain: &Domain, clique: &Clique, record: &[u32]) -> usize {
    clique.iter().fold(0, |cell, a| cell * domain.cardinality(a) + record[a] as usize)
}

/// All records of a domain, row-major.
fn all_records(domain: &Domain) -> Vec<Vec<u32>> {
    (0..domain.len()).fold(vec![Vec::new()], |records, a| {
        let k = u32::try_from(domain.cardinality(a)).unwrap();
        let extend = |r: &Vec<u32>| {
            let r = r.clone();
            (0..k).map(move |code| [r.as_slice(), &[code]].concat())
        };
        records.iter().flat_map(extend).collect()
    })
}

/// The joint counts by definition: `total exp(Σ θ) / Σ exp(Σ θ)`; `None` when no record is possible.
fn joint(domain: &Domain, theta: &Potentials, total: f64) -> Option<Factor> {
    let cliques = theta.layout().cliques();
    let logs: Vec<f64> = all_records(domain)
        .iter()
        .map(|r| (0..cliques.len()).map(|i| theta.table(i)[cell(domain, &cliques[i], r)]).sum())
        .collect();
    let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let sum: f64 = logs.iter().map(|log| (log - max).exp()).sum();
    let counts = logs.iter().map(|log| total * (log - max).exp() / sum).collect();
    max.is_finite().then(|| Factor::new(domain, domain.everything(), counts).unwrap())
}

fn assert_close(found: &Factor, expected: &Factor, total: f64, what: &str) {
    assert_eq!(found.clique(), expected.clique(), "{what}");
    assert_eq!(found.values().len(), expected.values().len(), "{what}");
    for (i, (f, e)) in found.values().iter().zip(expected.values()).enumerate() {
        assert!((f - e).abs() <= 1e-9 * total, "{what}: cell {i} is {f}, expected {e}");
    }
}

fn counts(rows: &Dataset, clique: &Clique) -> Vec<f64> {
    let counts = Projectable::project(rows, clique).unwrap();
    counts.iter().map(|c| f64::from(*c)).collect()
}

/// A marginal of the model, for this number of records.
fn expected(model: &MarkovRandomField, clique: &Clique, records: usize) -> Vec<f64> {
    let factor = &model.marginals(std::slice::from_ref(clique)).unwrap()[0];
    factor.values().iter().map(|c| c * records as f64 / model.total()).collect()
}

fn l1(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}

/// The mean L1 distance of independent records from the model.
fn l1_of_independent_records(
    model: &MarkovRandomField,
    clique: &Clique,
    records: usize,
    seeds: u64,
) -> f64 {
    let truth = expected(model, clique, records);
    let of_seed = |seed| {
        let rows = model.sample(records, Sampling::Independent, &mut rng(900 + seed)).unwrap();
        l1(&counts(&rows, clique), &truth)
    };
    (0..seeds).map(of_seed).sum::<f64>() / seeds as f64
}

/// The value that a chi-square variable exceeds with probability about 10⁻⁶ (Wilson & Hilferty 1931).
fn critical(degrees: usize) -> f64 {
    let (k, spread) = (degrees as f64, 2.0 / (9.0 * degrees as f64));
    k * (1.0 - spread + NORMAL_QUANTILE * spread.sqrt()).powi(3)
}

fn chi_square(found: &[f64], expected: &[f64]) -> f64 {
    found.iter().zip(expected).map(|(o, e)| (o - e).powi(2) / e).sum()
}

#[test]
fn marginals_on_any_clique_agree_with_the_sum_over_all_records() {
    let (mut possible, mut impossible) = (0, 0);
    for seed in 0..90_u64 {
        let mut rng = rng(seed);
        let d = rng.random_range(1..=8_usize);
        let sizes: Vec<u32> = (0..d).map(|_| rng.random_range(1..=4)).collect();
        let domain = domain(&sizes);
        // Few small cliques leave attributes free and components apart; many make large maximal cliques.
        let measured: Vec<Clique> =
            (0..rng.random_range(1..=8)).map(|_| random_clique(d, 3, &mut rng)).collect();
        let scale = [1.0, 30.0, 400.0][usize::try_from(seed % 3).unwrap()];
        let forbidden = if seed % 2 == 0 { 0.15 } else { 0.0 };
        let theta = potentials(&domain, &measured, scale, forbidden, &mut rng);
        let total = 1234.5;
        let Some(joint) = joint(&domain, &theta, total) else {
            impossible += 1;
            let error = MarkovRandomField::new(&domain, theta, total).unwrap_err();
            assert!(matches!(error, jointly::CommonError::EmptyModel { .. }), "{error}");
            continue;
        };
        possible += 1;
        let model = MarkovRandomField::new(&domain, theta, total).unwrap();
        let mut asked: Vec<Clique> = (0..12).map(|_| random_clique(d, 6, &mut rng)).collect();
        asked.push(domain.everything());
        asked.push(asked[0].clone());
        let together = model.marginals(&asked).unwrap();
        assert_eq!(together.len(), asked.len());
        for (clique, found) in asked.iter().zip(&together) {
            let what = format!("model {seed}, clique {clique}");
            assert_close(found, &joint.project(clique), total, &what);
            assert!((found.total() - total).abs() <= 1e-9 * total, "{what}");
            let alone = &model.marginals(std::slice::from_ref(clique)).unwrap()[0];
            assert_close(alone, found, total, &format!("{what}, alone"));
        }
    }
    assert!(possible >= 70 && impossible >= 1, "{possible} possible, {impossible} not");
}

#[test]
fn the_sum_of_a_marginal_over_any_attribute_is_the_smaller_marginal() {
    // Too large for brute force: 20 attributes, two components and free attributes.
    for seed in 0..6 {
        let mut rng = rng(seed);
        let sizes: Vec<u32> = (0..20).map(|_| rng.random_range(2..=5)).collect();
        let domain = domain(&sizes);
        let mut measured: Vec<Clique> = (1..9).map(|i| Clique::new([i - 1, i])).collect();
        measured.extend((11..17).map(|i| Clique::new([i - 1, i, i + 1])));
        let scale = if seed % 2 == 0 { 1.0 } else { 400.0 };
        let theta = potentials(&domain, &measured, scale, 0.0, &mut rng);
        let total = 5e5;
        let model = MarkovRandomField::new(&domain, theta, total).unwrap();
        for _ in 0..10 {
            let clique = random_clique(20, 5, &mut rng);
            let table = model.marginals(std::slice::from_ref(&clique)).unwrap().swap_remove(0);
            assert!((table.total() - total).abs() <= 1e-9 * total);
            let smaller: Vec<Clique> =
                clique.subsets().into_iter().filter(|s| s.len() + 1 == clique.len()).collect();
            for found in model.marginals(&smaller).unwrap() {
                let what = format!("model {seed}, {clique} onto {}", found.clique());
                assert_close(&found, &table.project(found.clique()), total, &what);
            }
        }
    }
}

#[test]
fn a_total_that_no_table_can_have_is_refused() {
    for total in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = MarkovRandomField::uniform(&domain(&[2, 3]), total).unwrap_err();
        assert!(
            matches!(error, jointly::CommonError::InvalidParameter { name: "total", .. }),
            "{error}"
        );
    }
}

#[test]
fn rounded_counts_of_one_clique_are_off_by_less_than_its_number_of_attributes() {
    // The attributes are dealt one after another; each adds less than 1 to the error of a cell, and earlier errors
    // are passed on in parts. No false alarms: the bound is certain.
    for seed in 0..20 {
        let domain = domain(&[4, 6, 5]);
        let clique = domain.everything();
        let model = model(&domain, std::slice::from_ref(&clique), 2.0, seed);
        for records in [1, 7, 100, 10_001] {
            let rows = model.sample(records, Sampling::Rounded, &mut rng(seed)).unwrap();
            let pairs = counts(&rows, &clique);
            for (found, truth) in pairs.iter().zip(expected(&model, &clique, records)) {
                assert!((found - truth).abs() < 3.0 + 1e-6, "{found}, expected {truth}");
            }
        }
    }
}

#[test]
fn rounded_records_are_at_most_half_as_far_from_the_model_as_independent_ones() {
    let records = 20_000;
    let (mut rounded, mut independent) = (0.0, 0.0);
    for seed in 0..12 {
        let mut draw = rng(seed);
        let sizes: Vec<u32> = (0..7).map(|_| draw.random_range(2..=5)).collect();
        let domain = domain(&sizes);
        let measured: Vec<Clique> = (0..6).map(|_| random_clique(7, 3, &mut draw)).collect();
        let model = model(&domain, &measured, 1.0, seed);
        let rows = model.sample(records, Sampling::Rounded, &mut rng(seed)).unwrap();
        for clique in model.potentials().layout().cliques() {
            let distance = l1(&counts(&rows, clique), &expected(&model, clique, records));
            let usual = l1_of_independent_records(&model, clique, records, 3);
            assert!(distance < 1.5 * usual, "model {seed}, {clique}: {distance}, {usual}");
            rounded += distance;
            independent += usual;
        }
    }
    eprintln!("L1 of rounded records {rounded:.0}, of independent ones {independent:.0}");
    assert!(rounded < 0.5 * independent, "{rounded}, {independent}");
}

#[test]
fn independent_records_have_the_probabilities_of_the_model() {
    let domain = domain(&[3, 2, 4, 3]);
    let cliques = [Clique::new([0, 1]), Clique::new([1, 2]), Clique::new([2, 3])];
    let model = model(&domain, &cliques, 1.0, 3);
    let records = 200_000;
    let rows = model.sample(records, Sampling::Independent, &mut rng(4)).unwrap();
    let all = domain.everything();
    let truth = expected(&model, &all, records);
    assert!(truth.iter().all(|e| *e > 20.0));
    let statistic = chi_square(&counts(&rows, &all), &truth);
    assert!(statistic < critical(truth.len() - 1), "{statistic}");
}

/// A star: children that the model holds independent given attribute 0.
fn star(parent: u32, scale: f64, seed: u64) -> MarkovRandomField {
    let domain = domain(&[parent, 4, 5, 3]);
    let arms: Vec<Clique> = (1..4).map(|child| Clique::new([0, child])).collect();
    model(&domain, &arms, scale, seed)
}

#[test]
fn siblings_in_a_star_stay_independent_given_their_parent() {
    // Pearson's statistic of two children within each value of the parent, added up.
    for method in METHODS {
        for seed in 0..5 {
            let model = star(6, 1.0, seed);
            let rows = model.sample(60_000, method, &mut rng(seed)).unwrap();
            for [b, c] in [[1, 2], [1, 3], [2, 3]] {
                let shape = model.domain().shape(&Clique::new([b, c]));
                let (kb, kc) = (shape[0], shape[1]);
                let tables = counts(&rows, &Clique::new([0, b, c]));
                let mut statistic = 0.0;
                for table in tables.chunks(kb * kc) {
                    let n: f64 = table.iter().sum();
                    let of_b: Vec<f64> = table.chunks(kc).map(|row| row.iter().sum()).collect();
                    let of_c: Vec<f64> =
                        (0..kc).map(|j| table.iter().skip(j).step_by(kc).sum()).collect();
                    let product: Vec<f64> =
                        of_b.iter().flat_map(|x| of_c.iter().map(move |y| x * y / n)).collect();
                    assert!(product.iter().all(|e| *e > 5.0), "too few records for the test");
                    statistic += chi_square(table, &product);
                }
                let limit = critical(6 * (kb - 1) * (kc - 1));
                assert!(statistic < limit, "{method:?}, seed {seed}, {b} {c}: {statistic}");
            }
        }
    }
}

#[test]
fn siblings_stay_independent_when_every_group_is_a_single_record() {
    // 3,000 values of the parent, as many records: nothing to shuffle within a group. The joint table of two children
    // comes as close to the model's as independent records do; the factor 1.5 on the mean over ten draws is far beyond
    // six standard errors.
    let records = 3000;
    for method in METHODS {
        for scale in [0.0, 1.0] {
            let model = star(3000, scale, 8);
            for [b, c] in [[1, 2], [1, 3], [2, 3]] {
                let clique = Clique::new([b, c]);
                let truth = expected(&model, &clique, records);
                let usual = l1_of_independent_records(&model, &clique, records, 10);
                let of_seed = |seed| {
                    let rows = model.sample(records, method, &mut rng(seed)).unwrap();
                    l1(&counts(&rows, &clique), &truth)
                };
                let distance = (0..10).map(of_seed).sum::<f64>() / 10.0;
                assert!(distance < 1.5 * usual, "{method:?}, {clique}: {distance}, {usual}");
            }
            // All three children together, and a chi-square test of them on one draw.
            let clique = Clique::new([1, 2, 3]);
            let rows = model.sample(records, method, &mut rng(77)).unwrap();
            let truth = expected(&model, &clique, records);
            let statistic = chi_square(&counts(&rows, &clique), &truth);
            assert!(statistic < critical(truth.len() - 1), "{method:?}, {scale}: {statistic}");
        }
    }
}

#[test]
fn records_that_the_model_forbids_are_never_drawn() {
    for seed in 0..4 {
        let mut draw = rng(seed);
        let domain = domain(&[4, 3, 5, 2, 4]);
        let cliques: Vec<Clique> = [[0, 1], [1, 2], [2, 3], [3, 4], [0, 4]].map(Clique::new).into();
        let scale = if seed % 2 == 0 { 2.0 } else { 400.0 };
        let theta = potentials(&domain, &cliques, scale, 0.25, &mut draw);
        let model = MarkovRandomField::new(&domain, theta.clone(), 1e5).unwrap();
        for method in METHODS {
            let rows = model.sample(100_000, method, &mut draw).unwrap();
            for (i, clique) in theta.layout().cliques().iter().enumerate() {
                for (count, log) in counts(&rows, clique).iter().zip(theta.table(i)) {
                    let possible = *log > f64::NEG_INFINITY;
                    assert!(possible || *count == 0.0, "{method:?}, seed {seed}, {clique}");
                }
            }
        }
    }
}

#[test]
fn counts_are_unbiased_over_seeds() {
    // 2 × 3 × 30 cells and more, each within 6.5 standard errors of its mean: 10⁻⁷ in all.
    let domain = domain(&[3, 2, 5]);
    let model = model(&domain, &[Clique::new([0, 1]), Clique::new([1, 2])], 1.0, 5);
    let all = domain.everything();
    let seeds = 3000;
    for method in METHODS {
        for records in [1, 7, 40] {
            let truth = expected(&model, &all, records);
            let mut sums = vec![(0.0, 0.0); truth.len()];
            for seed in 0..seeds {
                let rows = model.sample(records, method, &mut rng(seed)).unwrap();
                for ((sum, squares), x) in sums.iter_mut().zip(counts(&rows, &all)) {
                    *sum += x;
                    *squares += x * x;
                }
            }
            let n = seeds as f64;
            for ((sum, squares), truth) in sums.iter().zip(&truth) {
                let mean = sum / n;
                let variance = (squares / n - mean * mean).max(truth * (1.0 - truth).max(0.05));
                let error = (variance / n).sqrt();
                assert!((mean - truth).abs() < 6.5 * error, "{method:?}: {mean}, {truth}");
            }
        }
    }
}

#[test]
fn the_same_seed_gives_the_same_records_and_another_seed_others() {
    let model = star(50, 1.0, 2);
    for method in METHODS {
        let draw = |seed| model.sample(2000, method, &mut rng(seed)).unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
    }
}

#[test]
fn a_sample_has_the_asked_number_of_records_and_at_least_one() {
    let model = star(5, 1.0, 2);
    for method in METHODS {
        for records in [1, 2, 999] {
            assert_eq!(model.sample(records, method, &mut rng(1)).unwrap().records(), records);
        }
        let error = model.sample(0, method, &mut rng(1)).unwrap_err();
        assert!(
            matches!(error, jointly::CommonError::InvalidParameter { name: "rows", .. }),
            "{error}"
        );
    }
}

/// The sampled marginals on these cliques are no further from the model's than 1.3 times what independent records are
/// expected to be: each sums hundreds of cells, whose deviations average out far below that.
fn assert_samples_fit(model: &MarkovRandomField, cliques: &[Clique], records: usize) {
    let n = records as f64;
    for method in METHODS {
        let rows = model.sample(records, method, &mut rng(6)).unwrap();
        for clique in cliques {
            let truth = expected(model, clique, records);
            let noise =
                truth.iter().map(|e| (2.0 * e * (1.0 - e / n) / std::f64::consts::PI).sqrt());
            // Where less than one record is expected, the mean deviation is at most twice the count.
            let usual: f64 = noise.zip(&truth).map(|(noise, e)| noise.min(2.0 * e)).sum();
            let distance = l1(&counts(&rows, clique), &truth);
            assert!(distance < 1.3 * usual, "{method:?}, {clique}: {distance}, {usual}");
        }
    }
}

#[test]
fn maximal_cliques_too_large_for_a_table_are_sampled_all_the_same() {
    // All pairs of 8 attributes of 9 values: maximal clique of 43 million cells, of which no table is held; the last
    // two attributes are drawn from sums over products.
    let domain = domain(&[9; 8]);
    let pairs: Vec<Clique> =
        (0..8).flat_map(|a| (0..a).map(move |b| Clique::new([b, a]))).collect();
    let model = model(&domain, &pairs, 0.8, 1);
    assert_samples_fit(&model, &pairs, 4000);
}

#[test]
fn maximal_cliques_too_large_for_a_table_are_sampled_in_log_space_too() {
    // Every record has one factor of e^-800, so that plain numbers underflow.
    let domain = domain(&[1500, 1500, 3]);
    let cliques = [Clique::new([0, 1]), Clique::new([1, 2]), Clique::new([0, 2])];
    let layout = CliqueLayout::new(&domain, cliques.clone()).unwrap();
    let mut theta = Potentials::zeros(&layout);
    let mut draw = rng(3);
    for x in theta.values_mut() {
        *x = draw.random_range(-1.0..1.0);
    }
    for (i, x) in theta.table_mut(0).iter_mut().enumerate() {
        *x -= if (i / 1500) % 2 == 0 { 800.0 } else { 0.0 };
    }
    for (i, x) in theta.table_mut(2).iter_mut().enumerate() {
        *x -= if (i / 3) % 2 == 1 { 800.0 } else { 0.0 };
    }
    let model = MarkovRandomField::new(&domain, theta, 1e4).unwrap();
    let small = [Clique::new([0]), Clique::new([1]), Clique::new([1, 2]), Clique::new([0, 2])];
    assert_samples_fit(&model, &small, 3000);
}
