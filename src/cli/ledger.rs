//! The ledger file: what was spent, by what, for which guarantee.

use jointly::estimation::Certificate;
use jointly::measurement::Provenance;
use jointly::mechanism::Release;
use jointly::privacy::{Ledger, NeighboringRelation};
use serde::Serialize;

use super::config::{Budget, SynthConfig};
use super::inputs::Inputs;
use super::spent::Unit;

/// The document as written. It holds publishable numbers only.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    format: &'static str,
    version: u32,
    /// Whether the guarantee holds: false when the noise came from a fixed seed.
    private: bool,
    note: &'static str,
    mechanism: &'a str,
    neighbors: NeighboringRelation,
    epsilon: Option<f64>,
    delta: Option<f64>,
    /// ε of the entries where the release is ε-private without δ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pure_epsilon: Option<f64>,
    /// What differs between neighbors, where it is not one record.
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<Unit<'a>>,
    public_tables: Vec<PublicTable<'a>>,
    rounds: Vec<Round<'a>>,
    /// How far the fit is from the best one, at most.
    certificate: Option<Certificate>,
    ledger: &'a Ledger,
}

#[derive(Serialize)]
struct PublicTable<'a> {
    name: &'a str,
    records: u64,
}

/// A round of the mechanism, with names in place of positions.
#[derive(Serialize)]
struct Round<'a> {
    #[serde(rename = "round")]
    number: u32,
    clique: Vec<&'a str>,
    source: &'a Provenance,
    stddev: f64,
    candidates: usize,
    loss: f64,
    oracle_calls: u32,
    model_mib: f64,
}

impl<'a> Document<'a> {
    pub(super) fn new(config: &'a SynthConfig, inputs: &'a Inputs, release: &'a Release) -> Self {
        let domain = release.model.domain();
        let tables = inputs.public.iter();
        let rounds = release.rounds.iter().map(|round| Round {
            number: round.round,
            clique: round.clique.iter().map(|a| domain.name(a)).collect(),
            source: &round.provenance,
            stddev: round.stddev,
            candidates: round.candidates,
            loss: round.loss,
            oracle_calls: round.oracle_calls,
            model_mib: round.model_mib,
        });
        Self {
            format: "jointly-ledger",
            version: 1,
            private: release.is_private,
            note: if release.is_private {
                "spent is the sum of the entries, and at most the limit"
            } else {
                "NOT PRIVATE: the noise came from a fixed seed"
            },
            mechanism: release.mechanism,
            neighbors: release.relation,
            epsilon: config.budget.map(|budget| budget.epsilon.value()),
            delta: config.budget.map(Budget::delta),
            pure_epsilon: config
                .budget
                .filter(|budget| budget.delta.is_none())
                .and_then(|_| release.ledger.pure_epsilon()),
            unit: config.units.as_ref().map(Unit::of),
            public_tables: tables
                .map(|table| PublicTable { name: table.name(), records: table.records() })
                .collect(),
            rounds: rounds.collect(),
            certificate: release.certificate,
            ledger: &release.ledger,
        }
    }
}
