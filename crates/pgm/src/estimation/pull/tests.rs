//! Pulled fits: their optimum, their gap, and the limits of the pull.

use std::sync::Arc;

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::estimation::{
    AcceleratedBregman, DualQuasiNewton, Estimate, Estimator, SquaredLoss, Stopping, Weighting,
};
use crate::inference::{BeliefPropagation, ListedRecords, MarginalOracle, OverBase};
use crate::measurement::{Measurement, Provenance};
use crate::table::CliqueLayout;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use super::*;

const TOTAL: f64 = 500.0;
const SHAPE: [usize; 3] = [2, 3, 2];

fn domain() -> Domain {
    Domain::new([("a", 2), ("b", 3), ("c", 2)]).unwrap()
}

/// A base over the whole domain, and measurements of three marginals that do not agree with it or with each other.
struct Case {
    base: Potentials,
    loss: SquaredLoss,
    oracle: OverBase,
}

fn case(seed: u64) -> Case {
    let domain = domain();
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let everything = CliqueLayout::new(&domain, [domain.everything()]).unwrap();
    let mut base = Potentials::zeros(&everything);
    base.values_mut().iter_mut().for_each(|x| *x = rng.random_range(-1.5..1.5));
    let measured = [(&[0_usize, 1][..], 5.0), (&[1, 2], 12.0), (&[0], 3.0)];
    let measure = |(clique, stddev): (&[usize], f64)| {
        let cells: usize = clique.iter().map(|a| SHAPE[*a]).product();
        let mean = TOTAL / cells as f64;
        let values = (0..cells).map(|_| mean * rng.random_range(0.3..1.7)).collect();
        let clique = Clique::new(clique.iter().copied());
        Measurement { clique, cell: None, values, stddev, provenance: Provenance::Private }
    };
    let measurements: Vec<Measurement> = measured.into_iter().map(measure).collect();
    let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance).unwrap();
    let oracle = OverBase::new(&domain, &base, loss.layout()).unwrap();
    Case { base, loss, oracle }
}

impl Case {
    fn fit(&self, pull: f64, calls: u32) -> Estimate {
        self.fit_from(Method::Accelerated, pull, calls, None)
    }

    fn fit_from(
        &self,
        method: Method,
        pull: f64,
        calls: u32,
        warm_start: Option<&Potentials>,
    ) -> Estimate {
        let Self { oracle, loss, .. } = self;
        let stopping = Stopping::certified(1e-12, calls);
        let found = match method {
            Method::Accelerated => {
                let method = AcceleratedBregman { stopping, pull, ..AcceleratedBregman::default() };
                method.estimate(oracle, loss, TOTAL, warm_start)
            }
            Method::Dual => DualQuasiNewton { pull, stopping }.fit(oracle, loss, TOTAL, warm_start),
        };
        found.unwrap()
    }

    /// The probability of every record.
    fn joint(&self, theta: &Potentials) -> Vec<f64> {
        let all = self.oracle.potentials(theta);
        let mut logs = vec![0.0; SHAPE.iter().product()];
        for (r, clique) in all.layout().cliques().iter().enumerate() {
            for (record, log) in logs.iter_mut().enumerate() {
                let codes = [record / 6, record / 2 % 3, record % 2];
                let cell = clique.iter().fold(0, |cell, a| cell * SHAPE[a] + codes[a]);
                *log += all.table(r)[cell];
            }
        }
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let sum: f64 = logs.iter().map(|log| (log - most).exp()).sum();
        logs.iter().map(|log| (log - most).exp() / sum).collect()
    }

    fn base(&self) -> Vec<f64> {
        self.joint(&Potentials::zeros(self.loss.layout()))
    }

    /// `F(p)`, from its definition, for any distribution of records.
    fn objective(&self, p: &[f64], pull: f64) -> f64 {
        let mut mu = Marginals::zeros(self.loss.layout());
        for (r, clique) in self.loss.layout().cliques().iter().enumerate() {
            for (record, p) in p.iter().enumerate() {
                let codes = [record / 6, record / 2 % 3, record % 2];
                let cell = clique.iter().fold(0, |cell, a| cell * SHAPE[a] + codes[a]);
                mu.table_mut(r)[cell] += TOTAL * p;
            }
        }
        self.loss.value(&mu) + pull * divergence(p, &self.base())
    }
}

