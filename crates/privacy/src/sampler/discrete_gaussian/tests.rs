use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;

#[test]
fn the_widest_and_the_narrowest_parameters_are_drawn_without_overflow() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let extremes = [(1, 1 << 50), (1 << 50, 1), (1 << 50, (1 << 50) - 1), ((1 << 50) - 1, 1 << 50)];
    for (numerator, denominator) in extremes.into_iter().chain([(1 << 40, 3), (1 << 40, 1)]) {
        let variance = Ratio::new(numerator, denominator).unwrap();
        let noise = DiscreteGaussian::new(variance).unwrap();
        let bound = 9.0 * variance.to_f64().sqrt() + 1.0;
        assert!((0..10_000).all(|_| (noise.sample(&mut rng) as f64).abs() < bound));
    }
    for (numerator, denominator) in [(0, 1), (1, (1 << 50) + 1), ((1 << 50) + 1, 1)] {
        assert!(DiscreteGaussian::new(Ratio::new(numerator, denominator).unwrap()).is_err());
    }
}
