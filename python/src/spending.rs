//! What calls without rounds may spend, and what they bought.

use std::path::{Path, PathBuf};

use jointly::privacy::{Budget, NoiseSeed, PrivacyUnit};
use jointly::synthesis::{
    Bought, Existing, ReservedOutputs, Spending, check_public_files, reserve_files,
};
use pyo3::prelude::*;
use serde::Deserialize;

use crate::errors::raised;
use crate::tables::privacy_unit;
use crate::watch::Outcome;

/// What a call may spend.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowance {
    epsilon: Option<f64>,
    delta: Option<f64>,
    neighbors: String,
    unit: Option<(String, u32, String)>,
    seed: Option<u64>,
    ledger: Option<PathBuf>,
    ledger_from: Option<PathBuf>,
    #[serde(default)]
    overwrite: bool,
}

impl Allowance {
    /// What differs between neighboring tables.
    pub(crate) fn unit(&self, py: Python<'_>) -> PyResult<PrivacyUnit> {
        privacy_unit(py, &self.neighbors, self.unit.clone())
    }

    /// `None` without ε: nothing may be spent.
    pub(crate) fn spending(
        &self,
        command: &'static str,
        unit: PrivacyUnit,
    ) -> jointly::Result<Option<Spending>> {
        let budget = self.epsilon.map(|epsilon| Budget::new(epsilon, self.delta)).transpose()?;
        Ok(budget.map(|budget| Spending {
            command,
            budget,
            unit,
            earlier: self.ledger_from.clone(),
            seed: self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed),
            ledger: self.ledger.clone(),
        }))
    }

    /// Locks the file of the ledger, and refuses the private file as a public one.
    pub(crate) fn reserve<'a>(
        &'a self,
        private: Option<&'a Path>,
        public: impl IntoIterator<Item = &'a Path>,
    ) -> jointly::Result<ReservedOutputs> {
        let public: Vec<&Path> = public.into_iter().collect();
        let mut inputs: Vec<(&str, &Path)> = Vec::new();
        inputs.extend(private.map(|path| ("private table", path)));
        inputs.extend(public.iter().map(|path| ("public table", *path)));
        inputs.extend(self.ledger_from.iter().map(|path| ("earlier ledger", &**path)));
        let outputs: Vec<(&str, &Path)> =
            self.ledger.iter().map(|path| ("ledger", &**path)).collect();
        let existing = if self.overwrite { Existing::Replaced } else { Existing::Refused };
        let reserved = reserve_files(&inputs, &outputs, existing)?;
        private.map_or(Ok(()), |private| check_public_files(private, public))?;
        Ok(reserved)
    }
}

/// What was bought. An exception says what was spent before it.
pub(crate) fn bought<T>(py: Python<'_>, outcome: Outcome<Bought<T>>) -> PyResult<Outcome<T>> {
    let (Bought { ledger, outcome }, earlier) = match outcome {
        Outcome::Done(bought) => (bought, None),
        Outcome::DoneBefore(bought, exception) => (bought, Some(exception)),
    };
    match (outcome, earlier) {
        (Ok(found), None) => Ok(Outcome::Done(found)),
        (Ok(found), Some(exception)) => Ok(Outcome::DoneBefore(found, exception)),
        (Err(error), earlier) => {
            let exception = earlier.unwrap_or_else(|| raised(py, &error));
            if let Some(file) = ledger {
                let raised = exception.value(py);
                let spent = file.ledger.spent();
                raised.call_method1("add_note", (format!("rho = {spent} was spent before"),))?;
            }
            Err(exception)
        }
    }
}
