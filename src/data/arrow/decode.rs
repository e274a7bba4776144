//! Codes back to Arrow arrays, with the values that a CSV file would have.

use std::sync::Arc;

use arrow_array::builder::{
    ArrayBuilder, Date32Builder, Float64Builder, Int64Builder, StringBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema as ArrowSchema, SchemaRef};
use rand::rngs::ChaCha20Rng;

use crate::data::decode::{Decoder, decoders};
use crate::data::{Column, Dataset, Labels};
use crate::domain::{Domain, Group, Kind, Schema, SchemaColumn, days, texts};
use crate::error::{Error, Result};

/// Turns tables over one domain into record batches. The types are those of the schema, whatever the rows:
///
/// | column | type |
/// | --- | --- |
/// | categorical, all codes whole numbers as they are usually written (`1`, `-7`; not `01`) | 64-bit integer |
/// | any other categorical column, or labels | text |
/// | numeric | 64-bit integer if its values are whole, else 64-bit float |
/// | date | 32-bit date |
/// | coded | 64-bit integer |
///
/// A column is nullable if the schema allows missing values in it, and then these are nulls.
pub struct ArrowWriter<'s> {
    schema: &'s Schema,
    labels: Labels,
    rng: ChaCha20Rng,
    fields: SchemaRef,
}

impl<'s> ArrowWriter<'s> {
    /// For tables over `domain`. Numbers inside bins are drawn with `rng`, in the order in which
    /// [`write_csv`](crate::data::write_csv) draws them.
    ///
    /// # Errors
    /// An attribute that the schema does not have.
    pub fn new(
        domain: &Domain,
        schema: &'s Schema,
        labels: Labels,
        rng: ChaCha20Rng,
    ) -> Result<Self> {
        let field = |name: &String| {
            let column = schema.column(name);
            let unknown = || schema.domain().unknown(name, "the table to be written");
            let column = column.ok_or_else(unknown)?;
            Ok(Field::new(name, kind(column, labels), column.na))
        };
        let attributes = domain.attributes().iter();
        let fields = attributes.map(|attribute| field(&attribute.name)).collect::<Result<Vec<_>>>();
        Ok(Self { schema, labels, rng, fields: Arc::new(ArrowSchema::new(fields?)) })
    }

    /// The columns.
    pub fn schema(&self) -> SchemaRef {
        self.fields.clone()
    }

    /// The next records.
    ///
    /// # Errors
    /// A table over another domain.
    pub fn batch(&mut self, table: &Dataset) -> Result<RecordBatch> {
        let decoders = decoders(table, self.schema, self.labels)?;
        let missing = table.domain().attributes().iter().map(|attribute| {
            self.schema.column(&attribute.name).and_then(SchemaColumn::na_code).unwrap_or(u32::MAX)
        });
        let missing: Vec<u32> = missing.collect();
        let kinds = self.fields.fields().iter().map(|field| field.data_type());
        let mut builders: Vec<Builder> = kinds.map(Builder::new).collect();
        let mut drawn = String::new();
        for record in 0..table.records() {
            let columns = table.columns().iter().zip(&decoders).zip(&missing).zip(&mut builders);
            for (((column, decoder), missing), builder) in columns {
                let code = Column::get(column, record).unwrap_or(0);
                if code == *missing {
                    builder.null();
                } else {
                    builder.push(Decoder::plain(decoder, code, &mut drawn, &mut self.rng));
                }
            }
        }
        let arrays = builders.into_iter().map(Builder::finish).collect();
        RecordBatch::try_new(self.fields.clone(), arrays).map_err(|error| {
            Error::invalid_specification("table to be written", error.to_string(), "the schema's")
        })
    }
}

/// A table as one record batch; see [`ArrowWriter`].
///
/// # Errors
/// An attribute of the table that the schema does not have with the same number of values.
pub fn to_record_batch(
    table: &Dataset,
    schema: &Schema,
    labels: Labels,
    rng: ChaCha20Rng,
) -> Result<RecordBatch> {
    ArrowWriter::new(table.domain(), schema, labels, rng)?.batch(table)
}

/// The type of a column.
pub(in crate::data) fn kind(column: &SchemaColumn, labels: Labels) -> DataType {
    match &column.kind {
        Some(Kind::Categorical { labels: own, groups, .. })
            if labels == Labels::Text
                && (own.is_some() || groups.iter().any(Group::has_labels)) =>
        {
            DataType::Utf8
        }
        Some(Kind::Categorical { codes, groups, .. }) => {
            let is_whole = |(text, _): (&str, u32)| {
                text.parse::<i64>().is_ok_and(|number| number.to_string() == text)
            };
            if texts(codes, groups).all(is_whole) { DataType::Int64 } else { DataType::Utf8 }
        }
        Some(Kind::Numeric(bins)) if !bins.is_integer() => DataType::Float64,
        Some(Kind::Date(_)) => DataType::Date32,
        _ => DataType::Int64,
    }
}

/// A column in the making.
pub(in crate::data) enum Builder {
    Whole(Int64Builder),
    Number(Float64Builder),
    Day(Date32Builder),
    Text(StringBuilder),
}

impl Builder {
    pub(in crate::data) fn new(kind: &DataType) -> Self {
        match kind {
            DataType::Int64 => Self::Whole(Int64Builder::new()),
            DataType::Float64 => Self::Number(Float64Builder::new()),
            DataType::Date32 => Self::Day(Date32Builder::new()),
            _ => Self::Text(StringBuilder::new()),
        }
    }

    /// Appends the value that a decoder has written.
    pub(in crate::data) fn push(&mut self, text: &str) {
        match self {
            Self::Whole(values) => values.append_option(text.parse().ok()),
            Self::Number(values) => values.append_option(text.parse().ok()),
            Self::Day(values) => values.append_option(days(text)),
            Self::Text(values) => values.append_value(text),
        }
    }

    pub(in crate::data) fn null(&mut self) {
        match self {
            Self::Whole(values) => values.append_null(),
            Self::Number(values) => values.append_null(),
            Self::Day(values) => values.append_null(),
            Self::Text(values) => values.append_null(),
        }
    }

    pub(in crate::data) fn finish(self) -> ArrayRef {
        match self {
            Self::Whole(mut values) => ArrayBuilder::finish(&mut values),
            Self::Number(mut values) => ArrayBuilder::finish(&mut values),
            Self::Day(mut values) => ArrayBuilder::finish(&mut values),
            Self::Text(mut values) => ArrayBuilder::finish(&mut values),
        }
    }
}
