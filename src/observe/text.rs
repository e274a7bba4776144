//! Events for readers and for programs.

use std::fmt;

use serde_json::{Value, json};

use super::{Event, Notice};
use crate::measurement::Provenance;
use crate::report::format::{bytes, grouped};

impl Notice {
    /// Whether it warns of a likely mistake or a loss; otherwise it informs.
    pub fn is_warning(&self) -> bool {
        !matches!(
            self,
            Self::CliquesLeftOut { .. }
                | Self::TotalsUnlisted { .. }
                | Self::UnlikelyMeasured { .. }
                | Self::RowsCompleted { .. }
                | Self::ForbiddenLeftToDraws { .. }
                | Self::Compressed { .. }
                | Self::PublicTablesUnused { .. }
                | Self::Replicate { .. }
        )
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CliquesLeftOut { left_out } => {
                write!(f, "{} cliques of the workload left out", grouped(*left_out as u64))
            }
            Self::TotalsUnlisted { totals, unlisted, cells } => write!(
                f,
                "totals '{totals}': {} of {} combinations are not listed, and are taken to have nobody",
                grouped(*unlisted),
                grouped(*cells),
            ),
            Self::TotalsUnmet { share } => write!(
                f,
                "the model's records cannot have all totals: in the farthest table {:.1} % of the people would have to change their \
                 cell (drawn records are adjusted to the totals afterwards; a public table with more kinds of records would help)",
                100.0 * share
            ),
            Self::UnlikelyMeasured { contradicted, of } => write!(
                f,
                "{} of {} unlikely combinations are dropped: what was measured contradicts them, or too many others",
                grouped(*contradicted),
                grouped(*of),
            ),
            Self::RowsCompleted { rows, left_out } => write!(
                f,
                "completed rows: {}; values of theirs left out of account, as the model has no record with them and the others: {}",
                grouped(*rows),
                grouped(*left_out),
            ),
            Self::ForbiddenLeftToDraws { left, of } => write!(
                f,
                "forbidden combinations on {} of {} sets of attributes would make too large a model: fits do not know them, and \
                 drawn records keep to all",
                grouped(*left),
                grouped(*of),
            ),
            Self::Compressed { attributes, before, after, .. } => write!(
                f,
                "rare values merged in {attributes} attributes: {} values became {}",
                grouped(*before),
                grouped(*after),
            ),
            Self::LargeWorkload { cells, attribute, values } => write!(
                f,
                "the marginals of the workload have {} cells, {} a table: this takes time and memory; \
                 attribute '{attribute}' alone has {} values (fewer values, or `max_cells` to leave large \
                 marginals out, would help)",
                grouped(*cells),
                bytes(4.0 * *cells as f64),
                grouped(*values),
            ),
            Self::PublicTablesUnused { mechanism } => write!(
                f,
                "{mechanism} makes no use of public tables: they are read for the report alone"
            ),
            Self::SpentBeforeFailure { spent, limit, ledger } => {
                write!(f, "rho = {spent} of {limit} was spent before the failure; ")?;
                match ledger {
                    None => f.write_str("no ledger could be written"),
                    Some(path) => write!(f, "it is recorded in {}", path.display()),
                }
            }
            Self::LedgerReplaced { ledger, spent } => write!(
                f,
                "{ledger} holds the ledger of an earlier run, which spent rho = {spent}; it will be replaced. If the \
                 private records are the same, count it: keep a copy, and give it as `ledger_from`",
                ledger = ledger.display()
            ),
            Self::LargeDelta { delta, records } => write!(
                f,
                "delta {delta:e} is at least 1 / {}, the number of records: a mechanism that publishes a random \
                 record has such a delta; expected one far below",
                grouped(*records)
            ),
            Self::LargeEpsilon { epsilon } => {
                write!(
                    f,
                    "epsilon {epsilon} gives almost no protection; common values are 0.1 to 10"
                )
            }
            Self::SameRows { table } => write!(
                f,
                "public table {table} has the same rows as the private table; what it contributes is not protected. \
                 This warning depends on the private rows: do not publish it"
            ),
            Self::SpentInCheckpoint { folder } => write!(
                f,
                "what was spent is in {}: the same command resumes from it",
                folder.display()
            ),
            Self::Replicate { number, of } => {
                write!(f, "replicate {number} of {of}, from the released table, at no privacy cost")
            }
            Self::OutputsMissing { spent } => {
                write!(f, "rho = {spent} was spent; not all output files were written")
            }
        }
    }
}

impl Event {
    /// The event's name and its facts, as the JSON log has them; `None` for a notice that has only a text.
    pub fn facts(&self) -> Option<(&'static str, Value)> {
        Some(match self {
            Self::FittingPublicTables { mechanism } => {
                ("fitting-public-tables", json!({ "mechanism": mechanism }))
            }
            Self::Started { mechanism, rounds, first_round, candidates, limit } => (
                "started",
                json!({ "mechanism": mechanism, "rounds": rounds, "first_round": first_round,
                        "cliques": candidates, "rho_limit": limit.to_f64() }),
            ),
            Self::Scored { round, candidates, exact, sampled } => (
                "scored",
                json!({ "round": round, "candidates": candidates, "exact": exact,
                        "sampled": sampled }),
            ),
            Self::Measured { round, rounds, clique, provenance, stddev, spent, limit } => (
                "measured",
                json!({ "round": round, "rounds": rounds, "clique": clique,
                        "source": source(provenance), "stddev": stddev,
                        "rho_spent": spent.to_f64(), "rho_limit": limit.to_f64() }),
            ),
            Self::Fitted { round, fit } => ("fitted", json!({ "round": round, "fit": fit })),
            Self::Certified(certificate) => ("certified", json!(certificate)),
            Self::Notice(Notice::CliquesLeftOut { left_out }) => {
                ("workload", json!({ "left_out": left_out }))
            }
            Self::Notice(Notice::TotalsUnlisted { totals, unlisted, cells }) => {
                ("totals", json!({ "totals": totals, "unlisted": unlisted, "cells": cells }))
            }
            Self::Notice(Notice::UnlikelyMeasured { contradicted, of }) => {
                ("unlikely", json!({ "contradicted": contradicted, "of": of }))
            }
            Self::Notice(Notice::RowsCompleted { rows, left_out }) => {
                ("completed", json!({ "rows": rows, "values_left_out": left_out }))
            }
            Self::Notice(Notice::ForbiddenLeftToDraws { left, of }) => {
                ("forbidden", json!({ "left_to_draws": left, "of": of }))
            }
            Self::Notice(Notice::Compressed { attributes, before, after, spent, limit }) => (
                "compressed",
                json!({
                    "attributes": attributes,
                    "before": before,
                    "after": after,
                    "rho_spent": spent.to_f64(),
                    "rho_limit": limit.to_f64(),
                }),
            ),
            Self::Notice(Notice::PublicTablesUnused { mechanism }) => {
                ("public", json!({ "mechanism": mechanism, "used": false }))
            }
            Self::Notice(Notice::Replicate { number, of }) => {
                ("replicate", json!({ "number": number, "of": of, "rho": 0 }))
            }
            Self::Notice(_) => return None,
        })
    }
}

/// The source of a marginal.
fn source(provenance: &Provenance) -> Value {
    match provenance {
        Provenance::Private => json!({ "kind": "private" }),
        Provenance::Public { source } => json!({ "kind": "public", "table": source }),
    }
}
