//! Discrete Laplace noise.

use rand::CryptoRng;

use super::bernoulli_exp::bernoulli_exp_one;
use super::{LARGEST_PART, bernoulli_exp_fraction, uniform_below};
use crate::Ratio;
use crate::error::{Error, Result};

/// The discrete Laplace distribution: `P[x] ∝ exp(−|x| / scale)` on the integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DiscreteLaplace {
    scale: Ratio,
}

impl DiscreteLaplace {
    /// Creates the distribution with a scale above 0.
    ///
    /// # Errors
    /// A scale of 0, or one whose numerator or denominator, in lowest terms, is above 2⁵⁰.
    pub(crate) fn new(scale: Ratio) -> Result<Self> {
        check_parts("discrete Laplace scale", scale)?;
        Ok(Self { scale })
    }

    /// A draw (Canonne, Kamath & Steinke 2020, Algorithm 2).
    pub(crate) fn sample<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> i64 {
        loop {
            let fine = geometric(self.scale.numerator(), rng);
            let magnitude = fine / self.scale.denominator();
            if let Some(value) = signed(magnitude, rng) {
                return value;
            }
        }
    }
}

/// A geometric variable: `P[x] ∝ exp(−x / scale)` on `x ≥ 0`, for a whole scale from 1 to 2⁵⁰. It is always below 2⁶⁰.
#[inline]
pub(super) fn geometric<R: CryptoRng + ?Sized>(scale: u64, rng: &mut R) -> u64 {
    // Beyond this, repeat the draw: an event of probability exp(−1024), below 2⁻¹⁴⁷⁷.
    const LARGEST_WHOLE: u64 = 1 << 10;
    loop {
        let part = if scale == 1 { 0 } else { uniform_below(scale, rng) };
        if part > 0 && !bernoulli_exp_fraction(part.into(), scale.into(), rng) {
            continue;
        }
        let mut whole = 0;
        while whole < LARGEST_WHOLE && bernoulli_exp_one(rng) {
            whole += 1;
        }
        if whole < LARGEST_WHOLE {
            return part + scale * whole;
        }
    }
}

/// A random sign for a magnitude below 2⁶³; `None` for one of the two zeros.
#[inline]
pub(super) fn signed<R: CryptoRng + ?Sized>(magnitude: u64, rng: &mut R) -> Option<i64> {
    let value = magnitude.cast_signed();
    if rng.next_u32() & 1 == 0 { Some(value) } else { (value != 0).then_some(-value) }
}

/// Refuses a ratio that is 0 or too fine for the samplers' arithmetic.
pub(super) fn check_parts(name: &'static str, ratio: Ratio) -> Result<()> {
    let parts = [ratio.numerator(), ratio.denominator()];
    if parts.iter().all(|part| (1..=LARGEST_PART).contains(part)) {
        return Ok(());
    }
    Err(Error::invalid_parameter(name, ratio, "above 0, with parts of at most 2^50"))
}
