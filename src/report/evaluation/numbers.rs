//! Numeric columns: means, quantiles and distances, and pictures of the quantiles.

use serde::Serialize;

use crate::evaluation::{ColumnComparison, NumberSummary};
use crate::report::format::number;
use crate::report::format::percent;
use crate::report::marginals::round;

/// Size of a picture, in SVG units.
const WIDTH: f64 = 240.0;

/// A column's line of the table.
#[derive(Serialize)]
pub(super) struct Row {
    name: String,
    /// Mean, median, 5 % and 95 % quantile, each real and synthetic.
    cells: Vec<String>,
    difference: String,
    wasserstein: String,
    outside: String,
    missing: [String; 2],
}

impl Row {
    pub(super) fn new(column: &ColumnComparison) -> Self {
        let of: [fn(&NumberSummary) -> f64; 4] = [|s| s.mean, |s| s.median, |s| s.p5, |s| s.p95];
        let value = |summary: Option<NumberSummary>, of: fn(&NumberSummary) -> f64| {
            summary.map_or_else(|| "\u{2013}".into(), |s| number(of(&s), column.is_date))
        };
        let cells = of.into_iter().flat_map(|of| [column.real, column.synthetic].map(|s| (s, of)));
        let distance = |x: Option<f64>| x.map_or_else(|| "\u{2013}".into(), |x| format!("{x:.3}"));
        let share = |share: f64| percent((1e4 * share).round() / 1e4);
        Self {
            name: column.name.clone(),
            cells: cells.map(|(summary, of)| value(summary, of)).collect(),
            difference: distance(column.mean_difference),
            wasserstein: distance(column.wasserstein),
            outside: share(column.outside),
            missing: [share(column.real_missing), share(column.synthetic_missing)],
        }
    }
}

/// A picture of a column's quantiles in both tables: a line from 5 % to 95 %, a box from 25 % to 75 %, and the median.
#[derive(Serialize)]
pub(super) struct Boxes {
    name: String,
    alt: String,
    width: f64,
    ends: [String; 2],
    tables: Vec<Quantiles>,
}

#[derive(Serialize)]
struct Quantiles {
    class: &'static str,
    title: String,
    y: f64,
    /// Places of the 5 %, 25 %, 50 %, 75 % and 95 % quantile, and of the mean.
    at: [f64; 5],
    width: f64,
    mean: f64,
}

impl Boxes {
    /// `None` if a table has no number in the column.
    pub(super) fn new(column: &ColumnComparison) -> Option<Self> {
        let both = [("real", "soft", column.real?), ("synthetic", "private", column.synthetic?)];
        let all = both.iter().flat_map(|(_, _, s)| [s.p5, s.p95, s.mean]);
        let (low, high) =
            all.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), x| (l.min(x), h.max(x)));
        let span = if high > low { high - low } else { 1.0 };
        let place = |x: f64| round(WIDTH * (x - low) / span);
        let text = |x: f64| number(x, column.is_date);
        let boxes = both.iter().enumerate().map(|(line, (name, class, s))| {
            let at = [s.p5, s.p25, s.median, s.p75, s.p95];
            let quantiles = at.map(text).join(", ");
            let at = at.map(place);
            Quantiles {
                class,
                title: format!("{name}: mean {}; 5, 25, 50, 75, 95 %: {quantiles}", text(s.mean)),
                y: 10.0 + 18.0 * line as f64,
                width: (at[3] - at[1]).max(1.0),
                at,
                mean: place(s.mean),
            }
        });
        let boxes: Vec<Quantiles> = boxes.collect();
        let alt = boxes.iter().map(|one| one.title.as_str()).collect::<Vec<_>>().join(". ");
        let (name, ends) = (column.name.clone(), [text(low), text(high)]);
        Some(Self { alt: format!("{name}. {alt}"), name, width: WIDTH, ends, tables: boxes })
    }
}
