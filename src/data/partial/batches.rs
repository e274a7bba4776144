//! Rows of a partial table as Arrow arrays: types for what a table of text says.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::PartialTable;
use crate::data::arrow::{ArrowStream, Builder, kind, to_record_batch};
use crate::data::{Dataset, Labels};
use crate::domain::{Bins, Kind, Schema, SchemaColumn, days};
use crate::error::{Error, Result};

impl PartialTable {
    /// As [`read`](Self::read), of a table in memory.
    ///
    /// # Errors
    /// As there, with row and column.
    pub fn read_arrow(
        table: ArrowStream,
        schema: &Schema,
        keep: &[String],
        unit: Option<&str>,
    ) -> Result<Self> {
        let table = table.raw(schema)?;
        Self::of(table, schema, keep, unit)
    }

    /// The rows followed by other columns of a schema, as one record batch. What was given has the type that the schema gives to
    /// its column ([`ArrowWriter`](crate::data::arrow::ArrowWriter)), where all values have one; any other column is of 64-bit
    /// integers or floats if all of its texts are how these are usually written, and of text if not. Missing values, and empty texts
    /// of columns that the schema does not have, are nulls.
    ///
    /// `more`, `labels`, `seed`: as for [`write_with`](Self::write_with).
    ///
    /// # Errors
    /// As there; text that is not in UTF-8.
    pub fn record_batch(
        &self,
        more: &Dataset,
        schema: &Schema,
        labels: Labels,
        seed: u64,
    ) -> Result<RecordBatch> {
        self.check_added(more)?;
        let (mut fields, mut arrays) = (Vec::new(), Vec::new());
        for place in 0..self.header.len() {
            let (field, array) = self.column(place, schema)?;
            fields.push(Arc::new(field));
            arrays.push(array);
        }
        let added = to_record_batch(more, schema, labels, ChaCha20Rng::seed_from_u64(seed))?;
        fields.extend(added.schema().fields().iter().cloned());
        arrays.extend(added.columns().iter().cloned());
        let fields = Arc::new(ArrowSchema::new(fields));
        RecordBatch::try_new(fields, arrays).map_err(|error| {
            Error::invalid_specification(self.name.clone(), error.to_string(), "columns of rows")
        })
    }

    /// A column that was given.
    fn column(&self, place: usize, schema: &Schema) -> Result<(Field, ArrayRef)> {
        let decoded = |bytes| std::str::from_utf8(bytes).ok();
        let name = decoded(&self.header[place]).unwrap_or_default();
        let column = schema.column(name);
        let is_missing =
            |text: &str| text == schema.na_token() || (column.is_none() && text.is_empty());
        let mut texts = Vec::with_capacity(self.rows.len());
        for (row, cells) in self.rows.iter().enumerate() {
            let cell = cells.get(place).unwrap_or_default();
            let text =
                decoded(cell).ok_or_else(|| self.contradiction(row, name, "text in UTF-8"))?;
            texts.push((!is_missing(text)).then_some(text));
        }
        // Numbers and dates as they are usually written, where the schema says how they are written here.
        let plain: Option<Vec<Option<String>>> = column.and_then(bins).map(|bins| {
            let plain = |text: &str| match bins.notation() {
                Some(notation) => notation.plainly(text).unwrap_or_else(|| text.to_owned()),
                None => text.to_owned(),
            };
            texts.iter().map(|text| text.map(plain)).collect()
        });
        if let Some(plain) = &plain {
            texts = plain.iter().map(Option::as_deref).collect();
        }
        let own = column.map(|column| kind(column, Labels::Codes));
        let candidates = own.iter().map(|kind| (kind.clone(), true));
        let usual = [DataType::Int64, DataType::Float64].map(|kind| (kind, false));
        let fits = |(kind, is_own): &(DataType, bool)| {
            texts.iter().flatten().all(|text| has_type(text, kind, *is_own))
        };
        let found = candidates.chain(usual).find(fits).map_or(DataType::Utf8, |(kind, _)| kind);
        let mut builder = Builder::new(&found);
        for text in &texts {
            match text {
                Some(text) => builder.push(text),
                None => builder.null(),
            }
        }
        Ok((Field::new(name, found, true), builder.finish()))
    }
}

/// The bins of a numeric column or date.
fn bins(column: &SchemaColumn) -> Option<&Bins> {
    match &column.kind {
        Some(Kind::Numeric(bins) | Kind::Date(bins)) => Some(bins),
        _ => None,
    }
}

/// Whether a text is a value of a type. `is_own`: the schema says that the column has this type, so that it may be written in any
/// way; otherwise only as it would be written again, so that nothing is lost of `007` or `1e3`.
fn has_type(text: &str, kind: &DataType, is_own: bool) -> bool {
    match kind {
        DataType::Int64 => {
            text.parse::<i64>().is_ok_and(|number| is_own || number.to_string() == text)
        }
        DataType::Float64 => text
            .parse::<f64>()
            .is_ok_and(|number| number.is_finite() && (is_own || number.to_string() == text)),
        DataType::Date32 => days(text).is_some(),
        _ => true,
    }
}
