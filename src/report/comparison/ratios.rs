//! How far each mechanism is from the best one, over all data sets and values of epsilon.

use std::fmt::Write;

use serde::Serialize;

use super::plot::{Axis, Tick};
use super::{Comparison, Group, color};
use crate::report::format::short;

/// Size of a picture, in SVG units.
const WIDTH: f64 = 180.0;
const HEIGHT: f64 = 80.0;

/// A small picture for each mechanism, the closest to the best first.
#[derive(Serialize)]
pub(super) struct Ratios {
    width: f64,
    height: f64,
    ticks: Vec<Tick>,
    /// The first and the last epsilon.
    ends: [String; 2],
    charts: Vec<Chart>,
}

/// A mechanism: a line for each data set over the epsilons.
#[derive(Serialize)]
struct Chart {
    mechanism: String,
    /// The geometric mean of its ratios.
    mean: String,
    alt: String,
    lines: Vec<Line>,
    #[serde(skip)]
    order: f64,
}

#[derive(Serialize)]
struct Line {
    title: String,
    /// Points as `x,y x,y`.
    path: String,
    marks: Vec<[f64; 2]>,
}

/// The error of a mechanism over the least error of any mechanism, on one data set at one epsilon.
struct Ratio<'a> {
    mechanism: &'a str,
    data: &'a str,
    epsilon: f64,
    value: f64,
}

impl Ratios {
    /// `sets`: the groups of each data set, with its name. `None` if no two mechanisms have a result in common.
    pub(super) fn new(
        comparison: &Comparison<'_>,
        sets: &[(&str, Vec<Group<'_>>)],
    ) -> Option<Self> {
        let ratios: Vec<Ratio<'_>> =
            sets.iter().flat_map(|(data, groups)| of_set(comparison, data, groups)).collect();
        if ratios.iter().all(|found| found.value <= 1.0) {
            return None;
        }
        let x = Axis::new(comparison.epsilons.iter().copied(), 1.1, [4.0, WIDTH - 4.0]);
        let y = Axis::new(ratios.iter().map(|found| found.value), 1.0, [HEIGHT, 0.0]);
        let charts = comparison.mechanisms.iter().filter_map(|mechanism| {
            let own: Vec<&Ratio<'_>> =
                ratios.iter().filter(|r| r.mechanism == *mechanism).collect();
            Chart::new(mechanism, &own, &x, &y)
        });
        let mut charts: Vec<Chart> = charts.collect();
        charts.sort_by(|a, b| a.order.total_cmp(&b.order));
        let ends = [comparison.epsilons.first(), comparison.epsilons.last()];
        let ends = ends.map(|epsilon| epsilon.map_or_else(String::new, f64::to_string));
        Some(Self { width: WIDTH, height: HEIGHT, ticks: ticks(&y), ends, charts })
    }
}

impl Chart {
    /// `None` if the mechanism has no result.
    fn new(mechanism: &str, own: &[&Ratio<'_>], x: &Axis, y: &Axis) -> Option<Self> {
        let worst = own.iter().max_by(|a, b| a.value.total_cmp(&b.value))?;
        let order = own.iter().map(|found| found.value.ln()).sum::<f64>() / own.len() as f64;
        let mut lines: Vec<Line> = Vec::new();
        for found in own {
            if lines.last().is_none_or(|line| line.title != found.data) {
                let title = found.data.to_owned();
                lines.push(Line { title, path: String::new(), marks: Vec::new() });
            }
            if let Some(line) = lines.last_mut() {
                let at = [x.place(found.epsilon), y.place(found.value)];
                _ = write!(line.path, "{:.1},{:.1} ", at[0], at[1]);
                line.marks.push(at);
            }
        }
        let mean = percent_above(order.exp());
        let alt = format!(
            "{mechanism}: {mean} above the best mechanism in the mean, at most {} (on {}, epsilon {})",
            percent_above(worst.value),
            worst.data,
            worst.epsilon
        );
        Some(Self { mechanism: mechanism.to_owned(), mean, alt, lines, order })
    }
}

/// The ratios of a data set, mechanism by mechanism.
fn of_set<'a>(comparison: &Comparison<'_>, data: &'a str, groups: &[Group<'a>]) -> Vec<Ratio<'a>> {
    let error = |group: &Group<'_>| group.values(|row| Some(row.workload_error)).map(|e| e.mean);
    let mechanisms = || groups.iter().filter(|g| color(comparison, g.mechanism).is_some());
    // A mechanism that spends nothing has the same error at every epsilon.
    let is_at = |group: &Group<'_>, epsilon: f64| {
        group.epsilon.is_none_or(|own| own.total_cmp(&epsilon).is_eq())
    };
    let mut found = Vec::new();
    for epsilon in comparison.epsilons {
        let here = || mechanisms().filter(|group| is_at(group, *epsilon));
        let least = here().filter_map(error).filter(|e| *e > 0.0).fold(f64::INFINITY, f64::min);
        for group in here().filter(|_| here().count() > 1) {
            let ratio = error(group).map(|error| error / least).filter(|ratio| *ratio >= 1.0);
            let Some(value) = ratio.filter(|ratio| ratio.is_finite()) else { continue };
            found.push(Ratio { mechanism: group.mechanism, data, epsilon: *epsilon, value });
        }
    }
    found.sort_by_key(|found| color(comparison, found.mechanism));
    found
}

/// A few round ratios that are on the axis, with room between them.
fn ticks(axis: &Axis) -> Vec<Tick> {
    const ROOM: f64 = 16.0;
    let ratios = [1.0, 1.02, 1.05, 1.1, 1.2, 1.5, 2.0, 3.0, 5.0, 10.0, 20.0, 50.0, 100.0, 1000.0];
    let mut ticks: Vec<Tick> = Vec::new();
    for ratio in ratios {
        let at = axis.place(ratio);
        if at >= 0.0 && ticks.last().is_none_or(|last| last.at - at >= ROOM) {
            ticks.push(Tick { at, label: short(ratio) });
        }
    }
    ticks
}

/// `12 %`, how much a ratio is above 1.
fn percent_above(ratio: f64) -> String {
    format!("{} %", short((1000.0 * (ratio - 1.0)).round() / 10.0))
}

#[cfg(test)]
mod tests;
