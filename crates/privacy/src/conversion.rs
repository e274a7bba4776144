//! Conversion between zCDP and approximate differential privacy, rounded so that the guarantee holds.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::Rho;
use crate::error::{Error, Result};

/// ε of approximate differential privacy: finite and above 0.
///
/// ```
/// use jointly_privacy::Epsilon;
/// assert_eq!(Epsilon::new(1.0)?.value(), 1.0);
/// assert!(Epsilon::new(0.0).is_err());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Epsilon(f64);

/// δ of approximate differential privacy: strictly between 0 and 1.
///
/// ```
/// use jointly_privacy::Delta;
/// assert_eq!(Delta::new(1e-9)?.value(), 1e-9);
/// assert!(Delta::new(1.0).is_err());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Delta(f64);

impl Epsilon {
    /// Checks the range.
    ///
    /// # Errors
    /// A value that is not finite or not above 0.
    pub fn new(epsilon: f64) -> Result<Self> {
        if epsilon.is_finite() && epsilon > 0.0 {
            return Ok(Self(epsilon));
        }
        Err(Error::invalid_budget("epsilon", epsilon, "a finite number above 0"))
    }

    /// The largest ε of a budget. It is that of pure ε, whose ρ = ε²/2 the ledger must hold with room for sums. At e^4096
    /// to 1, the odds of telling neighbors apart are no guarantee, and far larger ε only lose digits: with ε + ρ in one
    /// `f64`, the bound on δ is rounding error.
    pub const MOST: f64 = 4096.0;

