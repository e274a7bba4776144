//! What spends a budget at once: answers to a workload, best mixture errors, trust in public tables, bins.

use std::sync::Arc;

use jointly::Contradiction;
use jointly::data::PublicData;
use jointly::domain::Clique;
use jointly::mechanism;
use jointly::mixture_error::{MixtureError, ScoredCells};
use jointly::paid_bins::PaidSchema;
use jointly::privacy::LedgerFile;
use jointly::query::WorkloadSource;
use jointly::trust::{MixtureRelease, Trust};
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::errors::{Raise, json as text, wrong};
use crate::spending::{Allowance, bought};
use crate::tables::{PrivateRows, Rows, Schema, Table};
use crate::watch;

/// What is asked for, and the budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    workload: String,
    max_cells: Option<u64>,
    allowance: Allowance,
    #[serde(default)]
    mechanism: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    cells: Option<ScoredCells>,
    tolerance: Option<f64>,
    mixture_share: Option<f64>,
    rows: Option<usize>,
    confidence: Option<f64>,
}

impl Asked {
    fn read(py: Python<'_>, asked: &str) -> PyResult<Self> {
        serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))
    }

    fn workload(&self) -> WorkloadSource {
        WorkloadSource { name: self.workload.clone(), max_cells: self.max_cells }
    }
}

/// A call that needs a budget has none.
fn no_budget(what: &'static str) -> jointly::Error {
    Contradiction::Needs { what, needed: "`epsilon`" }.into()
}

/// The noisy marginals of a workload, as JSON: a ledger file with a member `marginals`.
#[pyfunction]
pub(crate) fn answer(
    py: Python<'_>,
    schema: &Schema,
    private: &PrivateRows,
    asked: &str,
) -> PyResult<String> {
    let asked = Asked::read(py, asked)?;
    let unit = asked.allowance.unit(py)?;
    let schema = Arc::clone(&schema.0);
    let outcome = watch::keeping(py, None, move |_| {
        let _reserved = asked.allowance.reserve(private.file(), [])?;
        let spending = asked.allowance.spending("answer", unit)?;
        let spending = spending.ok_or_else(|| no_budget("answer"))?;
        let entry = mechanism::find(&asked.mechanism)?;
        let answerer = entry.build_answerer(&asked.parameters)?;
        let (workload, _) = asked.workload().read(&schema.domain())?;
        let counts = || entry.build(&asked.parameters)?.counts(&schema.domain(), &workload);
        let private = spending.table(&private.source(String::new()), &schema, false, counts)?;
        spending.run(&private, |curator| {
            let answers = answerer.answer(curator, &workload)?;
            let file = LedgerFile::new(answers.mechanism, Some(spending.budget), curator);
            let file = file.with("marginals", &answers.named()?)?;
            Ok(serde_json::to_value(file).unwrap_or_default())
        })
    })?;
    watch::told(py, bought(py, outcome)?)
}

/// The best mixture error of a public table, as JSON. Without a budget it is exact, and **not private**: `real` is then the
/// private table, read as a public one.
#[pyfunction]
#[pyo3(signature = (schema, public, asked, private=None, real=None))]
pub(crate) fn mixture_error(
    py: Python<'_>,
    schema: &Schema,
    public: &Rows,
    asked: &str,
    private: Option<&PrivateRows>,
    real: Option<&Rows>,
) -> PyResult<String> {
    let asked = Asked::read(py, asked)?;
    let cells = asked.cells.unwrap_or_default();
    let schema = Arc::clone(&schema.0);
    let unit = asked.allowance.unit(py)?;
    let spending = asked.allowance.spending("mixture-error", unit).raise(py)?;
    let Some((private, spending)) = private.zip(spending) else {
        let needs = Contradiction::Needs {
            what: "mixture error",
            needed: "a table, or a budget and the private table",
        };
        let real = real
            .ok_or_else(|| jointly::Error::from(needs))
            .and_then(|rows| rows.data().cloned())
            .raise(py)?;
        let public = Arc::clone(public.data().raise(py)?);
        let found = watch::run(py, None, move |_| {
            let (workload, _) = asked.workload().read(&schema.domain())?;
            let default = MixtureError::default();
            let tolerance = asked.tolerance.unwrap_or(default.tolerance);
            let found = MixtureError { tolerance, cells, ..default }.solve(
                &public,
                real.as_ref(),
                &workload,
            )?;
            Ok(json!({
                "private": false, "value": found.value(), "lower": found.lower, "upper": found.upper,
                "unreached": found.unreached, "queries": found.queries, "support": found.support,
            }))
        })?;
        return text(py, &found);
    };
    let outcome = watch::keeping(py, None, move |_| {
        let _reserved = asked.allowance.reserve(private.file(), public.file())?;
        let (workload, _) = asked.workload().read(&schema.domain())?;
        let cliques = || {
            let own = workload.weighted_cliques().iter().map(|one| one.clique.clone());
            Ok(own.chain([Clique::default()]).collect())
        };
        let private = spending.table(&private.source(String::new()), &schema, false, cliques)?;
        let public = PublicData::new("public", public.data()?.as_ref().clone(), private.domain())?;
        let release = MixtureRelease {
            tolerance: asked.tolerance.unwrap_or(MixtureError::RELEASED),
            cells,
            ..MixtureRelease::default()
        };
        spending.run(&private, |curator| {
            let (total, form) = (curator.total()?, spending.budget.noise_form());
            let rho = curator.remaining_for(form)?;
            let found = release.run(curator, &public, &workload, total, form, rho)?;
            let file = LedgerFile::new("mixture-error", Some(spending.budget), curator);
            Ok(json!({
                "private": curator.is_private(), "confidence": release.confidence, "value": found.value,
                "stddev": found.stddev, "half_width": found.half_width, "ledger": file,
            }))
        })
    })?;
    watch::told(py, bought(py, outcome)?)
}

