//! Comparisons of numbers as tables of text.

use std::fmt::Write;

use super::format::{grouped, number, percent, short};
use crate::evaluation::{
    ColumnComparison, Estimate, NumberComparison, NumberSummary, RegressionComparison,
};

/// A column whose bins leave this much unseen is named, in spreads.
const WIDE: f64 = 0.1;

/// The columns with their means, medians and distances, the groups if there are any, and what bins hide.
pub(super) fn numbers(found: &NumberComparison) -> String {
    let mut text = String::from(
        "\nNumbers (difference: of the means; it and the Wasserstein distance in real standard deviations;\n\
         outside: synthetic numbers beyond the real minimum or maximum):\n",
    );
    columns(&mut text, &found.columns);
    for (name, difference) in
        [("Pearson correlation", &found.pearson), ("Rank correlation", &found.spearman)]
    {
        let Some(difference) = difference else { continue };
        let (mean, max) = (short(difference.mean), short(difference.max));
        let worst = difference.worst.join(" x ");
        _ = writeln!(text, "{name}, difference: {mean} in the mean, {max} at most ({worst})");
    }
    let wide = |column: &&ColumnComparison| column.unseen.is_some_and(|unseen| unseen > WIDE);
    let wide: Vec<String> = found
        .columns
        .iter()
        .filter(wide)
        .map(|column| format!("{} ({})", column.name, short(column.unseen.unwrap_or_default())))
        .collect();
    if !wide.is_empty() {
        _ = writeln!(
            text,
            "Wide bins can hide this error of the mean (in standard deviations) from the workload error: {}.",
            wide.join(", ")
        );
    }
    for group in &found.groups {
        let (real, synthetic) = (grouped(group.real_records), grouped(group.synthetic_records));
        let values = group.values.join(", ");
        _ = writeln!(text, "\n{values}: {real} real records, {synthetic} synthetic ones");
        columns(&mut text, &group.columns);
    }
    text
}

fn columns(text: &mut String, columns: &[ColumnComparison]) {
    let width = columns.iter().map(|column| column.name.chars().count()).max().unwrap_or(0).max(6);
    let header = [
        "column",
        "mean, real",
        "synthetic",
        "median, real",
        "synthetic",
        "difference",
        "Wasserstein",
        "outside",
    ];
    row(text, width, header.map(str::to_owned));
    for column in columns {
        let number = |summary: Option<NumberSummary>, of: fn(&NumberSummary) -> f64| {
            summary.map_or_else(|| "-".into(), |s| number(of(&s), column.is_date))
        };
        let distance = |x: Option<f64>| x.map_or_else(|| "-".into(), |x| format!("{x:.3}"));
        let cells = [
            column.name.clone(),
            number(column.real, |s| s.mean),
            number(column.synthetic, |s| s.mean),
            number(column.real, |s| s.median),
            number(column.synthetic, |s| s.median),
            distance(column.mean_difference),
            distance(column.wasserstein),
            percent((1e4 * column.outside).round() / 1e4),
        ];
        row(text, width, cells);
    }
}

/// A line of the table; the first column has this width.
fn row(text: &mut String, width: usize, cells: [String; 8]) {
    let [name, mean, other, median, other_median, difference, distance, outside] = cells;
    _ = writeln!(
        text,
        "{name:<width$}{mean:>12}{other:>12}{median:>14}{other_median:>12}{difference:>12}{distance:>13}{outside:>9}"
    );
}

/// A regression's terms with their coefficients and intervals.
pub(super) fn regression(found: &RegressionComparison) -> String {
    let (real, synthetic) = (grouped(found.real_records), grouped(found.synthetic_records));
    let mut text = format!(
        "\n{} ({real} real records, {synthetic} synthetic ones; coefficients with 95 % intervals):\n",
        found.formula
    );
    let width = found.terms.iter().map(|term| term.term.chars().count()).max().unwrap_or(0).max(4);
    _ = writeln!(text, "{:<width$}  {:>34}  {:>34}{:>9}", "term", "real", "synthetic", "overlap");
    for term in &found.terms {
        let estimate = |estimate: Option<Estimate>| {
            let shown =
                |e: Estimate| format!("{} [{}, {}]", short(e.value), short(e.low), short(e.high));
            estimate.map_or_else(|| "-".into(), shown)
        };
        _ = writeln!(
            text,
            "{:<width$}  {:>34}  {:>34}{:>9}",
            term.term,
            estimate(term.real),
            estimate(term.synthetic),
            term.overlap.map_or_else(|| "-".into(), |share| format!("{share:.2}")),
        );
    }
    text
}
