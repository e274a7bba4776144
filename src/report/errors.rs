//! The measured errors of the released table.

use serde::Serialize;

use crate::error_bars::{Interval, MarginalError};
use crate::report::Content;
use crate::report::format::percent;

/// Marginals in the list.
const WORST: usize = 12;

/// The errors, in words and as a list of the worst marginals.
#[derive(Serialize)]
pub(super) struct Errors {
    /// The first sentence about quality.
    sentence: String,
    /// What it cost, as a share of the budget.
    cost: String,
    /// No marginal is worse than this; `None` if nothing is known.
    none_above: Option<String>,
    /// Whether there are shrunk estimates.
    has_shrunk: bool,
    all: usize,
    worst: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    marginal: String,
    measured: String,
    shrunk: String,
}

/// `0.160 (0.157 to 0.163)`.
fn written(interval: Interval) -> String {
    let (shown, Interval { lower, upper, .. }) = (interval.shown(), interval);
    format!("{shown:.3} ({lower:.3} to {upper:.3})")
}

/// `None` if the errors were not measured.
pub(super) fn errors(content: &Content<'_>) -> Option<Errors> {
    let errors = content.release.errors()?;
    let (domain, ledger) = (content.release.model.domain(), &content.release.ledger);
    let cost = ledger.entries().last().map_or(0.0, |entry| entry.rho.to_f64());
    let row = |error: &&MarginalError| Row {
        marginal: domain.describe(&error.clique).replace(" x ", " \u{d7} "),
        measured: written(error.measured),
        shrunk: error.shrunk.map(written).unwrap_or_default(),
    };
    let mut sentence = errors.sentence();
    sentence.replace_range(..1, "T");
    Some(Errors {
        sentence,
        cost: percent((1e4 * cost / ledger.limit().to_f64()).round() / 1e4),
        // Two distributions are never further apart.
        none_above: errors.none_above.filter(|b| *b < 2.0).map(|bound| format!("{bound:.3}")),
        has_shrunk: errors.marginals.iter().any(|error| error.shrunk.is_some()),
        all: errors.marginals.len(),
        worst: errors.worst(WORST).iter().map(row).collect(),
    })
}
