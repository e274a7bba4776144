//! Distributions under totals are I-projections, and fits under totals are optimal.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;
use crate::domain::Clique;
use crate::estimation::{
    AcceleratedBregman, Estimator, MarginalLoss, SquaredLoss, Stopping, Weighting,
};
use crate::inference::{BeliefPropagation, BruteForce, OverBase};
use crate::measurement::Measurement;
use crate::model::MarkovRandomField;
use crate::table::Factor;

const N: f64 = 1000.0;

fn domain(with_zeros: bool) -> Domain {
    let domain = Domain::new([("a", 3), ("b", 4), ("c", 2), ("d", 3)]).unwrap();
    let never = [vec![("a", vec![0]), ("b", vec![1, 2])]];
    if with_zeros { domain.forbid(never).unwrap() } else { domain }
}

fn layout(domain: &Domain, cliques: &[&[usize]]) -> Arc<CliqueLayout> {
    CliqueLayout::new(domain, cliques.iter().map(|c| Clique::new(c.iter().copied()))).unwrap()
}

fn random(layout: &Arc<CliqueLayout>, rng: &mut ChaCha20Rng) -> Potentials {
    let mut theta = Potentials::zeros(layout);
    theta.values_mut().iter_mut().for_each(|value| *value = rng.random_range(-2.0..2.0));
    theta
}

/// Totals of a random distribution: that of these potentials over the whole domain.
fn totals(domain: &Domain, cliques: &[&[usize]], rng: &mut ChaCha20Rng) -> Totals {
    let everything = layout(domain, &[&[0, 1, 2, 3]]);
    let model = MarkovRandomField::new(domain, random(&everything, rng), N).unwrap();
    let cliques: Vec<Clique> = cliques.iter().map(|c| Clique::new(c.iter().copied())).collect();
    let tables = model.marginals(&cliques).unwrap();
    Totals::new(domain, cliques.into_iter().zip(tables.iter().map(|t| t.values().to_vec())))
        .unwrap()
}

type Cliques = &'static [&'static [usize]];

/// Totals: one; two apart; overlapping ones; a cycle.
const CASES: [(Cliques, Cliques); 4] = [
    (&[&[0, 1], &[1, 2]], &[&[0, 1]]),
    (&[&[0, 1], &[2, 3]], &[&[0], &[2, 3]]),
    (&[&[0, 3]], &[&[0, 1], &[1, 2], &[1, 3], &[0]]),
    (&[&[0, 1], &[1, 2], &[3]], &[&[0, 1], &[1, 2], &[0, 2]]),
];

/// `(<θ, μ/N> − KL(p ‖ uniform) + ln |X|, L1 distance from the totals)` of the joint distribution of some potentials.
fn value(domain: &Domain, all: Potentials, theta: &Potentials, totals: &Totals) -> (f64, f64) {
    let model = MarkovRandomField::new(domain, all, 1.0).unwrap();
    let joint = &model.marginals(&[domain.everything()]).unwrap()[0];
    let entropy: f64 = joint.values().iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
    let of = |layout: &CliqueLayout| -> Vec<Factor> { model.marginals(layout.cliques()).unwrap() };
    let dot = |table: (&Factor, &[f64])| -> f64 {
        table.0.values().iter().zip(table.1).map(|(m, t)| m * t).sum()
    };
    let along: f64 =
        of(theta.layout()).iter().enumerate().map(|(i, m)| dot((m, theta.table(i)))).sum();
    let off = |(i, m): (usize, &Factor)| -> f64 {
        m.values().iter().zip(totals.table(i)).map(|(m, t)| (m - t / N).abs()).sum()
    };
    let off = of(totals.layout()).iter().enumerate().map(off).fold(0.0, f64::max);
    (along + entropy, off)
}