/// `KL(p ‖ q)`.
fn divergence(p: &[f64], q: &[f64]) -> f64 {
    p.iter().zip(q).map(|(p, q)| if *p > 0.0 { p * (p / q).ln() } else { 0.0 }).sum()
}

/// Both ways to the same minimum.
#[derive(Clone, Copy, Debug)]
enum Method {
    Accelerated,
    Dual,
}

const METHODS: [Method; 2] = [Method::Accelerated, Method::Dual];
const PULLS: [f64; 4] = [0.3, 20.0, 500.0, 1e5];

#[test]
fn a_fit_reaches_the_optimum_of_the_squares_and_the_divergence_together() {
    for (seed, method) in (0..4).flat_map(|seed| METHODS.map(|method| (seed, method))) {
        let case = case(seed);
        for pull in PULLS {
            let fit = case.fit_from(method, pull, 4000, None);
            let what = format!("{method:?}, seed {seed}, pull {pull}");
            let p = case.joint(&fit.potentials);
            let value = case.objective(&p, pull);
            assert!((fit.loss - value).abs() < 1e-9 * value.max(1.0), "{what}: {value}");
            assert!(fit.certified_gap() < 1e-6 * fit.loss, "{what}: {}", fit.certified_gap());
            // The condition of the optimum: potentials of this form have the same distribution.
            let mut written = fit.potentials.clone();
            case.loss.gradient(fit.marginals.values(), written.values_mut());
            written.values_mut().iter_mut().for_each(|x| *x *= -TOTAL / pull);
            // What is left of the gap is N w/κ times as large in them.
            let near = 1e-4_f64.max(1e-3 / pull);
            for (found, expected) in case.joint(&written).iter().zip(&p) {
                assert!((found - expected).abs() < near, "{what}: {found}, not {expected}");
            }
            // Where the pull is not weak, the potentials are these.
            if pull >= 100.0 {
                for (found, expected) in fit.potentials.values().iter().zip(written.values()) {
                    assert!((found - expected).abs() < 1e-3, "{what}: {found}, not {expected}");
                }
            }
            // No distribution nearby is better, of this form or another.
            let mut rng = ChaCha20Rng::seed_from_u64(seed);
            for size in [1e-4, 1e-2, 0.5] {
                for _ in 0..50 {
                    let mut q: Vec<f64> = p
                        .iter()
                        .map(|p| p * (size * rng.random_range(-1.0..1.0_f64)).exp())
                        .collect();
                    let sum: f64 = q.iter().sum();
                    q.iter_mut().for_each(|q| *q /= sum);
                    let other = case.objective(&q, pull);
                    assert!(other >= fit.lower_bound - 1e-9 * value, "{what}: below the bound");
                    let least = pull * divergence(&q, &p) - 1e-6 * value;
                    assert!(other - value >= least, "{what}: {other} is too near {value}");
                }
            }
        }
    }
}

#[test]
fn the_gap_bounds_the_loss_and_the_distance_to_the_optimum_at_every_step() {
    for (seed, method) in (0..4).flat_map(|seed| METHODS.map(|method| (seed, method))) {
        let case = case(seed);
        for pull in PULLS {
            let best = case.fit(pull, 4000);
            let optimum = case.joint(&best.potentials);
            for calls in [1, 2, 3, 5, 8, 13, 21, 34, 55, 200] {
                let fit = case.fit_from(method, pull, calls, None);
                let rounding = 1e-9 * best.loss;
                let what = format!("{method:?}, seed {seed}, pull {pull}, {calls} calls");
                assert!(fit.lower_bound <= best.loss + rounding, "{what}");
                let gap = fit.certified_gap();
                let p = case.joint(&fit.potentials);
                let far = pull * divergence(&p, &optimum);
                assert!(far <= gap + 1e-6 * best.loss, "{what}: {far} beyond the gap {gap}");
                let l1: f64 = p.iter().zip(&optimum).map(|(p, q)| (p - q).abs()).sum();
                assert!(l1 <= (2.0 * gap / pull).sqrt() + 1e-3, "{what}: L1 distance {l1}");
            }
            // Of any potentials, not those of a fit alone.
            let mut rng = ChaCha20Rng::seed_from_u64(100 + seed);
            for _ in 0..20 {
                let mut theta = Potentials::zeros(case.loss.layout());
                theta.values_mut().iter_mut().for_each(|x| *x = rng.random_range(-1.0..1.0));
                let fit = case.fit_from(method, pull, 1, Some(&theta));
                assert!(fit.lower_bound <= best.loss * (1.0 + 1e-9), "seed {seed}, pull {pull}");
                let gap =
                    case.loss.pulled_gap(fit.marginals.values(), theta.values(), pull / TOTAL);
                let (gap, floor) = (gap.unwrap(), fit.loss - best.loss);
                assert!(gap >= floor - 1e-9 * fit.loss, "seed {seed}, pull {pull}: {gap}, {floor}");
            }
        }
    }
}

