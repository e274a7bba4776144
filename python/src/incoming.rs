//! Tables that are coded as they come: files, dictionaries of columns, and whatever streams.

use std::path::{Path, PathBuf};

use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::SchemaRef;
use jointly::data::arrow::{ArrowStream, ArrowTable};
use jointly::data::{
    Dataset, PartialTable, Units, read_private_arrow, read_private_csv, read_public_csv,
    read_public_units_csv,
};
use jointly::privacy::{PrivacyUnit, PrivateTable};
use jointly::synthesis::GivenSource;
use jointly::{CommonError, Error};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyIterator};
use pyo3_arrow::input::AnyRecordBatch;

use crate::tables::in_memory;

type Reader = Box<dyn RecordBatchReader + Send>;

/// A table to be coded once.
pub(crate) enum Incoming {
    File(PathBuf),
    Memory(ArrowTable),
    /// Batches, the first of which may have come already.
    Stream {
        name: String,
        schema: SchemaRef,
        parts: Parts,
    },
}

/// The batches of a reader, and of an iterator's parts after it.
pub(crate) struct Parts {
    name: String,
    reader: Option<Reader>,
    rest: Option<Py<PyIterator>>,
}

impl Incoming {
    /// A path, something that exports Arrow, a dictionary of columns, or an iterator of the latter two. `name`: of a table that
    /// is no file.
    pub(crate) fn new(table: &Bound<'_, PyAny>, name: &str) -> PyResult<Self> {
        if let Ok(path) = table.extract::<PathBuf>() {
            return Ok(Self::File(path));
        }
        if table.cast::<PyDict>().is_ok() {
            return Ok(Self::Memory(in_memory(table, name)?));
        }
        let (reader, rest) = match table.cast::<PyIterator>() {
            // A reader of pyarrow is both.
            Ok(parts) if !table.hasattr("__arrow_c_stream__")? => {
                let mut parts = parts.clone();
                let first = parts.next().ok_or_else(|| {
                    PyValueError::new_err(format!("{name} is an iterator without parts"))
                })??;
                (reader(&first, name)?, Some(parts.unbind()))
            }
            _ => (reader(table, name)?, None),
        };
        let schema = reader.schema();
        let name = name.to_owned();
        let parts = Parts { name: name.clone(), reader: Some(reader), rest };
        Ok(Self::Stream { name, schema, parts })
    }

    /// Its file, if it is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(path) => Some(path),
            _ => None,
        }
    }

    /// Codes and seals the private table.
    pub(crate) fn private(
        self,
        schema: &jointly::Schema,
        unit: &PrivacyUnit,
    ) -> jointly::Result<PrivateTable> {
        match self {
            Self::File(path) => read_private_csv(&path, schema, unit),
            Self::Memory(table) => read_private_arrow(&table, schema, unit),
            Self::Stream { name, schema: columns, parts } => {
                read_private_arrow(ArrowStream::new(name, columns, parts), schema, unit)
            }
        }
    }

    /// Rows to complete. A file is read by the job.
    pub(crate) fn given(
        self,
        schema: &jointly::Schema,
        keep: &[String],
        unit: Option<&str>,
    ) -> jointly::Result<GivenSource> {
        let stream = match self {
            Self::File(path) => return Ok(path.into()),
            Self::Memory(table) => ArrowStream::from(&table),
            Self::Stream { name, schema: columns, parts } => ArrowStream::new(name, columns, parts),
        };
        Ok(PartialTable::read_arrow(stream, schema, keep, unit)?.into())
    }

    /// Codes a public table. `units`: those that rows come as.
    pub(crate) fn public(
        self,
        schema: &jointly::Schema,
        units: Option<&Units>,
    ) -> jointly::Result<Dataset> {
        let stream = match self {
            Self::File(path) => {
                return match units {
                    Some(units) => read_public_units_csv(&path, schema, units),
                    None => read_public_csv(&path, schema),
                };
            }
            Self::Memory(table) => ArrowStream::from(&table),
            Self::Stream { name, schema: columns, parts } => ArrowStream::new(name, columns, parts),
        };
        match units {
            Some(units) => stream.read_public_units(schema, units),
            None => stream.read_public(schema),
        }
    }
}

/// The batches of a frame, or of a dictionary of columns.
fn reader(part: &Bound<'_, PyAny>, name: &str) -> PyResult<Reader> {
    if part.cast::<PyDict>().is_ok() {
        let table = in_memory(part, name)?;
        let batches: Vec<RecordBatch> = table.batches().to_vec();
        let empty = || SchemaRef::new(arrow_schema::Schema::empty());
        let schema = batches.first().map_or_else(empty, RecordBatch::schema);
        let batches = batches.into_iter().map(Ok);
        return Ok(Box::new(arrow_array::RecordBatchIterator::new(batches, schema)));
    }
    part.extract::<AnyRecordBatch>()?.into_reader()
}

impl Iterator for Parts {
    type Item = jointly::Result<RecordBatch>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(batch) = self.reader.as_mut()?.next() {
                return Some(batch.map_err(|error| self.unreadable(&error.to_string())));
            }
            self.reader = None;
            // An iterator of Python's is asked with the interpreter's lock, which the caller has given away.
            let next = Python::attach(|py| {
                let mut rest = self.rest.as_ref()?.bind(py).clone();
                Some(rest.next()?.and_then(|part| reader(&part, &self.name)))
            });
            match next? {
                Ok(reader) => self.reader = Some(reader),
                Err(error) => return Some(Err(self.unreadable(&error.to_string()))),
            }
        }
    }
}

impl Parts {
    fn unreadable(&self, found: &str) -> Error {
        let expected = "parts that can be read, to the last one".to_owned();
        let (place, found) = (self.name.clone(), found.to_owned());
        CommonError::InvalidSpecification { place, found, expected }.into()
    }
}
