//! Every oracle against the definition, on random models.

use crate::domain::{Clique, Domain};
use crate::graph::JunctionTree;
use crate::inference::{BeliefPropagation, BruteForce, LogSpace, MarginalOracle};
use crate::table::{CliqueLayout, Marginals, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

const TOTAL: f64 = 1234.5;

/// A random model: domain, cliques, and potentials of which some cells are forbidden.
struct Case {
    domain: Domain,
    cliques: Vec<Clique>,
    seed: u64,
    scale: f64,
    forbidden: f64,
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for seed in 0..60 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let d = rng.random_range(1..=12_usize);
        let mut cells = 1_u32;
        let cards: Vec<u32> = (0..d)
            .map(|_| {
                let most = (1_000_000 / cells).min(if seed % 3 == 0 { 24 } else { 4 });
                let k = if most <= 1 { 1 } else { rng.random_range(1..=most) };
                cells *= k;
                k
            })
            .collect();
        let domain = Domain::new(cards.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k)))
            .expect("a domain");
        let count = rng.random_range(1..=14_usize);
        let cliques: Vec<Clique> = (0..count)
            .map(|_| {
                let size = rng.random_range(1..=4_usize.min(d));
                Clique::new((0..size).map(|_| rng.random_range(0..d)))
            })
            .collect();
        let scale = [1.0, 30.0, 400.0][usize::try_from(seed % 3).expect("small")];
        let forbidden = if seed % 2 == 0 { 0.1 } else { 0.0 };
        cases.push(Case { domain, cliques, seed, scale, forbidden });
    }
    cases
}

fn potentials(case: &Case) -> Potentials {
    let layout = CliqueLayout::new(&case.domain, case.cliques.clone()).expect("a layout");
    let mut theta = Potentials::zeros(&layout);
    let mut rng = ChaCha20Rng::seed_from_u64(1000 + case.seed);
    for x in theta.values_mut() {
        *x = case.scale * rng.random_range(-1.0..1.0);
        if rng.random::<f64>() < case.forbidden {
            *x = f64::NEG_INFINITY;
        }
    }
    theta
}

fn assert_close(found: &Marginals, expected: &Marginals, what: &str) {
    for (i, (f, e)) in found.values().iter().zip(expected.values()).enumerate() {
        assert!((f - e).abs() <= 1e-9 * TOTAL, "{what}: cell {i} is {f}, expected {e}");
    }
}

#[test]
fn every_oracle_agrees_with_brute_force_on_every_random_model() {
    let mut possible = 0;
    for case in cases() {
        let theta = potentials(&case);
        let layout = theta.layout();
        let brute = BruteForce::new(&case.domain, layout).expect("small");
        let mut expected = Marginals::zeros(layout);
        let truth = brute.marginals(&theta, TOTAL, &mut brute.workspace(), &mut expected);
        let linear = BeliefPropagation::new(&case.domain, layout);
        let mut mu = Marginals::zeros(layout);
        let found = linear.marginals(&theta, TOTAL, &mut linear.workspace(), &mut mu);
        let log = LogSpace::new(&case.domain, layout);
        let mut log_mu = Marginals::zeros(layout);
        let log_found = log.marginals(&theta, TOTAL, &mut log.workspace(), &mut log_mu);
        let Ok(truth) = truth else {
            assert!(found.is_err() && log_found.is_err(), "case {}", case.seed);
            continue;
        };
        possible += 1;
        assert_close(&mu, &expected, &format!("linear, case {}", case.seed));
        assert_close(&log_mu, &expected, &format!("log, case {}", case.seed));
        for a in [found.expect("possible"), log_found.expect("possible")] {
            assert!((a - truth).abs() <= 1e-9 * truth.abs().max(1.0), "case {}", case.seed);
        }
    }
    assert!(possible > 40, "only {possible} cases had a possible record");
}