#[test]
fn a_strong_pull_gives_the_base_and_a_weak_one_the_fit_without() {
    for seed in 0..4 {
        let case = case(seed);
        let mut base = Marginals::zeros(case.loss.layout());
        let zero = Potentials::zeros(case.loss.layout());
        let oracle = &case.oracle;
        oracle.marginals(&zero, TOTAL, &mut oracle.workspace(), &mut base).unwrap();
        let at_base = case.loss.value(&base);
        let mut last = f64::INFINITY;
        for pull in [1e3, 1e5, 1e7, 1e9] {
            let fit = case.fit(pull, 500);
            let far = divergence(&case.joint(&fit.potentials), &case.base());
            assert!(far <= at_base / pull * (1.0 + 1e-6) + 1e-12, "pull {pull}: {far}");
            assert!(far < last, "pull {pull}");
            last = far;
        }
        let strong = case.fit(1e12, 50);
        for (found, expected) in strong.marginals.values().iter().zip(base.values()) {
            assert!((found - expected).abs() < 1e-4, "{found}, base {expected}");
        }
        let free = case.fit(0.0, 4000);
        let mut last = f64::INFINITY;
        for pull in [10.0, 1.0, 0.1, 1e-3] {
            let fit = case.fit(pull, 4000);
            let above = case.loss.value(&fit.marginals) - free.loss;
            let allowed = pull * divergence(&case.joint(&free.potentials), &case.base());
            assert!(above <= allowed + 1e-6 * free.loss, "pull {pull}: {above} of {allowed}");
            assert!(above < last, "pull {pull}");
            last = above;
        }
    }
}

#[test]
fn without_a_pull_nothing_changes() {
    // The golden runs of the mechanisms compare such fits with earlier ones.
    let case = case(3);
    let plain = BeliefPropagation::new(&domain(), case.loss.layout());
    let method = AcceleratedBregman { stopping: Stopping::after(60), ..Default::default() };
    assert_eq!(method.pull.to_bits(), 0);
    let default = method.estimate(&plain, &case.loss, TOTAL, None).unwrap();
    let written = AcceleratedBregman { pull: 0.0, ..method };
    let same = written.estimate(&plain, &case.loss, TOTAL, None).unwrap();
    assert_eq!(default.potentials, same.potentials);
    let pull = Pull::new(0.0, TOTAL).unwrap();
    assert_eq!(pull.kept(7.0).to_bits(), 1.0_f64.to_bits());
    let mut misfit = case.loss.misfit(default.marginals.values());
    let (theta, mu) = (&default.potentials, &default.marginals);
    let bound = pull.join(&mut misfit, &case.loss, theta, mu, default.log_partition);
    assert!(bound < f64::MIN, "no bound");
    assert_eq!(misfit.value.to_bits(), default.loss.to_bits());
}

