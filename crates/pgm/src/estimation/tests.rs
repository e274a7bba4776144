//! Estimators: both reach the optimum, stay finite on noise, and start warm without a jump.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::Error;
use crate::domain::{Clique, Domain};
use crate::estimation::{
    AcceleratedBregman, Certificate, Estimate, Estimator, LeastLoss, MarginalLoss, MirrorDescent,
    Misfit, SquaredLoss, Stopping, Weighting,
};
use crate::inference::{BeliefPropagation, LogSpace, MarginalOracle};
use crate::measurement::{Measurement, Provenance};
use crate::model::MarkovRandomField;
use crate::table::{CliqueLayout, Marginals, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

const TOTAL: f64 = 10_000.0;

fn rng(seed: u64) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(seed)
}

fn domain() -> Domain {
    Domain::new([("a", 3), ("b", 4), ("c", 2), ("d", 5), ("e", 3)]).unwrap()
}

/// A loop, a triple that overlaps it, and a single attribute.
fn cliques() -> Vec<Clique> {
    let cliques: [&[usize]; 6] = [&[0, 1], &[1, 2], &[2, 3], &[0, 3], &[0, 3, 4], &[4]];
    cliques.map(|c| Clique::new(c.iter().copied())).into()
}

/// Marginals of a random distribution with Gaussian noise of this standard deviation.
fn measurements(seed: u64, stddev: f64) -> Vec<Measurement> {
    let domain = domain();
    let mut rng = rng(seed);
    let layout = CliqueLayout::new(&domain, [domain.everything()]).unwrap();
    let mut theta = Potentials::zeros(&layout);
    theta.values_mut().iter_mut().for_each(|x| *x = rng.random_range(-1.5..1.5));
    let truth = MarkovRandomField::new(&domain, theta, TOTAL).unwrap();
    let tables = truth.marginals(&cliques()).unwrap();
    let noisy = |x: &f64, rng: &mut ChaCha20Rng| {
        let noise: f64 = StandardNormal.sample(rng);
        x + stddev * noise
    };
    let mut measure = |table: &crate::table::Factor| Measurement {
        clique: table.clique().clone(),
        cell: None,
        values: table.values().iter().map(|x| noisy(x, &mut rng)).collect(),
        stddev,
        provenance: Provenance::Private,
    };
    tables.iter().map(&mut measure).collect()
}

/// The estimators, to run them in one loop.
#[derive(Clone, Copy, Debug)]
enum Method {
    Mirror(MirrorDescent),
    Accelerated(AcceleratedBregman),
}