#[test]
fn marginals_agree_on_separators_and_keep_the_total() {
    for case in cases() {
        let theta = potentials(&case);
        let oracle = BeliefPropagation::new(&case.domain, theta.layout());
        let mut mu = Marginals::zeros(theta.layout());
        if oracle.marginals(&theta, TOTAL, &mut oracle.workspace(), &mut mu).is_err() {
            continue;
        }
        let factors: Vec<_> = (0..case.cliques.len().min(theta.layout().cliques().len()))
            .map(|i| mu.factor(&case.domain, i).expect("a factor"))
            .collect();
        for a in &factors {
            assert!((a.total() - TOTAL).abs() < 1e-9 * TOTAL);
            for b in &factors {
                let shared = a.clique().intersection(b.clique());
                let (a, b) = (a.project(&shared), b.project(&shared));
                for (x, y) in a.values().iter().zip(b.values()) {
                    assert!((x - y).abs() < 1e-9 * TOTAL, "case {}", case.seed);
                }
            }
        }
    }
}

#[test]
fn potentials_too_far_apart_for_linear_space_are_answered_in_log_space() {
    // The child's message favors b = 0 by e^800, the root's own factor favors b = 1 by e^800.
    let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)]).expect("a domain");
    let layout =
        CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([1, 2])]).expect("a layout");
    let mut theta = Potentials::zeros(&layout);
    theta.table_mut(0).copy_from_slice(&[800.0, f64::NEG_INFINITY, 800.0, f64::NEG_INFINITY]);
    theta.table_mut(1).copy_from_slice(&[-800.0, -801.0, 800.0, 800.0]);
    theta.table_mut(0)[1] = -100.0;
    let oracle = BeliefPropagation::new(&domain, &layout);
    let mut mu = Marginals::zeros(&layout);
    oracle.marginals(&theta, 1.0, &mut oracle.workspace(), &mut mu).expect("possible");
    let brute = BruteForce::new(&domain, &layout).expect("small");
    let mut expected = Marginals::zeros(&layout);
    brute.marginals(&theta, 1.0, &mut brute.workspace(), &mut expected).expect("possible");
    assert_close(&mu, &expected, "fallback");
}

/// One, two and five threads answer in the same bits.
fn assert_same_on_threads(domain: &Domain, theta: &Potentials) {
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("a pool");
        pool.install(|| {
            let oracle = BeliefPropagation::new(domain, theta.layout());
            let mut mu = Marginals::zeros(theta.layout());
            let log_partition =
                oracle.marginals(theta, 1e6, &mut oracle.workspace(), &mut mu).expect("possible");
            let largest = oracle.largest_log_weight(theta, &mut oracle.workspace()).expect("one");
            (mu.values().to_vec(), log_partition.to_bits(), largest.to_bits())
        })
    };
    let one = run(1);
    assert!(one.0.iter().all(|x| x.is_finite()));
    assert_eq!(one, run(2));
    assert_eq!(one, run(5));
}

fn random_potentials(domain: &Domain, cliques: Vec<Clique>) -> Potentials {
    let layout = CliqueLayout::new(domain, cliques).expect("a layout");
    let mut theta = Potentials::zeros(&layout);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    theta.values_mut().iter_mut().for_each(|x| *x = rng.random_range(-2.0..2.0));
    theta
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let domain = Domain::new((0..7).map(|i| (format!("x{i}"), 9))).expect("a domain");
    let cliques =
        [[0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 5], [0, 4, 5], [5, 6, 0]].map(Clique::new);
    assert_same_on_threads(&domain, &random_potentials(&domain, cliques.into()));
}

#[test]
fn trees_with_large_branches_do_not_either() {
    let domain = Domain::new((0..14).map(|i| (format!("x{i}"), 40))).expect("a domain");
    // Each clique has 64,000 cells, so that threads share what is below one; two trees.
    let cliques = [[0, 1, 2], [1, 3, 4], [3, 4, 5], [2, 6, 7], [6, 8, 9], [0, 9, 10], [11, 12, 13]];
    assert_same_on_threads(&domain, &random_potentials(&domain, cliques.map(Clique::new).into()));
}

#[test]
fn no_maximal_clique_is_held() {
    let domain = Domain::new((0..6).map(|i| (format!("x{i}"), 16))).expect("a domain");
    let cliques: Vec<Clique> =
        (0..6).flat_map(|a| (0..a).map(move |b| Clique::new([a, b]))).collect();
    let layout = CliqueLayout::new(&domain, cliques.clone()).expect("a layout");
    let oracle = BeliefPropagation::new(&domain, &layout);
    assert_eq!(JunctionTree::new(&domain, &cliques).cells(), 16_777_216);
    assert!(oracle.held_bytes() < 1 << 22, "{} bytes", oracle.held_bytes());
}

