//! Record batches that come one after another, and are never held as a whole.

use std::io::Empty;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::ArrowTable;
use super::rows::{ArrowRows, Batches};
use crate::data::csv::{self, Reading};
use crate::data::raw_table::RawTable;
use crate::data::units::UnitsOfSchema;
use crate::data::{Dataset, Units};
use crate::domain::Schema;
use crate::error::{Error, Result};

/// A table whose batches are read once, as they come: only its codes are held.
///
/// ```
/// use std::sync::Arc;
/// use arrow_array::{Int64Array, RecordBatch};
/// use arrow_schema::{DataType, Field};
/// use jointly::{data::arrow::ArrowStream, domain::Schema};
/// let fields = vec![Field::new("sex", DataType::Int64, false)];
/// let columns = Arc::new(arrow_schema::Schema::new(fields));
/// let batch = RecordBatch::try_new(Arc::clone(&columns), vec![Arc::new(Int64Array::from(vec![1, 0]))])?;
/// let parts = std::iter::repeat_n(batch, 3).map(Ok);
/// let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let data = ArrowStream::new("people", columns, parts).read_public(&schema)?;
/// assert_eq!(data.records(), 6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ArrowStream {
    name: String,
    schema: SchemaRef,
    batches: Batches,
}

impl ArrowStream {
    /// `name`: of the table in errors. `schema`: the columns of all batches.
    pub fn new(
        name: impl Into<String>,
        schema: SchemaRef,
        batches: impl Iterator<Item = Result<RecordBatch>> + 'static,
    ) -> Self {
        let name = name.into();
        let checked = Columns { table: name.clone(), schema: schema.clone() };
        let batches = batches.map(move |batch| checked.of(batch?));
        Self { name, schema, batches: Box::new(batches) }
    }

    /// Codes the rows of a **public** table, as [`read_public_csv`](crate::data::read_public_csv) does.
    ///
    /// # Errors
    /// As there, with row and column; a batch that cannot be had, or that has other columns.
    pub fn read_public(self, schema: &Schema) -> Result<Dataset> {
        csv::read(self.raw(schema)?, schema, Reading::public())
    }

    /// Codes the rows, as [`read_csv`](crate::data::read_csv) does.
    ///
    /// # Errors
    /// As there, with row and column; a batch that cannot be had, or that has other columns.
    pub fn read(self, schema: &Schema) -> Result<Dataset> {
        csv::read(self.raw(schema)?, schema, Reading::whole())
    }

    /// As [`read_csv_or_empty`](crate::data::read_csv_or_empty).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_or_empty(self, schema: &Schema) -> Result<Dataset> {
        csv::read(self.raw(schema)?, schema, Reading::or_empty())
    }

    /// As [`read_units_csv`](crate::data::read_units_csv).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_units(self, schema: &Schema, units: &Units) -> Result<Dataset> {
        units.check(schema)?;
        csv::read(self.raw(schema)?, schema, Reading::units(units))
    }

    /// As [`read_public_units_csv`](crate::data::read_public_units_csv).
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_public_units(self, schema: &Schema, units: &Units) -> Result<Dataset> {
        units.check(schema)?;
        csv::read(self.raw(schema)?, schema, Reading::public_units(units))
    }

    pub(in crate::data) fn raw(self, schema: &Schema) -> Result<RawTable<Empty>> {
        self.rows_of(schema.na_token(), schema.table().trim)
    }

    pub(super) fn rows_of(self, na_token: &str, trim: bool) -> Result<RawTable<Empty>> {
        RawTable::of_rows(&self.name, ArrowRows::new(&self.schema, self.batches, na_token, trim))
    }
}

impl From<&ArrowTable> for ArrowStream {
    fn from(table: &ArrowTable) -> Self {
        let batches = table.batches.clone().into_iter().map(Ok);
        Self { name: table.name.clone(), schema: table.schema.clone(), batches: Box::new(batches) }
    }
}

/// The columns that every batch must have.
struct Columns {
    table: String,
    schema: SchemaRef,
}

impl Columns {
    fn of(&self, batch: RecordBatch) -> Result<RecordBatch> {
        let names = |schema: &SchemaRef| {
            schema.fields().iter().map(|field| field.name().clone()).collect::<Vec<_>>()
        };
        let (found, expected) = (names(&batch.schema()), names(&self.schema));
        if found == expected {
            return Ok(batch);
        }
        let found = format!("a part with the columns {}", found.join(", "));
        let expected = format!("those of its first part: {}", expected.join(", "));
        Err(Error::invalid_specification(self.table.clone(), found, expected))
    }
}
