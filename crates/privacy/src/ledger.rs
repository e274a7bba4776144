//! The ledger: each access to the records, its noise and its cost.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::noise_mechanism::EPSILON_BITS;
use crate::{
    CellSet, MarginalSensitivity, NeighboringRelation, NoiseMechanism, Ratio, RecordsPerUnit, Rho,
};

/// One access to the private records.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LedgerEntry {
    /// The round, counted from 1; 0 before the first.
    pub round: u32,
    /// The purpose of the access.
    pub purpose: String,
    /// Names of the measured attributes, in domain order; `None` when no marginal was measured.
    pub clique: Option<Vec<String>>,
    /// The row-major index of the cell, if only one cell of that marginal was measured; `None` for all cells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<u64>,
    /// The cells of that marginal, if only the sum of their counts was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cells: Option<CellSet>,
    /// The noise and its parameters.
    pub mechanism: NoiseMechanism,
    /// The records of a unit that this access counted at most, if another command made it and counted another number of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub records_per_unit: Option<RecordsPerUnit>,
    /// The cost.
    pub rho: Rho,
}

impl LedgerEntry {
    /// The entry of an earlier ledger in one whose units have `own` records. `earlier`: the records of a unit in that ledger.
    pub(crate) fn carried(
        &self,
        earlier: Option<RecordsPerUnit>,
        own: Option<RecordsPerUnit>,
    ) -> Self {
        let of = self.records_per_unit.or(earlier);
        Self { round: 0, records_per_unit: of.filter(|_| of != own), ..self.clone() }
    }

    /// Whether the entry is compatible with a relation. Selections of older ledgers, single cells and sums of cells do
    /// not determine the relation.
    pub(crate) fn is_of(&self, relation: NeighboringRelation) -> bool {
        let relation = match (self.records_per_unit, relation.unit()) {
            (None, _) => relation,
            (Some(records), Some(_)) => NeighboringRelation::AddRemoveUnit(records),
            (Some(_), None) => return false,
        };
        match &self.mechanism {
            NoiseMechanism::DiscreteGaussian { squared_l2_sensitivity, .. } => {
                let expected = match (self.cell, &self.cells) {
                    (None, None) => MarginalSensitivity::of(relation),
                    _ => MarginalSensitivity::one_cell(relation),
                };
                *squared_l2_sensitivity == expected.squared_l2()
            }
            NoiseMechanism::ThresholdedGaussian {
                squared_l2_sensitivity, relation: own, ..
            } => {
                let expected = MarginalSensitivity::of(relation);
                *own == relation && *squared_l2_sensitivity == expected.squared_l2()
            }
            NoiseMechanism::DiscreteLaplace { l1_sensitivity, .. } => {
                let is_whole = self.cell.is_none() && self.cells.is_none();
                is_whole && *l1_sensitivity == MarginalSensitivity::of(relation).l1()
            }
            NoiseMechanism::JointDiscreteGaussian { relation: own, .. }
            | NoiseMechanism::GridGaussian { relation: own, .. }
            | NoiseMechanism::GridLaplace { relation: own, .. } => *own == relation,
            NoiseMechanism::ExponentialMechanism { score, .. }
            | NoiseMechanism::PermuteAndFlip { score, .. } => {
                score.is_none_or(|score| score.relation() == relation)
            }
        }
    }

    /// Refuses an entry whose cost does not cover its mechanism, or whose parameters contradict each other.
    pub(crate) fn check(&self, place: &str) -> Result<()> {
        let refused = |found: String, expected: &str| {
            let entry = format!("{place}, round {}, {}", self.round, self.purpose);
            Err(Error::invalid_specification(entry, found, expected))
        };
        if !self.mechanism.is_covered_by(self.rho) {
            let found = format!("rho = {}", self.rho);
            return refused(found, "a rho that covers the mechanism's parameters");
        }
        if !self.mechanism.is_consistent() {
            let found = "a sensitivity, grid, threshold or number of candidates that does not fit the others";
            return refused(found.to_owned(), "the parameters of one mechanism");
        }
        Ok(())
    }

