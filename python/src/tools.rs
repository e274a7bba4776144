//! Functions beside a run: budgets, plans, measures, trust.

use jointly::Job;
use jointly::data::{NumericColumns, Projectable, PublicData};
use jointly::evaluation::{
    CorrelationDifference, KMarginalScore, NumberComparison, PropensityScore, UniqueMatches,
    WorkloadError,
};
use jointly::mechanism::{self, CATALOGUE, PlanFor};
use jointly::privacy::{Budget, Curator, NoiseSeed};
use jointly::query::WorkloadSource;
use jointly::rand::SeedableRng;
use jointly::rand::rngs::ChaCha20Rng;
use jointly::trust::Trust;
use pyo3::prelude::*;
use serde_json::{Map, Value, json};

use crate::errors::{Raise, json as text, wrong};
use crate::tables::{Rows, Schema, privacy_unit};
use crate::watch;

/// The seed for drawing the marginals of scores, as on the command line.
const DRAW_SEED: u64 = 1;

/// ρ of a budget. `delta`: `None` for pure ε.
#[pyfunction]
#[pyo3(signature = (epsilon, delta=None))]
pub(crate) fn budget(py: Python<'_>, epsilon: f64, delta: Option<f64>) -> PyResult<f64> {
    let budget = match delta {
        Some(delta) => Budget::approximate(epsilon, delta),
        None => Budget::pure(epsilon),
    };
    Ok(budget.raise(py)?.rho().to_f64())
}

/// Spent ρ, limit and privacy of a ledger's text.
#[pyfunction]
pub(crate) fn ledger(py: Python<'_>, text: &str) -> PyResult<(f64, f64, bool)> {
    crate::release::read_ledger(text).raise(py)
}

/// The catalogue, as JSON: name, description, whether it spends, resumes, and its parameters with their defaults.
#[pyfunction]
pub(crate) fn mechanisms(py: Python<'_>) -> PyResult<String> {
    let mut all = Vec::new();
    for entry in CATALOGUE {
        all.push(json!({
            "name": entry.name,
            "spends": entry.spends,
            "resumes": entry.resumes,
            "parameters": entry.defaults().raise(py)?,
        }));
    }
    text(py, &all)
}

/// The settings of a job, as JSON: name, what it means, and its default.
#[pyfunction]
pub(crate) fn settings(py: Python<'_>) -> PyResult<String> {
    let defaults = serde_json::to_value(Job::default()).unwrap_or_default();
    let all = Job::SETTINGS.iter().map(|setting| {
        let default = &defaults[setting.name()];
        json!({ "name": setting.field, "help": setting.help(), "default": default })
    });
    text(py, &all.collect::<Vec<_>>())
}

/// How a mechanism will spend a budget, as JSON.
#[pyfunction]
#[pyo3(signature = (schema, mechanism, parameters, epsilon, delta, workload, max_cells, neighbors, records))]
pub(crate) fn plan(
    py: Python<'_>,
    schema: &Schema,
    mechanism: &str,
    parameters: &str,
    epsilon: f64,
    delta: f64,
    workload: String,
    max_cells: Option<u64>,
    neighbors: &str,
    records: u64,
) -> PyResult<String> {
    let parameters: Map<String, Value> =
        serde_json::from_str(parameters).map_err(|error| wrong(py, "parameters", error))?;
    let built = mechanism::find(mechanism).and_then(|entry| entry.build(&parameters)).raise(py)?;
    let domain = schema.0.domain();
    let (workload, left_out) =
        WorkloadSource { name: workload, max_cells }.read(&domain).raise(py)?;
    let budget = Budget::approximate(epsilon, delta).raise(py)?;
    let relation = privacy_unit(py, neighbors, None)?.relation();
    let rho = budget.rho();
    let about = PlanFor { domain: &domain, workload: &workload, relation, rho, records };
    let plan = built.plan(&about).raise(py)?;
    let cells =
        workload.weighted_cliques().iter().map(|c| domain.cells(&c.clique).unwrap_or(u64::MAX));
    let facts = json!({
        "rho": rho.to_f64(),
        "records": records,
        "cliques": workload.len(),
        "left_out": left_out,
        "cells": cells.fold(0_u64, u64::saturating_add),
        "plan": plan,
    });
    text(py, &facts)
}

