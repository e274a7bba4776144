//! The unit of privacy.

use crate::data::Units;
use crate::error::Result;
use crate::privacy::{NeighboringRelation, RecordsPerUnit};

/// What differs between neighboring tables: a record, or a unit of records that a column of the file names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivacyUnit {
    relation: NeighboringRelation,
    units: Option<Units>,
}

impl PrivacyUnit {
    /// A record, replaced by another one or added and removed.
    pub fn of_record(relation: NeighboringRelation) -> Self {
        Self { relation, units: None }
    }

    /// A unit of several records, added or removed with all of them.
    ///
    /// # Errors
    /// More than [`RecordsPerUnit::MAX`] records per unit.
    pub fn of_units(units: Units) -> Result<Self> {
        let records = RecordsPerUnit::new(units.most())?;
        Ok(Self { relation: NeighboringRelation::AddRemoveUnit(records), units: Some(units) })
    }

    /// The relation between neighboring tables.
    pub fn relation(&self) -> NeighboringRelation {
        self.relation
    }

    /// The column that names the units, and how many records of each count.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }
}
