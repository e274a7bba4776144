use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::combine::tests::{schema, table};
use crate::combine::{Statistic, Target};
use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Schema};
use crate::least_squares::Measured;
use crate::measurement::Measurement;
use crate::model::Accuracy;

/// The noise that the formula predicts is that of 4,000 simulated measurements, to 10 %: more than 4 standard deviations
/// of a variance.
#[test]
fn the_variance_from_the_noise_is_that_of_simulated_measurements() {
    let (schema, table) = (schema(), table());
    let domain = schema.domain();
    let cliques = [Clique::new([0, 1, 2]), Clique::new([1]), Clique::new([0, 2])];
    let exact = table.project_many(&cliques).unwrap();
    let statistics = [
        Statistic::share("sex=m, pay=0..20", &schema).unwrap(),
        Statistic::difference("pay: sex=f vs sex=m", &schema).unwrap(),
        Statistic::linear("pay ~ age + sex", &schema).unwrap(),
        Statistic::logistic("sex=m ~ age + pay", &schema).unwrap(),
    ];
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let draws = 4_000;
    let designs: Vec<_> = statistics.iter().map(|s| s.design(&schema, &table).unwrap()).collect();
    let mut sums = vec![[0.0; 3]; designs.len()];
    for _ in 0..draws {
        let measured =
            cliques.iter().zip(&exact).zip([1.0, 0.5, 2.0]).map(|((clique, exact), stddev)| {
                let noisy = exact.iter().map(|x| {
                    let noise: f64 = StandardNormal.sample(&mut rng);
                    f64::from(*x) + stddev * noise
                });
                Measurement::new(clique.clone(), noisy.collect(), stddev)
            });
        let measured = Measured::of(&measured.collect::<Vec<_>>());
        for (design, sums) in designs.iter().zip(&mut sums) {
            let found = design.on_measurements(&domain, &measured).unwrap().unwrap();
            let found = found.last().unwrap().unwrap();
            let more = [found.value, found.value * found.value, found.noise];
            sums.iter_mut().zip(more).for_each(|(sum, x)| *sum += x / f64::from(draws));
        }
    }
    for ((design, [mean, square, noise]), statistic) in designs.iter().zip(sums).zip(&statistics) {
        let truth = design.values(&table).pop().unwrap().unwrap();
        let variance = square - mean * mean;
        assert!((variance / noise - 1.0).abs() < 0.1, "{statistic}: {variance}, expected {noise}");
        assert!(
            (mean - truth).abs() < 5.0 * (noise / f64::from(draws)).sqrt() + 0.02 * truth.abs()
        );
    }
}

/// Three columns without missing values, of which only pairs were measured.
#[test]
fn a_linear_regression_needs_pairs_of_its_columns_alone() {
    let text = r#"{"columns": [
        {"name": "age", "role": "attribute", "kind": "numeric", "edges": [0, 2, 4, 6], "integer": true},
        {"name": "sex", "role": "attribute", "kind": "categorical", "codes": ["f", "m"]},
        {"name": "pay", "role": "attribute", "kind": "numeric", "edges": [0, 10, 20], "integer": false}
    ]}"#;
    let schema = Schema::from_json(text, "schema.json").unwrap();
    let domain = schema.domain();
    let mut rows = Vec::new();
    for (cell, count) in (0..12_u32).zip([40, 10, 30, 20, 25, 25, 20, 40, 10, 50, 5, 60]) {
        rows.extend((0..count).map(|_| [cell / 4, cell / 2 % 2, cell % 2]));
    }
    let table = Dataset::from_rows(domain.clone(), &rows).unwrap();
    let pairs = [[0, 1], [0, 2], [1, 2]].map(Clique::new);
    let exact = table.project_many(&pairs).unwrap();
    let statistic = Statistic::linear("pay ~ age + sex=m", &schema).unwrap();
    let design = statistic.design(&schema, &table).unwrap();
    let truth: Vec<f64> = design.values(&table).into_iter().map(Option::unwrap).collect();
    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let (draws, mut sums) = (4_000, [[0.0; 3]; 3]);
    for _ in 0..draws {
        let measured = pairs.iter().zip(&exact).map(|(clique, exact)| {
            let mut noise = || -> f64 { StandardNormal.sample(&mut rng) };
            let noisy = exact.iter().map(|count| f64::from(*count) + noise());
            Measurement::new(clique.clone(), noisy.collect(), 1.0)
        });
        let records = Some(rows.len() as f64);
        let measured: Vec<Measurement> = measured.collect();
        let measured = Measured { records, ..Measured::of(&measured) };
        let found = design.on_measurements(&domain, &measured).unwrap().expect("all pairs");
        for (found, sums) in found.into_iter().map(Option::unwrap).zip(&mut sums) {
            let more = [found.value, found.value * found.value, found.noise];
            sums.iter_mut().zip(more).for_each(|(sum, x)| *sum += x / f64::from(draws));
            assert!(found.looseness < 0.2, "{}", found.looseness);
        }
    }
    for ([mean, square, noise], truth) in sums.into_iter().zip(truth) {
        let variance = square - mean * mean;
        assert!((variance / noise - 1.0).abs() < 0.1, "{variance}, expected {noise}");
        assert!((mean - truth).abs() < 5.0 * (noise / f64::from(draws)).sqrt() + 1e-3);
    }
    // A logistic regression needs them together, and a missing number decides for all columns which records count.
    let measured: Vec<Measurement> = pairs
        .iter()
        .map(|pair| {
            let cells = domain.shape(pair).iter().product();
            Measurement::new(pair.clone(), vec![9.0; cells], 1.0)
        })
        .collect();
    let measured = Measured::of(&measured);
    let logistic = Statistic::logistic("sex=m ~ age + pay", &schema).unwrap();
    let logistic = logistic.design(&schema, &table).unwrap();
    assert!(logistic.on_measurements(&domain, &measured).unwrap().is_none());
    let (with_missing, records) = (super::super::tests::schema(), super::super::tests::table());
    let design = statistic.design(&with_missing, &records).unwrap();
    let pairs: Vec<Measurement> = pairs
        .iter()
        .map(|pair| {
            let cells = with_missing.domain().shape(pair).iter().product();
            Measurement::new(pair.clone(), vec![9.0; cells], 1.0)
        })
        .collect();
    let found = design.on_measurements(&with_missing.domain(), &Measured::of(&pairs)).unwrap();
    assert!(found.is_none());
}

