//! How much one record can change a number. Proofs: `docs/theory/sensitivities.md`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Which tables must be indistinguishable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NeighboringRelation {
    /// One record has other values (bounded privacy). The number of records is public.
    #[default]
    ReplaceOne,
    /// One record is added or removed (unbounded privacy). The number of records is private.
    AddRemoveOne,
}

impl NeighboringRelation {
    /// Most cells of one marginal, counted as unit changes, that differ between neighbors: 2 or 1.
    const fn changed_counts(self) -> u32 {
        match self {
            Self::ReplaceOne => 2,
            Self::AddRemoveOne => 1,
        }
    }
}

impl fmt::Display for NeighboringRelation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReplaceOne => "replace-one",
            Self::AddRemoveOne => "add-remove-one",
        })
    }
}

/// Sensitivity of the counts of one marginal, for any clique.
///
/// ```
/// use jointly::privacy::{MarginalSensitivity, NeighboringRelation};
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
    /// Δ₂² of a single cell of a marginal, under either relation: no record counts twice in it.
    pub(in crate::privacy) const ONE_CELL: u32 = 1;

    /// Under replace-one a record leaves one cell and enters another; under add-remove-one it does one of the two.
    pub const fn of(relation: NeighboringRelation) -> Self {
        Self { l1: relation.changed_counts(), squared_l2: relation.changed_counts() }
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

/// Sensitivity of a list of scores: the most that any one score differs between neighbors.
///
/// It is derived from the relation and the form of the score; there is no way to write it as a number.
///
/// ```
/// use jointly::privacy::{NeighboringRelation::ReplaceOne, ScoreSensitivity};
/// assert_eq!(ScoreSensitivity::l1_error(ReplaceOne).value(), 2.0);
/// assert_eq!(ScoreSensitivity::l1_error_difference(ReplaceOne).value(), 4.0);
/// assert_eq!(ScoreSensitivity::cell_error().value(), 1.0);
/// assert_eq!(ScoreSensitivity::l1_error(ReplaceOne).weighted(3.5)?.value(), 7.0);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScoreSensitivity {
    counts: u32,
    weight: f64,
}

impl ScoreSensitivity {
    /// Of `‖M(D) − v‖₁ + c`, where `v` and `c` do not depend on the records: 2 under replace-one, 1 under
    /// add-remove-one.
    pub const fn l1_error(relation: NeighboringRelation) -> Self {
        Self { counts: relation.changed_counts(), weight: 1.0 }
    }

    /// Of `‖M(D) − v‖₁ − ‖M(D) − w‖₁ + c`, where `v`, `w` and `c` do not depend on the records, such as the score of
    /// a public candidate in JAM-PGM: 4 under replace-one, 2 under add-remove-one.
    ///
    /// It also covers lists in which some scores are of the form of [`l1_error`](Self::l1_error).
    pub const fn l1_error_difference(relation: NeighboringRelation) -> Self {
        Self { counts: 2 * relation.changed_counts(), weight: 1.0 }
    }

    /// Of `|M(D)_x − v| + c` for one cell x of a marginal, or the maximum of it over the cells of a marginal, where `v` and
    /// `c` do not depend on the records: 1 under both relations, as no count changes by more than one.
    pub const fn cell_error() -> Self {
        Self { counts: 1, weight: 1.0 }
    }

    /// Of scores that are multiplied by weights of at most `largest`.
    ///
    /// `largest`: absolute value of the largest weight, finite and above 0.
    ///
    /// # Errors
    /// A weight outside that range.
    pub fn weighted(self, largest: f64) -> Result<Self> {
        let weight = self.weight * largest;
        if largest.is_nan() || largest <= 0.0 || !(1e-100..=1e100).contains(&weight) {
            return Err(Error::invalid_parameter("score weight", largest, "in [1e-100, 1e100]"));
        }
        Ok(Self { weight, ..self })
    }

    /// Sensitivity before weights, in counts, exactly.
    pub const fn counts(self) -> u32 {
        self.counts
    }

    /// The sensitivity. Exact: the counts are a power of two.
    pub fn value(self) -> f64 {
        f64::from(self.counts) * self.weight
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relations_are_written_in_kebab_case() {
        for relation in [NeighboringRelation::ReplaceOne, NeighboringRelation::AddRemoveOne] {
            assert_eq!(serde_json::to_string(&relation).unwrap(), format!("\"{relation}\""));
        }
    }

    #[test]
    fn weights_that_are_no_scale_are_refused() {
        let sensitivity = ScoreSensitivity::l1_error(NeighboringRelation::AddRemoveOne);
        for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(sensitivity.weighted(weight).is_err(), "{weight}");
        }
    }
}
