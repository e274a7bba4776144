//! The unit of privacy.

use std::path::Path;

use crate::data::{
    CountPlan, CountedTable, Dataset, Units, UnlistedValues, read_csv, read_csv_or_empty,
    read_units_csv,
};
use crate::domain::Schema;
use crate::error::{Contradiction, Result};
use crate::observe::Checks;
use crate::privacy::{NeighboringRelation, RecordsPerUnit, Sensitive};

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

    /// Reads a private table. Of each unit, only the records that count are kept. Where the number of records is private,
    /// the table may be empty, so that an error cannot tell whether it is.
    ///
    /// # Errors
    /// As [`read_csv`] and [`read_units_csv`](crate::data::read_units_csv).
    pub fn read_csv(&self, path: &Path, schema: &Schema) -> Result<Dataset> {
        match &self.units {
            Some(units) => read_units_csv(path, schema, units),
            None if self.relation.has_public_total() => read_csv(path, schema),
            None => read_csv_or_empty(path, schema),
        }
    }

    /// Counts a private table block by block, so that its records are never held all at once. The counts are those of
    /// [`read_csv`](Self::read_csv)'s table.
    ///
    /// # Errors
    /// As [`read_csv`](Self::read_csv); units of several records: which of them count depends on rows all over the file.
    pub fn count_file(
        &self,
        path: &Path,
        plan: &CountPlan,
        checks: &dyn Checks,
    ) -> Result<CountedTable> {
        self.check_counted()?;
        if self.relation.has_public_total() {
            plan.count_file(path, checks)
        } else {
            plan.count_file_or_empty(path, checks)
        }
    }

    /// Refuses units of several records in a table that is counted block by block.
    pub(crate) fn check_counted(&self) -> Result<()> {
        if self.units.is_none() {
            return Ok(());
        }
        let why = "which rows of a unit count depends on rows all over the file";
        Err(Contradiction::Together { first: "counting", second: "units", why }.into())
    }

    /// Counts the values of some columns that the schema does not list, of the records that [`read_csv`](Self::read_csv)
    /// keeps, for [`Curator::measure_unlisted`](crate::privacy::Curator::measure_unlisted).
    ///
    /// # Errors
    /// A file that cannot be read, a header without one of the columns, a column that is not categorical or has no code
    /// `other`, a cell that is no text, a record without a unit.
    pub fn read_unlisted(
        &self,
        path: &Path,
        schema: &Schema,
        columns: &[String],
    ) -> Result<Vec<Sensitive<UnlistedValues>>> {
        let read = UnlistedValues::read(path, schema, columns, self.units.as_ref())?;
        Ok(read.into_iter().map(Sensitive::new).collect())
    }

    /// As [`read_csv`](Self::read_csv), from a table in memory.
    ///
    /// # Errors
    /// As [`read_csv`](Self::read_csv).
    #[cfg(feature = "arrow")]
    pub fn read_arrow(
        &self,
        table: &crate::data::arrow::ArrowTable,
        schema: &Schema,
    ) -> Result<Dataset> {
        match &self.units {
            Some(units) => table.read_units(schema, units),
            None if self.relation.has_public_total() => table.read(schema),
            None => table.read_or_empty(schema),
        }
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