impl Method {
    fn estimate<O: MarginalOracle, L: MarginalLoss>(
        &self,
        oracle: &O,
        loss: &L,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> crate::Result<Estimate> {
        match self {
            Self::Mirror(method) => method.estimate(oracle, loss, total, warm_start),
            Self::Accelerated(method) => method.estimate(oracle, loss, total, warm_start),
        }
    }
}

/// Runs all calls of the method.
fn fit(
    estimator: &Method,
    measurements: &[Measurement],
    warm_start: Option<&Potentials>,
) -> Estimate {
    let loss = SquaredLoss::new(&domain(), measurements, Weighting::Equal).unwrap();
    let oracle = BeliefPropagation::new(&domain(), loss.layout());
    estimator.estimate(&oracle, &loss, TOTAL, warm_start).unwrap()
}

fn mirror(calls: u32) -> Method {
    Method::Mirror(MirrorDescent { stopping: Stopping::after(calls) })
}

fn accelerated(calls: u32) -> Method {
    let stopping = Stopping::after(calls);
    Method::Accelerated(AcceleratedBregman { stopping, ..AcceleratedBregman::default() })
}

/// The marginals of an estimate are those of its potentials, and keep the total.
fn assert_coherent(estimate: &Estimate, domain: &Domain, total: f64, what: &str) {
    let layout = estimate.potentials.layout();
    assert!(estimate.potentials.values().iter().all(|x| x.is_finite()), "{what}");
    let oracle = LogSpace::new(domain, layout);
    let mut mu = Marginals::zeros(layout);
    let a =
        oracle.marginals(&estimate.potentials, total, &mut oracle.workspace(), &mut mu).unwrap();
    for (found, expected) in estimate.marginals.values().iter().zip(mu.values()) {
        assert!((found - expected).abs() <= 1e-6 * total, "{what}: {found}, in logs {expected}");
    }
    let off = (a - estimate.log_partition).abs();
    assert!(off <= 1e-6 * a.abs().max(1.0), "{what}: A = {}, {a}", estimate.log_partition);
    for index in 0..layout.cliques().len() {
        let sum: f64 = estimate.marginals.table(index).iter().sum();
        assert!((sum - total).abs() < 1e-9 * total, "{what}: sum {sum}");
    }
}

#[test]
fn consistent_measurements_are_reproduced() {
    for seed in 0..5 {
        let exact = measurements(seed, 0.0);
        let estimators: [(&str, &Method); 2] =
            [("mirror descent", &mirror(5000)), ("accelerated", &accelerated(5000))];
        for (name, estimator) in estimators {
            let estimate = fit(estimator, &exact, None);
            let what = format!("{name}, seed {seed}");
            for (index, measurement) in exact.iter().enumerate() {
                let found = estimate.marginals.table(index);
                for (f, y) in found.iter().zip(&measurement.values) {
                    assert!((f - y).abs() < 1e-3 * TOTAL, "{what}: {f}, measured {y}");
                }
            }
            // The squared loss of uniform marginals is of the order of TOTAL².
            assert!(estimate.loss < 1e-6 * TOTAL * TOTAL, "{what}: {}", estimate.loss);
            assert_coherent(&estimate, &domain(), TOTAL, &what);
        }
    }
}

#[test]
fn both_estimators_reach_the_same_optimum_on_noisy_measurements() {
    for (seed, stddev) in [(0, 20.0), (1, 100.0), (2, 500.0), (3, 2000.0)] {
        let noisy = measurements(seed, stddev);
        let slow = fit(&mirror(8000), &noisy, None);
        let fast = fit(&accelerated(4000), &noisy, None);
        let gap = (slow.loss - fast.loss).abs() / slow.loss.min(fast.loss);
        assert!(gap < 1e-3, "σ = {stddev}: {} and {}", slow.loss, fast.loss);
        // No direction of the polytope's interior lowers the loss: mixing in any other distribution of the model
        // class raises it to first order.
        let loss = SquaredLoss::new(&domain(), &noisy, Weighting::Equal).unwrap();
        let mut gradient = vec![0.0; loss.layout().cells()];
        loss.gradient(fast.marginals.values(), &mut gradient);
        let oracle = BeliefPropagation::new(&domain(), loss.layout());
        let mut draw = rng(seed);
        for _ in 0..20 {
            let mut theta = Potentials::zeros(loss.layout());
            theta.values_mut().iter_mut().for_each(|x| *x = draw.random_range(-5.0..5.0));
            let mut other = Marginals::zeros(loss.layout());
            oracle.marginals(&theta, TOTAL, &mut oracle.workspace(), &mut other).unwrap();
            let moved = other.values().iter().zip(fast.marginals.values());
            let slope: f64 = moved.zip(&gradient).map(|((o, m), g)| g * (o - m)).sum();
            assert!(slope > -1e-3 * fast.loss, "σ = {stddev}: slope {slope}, {}", fast.loss);
        }
    }
}

#[test]
fn the_loss_of_mirror_descent_never_rises_from_call_to_call() {
    for (seed, stddev) in [(0, 0.0), (1, 100.0), (2, 2000.0)] {
        let noisy = measurements(seed, stddev);
        let mut before = f64::INFINITY;
        for calls in (1..=40).chain([60, 100, 200, 400, 800]) {
            let estimate = fit(&mirror(calls), &noisy, None);
            assert!(estimate.loss <= before * (1.0 + 1e-12), "σ = {stddev}, {calls} calls");
            before = estimate.loss;
        }
    }
}

#[test]
fn more_calls_never_return_a_worse_model() {
    // The accelerated method keeps the best model seen.
    let noisy = measurements(4, 300.0);
    let mut before = f64::INFINITY;
    for calls in [1, 2, 5, 10, 20, 40, 80, 160, 320, 640] {
        let estimate = fit(&accelerated(calls), &noisy, None);
        assert!(estimate.loss <= before * (1.0 + 1e-12), "{calls} calls");
        assert!(estimate.oracle_calls <= calls + 1, "{} of {calls}", estimate.oracle_calls);
        before = estimate.loss;
    }
}

#[test]
fn the_fit_depends_on_neither_the_oracle_nor_what_a_loss_adds_to_its_definition() {
    // The loss by its definition alone: no lower bound, no noise, no faster passes.
    struct Plain(SquaredLoss);
    impl MarginalLoss for Plain {
        fn layout(&self) -> &Arc<CliqueLayout> {
            MarginalLoss::layout(&self.0)
        }
        fn misfit(&self, mu: &[f64]) -> Misfit {
            MarginalLoss::misfit(&self.0, mu)
        }
        fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
            self.0.gradient(mu, gradient);
        }
        fn smoothness(&self) -> f64 {
            self.0.smoothness()
        }
    }
    let noisy = measurements(4, 300.0);
    for method in [mirror(300), accelerated(300)] {
        let expected = fit(&method, &noisy, None);
        let loss = SquaredLoss::new(&domain(), &noisy, Weighting::Equal).unwrap();
        let plain = Plain(loss.clone());
        let log_space = LogSpace::new(&domain(), SquaredLoss::layout(&loss));
        let beliefs = BeliefPropagation::new(&domain(), SquaredLoss::layout(&loss));
        let others = [
            method.estimate(&log_space, &loss, TOTAL, None).unwrap(),
            method.estimate(&log_space, &plain, TOTAL, None).unwrap(),
            method.estimate(&beliefs, &plain, TOTAL, None).unwrap(),
        ];
        for other in others {
            assert_coherent(&other, &domain(), TOTAL, "another oracle or loss");
            let off = (other.loss - expected.loss).abs() / expected.loss;
            assert!(off < 1e-3, "{method:?}: {} and {}", other.loss, expected.loss);
        }
        let bound = method.estimate(&beliefs, &plain, TOTAL, None).unwrap().lower_bound;
        assert!(bound == f64::NEG_INFINITY, "{bound}");
    }
}