    /// Whether a selection does not say what its sensitivity is made of.
    pub(crate) fn lacks_score(&self) -> bool {
        matches!(
            self.mechanism,
            NoiseMechanism::ExponentialMechanism { score: None, .. }
                | NoiseMechanism::PermuteAndFlip { score: None, .. }
        )
    }
}

/// The cost of an access, or the remaining budget, in the units of the limit.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Cost {
    /// ρ of zero-concentrated differential privacy.
    Rho(Rho),
    /// ε of pure differential privacy.
    PureEpsilon(f64),
    /// The probability δ of accesses with a threshold.
    Delta(f64),
    /// Gaussian noise, which has no finite pure ε.
    NotPure,
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Rho(rho) => write!(f, "rho = {rho}"),
            Self::PureEpsilon(epsilon) => write!(f, "epsilon = {epsilon}"),
            Self::Delta(delta) => write!(f, "delta = {delta:e}"),
            Self::NotPure => f.write_str("noise that is not purely differentially private"),
        }
    }
}

/// All entries of a run and their limit. The exact sum of their costs is at most the limit.
///
/// Serde writes the spent and remaining amounts too. Reading checks both of them, every entry and the limit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawLedger", into = "RawLedger")]
pub struct Ledger {
    limit: Rho,
    records_per_unit: Option<RecordsPerUnit>,
    epsilon_limit: Option<Ratio>,
    delta_limit: f64,
    delta_spent: f64,
    spent: Rho,
    entries: Vec<LedgerEntry>,
}

/// The serialized form of a ledger.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawLedger {
    limit: Rho,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    records_per_unit: Option<RecordsPerUnit>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    epsilon_limit: Option<Ratio>,
    #[serde(default, skip_serializing_if = "is_zero")]
    delta_limit: f64,
    #[serde(default, skip_serializing_if = "is_zero")]
    delta_spent: f64,
    spent: Rho,
    remaining: Rho,
    entries: Vec<LedgerEntry>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the form that serde calls")]
fn is_zero(delta: &f64) -> bool {
    *delta == 0.0
}

impl Ledger {
    /// An empty ledger.
    pub fn new(limit: Rho) -> Self {
        Self {
            limit,
            records_per_unit: None,
            epsilon_limit: None,
            delta_limit: 0.0,
            delta_spent: 0.0,
            spent: Rho::ZERO,
            entries: Vec::new(),
        }
    }

    /// An empty ledger with the same limits and the same unit.
    pub(crate) fn emptied(&self) -> Self {
        Self { spent: Rho::ZERO, delta_spent: 0.0, entries: Vec::new(), ..*self }
    }

    /// Sets the neighbors to differ by a unit of this many records instead of by one record.
    #[must_use]
    pub(crate) fn of_unit(self, records_per_unit: Option<RecordsPerUnit>) -> Self {
        Self { records_per_unit, ..self }
    }

    /// Adds a limit of pure ε, which excludes all Gaussian noise.
    #[must_use]
    pub(crate) fn of_pure_epsilon(self, limit: Ratio) -> Self {
        Self { epsilon_limit: Some(limit), ..self }
    }

    /// Adds a limit of δ for accesses with a threshold, which otherwise are refused.
    #[must_use]
    pub(crate) fn of_delta(self, limit: f64) -> Self {
        Self { delta_limit: limit, ..self }
    }

    /// Replaces the limits; the entries stay.
    pub(crate) fn set_limits(&mut self, limit: Rho, epsilon_limit: Option<Ratio>) {
        (self.limit, self.epsilon_limit) = (limit, epsilon_limit);
    }

    /// K if neighbors differ by a unit; `None` if they differ by a record.
    pub fn records_per_unit(&self) -> Option<RecordsPerUnit> {
        self.records_per_unit
    }

