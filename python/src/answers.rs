//! What spends a budget on numbers, and no table: answers to a workload, best mixture errors.

use std::path::PathBuf;
use std::sync::Arc;

use jointly::Contradiction;
use jointly::data::{CountPlan, PublicData};
use jointly::domain::Clique;
use jointly::mechanism;
use jointly::mixture_error::{MixtureError, ScoredCells};
use jointly::observe::Unstoppable;
use jointly::privacy::{Budget, LedgerFile, NoiseSeed, PrivacyUnit, PrivateTable};
use jointly::query::WorkloadSource;
use jointly::trust::MixtureRelease;
use pyo3::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::errors::{Raise, json as text, wrong};
use crate::tables::{PrivateRows, Rows, Schema, privacy_unit};
use crate::watch;

/// What is asked for, and the budget.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked {
    workload: String,
    max_cells: Option<u64>,
    epsilon: Option<f64>,
    delta: Option<f64>,
    neighbors: String,
    unit: Option<(String, u32, String)>,
    seed: Option<u64>,
    ledger_from: Option<PathBuf>,
    #[serde(default)]
    mechanism: String,
    #[serde(default)]
    parameters: Map<String, Value>,
    cells: Option<ScoredCells>,
    tolerance: Option<f64>,
}

impl Asked {
    fn read(py: Python<'_>, asked: &str) -> PyResult<Self> {
        serde_json::from_str(asked).map_err(|error| wrong(py, "settings", error))
    }

    fn workload(&self) -> WorkloadSource {
        WorkloadSource { name: self.workload.clone(), max_cells: self.max_cells }
    }

    /// `None`: nothing may be spent.
    fn budget(&self) -> jointly::Result<Option<Budget>> {
        Ok(self.epsilon.map(|epsilon| Budget::new(epsilon, self.delta)).transpose()?)
    }

    fn seed(&self) -> NoiseSeed {
        self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed)
    }
}

/// The private table; where only counts of it are there, they must have these marginals.
fn sealed(
    private: &PrivateRows,
    unit: &PrivacyUnit,
    schema: &jointly::Schema,
    counts: impl FnOnce() -> jointly::Result<Vec<Clique>>,
) -> jointly::Result<PrivateTable> {
    let source = private.source(String::new());
    if source.is_counts() {
        return source.counted(unit, &CountPlan::new(schema, &counts()?)?, &Unstoppable);
    }
    source.sealed(unit, schema)
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
    let unit = privacy_unit(py, &asked.neighbors, asked.unit.clone())?;
    let schema = Arc::clone(&schema.0);
    let outcome = watch::keeping(py, None, move |_| {
        let needs = Contradiction::Needs { what: "answer", needed: "`epsilon`" };
        let budget = asked.budget()?.ok_or(needs)?;
        let entry = mechanism::find(&asked.mechanism)?;
        let answerer = entry.build_answerer(&asked.parameters)?;
        let (workload, _) = asked.workload().read(&schema.domain())?;
        let counts = || entry.build(&asked.parameters)?.counts(&schema.domain(), &workload);
        let private = sealed(private, &unit, &schema, counts)?;
        let earlier = asked.ledger_from.as_deref().map(LedgerFile::read).transpose()?;
        let mut curator = private.curator(Some(budget), asked.seed(), earlier.as_ref())?;
        let answers = answerer.answer(&mut curator, &workload)?;
        let file = LedgerFile::new(answers.mechanism, Some(budget), &curator);
        let file = file.with("marginals", &answers.named()?)?;
        Ok(serde_json::to_value(file).unwrap_or_default())
    })?;
    watch::told(py, outcome)
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
    let (schema, public) = (Arc::clone(&schema.0), Arc::clone(&public.0));
    let Some((private, budget)) = private.zip(asked.budget().raise(py)?) else {
        let needs = Contradiction::Needs {
            what: "mixture error",
            needed: "a table, or a budget and the private table",
        };
        let real = real
            .map(|rows| Arc::clone(&rows.0))
            .ok_or_else(|| jointly::Error::from(needs))
            .raise(py)?;
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
    let unit = privacy_unit(py, &asked.neighbors, asked.unit.clone())?;
    let outcome = watch::keeping(py, None, move |_| {
        let (workload, _) = asked.workload().read(&schema.domain())?;
        let cliques = || {
            let own = workload.weighted_cliques().iter().map(|one| one.clique.clone());
            Ok(own.chain([Clique::default()]).collect())
        };
        let private = sealed(private, &unit, &schema, cliques)?;
        let public = PublicData::new("public", (*public).clone(), private.domain())?;
        let release = MixtureRelease {
            tolerance: asked.tolerance.unwrap_or(MixtureError::RELEASED),
            cells,
            ..MixtureRelease::default()
        };
        let earlier = asked.ledger_from.as_deref().map(LedgerFile::read).transpose()?;
        let mut curator = private.curator(Some(budget), asked.seed(), earlier.as_ref())?;
        let (total, form) = (curator.total()?, budget.noise_form());
        let rho = curator.remaining_for(form)?;
        let found = release.run(&mut curator, &public, &workload, total, form, rho)?;
        let file = LedgerFile::new("mixture-error", Some(budget), &curator);
        Ok(json!({
            "private": curator.is_private(), "confidence": release.confidence, "value": found.value,
            "stddev": found.stddev, "half_width": found.half_width, "ledger": file,
        }))
    })?;
    watch::told(py, outcome)
}