#[test]
fn a_warm_start_begins_with_the_same_distribution_and_does_no_harm() {
    let noisy = measurements(5, 200.0);
    let (first, rest) = noisy.split_at(3);
    let estimators: [(&str, &Method, &Method); 2] = [
        ("mirror descent", &mirror(1), &mirror(3000)),
        ("accelerated", &accelerated(1), &accelerated(1500)),
    ];
    for (name, once, often) in estimators {
        let before = fit(often, first, None);
        // The cliques of the first fit are among those of the second, or inside one of them.
        let larger = [rest, first].concat();
        let start = fit(once, &larger, Some(&before.potentials));
        let old = MarkovRandomField::new(&domain(), before.potentials.clone(), TOTAL).unwrap();
        let expected = old.marginals(start.marginals.layout().cliques()).unwrap();
        for (index, expected) in expected.iter().enumerate() {
            for (f, e) in start.marginals.table(index).iter().zip(expected.values()) {
                assert!((f - e).abs() < 1e-9 * TOTAL, "{name}: {f}, before {e}");
            }
        }
        let (warm, cold) =
            (fit(often, &larger, Some(&before.potentials)), fit(often, &larger, None));
        assert!(warm.loss <= start.loss, "{name}");
        assert!(warm.loss <= 1.001 * cold.loss, "{name}: {} warm, {} cold", warm.loss, cold.loss);
    }
}