/// Compares a synthetic table with the real one, as JSON. **Not private.**
#[pyfunction]
#[pyo3(signature = (real, synthetic, workload, max_cells, measures, worst))]
pub(crate) fn evaluate(
    py: Python<'_>,
    real: &Rows,
    synthetic: &Rows,
    workload: String,
    max_cells: Option<u64>,
    measures: Vec<String>,
    worst: usize,
) -> PyResult<String> {
    let source = WorkloadSource { name: workload, max_cells };
    let found = watch::run(py, None, move |_| {
        let (real_rows, synthetic_rows) = (&*real.data, &*synthetic.data);
        let (workload, left_out) = source.read(real_rows.domain())?;
        let mut facts = json!({
            "private": false,
            "real_records": real_rows.records(),
            "synthetic_records": synthetic_rows.records(),
            "left_out": left_out,
            "error": WorkloadError::between(real_rows, synthetic_rows, &workload, worst)?,
            "independent_error": WorkloadError::of_independence(real_rows, &workload, 0)?.mean_l1,
        });
        for measure in &measures {
            facts[measure.replace('-', "_")] = match measure.as_str() {
                "k-marginal" => {
                    let mut rng = ChaCha20Rng::seed_from_u64(DRAW_SEED);
                    json!(KMarginalScore::between(real_rows, synthetic_rows, 3, None, &mut rng)?)
                }
                "propensity" => json!(PropensityScore::between(real_rows, synthetic_rows)?),
                "correlation" => json!(CorrelationDifference::between(real_rows, synthetic_rows)?),
                "unique-matches" => json!(UniqueMatches::between(real_rows, synthetic_rows)?),
                other => {
                    let expected = "k-marginal, propensity, correlation or unique-matches";
                    return Err(jointly::Error::invalid_parameter("measures", other, expected));
                }
            };
        }
        if let (Some(real), Some(synthetic)) = (&real.numbers, &synthetic.numbers) {
            facts["numbers"] = json!(numbers(real, synthetic)?);
        }
        Ok(facts)
    })?;
    text(py, &found)
}

fn numbers(
    real: &NumericColumns,
    synthetic: &NumericColumns,
) -> jointly::Result<Option<NumberComparison>> {
    let found = NumberComparison::between(real, synthetic)?;
    Ok((!found.columns.is_empty()).then_some(found))
}

/// Which public table to trust, as JSON, at a cost of the whole budget.
#[pyfunction]
#[pyo3(signature = (schema, private, public, workload, epsilon, delta, neighbors, unit=None, noise_seed=None))]
pub(crate) fn trust(
    py: Python<'_>,
    schema: &Schema,
    private: &Rows,
    public: Vec<(String, PyRef<'_, Rows>)>,
    workload: String,
    epsilon: f64,
    delta: f64,
    neighbors: &str,
    unit: Option<(String, u32)>,
    noise_seed: Option<u64>,
) -> PyResult<String> {
    let unit = privacy_unit(py, neighbors, unit)?;
    let budget = Budget::approximate(epsilon, delta).raise(py)?;
    let seed = noise_seed.map_or(NoiseSeed::System, NoiseSeed::Fixed);
    let domain = schema.0.domain();
    let named =
        public.iter().map(|(name, rows)| PublicData::new(name, (*rows.data).clone(), &domain));
    let public = named.collect::<jointly::Result<Vec<_>>>().raise(py)?;
    // Rows that were not limited to the unit's number have another sensitivity: refused, as for a run.
    let rows = private.source(String::new()).private(&unit, &schema.0).raise(py)?;
    let outcome = watch::keeping(py, None, move |_| {
        let source = WorkloadSource { name: workload, max_cells: None };
        let (workload, _) = source.read(&domain)?;
        let data: &dyn Projectable = &*rows;
        let curator: Curator<'_> = budget.curator(data, unit.relation(), seed)?;
        Trust::default().run(&mut curator.with_unit(unit)?, &public, &workload)
    })?;
    match outcome {
        watch::Outcome::Done(report) => text(py, &report),
        watch::Outcome::DoneBefore(report, exception) => {
            let raised = exception.value(py);
            raised.setattr("report", text(py, &report)?)?;
            let note = "the budget was spent; the attribute 'report' of this exception is what it bought, as JSON";
            raised.call_method1("add_note", (note,))?;
            Err(exception)
        }
    }
}

/// Sets the number of threads for all fits. Once only, and before the first fit.
#[pyfunction]
pub(crate) fn set_threads(py: Python<'_>, threads: usize) -> PyResult<()> {
    crate::process::check(py)?;
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|error| wrong(py, "threads", error))
}
