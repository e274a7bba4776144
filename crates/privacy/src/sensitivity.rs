//! How much one record, or one unit of records, can change a number. Proofs: `docs/theory/sensitivities.md`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Which tables must be indistinguishable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighboringRelation {
    /// One record changes its values (bounded privacy). The number of records is public.
    #[default]
    ReplaceOne,
    /// One record is added or removed (unbounded privacy). The number of records is private.
    AddRemoveOne,
    /// One unit, such as a household, is added or removed with all of its records, up to this many. The number of
    /// records is private; replacing a unit would change it too, so there is no other relation for units.
    AddRemoveUnit(RecordsPerUnit),
}

impl NeighboringRelation {
    /// The names of the relations of single records, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("replace-one", "One record changes its values; the number of records is public"),
        ("add-remove-one", "One record is added or removed; the number of records is private"),
    ];

    /// The largest L1 difference of one marginal's counts between neighbors, `Δ₁`: 2, 1 or K.
    const fn changed_counts(self) -> u32 {
        match self {
            Self::ReplaceOne => 2,
            Self::AddRemoveOne => 1,
            Self::AddRemoveUnit(unit) => unit.get(),
        }
    }

    /// The largest difference of one count between neighbors: 1 or K.
    pub(crate) const fn changed_cell(self) -> u32 {
        match self {
            Self::ReplaceOne | Self::AddRemoveOne => 1,
            Self::AddRemoveUnit(unit) => unit.get(),
        }
    }

    /// Whether the number of records is the same in all neighbors, and hence public.
    ///
    /// ```
    /// use jointly_privacy::NeighboringRelation;
    /// assert!(NeighboringRelation::ReplaceOne.has_public_total());
    /// assert!(!NeighboringRelation::AddRemoveOne.has_public_total());
    /// ```
    pub const fn has_public_total(self) -> bool {
        matches!(self, Self::ReplaceOne)
    }

    /// K if neighbors differ by a unit; `None` if they differ by a record.
    pub const fn unit(self) -> Option<RecordsPerUnit> {
        match self {
            Self::ReplaceOne | Self::AddRemoveOne => None,
            Self::AddRemoveUnit(unit) => Some(unit),
        }
    }
}

/// K, the maximum number of records per unit of privacy: 1 to 32.
///
/// Limit the table to K records per unit before counting anything: keep K of each, such as the first ones.
///
/// ```
/// use jointly_privacy::{MarginalSensitivity, NeighboringRelation, RecordsPerUnit};
/// let household = NeighboringRelation::AddRemoveUnit(RecordsPerUnit::new(3)?);
/// let marginal = MarginalSensitivity::of(household); // all three records may lie in one cell
/// assert_eq!((marginal.l1(), marginal.squared_l2()), (3, 9));
/// assert!(RecordsPerUnit::new(0).is_err());
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "u32", into = "u32")]
pub struct RecordsPerUnit(u32);

impl RecordsPerUnit {
    /// The largest value allowed. Up to it, the sampler accepts the fraction σ² = K²/(2ρ) unchanged.
    pub const MAX: u32 = 32;

    /// Checks the range.
    ///
    /// # Errors
    /// 0, or more than 32.
    pub fn new(records: u32) -> Result<Self> {
        if (1..=Self::MAX).contains(&records) {
            return Ok(Self(records));
        }
        Err(Error::invalid_parameter("max records", records, "1 to 32"))
    }

    /// The number.
    pub const fn get(self) -> u32 {
        self.0
    }
}

impl TryFrom<u32> for RecordsPerUnit {
    type Error = Error;

    fn try_from(records: u32) -> Result<Self> {
        Self::new(records)
    }
}

impl From<RecordsPerUnit> for u32 {
    fn from(unit: RecordsPerUnit) -> Self {
        unit.get()
    }
}

impl fmt::Display for NeighboringRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ReplaceOne => f.write_str("replace-one"),
            Self::AddRemoveOne => f.write_str("add-remove-one"),
            Self::AddRemoveUnit(unit) => {
                write!(f, "add-remove-one unit of {} records at most", unit.get())
            }
        }
    }
}