    /// The ε of a budget: above 0 and at most [`MOST`](Self::MOST). What a conversion gives may be more.
    ///
    /// # Errors
    /// A value out of this range.
    ///
    /// ```
    /// use jointly_privacy::Epsilon;
    /// assert!(Epsilon::of_budget(4096.0).is_ok());
    /// assert!(Epsilon::of_budget(1e308).is_err());
    /// ```
    pub fn of_budget(epsilon: f64) -> Result<Self> {
        let checked = Self::new(epsilon)?;
        if epsilon > Self::MOST {
            let expected = "at most 4096: more is no protection";
            return Err(Error::invalid_budget("epsilon", epsilon, expected));
        }
        Ok(checked)
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

impl Delta {
    /// Checks the range.
    ///
    /// # Errors
    /// A value that is not strictly between 0 and 1.
    pub fn new(delta: f64) -> Result<Self> {
        if delta > 0.0 && delta < 1.0 {
            return Ok(Self(delta));
        }
        Err(Error::invalid_budget("delta", delta, "a number strictly between 0 and 1"))
    }

    /// The number.
    pub fn value(self) -> f64 {
        self.0
    }
}

/// An upper bound on the δ at which ρ-zCDP implies (ε, δ)-differential privacy, in [0, 1]:
/// `δ = min over α > 1 of exp((α−1)(αρ−ε)) / (α−1) · (1 − 1/α)^α` (Canonne, Kamath & Steinke 2020, Proposition 12),
/// rounded up by a relative error of about 10⁻¹² to cover floating-point errors.
///
/// ```
/// use jointly_privacy::{Epsilon, Rho, delta_from_rho_epsilon};
/// let delta = delta_from_rho_epsilon(Rho::from_f64(0.01)?, Epsilon::new(1.0)?);
/// assert!(delta > 1.6e-13 && delta < 1.7e-13);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
pub fn delta_from_rho_epsilon(rho: Rho, epsilon: Epsilon) -> f64 {
    log_delta(rho.to_f64(), epsilon.0).exp().min(1.0)
}

/// The largest ρ, in whole units, that implies (ε, δ)-differential privacy by [`delta_from_rho_epsilon`].
///
/// # Errors
/// An ε so small that not even one unit of ρ fits.
///
/// ```
/// use jointly_privacy::{Delta, Epsilon, delta_from_rho_epsilon, rho_from_epsilon_delta};
/// let (epsilon, delta) = (Epsilon::new(1.0)?, Delta::new(1e-9)?);
/// let rho = rho_from_epsilon_delta(epsilon, delta)?;
/// assert!((rho.to_f64() - 0.014973).abs() < 1e-6);
/// assert!(delta_from_rho_epsilon(rho, epsilon) <= 1e-9);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
pub fn rho_from_epsilon_delta(epsilon: Epsilon, delta: Delta) -> Result<Rho> {
    // A smaller ε is a stronger guarantee. This ε already allows every possible ρ at any δ; larger ones only overflow.
    let epsilon = Epsilon(epsilon.0.min(1e30));
    let holds = |units: u64| delta_from_rho_epsilon(Rho::from_units(units), epsilon) <= delta.0;
    // ρ = 0 always satisfies the bound; δ grows with ρ.
    let (mut holding, mut failing) = (0_u64, u64::MAX);
    if holds(failing) {
        return Ok(Rho::from_units(failing));
    }
    while failing - holding > 1 {
        let middle = holding + (failing - holding) / 2;
        if holds(middle) {
            holding = middle;
        } else {
            failing = middle;
        }
    }
    if holding == 0 {
        let expected = "an epsilon that allows a rho of at least 2^-40";
        return Err(Error::invalid_budget("epsilon", epsilon.0, expected));
    }
    Ok(Rho::from_units(holding))
}

/// The smallest ε, rounded up, at which ρ-zCDP implies (ε, δ)-differential privacy by [`delta_from_rho_epsilon`].
///
/// # Errors
/// A ρ of 0, which no positive ε describes.
///
/// ```
/// use jointly_privacy::{Delta, Rho, epsilon_from_rho_delta};
/// let epsilon = epsilon_from_rho_delta(Rho::from_f64(0.5)?, Delta::new(1e-6)?)?;
/// assert!((epsilon.value() - 5.2215).abs() < 1e-4);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
pub fn epsilon_from_rho_delta(rho: Rho, delta: Delta) -> Result<Epsilon> {
    if rho.is_zero() {
        return Err(Error::invalid_budget("rho", 0, "above 0"));
    }
    let holds = |epsilon: f64| delta_from_rho_epsilon(rho, Epsilon(epsilon)) <= delta.0;
    let (mut failing, mut holding) = (0.0, 1.0);
    while !holds(holding) {
        (failing, holding) = (holding, 2.0 * holding);
    }
    loop {
        let middle = f64::midpoint(failing, holding);
        if middle <= failing || middle >= holding {
            return Epsilon::new(holding);
        }
        if holds(middle) {
            holding = middle;
        } else {
            failing = middle;
        }
    }
}

/// Logarithm of the bound on δ, rounded up.
///
/// With x = α − 1 the logarithm is `f(x) = x((x+1)ρ − ε) − ln(1+x) − x ln(1 + 1/x)`, which is convex, with
/// `f'(x) = (2x+1)ρ − ε + ln(x / (1+x))`. Any x > 0 gives a valid bound, so an approximate minimizer costs only a
/// little utility.
fn log_delta(rho: f64, epsilon: f64) -> f64 {
    if rho == 0.0 {
        return f64::NEG_INFINITY;
    }
    let slope = |x: f64| (2.0 * x + 1.0) * rho - epsilon - (1.0 / x).ln_1p();
    // At `low` the slope is negative or x is small enough; at `high` the slope is positive.
    let (mut low, mut high) = (1e-300_f64, 1.0_f64);
    while slope(high) < 0.0 && high < 1e300 {
        high *= 2.0;
    }
    for _ in 0..200 {
        // First halve the exponent, then the interval.
        let middle =
            if high / low > 4.0 { low.sqrt() * high.sqrt() } else { f64::midpoint(low, high) };
        if slope(middle) < 0.0 {
            low = middle;
        } else {
            high = middle;
        }
    }
    let x = high;
    let terms = [x * (x + 1.0) * rho, -x * epsilon, -x.ln_1p(), -x * (1.0 / x).ln_1p()];
    let magnitude: f64 = terms.iter().map(|term| term.abs()).sum();
    // Each term is accurate to a few parts in 10¹⁶, and so is their sum, relative to the sum of magnitudes.
    terms.iter().sum::<f64>() + 1e-14 * magnitude + 1e-13
}

impl TryFrom<f64> for Epsilon {
    type Error = Error;

    fn try_from(epsilon: f64) -> Result<Self> {
        Self::new(epsilon)
    }
}

impl TryFrom<f64> for Delta {
    type Error = Error;

    fn try_from(delta: f64) -> Result<Self> {
        Self::new(delta)
    }
}

impl From<Epsilon> for f64 {
    fn from(epsilon: Epsilon) -> Self {
        epsilon.0
    }
}

impl From<Delta> for f64 {
    fn from(delta: Delta) -> Self {
        delta.0
    }
}

impl fmt::Display for Epsilon {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Display for Delta {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
