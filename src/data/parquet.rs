//! Parquet files.

use std::fs::File;
use std::io::{self, Empty, Read, Seek, Write};
use std::mem;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter as FileWriter;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::RowGroupMetaData;
use parquet::file::properties::WriterProperties;

use crate::data::arrow::{ArrowRows, Batches};
use crate::data::is_standard_input;
use crate::data::raw_table::{PARQUET, RawTable};
use crate::domain::Schema;
use crate::error::{Error, Result};

/// Rows of a batch.
const ROWS: usize = 8192;

/// The columns and the batches of a file whose first four bytes have been read. The bytes of a pipe are kept in memory.
pub(super) fn batches(path: &Path, mut file: File) -> Result<(SchemaRef, Batches)> {
    let unread = |source| Error::Io { action: "read", path: path.into(), source };
    let (schema, reader) = if file.metadata().map_err(unread)?.is_file() {
        file.rewind().map_err(unread)?;
        let opened = ParquetRecordBatchReaderBuilder::try_new(file);
        open(
            path,
            opened.map(|builder| (builder.schema().clone(), builder.with_batch_size(ROWS).build())),
        )?
    } else {
        let mut bytes = b"PAR1".to_vec();
        file.read_to_end(&mut bytes).map_err(unread)?;
        let opened = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes));
        open(
            path,
            opened.map(|builder| (builder.schema().clone(), builder.with_batch_size(ROWS).build())),
        )?
    };
    let path = path.to_owned();
    let damaged = move |error: arrow_schema::ArrowError| wrong(&path, error.to_string());
    Ok((schema, Box::new(reader.map(move |batch| batch.map_err(&damaged)))))
}

type Opened = (SchemaRef, std::result::Result<ParquetRecordBatchReader, ParquetError>);

fn open(
    path: &Path,
    opened: std::result::Result<Opened, ParquetError>,
) -> Result<(SchemaRef, ParquetRecordBatchReader)> {
    let damaged = |error: ParquetError| wrong(path, error.to_string());
    let (schema, reader) = opened.map_err(damaged)?;
    Ok((schema, reader.map_err(damaged)?))
}

/// The row groups of a file, each of which can be read by itself.
pub(super) struct RowGroups {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// Rows before each group.
    before: Vec<u64>,
}

impl RowGroups {
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
        let metadata = ArrowReaderMetadata::load(&file, ArrowReaderOptions::default());
        let metadata = metadata.map_err(|error| wrong(path, error.to_string()))?;
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
    pub(super) fn rows(&self, groups: Range<usize>, schema: &Schema) -> Result<RawTable<Empty>> {
        let unread = |source| Error::Io { action: "read", path: self.path.clone(), source };
        // Every reader moves in a file of its own.
        let file = File::open(&self.path).map_err(unread)?;
        let metadata = self.metadata.clone();
        let fields = metadata.schema().fields().iter().enumerate();
        let is_wanted = |name: &str| schema.attributes().any(|attribute| attribute.name == name);
        let wanted: Vec<usize> =
            fields.filter(|(_, field)| is_wanted(field.name())).map(|(at, _)| at).collect();
        let row = self.before.get(groups.start).copied().unwrap_or_default();
        let builder = ParquetRecordBatchReaderBuilder::new_with_metadata(file, metadata);
        let mask = ProjectionMask::roots(builder.parquet_schema(), wanted);
        let reader = builder
            .with_projection(mask)
            .with_row_groups(groups.collect())
            .with_batch_size(ROWS)
            .build()
            .map_err(|error| wrong(&self.path, error.to_string()))?;
        let (columns, path) = (reader.schema(), self.path.clone());
        let batches = reader.map(move |batch| batch.map_err(|e| wrong(&path, e.to_string())));
        let (missing, trim) = (schema.na_token(), schema.table().trim);
        let rows = ArrowRows::new(&columns, Box::new(batches), missing, trim).after(row);
        RawTable::of_rows(&self.path.display().to_string(), rows)
    }
}

/// The error of a file that is not as it should be.
fn wrong(path: &Path, reason: String) -> Error {
    let source = io::Error::new(io::ErrorKind::InvalidData, reason);
    Error::Io { action: "read", path: path.into(), source }
}

/// Writes batches to a Parquet file, compressed by Snappy.
pub(super) struct ParquetWriter {
    writer: FileWriter<Shared>,
    written: Shared,
}

/// Bytes that are passed on as soon as a row group is complete.
#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Shared {
    fn drain(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl ParquetWriter {
    pub(super) fn new(schema: SchemaRef) -> io::Result<Self> {
        let written = Shared::default();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = FileWriter::try_new(written.clone(), schema, Some(properties));
        Ok(Self { writer: writer.map_err(io::Error::other)?, written })
    }

    pub(super) fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        self.writer.write(batch).map_err(io::Error::other)?;
        self.written.drain(out)
    }

    pub(super) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        self.writer.close().map_err(io::Error::other)?;
        self.written.drain(out)
    }
}
