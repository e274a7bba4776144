//! Budgets of pure differential privacy: ε without δ.

use crate::error::{Error, Result};
use crate::private_table::Table;
use crate::{Curator, Epsilon, Ledger, NeighboringRelation, NoiseForm, NoiseSeed, Ratio, Rho};
use jointly_pgm::data::Projectable;

impl<'a> Curator<'a> {
    /// As [`new`](Self::new), but for pure differential privacy. The limit is ε itself, without δ, rounded down to a
    /// multiple of 2⁻²⁰, and ρ = ε²/2. Gaussian noise is refused.
    ///
    /// # Errors
    /// [`Error::Entropy`], or an ε below 2⁻²⁰ or above 4096.
    pub fn pure(
        data: &'a dyn Projectable,
        relation: NeighboringRelation,
        epsilon: Epsilon,
        seed: NoiseSeed,
    ) -> Result<Self> {
        Self::pure_of(Table::Borrowed(data), relation, epsilon, seed)
    }

    pub(crate) fn pure_of(
        data: Table<'a>,
        relation: NeighboringRelation,
        epsilon: Epsilon,
        seed: NoiseSeed,
    ) -> Result<Self> {
        let (limit, epsilon) = Self::pure_limit(epsilon)?;
        let ledger = Ledger::new(limit).of_pure_epsilon(epsilon);
        Self::of_ledger(data, relation, ledger, seed)
    }

    /// The limits of a budget of pure ε: ρ = ε²/2, and ε in whole units.
    pub(crate) fn pure_limit(epsilon: Epsilon) -> Result<(Rho, Ratio)> {
        let expected = "from 2^-20 to 4096";
        let found = epsilon.value();
        if !(0.000_001..=4096.0).contains(&found) {
            return Err(Error::invalid_budget("epsilon", found, expected));
        }
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^32")]
        let units = (found * f64::from(1 << PURE_BITS)).floor() as u64;
        // (units / 2²⁰)² / 2, in whole units of 2⁻⁴⁰, rounded up like the cost of an entry; ε is the actual limit.
        let limit = Rho::from_units(units.saturating_mul(units).div_ceil(2));
        Ok((limit, Ratio::new(units, 1 << PURE_BITS)?))
    }

    /// The pure ε that may still be spent, rounded down to a multiple of 2⁻²⁰: the rest of the limit of
    /// [`pure`](Self::pure), or √(2ρ) of the rest of ρ if there is no such limit.
    ///
    /// # Errors
    /// Never fails in practice: the fraction's denominator is fixed.
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

impl Curator<'_> {
    /// The remaining budget as the cost of one access with noise of this form: ρ, or ε²/2 for the remaining pure ε.
    ///
    /// # Errors
    /// Never fails in practice.
    pub fn remaining_for(&self, form: NoiseForm) -> Result<Rho> {
        if form == NoiseForm::Gaussian || self.ledger().epsilon_limit().is_none() {
            return Ok(self.remaining());
        }
        let epsilon = self.remaining_epsilon()?;
        let units = (epsilon.to_f64() * f64::from(1 << PURE_BITS)).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 2^32")]
        let units = units as u64;
        Ok(Rho::from_units(units.saturating_mul(units).div_ceil(2)).min(self.remaining()))
    }
}

/// Number of fractional bits to which budgets of pure ε are rounded down.
pub(super) const PURE_BITS: u32 = 20;
