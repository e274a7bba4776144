use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::StandardNormal;

use super::*;

/// Weighted counts from noisy residuals have no bias, and the variance that is said.
#[test]
fn weighted_residuals_have_the_law_of_their_noise() {
    let domain = Domain::new([("a", 2), ("w", 3)]).unwrap();
    let weight = Weight { attribute: 1, means: vec![1.0, 3.0, 10.0] };
    let counts = [50.0, 20.0, 10.0, 30.0, 40.0, 5.0];
    let [a, w] = [Clique::new([0]), Clique::new([1])];
    let tables = [
        (a.clone(), vec![80.0, 75.0], 2.0),
        (w, vec![80.0, 60.0, 15.0], 3.0),
        (Clique::new([0, 1]), counts.to_vec(), 4.0),
    ];
    let truth = [50.0 + 60.0 + 100.0, 30.0 + 120.0 + 50.0];
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let (draws, mut squares, mut sums, mut law) = (4_000, 0.0, [0.0; 2], 0.0);
    for _ in 0..draws {
        let mut sample = Measured::of_records(Some(155));
        for (clique, table, stddev) in &tables {
            let mut noise = || stddev * rng.sample::<f64, _>(StandardNormal);
            let noisy = table.iter().map(|count| count + noise()).collect();
            let residual = MeasuredResidual::centered(&domain, clique, noisy, *stddev);
            sample.residuals.insert(clique.clone(), residual);
        }
        let measured = weight.measured(&domain, &sample);
        assert_eq!(measured.records, None, "the sum of the weights is not public");
        let solved = measured.estimates(&domain, std::slice::from_ref(&a)).unwrap();
        let found = solved.marginal(&a).unwrap();
        law = found.of_cell();
        for ((sum, found), truth) in sums.iter_mut().zip(found.counts()).zip(truth) {
            *sum += (found - truth) / f64::from(draws);
            squares += (found - truth).powi(2) / (2.0 * f64::from(draws));
        }
    }
    assert!((squares / law - 1.0).abs() < 0.1, "{squares}, expected {law}");
    let standard_error = (law / f64::from(draws)).sqrt();
    assert!(sums.iter().all(|bias| bias.abs() < 5.0 * standard_error), "{sums:?}");
}
