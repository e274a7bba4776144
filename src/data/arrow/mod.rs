//! Tables in memory as Arrow record batches, read and written as CSV files are.
//!
//! A value is coded by the text that a CSV file would have. A whole number is written without a point, so that `1.0`,
//! which is what some programs make of an integer column with missing values, is the code `1`; a null or NaN is a
//! missing value. A boolean is 1 or 0. A time is the date that it falls on.

mod cells;
mod columns;
mod decode;
mod rows;
mod stream;
mod unit_order;

use std::fs::File;
use std::io::{Empty, Write};
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};

use cells::is_readable;
pub(crate) use columns::ArrayCoder;
pub use decode::{ArrowWriter, to_record_batch};
pub(super) use decode::{Builder, kind};
pub(crate) use rows::ArrowRows;
#[cfg(feature = "parquet")]
pub(crate) use rows::Batches;
pub use stream::ArrowStream;
pub use unit_order::UnitOrder;

use crate::data::numbers::numbers_of;
use crate::data::raw_table::RawTable;
use crate::data::sides::public_points_of_arrow;
use crate::data::{Dataset, WholeTable};
use crate::domain::{Schema, TableFormat};
use crate::error::{Error, Result};

/// A table in memory, with a name that stands for it in errors.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Float64Array, RecordBatch, StringArray};
/// use arrow_schema::{DataType, Field};
/// use jointly::{data::arrow::ArrowTable, domain::Schema};
/// let schema = r#"{"columns": [
///     {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "na": true},
///     {"name": "job", "kind": "categorical", "codes": ["none", "some"]}
/// ]}"#;
/// let schema = Schema::from_json(schema, "schema.json")?;
/// let fields = vec![Field::new("sex", DataType::Float64, true), Field::new("job", DataType::Utf8, false)];
/// let batch = RecordBatch::try_new(
///     Arc::new(arrow_schema::Schema::new(fields)),
///     vec![
///         Arc::new(Float64Array::from(vec![Some(2.0), None])),
///         Arc::new(StringArray::from(vec!["some", "none"])),
///     ],
/// )?;
/// let table = ArrowTable::new("people", batch.schema(), vec![batch]);
/// let data = table.read(&schema)?;
/// assert_eq!((data.row(0), data.row(1)), (vec![1, 1], vec![2, 0]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ArrowTable {
    name: String,
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl ArrowTable {
    /// A table of batches, all with the columns of `schema`.
    pub fn new(name: impl Into<String>, schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { name: name.into(), schema, batches }
    }

    /// Its name in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its batches.
    pub fn batches(&self) -> &[RecordBatch] {
        &self.batches
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Codes the rows, as [`read_csv`](crate::data::read_csv) does.
    ///
    /// # Errors
    /// As [`read_csv`](crate::data::read_csv), with row and column.
    pub fn read(&self, schema: &Schema) -> Result<Dataset> {
        ArrowStream::from(self).read(schema)
    }

    /// As [`read_public_csv`](crate::data::read_public_csv).
    ///
    /// # Errors
    /// As [`read_public_csv`](crate::data::read_public_csv), with row and column.
    pub fn read_public(&self, schema: &Schema) -> Result<Dataset> {
        ArrowStream::from(self).read_public(schema)
    }

    /// Codes, numbers and units of the rows. **Not private**.
    ///
    /// # Errors
    /// As [`WholeTable::read`], with row and column.
    pub fn read_whole(&self, schema: &Schema, unit: Option<&str>) -> Result<WholeTable> {
        WholeTable::of_table(self.raw(schema)?, schema, (unit, None))
    }

    /// Codes, numbers and survey weights of the rows. **Not private**.
    ///
    /// # Errors
    /// As [`WholeTable::read_weighted`], with row and column.
    pub fn read_weighted(&self, schema: &Schema, weight: &str) -> Result<WholeTable> {
        WholeTable::of_table(self.raw(schema)?, schema, (None, Some(weight)))
    }

    /// Writes the rows of a **public** table as a CSV file that is read under the schema as they are.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write_csv(&self, schema: &Schema, path: &Path) -> Result<()> {
        let failed = |error: ::csv::Error| {
            let source = std::io::Error::other(error);
            Error::Io { action: "write", path: path.to_owned(), source }
        };
        let mut table = self.raw(schema)?;
        let mut file = File::create(path).map_err(|error| failed(error.into()))?;
        // Whatever the encoding of files is.
        file.write_all("\u{feff}".as_bytes()).map_err(|error| failed(error.into()))?;
        let delimiter = schema.table().delimiter_byte();
        let mut out = ::csv::WriterBuilder::new().delimiter(delimiter).from_writer(file);
        out.write_byte_record(&table.header).map_err(failed)?;
        let mut record = ::csv::ByteRecord::new();
        while table.next(&mut record)? {
            out.write_byte_record(&record).map_err(failed)?;
        }
        out.flush().map_err(|error| failed(error.into()))
    }

    /// The numbers in some columns of a **public** table, as [`read_public_numbers`](crate::data::read_public_numbers) reads
    /// them.
    ///
    /// # Errors
    /// As there, with row and column.
    pub fn read_public_numbers<S: AsRef<str>>(&self, columns: &[S]) -> Result<Vec<Vec<f64>>> {
        numbers_of(self.rows_of("", TableFormat::default().trim)?, columns)
    }

    /// The points of a **public** table, as [`read_public_points`](crate::data::read_public_points) reads them.
    ///
    /// # Errors
    /// As there, with row and column.
    pub fn read_public_points(&self, columns: &[String; 2]) -> Result<Vec<[f64; 2]>> {
        public_points_of_arrow(self, columns)
    }

    pub(super) fn raw(&self, schema: &Schema) -> Result<RawTable<Empty>> {
        self.rows_of(schema.na_token(), schema.table().trim)
    }

    fn rows_of(&self, na_token: &str, trim: bool) -> Result<RawTable<Empty>> {
        ArrowStream::from(self).rows_of(na_token, trim)
    }
}

/// The arrays of a schema's attributes in a batch, in the schema's order.
///
/// # Errors
/// An attribute without a column or whose type cannot be read, or a column twice.
pub(crate) fn columns_of(batch: &RecordBatch, schema: &Schema) -> Result<Vec<ArrayRef>> {
    let columns = batch.schema();
    let rows = ArrowRows::new(&columns, Box::new(std::iter::empty()), "", false);
    let table = RawTable::<Empty>::of_rows("record batch", rows)?;
    let array = |name: &str| match table.position(name).and_then(|_| batch.column_by_name(name)) {
        Some(array) => Ok(Arc::clone(array)),
        None => Err(table.lacks(name)),
    };
    schema.attributes().map(|attribute| array(&attribute.name)).collect()
}

/// Refuses a column of a type that cannot be read.
///
/// # Errors
/// The column with its type.
pub(crate) fn check_readable(place: &str, name: &str, kind: &DataType) -> Result<()> {
    if is_readable(kind) {
        return Ok(());
    }
    let expected = "numbers, text, booleans, dates, times without a zone, or a dictionary of them";
    let found = format!("column '{name}' of type {kind}");
    Err(Error::invalid_specification(place, found, expected))
}

#[cfg(test)]
mod tests;