/// Sensitivity of the counts of one marginal, for any clique.
///
/// ```
/// use jointly_privacy::{MarginalSensitivity, NeighboringRelation};
/// let bounded = MarginalSensitivity::of(NeighboringRelation::ReplaceOne);
/// assert_eq!((bounded.l1(), bounded.squared_l2()), (2, 2));
/// let unbounded = MarginalSensitivity::of(NeighboringRelation::AddRemoveOne);
/// assert_eq!((unbounded.l1(), unbounded.squared_l2()), (1, 1));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarginalSensitivity {
    l1: u32,
    squared_l2: u32,
}

impl MarginalSensitivity {
    /// The sensitivity of a single cell of a marginal. Each record counts at most once, but all K records of a unit may
    /// fall into the same cell. A sum of cells is a cell of the marginal that merges them.
    pub const fn one_cell(relation: NeighboringRelation) -> Self {
        let l1 = relation.changed_cell();
        Self { l1, squared_l2: l1 * l1 }
    }

    /// Under replace-one a record leaves one cell and enters another. Under add-remove-one it does one of the two. A
    /// unit's K records may all do so in the same cell.
    pub const fn of(relation: NeighboringRelation) -> Self {
        let (l1, one_cell) = (relation.changed_counts(), Self::one_cell(relation).squared_l2);
        // Rising and falling counts are in different cells.
        let squared_l2 = if relation.has_public_total() { 2 * one_cell } else { one_cell };
        Self { l1, squared_l2 }
    }

    /// Δ₁ in counts.
    pub const fn l1(self) -> u32 {
        self.l1
    }

    /// Δ₂² in squared counts, exactly.
    pub const fn squared_l2(self) -> u32 {
        self.squared_l2
    }

    /// Δ₂ in counts.
    pub fn l2(self) -> f64 {
        f64::from(self.squared_l2).sqrt()
    }
}

/// The weights that scores may have.
const WEIGHTS: std::ops::RangeInclusive<f64> = 1e-100..=1e100;

/// 2³⁶ / 5: errors of 10 · 2⁻⁵³ of such a magnitude are a step of the grid, 2⁻¹⁶, for a sensitivity of one count.
const MAGNITUDE: f64 = (1_u64 << 36) as f64 / 5.0;

/// Sensitivity of a list of scores: the largest difference of any one score between neighbors.
///
/// It is derived from the relation and the form of the score; callers cannot set it directly.
///
/// ```
/// use jointly_privacy::{NeighboringRelation::ReplaceOne, ScoreSensitivity};
/// assert_eq!(ScoreSensitivity::l1_error(ReplaceOne).value(), 2.0);
/// assert_eq!(ScoreSensitivity::l1_error_difference(ReplaceOne).value(), 4.0);
/// assert_eq!(ScoreSensitivity::cell_error(ReplaceOne).value(), 1.0);
/// assert_eq!(ScoreSensitivity::l1_error(ReplaceOne).weighted(3.5)?.value(), 7.0);
/// # Ok::<(), jointly_privacy::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScoreSensitivity {
    relation: NeighboringRelation,
    counts: u32,
    weight: f64,
    /// The largest |c|, in counts. It affects no sensitivity, only the precision of a score.
    #[serde(skip)]
    constant: f64,
}

impl ScoreSensitivity {
    /// The sensitivity of `‖M(D) − v‖₁ + c`, where `v` and `c` do not depend on the records: 2 under replace-one, 1
    /// under add-remove-one, K for units.
    pub const fn l1_error(relation: NeighboringRelation) -> Self {
        Self { relation, counts: relation.changed_counts(), weight: 1.0, constant: 0.0 }
    }

    /// The sensitivity of `‖M(D) − v‖₁ − ‖M(D) − w‖₁ + c`, where `v`, `w` and `c` do not depend on the records, such as
    /// the score of a public candidate in JAM-PGM: 4 under replace-one, 2 under add-remove-one, 2 K for units.
    ///
    /// It also covers lists in which some scores are of the form of [`l1_error`](Self::l1_error).
    pub const fn l1_error_difference(relation: NeighboringRelation) -> Self {
        Self { relation, counts: 2 * relation.changed_counts(), weight: 1.0, constant: 0.0 }
    }

