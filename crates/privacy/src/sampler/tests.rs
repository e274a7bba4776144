mod distributions;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::*;

/// Successes of 10⁶ draws are within 5 standard deviations (false alarm 6 × 10⁻⁷) of their mean.
fn assert_rate(probability: f64, mut draw: impl FnMut() -> bool) {
    let draws = 1_000_000;
    let successes = (0..draws).filter(|_| draw()).count() as f64;
    let mean = probability * f64::from(draws);
    let stddev = (mean * (1.0 - probability)).sqrt();
    assert!((successes - mean).abs() <= 5.0 * stddev, "{successes} against {mean}");
}

#[test]
fn a_fraction_is_met_by_the_short_and_the_long_path() {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    assert_rate(0.375, || bernoulli(3, 8, &mut rng));
    let unit = (1_u128 << 125) / 7;
    assert_rate(3.0 / 7.0, || bernoulli(3 * unit, 7 * unit, &mut rng));
    assert_rate(3.0 / 7.0, || bernoulli(3 << 62, 7 << 62, &mut rng));
    for denominator in [1, 5, 1 << 70, (1 << 126) - 1] {
        assert!((0..100).all(|_| bernoulli(denominator, denominator, &mut rng)));
        assert!(!(0..100).any(|_| bernoulli(0, denominator, &mut rng)));
    }
}

/// A generator that always gives the same word.
struct Constant(u64, u32);

impl rand::TryRng for Constant {
    type Error = std::convert::Infallible;
    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(0)
    }
    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        self.1 += 1;
        Ok(self.0)
    }
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(0);
        Ok(())
    }
}
impl rand::TryCryptoRng for Constant {}

#[test]
fn a_tie_of_the_first_word_is_decided_by_the_next() {
    // 1/3 = 0.0101… in binary: the word 0x5555… ties for ever, so 64 bits lower decides at once.
    let third = 0x5555_5555_5555_5555;
    for denominator in [3_u128, 3 << 70] {
        let numerator = denominator / 3;
        let mut below = Constant(third - 1, 0);
        assert!(bernoulli(numerator, denominator, &mut below) && below.1 == 1);
        let mut above = Constant(third + 1, 0);
        assert!(!bernoulli(numerator, denominator, &mut above) && above.1 == 1);
    }
    // 1/2 = 0.1000…: the word 2^63 is not below it, the word before it is.
    for denominator in [2_u128, 1 << 100] {
        assert!(!bernoulli(denominator / 2, denominator, &mut Constant(1 << 63, 0)));
        assert!(bernoulli(denominator / 2, denominator, &mut Constant((1 << 63) - 1, 0)));
    }
}

#[test]
fn uniform_integers_cover_their_range_evenly() {
    let mut rng = ChaCha20Rng::seed_from_u64(2);
    for value in 0..5 {
        assert_rate(0.2, || uniform_below(5, &mut rng) == value);
    }
    // A bound just above 2^63 rejects nearly half of all words.
    let bound = (1 << 63) + 1;
    assert_rate(0.5, || uniform_below(bound, &mut rng) < bound / 2);
    assert_eq!(uniform_below(1, &mut rng), 0);
    assert_eq!(uniform_below(0, &mut rng), 0);
}
