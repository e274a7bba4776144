//! The page of a comparison: one plot and one table per data set, as self-contained HTML. Its numbers are errors
//! against the real records and are **not private**.

mod plot;
mod ratios;
mod row;

use serde::Serialize;

use super::filled;
use super::format::short;
use crate::error::Result;

use plot::Plot;
use ratios::Ratios;
pub use row::{Key, Row};

/// The settings of a comparison.
#[derive(Clone, Debug)]
pub struct Comparison<'a> {
    /// The title of the page.
    pub title: Option<&'a str>,
    /// δ of all runs.
    pub delta: f64,
    /// The values of ε.
    pub epsilons: &'a [f64],
    /// Names of the data sets, in order.
    pub data: Vec<&'a str>,
    /// Names of the mechanisms, in order.
    pub mechanisms: Vec<&'a str>,
}

#[derive(Serialize)]
struct Page {
    version: &'static str,
    title: String,
    subtitle: String,
    ratios: Option<Ratios>,
    sets: Vec<Set>,
}

#[derive(Serialize)]
struct Set {
    name: String,
    plot: Plot,
    /// Names of the measures in addition to the workload error.
    measures: Vec<&'static str>,
    lines: Vec<Line>,
}

/// A row of the table: one mechanism at one epsilon, over all seeds.
#[derive(Serialize)]
struct Line {
    color: Option<usize>,
    mechanism: String,
    epsilon: String,
    seeds: usize,
    error: String,
    public: String,
    seconds: String,
    cpu_seconds: String,
    peak_mib: String,
    measures: Vec<String>,
}

/// All seeds of one mechanism at one epsilon.
pub(super) struct Group<'a> {
    pub(super) mechanism: &'a str,
    pub(super) epsilon: Option<f64>,
    pub(super) rows: Vec<&'a Row>,
}

/// A measure in addition to the workload error: its name and a function that reads it from a row.
type Extra = (&'static str, fn(&Row) -> Option<f64>);

const EXTRAS: [Extra; 11] = [
    ("k-marginal score", |row| row.k_marginal),
    ("pMSE ratio", |row| row.pmse_ratio),
    ("Pearson, mean difference", |row| row.pearson_mean),
    ("Pearson, largest", |row| row.pearson_max),
    ("Cramér's V, mean difference", |row| row.cramers_v_mean),
    ("Cramér's V, largest", |row| row.cramers_v_max),
    ("unique matches, share", |row| row.unique_share),
    ("against edit rules, share", |row| row.edit_share),
    ("group score", |row| row.group_score),
    ("means of numbers, difference", |row| row.mean_difference),
    ("Wasserstein distance of numbers", |row| row.wasserstein),
];

/// Renders the page of all finished runs.
///
/// # Errors
/// A failure of the template engine.
pub fn render(comparison: &Comparison<'_>, rows: &[Row]) -> Result<String> {
    let sets = comparison.data.iter().filter_map(|name| Set::new(comparison, name, rows));
    let all = comparison.data.iter().map(|name| (*name, groups(comparison, name, rows)));
    let page = Page {
        version: env!("CARGO_PKG_VERSION"),
        title: comparison.title.unwrap_or("Comparison").to_owned(),
        subtitle: format!("\u{3b4} = {:e}", comparison.delta),
        ratios: Ratios::new(comparison, &all.collect::<Vec<_>>()),
        sets: sets.collect(),
    };
    filled(include_str!("page.html"), &page)
}

/// The errors of all finished runs as text: a table for each data set. **Not private.**
pub fn text(comparison: &Comparison<'_>, rows: &[Row]) -> String {
    let mut text = String::new();
    for set in comparison.data.iter().filter_map(|name| Set::new(comparison, name, rows)) {
        let width = |of: fn(&Line) -> &str, head: &str| {
            set.lines
                .iter()
                .map(|line| of(line).chars().count())
                .chain([head.len()])
                .max()
                .unwrap_or(0)
        };
        let (first, error) =
            (width(|line| &line.mechanism, "mechanism"), width(|line| &line.error, "error"));
        let mut row = |cells: [&str; 5]| {
            let [mechanism, epsilon, seeds, found, seconds] = cells;
            let line = format!(
                "  {mechanism:<first$}  {epsilon:>7}  {seeds:>5}  {found:<error$}  {seconds:>7}"
            );
            text.push_str(line.trim_end());
            text.push('\n');
        };
        row([&set.name, "", "", "", ""]);
        row(["mechanism", "epsilon", "seeds", "error", "seconds"]);
        for line in &set.lines {
            let seeds = line.seeds.to_string();
            row([&line.mechanism, &line.epsilon, &seeds, &line.error, &line.seconds]);
        }
        text.push('\n');
    }
    text
}

impl Set {
    /// `None` if the data set has no results yet.
    fn new(comparison: &Comparison<'_>, name: &str, rows: &[Row]) -> Option<Self> {
        let groups = groups(comparison, name, rows);
        let shown = |extra: &&Extra| groups.iter().any(|g| g.values(extra.1).is_some());
        let extras: Vec<&Extra> = EXTRAS.iter().filter(shown).collect();
        (!groups.is_empty()).then(|| Self {
            name: name.to_owned(),
            plot: Plot::new(comparison, &groups),
            measures: extras.iter().map(|(name, _)| *name).collect(),
            lines: groups.iter().map(|group| group.line(comparison, &extras)).collect(),
        })
    }
}

/// The finished runs of a data set: first the baselines, then the mechanisms in the comparison's order, each sorted by
/// epsilon.
fn groups<'a>(comparison: &Comparison<'_>, name: &str, rows: &'a [Row]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in rows.iter().filter(|row| row.data == name) {
        let same = |g: &&mut Group<'_>| g.mechanism == row.mechanism && g.epsilon == row.epsilon;
        match groups.iter_mut().find(same) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                mechanism: &row.mechanism,
                epsilon: row.epsilon,
                rows: vec![row],
            }),
        }
    }
    let epsilon = |group: &Group<'_>| group.epsilon.unwrap_or(0.0);
    groups.sort_by(|a, b| {
        let place = |group: &Group<'_>| color(comparison, group.mechanism);
        place(a).cmp(&place(b)).then(epsilon(a).total_cmp(&epsilon(b)))
    });
    groups
}