#[test]
fn potentials_move_into_a_clique_that_holds_theirs_and_nowhere_else() {
    let domain = domain();
    let small = CliqueLayout::new(&domain, [Clique::new([0]), Clique::new([1, 2])]).unwrap();
    let mut theta = Potentials::zeros(&small);
    let mut draw = rng(1);
    theta.values_mut().iter_mut().for_each(|x| *x = draw.random_range(-2.0..2.0));
    let large = [Clique::new([0, 1, 2]), Clique::new([3])];
    let large = CliqueLayout::new(&domain, large).unwrap();
    let expanded = theta.expand(&large).unwrap();
    let everything = [domain.everything()];
    let of = |theta: Potentials| {
        let model = MarkovRandomField::new(&domain, theta, 1.0).unwrap();
        model.marginals(&everything).unwrap()[0].values().to_vec()
    };
    for (a, b) in of(theta.clone()).iter().zip(of(expanded)) {
        assert!((a - b).abs() < 1e-12);
    }
    let elsewhere = CliqueLayout::new(&domain, [Clique::new([0]), Clique::new([1])]).unwrap();
    assert!(matches!(theta.expand(&elsewhere), Err(Error::InvalidSpecification { .. })));
}

#[test]
fn three_thousand_iterations_on_negative_cells_stay_finite() {
    // Noise as large as the counts and larger: a third of the cells are negative and overlaps disagree. Potentials that
    // ran away would lose the marginals' digits long before they overflow.
    let farthest =
        |e: &Estimate| e.potentials.values().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for (seed, stddev) in [(7, 1500.0), (8, 5000.0), (9, 20_000.0)] {
        let noisy = measurements(seed, stddev);
        assert!(noisy.iter().any(|m| m.values.iter().any(|y| *y < -100.0)));
        let estimators: [(&str, &Method, &Method); 2] = [
            ("mirror descent", &mirror(3000), &mirror(6000)),
            ("accelerated", &accelerated(3000), &accelerated(6000)),
        ];
        for (name, estimator, longer) in estimators {
            let estimate = fit(estimator, &noisy, None);
            let what = format!("{name}, σ = {stddev}");
            assert!(estimate.loss.is_finite(), "{what}");
            assert!(estimate.marginals.values().iter().all(|x| x.is_finite() && *x >= 0.0));
            assert_coherent(&estimate, &domain(), TOTAL, &what);
            let (far, farther) = (farthest(&estimate), farthest(&fit(longer, &noisy, None)));
            assert!(farther < 1.2 * far, "{what}: potentials up to {far}, then {farther}");
        }
    }
}

#[test]
fn a_fit_needs_measurements_of_the_right_size_and_finite_values() {
    let new = |m: &[Measurement]| SquaredLoss::new(&domain(), m, Weighting::InverseVariance);
    assert!(matches!(new(&[]), Err(Error::InvalidParameter { .. })));
    let good = measurements(1, 1.0);
    let mut short = good.clone();
    short[2].values.pop();
    assert!(matches!(new(&short), Err(Error::ShapeMismatch { expected: 10, found: 9, .. })));
    for bad in [f64::NAN, f64::INFINITY] {
        let mut wrong = good.clone();
        wrong[0].values[0] = bad;
        assert!(matches!(new(&wrong), Err(Error::InvalidSpecification { .. })));
    }
}

