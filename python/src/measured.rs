//! Models of given measurements.

use std::sync::Arc;

use jointly::Error;
use jointly::domain::{Clique, Domain};
use jointly::estimation::{
    AcceleratedBregman, Estimate, Estimator, EstimatorKind, MarginalLoss, SquaredLoss, Stopping,
    Weighting,
};
use jointly::inference::{BeliefPropagation, Interruptible};
use jointly::measurement::{Measurement, Provenance};
use jointly::model::{MarkovRandomField, ModelFile};
use jointly::observe::SharedObserver;
use jointly::table::{CliqueLayout, Potentials};
use pyo3::prelude::*;

use crate::cell_loss::CellLoss;
use crate::errors::json;
use crate::model::{Model, turned};
use crate::tables::Schema;
use crate::watch;

/// A measurement: names of attributes, counts in the order of these names, standard deviation; and the precision `1/σ²` of
/// each count, where they differ. A precision of 0 is a count that was not measured.
type Given = (Vec<String>, Vec<f64>, f64, Option<Vec<f64>>);

/// Log-potentials: names of attributes, and a table in the order of these names.
type Start = Vec<(Vec<String>, Vec<f64>)>;

/// The measurements in the domain's order.
struct Measurements {
    whole: Vec<Measurement>,
    /// The precisions of each, if any measurement has its own for each count.
    precisions: Option<Vec<Vec<f64>>>,
    /// The number of records that they stand for on average.
    average: Option<f64>,
}

/// Fits a model to measurements.
///
/// `total`: number of records; `None`: what the measurements say on average, weighted by their precision. `is_private`: what
/// the model says of itself. `tolerance`: the fit ends when the loss falls by less than this share of itself over 25
/// iterations; `None`: when it agrees with the measurements. `warm_start`: potentials to start from.
#[pyfunction]
#[pyo3(signature = (schema, measurements, total=None, iterations=1000, is_private=false, tolerance=None, warm_start=vec![]))]
pub(crate) fn fit_measurements(
    py: Python<'_>,
    schema: &Schema,
    measurements: Vec<Given>,
    total: Option<f64>,
    iterations: u32,
    is_private: bool,
    tolerance: Option<f64>,
    warm_start: Start,
) -> PyResult<(Model, String)> {
    let schema = Arc::clone(&schema.0);
    let (file, report) = watch::run(py, None, move |observer| {
        let domain = schema.domain();
        let measured = Measurements::new(&domain, &measurements)?;
        let none = || Error::invalid_specification("measurements", "none", "at least one");
        let total = total.or(measured.average).ok_or_else(none)?;
        let cliques: Vec<Clique> = measured.whole.iter().map(|m| m.clique.clone()).collect();
        let layout = CliqueLayout::new(&domain, cliques.iter().cloned())?;
        let start = start(&domain, &layout, &warm_start)?;
        let oracle = BeliefPropagation::new(&domain, &layout);
        let observer = SharedObserver::new(observer);
        let watched = Interruptible { oracle: &oracle, checks: &observer };
        let stopping = match tolerance {
            Some(relative_decrease) => {
                Stopping { relative_decrease, ..Stopping::after(iterations) }
            }
            None => Stopping::default().at_most(iterations),
        };
        let (potentials, loss, oracle_calls) = if cliques.is_empty() {
            (Potentials::zeros(&layout), 0.0, 0)
        } else {
            let found = measured.estimate(&domain, stopping, &watched, total, start.as_ref())?;
            (found.potentials, found.loss, found.oracle_calls)
        };
        let report = serde_json::json!({
            "loss": loss, "oracle_calls": oracle_calls, "total": total,
        });
        let file = ModelFile {
            schema: jointly::Schema::clone(&schema),
            model: MarkovRandomField::new(&domain, potentials, total)?.into(),
            accuracy: None,
            linked: None,
            weight: None,
            refined_on: cliques,
            mechanism: "measurements".to_owned(),
            is_private,
            conditional_on: Vec::new(),
        };
        Ok((file, report))
    })?;
    Ok((Model(Arc::new(file)), json(py, &report)?))
}

