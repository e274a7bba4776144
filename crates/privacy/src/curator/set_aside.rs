//! A part of the budget that a run may not touch, kept for what is measured after it.

use crate::curator::pure::PURE_BITS;
use crate::error::{Error, Result};
use crate::{Curator, Ledger, Ratio, Rho};

/// The limits of the whole ledger, while a part of the budget is set aside.
#[derive(Clone, Copy, Debug)]
pub(super) struct SetAside {
    limit: Rho,
    epsilon_limit: Option<Ratio>,
    /// The part, as the cost of one access.
    part: Rho,
}

impl Curator<'_> {
    /// Sets a share of the remaining budget aside. Until [`release_set_aside`](Self::release_set_aside) the ledger's
    /// limit is lower by that part, so that no access can spend it: a run sees the rest as its whole budget. Of a limit
    /// of pure ε, it is that share of ε.
    ///
    /// `share`: strictly between 0 and 1.
    ///
    /// # Errors
    /// A share outside that range or so small that it is nothing, or a part that is already set aside.
    pub fn set_aside(&mut self, share: f64) -> Result<()> {
        if self.set_aside.is_some() {
            let expected = "one, until it is released";
            return Err(Error::invalid_parameter("part set aside", "another", expected));
        }
        if !(share > 0.0 && share < 1.0) {
            let expected = "strictly between 0 and 1";
            return Err(Error::invalid_parameter("share set aside", share, expected));
        }
        let (limit, epsilon_limit) = (self.ledger.limit(), self.ledger.epsilon_limit());
        let nothing = || Error::invalid_budget("share set aside", share, "more than a unit of rho");
        let (rest, rest_epsilon, part) = if let Some(whole) = epsilon_limit {
            let left = self.remaining_epsilon()?;
            // Both are whole numbers of 2⁻²⁰.
            let units = |ratio: Ratio| {
                (u128::from(ratio.numerator()) << PURE_BITS) / u128::from(ratio.denominator())
            };
            let units = |ratio: Ratio| u64::try_from(units(ratio)).unwrap_or(u64::MAX);
            let own = Rho::from_units(units(left)).fraction(share)?.0.units();
            let rest = units(whole).checked_sub(own).ok_or_else(nothing)?;
            let square = |units: u64| Rho::from_units(units.saturating_mul(units).div_ceil(2));
            (square(rest), Some(Ratio::new(rest, 1 << PURE_BITS)?), square(own))
        } else {
            let part = self.remaining().fraction(share)?.0;
            (limit.checked_sub(part).ok_or_else(nothing)?, None, part)
        };
        if part.is_zero() {
            return Err(nothing());
        }
        self.ledger.set_limits(rest, rest_epsilon);
        self.set_aside = Some(SetAside { limit, epsilon_limit, part });
        Ok(())
    }

    /// Restores the limit of the whole ledger, and returns the part that was set aside, as the cost of one access with
    /// noise of the budget's form. `None` if nothing was set aside.
    pub fn release_set_aside(&mut self) -> Option<Rho> {
        let SetAside { limit, epsilon_limit, part } = self.set_aside.take()?;
        self.ledger.set_limits(limit, epsilon_limit);
        Some(part)
    }

    /// The ledger with the limit of the whole budget, whether a part of it is set aside or not.
    pub fn whole_ledger(&self) -> Ledger {
        let mut ledger = self.ledger.clone();
        if let Some(whole) = self.set_aside {
            ledger.set_limits(whole.limit, whole.epsilon_limit);
        }
        ledger
    }
}