#[test]
fn measurements_of_the_same_clique_count_as_their_weighted_mean() {
    let domain = Domain::new([("a", 2)]).unwrap();
    let measurement = |values: [f64; 2], stddev| Measurement {
        clique: Clique::new([0]),
        cell: None,
        values: values.into(),
        stddev,
        provenance: Provenance::Private,
    };
    let twice = [measurement([70.0, 30.0], 1.0), measurement([40.0, 60.0], 2.0)];
    // Weights 1 and 1/4: mean 64, 36, whose sum is the total, so that the fit is exact there.
    for (weighting, expected) in [(Weighting::InverseVariance, 64.0), (Weighting::Equal, 55.0)] {
        let loss = SquaredLoss::new(&domain, &twice, weighting).unwrap();
        let oracle = BeliefPropagation::new(&domain, loss.layout());
        let estimate = accelerated(300).estimate(&oracle, &loss, 100.0, None).unwrap();
        let found = estimate.marginals.values()[0];
        assert!((found - expected).abs() < 1e-4, "{weighting:?}: {found}");
        let weights = if weighting == Weighting::Equal { [1.0, 1.0] } else { [1.0, 0.25] };
        let by_hand: f64 = twice
            .iter()
            .zip(weights)
            .map(|(m, w)| {
                w * ((m.values[0] - found).powi(2) + (m.values[1] - 100.0 + found).powi(2))
            })
            .sum();
        assert!((estimate.loss - by_hand / 2.0).abs() < 1e-6 * by_hand);
    }
}

/// The folder of reference results beside the real tables; `None`, said loudly, where it is missing.
fn reference(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("JOINTLY_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    let file = data.join("../reference").join(name);
    if !file.is_file() {
        eprintln!("SKIPPED: no {}, set JOINTLY_DATA to test against it", file.display());
    }
    file.is_file().then_some(file)
}

/// Adult's attributes in the order of its rows, which that of the file's names is not.
const ADULT: [&str; 14] = [
    "age",
    "workclass",
    "fnlwgt",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income>50K",
];

/// One of the reference's convergence cases: domain, measurements and total; `None` without the file.
fn adult_case(name: &str) -> Option<(Domain, Vec<Measurement>, f64)> {
    let file = reference(name)?;
    let mut text = String::new();
    let file = std::fs::File::open(file).unwrap();
    flate2::read::GzDecoder::new(file).read_to_string(&mut text).unwrap();
    let case: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |value: &serde_json::Value| value.as_f64().unwrap();
    let cardinality = |name: &str| u32::try_from(case["domain"][name].as_u64().unwrap()).unwrap();
    let domain = Domain::new(ADULT.map(|name| (name, cardinality(name)))).unwrap();
    let measurements: Vec<Measurement> = case["measurements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| {
            let names = m["clique"].as_array().unwrap();
            let names: Vec<&str> = names.iter().map(|name| name.as_str().unwrap()).collect();
            Measurement {
                clique: domain.clique(&names).unwrap(),
                cell: None,
                values: m["values"].as_array().unwrap().iter().map(number).collect(),
                stddev: number(&case["sigma"]),
                provenance: Provenance::Private,
            }
        })
        .collect();
    Some((domain, measurements, number(&case["total"])))
}

#[test]
fn the_accelerated_method_converges_on_adult_as_the_reference_says() {
    let Some((domain, measurements, total)) = adult_case("adult-convergence-sigma10.json.gz")
    else {
        return;
    };
    let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance).unwrap();
    let oracle = BeliefPropagation::new(&domain, loss.layout());
    let estimate = accelerated(1350).estimate(&oracle, &loss, total, None).unwrap();
    assert!(estimate.loss <= 4105.0, "{}", estimate.loss);
    assert_coherent(&estimate, &domain, total, "adult");
}