    /// The sensitivity of `Σ_r a_r ‖M_r(D) − v_r‖₁ + c` with weights `a_r >= 0` that sum to 1, such as the mean error of a
    /// whole model on a workload, where `v` and `c` do not depend on the records: that of a single marginal, whatever
    /// their number, because each of the distances changes by no more (`docs/theory/sensitivities.md`, section 3).
    pub const fn mean_workload_error(relation: NeighboringRelation) -> Self {
        Self::l1_error(relation)
    }

    /// The sensitivity of `|M(D)_x − v| + c` for one cell x of a marginal, or of its maximum over the cells of a
    /// marginal, where `v` and `c` do not depend on the records: 1 if neighbors differ by a record, as no count
    /// changes by more than one, and K if they differ by a unit. So is that of a sum of cells in the place of one.
    pub const fn cell_error(relation: NeighboringRelation) -> Self {
        Self { relation, counts: relation.changed_cell(), weight: 1.0, constant: 0.0 }
    }

    /// The sensitivity of `±(M(D)_x − v) + c` for one cell x of a marginal, with its sign, where `v` and `c` do not
    /// depend on the records: that of [`cell_error`](Self::cell_error), as the count itself changes by no more.
    pub const fn signed_cell_error(relation: NeighboringRelation) -> Self {
        Self::cell_error(relation)
    }

    /// The sensitivity of scores multiplied by weights of at most `largest`.
    ///
    /// `largest`: absolute value of the largest weight, finite and above 0.
    ///
    /// # Errors
    /// A weight outside that range.
    pub fn weighted(self, largest: f64) -> Result<Self> {
        let weight = self.weight * largest;
        if largest.is_nan() || largest <= 0.0 || !WEIGHTS.contains(&weight) {
            return Err(Error::invalid_parameter("score weight", largest, "in [1e-100, 1e100]"));
        }
        Ok(Self { weight, ..self })
    }

    /// States that scores subtract a constant of at most `largest`, in counts before weights, from their errors, such
    /// as a penalty for noise. It changes no sensitivity; very large ones cost precision, and a selection refuses them.
    #[must_use]
    pub fn less(self, largest: f64) -> Self {
        Self { constant: largest.abs(), ..self }
    }

    /// The same without the constant, as a ledger states it.
    pub(crate) fn as_stated(self) -> Self {
        Self { constant: 0.0, ..self }
    }

    /// Refuses scores whose floating-point errors may exceed what the selection allows for, a step of its grid.
    /// Such a score is `weight (Σ ± ‖M(D) − v‖₁ − c)`, or such a weighted mean or gain as section 5 of
    /// `docs/theory/sensitivities.md` lists, with compensated sums, and computed with an error below 10 · 2⁻⁵³ of the sum
    /// of the magnitudes in it.
    ///
    /// `norm`: a bound on each norm, in counts, the same for all tables.
    ///
    /// # Errors
    /// Magnitudes of more than `counts · 2³⁶ / 5`.
    pub fn check_precision(self, norm: f64) -> Result<()> {
        let norms = f64::from(self.counts) / f64::from(self.relation.changed_counts());
        let (sum, most) =
            (norms.max(1.0) * norm + self.constant, f64::from(self.counts) * MAGNITUDE);
        if sum < most {
            return Ok(());
        }
        let expected = "below 1.37e10 times the sensitivity: more budget, or smaller marginals";
        Err(Error::invalid_parameter(
            "magnitude of scores, in counts",
            format!("{sum:.3e}"),
            expected,
        ))
    }

    /// Whether it is one of those above, which a stored one need not be.
    pub(crate) fn is_valid(self) -> bool {
        let forms = [Self::l1_error, Self::l1_error_difference, Self::cell_error];
        let is_known = forms.iter().any(|form| form(self.relation).counts == self.counts);
        is_known && (self.weight.to_bits() == 1_f64.to_bits() || WEIGHTS.contains(&self.weight))
    }

    /// Which tables are neighbors.
    pub const fn relation(self) -> NeighboringRelation {
        self.relation
    }

    /// Sensitivity before weights, in counts, exactly.
    pub const fn counts(self) -> u32 {
        self.counts
    }

    /// The sensitivity. It is exact if the counts are a power of two. Otherwise the product has one rounding error,
    /// which the grid of the selection outweighs (`docs/theory/sensitivities.md`, section 5).
    pub fn value(self) -> f64 {
        f64::from(self.counts) * self.weight
    }
}

#[cfg(test)]
mod tests;