#[test]
fn the_distribution_of_any_potentials_is_the_projection() {
    for (seed, with_zeros) in (0..8).flat_map(|seed| [(seed, false), (seed, true)]) {
        let domain = domain(with_zeros);
        for (measured, of_totals) in CASES {
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            let totals = totals(&domain, of_totals, &mut rng);
            let measured = layout(&domain, measured);
            let all = UnderTotals::<BruteForce>::layout(&domain, &measured, &totals).unwrap();
            let oracle = BruteForce::new(&domain, &all).unwrap();
            let oracle = UnderTotals::new(&domain, oracle, &measured, &totals).unwrap();
            let theta = random(&measured, &mut rng);
            let mut mu = Marginals::zeros(&measured);
            // Any scale of counts.
            let a = oracle.marginals(&theta, 7.0, &mut oracle.workspace(), &mut mu).unwrap();
            let potentials = oracle.potentials(&theta).unwrap();
            let (found, off) = value(&domain, potentials.clone(), &theta, &totals);
            assert!(off < 1e-8, "{off}");
            // A(θ) is the largest <θ, μ/N> + entropy of all distributions with the totals, and p has it.
            assert!((found - a).abs() < 1e-8, "{found}, {a}");
            let model = MarkovRandomField::new(&domain, potentials, 7.0).unwrap();
            for (i, table) in model.marginals(measured.cliques()).unwrap().iter().enumerate() {
                let off = table.values().iter().zip(mu.table(i)).map(|(x, y)| (x - y).abs());
                assert!(off.fold(0.0, f64::max) < 1e-5);
            }
            // Others with the totals have less: those of other potentials.
            for _ in 0..5 {
                let other = oracle.potentials(&random(&measured, &mut rng)).unwrap();
                assert!(value(&domain, other, &theta, &totals).0 < a + 1e-9);
            }
        }
    }
}

#[test]
fn a_fit_under_totals_has_them_and_is_certified() {
    for (seed, with_zeros) in (0..4).flat_map(|seed| [(seed, false), (seed, true)]) {
        let domain = domain(with_zeros);
        for (measured, of_totals) in CASES {
            let mut rng = ChaCha20Rng::seed_from_u64(100 + seed);
            let totals = totals(&domain, of_totals, &mut rng);
            let noisy = |clique: &Clique| {
                let cells = domain.cells(clique).unwrap();
                let value = |_| N / cells as f64 + rng.random_range(-40.0..40.0);
                Measurement::new(clique.clone(), (0..cells).map(value).collect(), 5.0)
            };
            let noisy: Vec<Measurement> =
                layout(&domain, measured).cliques().iter().map(noisy).collect();
            let loss_of = |noisy: &[Measurement]| {
                SquaredLoss::new(&domain, noisy, Weighting::InverseVariance).unwrap()
            };
            let adjust = |given: &Measurement| {
                let mut values = given.values.clone();
                totals.adjust(&domain, &given.clique, &mut values).unwrap();
                Measurement { values, ..given.clone() }
            };
            let loss = loss_of(&noisy.iter().map(adjust).collect::<Vec<_>>());
            let all = UnderTotals::<BeliefPropagation>::layout(&domain, loss.layout(), &totals);
            let inner = BeliefPropagation::new(&domain, &all.unwrap());
            let oracle = UnderTotals::new(&domain, inner, loss.layout(), &totals).unwrap();
            let stopping = Stopping::certified(0.02, 2000);
            let method = AcceleratedBregman {
                stopping,
                patience: AcceleratedBregman::CERTIFYING_PATIENCE,
                ..AcceleratedBregman::default()
            };
            let fit = method.estimate(&oracle, &loss, N, None).unwrap();
            let potentials = oracle.potentials(&fit.potentials).unwrap();
            let (_, off) = value(&domain, potentials, &fit.potentials, &totals);
            assert!(off < 1e-8, "{off}");
            let gap = (fit.loss - fit.lower_bound) / loss.noise();
            assert!((0.0..=0.02).contains(&gap), "{gap} after {}", fit.oracle_calls);
            assert!(fit.oracle_calls < 200, "{}", fit.oracle_calls);

            // With totals as measurements that are all but exact, the loss of the others is the same.
            let exact = totals.layout().cliques().iter().enumerate().map(|(i, clique)| {
                Measurement::new(clique.clone(), totals.table(i).to_vec(), 0.02)
            });
            let both: Vec<Measurement> = noisy.iter().cloned().chain(exact).collect();
            let stiff = SquaredLoss::new(&domain, &both, Weighting::InverseVariance).unwrap();
            let inner = BeliefPropagation::new(&domain, stiff.layout());
            let nearly = AcceleratedBregman { stopping: Stopping::after(20_000), ..method };
            let nearly = nearly.estimate(&inner, &stiff, N, None).unwrap();
            let found = loss_of(&noisy).misfit(fit.marginals.values()).value;
            assert!((nearly.loss - found).abs() < 0.01 * found + 0.5, "{}, {found}", nearly.loss);
        }
    }
}