#[test]
fn a_fit_on_adult_is_certified_to_one_percent_within_700_calls() {
    let Some((domain, measurements, total)) = adult_case("adult-convergence-sigma100.json.gz")
    else {
        return;
    };
    let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance).unwrap();
    let oracle = BeliefPropagation::new(&domain, loss.layout());
    let method = AcceleratedBregman {
        stopping: Stopping::certified(1e-9, 700),
        patience: AcceleratedBregman::CERTIFYING_PATIENCE,
        ..AcceleratedBregman::default()
    };
    let estimate = method.estimate(&oracle, &loss, total, None).unwrap();
    assert!(estimate.oracle_calls <= 700, "{}", estimate.oracle_calls);
    assert!(estimate.certified_gap() <= 0.01 * estimate.loss, "{}", estimate.certified_gap());
    // What a longer fit finds is above the bound, too.
    let longer = accelerated(1500).estimate(&oracle, &loss, total, None).unwrap();
    assert!(estimate.lower_bound <= longer.loss, "{} {}", estimate.lower_bound, longer.loss);
}

#[test]
fn no_fit_is_below_the_certified_bound_and_long_runs_come_close_to_it() {
    for seed in 0..6 {
        for stddev in [0.0, 20.0, 300.0] {
            let measured = measurements(seed, stddev);
            let loss = SquaredLoss::new(&domain(), &measured, Weighting::Equal).unwrap();
            let oracle = BeliefPropagation::new(&domain(), loss.layout());
            let best = fit(&accelerated(3000), &measured, None);
            let slack = 1e-9 * best.loss + 1e-6;
            for calls in [60, 200, 1000] {
                for near in [None, Some(&best.potentials)] {
                    let found =
                        LeastLoss::enclose(&oracle, &loss, TOTAL, near, calls..=calls).unwrap();
                    let what = format!("{seed} {stddev} {calls}: {found:?} {}", best.loss);
                    assert!(found.lower_bound <= best.loss + slack, "{what}");
                    assert!(found.upper_bound >= found.lower_bound - slack, "{what}");
                    if calls == 1000 && stddev > 0.0 {
                        let doubt = found.upper_bound - found.lower_bound;
                        assert!(doubt <= 0.25 * loss.noise(), "{what}, noise {}", loss.noise());
                    }
                }
            }
            // Mirror descent certifies as well.
            let slow = MirrorDescent { stopping: Stopping::certified(0.5, 2000) };
            let slow = slow.estimate(&oracle, &loss, TOTAL, None).unwrap();
            assert!(slow.lower_bound <= best.loss + slack, "{seed} {stddev}");
            let ended = slow.certified_gap() <= 0.5 * loss.noise() || slow.oracle_calls >= 2000;
            assert!(ended, "{seed} {stddev}: {} calls", slow.oracle_calls);
        }
    }
}

/// The loss of the best distribution over all records of a small domain, by Frank-Wolfe steps on the list of all records,
/// each of the best length; and how far above the least loss it may be.
fn brute_force_optimum(domain: &Domain, measurements: &[Measurement], total: f64) -> (f64, f64) {
    let loss = SquaredLoss::new(domain, measurements, Weighting::Equal).unwrap();
    let layout = loss.layout();
    let shape = domain.shape(&domain.everything());
    let records: usize = shape.iter().product();
    let columns: Vec<Marginals> = (0..records)
        .map(|record| {
            let mut column = Marginals::zeros(layout);
            for (index, clique) in layout.cliques().iter().enumerate() {
                let mut cell = 0;
                for attribute in clique.iter() {
                    let below: usize = shape[attribute + 1..].iter().product();
                    cell = cell * shape[attribute] + record / below % shape[attribute];
                }
                column.table_mut(index)[cell] = total;
            }
            column
        })
        .collect();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut shares = vec![1.0 / records as f64; records];
    let mut gradient = vec![0.0; layout.cells()];
    let mut mu = Marginals::zeros(layout);
    let mut enclosed = (f64::INFINITY, f64::INFINITY);
    for _ in 0..200_000 {
        mu.values_mut().fill(0.0);
        for (share, column) in shares.iter().zip(&columns) {
            mu.values_mut().iter_mut().zip(column.values()).for_each(|(m, c)| *m += share * c);
        }
        loss.gradient(mu.values(), &mut gradient);
        let slopes: Vec<f64> = columns.iter().map(|c| dot(&gradient, c.values())).collect();
        let by_slope = |a: &usize, b: &usize| slopes[*a].total_cmp(&slopes[*b]);
        let to = (0..records).min_by(by_slope).unwrap();
        let from = (0..records).filter(|r| shares[*r] > 0.0).max_by(by_slope).unwrap();
        enclosed = (loss.value(&mu), dot(&gradient, mu.values()) - slopes[to]);
        if enclosed.1 <= 1e-9 * enclosed.0.max(1.0) {
            break;
        }
        // From the worst record that is there to the best one (pairwise Frank-Wolfe).
        let way: Vec<f64> =
            columns[to].values().iter().zip(columns[from].values()).map(|(t, f)| t - f).collect();
        let mut bent = mu.clone();
        bent.values_mut().iter_mut().zip(&way).for_each(|(m, w)| *m += w);
        let slope = slopes[from] - slopes[to];
        let curvature = 2.0 * (loss.value(&bent) - enclosed.0 + slope);
        let length = (slope / curvature).min(shares[from]);
        shares[from] -= length;
        shares[to] += length;
    }
    enclosed
}