#[test]
fn the_largest_log_weight_is_that_of_the_best_record() {
    for case in cases() {
        let theta = potentials(&case);
        let oracle = BeliefPropagation::new(&case.domain, theta.layout());
        let found =
            oracle.largest_log_weight(&theta, &mut oracle.workspace()).expect("a log-weight");
        let shape = case.domain.shape(&case.domain.everything());
        let mut record = vec![0_usize; shape.len()];
        let mut best = f64::NEG_INFINITY;
        'records: loop {
            let mut weight = 0.0;
            for (index, clique) in theta.layout().cliques().iter().enumerate() {
                let cell = clique.iter().fold(0, |cell, a| cell * shape[a] + record[a]);
                weight += theta.table(index)[cell];
            }
            best = best.max(weight);
            for axis in (0..shape.len()).rev() {
                record[axis] += 1;
                if record[axis] < shape[axis] {
                    continue 'records;
                }
                record[axis] = 0;
            }
            break;
        }
        let near = (found - best).abs() <= 1e-9 * best.abs().max(1.0);
        let nothing = found == f64::NEG_INFINITY && best == f64::NEG_INFINITY;
        assert!(near || nothing, "seed {}: {found}, not {best}", case.seed);
    }
}

#[test]
fn an_oracle_that_takes_over_plans_is_the_same_as_a_new_one() {
    for case in cases().iter().filter(|case| case.cliques.len() > 1) {
        let theta = potentials(case);
        let fewer = case.cliques.split_last().map(|(_, rest)| rest.to_vec()).unwrap_or_default();
        let earlier = CliqueLayout::new(&case.domain, fewer).expect("a layout");
        let earlier = BeliefPropagation::new(&case.domain, &earlier);
        let answer = |oracle: &BeliefPropagation| {
            let mut mu = Marginals::zeros(theta.layout());
            let found = oracle.marginals(&theta, TOTAL, &mut oracle.workspace(), &mut mu);
            (found.map_err(|error| error.to_string()), mu)
        };
        let new = BeliefPropagation::new(&case.domain, theta.layout());
        let following = BeliefPropagation::following(&case.domain, theta.layout(), &earlier);
        assert_eq!(answer(&new), answer(&following), "seed {}", case.seed);
    }
}

#[test]
fn oracles_agree_where_combinations_are_forbidden() {
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 3), ("d", 2), ("e", 2)]).unwrap();
    let rules = [
        vec![("a", vec![0]), ("b", vec![1, 2])],
        vec![("c", vec![1]), ("e", vec![0])],
        vec![("a", vec![2]), ("d", vec![1]), ("e", vec![1])],
    ];
    let domain = domain.forbid(rules).unwrap();
    let cliques = [vec![0, 1], vec![1, 4], vec![2, 4], vec![3]].map(Clique::new);
    let layout = CliqueLayout::new(&domain, cliques).unwrap();
    for seed in 0..20 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut theta = Potentials::zeros(&layout);
        let scale = if seed < 10 { 1.0 } else { 500.0 };
        theta.values_mut().iter_mut().for_each(|x| *x = scale * rng.random_range(-1.0..1.0));
        let answer = |found: &dyn Fn(&mut Marginals) -> f64| {
            let mut mu = Marginals::zeros(&layout);
            (found(&mut mu), mu)
        };
        let brute = BruteForce::new(&domain, &layout).unwrap();
        let sweeps = BeliefPropagation::new(&domain, &layout);
        let logs = LogSpace::new(&domain, &layout);
        let (a, expected) = answer(&|mu: &mut Marginals| {
            brute.marginals(&theta, 100.0, &mut brute.workspace(), mu).unwrap()
        });
        let others = [
            answer(&|mu: &mut Marginals| {
                sweeps.marginals(&theta, 100.0, &mut sweeps.workspace(), mu).unwrap()
            }),
            answer(&|mu: &mut Marginals| {
                logs.marginals(&theta, 100.0, &mut logs.workspace(), mu).unwrap()
            }),
        ];
        for (b, mu) in others {
            assert!((a - b).abs() < 1e-9 * a.abs().max(1.0), "{seed}: {a} {b}");
            for (x, y) in expected.values().iter().zip(mu.values()) {
                assert!((x - y).abs() < 1e-7, "{seed}: {x} {y}");
            }
        }
    }
}