#[test]
fn a_pull_to_a_base_is_certified_too() {
    let domain = domain(false);
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let totals = totals(&domain, &[&[0, 1], &[2]], &mut rng);
    let base = random(&layout(&domain, &[&[0, 2], &[2, 3]]), &mut rng);
    let noisy = [Measurement::new(Clique::new([1, 3]), vec![80.0; 12], 10.0)];
    let loss = SquaredLoss::new(&domain, &noisy, Weighting::InverseVariance).unwrap();
    let all = UnderTotals::<OverBase>::layout(&domain, loss.layout(), &totals).unwrap();
    let inner = OverBase::new(&domain, &base, &all).unwrap();
    let oracle = UnderTotals::new(&domain, inner, loss.layout(), &totals).unwrap();
    let stopping = Stopping::certified(1e-3, 2000);
    let method = AcceleratedBregman { stopping, pull: 50.0, ..AcceleratedBregman::default() };
    let fit = method.estimate(&oracle, &loss, N, None).unwrap();
    assert!(fit.certified_gap() <= 1.1e-3 * loss.noise(), "{}", fit.certified_gap());
    // κ KL(p ‖ p₀) is more than the nearest distribution with the totals has.
    let nearest = oracle.marginals(
        &Potentials::zeros(loss.layout()),
        N,
        &mut oracle.workspace(),
        &mut Marginals::zeros(loss.layout()),
    );
    assert!(fit.lower_bound > -50.0 * nearest.unwrap());
}

#[test]
fn totals_that_no_table_has_are_named() {
    let mut rng = ChaCha20Rng::seed_from_u64(9);
    let message = |domain: &Domain, tables: &[(&[usize], Vec<f64>)]| {
        let tables = tables.iter().map(|(c, t)| (Clique::new(c.iter().copied()), t.clone()));
        let totals = Totals::new(domain, tables).unwrap();
        let measured = layout(domain, &[&[0]]);
        let all = UnderTotals::<BeliefPropagation>::layout(domain, &measured, &totals).unwrap();
        let inner = BeliefPropagation::new(domain, &all);
        let oracle = UnderTotals::new(domain, inner, &measured, &totals).unwrap();
        oracle.potentials(&Potentials::zeros(&measured)).unwrap_err().to_string()
    };
    // a = c and c = (d > 0), but a is never 1 where d > 0.
    let cycle = Domain::new([("a", 2), ("c", 2), ("d", 2)]).unwrap();
    let (same, other) = (vec![50.0, 0.0, 0.0, 50.0], vec![0.0, 50.0, 50.0, 0.0]);
    let found = message(&cycle, &[(&[0, 1], same.clone()), (&[1, 2], same), (&[0, 2], other)]);
    assert!(found.contains("every record is in a cell with 0 records"), "{found}");
    let tables = |p: f64| vec![50.0 * p, 50.0 - 50.0 * p, 50.0 - 50.0 * p, 50.0 * p];
    let found = message(
        &cycle,
        &[(&[0, 1], tables(0.99)), (&[1, 2], tables(0.99)), (&[0, 2], tables(0.01))],
    );
    assert!(
        found.contains("are possible leave about") && found.contains(" records in "),
        "{found}"
    );
    // Impossible combinations.
    let zeros = domain(true);
    let mut cells = totals(&domain(false), &[&[0, 1]], &mut rng).values().to_vec();
    cells[1] = cells[1].max(20.0);
    let found = message(&zeros, &[(&[0, 1], cells)]);
    assert!(found.contains("the totals of a x b: ") && found.contains("leave about 0"), "{found}");
}
