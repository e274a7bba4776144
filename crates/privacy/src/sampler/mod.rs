//! Exact samplers: integer arithmetic only, no floating point (Canonne, Kamath & Steinke 2020).
//!
//! Given perfectly random bits, every sampler has exactly the named distribution, except for events of probability
//! below 2⁻¹⁴⁰⁰, where a geometric variable exceeds 1024 and the draw is repeated.

mod bernoulli_exp;
mod discrete_gaussian;
mod discrete_laplace;

use rand::CryptoRng;

#[cfg(test)]
pub(crate) use bernoulli_exp::bernoulli_exp;
pub(crate) use bernoulli_exp::{InverseE, bernoulli_exp_fraction};
pub(super) use discrete_gaussian::DiscreteGaussian;
pub(super) use discrete_laplace::DiscreteLaplace;

/// Largest numerator and denominator that the samplers accept, so that their products fit 128 bits.
pub(crate) const LARGEST_PART: u64 = 1 << 50;

/// Noise on integers, of either form.
#[derive(Clone, Copy, Debug)]
pub(crate) enum IntegerNoise {
    Gaussian(DiscreteGaussian),
    Laplace(DiscreteLaplace),
}

impl IntegerNoise {
    /// A draw.
    pub(crate) fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        match self {
            Self::Gaussian(noise) => noise.sample(rng),
            Self::Laplace(noise) => noise.sample(rng),
        }
    }
}

/// An integer uniform on `0..bound`; 0 when `bound` is 0. Unbiased, by rejection (Lemire 2019).
#[inline]
pub(super) fn uniform_below<R: CryptoRng + ?Sized>(bound: u64, rng: &mut R) -> u64 {
    let mut product = u128::from(rng.next_u64()) * u128::from(bound);
    if low_word(product) < bound {
        let excess = bound.wrapping_neg() % bound.max(1); // 2^64 mod bound
        while low_word(product) < excess {
            product = u128::from(rng.next_u64()) * u128::from(bound);
        }
    }
    high_word(product)
}

/// True with probability `numerator / denominator`, exactly.
///
/// Compares a random binary fraction with the ratio word by word. One word nearly always decides.
///
/// Requires `numerator ≤ denominator`, `0 < denominator < 2¹²⁶`.
#[inline]
fn bernoulli<R: CryptoRng + ?Sized>(mut numerator: u128, denominator: u128, rng: &mut R) -> bool {
    debug_assert!(numerator <= denominator, "a probability is at most 1");
    debug_assert!(denominator > 0 && denominator >> 126 == 0, "the denominator fits 126 bits");
    if denominator >> 64 == 0 {
        if numerator >= denominator {
            return true;
        }
        loop {
            let product = u128::from(rng.next_u64()) * denominator;
            let target = numerator << 64;
            if product >= target {
                return false;
            }
            if target - product >= denominator {
                return true;
            }
            numerator = target - product;
        }
    }
    loop {
        // word * denominator = high * 2^64 + low, compared with numerator * 2^64.
        let word = u128::from(rng.next_u64());
        let lower = word * u128::from(low_word(denominator));
        let high = word * (denominator >> 64) + (lower >> 64);
        let low = u128::from(low_word(lower));
        if high >= numerator {
            return false;
        }
        if numerator - high > (denominator >> 64) + 1 {
            return true;
        }
        let rest = ((numerator - high) << 64) - low;
        if rest >= denominator {
            return true;
        }
        numerator = rest;
    }
}

/// The lower 64 bits.
#[expect(clippy::cast_possible_truncation, reason = "the lower half is meant")]
#[inline]
const fn low_word(value: u128) -> u64 {
    value as u64
}

/// The upper 64 bits.
#[inline]
const fn high_word(value: u128) -> u64 {
    (value >> 64) as u64
}

#[cfg(test)]
mod tests;
