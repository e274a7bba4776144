//! The plot for a data set: workload error against epsilon on logarithmic axes, as SVG coordinates.

use std::fmt::Write;

use serde::Serialize;

use super::{Comparison, Group, color, described};
use crate::report::format::short;

/// Size of the plot area, in SVG units.
const WIDTH: f64 = 300.0;
const HEIGHT: f64 = 230.0;

/// Horizontal distance between two mechanisms' marks at one epsilon, so that their bars do not overlap.
const DODGE: f64 = 1.6;

/// The content that the template draws. Coordinates are in SVG units, with y downward.
#[derive(Serialize)]
pub(super) struct Plot {
    width: f64,
    height: f64,
    x_ticks: Vec<Tick>,
    y_ticks: Vec<Tick>,
    lines: Vec<Line>,
    references: Vec<Reference>,
    legend: Vec<(usize, String)>,
}

#[derive(Serialize)]
pub(super) struct Tick {
    pub(super) at: f64,
    pub(super) label: String,
}

/// The curve of a mechanism over the epsilons.
#[derive(Serialize)]
struct Line {
    color: usize,
    /// Points as `x,y x,y`.
    path: String,
    marks: Vec<Mark>,
}

/// The mean over the seeds, with a bar from the minimum to the maximum.
#[derive(Serialize)]
struct Mark {
    x: f64,
    y: f64,
    least: f64,
    most: f64,
    title: String,
}

/// A value that does not depend on epsilon, as a horizontal line.
#[derive(Serialize)]
struct Reference {
    /// `None` if it is not a mechanism.
    color: Option<usize>,
    y: f64,
    label: String,
    title: String,
}

impl Plot {
    /// `groups`: the groups of one data set, sorted by mechanism and epsilon.
    pub(super) fn new(comparison: &Comparison<'_>, groups: &[Group<'_>]) -> Self {
        let errors = || groups.iter().filter_map(|g| g.values(|row| Some(row.workload_error)));
        let x = Axis::new(comparison.epsilons.iter().copied(), 1.25, [24.0, WIDTH - 24.0]);
        let y = Axis::new(errors().flat_map(|e| [e.least, e.most]), 1.06, [HEIGHT, 0.0]);
        let names = &comparison.mechanisms;
        let middle = (names.len() as f64 - 1.0) / 2.0;
        let (mut lines, mut references): (Vec<Line>, Vec<Reference>) = (Vec::new(), Vec::new());
        for group in groups {
            let Some(spread) = group.values(|row| Some(row.workload_error)) else { continue };
            let color = color(comparison, group.mechanism);
            let title = format!("{}: {}", group.mechanism, described(spread));
            let (Some(epsilon), Some(color)) = (group.epsilon, color) else {
                let y = y.place(spread.mean);
                let label = format!("{} {}", group.mechanism, short(spread.mean));
                references.push(Reference { color, y, label, title });
                continue;
            };
            if lines.last().is_none_or(|line| line.color != color) {
                lines.push(Line { color, path: String::new(), marks: Vec::new() });
            }
            let mark = Mark {
                x: x.place(epsilon) + DODGE * (color as f64 - middle),
                y: y.place(spread.mean),
                least: y.place(spread.least),
                most: y.place(spread.most),
                title: format!("{title}, epsilon {epsilon}, seeds: {}", group.rows.len()),
            };
            if let Some(line) = lines.last_mut() {
                _ = write!(line.path, "{:.1},{:.1} ", mark.x, mark.y);
                line.marks.push(mark);
            }
        }
        references.sort_by(|a, b| a.y.total_cmp(&b.y));
        let shown = lines.iter().map(|line| (line.color, names[line.color].to_owned()));
        Self {
            width: WIDTH,
            height: HEIGHT,
            x_ticks: comparison
                .epsilons
                .iter()
                .map(|epsilon| Tick { at: x.place(*epsilon), label: epsilon.to_string() })
                .collect(),
            y_ticks: y.ticks(),
            legend: shown.collect(),
            lines,
            references,
        }
    }
}

/// A logarithmic axis.
pub(super) struct Axis {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
}

impl Axis {
    /// Creates an axis that covers the positive values with a factor of `margin` at either end, between two
    /// coordinates.
    pub(super) fn new(
        values: impl Iterator<Item = f64>,
        margin: f64,
        [from, to]: [f64; 2],
    ) -> Self {
        let (low, high) = values
            .filter(|value| *value > 0.0)
            .fold((f64::INFINITY, 0.0_f64), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (1.0, 1.0) };
        Self { low: low / margin, high: high * margin, from, to }
    }

    /// The coordinate of a value. A value of 0 goes to the lower end.
    pub(super) fn place(&self, value: f64) -> f64 {
        let share = (value.max(self.low) / self.low).ln() / (self.high / self.low).ln();
        let at = self.from + share * (self.to - self.from);
        (10.0 * at).round() / 10.0
    }

    /// Round values within the range; more of them if the range is small.
    fn ticks(&self) -> Vec<Tick> {
        const STEPS: [&[f64]; 3] = [
            &[1.0, 2.0, 5.0],
            &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            &[
                1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1.9, 2.0, 2.2, 2.4, 2.6, 2.8, 3.0,
                3.5, 4.0, 4.5, 5.0, 5.5, 6.0, 6.5, 7.0, 7.5, 8.0, 8.5, 9.0, 9.5,
            ],
        ];
        #[expect(clippy::cast_possible_truncation, reason = "logarithms are small")]
        let decades = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
        let within = |steps: &[f64]| -> Vec<f64> {
            let values = decades.clone().flat_map(|d| {
                steps.iter().map(move |step| step * 10_f64.powi(d)).collect::<Vec<_>>()
            });
            values.filter(|value| (self.low..=self.high).contains(value)).collect()
        };
        let values = STEPS.iter().map(|steps| within(steps));
        let chosen = values.reduce(|chosen, more| if chosen.len() < 4 { more } else { chosen });
        let tick = |value: f64| Tick { at: self.place(value), label: short(value) };
        chosen.unwrap_or_default().into_iter().map(tick).collect()
    }
}

#[cfg(test)]
mod tests;