/// The color of a mechanism, given by its position in the comparison; `None` for a baseline.
pub(super) fn color(comparison: &Comparison<'_>, mechanism: &str) -> Option<usize> {
    comparison.mechanisms.iter().position(|name| *name == mechanism)
}

/// Mean, minimum and maximum of some values.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) mean: f64,
    pub(super) least: f64,
    pub(super) most: f64,
}

impl Group<'_> {
    /// The spread of a value over the seeds; `None` if no row has it.
    pub(super) fn values(&self, value: fn(&Row) -> Option<f64>) -> Option<Spread> {
        let values: Vec<f64> = self.rows.iter().filter_map(|row| value(row)).collect();
        let fold = |f: fn(f64, f64) -> f64| values.iter().copied().reduce(f);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Some(Spread { mean, least: fold(f64::min)?, most: fold(f64::max)? })
    }

    fn line(&self, comparison: &Comparison<'_>, extras: &[&Extra]) -> Line {
        let text = |value| self.values(value).map_or_else(String::new, |x| short3(x.mean));
        Line {
            color: color(comparison, self.mechanism),
            mechanism: self.mechanism.to_owned(),
            epsilon: self.epsilon.map_or_else(String::new, |epsilon| epsilon.to_string()),
            seeds: self.rows.len(),
            error: self.values(|row| Some(row.workload_error)).map_or_else(String::new, described),
            public: text(|row| row.public_marginals.map(|n| n as f64)),
            seconds: text(|row| row.seconds),
            cpu_seconds: text(|row| row.cpu_seconds),
            peak_mib: text(|row| row.peak_mib),
            measures: extras.iter().map(|(_, value)| text(*value)).collect(),
        }
    }
}

/// `0.1465 (0.1424 to 0.1495)`, or the value alone if there is only one.
pub(super) fn described(Spread { mean, least, most }: Spread) -> String {
    if least < most {
        format!("{} ({} to {})", short(mean), short(least), short(most))
    } else {
        short(mean)
    }
}

/// Three significant digits.
fn short3(x: f64) -> String {
    format!("{x:.2e}").parse().map_or_else(|_| x.to_string(), short)
}