#[test]
fn a_pull_of_its_own_for_a_clique_is_a_weight_of_its_own() {
    // Four times the weight and four times the pull: the same distribution.
    let case = case(1);
    let quarter = |m: &Measurement| Measurement { stddev: 0.5 * m.stddev, ..m.clone() };
    let of = |r: usize| Measurement {
        clique: case.loss.layout().cliques()[r].clone(),
        cell: None,
        values: case.loss.targets()[case.loss.layout().range(r)].to_vec(),
        stddev: [5.0, 12.0, 3.0][r],
        provenance: Provenance::Private,
    };
    let fine: Vec<Measurement> = (0..3).map(|r| quarter(&of(r))).collect();
    let loss = SquaredLoss::new(&domain(), &fine, Weighting::InverseVariance).unwrap();
    let other = Case { base: case.base.clone(), loss, oracle: case.oracle.clone() };
    let (a, b) = (case.fit(50.0, 4000), other.fit(200.0, 4000));
    for (a, b) in a.marginals.values().iter().zip(b.marginals.values()) {
        assert!((a - b).abs() < 1e-3, "{a} and {b}");
    }
    let parts: f64 = case.loss.of_cliques(&a.marginals).iter().sum();
    let pulled = 50.0 * divergence(&case.joint(&a.potentials), &case.base());
    assert!((parts + pulled - a.loss).abs() < 1e-9 * a.loss);
}

#[test]
fn listed_records_are_pulled_to_their_weights() {
    // Every record of the domain once, with the base's probabilities: the same fit as over the base.
    let case = case(2);
    let rows: Vec<[u32; 3]> = (0..12).map(|r| [r / 6, r / 2 % 3, r % 2]).collect();
    let rows = Dataset::from_rows(domain(), &rows).unwrap();
    let weights: Vec<f64> = case.base.values().iter().map(|log| log.exp()).collect();
    let layout: &Arc<CliqueLayout> = case.loss.layout();
    let listed = ListedRecords::new(&rows, &weights, layout).unwrap();
    let stopping = Stopping::after(2000);
    let method = AcceleratedBregman { stopping, pull: 40.0, ..AcceleratedBregman::default() };
    let found = method.estimate(&listed, &case.loss, TOTAL, None).unwrap();
    let expected = case.fit(40.0, 2000);
    assert!((found.loss - expected.loss).abs() < 1e-6 * expected.loss);
    for (found, expected) in found.marginals.values().iter().zip(expected.marginals.values()) {
        assert!((found - expected).abs() < 1e-3, "{found} and {expected}");
    }
}

#[test]
fn a_pull_that_is_negative_or_no_number_is_an_error() {
    let case = case(0);
    for pull in [-1.0, 0.0, f64::NAN, f64::INFINITY] {
        let method = DualQuasiNewton { pull, stopping: Stopping::after(10) };
        assert!(method.fit(&case.oracle, &case.loss, TOTAL, None).is_err(), "{pull}");
    }
    for pull in [-1.0, f64::NAN, f64::INFINITY] {
        let method = AcceleratedBregman { pull, ..AcceleratedBregman::default() };
        assert!(method.estimate(&case.oracle, &case.loss, TOTAL, None).is_err(), "{pull}");
    }
}

#[test]
fn a_start_that_only_a_slow_oracle_could_answer_begins_at_the_base() {
    let Case { loss, .. } = case(0);
    let layout = loss.layout();
    let base = Potentials::zeros(&CliqueLayout::new(&domain(), [Clique::new([2])]).unwrap());
    let oracle = OverBase::new(&domain(), &base, layout).unwrap();
    // Two tables at odds about b: every record is less likely than the product of the tables' largest numbers by e⁻⁹⁰⁰.
    let mut far = Potentials::zeros(layout);
    for (clique, likely) in [([0, 1], [0, 3]), ([1, 2], [2, 3])] {
        let table = far.table_mut(layout.position(&Clique::new(clique)).unwrap());
        likely.iter().for_each(|cell: &usize| table[*cell] = 900.0);
    }
    let mut mu = Marginals::zeros(layout);
    let fast = oracle.marginals_if_fast(&far, TOTAL, &mut oracle.workspace(), &mut mu).unwrap();
    assert!(fast.is_none(), "{fast:?}");
    for calls in [2, 10, 50] {
        let fit = |calls, start| {
            let method = DualQuasiNewton { pull: 20.0, stopping: Stopping::after(calls) };
            method.fit(&oracle, &loss, TOTAL, start).unwrap()
        };
        assert_eq!(fit(calls + 1, Some(&far)).potentials, fit(calls, None).potentials);
    }
}