#[test]
fn the_least_loss_is_where_brute_force_over_all_records_finds_it() {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 2), ("d", 2)]).unwrap();
    let cliques: [&[usize]; 5] = [&[0, 1], &[1, 2], &[0, 2], &[2, 3], &[3]];
    for seed in 0..8 {
        let mut draw = rng(seed);
        let stddev = [1.0, 10.0, 100.0, 1000.0][usize::try_from(seed % 4).unwrap()];
        let measurements: Vec<Measurement> = cliques
            .iter()
            .map(|clique| {
                let clique = Clique::new(clique.iter().copied());
                let cells = usize::try_from(domain.cells(&clique).unwrap()).unwrap();
                let value = |noise: f64| 600.0 / cells as f64 + 2.0 * stddev * noise;
                let values = (0..cells).map(|_| value(StandardNormal.sample(&mut draw))).collect();
                let provenance = Provenance::Private;
                Measurement { clique, cell: None, values, stddev, provenance }
            })
            .collect();
        let (above, gap) = brute_force_optimum(&domain, &measurements, 600.0);
        let loss = SquaredLoss::new(&domain, &measurements, Weighting::Equal).unwrap();
        let oracle = BeliefPropagation::new(&domain, loss.layout());
        for calls in [1, 30, 100, 400, 2000] {
            let found = LeastLoss::enclose(&oracle, &loss, 600.0, None, calls..=calls).unwrap();
            let slack = 1e-9 * above + 1e-6;
            let what = format!("{seed} {calls}: {found:?}, {above} at most {gap} above the least");
            assert!(found.lower_bound <= above + slack, "{what}");
            assert!(found.upper_bound >= above - gap - slack, "{what}");
            assert!(found.oracle_calls <= calls + 3, "{what}");
            if calls == 2000 {
                let doubt = found.upper_bound - found.lower_bound;
                assert!(doubt <= 0.25 * loss.noise(), "{what}, noise {}", loss.noise());
            }
        }
    }
}