/// The potentials to start from; `None` without any. A table that no measured clique holds is left out: a start changes only
/// the time.
fn start(
    domain: &Domain,
    layout: &Arc<CliqueLayout>,
    tables: &Start,
) -> jointly::Result<Option<Potentials>> {
    let mut held = Vec::new();
    for (names, values) in tables {
        let (clique, sorted) = sorted(domain, names, values)?;
        if layout.cliques().iter().any(|measured| clique.is_subset(measured)) {
            held.push((clique, sorted));
        }
    }
    if held.is_empty() {
        return Ok(None);
    }
    let own = CliqueLayout::new(domain, held.iter().map(|(clique, _)| clique.clone()))?;
    let mut potentials = Potentials::zeros(&own);
    for (clique, sorted) in held {
        let index = own.position(&clique).unwrap_or(0);
        // What is forbidden is forbidden by the domain.
        let finite = sorted.into_iter().map(|value| if value.is_finite() { value } else { 0.0 });
        potentials.table_mut(index).iter_mut().zip(finite).for_each(|(sum, value)| *sum += value);
    }
    Ok(Some(potentials.expand(layout)?))
}

/// The clique of some names, and a table over them in the clique's order.
fn sorted(
    domain: &Domain,
    names: &[String],
    values: &[f64],
) -> jointly::Result<(Clique, Vec<f64>)> {
    let clique = domain.clique(names)?;
    let cells = domain.cells(&clique).and_then(|cells| usize::try_from(cells).ok());
    if cells != Some(values.len()) {
        let (clique, found) = (names.join(" x "), values.len());
        let expected = cells.unwrap_or(usize::MAX);
        return Err(Error::Common(jointly::CommonError::ShapeMismatch { clique, expected, found }));
    }
    let at: Vec<usize> = names.iter().filter_map(|name| domain.position(name)).collect();
    let mut sorted = vec![0.0; values.len()];
    for (value, place) in values.iter().zip(turned(domain, &clique, &at).1) {
        sorted[place] = *value;
    }
    Ok((clique, sorted))
}

impl Measurements {
    fn new(domain: &Domain, given: &[Given]) -> jointly::Result<Self> {
        let mut whole = Vec::with_capacity(given.len());
        let by_cell = given.iter().any(|(.., own)| own.is_some());
        let mut precisions = by_cell.then(Vec::new);
        let (mut sum, mut weights) = (0.0, 0.0);
        for (names, values, stddev, own) in given {
            let (clique, values) = sorted(domain, names, values)?;
            if !(stddev.is_finite() && *stddev >= 0.0) {
                return Err(Error::invalid_parameter("stddev", *stddev, "at least 0"));
            }
            if let Some(wrong) = values.iter().find(|value| !value.is_finite()) {
                return Err(Error::invalid_parameter("values", *wrong, "finite numbers"));
            }
            if let Some(precisions) = &mut precisions {
                let uniform = if *stddev > 0.0 { 1.0 / (stddev * stddev) } else { 1.0 };
                precisions.push(match own {
                    Some(own) => sorted_precisions(domain, names, own)?,
                    None => vec![uniform; values.len()],
                });
            }
            if own.is_none() {
                let weight = 1.0 / (stddev * stddev * values.len() as f64).max(1e-12);
                sum += weight * values.iter().sum::<f64>();
                weights += weight;
            }
            let (stddev, provenance) = (*stddev, Provenance::Private);
            whole.push(Measurement { clique, cell: None, values, stddev, provenance });
        }
        let average = (weights > 0.0).then(|| (sum / weights).max(1.0));
        Ok(Self { whole, precisions, average })
    }

    fn estimate(
        &self,
        domain: &Domain,
        stopping: Stopping,
        oracle: &Interruptible<'_, BeliefPropagation>,
        total: f64,
        start: Option<&Potentials>,
    ) -> jointly::Result<Estimate> {
        if let Some(precisions) = &self.precisions {
            let loss = CellLoss::new(domain, &self.whole, precisions)?;
            let method = AcceleratedBregman { stopping, ..AcceleratedBregman::default() };
            return Ok(method.estimate(oracle, &loss, total, start)?);
        }
        let loss = SquaredLoss::new(domain, &self.whole, Weighting::InverseVariance)?;
        debug_assert!(!MarginalLoss::layout(&loss).cliques().is_empty(), "something was measured");
        Ok(EstimatorKind::default().estimate(stopping, oracle, &loss, total, start)?)
    }
}

/// Precisions in the clique's order.
fn sorted_precisions(domain: &Domain, names: &[String], own: &[f64]) -> jointly::Result<Vec<f64>> {
    let (_, precisions) = sorted(domain, names, own)?;
    match precisions.iter().find(|precision| !(precision.is_finite() && **precision >= 0.0)) {
        Some(wrong) => Err(Error::invalid_parameter("precisions", *wrong, "at least 0")),
        None => Ok(precisions),
    }
}
