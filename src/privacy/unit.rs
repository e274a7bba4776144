//! The unit of privacy.

use crate::data::Units;
use crate::error::Result;
use crate::privacy::{NeighboringRelation, RecordsPerUnit};

/// What differs between neighboring tables: a record, or a unit of records identified by a column of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrivacyUnit {
    relation: NeighboringRelation,
    units: Option<Units>,
}

impl PrivacyUnit {
    /// A record that is replaced by another one, or added or removed.
    pub fn of_record(relation: NeighboringRelation) -> Self {
        Self { relation, units: None }
    }

    /// A unit of several records that are all added or removed together.
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

    /// The column that identifies the units, and the maximum number of records counted per unit.
    pub fn units(&self) -> Option<&Units> {
        self.units.as_ref()
    }
}
