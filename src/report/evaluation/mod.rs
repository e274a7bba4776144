//! The page of an evaluation: the real table beside the synthetic one, as self-contained HTML. Its numbers are computed from
//! the real records and are **not private**: the page is for the holder of the records alone.

mod columns;
mod numbers;
mod pairs;
mod text;

use serde::Serialize;

use super::format::{grouped, number, short};
use super::{Card, filled};
use crate::domain::Schema;
use crate::error::Result;
use crate::evaluation::{Estimate, Measures, NumberComparison, RegressionComparison, Weighted};

pub use text::text;

/// Groups of records shown, at most.
const GROUPS: usize = 24;

/// What the page shows. **Not private.**
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// Names of the real and the synthetic table.
    pub names: [String; 2],
    /// Columns and the meanings of their codes.
    pub schema: &'a Schema,
    /// The real and the synthetic table.
    pub tables: [Weighted<'a>; 2],
    /// What was measured.
    pub measures: &'a Measures,
}

/// What the template is filled with.
#[derive(Serialize)]
struct Contents {
    version: &'static str,
    subtitle: String,
    /// How large the error is, in a sentence.
    verdict: Option<String>,
    cards: Vec<Card>,
    measures: Vec<(String, String)>,
    columns: Vec<columns::Chart>,
    pairs: Vec<pairs::Pair>,
    worst: Vec<[String; 4]>,
    numbers: Option<Numbers>,
    regressions: Vec<Terms>,
}

#[derive(Serialize)]
struct Numbers {
    rows: Vec<numbers::Row>,
    charts: Vec<numbers::Boxes>,
    correlations: Vec<String>,
    groups: Vec<Group>,
    groups_left_out: usize,
}

#[derive(Serialize)]
struct Group {
    name: String,
    rows: Vec<numbers::Row>,
}

/// A regression.
#[derive(Serialize)]
struct Terms {
    name: String,
    rows: Vec<[String; 4]>,
}

/// Renders the page. Names are escaped.
///
/// # Errors
/// Tables over other domains, a table without records, a marginal that does not fit in memory, or a failure of the template
/// engine.
pub fn render(page: &Page<'_>) -> Result<String> {
    let (measures, error) = (page.measures, &page.measures.error);
    let worst = error.worst.iter().map(|worst| {
        [worst.clique.join(" \u{d7} "), short(worst.l1), short(worst.max), grouped(worst.cells)]
    });
    let [real, synthetic] = &page.names;
    let contents = Contents {
        version: env!("CARGO_PKG_VERSION"),
        subtitle: measures.weight.as_ref().map_or_else(
            || format!("{synthetic} (synthetic) beside {real} (real)"),
            |weight| format!("{synthetic} (synthetic) beside {real} (real), weighted by {weight}"),
        ),
        verdict: text::verdict(measures),
        cards: cards(measures),
        measures: text::rows(measures),
        columns: columns::charts(page)?,
        pairs: pairs::worst(page)?,
        worst: worst.collect(),
        numbers: measures.numbers.as_ref().map(|found| Numbers {
            rows: found.columns.iter().map(numbers::Row::new).collect(),
            charts: found.columns.iter().filter_map(numbers::Boxes::new).collect(),
            correlations: correlations(found),
            groups: groups(found),
            groups_left_out: found.groups.len().saturating_sub(GROUPS),
        }),
        regressions: measures.regressions.iter().map(terms).collect(),
    };
    filled(include_str!("page.html"), &contents)
}

fn cards(measures: &Measures) -> Vec<Card> {
    let error = &measures.error;
    vec![
        Card {
            name: "Records",
            value: grouped(measures.synthetic_records as u64),
            note: format!("synthetic; {} real", grouped(measures.real_records as u64)),
        },
        Card {
            name: "Workload error",
            value: short(error.mean_l1),
            note: format!("mean L1 distance of {} marginals, 0 to 2", grouped(error.cliques)),
        },
        Card {
            name: "Without any dependence",
            value: short(measures.independent_error),
            note: "error of the real columns, taken as independent".into(),
        },
        Card {
            name: "A random half",
            value: measures.yardstick.map_or_else(|| "\u{2013}".into(), |y| short(y.half_error)),
            note: "error of a random half of the real records".into(),
        },
        Card {
            name: "Worst marginal",
            value: short(error.max_l1),
            note: error.worst.first().map_or_else(String::new, |w| w.clique.join(" \u{d7} ")),
        },
        Card {
            name: "Largest error of a cell",
            value: short(error.max_query),
            note: format!("of {} cells; mean {}", grouped(error.queries), short(error.mean_query)),
        },
    ]
}

fn correlations(found: &NumberComparison) -> Vec<String> {
    let named = [("Pearson", &found.pearson), ("rank", &found.spearman)];
    let named = named.into_iter().filter_map(|(name, found)| Some((name, found.as_ref()?)));
    let text = |(name, found): (&str, &crate::evaluation::DependenceDifference)| {
        let (mean, max) = (short(found.mean), short(found.max));
        let worst = found.worst.join(" \u{d7} ");
        format!("Difference in {name} correlation: {mean} in the mean, {max} at most ({worst}).")
    };
    named.map(text).collect()
}

fn groups(found: &NumberComparison) -> Vec<Group> {
    let group = |group: &crate::evaluation::GroupComparison| Group {
        name: format!(
            "{}: {} real records, {} synthetic ones",
            group.values.join(", "),
            grouped(group.real_records),
            grouped(group.synthetic_records)
        ),
        rows: group.columns.iter().map(numbers::Row::new).collect(),
    };
    found.groups.iter().take(GROUPS).map(group).collect()
}

fn terms(found: &RegressionComparison) -> Terms {
    let estimate = |estimate: Option<Estimate>| {
        let shown = |e: Estimate| {
            let [value, low, high] = [e.value, e.low, e.high].map(|x| number(x, false));
            format!("{value} [{low}, {high}]")
        };
        estimate.map_or_else(|| "\u{2013}".into(), shown)
    };
    let row = |term: &crate::evaluation::TermComparison| {
        let overlap = term.overlap.map_or_else(|| "\u{2013}".into(), |share| format!("{share:.2}"));
        [term.term.clone(), estimate(term.real), estimate(term.synthetic), overlap]
    };
    Terms { name: found.formula.clone(), rows: found.terms.iter().map(row).collect() }
}

#[cfg(test)]
mod tests;
