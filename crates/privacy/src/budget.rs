//! A requested privacy budget, and the curator that enforces it.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::private_table::Table;
use crate::{
    Cost, Curator, Delta, Epsilon, LedgerFile, NeighboringRelation, NoiseForm, NoiseSeed,
    PrivacyUnit, Rho, rho_from_epsilon_delta,
};
use jointly_pgm::data::Projectable;

/// A budget of (ε, δ)-differential privacy, or of ε alone, and its ρ-zCDP equivalent, which the ledger counts.
///
/// ```
/// use jointly_pgm::{Dataset, Domain};
/// use jointly_privacy::{Budget, NeighboringRelation, NoiseSeed};
/// let private = Dataset::from_rows(Domain::new([("sex", 2)])?, &[[0], [1], [1]])?;
/// let budget = Budget::approximate(1.0, 1e-9)?;
/// let curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// assert_eq!(curator.remaining(), budget.rho());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawBudget", into = "RawBudget")]
pub struct Budget {
    epsilon: Epsilon,
    /// `None`: pure differential privacy.
    delta: Option<Delta>,
    /// The part of δ for accesses with a threshold; ρ is what the rest of it allows.
    threshold_delta: f64,
    rho: Rho,
}

/// The serialized form of a budget.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawBudget {
    epsilon: f64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    delta: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    threshold_delta: Option<f64>,
}

impl Budget {
    /// (ε, δ), as the largest ρ that implies it.
    ///
    /// # Errors
    /// An ε that is not above 0 or is above [`Epsilon::MOST`], or a δ outside (0, 1).
    pub fn approximate(epsilon: f64, delta: f64) -> Result<Self> {
        let (epsilon, delta) = (Epsilon::of_budget(epsilon)?, Delta::new(delta)?);
        let rho = rho_from_epsilon_delta(epsilon, delta)?;
        Ok(Self { epsilon, delta: Some(delta), threshold_delta: 0.0, rho })
    }

