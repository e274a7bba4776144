//! The numbers of a table as they are, for measures of the holder of the records.

use std::io::Read;

use csv::ByteRecord;

use crate::data::encoder::{Encoder, expectation};
use crate::data::raw_table::RawTable;
use crate::domain::{Bins, Kind, Schema, SchemaColumn};
use crate::error::Result;

/// The numeric attributes and dates of a table, uncoded, in the schema's order, as
/// [`WholeTable`](crate::data::WholeTable) reads them. **Not private**: for measures whose results stay with the holder of
/// the records.
#[derive(Clone, Debug)]
pub struct NumericColumns {
    columns: Vec<NumericColumn>,
}

/// One of them.
#[derive(Clone, Debug)]
pub struct NumericColumn {
    /// The attribute's name.
    pub name: String,
    /// The bins that the schema counts the numbers in.
    pub bins: Bins,
    /// Whether the numbers are days since 1970-01-01.
    pub is_date: bool,
    /// A number for each record, in order; NaN where it is missing.
    pub values: Vec<f64>,
}

impl NumericColumns {
    /// The columns.
    pub fn columns(&self) -> &[NumericColumn] {
        &self.columns
    }

    /// Their values.
    pub(super) fn into_values(self) -> impl Iterator<Item = Vec<f64>> {
        self.columns.into_iter().map(|column| column.values)
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&NumericColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}

/// Reads them row by row.
pub(super) struct NumericReader<'s> {
    fields: Vec<Field<'s>>,
    na_token: &'s str,
}

struct Field<'s> {
    position: usize,
    encoder: Encoder,
    column: &'s SchemaColumn,
    found: NumericColumn,
}

impl<'s> NumericReader<'s> {
    /// Finds the columns.
    ///
    /// # Errors
    /// A header without one of them.
    pub(super) fn new(table: &RawTable<impl Read>, schema: &'s Schema) -> Result<Self> {
        let mut fields = Vec::new();
        for column in schema.attributes() {
            let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &column.kind else { continue };
            let Some(encoder) = Encoder::new(column, schema) else { continue };
            let encoder = if table.has_rows() { encoder.of_values() } else { encoder };
            let position = table.position(&column.name).ok_or_else(|| {
                let found = format!("a header without '{}' ({})", column.name, table.names());
                table.header_error(found, "every attribute of the schema")
            })?;
            let is_date = matches!(column.kind, Some(Kind::Date(_)));
            let (name, bins, values) = (column.name.clone(), bins.clone(), Vec::new());
            let found = NumericColumn { name, bins, is_date, values };
            fields.push(Field { position, encoder, column, found });
        }
        Ok(Self { fields, na_token: schema.na_token() })
    }

    /// Reads a row.
    ///
    /// # Errors
    /// A cell that is neither a number nor missing.
    pub(super) fn push(&mut self, record: &ByteRecord, table: &RawTable<impl Read>) -> Result<()> {
        for Field { position, encoder, column, found } in &mut self.fields {
            let cell = record.get(*position).unwrap_or_default();
            found.values.push(encoder.number(cell).ok_or_else(|| {
                let expected = expectation(column, self.na_token);
                table.cell_error(record, &column.name, cell, expected)
            })?);
        }
        Ok(())
    }

    pub(super) fn finish(self) -> NumericColumns {
        NumericColumns { columns: self.fields.into_iter().map(|field| field.found).collect() }
    }
}
