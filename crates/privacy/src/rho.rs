//! The unit in which the privacy budget is counted.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A budget of ρ-zCDP (Bun & Steinke 2016) in whole units of 2⁻⁴⁰: sums and differences are exact.
///
/// Range: 0 to about 1.6 × 10⁷. Serde writes `{"units": …, "rho": …}`. The units are authoritative; reading checks
/// the readable value against them.
///
/// ```
/// use jointly_privacy::Rho;
/// let limit = Rho::from_f64(0.5)?;
/// let (round, rest) = limit.split(1, 30).expect("1 is at most 30");
/// assert_eq!(round.checked_add(rest), Some(limit));
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[serde(try_from = "RawRho", into = "RawRho")]
pub struct Rho(u64);

/// The serialized form of a budget.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawRho {
    units: u64,
    #[serde(default)]
    rho: Option<f64>,
}

impl Rho {
    /// No budget.
    pub const ZERO: Self = Self(0);
    /// Units in ρ = 1, as a power of two.
    pub const UNIT_BITS: u32 = 40;
    const UNITS: f64 = (1_u64 << Self::UNIT_BITS) as f64;

    /// A budget of `units` units of 2⁻⁴⁰.
    pub const fn from_units(units: u64) -> Self {
        Self(units)
    }

    /// Number of units of 2⁻⁴⁰.
    pub const fn units(self) -> u64 {
        self.0
    }

    /// The largest budget that is not above `rho`.
    ///
    /// # Errors
    /// A value that is negative, not finite, or at least 2²⁴.
    pub fn from_f64(rho: f64) -> Result<Self> {
        let expected = "a finite number from 0 to below 2^24";
        // Scaling by a power of two is exact; the cast drops the fraction.
        let units = rho * Self::UNITS;
        if !(units >= 0.0 && units < u64::MAX as f64) {
            return Err(Error::invalid_budget("rho", rho, expected));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "the range is checked above, and rounding down is meant"
        )]
        let units = units as u64;
        Ok(Self(units))
    }

    /// ρ as a number: exact up to 2⁵³ units (ρ = 8192), rounded to the nearest above that.
    pub fn to_f64(self) -> f64 {
        self.0 as f64 / Self::UNITS
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// The sum; `None` when it does not fit.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` when `other` is larger.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// Splits off `numerator / denominator` of the budget, rounded down, and returns it with the exact rest. `None`
    /// unless `numerator ≤ denominator ≠ 0`.
    ///
    /// ```
    /// use jointly_privacy::Rho;
    /// let parts = Rho::from_units(1001).split(1, 5);
    /// assert_eq!(parts, Some((Rho::from_units(200), Rho::from_units(801))));
    /// ```
    pub fn split(self, numerator: u64, denominator: u64) -> Option<(Self, Self)> {
        let part = u128::from(self.0) * u128::from(numerator);
        let part = u64::try_from(part.checked_div(denominator.into())?).ok()?;
        Some((Self(part), Self(self.0.checked_sub(part)?)))
    }

    /// Splits off a share of the budget, rounded down, and returns it with the exact rest.
    ///
    /// `share`: in [0, 1].
    ///
    /// # Errors
    /// A share outside [0, 1].
    ///
    /// ```
    /// use jointly_privacy::Rho;
    /// let (quarter, rest) = Rho::from_units(1002).fraction(0.25)?;
    /// assert_eq!((quarter.units(), rest.units()), (250, 752));
    /// # Ok::<(), jointly_privacy::Error>(())
    /// ```
    pub fn fraction(self, share: f64) -> Result<(Self, Self)> {
        const BITS: u32 = 63;
        let scaled = share * (1_u64 << BITS) as f64;
        if !(0.0..=1.0).contains(&share) {
            return Err(Error::invalid_parameter("share of rho", share, "a number in [0, 1]"));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "0 to 2^63, and rounding down is meant"
        )]
        let numerator = scaled as u64;
        self.split(numerator, 1 << BITS)
            .ok_or_else(|| Error::invalid_parameter("share of rho", share, "a number in [0, 1]"))
    }
}

impl fmt::Display for Rho {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.to_f64(), f)
    }
}

impl From<Rho> for RawRho {
    fn from(rho: Rho) -> Self {
        Self { units: rho.0, rho: Some(rho.to_f64()) }
    }
}

impl TryFrom<RawRho> for Rho {
    type Error = Error;

    fn try_from(written: RawRho) -> Result<Self> {
        let rho = Self(written.units);
        match written.rho {
            #[expect(clippy::float_cmp, reason = "both come from the same exact conversion")]
            Some(readable) if readable != rho.to_f64() => Err(Error::invalid_specification(
                "a written budget",
                format!("rho {readable} beside {} units", rho.0),
                format!("rho {rho}"),
            )),
            _ => Ok(rho),
        }
    }
}

#[cfg(test)]
mod tests;
