//! The rows of a table, coded block by block.

use std::io::Read;

use csv::ByteRecord;

#[cfg(feature = "arrow")]
use crate::data::arrow::ArrayCoder;
use crate::data::csv::{Layout, Misfit, without_records};
use crate::data::raw_table::RawTable;
use crate::data::{AbsentColumns, Column, Dataset};
use crate::domain::{Domain, Schema};
use crate::error::{Error, Result};

/// The rows of a table under a schema. Record batches are coded column by column, text row by row.
pub(super) struct RowBlocks<'s, R> {
    table: RawTable<R>,
    schema: &'s Schema,
    layout: Layout,
    record: ByteRecord,
    codes: Vec<u32>,
    #[cfg(feature = "arrow")]
    arrays: ArrayCoder,
}

/// A row that does not fit the schema.
pub(super) struct Misfitting<'b, 's, R> {
    blocks: &'b RowBlocks<'s, R>,
    /// What of it does not fit.
    pub(super) misfit: Misfit,
}

impl<R: Read> Misfitting<'_, '_, R> {
    /// The error with the place of the row.
    pub(super) fn error(&self) -> Error {
        let RowBlocks { table, schema, layout, record, .. } = self.blocks;
        layout.refuse(self.misfit, schema, table, record)
    }
}

impl<'s, R: Read> RowBlocks<'s, R> {
    /// # Errors
    /// A table that lacks an attribute, where that is refused, or all of them.
    pub(super) fn new(
        table: RawTable<R>,
        schema: &'s Schema,
        absent: AbsentColumns,
    ) -> Result<Self> {
        let layout = Layout::new(&table, schema, absent)?;
        #[cfg(feature = "arrow")]
        let arrays = layout.array_coder(schema);
        let (record, codes) = (ByteRecord::new(), Vec::new());
        Ok(Self {
            table,
            schema,
            layout,
            record,
            codes,
            #[cfg(feature = "arrow")]
            arrays,
        })
    }

    /// The attributes that are present.
    pub(super) fn domain(&self) -> &Domain {
        self.layout.domain()
    }

    /// Columns of no rows.
    pub(super) fn empty(&self) -> Vec<Column> {
        empty_columns(self.domain())
    }

    /// The next `most` rows, fewer at the end; none after it. A row that does not fit goes to `refused`, and is left out
    /// unless that fails.
    ///
    /// # Errors
    /// An unreadable table, or the first error of `refused`.
    pub(super) fn next(
        &mut self,
        most: usize,
        refused: impl FnMut(Misfitting<'_, 's, R>) -> Result<()>,
    ) -> Result<Dataset> {
        let mut columns = self.empty();
        self.append(&mut columns, most, refused)?;
        Ok(Dataset::new(self.domain().clone(), columns)?)
    }

    /// Appends the next `most` rows, as [`next`](Self::next); returns their number.
    pub(super) fn append(
        &mut self,
        columns: &mut [Column],
        most: usize,
        mut refused: impl FnMut(Misfitting<'_, 's, R>) -> Result<()>,
    ) -> Result<usize> {
        #[cfg(feature = "arrow")]
        if self.table.has_slices() {
            return self.append_arrays(columns, most, refused);
        }
        let mut rows = 0;
        while rows < most && self.table.next(&mut self.record)? {
            if let Some(misfit) = self.layout.encode(&self.record, &mut self.codes) {
                refused(Misfitting { blocks: self, misfit })?;
                continue;
            }
            self.codes.iter().zip(&mut *columns).for_each(|(code, column)| column.push(*code));
            rows += 1;
        }
        Ok(rows)
    }

    /// As [`append`](Self::append), of record batches.
    #[cfg(feature = "arrow")]
    fn append_arrays(
        &mut self,
        columns: &mut [Column],
        most: usize,
        mut refused: impl FnMut(Misfitting<'_, 's, R>) -> Result<()>,
    ) -> Result<usize> {
        let mut appended = 0;
        while appended < most {
            let Some((arrays, rows)) = self.table.slice(most - appended)? else { break };
            let before = self.table.row() - rows as u64;
            let own = self.layout.positions().map(|position| &arrays[position]);
            let unfit = self.arrays.code(own, rows);
            for (row, misfit) in &unfit {
                self.record = self.arrays.record(&arrays, *row);
                self.table.at_row(before + *row as u64 + 1);
                refused(Misfitting { blocks: self, misfit: *misfit })?;
            }
            self.table.at_row(before + rows as u64);
            self.arrays.append_to(columns, &unfit);
            appended += rows - unfit.len();
        }
        Ok(appended)
    }

    /// The error of a table that must have records.
    pub(super) fn without_records(&self) -> Error {
        without_records(&self.table)
    }

    /// The error of a table that has more records than can be counted.
    pub(super) fn too_many(&self) -> Error {
        let table = format!("table {}", self.table.name);
        Error::too_large(table, None, f64::from(u32::MAX), "records")
    }
}

/// A column without rows for each attribute.
pub(super) fn empty_columns(domain: &Domain) -> Vec<Column> {
    (0..domain.len()).map(|a| Column::new(domain.cardinality(a))).collect()
}
