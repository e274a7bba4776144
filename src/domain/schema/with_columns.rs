//! A schema with other columns, for tables that are made and not read.

use super::{Rules, Schema, SchemaColumn};
use crate::error::Result;

impl Schema {
    /// The same schema with one more attribute, the last one.
    ///
    /// # Errors
    /// A column of the same name, or an attribute that cannot be coded.
    pub(crate) fn with_attribute(&self, column: SchemaColumn) -> Result<Self> {
        let columns = self.columns.iter().cloned().chain([column]).collect();
        self.with_columns(columns, self.rules.clone())
    }

    /// A schema for writing a table of these columns in the same form. It forbids nothing.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub(crate) fn for_writing(&self, columns: Vec<SchemaColumn>) -> Result<Self> {
        self.with_columns(columns, Rules::default())
    }

    fn with_columns(&self, columns: Vec<SchemaColumn>, rules: Rules) -> Result<Self> {
        let missing = std::iter::once(&self.na_token).chain(&self.missing).cloned().collect();
        let changed = Self::checked("schema", missing, columns, rules)?;
        let (dataset, note) = (self.dataset.clone(), self.note.clone());
        Ok(Self { dataset, note, table: self.table.clone(), ..changed })
    }
}
