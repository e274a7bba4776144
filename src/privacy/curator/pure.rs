//! Pure differential privacy: budgets of ε without δ, and Laplace noise.

use crate::data::Projectable;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::privacy::curator::no_round;
use crate::privacy::sampler::DiscreteLaplace;
use crate::privacy::{
    Curator, Epsilon, Ledger, LedgerEntry, MarginalSensitivity, NeighboringRelation,
    NoiseMechanism, NoiseSeed, Ratio, Rho, Sensitive,
};

/// A marginal with discrete Laplace noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceMarginal {
    /// The measured clique.
    pub clique: Clique,
    /// Counts with noise, in row-major order of the clique's sorted attributes.
    pub values: Vec<i64>,
    /// The noise's scale b, in counts, exactly: `P[x] ∝ exp(−|x| / b)`.
    pub scale: Ratio,
}

impl LaplaceMarginal {
    /// The noise's standard deviation in counts, `√(2q) / (1 − q)` with `q = exp(−1/b)`.
    pub fn stddev(&self) -> f64 {
        let q = (-1.0 / self.scale.to_f64()).exp();
        (2.0 * q).sqrt() / (1.0 - q)
    }
}

impl<'a> Curator<'a> {
    /// As [`new`](Self::new), but for pure differential privacy: the limit is ε itself, without δ, rounded down to a multiple of
    /// 2⁻²⁰, and ρ = ε²/2. Gaussian noise is refused.
    ///
    /// # Errors
    /// [`Error::Entropy`], or an ε below 2⁻²⁰ or above 4096.
    pub fn pure(
        data: &'a dyn Projectable,
        relation: NeighboringRelation,
        epsilon: Epsilon,
        seed: NoiseSeed,
    ) -> Result<Self> {
        let expected = "from 2^-20 to 4096";
        let found = epsilon.value();
        if !(0.000_001..=4096.0).contains(&found) {
            return Err(Error::invalid_parameter("epsilon", found, expected));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^32")]
        let units = (found * f64::from(1 << PURE_BITS)).floor() as u64;
        // (units / 2²⁰)² / 2, in whole units of 2⁻⁴⁰.
        let limit = Rho::from_units(units.saturating_mul(units) / 2);
        let ledger = Ledger::new(limit).of_pure_epsilon(Ratio::new(units, 1 << PURE_BITS)?);
        Self::of_ledger(data, relation, ledger, seed)
    }

    /// Measures a marginal at a cost of pure ε: discrete Laplace noise of scale Δ₁/ε in every cell, exactly, which is 2/ε
    /// under replace-one, 1/ε under add-remove-one and K/ε for units. The ledger's entry costs ρ = ε²/2, rounded up.
    ///
    /// `marginal`: the exact counts on `clique`, as of [`marginals`](Self::marginals). `epsilon`: above 0, at most 1024.
    ///
    /// # Errors
    /// Counts that are not those of the clique (another size or sum), an ε out of range, or above what is left.
    pub fn measure_laplace(
        &mut self,
        clique: &Clique,
        marginal: Sensitive<&[u32]>,
        epsilon: Ratio,
    ) -> Result<LaplaceMarginal> {
        self.check_marginal(clique, marginal.as_ref())?;
        let l1_sensitivity = MarginalSensitivity::of(self.relation).l1();
        let (scale, rho) = laplace_scale(l1_sensitivity, epsilon)?;
        let distribution = DiscreteLaplace::new(scale)?;
        let entry = LedgerEntry {
            round: self.round,
            purpose: "marginal".to_owned(),
            clique: Some(clique.iter().map(|a| self.domain().name(a).to_owned()).collect()),
            cell: None,
            mechanism: NoiseMechanism::DiscreteLaplace { scale, l1_sensitivity },
            rho,
        };
        let noise = self.noise.as_mut().ok_or_else(no_round)?;
        self.accountant.charge(entry)?;
        let noisy = |count: &u32| i64::from(*count).saturating_add(distribution.sample(noise));
        let values = marginal.open().iter().map(noisy).collect();
        Ok(LaplaceMarginal { clique: clique.clone(), values, scale })
    }

    /// What may still be spent on noise of pure ε, rounded down to a multiple of 2⁻²⁰: what is left of the limit of
    /// [`pure`](Self::pure), or else √(2ρ) of what is left of ρ.
    ///
    /// # Errors
    /// None that occurs: the fraction's denominator is fixed.
    pub fn remaining_epsilon(&self) -> Result<Ratio> {
        let units = match self.ledger().remaining_epsilon() {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "at most 2^32"
            )]
            Some(epsilon) => (epsilon * f64::from(1 << PURE_BITS)).floor() as u64,
            // (ε 2²⁰)² = 2ρ 2⁴⁰.
            None => u64::try_from((2 * u128::from(self.remaining().units())).isqrt()).unwrap_or(0),
        };
        Ratio::new(units, 1 << PURE_BITS)
    }
}

/// Binary digits of the fractions of pure ε in which budgets are rounded down.
const PURE_BITS: u32 = 20;

/// The scale `Δ₁/ε` of Laplace noise, exactly, and its cost `ε²/2`, rounded up.
fn laplace_scale(l1_sensitivity: u32, epsilon: Ratio) -> Result<(Ratio, Rho)> {
    let refused = || {
        let expected = "above 0 and at most 1024, in parts of at most 2^40";
        Error::invalid_parameter("epsilon of a measurement", epsilon, expected)
    };
    let (numerator, denominator) = (epsilon.numerator(), epsilon.denominator());
    if numerator == 0 || denominator > 1 << 40 || numerator / denominator > 1024 {
        return Err(refused());
    }
    let scale = Ratio::new(u64::from(l1_sensitivity) * denominator, numerator)?;
    // ε² · 2³⁹ / 1, in units of 2⁻⁴⁰: at most 2⁵⁰ · 2⁵⁰ · 2³⁹ before the division.
    let square = u128::from(numerator).pow(2).checked_mul(1 << (Rho::UNIT_BITS - 1));
    let units = square.map(|square| square.div_ceil(u128::from(denominator).pow(2)));
    let units = units.and_then(|units| u64::try_from(units).ok()).ok_or_else(refused)?;
    Ok((scale, Rho::from_units(units)))
}
