use rand::SeedableRng;

use super::*;
use crate::domain::Domain;
use crate::least_squares::Measured;
use crate::measurement::{Measurement, Provenance};
use crate::posterior::log_linear::tests::example;

/// All tables of three records over 2 x 2 cells, each with its posterior probability, against many draws.
#[test]
fn tables_have_the_posterior_distribution() {
    let domain = Domain::new([("a", 2), ("b", 2)]).unwrap();
    let values = vec![1.9, 0.3, -0.4, 1.2];
    let (clique, stddev) = (domain.everything(), 0.8);
    let noisy = Measurement {
        clique,
        cell: None,
        values: values.clone(),
        stddev,
        provenance: Provenance::Private,
    };
    let measured = Measured { records: Some(3.0), ..Measured::of(&[noisy]) };
    let observed = Observed::new(&domain, &measured, &domain.everything()).unwrap();
    let model = LogLinear::new(&domain, &observed, 3.0);
    let p = [0.4, 0.3, 0.1, 0.2];
    let mut expected: BTreeMap<[u32; 4], f64> = BTreeMap::new();
    for triple in 0..64_usize {
        let cells = [triple % 4, triple / 4 % 4, triple / 16];
        let mut counts = [0_u32; 4];
        cells.iter().for_each(|cell| counts[*cell] += 1);
        // Given that there are three records: the residuals alone.
        let away: Vec<f64> = counts.iter().zip(&values).map(|(n, v)| f64::from(*n) - v).collect();
        let mean = away.iter().sum::<f64>() / 4.0;
        let squares: f64 = away.iter().map(|x| (x - mean).powi(2)).sum();
        let density = (-squares / (2.0 * stddev * stddev)).exp();
        *expected.entry(counts).or_default() +=
            density * cells.iter().map(|cell| p[*cell]).product::<f64>();
    }
    let all: f64 = expected.values().sum();
    let (mut rng, draws) = (ChaCha20Rng::seed_from_u64(3), 20_000);
    let mut found: BTreeMap<[u32; 4], f64> = BTreeMap::new();
    for _ in 0..draws {
        let cells = Records::new(&model, &observed).draw(&p, 3, &mut rng).unwrap();
        let mut counts = [0_u32; 4];
        cells.iter().for_each(|cell| counts[*cell as usize] += 1);
        *found.entry(counts).or_default() += 1.0 / f64::from(draws);
    }
    for (counts, weight) in expected {
        let probability = weight / all;
        let error = (found.get(&counts).copied().unwrap_or(0.0) - probability).abs();
        let deviation = (probability * (1.0 - probability) / f64::from(draws)).sqrt();
        assert!(error < 5.0 * deviation + 1e-3, "{counts:?}: {error} of {probability}");
    }
}

#[test]
fn precise_measurements_hold_in_the_records() {
    let (_, observed, model) = example(0.05);
    let p = vec![1.0 / 12.0; 12];
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let cells = Records::new(&model, &observed).draw(&p, 200, &mut rng).unwrap();
    let mut counts = vec![0.0; 12];
    cells.iter().for_each(|cell| counts[*cell as usize] += 1.0);
    let found = model.means(&counts);
    for (found, measured) in found.iter().zip(&observed.values) {
        assert!((found - measured).abs() < 2.5, "{found} and {measured}");
    }
}
