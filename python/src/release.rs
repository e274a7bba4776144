//! Runs and their releases.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::RecordBatch;
use jointly::Job;
use jointly::data::arrow::to_record_batch;
use jointly::data::{Dataset, Labels, UnitTable, Units, write_text};
use jointly::model::ModelFile;
use jointly::privacy::LedgerFile;
use jointly::rand::rngs::ChaCha20Rng;
use jointly::rand::{Rng, SeedableRng};
use jointly::synthesis::{
    Existing, PrivateSource, PublicTable, ReservedOutputs, Synthesized, check_public_files,
    reserve_files,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use serde_json::Value;

use crate::errors::{Raise, json, wrong};
use crate::model::Model;
use crate::process;
use crate::tables::{Given, PrivateRows, Rows, Schema};
use crate::watch;

/// A finished run. It holds no private records.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Release {
    job: Job,
    done: Synthesized,
}

/// Runs a job on tables that are already coded. `keep`: gets the release, before an exception is raised that came before its end.
#[pyfunction]
#[pyo3(signature = (schema, settings, label, overwrite, private, public, complete, keep, listener=None))]
#[expect(clippy::too_many_arguments, reason = "of one call from Python")]
pub(crate) fn fit(
    py: Python<'_>,
    schema: &Schema,
    settings: &str,
    label: String,
    overwrite: bool,
    private: &PrivateRows,
    public: Vec<(String, PyRef<'_, Rows>)>,
    complete: Option<PyRef<'_, Given>>,
    keep: &Bound<'_, PyAny>,
    listener: Option<&Bound<'_, PyAny>>,
) -> PyResult<()> {
    let settings = serde_json::from_str(settings).map_err(|error| wrong(py, "settings", error))?;
    let mut job = Job::from_settings(settings).raise(py)?;
    if let Some(file) = private.file() {
        let known = public.iter().filter_map(|(_, rows)| rows.file());
        let completed = complete.as_ref().and_then(|given| given.0.file());
        check_public_files(file, known.chain(completed)).raise(py)?;
    }
    job.private = private.source(label);
    job.schema = jointly::Schema::clone(&schema.0).into();
    job.public = public
        .into_iter()
        .map(|(name, rows)| PublicTable { name, source: rows.source() })
        .collect();
    job.complete = complete.map(|given| given.0.clone());
    if overwrite {
        job.existing = Existing::Replaced;
    }
    let outcome = watch::keeping(py, listener, move |observer| {
        let done = job.fit(observer)?;
        // The private table is not kept.
        job.private = PrivateSource::default();
        Ok((job, done))
    })?;
    let (found, exception) = match outcome {
        watch::Outcome::Done(found) => (found, None),
        watch::Outcome::DoneBefore(found, exception) => (found, Some(exception)),
    };
    let (job, done) = found;
    keep.call1((Release { job, done },))?;
    exception.map_or(Ok(()), Err)
}

/// Locks a file to write, which may exist only if it may be replaced.
pub(crate) fn reserved(path: &Path, overwrite: bool) -> jointly::Result<ReservedOutputs> {
    let existing = if overwrite { Existing::Replaced } else { Existing::Refused };
    reserve_files(&[], &[("path", path)], existing)
}

impl Release {
    /// The units that rows come as, if they do.
    fn linked(&self) -> Option<Units> {
        let unit = self.job.privacy_unit().ok()?;
        unit.units().filter(|units| units.agree().is_some()).cloned()
    }
}

#[pymethods]
impl Release {
    /// The model.
    #[getter]
    fn model(&self) -> Model {
        let file = self.done.tables.model_file(&self.done.release);
        Model(Arc::new(ModelFile { linked: self.linked(), ..file }))
    }

    /// How many records are drawn where nobody says how many: of a population as many as its sample has.
    #[getter]
    fn usual_records(&self) -> u64 {
        let population = self.done.release.population.as_ref();
        population.map_or(self.done.release.records() as u64, |population| population.sampled)
    }

    /// The records that were drawn by the run; their errors were measured if that was requested.
    #[pyo3(signature = (labels=false))]
    fn released(&self, py: Python<'_>, labels: bool) -> PyResult<PyTable> {
        let labels = if labels { Labels::Text } else { Labels::Codes };
        let (done, linked) = (&self.done, self.linked());
        let made = process::detached(py, || {
            if let Some(given) = &done.tables.completed {
                return given.record_batch(&done.rows, &done.written, labels, done.value_seed);
            }
            let mut values = ChaCha20Rng::seed_from_u64(done.value_seed);
            let (Some(units), Some(numbers)) = (&linked, &done.units) else {
                return to_record_batch(&done.rows, &done.written, labels, values);
            };
            let (rows, schema) = UnitTable { rows: &done.rows, numbers, units }
                .with_numbers(&done.written, &mut values)?;
            let values = ChaCha20Rng::seed_from_u64(values.next_u64());
            to_record_batch(&rows, &schema, labels, values)
        });
        table(made?)
    }

    /// Replicates of the released records, in order.
    #[pyo3(signature = (number, listener=None))]
    fn replicates(
        &self,
        py: Python<'_>,
        number: u32,
        listener: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Vec<PyTable>> {
        let batches = watch::run(py, listener, |observer| {
            let mut batches = Vec::new();
            let mut each = |_, rows: Dataset, seed| {
                let values = ChaCha20Rng::seed_from_u64(seed);
                batches.push(to_record_batch(&rows, &self.done.written, Labels::Codes, values)?);
                Ok(())
            };
            self.job.replicates(&self.done, number, &mut each, observer)?;
            Ok(batches)
        })?;
        batches.into_iter().map(table).collect()
    }

    /// The ledger file's text.
    fn ledger(&self, py: Python<'_>) -> PyResult<String> {
        let file = self.job.ledger_file(&self.done.tables, &self.done.release).raise(py)?;
        json(py, &file)
    }

    /// The measurements, as JSON, with names of attributes.
    fn measurements(&self, py: Python<'_>) -> PyResult<String> {
        let domain = self.done.release.model.domain();
        let named: Vec<Value> = self
            .done
            .release
            .measurements
            .iter()
            .map(|m| {
                let names: Vec<&str> = m.clique.iter().map(|a| domain.name(a)).collect();
                serde_json::json!({
                    "attributes": names, "cell": m.cell, "values": m.values, "stddev": m.stddev,
                    "source": match &m.provenance {
                        jointly::measurement::Provenance::Public { source } => Some(source),
                        jointly::measurement::Provenance::Private => None,
                    },
                })
            })
            .collect();
        json(py, &named)
    }

    /// Writes the page about the run and the records of `fit`, or about as many others as `rows`.
    fn report(&self, py: Python<'_>, path: PathBuf, rows: usize, overwrite: bool) -> PyResult<()> {
        process::detached(py, || {
            let _reserved = reserved(&path, overwrite)?;
            let text = self.job.page(&self.done, rows)?;
            write_text(&path, &text)
        })
    }

    fn __reduce__(&self) -> PyResult<()> {
        Err(PyTypeError::new_err(
            "pickle jointly_dp.Release, which keeps the model, the ledger and the measurements",
        ))
    }
}

/// A table of one batch.
fn table(batch: RecordBatch) -> PyResult<PyTable> {
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)
}

/// Reads a ledger, and recomputes the sum of its entries: spent ρ, limit, and whether it is private.
pub(crate) fn read_ledger(text: &str) -> jointly::Result<(f64, f64, bool)> {
    let file = LedgerFile::from_json(text, "ledger")?;
    Ok((file.ledger.spent().to_f64(), file.ledger.limit().to_f64(), file.private))
}
