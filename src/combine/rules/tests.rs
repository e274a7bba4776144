use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand_distr::{Distribution, StandardNormal};

use super::CombinedEstimate;

#[test]
fn the_estimate_is_moved_by_the_bias_of_the_replicates() {
    let found = CombinedEstimate::of_replicates(10.0, &[11.0, 12.0, 13.0], 0.0).unwrap();
    assert!((found.estimate - 8.0).abs() < 1e-12);
    assert!(found.covers(8.0) && !found.covers(100.0));
    assert!((found.upper + found.lower - 16.0).abs() < 1e-9);
}

#[test]
fn fewer_than_two_replicates_show_no_spread() {
    assert!(
        CombinedEstimate::of_replicates(1.0, &[], 0.0).is_none()
            && CombinedEstimate::of_replicates(1.0, &[1.0], 0.0).is_none()
    );
}

#[test]
fn the_p_value_of_either_end_is_five_percent() {
    let found = CombinedEstimate::of_replicates(1.0, &[1.2, 0.9, 1.1, 0.7], 0.01).unwrap();
    for end in [found.lower, found.upper] {
        assert!((found.p_value(end) - 0.05).abs() < 1e-9, "{end}");
    }
    assert!((found.p_value(found.estimate) - 1.0).abs() < 1e-9);
}

#[test]
fn sampling_widens_the_interval_and_adds_degrees_of_freedom() {
    let replicates = [1.2, 0.9, 1.1, 0.7];
    let [own, of_population] = [0.0, 1.0]
        .map(|sampling| CombinedEstimate::of_replicates(1.0, &replicates, sampling).unwrap());
    assert!(of_population.standard_error > own.standard_error);
    assert!(of_population.degrees > own.degrees && own.degrees >= 3.0);
}

/// Replicates whose bias is that of the release: an interval of 95 % covers at least as often. False alarm of 10⁻⁶: 5
/// standard deviations below 0.95 of 4,000 draws.
#[test]
fn intervals_cover_where_replicates_behave_as_the_release() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let mut normal = |scale: f64| -> f64 {
        let x: f64 = StandardNormal.sample(&mut rng);
        scale * x
    };
    let mut covered = 0;
    for draw in 0..4_000 {
        let (truth, bias, scale) = (f64::from(draw % 7), f64::from(draw % 3), 0.5);
        let released = truth + bias + normal(scale);
        let replicates: Vec<f64> = (0..8).map(|_| released + bias + normal(scale)).collect();
        covered += i32::from(
            CombinedEstimate::of_replicates(released, &replicates, 0.0).unwrap().covers(truth),
        );
    }
    assert!(f64::from(covered) / 4_000.0 > 0.933, "{covered}");
}
