//! Gaussian and Laplace noise, and their costs.

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::mechanism::Run;
use crate::privacy::{Curator, MarginalSensitivity, NeighboringRelation, NoiseForm, Ratio, Rho};

/// Binary digits of the fractions into which ε is split.
const EPSILON_BITS: u32 = 20;

/// A budget in the currency of its noise: ρ for Gaussian noise, ε for Laplace noise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cost {
    Rho(Rho),
    /// In units of 2⁻²⁰.
    Epsilon(u64),
}

impl Cost {
    /// The remaining budget.
    pub(super) fn remaining(curator: &Curator<'_>, form: NoiseForm) -> Result<Self> {
        Ok(match form {
            NoiseForm::Gaussian => Self::Rho(curator.remaining()),
            NoiseForm::Laplace => {
                let left = curator.remaining_epsilon()?;
                let scaled = u128::from(left.numerator()) << EPSILON_BITS;
                let units = scaled / u128::from(left.denominator().max(1));
                Self::Epsilon(u64::try_from(units).unwrap_or(u64::MAX))
            }
        })
    }

    /// ε = √(2ρ), rounded down.
    pub(super) fn of_pure(rho: Rho) -> Self {
        let units = (2 * u128::from(rho.units())).isqrt();
        Self::Epsilon(u64::try_from(units).unwrap_or(u64::MAX))
    }

    /// The fraction `part / whole` of this cost, rounded down; never zero.
    ///
    /// # Errors
    /// A part so small that it rounds to zero.
    pub(super) fn part(self, part: f64, whole: f64) -> Result<Self> {
        // Slightly less, so that rounded shares never add up to more than the whole.
        let share = if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
        let share = share * (1.0 - f64::EPSILON);
        let own = match self {
            Self::Rho(rho) => Self::Rho(rho.fraction(share)?.0),
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a share of it"
            )]
            Self::Epsilon(units) => Self::Epsilon((units as f64 * share).floor() as u64),
        };
        if matches!(own, Self::Rho(Rho::ZERO) | Self::Epsilon(0)) {
            let expected = "enough for every marginal of every level";
            return Err(Error::invalid_budget("budget of a level", format!("{self:?}"), expected));
        }
        Ok(own)
    }

    /// This cost minus a part of it.
    pub(super) fn less(self, part: Self) -> Self {
        match (self, part) {
            (Self::Rho(all), Self::Rho(part)) => {
                Self::Rho(Rho::from_units(all.units().saturating_sub(part.units())))
            }
            (Self::Epsilon(all), Self::Epsilon(part)) => Self::Epsilon(all.saturating_sub(part)),
            (all, _) => all,
        }
    }

    /// Variance of the noise on each cell, in squared counts, when `marginals` marginals share the cost evenly.
    pub(super) fn variance(self, relation: NeighboringRelation, marginals: usize) -> f64 {
        let sensitivity = MarginalSensitivity::of(relation);
        let marginals = marginals.max(1) as f64;
        match self {
            Self::Rho(rho) => {
                f64::from(sensitivity.squared_l2()) * marginals / (2.0 * rho.to_f64())
            }
            Self::Epsilon(units) => {
                let epsilon = units as f64 / f64::from(1 << EPSILON_BITS);
                2.0 * (f64::from(sensitivity.l1()) * marginals / epsilon).powi(2)
            }
        }
    }

    /// Measures a marginal at this cost.
    pub(super) fn measure(self, run: &mut Run<'_, '_>, clique: &Clique) -> Result<()> {
        match self {
            Self::Rho(rho) => run.measure(clique, rho),
            Self::Epsilon(units) => {
                run.measure_laplace(clique, Ratio::new(units, 1 << EPSILON_BITS)?)
            }
        }
    }
}
