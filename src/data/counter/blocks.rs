//! The rows of a table, coded block by block.

use std::io::Read;

use csv::ByteRecord;

use crate::data::csv::{Layout, Misfit, without_records};
use crate::data::raw_table::RawTable;
use crate::data::{AbsentColumns, Column, Dataset};
use crate::domain::Schema;
use crate::error::{Error, Result};

/// The rows of a table that has every attribute of a schema.
pub(super) struct RowBlocks<'s, R> {
    table: RawTable<R>,
    schema: &'s Schema,
    layout: Layout,
    record: ByteRecord,
    codes: Vec<u32>,
}

/// A row that does not fit the schema.
pub(super) struct Misfitting<'b, 's, R> {
    blocks: &'b RowBlocks<'s, R>,
    /// What of it does not fit.
    pub(super) misfit: Misfit,
}

impl<R: Read> Misfitting<'_, '_, R> {
    /// What was found, shortened.
    #[cfg(feature = "arrow")]
    pub(super) fn found(&self) -> String {
        self.blocks.layout.found(self.misfit, &self.blocks.record)
    }

    /// The error with the place of the row.
    pub(super) fn error(&self) -> Error {
        let RowBlocks { table, schema, layout, record, .. } = self.blocks;
        layout.refuse(self.misfit, schema, table, record)
    }
}

impl<'s, R: Read> RowBlocks<'s, R> {
    /// # Errors
    /// A table that lacks an attribute.
    pub(super) fn new(table: RawTable<R>, schema: &'s Schema) -> Result<Self> {
        let layout = Layout::new(&table, schema, AbsentColumns::Refuse)?;
        Ok(Self { table, schema, layout, record: ByteRecord::new(), codes: Vec::new() })
    }

    /// The next `most` rows, fewer at the end; none after it. A row that does not fit goes to `refused`, and is left out
    /// unless that fails.
    ///
    /// # Errors
    /// An unreadable table, or the first error of `refused`.
    pub(super) fn next(
        &mut self,
        most: usize,
        mut refused: impl FnMut(Misfitting<'_, 's, R>) -> Result<()>,
    ) -> Result<Dataset> {
        let domain = self.layout.domain().clone();
        let mut columns: Vec<Column> =
            (0..domain.len()).map(|a| Column::new(domain.cardinality(a))).collect();
        let mut rows = 0;
        while rows < most && self.table.next(&mut self.record)? {
            if let Some(misfit) = self.layout.encode(&self.record, &mut self.codes) {
                refused(Misfitting { blocks: self, misfit })?;
                continue;
            }
            self.codes.iter().zip(&mut columns).for_each(|(code, column)| column.push(*code));
            rows += 1;
        }
        Ok(Dataset::new(domain, columns)?)
    }

    /// The error of a table that must have records.
    pub(super) fn without_records(&self) -> Error {
        without_records(&self.table)
    }
}
