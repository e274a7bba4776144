//! Parquet files, written batch by batch.

use std::io::{self, Write};
use std::mem;
use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use parquet::arrow::ArrowWriter as FileWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

/// Writes batches to a Parquet file, compressed by Snappy.
pub(crate) struct ParquetWriter {
    writer: FileWriter<SharedBuffer>,
    written: SharedBuffer,
}

/// Bytes that are passed on as soon as a row group is complete.
#[derive(Clone, Default)]
struct SharedBuffer(Arc<Mutex<Vec<u8>>>);

impl Write for SharedBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl SharedBuffer {
    fn drain(&self, out: &mut dyn Write) -> io::Result<()> {
        let bytes = mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        out.write_all(&bytes)
    }
}

impl ParquetWriter {
    pub(crate) fn new(schema: SchemaRef) -> io::Result<Self> {
        let written = SharedBuffer::default();
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let writer = FileWriter::try_new(written.clone(), schema, Some(properties));
        Ok(Self { writer: writer.map_err(io::Error::other)?, written })
    }

    pub(crate) fn write(&mut self, batch: &RecordBatch, out: &mut dyn Write) -> io::Result<()> {
        self.writer.write(batch).map_err(io::Error::other)?;
        self.written.drain(out)
    }

    pub(crate) fn finish(self, out: &mut dyn Write) -> io::Result<()> {
        self.writer.close().map_err(io::Error::other)?;
        self.written.drain(out)
    }
}
