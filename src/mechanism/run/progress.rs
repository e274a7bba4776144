//! What a run has done: the result of its step "rounds", which grows with every round.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};

use crate::data::CountedTable;
use crate::domain::Domain;
use crate::error::{CheckpointFault, Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::{ModelState, RoundRecord, Task};
use crate::privacy::files::hex;
use crate::privacy::{Inputs, LedgerEntry, NoiseMechanism};

/// The rounds that have ended, and those parts of the one in progress that cost something.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Progress {
    /// The estimated number of records, where one was paid for.
    pub(super) total: Option<f64>,
    pub(super) measurements: Vec<Measurement>,
    pub(super) rounds: Vec<RoundRecord>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) tallied: Vec<TalliedMeasurement>,
    state: Option<StoredState>,
}

/// A measured marginal of tallies, such as the number of children by that of elders in a household.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TalliedMeasurement {
    /// The round that measured it, from 1.
    pub round: u32,
    /// The names of its attributes, at least one of which the records do not have.
    pub names: Vec<String>,
    /// What was measured. Its clique is of the tallies' attributes.
    pub measurement: Measurement,
}

/// The state of a model, opaque here.
#[derive(Debug, Serialize, Deserialize)]
struct StoredState {
    kind: String,
    version: u32,
    value: Box<RawValue>,
}

impl Progress {
    /// Checks that all parts match the domain, each other and the entries that paid for them.
    pub(super) fn check(
        &self,
        domain: &Domain,
        entries: &[LedgerEntry],
    ) -> std::result::Result<(), &'static str> {
        let is_finite = |m: &Measurement| {
            m.stddev.is_finite()
                && m.stddev >= 0.0
                && m.values.iter().all(|value| value.is_finite())
        };
        let has_shape = |m: &Measurement| {
            let cells = domain.cells(&m.clique);
            m.clique.iter().all(|a| a < domain.len())
                && match m.cell {
                    None => cells == Some(m.values.len() as u64),
                    Some(cell) => {
                        cells.is_some_and(|cells| (cell as u64) < cells) && m.values.len() == 1
                    }
                }
        };
        if !self.measurements.iter().all(|m| is_finite(m) && has_shape(m)) {
            return Err("a measurement does not fit the domain");
        }
        let is_beyond = |names: &[String]| names.iter().any(|n| domain.position(n).is_none());
        let fits = |own: &TalliedMeasurement| {
            let names = own.names.len() == own.measurement.clique.len();
            is_finite(&own.measurement) && is_beyond(&own.names) && names
        };
        if !self.tallied.iter().all(fits) {
            return Err("a measured tally does not fit the domain");
        }
        let mut end = 0;
        for (number, record) in (1..).zip(&self.rounds) {
            let own = &record.measurements;
            if record.round != number || own.start != end || own.end < own.start {
                return Err("rounds and measurements do not match");
            }
            end = own.end;
        }
        if end != self.measurements.len() {
            return Err("rounds and measurements do not match");
        }
        self.check_paid(domain, entries)
    }

    /// Checks that the entries list exactly what was drawn from the records. Otherwise the run would spend that budget
    /// again.
    fn check_paid(
        &self,
        domain: &Domain,
        entries: &[LedgerEntry],
    ) -> std::result::Result<(), &'static str> {
        let (mut chosen, mut measured, mut counted) = (Vec::new(), Vec::new(), 0);
        let mut tallied: Vec<(u32, &[String])> = Vec::new();
        let is_beyond = |names: &[String]| names.iter().any(|n| domain.position(n).is_none());
        for entry in entries {
            match (&entry.mechanism, &entry.clique) {
                (
                    NoiseMechanism::ExponentialMechanism { candidates, .. }
                    | NoiseMechanism::PermuteAndFlip { candidates, .. },
                    _,
                ) => {
                    let draws = entry.mechanism.draws();
                    chosen.extend((0..draws).map(|_| (entry.round, *candidates)));
                }
                (
                    NoiseMechanism::DiscreteGaussian { .. }
                    | NoiseMechanism::DiscreteLaplace { .. },
                    Some(clique),
                ) if is_beyond(clique) => tallied.push((entry.round, clique)),
                (
                    NoiseMechanism::DiscreteGaussian { .. }
                    | NoiseMechanism::DiscreteLaplace { .. },
                    Some(clique),
                ) => measured.push((entry.round, clique.clone(), entry.cell)),
                (
                    NoiseMechanism::DiscreteGaussian { .. }
                    | NoiseMechanism::DiscreteLaplace { .. },
                    None,
                ) => counted += 1,
                _ => return Err("the ledger has an entry that no round makes"),
            }
        }
        let choices = self.rounds.iter().flat_map(|r| r.choices.iter().map(|n| (r.round, *n)));
        let taken = self.rounds.iter().flat_map(|record| {
            let own = &self.measurements[record.measurements.clone()];
            let private = own.iter().filter(|m| m.provenance == Provenance::Private);
            private.map(|m| {
                let names = m.clique.iter().map(|a| domain.name(a).to_owned()).collect();
                (record.round, names, m.cell.map(|cell| cell as u64))
            })
        });
        let total_is_paid = self.total.is_none_or(|total| total.is_finite() && total >= 1.0)
            && counted == usize::from(self.total.is_some());
        let kept = self.tallied.iter().map(|own| (own.round, own.names.as_slice()));
        if total_is_paid && choices.eq(chosen) && taken.eq(measured) && kept.eq(tallied) {
            return Ok(());
        }
        Err("the ledger does not match the measurements")
    }
}

impl Progress {
    /// The stored state.
    pub(super) fn state<S: ModelState>(&self) -> std::result::Result<Option<S>, CheckpointFault> {
        let Some(stored) = &self.state else { return Ok(None) };
        if (stored.kind.as_str(), stored.version) != (S::KIND, S::VERSION) {
            let found = format!("{} {}", stored.kind, stored.version);
            let expected = format!("{} {}", S::KIND, S::VERSION);
            return Err(CheckpointFault::OtherState { found, expected });
        }
        let state = serde_json::from_str(stored.value.get());
        state.map(Some).map_err(CheckpointFault::Unreadable)
    }

    /// Sets the state for the next time that the rounds are kept.
    pub(super) fn keep<S: ModelState>(&mut self, state: &S) -> Result<()> {
        let value = serde_json::value::to_raw_value(state).map_err(|error| {
            let expected = "a state that JSON can hold";
            Error::invalid_specification("model state", error.to_string(), expected)
        })?;
        self.state = Some(StoredState { kind: S::KIND.into(), version: S::VERSION, value });
        Ok(())
    }
}

/// What determines the rounds, apart from the curator and its checkpoint.
pub(super) fn inputs(mechanism: &str, parameters: &str, task: &Task<'_>) -> Inputs {
    let cliques = task.workload.weighted_cliques().iter();
    let cliques = cliques.map(|c| format!("{} {}", c.clique, c.weight.to_bits()));
    let own =
        Inputs::default().with("mechanism", [mechanism, parameters]).with("workload", cliques);
    task.public.iter().fold(own, |inputs, table| {
        let name = format!("public table '{}'", table.name());
        let Ok(rows) = table.table() else {
            return inputs.with(&name, table.counts().map(CountedTable::digest));
        };
        let columns = rows.domain().attributes().iter().zip(rows.columns());
        let columns = columns.map(|(attribute, column)| {
            let mut codes = Sha256::new();
            for code in column.iter() {
                codes.update(code.to_le_bytes());
            }
            format!("{} {}", hex(&codes.finalize()), attribute.name)
        });
        inputs.with(&name, columns)
    })
}
