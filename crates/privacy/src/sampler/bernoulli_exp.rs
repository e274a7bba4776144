//! Coins of probability exp(−γ).

use rand::CryptoRng;

use super::bernoulli;
#[cfg(test)]
use crate::Ratio;

/// True with probability exp(−γ), exactly (Canonne, Kamath & Steinke 2020, Algorithm 1).
///
/// `gamma`: γ ≥ 0.
#[cfg(test)]
pub(crate) fn bernoulli_exp<R: CryptoRng + ?Sized>(gamma: Ratio, rng: &mut R) -> bool {
    bernoulli_exp_fraction(gamma.numerator().into(), gamma.denominator().into(), rng)
}

/// `bernoulli_exp` of `numerator / denominator`, which need not be in lowest terms.
///
/// Requires `0 < denominator < 2¹¹⁰`.
#[inline]
pub(crate) fn bernoulli_exp_fraction<R: CryptoRng + ?Sized>(
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

/// Many exact coins of probability exp(−1), using 16 random bits per step where these suffice.
#[derive(Default)]
pub(crate) struct InverseE {
    bits: u64,
    left: u32,
}

impl InverseE {
    /// True with probability exp(−1), as [`bernoulli_exp_one`].
    #[inline]
    pub(crate) fn flip<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> bool {
        self.flip_from(2, rng)
    }

    /// True with probability 2 exp(−1). A coin of exp(−1) fails unless its round 2 succeeds, which has probability 1/2;
    /// this function draws the outcome of the rounds after that.
    #[inline]
    pub(crate) fn flip_twice_as_likely<R: CryptoRng + ?Sized>(&mut self, rng: &mut R) -> bool {
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
mod tests;
