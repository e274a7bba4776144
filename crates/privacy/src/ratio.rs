//! Exact non-negative fractions.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// A non-negative fraction of 64-bit integers, in lowest terms.
///
/// ```
/// use jointly_privacy::Ratio;
/// let variance = Ratio::new(10, 4)?;
/// assert_eq!((variance.numerator(), variance.denominator()), (5, 2));
/// assert_eq!(variance.to_f64(), 2.5);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Parts", into = "Parts")]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

/// The serialized form of a ratio.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// `numerator / denominator`, reduced to lowest terms.
    ///
    /// # Errors
    /// A denominator of 0.
    pub fn new(numerator: u64, denominator: u64) -> Result<Self> {
        if denominator == 0 {
            return Err(Error::invalid_parameter("denominator", 0, "above 0"));
        }
        let divisor = greatest_common_divisor(numerator, denominator);
        Ok(Self { numerator: numerator / divisor, denominator: denominator / divisor })
    }

    /// The numerator, in lowest terms.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator, in lowest terms, at least 1.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest floating-point value, to within two roundings.
    pub fn to_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

/// Greatest common divisor, at least 1 when `b` is.
fn greatest_common_divisor(mut a: u64, mut b: u64) -> u64 {
    while a != 0 {
        (a, b) = (b % a, a);
    }
    b
}

impl TryFrom<Parts> for Ratio {
    type Error = Error;

    fn try_from(parts: Parts) -> Result<Self> {
        Self::new(parts.numerator, parts.denominator)
    }
}

impl From<Ratio> for Parts {
    fn from(ratio: Ratio) -> Self {
        Self { numerator: ratio.numerator, denominator: ratio.denominator }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.numerator, self.denominator)
    }
}

#[cfg(test)]
mod tests;