    /// ε without δ. Only noise that is purely ε-private stays within it. Its ρ is ε²/2.
    ///
    /// # Errors
    /// An ε that is not above 0, below 2⁻²⁰ or above 4096.
    pub fn pure(epsilon: f64) -> Result<Self> {
        let epsilon = Epsilon::new(epsilon)?;
        let rho = Curator::pure_limit(epsilon)?.0;
        Ok(Self { epsilon, delta: None, threshold_delta: 0.0, rho })
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

    /// The same guarantee, of whose δ this part is for accesses with a threshold ([`Curator::measure_unlisted`]). The rest
    /// of it decides ρ: δ-approximate ρ-zCDP is (ε, δ + δ′)-differential privacy where ρ-zCDP is (ε, δ′)-differential privacy
    /// (Bun & Steinke 2016, Lemma 8.8).
    ///
    /// # Errors
    /// A part that is not from 0 to below δ.
    ///
    /// ```
    /// use jointly_privacy::Budget;
    /// let (whole, half) = (Budget::approximate(1.0, 1e-9)?, Budget::approximate(1.0, 5e-10)?);
    /// let split = whole.with_threshold_delta(5e-10)?;
    /// assert_eq!((split.delta(), split.rho()), (1e-9, half.rho()));
    /// # Ok::<(), jointly_privacy::Error>(())
    /// ```
    pub fn with_threshold_delta(self, threshold_delta: f64) -> Result<Self> {
        let rest = (self.delta() - threshold_delta).next_down();
        if threshold_delta == 0.0 {
            return self.delta.map_or(Ok(self), |d| Self::approximate(self.epsilon(), d.value()));
        }
        if !(threshold_delta > 0.0 && rest > 0.0) {
            let expected = "a part of the budget's delta: a larger delta, or a smaller part";
            return Err(Error::invalid_budget("delta of thresholds", threshold_delta, expected));
        }
        let rho = rho_from_epsilon_delta(self.epsilon, Delta::new(rest)?)?;
        Ok(Self { threshold_delta, rho, ..self })
    }

    /// The part of δ for accesses with a threshold.
    pub fn threshold_delta(self) -> f64 {
        self.threshold_delta
    }

    /// The same guarantee, with a part of δ for what an earlier ledger has spent of it.
    ///
    /// # Errors
    /// As [`with_threshold_delta`](Self::with_threshold_delta).
    pub fn after(self, earlier: &LedgerFile) -> Result<Self> {
        match earlier.ledger.delta_spent() {
            0.0 => Ok(self),
            delta => self.with_threshold_delta((self.threshold_delta + delta).next_up()),
        }
    }

    /// The budget [`after`](Self::after) an earlier ledger, if there is one, and what the ledger leaves of its ρ.
    ///
    /// # Errors
    /// As there; a ledger of another relation, or one that leaves nothing; a budget of pure ε, of which ρ is no measure.
    pub fn left_after(
        self,
        relation: NeighboringRelation,
        earlier: Option<&LedgerFile>,
    ) -> Result<(Self, Rho)> {
        let Some(earlier) = earlier else { return Ok((self, self.rho)) };
        if self.is_pure() {
            let expected = "a budget with delta";
            return Err(Error::invalid_specification("earlier ledger", "pure epsilon", expected));
        }
        if earlier.neighbors != relation {
            let found = format!("neighbors {}", earlier.neighbors);
            return Err(Error::invalid_specification(
                "earlier ledger",
                found,
                relation.to_string(),
            ));
        }
        let (budget, spent) = (self.after(earlier)?, earlier.ledger.spent());
        let left = budget.rho.checked_sub(spent).filter(|left| !left.is_zero());
        let (spent, limit) = (Cost::Rho(spent), Cost::Rho(budget.rho));
        Ok((budget, left.ok_or(Error::BudgetUsedUp { spent, limit })?))
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
        self.fresh(Table::Borrowed(data), relation, seed)
    }

    fn fresh(
        self,
        data: Table<'_>,
        relation: NeighboringRelation,
        seed: NoiseSeed,
    ) -> Result<Curator<'_>> {
        if self.is_pure() {
            return Curator::pure_of(data, relation, self.epsilon, seed);
        }
        let curator = Curator::of(data, relation, self.rho, seed)?;
        Ok(curator.with_delta(self.threshold_delta))
    }

    /// As [`curator`](Self::curator), of units, and with the cost of an earlier ledger counted against the budget.
    ///
    /// # Errors
    /// As [`after`](Self::after) and [`Curator::charge_earlier`].
    pub fn curator_following<'a>(
        self,
        data: &'a dyn Projectable,
        unit: &PrivacyUnit,
        seed: NoiseSeed,
        earlier: Option<&LedgerFile>,
    ) -> Result<Curator<'a>> {
        self.curator_of(Table::Borrowed(data), unit, seed, earlier)
    }

    pub(crate) fn curator_of<'a>(
        self,
        data: Table<'a>,
        unit: &PrivacyUnit,
        seed: NoiseSeed,
        earlier: Option<&LedgerFile>,
    ) -> Result<Curator<'a>> {
        let budget = earlier.map_or(Ok(self), |earlier| self.after(earlier))?;
        let mut curator = budget.fresh(data, unit.relation(), seed)?.with_unit(unit.clone())?;
        earlier.map_or(Ok(()), |earlier| curator.charge_earlier(earlier))?;
        Ok(curator)
    }
}

impl From<Budget> for RawBudget {
    fn from(budget: Budget) -> Self {
        let threshold_delta = Some(budget.threshold_delta).filter(|delta| *delta > 0.0);
        let delta = budget.delta.map(Delta::value);
        Self { epsilon: budget.epsilon.value(), delta, threshold_delta }
    }
}

impl TryFrom<RawBudget> for Budget {
    type Error = Error;

    fn try_from(written: RawBudget) -> Result<Self> {
        let budget = Self::new(written.epsilon, written.delta)?;
        budget.with_threshold_delta(written.threshold_delta.unwrap_or(0.0))
    }
}
