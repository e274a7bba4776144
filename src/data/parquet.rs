//! Parquet files.

use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::mem;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter as FileWriter;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;

use crate::data::arrow::Batches;
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