#[test]
fn the_least_loss_on_adult_is_known_to_a_few_times_the_noise() {
    // With a tenth of the noise, the search ends where linear space does, at 7.2 times the noise.
    for (case, noises) in [("sigma100", 1.0), ("sigma10", 8.0)] {
        let Some((domain, measurements, total)) =
            adult_case(&format!("adult-convergence-{case}.json.gz"))
        else {
            return;
        };
        let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance).unwrap();
        let oracle = BeliefPropagation::new(&domain, loss.layout());
        let fitted = AcceleratedBregman::default().estimate(&oracle, &loss, total, None).unwrap();
        let near = Some(&fitted.potentials);
        let found = LeastLoss::enclose(&oracle, &loss, total, near, 1000..=1000).unwrap();
        let doubt = found.upper_bound - found.lower_bound;
        assert!(doubt <= noises * loss.noise(), "{case}: {found:?}, noise {}", loss.noise());
        let longer = accelerated(2000).estimate(&oracle, &loss, total, near).unwrap();
        assert!(found.lower_bound <= longer.loss, "{case}: {found:?}, fitted {}", longer.loss);
        let certificate = Certificate {
            loss: fitted.loss,
            least_loss: found.upper_bound,
            lower_bound: found.lower_bound,
            noise: loss.noise(),
            excess: loss.excess(&fitted.marginals),
        };
        assert_eq!(certificate.says_nothing(), case == "sigma10");
    }
}

#[test]
fn a_certificate_without_a_bound_says_nothing_and_a_close_one_something() {
    let certificate = |least_loss: f64, lower_bound: f64, noise: f64| Certificate {
        loss: 1000.0,
        least_loss,
        lower_bound,
        noise,
        excess: 0.0,
    };
    assert!(certificate(900.0, 0.0, 10.0).says_nothing());
    // Within five times the noise, and within a tenth of the loss.
    assert!(!certificate(900.0, 851.0, 10.0).says_nothing());
    assert!(!certificate(900.0, 811.0, 1.0).says_nothing());
    assert!(certificate(900.0, 800.0, 10.0).says_nothing());
    // What the fit left for certain is no doubt.
    assert!(!certificate(100.0, 95.0, 1.0).says_nothing());
    assert!((certificate(100.0, 95.0, 1.0).doubt() - 5.0).abs() < 1e-12);
    assert!((certificate(100.0, 95.0, 1.0).gap() - 905.0).abs() < 1e-12);
    // All measurements public.
    assert!(!certificate(1.0, 0.0, 0.0).says_nothing());
}

#[test]
fn a_certified_fit_ends_as_soon_as_its_gap_is_small_enough() {
    let measured = measurements(3, 50.0);
    let loss = SquaredLoss::new(&domain(), &measured, Weighting::Equal).unwrap();
    let certified = |share| {
        let stopping = Stopping::certified(share, 5000);
        let method = AcceleratedBregman { stopping, ..AcceleratedBregman::default() };
        fit(&Method::Accelerated(method), &measured, None)
    };
    let (coarse, fine) = (certified(2.0), certified(0.001));
    assert!(coarse.certified_gap() <= 2.0 * loss.noise());
    assert!(fine.certified_gap() <= 0.001 * loss.noise());
    assert!(coarse.oracle_calls < fine.oracle_calls && fine.oracle_calls < 5000);
}

#[test]
fn a_fit_that_agrees_with_every_measurement_ends_and_is_nearer_the_truth() {
    let (mut ended, mut converged, mut calls) = (0.0, 0.0, 0);
    for seed in 0..20 {
        let exact = measurements(seed, 0.0);
        let truth = SquaredLoss::new(&domain(), &exact, Weighting::Equal).unwrap();
        let squared_error = |estimate: &Estimate| truth.value(&estimate.marginals);
        let agreeing = AcceleratedBregman {
            stopping: Stopping { agreement: 2.0, ..Stopping::after(500) },
            ..AcceleratedBregman::default()
        };
        let noisy = measurements(seed, 0.03 * TOTAL);
        let first = fit(&Method::Accelerated(agreeing), &noisy, None);
        ended += squared_error(&first);
        converged += squared_error(&fit(&accelerated(500), &noisy, None));
        calls += first.oracle_calls;
        // Without noise nothing but the truth agrees.
        assert!(
            squared_error(&fit(&Method::Accelerated(agreeing), &exact, None))
                < 1e-6 * TOTAL * TOTAL
        );
    }
    assert!(calls < 20 * 100, "{calls} calls");
    assert!(ended < 0.5 * converged, "{ended} against {converged}");
}
