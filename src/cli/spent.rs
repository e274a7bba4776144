//! The ledger file of a command that makes no table, or fails to, and how a later run reads it.

use std::path::Path;

use jointly::Error;
use jointly::data::Units;
use jointly::privacy::{Curator, Ledger, NeighboringRelation};
use serde::{Deserialize, Serialize};

use super::config::Budget;
use super::failure::Outcome;
use super::output;

/// What is written; a reader heeds these members and no others. It holds publishable numbers only.
#[derive(Serialize)]
pub(super) struct Document<'a> {
    pub(super) format: &'static str,
    pub(super) version: u32,
    /// Whether the guarantee holds: false when the noise came from a fixed seed.
    pub(super) private: bool,
    /// The command that spent.
    pub(super) mechanism: &'static str,
    pub(super) neighbors: NeighboringRelation,
    pub(super) epsilon: f64,
    pub(super) delta: f64,
    pub(super) ledger: &'a Ledger,
}

impl<'a> Document<'a> {
    /// What a curator has spent of a budget.
    pub(super) fn new(command: &'static str, budget: Budget, curator: &'a Curator<'_>) -> Self {
        Self {
            format: "jointly-ledger",
            version: 1,
            private: curator.is_private(),
            mechanism: command,
            neighbors: curator.relation(),
            epsilon: budget.epsilon.value(),
            delta: budget.delta(),
            ledger: curator.ledger(),
        }
    }

    pub(super) fn write(&self, path: &Path) -> Outcome {
        output::write_json(path, self)
    }

    /// Writes it with the unit of privacy, where it is not a record.
    pub(super) fn write_for(&self, units: Option<&Units>, path: &Path) -> Outcome {
        let unit = units.map(Unit::of);
        output::write_json(path, &WithUnit { document: self, unit })
    }
}

/// A unit of privacy: its column, and the records of it that count.
#[derive(Serialize)]
pub(super) struct Unit<'a> {
    column: &'a str,
    max_records: u32,
}

impl<'a> Unit<'a> {
    pub(super) fn of(units: &'a Units) -> Self {
        Self { column: units.column(), max_records: units.most() }
    }
}

#[derive(Serialize)]
struct WithUnit<'a> {
    #[serde(flatten)]
    document: &'a Document<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<Unit<'a>>,
}

#[derive(Deserialize)]
struct Earlier {
    format: String,
    version: u32,
    private: bool,
    neighbors: NeighboringRelation,
    unit: Option<EarlierUnit>,
    ledger: Ledger,
}

/// Of the unit's members only the column: how many records count is in the relation.
#[derive(Deserialize)]
struct EarlierUnit {
    column: String,
}

/// Reads what an earlier command has spent on the same records.
///
/// `neighbors` and `units`: what differs between neighbors in this run. `seeded`: whether the run is to be repeatable and not private, so that an earlier one may be too.
pub(super) fn read(
    path: &Path,
    neighbors: NeighboringRelation,
    units: Option<&Units>,
    seeded: bool,
) -> Outcome<Ledger> {
    let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
        action: "read",
        path: path.into(),
        source,
    })?;
    let place = || path.display().to_string();
    let refused =
        |found: String, expected: &str| Error::invalid_specification(place(), found, expected);
    let earlier: Earlier = serde_json::from_str(&text)
        .map_err(|error| refused(error.to_string(), "a ledger as written by --ledger"))?;
    // The answers of `answer` have their ledger with them.
    if !matches!(earlier.format.as_str(), "jointly-ledger" | "jointly-answers")
        || earlier.version != 1
    {
        let found = format!("format '{}', version {}", earlier.format, earlier.version);
        return Err(refused(found, "format 'jointly-ledger', version 1").into());
    }
    if earlier.neighbors != neighbors {
        let found = format!("neighbors {}", earlier.neighbors);
        return Err(refused(found, &format!("{neighbors}, as in this run")).into());
    }
    let own = units.map_or("a record", Units::column);
    let its = earlier.unit.as_ref().map_or("a record", |unit| unit.column.as_str());
    if own != its {
        return Err(refused(format!("units by {its}"), &format!("by {own}, as in this run")).into());
    }
    if !earlier.private && !seeded {
        let found = "a run with a fixed seed, which is NOT PRIVATE".to_owned();
        return Err(refused(found, "a private one, or --seed in this run too").into());
    }
    Ok(earlier.ledger)
}