/// Which public table to trust, as JSON, at a cost of the whole budget.
#[pyfunction]
pub(crate) fn trust(
    py: Python<'_>,
    schema: &Schema,
    private: &PrivateRows,
    public: Vec<(String, PyRef<'_, Rows>)>,
    asked: &str,
) -> PyResult<String> {
    let asked = Asked::read(py, asked)?;
    let unit = asked.allowance.unit(py)?;
    let schema = Arc::clone(&schema.0);
    let domain = schema.domain();
    let named = public
        .iter()
        .map(|(name, rows)| PublicData::new(name, rows.data()?.as_ref().clone(), &domain));
    let tables = named.collect::<jointly::Result<Vec<_>>>().raise(py)?;
    let files = public.iter().filter_map(|(_, rows)| Some(rows.file()?.to_owned()));
    let files: Vec<_> = files.collect();
    let outcome = watch::keeping(py, None, move |_| {
        let _reserved =
            asked.allowance.reserve(private.file(), files.iter().map(|path| &**path))?;
        let spending = asked.allowance.spending("trust", unit)?;
        let spending = spending.ok_or_else(|| no_budget("trust"))?;
        let default = Trust::default();
        let trust = Trust {
            mixture_share: asked.mixture_share.unwrap_or(default.mixture_share),
            cells: asked.cells.unwrap_or(default.cells),
            rows: asked.rows.unwrap_or(default.rows),
            confidence: asked.confidence.unwrap_or(default.confidence),
            tolerance: MixtureError::RELEASED,
        };
        trust.check()?;
        let (workload, _) = asked.workload().read(&domain)?;
        let counts = || Ok(trust.counts(&tables, &workload));
        let private = spending.table(&private.source(String::new()), &schema, false, counts)?;
        spending.run(&private, |curator| trust.run(curator, &tables, &workload))
    })?;
    watch::told(py, bought(py, outcome)?)
}

/// What bins are asked for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AskedBins {
    columns: Vec<String>,
    categories: Vec<String>,
    category_share: f64,
    category_delta: Option<f64>,
    allowance: Allowance,
}

/// A schema with bins of numbers and categories by the private rows, and what was found of each column, as JSON. Spends the
/// whole budget.
#[pyfunction]
pub(crate) fn bins(
    py: Python<'_>,
    schema: &Schema,
    private: &Bound<'_, PyAny>,
    asked: &str,
) -> PyResult<String> {
    let asked: AskedBins =
        serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))?;
    let unit = asked.allowance.unit(py)?;
    let (schema, private) = (Arc::clone(&schema.0), Table::new(private, "private table")?);
    let outcome = watch::keeping(py, None, move |_| {
        let _reserved = asked.allowance.reserve(private.file(), [])?;
        let mut job = PaidSchema::new(&schema, &asked.columns, &asked.categories)?;
        job.category_share = asked.category_share;
        job.check()?;
        let spending = asked.allowance.spending("bins", unit)?;
        let mut spending = spending.ok_or_else(|| no_budget("bins"))?;
        spending.budget = job.with_category_delta(spending.budget, asked.category_delta)?;
        let (records, values) = job.read(&spending.unit, private.rows())?.into_parts();
        spending.run(&records, |curator| {
            let (schema, named) = job.run(curator, values)?;
            let named: Map<String, Value> = named
                .iter()
                .map(|column| {
                    let facts =
                        json!({ "values": column.values.len(), "threshold": column.threshold });
                    (column.column.clone(), facts)
                })
                .collect();
            Ok(json!({
                "schema": schema.to_json()?, "categories": named, "private": curator.is_private(),
                "ledger": LedgerFile::new("bins", Some(spending.budget), curator),
            }))
        })
    })?;
    watch::told(py, bought(py, outcome)?)
}
