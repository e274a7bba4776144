//! The numbers of a table as they are, for measures of the holder of the records.

use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

use crate::data::csv::of_file;
use crate::data::encoder::{Encoder, expectation};
use crate::data::raw_table::RawTable;
use crate::domain::{Bins, Kind, Schema};
use crate::error::Result;

/// The numeric attributes and dates of a table, uncoded, in the schema's order. **Not private**: for measures whose
/// results stay with the holder of the records.
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
    /// Reads them from a CSV file, plain or gzip, as [`crate::data::read_csv`] reads their bins.
    ///
    /// # Errors
    /// A file that cannot be read, a header without one of the columns, a cell that is neither a number nor missing.
    /// They name file, line and column.
    pub fn read(path: &Path, schema: &Schema) -> Result<Self> {
        Self::of_table(of_file(path, schema)?, schema)
    }

    /// Reads them from any source of bytes; `name` stands for the file in errors.
    ///
    /// ```
    /// use jointly::{data::NumericColumns, domain::Schema};
    /// let schema = r#"{"na_token": "NA", "columns": [
    ///     {"name": "age", "role": "attribute", "kind": "numeric", "na": true, "edges": [0, 18, 100], "integer": true}
    /// ]}"#;
    /// let schema = Schema::from_json(schema, "schema.json")?;
    /// let read = NumericColumns::read_from(&b"age\n30\nNA\n17\n"[..], "t.csv", &schema)?;
    /// let ages = &read.columns()[0].values;
    /// assert!(ages[0] == 30.0 && ages[1].is_nan() && ages[2] == 17.0);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_from(source: impl Read, name: &str, schema: &Schema) -> Result<Self> {
        Self::of_table(RawTable::open(source, name, schema.table())?, schema)
    }

    pub(super) fn of_table(mut table: RawTable<impl Read>, schema: &Schema) -> Result<Self> {
        let mut fields = Vec::new();
        for column in schema.attributes() {
            let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &column.kind else { continue };
            let Some(encoder) = Encoder::new(column, schema) else { continue };
            let position = table.position(&column.name).ok_or_else(|| {
                let found = format!("a header without '{}' ({})", column.name, table.names());
                table.header_error(found, "every attribute of the schema")
            })?;
            let is_date = matches!(column.kind, Some(Kind::Date(_)));
            let (name, bins, values) = (column.name.clone(), bins.clone(), Vec::new());
            fields.push((position, encoder, column, NumericColumn { name, bins, is_date, values }));
        }
        let mut record = ByteRecord::new();
        while table.next(&mut record)? {
            for (position, encoder, column, into) in &mut fields {
                let cell = record.get(*position).unwrap_or_default();
                into.values.push(encoder.number(cell).ok_or_else(|| {
                    let expected = expectation(column, schema.na_token());
                    table.cell_error(&record, &column.name, cell, expected)
                })?);
            }
        }
        Ok(Self { columns: fields.into_iter().map(|(_, _, _, column)| column).collect() })
    }

    /// The columns.
    pub fn columns(&self) -> &[NumericColumn] {
        &self.columns
    }

    /// A column by name.
    pub fn column(&self, name: &str) -> Option<&NumericColumn> {
        self.columns.iter().find(|column| column.name == name)
    }
}
