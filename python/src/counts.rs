//! Counting a table part by part, wherever Python runs.

use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

use arrow_array::RecordBatch;
use jointly::data::CountedParts;
use jointly::observe::Silent;
use jointly::synthesis::CountJob;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3_arrow::input::AnyRecordBatch;

use crate::errors::{Raise, wrong};
use crate::process;
use crate::release::reserved;
use crate::tables::{Schema, in_memory};

/// What to count.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct CountPlan(jointly::data::CountPlan);

#[pymethods]
impl CountPlan {
    /// The plan of a job with these settings, as JSON.
    #[staticmethod]
    fn of_job(py: Python<'_>, schema: &Schema, settings: &str) -> PyResult<Self> {
        let settings =
            serde_json::from_str(settings).map_err(|error| wrong(py, "settings", error))?;
        let mut job = CountJob::from_settings(settings).raise(py)?;
        job.schema = jointly::Schema::clone(&schema.0).into();
        Ok(Self(process::detached(py, || job.plan(&mut Silent))?))
    }

    /// A plan that `to_json` wrote.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let plan = process::detached(py, || jointly::data::CountPlan::from_json(text, "plan"))?;
        Ok(Self(plan))
    }

    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        self.0.to_json().raise(py)
    }

    /// Number of cells of a counter.
    #[getter]
    fn cells(&self) -> u64 {
        self.0.cells()
    }

    /// The attributes of the schema.
    #[getter]
    fn attributes(&self) -> Vec<String> {
        self.0.domain().attributes().iter().map(|attribute| attribute.name.clone()).collect()
    }

    /// The marginals, as names of attributes.
    #[getter]
    fn cliques(&self) -> Vec<Vec<String>> {
        let domain = self.0.domain();
        let names = |clique: &jointly::domain::Clique| {
            clique.iter().map(|attribute| domain.name(attribute).to_owned()).collect()
        };
        self.0.cliques().iter().map(names).collect()
    }

    /// A counter that has counted nothing.
    fn counter(&self) -> Counter {
        Counter(Mutex::new(self.0.counter()))
    }
}

/// What was counted of a table. It is as private as the records.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Counter(Mutex<jointly::data::Counter>);

impl Counter {
    fn counter(&self) -> MutexGuard<'_, jointly::data::Counter> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The counts of a whole table of this name.
    ///
    /// # Errors
    /// Rows that did not fit the schema.
    pub(crate) fn counts(&self, name: &str) -> jointly::Result<CountedParts> {
        CountedParts::of_counter(self.counter().clone(), name)
    }
}

#[pymethods]
impl Counter {
    /// Counts the rows of anything that exports Arrow, batch by batch as they come, or of a dictionary of columns.
    fn update(&self, py: Python<'_>, table: &Bound<'_, PyAny>) -> PyResult<()> {
        if table.cast::<PyDict>().is_ok() {
            for batch in in_memory(table, "table")?.batches() {
                self.count(py, batch)?;
            }
            return Ok(());
        }
        // The next batch of a stream may need the interpreter, so it is asked for with its lock.
        for batch in table.extract::<AnyRecordBatch>()?.into_reader()? {
            let batch = batch.map_err(|error| wrong(py, "table", error))?;
            self.count(py, &batch)?;
        }
        Ok(())
    }

    /// Adds what another counter of the same plan has counted.
    fn merge(&self, py: Python<'_>, state: &[u8]) -> PyResult<()> {
        process::detached(py, || self.counter().merge(state))
    }

    /// What was counted, for `merge`.
    fn state<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let state = process::detached(py, || self.counter().state())?;
        Ok(PyBytes::new(py, &state))
    }

    /// Number of records.
    #[getter]
    fn records(&self) -> u64 {
        self.counter().records()
    }

    /// Writes the counts as a file for a run.
    #[pyo3(signature = (path, name, overwrite, as_public=false))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        name: &str,
        overwrite: bool,
        as_public: bool,
    ) -> PyResult<()> {
        process::detached(py, || {
            let _reserved = reserved(&path, overwrite)?;
            // Rows that do not fit are refused here, and not by a later run.
            let counts = self.counts(name)?;
            let mut counts = if as_public { counts.of_public_table()? } else { counts };
            counts.write(&path)
        })
    }
}

impl Counter {
    fn count(&self, py: Python<'_>, batch: &RecordBatch) -> PyResult<()> {
        process::detached(py, || self.counter().update_batch(batch))
    }
}