    /// The limit of pure ε, if there is one.
    pub fn epsilon_limit(&self) -> Option<Ratio> {
        self.epsilon_limit
    }

    /// The limit of δ for accesses with a threshold; 0 if there may be none. It is a part of the δ of the whole budget, and
    /// the limit of ρ is what the rest of it allows.
    pub fn delta_limit(&self) -> f64 {
        self.delta_limit
    }

    /// The sum of δ over accesses with a threshold, rounded up.
    pub fn delta_spent(&self) -> f64 {
        self.delta_spent
    }

    /// What remains of the limit of δ, rounded down.
    pub fn remaining_delta(&self) -> f64 {
        (self.delta_limit - self.delta_spent).next_down().max(0.0)
    }

    /// The sum of δ with one more entry, rounded up.
    fn delta_with(&self, entry: &LedgerEntry) -> f64 {
        match entry.mechanism.delta() {
            delta if delta > 0.0 && self.delta_spent > 0.0 => (self.delta_spent + delta).next_up(),
            delta => self.delta_spent + delta,
        }
    }

    /// ε of the whole ledger if it is ε-differentially private without δ: the sum over its entries, each rounded up to
    /// 2⁻⁴⁰. `None` if an entry has Gaussian noise.
    pub fn pure_epsilon(&self) -> Option<f64> {
        let units = self.pure_units()?;
        let (epsilon, unit) = (units as f64, (1_u64 << EPSILON_BITS) as f64);
        Some(if units < 1 << f64::MANTISSA_DIGITS { epsilon } else { epsilon.next_up() } / unit)
    }

    fn pure_units(&self) -> Option<u128> {
        self.entries
            .iter()
            .try_fold(0_u128, |sum, entry| sum.checked_add(entry.mechanism.pure_epsilon()?))
    }

    /// What remains of the limit of pure ε, if there is one.
    pub(crate) fn remaining_epsilon(&self) -> Option<f64> {
        let limit = self.epsilon_limit?;
        Some((limit.to_f64() - self.pure_epsilon().unwrap_or(f64::INFINITY)).max(0.0))
    }

    /// Whether an entry stays within the limit of pure ε, if there is one, decided in integer arithmetic.
    fn stays_pure(&self, entry: &LedgerEntry) -> bool {
        let Some(limit) = self.epsilon_limit else { return true };
        let sum = self.pure_units().zip(entry.mechanism.pure_epsilon());
        let sum = sum.and_then(|(spent, more)| spent.checked_add(more));
        let sum = sum.and_then(|sum| sum.checked_mul(limit.denominator().into()));
        sum.is_some_and(|sum| sum <= u128::from(limit.numerator()) << EPSILON_BITS)
    }

    /// The limit of the whole ledger.
    pub fn limit(&self) -> Rho {
        self.limit
    }

    /// The sum of the entries' costs.
    pub fn spent(&self) -> Rho {
        self.spent
    }