/// Where the noise in the information is large, intervals to first order cover too little. Scores have noise of a known law.
#[test]
fn intervals_of_logistic_coefficients_cover_under_large_noise() {
    let (schema, table) = (schema(), table());
    let domain = schema.domain();
    let clique = Clique::new([0, 1]);
    let exact = table.project(&clique).unwrap();
    let statistic = Statistic::logistic("sex=m ~ age", &schema).unwrap();
    let design = statistic.design(&schema, &table).unwrap();
    let truth = design.values(&table).pop().unwrap().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    for stddev in [3.0, 12.0, 16.0] {
        let (mut covered, mut given, mut rejected) = (0.0, 0.0, 0.0);
        let draws = 1_000;
        for _ in 0..draws {
            let mut noise = || -> f64 { stddev * rng.sample::<f64, _>(StandardNormal) };
            let noisy = exact.iter().map(|count| f64::from(*count) + noise()).collect();
            let measured = Measured::of(&[Measurement::new(clique.clone(), noisy, stddev)]);
            let accuracy = Accuracy { measured, total: 385.0, ..Accuracy::default() };
            let found = design.estimates(&domain, &accuracy, None).unwrap().unwrap();
            let Some(found) = found.last().copied().flatten() else { continue };
            given += 1.0;
            covered += f64::from(u8::from(found.estimate.covers(truth)));
            // The test of 0 and the interval agree.
            rejected += f64::from(u8::from((found.p_value < 0.05) == found.estimate.covers(0.0)));
        }
        let coverage: f64 = covered / given;
        assert!(given > 0.6 * f64::from(draws), "{stddev}: {given} intervals");
        assert!((coverage - 0.95).abs() < 0.021, "{stddev}: {coverage}");
        assert!(rejected <= 0.002 * given, "{stddev}: {rejected}");
    }
}

/// The interval for a population is wider by the sampling error.
#[test]
fn intervals_of_logistic_coefficients_for_a_population_hold_both_errors() {
    let (schema, population) = (schema(), table());
    let domain = schema.domain();
    let clique = Clique::new([0, 1]);
    let statistic = Statistic::logistic("sex=m ~ age", &schema).unwrap();
    let design = statistic.design(&schema, &population).unwrap();
    let truth = design.values(&population).pop().unwrap().unwrap();
    let mut rng = ChaCha20Rng::seed_from_u64(6);
    let (draws, mut covered, mut given) = (600, 0.0, 0.0);
    for _ in 0..draws {
        let drawn: Vec<Vec<u32>> =
            (0..385).map(|_| population.row(rng.random_range(0..population.records()))).collect();
        let private = Dataset::from_rows(domain.clone(), &drawn).unwrap();
        let mut noise = || -> f64 { 6.0 * rng.sample::<f64, _>(StandardNormal) };
        let exact = private.project(&clique).unwrap();
        let noisy = exact.iter().map(|count| f64::from(*count) + noise()).collect();
        let measured = Measured::of(&[Measurement::new(clique.clone(), noisy, 6.0)]);
        let accuracy = Accuracy { measured, total: 385.0, ..Accuracy::default() };
        let found = statistic.combine(&schema, &private, &[], &accuracy, Target::Population, None);
        let Some(found) = found.unwrap().pop().unwrap().combined else { continue };
        given += 1.0;
        covered += f64::from(u8::from(found.covers(truth)));
    }
    let coverage: f64 = covered / given;
    assert!(given > 0.9 * f64::from(draws) && (coverage - 0.95).abs() < 0.027, "{coverage}");
}
