use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;

#[test]
fn many_coins_have_the_probability_of_one_or_twice_that() {
    let mut rng = ChaCha20Rng::seed_from_u64(5);
    let (mut coins, draws) = (InverseE::default(), 4_000_000);
    let single = (0..draws).filter(|_| coins.flip(&mut rng)).count();
    let double = (0..draws).filter(|_| coins.flip_twice_as_likely(&mut rng)).count();
    for (hits, p) in [(single, (-1_f64).exp()), (double, 2.0 * (-1_f64).exp())] {
        let mean = f64::from(draws) * p;
        // 5 standard deviations: a false alarm below 10⁻⁶.
        let slack = 5.0 * (mean * (1.0 - p)).sqrt();
        assert!((hits as f64 - mean).abs() <= slack, "{hits}, {mean}");
    }
}

#[test]
fn coins_have_the_probability_they_name() {
    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let cases: [(u128, u128); 7] =
        [(0, 1), (1, 3), (1, 1), (7, 2), (1, 1000), (3 << 100, 4 << 100), (5 << 90, 4 << 90)];
    for (numerator, denominator) in cases {
        let probability = (-(numerator as f64) / denominator as f64).exp();
        let draws = 1_000_000;
        let hits = (0..draws).filter(|_| bernoulli_exp_fraction(numerator, denominator, &mut rng));
        let (hits, mean) = (hits.count() as f64, probability * f64::from(draws));
        // 5.5 standard deviations: false alarm below 10⁻⁶ for the seven cases together.
        let slack = 5.5 * (mean * (1.0 - probability)).sqrt();
        assert!((hits - mean).abs() <= slack, "{numerator}/{denominator}: {hits}, {mean}");
    }
}
