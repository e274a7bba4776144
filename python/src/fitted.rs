//! Models of tables of counts.

use std::path::PathBuf;
use std::sync::Arc;

use jointly::data::{Dataset, Labels, arrow::to_record_batch, write_text};
use jointly::fit::{FitJob, Fitted};
use jointly::model::Drawing;
use jointly::rand::rngs::ChaCha20Rng;
use jointly::rand::{self, Rng, SeedableRng};
use jointly::synthesis::SchemaSource;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::errors::{json, wrong};
use crate::model::Model;
use crate::release::reserved;
use crate::tables::{Schema, in_memory};
use crate::tools::described;
use crate::{process, watch};

/// A model that was fitted to tables of counts.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct FittedTables(Arc<Fitted>);

/// The settings of a fit to tables, as those of a job.
#[pyfunction]
pub(crate) fn fit_settings(py: Python<'_>) -> PyResult<String> {
    described(py, FitJob::SETTINGS, &FitJob::default())
}

/// Writes a table in memory as a file that is read under the schema.
#[pyfunction]
pub(crate) fn write_csv(
    py: Python<'_>,
    schema: &Schema,
    table: &Bound<'_, PyAny>,
    path: PathBuf,
) -> PyResult<()> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let table = in_memory(table, &name)?;
    let schema = Arc::clone(&schema.0);
    process::detached(py, || table.write_csv(&schema, &path))
}

/// Fits a model to tables of counts. `settings`: those of a fit, as JSON.
#[pyfunction]
pub(crate) fn fit_tables(
    py: Python<'_>,
    schema: &Schema,
    settings: &str,
) -> PyResult<FittedTables> {
    let settings = serde_json::from_str(settings).map_err(|error| wrong(py, "settings", error))?;
    let schema = Arc::clone(&schema.0);
    let fitted = watch::run(py, None, move |observer| {
        let job =
            FitJob { schema: SchemaSource::Value(schema), ..FitJob::from_settings(settings)? };
        job.run(observer)
    })?;
    Ok(FittedTables(Arc::new(fitted)))
}

/// Records as a table. `seed`: of the values within bins.
fn table(
    (rows, schema): &(Dataset, jointly::Schema),
    labels: bool,
    seed: u64,
) -> jointly::Result<arrow_array::RecordBatch> {
    let labels = if labels { Labels::Text } else { Labels::Codes };
    to_record_batch(rows, schema, labels, ChaCha20Rng::seed_from_u64(seed))
}

#[pymethods]
impl FittedTables {
    /// The model.
    #[getter]
    fn model(&self) -> Model {
        Model(Arc::new(self.0.model_file()))
    }

    /// How near it comes to its tables, as JSON.
    fn summary(&self, py: Python<'_>) -> PyResult<String> {
        json(py, &self.0.tables)
    }

    /// All tables with the fitted counts, as CSV.
    fn tidy(&self, py: Python<'_>) -> PyResult<String> {
        process::detached(py, || self.0.tidy())
    }

    /// Writes a page that shows how near the fit comes to each table.
    fn report(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        process::detached(py, || {
            let _reserved = reserved(&path, overwrite)?;
            write_text(&path, &self.0.page("")?)
        })
    }

    /// Draws records in which exact tables hold. Returns them, and the largest difference from an exact count.
    #[pyo3(signature = (records, seed=None, refined=true, labels=false))]
    fn sample(
        &self,
        py: Python<'_>,
        records: u64,
        seed: Option<u64>,
        refined: bool,
        labels: bool,
    ) -> PyResult<(PyTable, Option<f64>)> {
        let fitted = Arc::clone(&self.0);
        let (batch, difference) = watch::run(py, None, move |_| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
            let drawing = if refined { Drawing::Refined } else { Drawing::Independent };
            let records = usize::try_from(records).unwrap_or(usize::MAX);
            let (rows, difference) = fitted.rows(records, drawing, &mut rng)?;
            let written = (rows, fitted.schema.clone());
            Ok((table(&written, labels, rng.next_u64())?, difference))
        })?;
        let schema = batch.schema();
        Ok((PyTable::try_new(vec![batch], schema)?, difference))
    }

    /// The public records with their weights.
    #[pyo3(signature = (seed=None, labels=false))]
    fn weighted(&self, py: Python<'_>, seed: Option<u64>, labels: bool) -> PyResult<PyTable> {
        let fitted = Arc::clone(&self.0);
        let batch = watch::run(py, None, move |_| {
            let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
            table(&fitted.weighted()?, labels, rng.next_u64())
        })?;
        let schema = batch.schema();
        PyTable::try_new(vec![batch], schema)
    }
}
