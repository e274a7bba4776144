//! Functions beside a run: budgets, plans, measures, parameters.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use jointly::Job;
use jointly::data::{PublicData, known_files_of, write_text};
use jointly::evaluation::{EvaluationSettings, RulesSource};
use jointly::experiment::{Grid, Tuning};
use jointly::mechanism::{self, CATALOGUE, PlanFor};
use jointly::privacy::{Budget, NeighboringRelation};
use jointly::query::WorkloadSource;
use jointly::report::evaluation::{self, Page};
use jointly::settings::Setting;
use jointly::synthesis::{Existing, reserve_files};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::errors::{Raise, json as text, wrong};
use crate::tables::{Rows, Schema, Table, privacy_unit};
use crate::watch;

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
    described(py, Job::SETTINGS, &Job::default())
}

pub(crate) fn described(
    py: Python<'_>,
    settings: &[Setting],
    defaults: &impl serde::Serialize,
) -> PyResult<String> {
    let defaults = serde_json::to_value(defaults).unwrap_or_default();
    let all = settings.iter().map(|setting| {
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

/// Compares a synthetic table with the real one, as JSON. **Not private.** `settings`: those of an evaluation, as JSON.
/// `report`: a file for the page.
#[pyfunction]
#[pyo3(signature = (schema, real, synthetic, settings, report=None, overwrite=false))]
pub(crate) fn evaluate(
    py: Python<'_>,
    schema: &Schema,
    real: &Bound<'_, PyAny>,
    synthetic: &Bound<'_, PyAny>,
    settings: &str,
    report: Option<PathBuf>,
    overwrite: bool,
) -> PyResult<String> {
    let settings = serde_json::from_str(settings).map_err(|error| wrong(py, "settings", error))?;
    let settings = EvaluationSettings::from_settings(settings).raise(py)?;
    let tables = [Table::new(real, "real table")?, Table::new(synthetic, "synthetic table")?];
    let schema = Arc::clone(&schema.0);
    let existing = if overwrite { Existing::Replaced } else { Existing::Refused };
    let found = watch::run(py, None, move |_| {
        let named = [("real table", tables[0].file()), ("synthetic table", tables[1].file())];
        let rules = match &settings.rules {
            Some(RulesSource::File(rules)) => Some(&**rules),
            _ => None,
        };
        let named = named.into_iter().chain([("rules", rules)]);
        let inputs: Vec<_> = named.filter_map(|(name, path)| Some((name, path?))).collect();
        let outputs: Vec<_> = report.iter().map(|path| ("report", &**path)).collect();
        let _reserved = reserve_files(&inputs, &outputs, existing)?;
        let asked = settings.under(&schema)?;
        let (real, synthetic) = (tables[0].whole(&asked)?, tables[1].whole(&asked)?);
        let measures = asked.between(&real, &synthetic)?;
        if let Some(path) = &report {
            let page = Page {
                names: tables.each_ref().map(Table::name),
                schema: &schema,
                tables: asked.weighted(&real, &synthetic)?,
                measures: &measures,
            };
            write_text(path, &evaluation::render(&page)?)?;
        }
        Ok(measures)
    })?;
    text(py, &found)
}

/// The settings of an evaluation, as those of a job.
#[pyfunction]
pub(crate) fn evaluation_settings(py: Python<'_>) -> PyResult<String> {
    described(py, EvaluationSettings::SETTINGS, &EvaluationSettings::default())
}

/// What is to be tuned.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ToTune {
    mechanism: String,
    parameters: Map<String, Value>,
    grids: Vec<String>,
    seeds: u32,
    epsilon: f64,
    delta: f64,
    neighbors: NeighboringRelation,
    records: Option<u64>,
    workload: String,
    max_cells: Option<u64>,
}

/// Parameters chosen on public tables, as JSON.
#[pyfunction]
pub(crate) fn tune(
    py: Python<'_>,
    schema: &Schema,
    stand_in: &Rows,
    public: Vec<(String, PyRef<'_, Rows>)>,
    asked: &str,
) -> PyResult<String> {
    let asked: ToTune =
        serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))?;
    let domain = schema.0.domain();
    let named = public
        .iter()
        .map(|(name, rows)| PublicData::new(name, rows.data()?.as_ref().clone(), &domain));
    let public = named.collect::<jointly::Result<Vec<_>>>().raise(py)?;
    let stand_in = Arc::clone(stand_in.data().raise(py)?);
    let found = watch::run(py, None, move |observer| {
        let grids = asked.grids.iter().map(|text| text.parse());
        let tuning = Tuning {
            mechanism: asked.mechanism,
            parameters: asked.parameters,
            grids: grids.collect::<jointly::Result<Vec<Grid>>>()?,
            seeds: asked.seeds,
            budget: Budget::approximate(asked.epsilon, asked.delta)?,
            relation: asked.neighbors,
            records: asked.records,
        };
        tuning.check()?;
        let source = WorkloadSource { name: asked.workload, max_cells: asked.max_cells };
        let (workload, _) = source.read(&domain)?;
        tuning.run(&stand_in, &public, &workload, observer, &mut |_| ())
    })?;
    text(py, &found)
}

/// The files of a table: one, those of a folder or a pattern, or those of two tables that are joined.
#[pyfunction]
pub(crate) fn files_of(path: PathBuf) -> Vec<OsString> {
    known_files_of(&path).into_iter().map(PathBuf::into_os_string).collect()
}

/// Sets the number of threads for all fits. Once only, and before the first fit.
#[pyfunction]
pub(crate) fn set_threads(py: Python<'_>, threads: usize) -> PyResult<()> {
    crate::process::check(py)?;
    let built = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global();
    built.map_err(|error| wrong(py, "threads", error))
}
