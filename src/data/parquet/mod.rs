//! Parquet files.

mod delta;
mod sizes;
mod thrift;
mod writer;

use std::fs::File;
use std::io::{Empty, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatchReader;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::reader::ChunkReader;

use self::sizes::checked_metadata;
pub(super) use self::writer::ParquetWriter;
use crate::data::arrow::{ArrowRows, Batches};
use crate::data::contained::BinaryFile;
use crate::data::is_standard_input;
use crate::data::raw_table::{Binary, PARQUET, RawTable};
use crate::domain;
use crate::error::{Error, Result};

/// Rows of a batch.
const ROWS: usize = 8192;

/// The columns and the batches of a file. The bytes of a pipe are kept in memory.
pub(super) fn batches(path: &Path, file: Binary) -> Result<(SchemaRef, Batches)> {
    let reader = match file {
        Binary::File(file) => open(path, file)?,
        Binary::Pipe(bytes) => open(path, bytes::Bytes::from(bytes))?,
    };
    Ok((reader.schema(), parquet(path).batches(reader)))
}

/// A Parquet file.
fn parquet(path: &Path) -> BinaryFile<'_> {
    BinaryFile { path, form: "Parquet" }
}

fn open<S: ChunkReader + 'static>(path: &Path, source: S) -> Result<ParquetRecordBatchReader> {
    parquet(path).reading(|| {
        let metadata = with_dictionaries(&checked_metadata(&source)?)?;
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(source, metadata);
        builder.with_batch_size(ROWS).build().map_err(described)
    })
}

/// The same file, with its texts read as dictionaries, so that each distinct one is coded once. Files keep most texts so.
fn with_dictionaries(
    metadata: &ArrowReaderMetadata,
) -> std::result::Result<ArrowReaderMetadata, String> {
    let kind = |field: &Arc<Field>| match field.data_type() {
        texts @ (DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            let texts = if texts == &DataType::Utf8View { &DataType::Utf8 } else { texts };
            let kind = DataType::Dictionary(Box::new(DataType::Int32), Box::new(texts.clone()));
            Arc::new(field.as_ref().clone().with_data_type(kind))
        }
        _ => Arc::clone(field),
    };
    let own = metadata.schema();
    let fields: Vec<Arc<Field>> = own.fields().iter().map(kind).collect();
    let schema = Arc::new(Schema::new_with_metadata(fields, own.metadata().clone()));
    let options = ArrowReaderOptions::new().with_schema(schema);
    ArrowReaderMetadata::try_new(Arc::clone(metadata.metadata()), options).map_err(described)
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn described(error: ParquetError) -> String {
    error.to_string()
}

/// The row groups of a file, each of which can be read by itself.
pub(super) struct RowGroups {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// Rows before each group.
    before: Vec<u64>,
}

impl RowGroups {
    /// Those of the files of one table; `None` if one of them has none that can be read by themselves.
    ///
    /// # Errors
    /// As [`open`](Self::open); a file with other columns than the first one.
    pub(super) fn of_files(paths: &[PathBuf]) -> Result<Option<Vec<Self>>> {
        let mut files: Vec<Self> = Vec::with_capacity(paths.len());
        for path in paths {
            let Some(file) = Self::open(path)? else { return Ok(None) };
            if let Some(first) = files.first().filter(|first| first.names() != file.names()) {
                let found = format!("columns {}", file.names().join(", "));
                let expected =
                    format!("{}, as in {}", first.names().join(", "), first.path.display());
                return Err(Error::invalid_specification(
                    path.display().to_string(),
                    found,
                    expected,
                ));
            }
            files.push(file);
        }
        Ok(Some(files))
    }

    fn names(&self) -> Vec<&str> {
        self.metadata.schema().fields().iter().map(|field| field.name().as_str()).collect()
    }

    /// `None` for anything but a regular Parquet file with row groups.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged.
    pub(super) fn open(path: &Path) -> Result<Option<Self>> {
        let unread = |source| Error::Io { action: "read", path: path.into(), source };
        if is_standard_input(path) || !path.metadata().map_err(unread)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path).map_err(unread)?;
        let mut start = Vec::with_capacity(PARQUET.len());
        (&file).take(PARQUET.len() as u64).read_to_end(&mut start).map_err(unread)?;
        if start != PARQUET {
            return Ok(None);
        }
        let metadata = parquet(path).reading(|| with_dictionaries(&checked_metadata(&file)?))?;
        let rows = metadata.metadata().row_groups().iter().map(RowGroupMetaData::num_rows);
        let mut sum = 0_u64;
        let before: Vec<u64> = rows
            .map(|rows| {
                let before = sum;
                sum = sum.saturating_add(u64::try_from(rows).unwrap_or(0));
                before
            })
            .collect();
        Ok((!before.is_empty()).then(|| Self { path: path.into(), metadata, before }))
    }

    /// Number of groups.
    pub(super) fn len(&self) -> usize {
        self.before.len()
    }

    /// The rows of some groups; only the columns of the schema are decoded. Rows are numbered as in the file.
    ///
    /// # Errors
    /// A file that cannot be read, or is damaged; a column name twice.
    pub(super) fn rows(
        &self,
        groups: Range<usize>,
        schema: &domain::Schema,
    ) -> Result<RawTable<Empty>> {
        let unread = |source| Error::Io { action: "read", path: self.path.clone(), source };
        // Every reader moves in a file of its own.
        let file = File::open(&self.path).map_err(unread)?;
        let metadata = self.metadata.clone();
        let fields = metadata.schema().fields().iter().enumerate();
        let is_wanted = |name: &str| schema.attributes().any(|attribute| attribute.name == name);
        let wanted: Vec<usize> =
            fields.filter(|(_, field)| is_wanted(field.name())).map(|(at, _)| at).collect();
        let row = self.before.get(groups.start).copied().unwrap_or_default();
        let reader = parquet(&self.path).reading(|| {
            let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
            let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
            let builder = builder.with_projection(mask).with_row_groups(groups.collect());
            builder.with_batch_size(ROWS).build().map_err(described)
        })?;
        let (columns, batches) = (reader.schema(), parquet(&self.path).batches(reader));
        let (missing, trim) = (schema.na_token(), schema.table().trim);
        let rows = ArrowRows::new(&columns, batches, missing, trim).after(row);
        RawTable::of_rows(&self.path.display().to_string(), rows)
    }
}
