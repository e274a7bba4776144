//! A requested privacy budget, and the curator that enforces it.

use serde::{Deserialize, Serialize};

use crate::data::Projectable;
use crate::error::{Error, Result};
use crate::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseForm, NoiseSeed, Rho, rho_from_epsilon_delta,
};

/// A budget of (ε, δ)-differential privacy, or of ε alone, and its ρ-zCDP equivalent, which the ledger counts.
///
/// ```
/// use jointly::{Budget, demo::Generator};
/// use jointly::privacy::{NeighboringRelation, NoiseSeed};
/// let private = Generator { records: 100, seed: 1, drift: 0.0 }.generate()?;
/// let budget = Budget::approximate(1.0, 1e-9)?;
/// let curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// assert_eq!(curator.remaining(), budget.rho());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Written", into = "Written")]
pub struct Budget {
    epsilon: Epsilon,
    /// `None`: pure differential privacy.
    delta: Option<Delta>,
    rho: Rho,
}

/// The serialized form of a budget.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    epsilon: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
}

impl Budget {
    /// (ε, δ), as the largest ρ that implies it.
    ///
    /// # Errors
    /// An ε that is not above 0, or a δ outside (0, 1).
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Self> {
        let (epsilon, delta) = (Epsilon::new(epsilon)?, Delta::new(delta)?);
        Ok(Self { epsilon, delta: Some(delta), rho: rho_from_epsilon_delta(epsilon, delta)? })
    }

    /// ε without δ. Only noise that is purely ε-private stays within it. Its ρ is ε²/2.
    ///
    /// # Errors
    /// An ε that is not above 0, below 2⁻²⁰ or above 4096.
    pub fn pure(epsilon: f64) -> Result<Self> {
        let epsilon = Epsilon::new(epsilon)?;
        let rho = Curator::pure_limit(epsilon)?.0;
        Ok(Self { epsilon, delta: None, rho })
    }

    /// A budget of (ε, δ) if δ is given, otherwise of ε alone.
    ///
    /// # Errors
    /// As [`approximate`](Self::approximate) and [`pure`](Self::pure).
    pub fn new(epsilon: f64, delta: Option<f64>) -> Result<Self> {
        match delta {
            Some(delta) => Self::approximate(epsilon, delta),
            None => Self::pure(epsilon),
        }
    }

    /// ε.
    pub fn epsilon(self) -> f64 {
        self.epsilon.value()
    }

    /// δ; 0 for pure differential privacy.
    pub fn delta(self) -> f64 {
        self.delta.map_or(0.0, Delta::value)
    }

    /// Whether there is no δ.
    pub fn is_pure(self) -> bool {
        self.delta.is_none()
    }

    /// The form of noise that fits the budget.
    pub fn noise_form(self) -> NoiseForm {
        if self.is_pure() { NoiseForm::Laplace } else { NoiseForm::Gaussian }
    }

    /// The limit of the ledger.
    pub fn rho(self) -> Rho {
        self.rho
    }

    /// Creates a curator of some records that has not spent any of the budget.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system's random generator fails.
    pub fn curator(
        self,
        data: &dyn Projectable,
        relation: NeighboringRelation,
        seed: NoiseSeed,
    ) -> Result<Curator<'_>> {
        if self.is_pure() {
            return Curator::pure(data, relation, self.epsilon, seed);
        }
        Curator::new(data, relation, self.rho, seed)
    }
}

impl From<Budget> for Written {
    fn from(budget: Budget) -> Self {
        Self { epsilon: budget.epsilon.value(), delta: budget.delta.map(Delta::value) }
    }
}

impl TryFrom<Written> for Budget {
    type Error = Error;

    fn try_from(written: Written) -> Result<Self> {
        Self::new(written.epsilon, written.delta)
    }
}
