//! The measured errors of the released table.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::error_bars::{Interval, MarginalError, MeasuredErrors};
use crate::report::Content;
use crate::report::format::{counted, percent};

/// Marginals in the list.
const WORST: usize = 12;

/// The errors, in words and as a list of the worst marginals.
#[derive(Serialize)]
pub(super) struct Errors {
    /// The first sentence about quality, for everybody.
    words: String,
    /// The same as an L1 distance.
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

/// The mean error for readers who know no L1 distance: `on average over 4,960 three-way tables, 8.0 % ± 0.2 % of the records would
/// have to change their cell (95 %, measured privately)`. Half of an L1 distance of frequencies is the share that is elsewhere.
///
/// `records`: what they are called: units, where each is one record with its members.
pub fn in_words(errors: &MeasuredErrors, records: &str) -> String {
    const NUMBERS: [&str; 6] = ["one", "two", "three", "four", "five", "six"];
    let sizes: BTreeSet<usize> = errors.marginals.iter().map(|m| m.clique.len()).collect();
    let number = sizes.first().and_then(|size| NUMBERS.get(size.wrapping_sub(1)));
    let all = errors.marginals.len() as u64;
    let tables = match (sizes.len(), number) {
        (0, _) => "the tables of the workload".to_owned(),
        (1, Some(number)) => counted(all, &format!("{number}-way table")),
        _ => format!("{} of the workload", counted(all, "table")),
    };
    let (found, left_out) = (errors.shown_mean(50.0, " %"), errors.says_left_out());
    format!(
        "on average over {tables}, {found} of the {records} would have to change their cell (95 %, measured \
         privately){left_out}"
    )
}

/// A sentence that begins with a capital letter.
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
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
    let records = content.records_are_called();
    let [words, sentence] =
        [in_words(errors, records), errors.sentence()].map(|text| capitalized(&text));
    Some(Errors {
        words,
        sentence,
        cost: percent((1e4 * cost / ledger.limit().to_f64()).round() / 1e4),
        // Two distributions are never further apart.
        none_above: errors.none_above.filter(|b| *b < 2.0).map(|bound| format!("{bound:.3}")),
        has_shrunk: errors.marginals.iter().any(|error| error.shrunk.is_some()),
        all: errors.marginals.len(),
        worst: errors.worst(WORST).iter().map(row).collect(),
    })
}
