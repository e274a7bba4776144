//! Coins of probability exp(−γ).

use rand::CryptoRng;

use super::bernoulli;
#[cfg(test)]
use crate::privacy::Ratio;

/// True with probability exp(−γ), exactly (Canonne, Kamath & Steinke 2020, Algorithm 1).
///
/// `gamma`: γ ≥ 0.
#[cfg(test)]
pub(crate) fn bernoulli_exp<R: CryptoRng + ?Sized>(gamma: Ratio, rng: &mut R) -> bool {
    bernoulli_exp_fraction(gamma.numerator().into(), gamma.denominator().into(), rng)
}

/// [`bernoulli_exp`] of `numerator / denominator`, which need not be in lowest terms.
///
/// Requires `0 < denominator < 2¹¹⁰`.
#[inline]
pub(in crate::privacy) fn bernoulli_exp_fraction<R: CryptoRng + ?Sized>(
    mut numerator: u128,
    denominator: u128,
    rng: &mut R,
) -> bool {
    debug_assert!(denominator > 0 && denominator >> 110 == 0, "the denominator fits 110 bits");
    // exp(−γ) = exp(−1) ⋯ exp(−1) exp(−(γ − ⌊γ⌋)); the first failure ends it, so a large γ costs no more.
    while numerator >= denominator {
        if !bernoulli_exp_one(rng) {
            return false;
        }
        numerator -= denominator;
    }
    // P[k rounds succeed] = γᵏ/k!, so P[the first failure is in an odd round] = Σ (−γ)ᵏ/k! = exp(−γ).
    let mut round = 1_u128;
    // 65536 successes have probability 1/65536!: the bound only keeps the product in range.
    while round >> 16 == 0 && bernoulli(numerator, denominator * round, rng) {
        round += 1;
    }
    round % 2 == 1
}

/// True with probability exp(−1): the case γ = 1, whose first round always succeeds.
#[inline]
pub(super) fn bernoulli_exp_one<R: CryptoRng + ?Sized>(rng: &mut R) -> bool {
    let mut round = 2_u128;
    while round >> 16 == 0 && bernoulli(1, round, rng) {
        round += 1;
    }
    round % 2 == 1
}

/// Many coins of probability exp(−1), exactly, at 16 random bits a step where these decide.
#[derive(Default)]
pub(in crate::privacy) struct InverseE {
    bits: u64,
    left: u32,
}

impl InverseE {
    /// True with probability exp(−1), as [`bernoulli_exp_one`].
    #[inline]
    pub(in crate::privacy) fn flip<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> bool {
        self.flip_from(2, rng)
    }

    /// True with probability 2 exp(−1): a coin of exp(−1) fails unless its round 2 succeeds, which it does with probability
    /// 1/2; this is what the rounds after that decide.
    #[inline]
    pub(in crate::privacy) fn flip_twice_as_likely<R: CryptoRng + ?Sized>(
        &mut self,
        rng: &mut R,
    ) -> bool {
        self.flip_from(3, rng)
    }

    /// Whether the first round to fail, from a round on, is odd; round k succeeds with probability 1/k.
    #[inline]
    fn flip_from<R: CryptoRng + ?Sized>(&mut self, mut round: u64, rng: &mut R) -> bool {
        const LANE: u64 = 1 << 16;
        while round < LANE {
            if self.left == 0 {
                (self.bits, self.left) = (rng.next_u64(), 4);
            }
            let lane = self.bits % LANE;
            (self.bits, self.left) = (self.bits >> 16, self.left - 1);
            // (lane + u) / 2¹⁶ < 1 / round, where u in [0, 1) stands for all further bits.
            let low = lane * round;
            let succeeds = low + round <= LANE
                || (low < LANE && bernoulli((LANE - low).into(), round.into(), rng));
            if !succeeds {
                break;
            }
            round += 1;
        }
        round % 2 == 1
    }
}

#[cfg(test)]
mod tests {
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
            let hits =
                (0..draws).filter(|_| bernoulli_exp_fraction(numerator, denominator, &mut rng));
            let (hits, mean) = (hits.count() as f64, probability * f64::from(draws));
            // 5.5 standard deviations: false alarm below 10⁻⁶ for the seven cases together.
            let slack = 5.5 * (mean * (1.0 - probability)).sqrt();
            assert!((hits - mean).abs() <= slack, "{numerator}/{denominator}: {hits}, {mean}");
        }
    }
}