    /// What remains: `spent + remaining = limit`, exactly.
    pub fn remaining(&self) -> Rho {
        Rho::from_units(self.limit.units().saturating_sub(self.spent.units()))
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> &[LedgerEntry] {
        &self.entries
    }

    /// Adds an entry if its cost covers its mechanism and the sum stays within the limit. Otherwise the ledger does not
    /// change.
    ///
    /// This is the privacy filter of fully adaptive composition (Whitehouse, Ramdas, Rogers & Wu 2023): any sequence of
    /// accesses, each chosen after seeing the previous ones, is private at the limit as long as the sum of their costs
    /// stays within it.
    ///
    /// # Errors
    /// [`Error::BudgetExceeded`] if the entry would exceed the limit; an entry whose cost does not cover its mechanism.
    ///
    /// ```
    /// use jointly_privacy::{Ledger, LedgerEntry, NoiseMechanism, Ratio, Rho};
    /// let mut ledger = Ledger::new(Rho::from_f64(0.5)?);
    /// let variance = Ratio::new(2, 1)?;
    /// let entry = LedgerEntry {
    ///     round: 1,
    ///     purpose: "a count".into(),
    ///     clique: None,
    ///     cell: None,
    ///     cells: None,
    ///     mechanism: NoiseMechanism::DiscreteGaussian { variance, squared_l2_sensitivity: 1 },
    ///     records_per_unit: None,
    ///     rho: Rho::from_f64(0.25)?, // 1 / (2 * 2)
    /// };
    /// ledger.charge(entry.clone())?;
    /// ledger.charge(entry.clone())?;
    /// assert!(ledger.charge(entry).is_err());
    /// assert_eq!(ledger.remaining(), Rho::ZERO);
    /// # Ok::<(), jointly_privacy::Error>(())
    /// ```
    pub fn charge(&mut self, entry: LedgerEntry) -> Result<()> {
        entry.check("a charge")?;
        if !self.stays_pure(&entry) {
            let remaining = self.remaining_epsilon().unwrap_or(0.0);
            let asked = entry.mechanism.pure_epsilon();
            let asked = asked.map(|units| units as f64 / (1_u64 << EPSILON_BITS) as f64);
            return Err(Error::BudgetExceeded {
                purpose: entry.purpose,
                asked: asked.map_or(Cost::NotPure, Cost::PureEpsilon),
                remaining: Cost::PureEpsilon(remaining),
            });
        }
        let spent = self.spent.checked_add(entry.rho).filter(|spent| *spent <= self.limit);
        let Some(spent) = spent else {
            return Err(Error::BudgetExceeded {
                purpose: entry.purpose,
                asked: Cost::Rho(entry.rho),
                remaining: Cost::Rho(self.remaining()),
            });
        };
        let delta_spent = self.delta_with(&entry);
        if delta_spent > self.delta_limit {
            return Err(Error::BudgetExceeded {
                asked: Cost::Delta(entry.mechanism.delta()),
                purpose: entry.purpose,
                remaining: Cost::Delta(self.remaining_delta()),
            });
        }
        (self.spent, self.delta_spent) = (spent, delta_spent);
        self.entries.push(entry);
        Ok(())
    }
}

impl From<Ledger> for RawLedger {
    fn from(ledger: Ledger) -> Self {
        let (limit, spent, remaining) = (ledger.limit, ledger.spent, ledger.remaining());
        let (records_per_unit, epsilon_limit) = (ledger.records_per_unit, ledger.epsilon_limit);
        let Ledger { delta_limit, delta_spent, entries, .. } = ledger;
        Self {
            limit,
            records_per_unit,
            epsilon_limit,
            delta_limit,
            delta_spent,
            spent,
            remaining,
            entries,
        }
    }
}

impl TryFrom<RawLedger> for Ledger {
    type Error = Error;

    fn try_from(written: RawLedger) -> Result<Self> {
        let mut ledger = Self::new(written.limit).of_unit(written.records_per_unit);
        ledger.epsilon_limit = written.epsilon_limit;
        if !(0.0..1.0).contains(&written.delta_limit) {
            let found = format!("delta_limit = {:e}", written.delta_limit);
            let expected = "from 0 to below 1";
            return Err(Error::invalid_specification("a written ledger", found, expected));
        }
        ledger.delta_limit = written.delta_limit;
        for entry in written.entries {
            ledger.charge(entry)?;
        }
        for (name, found, sum) in [
            ("spent", written.spent, ledger.spent),
            ("remaining", written.remaining, ledger.remaining()),
        ] {
            if found != sum {
                return Err(Error::invalid_specification(
                    "a written ledger",
                    format!("{name} = {found}"),
                    format!("{sum}, from the entries"),
                ));
            }
        }
        if written.delta_spent.to_bits() != ledger.delta_spent.to_bits() {
            let found = format!("delta_spent = {:e}", written.delta_spent);
            let expected = format!("{:e}, from the entries", ledger.delta_spent);
            return Err(Error::invalid_specification("a written ledger", found, expected));
        }
        Ok(ledger)
    }
}
