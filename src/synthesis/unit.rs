//! The unit of privacy of a job.

use crate::data::{Keep, Units};
use crate::error::{Contradiction, Error, Result};
use crate::privacy::{NeighboringRelation, PrivacyUnit};
use crate::synthesis::Job;

impl Job {
    /// The unit of privacy, which determines the neighboring tables.
    ///
    /// # Errors
    /// A unit without the most records of one, or the other way round, or with neighbors that replace.
    pub fn privacy_unit(&self) -> Result<PrivacyUnit> {
        let needs = |what, needed| Err(Contradiction::Needs { what, needed }.into());
        let (column, most) = match (&self.unit, self.max_records) {
            (None, _) if !self.unit_columns.is_empty() => return needs("unit columns", "`unit`"),
            (None, _) if !self.members.is_empty() => return needs("members", "`unit`"),
            (None, None) if self.keep == Keep::Hash => return needs("keep hash", "`unit`"),
            (None, None) => return Ok(PrivacyUnit::of_record(self.neighbors)),
            (None, Some(_)) => return needs("max records", "`unit`"),
            (Some(_), None) => return needs("unit", "`max_records`"),
            (Some(column), Some(most)) => (column, most),
        };
        if self.neighbors != NeighboringRelation::AddRemoveOne {
            let needed = "`neighbors` add-remove-one: replacing a unit changes the number of records, which is then private";
            return needs("unit", needed);
        }
        if column.is_empty() {
            return Err(Error::invalid_parameter("unit", "empty", "the name of a column"));
        }
        let units = Units::new(column, most)?.keeping(self.keep);
        let linked = !self.unit_columns.is_empty();
        let units = if linked { units.linked(&self.unit_columns)? } else { units };
        let units = match &self.order {
            None if self.members.is_empty() => units,
            None => return needs("members", "`order`"),
            Some(_) if self.members.is_empty() => return needs("order", "`members`"),
            Some(order) => units.with_members(&self.members, order)?,
        };
        Ok(PrivacyUnit::of_units(units)?)
    }
}
