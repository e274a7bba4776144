//! The shares of every column's values in both tables.

use serde::Serialize;

use super::Page;
use crate::domain::Clique;
use crate::error::Result;
use crate::evaluation::Frequencies;
use crate::report::format::{percent, short};
use crate::report::marginals::{merged, round, value_names};

/// Size of a picture, in SVG units.
const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 56.0;

/// Bars in a picture, at most. With more values, neighboring values share a bar.
const MAX_BARS: usize = 32;

/// A column in both tables.
#[derive(Serialize)]
pub(super) struct Chart {
    name: String,
    description: String,
    /// The L1 distance of all values' shares.
    distance: String,
    ends: [String; 2],
    alt: String,
    width: f64,
    height: f64,
    /// The real table: filled bars.
    bars: Vec<Bar>,
    /// The synthetic table: a stepped line.
    path: String,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    title: String,
}

/// A picture of each column, in the domain's order.
pub(super) fn charts(page: &Page<'_>) -> Result<Vec<Chart>> {
    let domain = page.tables[0].attributes();
    let single: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
    let [real, synthetic] = &page.tables;
    let found = [real.frequencies(&single)?, synthetic.frequencies(&single)?];
    let shares =
        |table: usize, column: usize, merge: usize| merged(&found[table][column], 1.0, merge);
    let chart = |column: usize| {
        let merge = domain.cardinality(column).div_ceil(MAX_BARS);
        let [real, synthetic] = [shares(0, column, 1), shares(1, column, 1)];
        let distance: f64 = real.iter().zip(&synthetic).map(|(a, b)| (a - b).abs()).sum();
        let name = domain.name(column);
        let names = value_names(page.schema, name, merge);
        let about = page.schema.column(name).and_then(|c| c.description.clone());
        let both = [shares(0, column, merge), shares(1, column, merge)];
        Chart::new(name, about.unwrap_or_default(), distance, &both, &names)
    };
    Ok((0..domain.len()).map(chart).collect())
}

impl Chart {
    fn new(
        name: &str,
        description: String,
        distance: f64,
        [real, synthetic]: &[Vec<f64>; 2],
        names: &[String],
    ) -> Self {
        let top = real.iter().chain(synthetic).copied().fold(1e-6, f64::max);
        let step = WIDTH / real.len().max(1) as f64;
        let gap = (step * 0.15).min(2.0);
        let y = |share: f64| round(HEIGHT * (1.0 - share / top));
        let share = |share: f64| percent((share * 1e5).round() / 1e5);
        let value = |i: usize| names.get(i).map_or("", String::as_str);
        let bars = real.iter().zip(synthetic).enumerate().map(|(i, (own, other))| Bar {
            x: round(i as f64 * step + gap),
            y: y(*own),
            width: round(step - 2.0 * gap),
            height: round(HEIGHT - y(*own)),
            title: format!("{}: real {}, synthetic {}", value(i), share(*own), share(*other)),
        });
        let path = synthetic.iter().enumerate().map(|(i, share)| {
            let start = if i == 0 { "M" } else { "L" };
            let (left, right) = (round(i as f64 * step), round((i + 1) as f64 * step));
            format!("{start}{left} {h}H{right}", h = y(*share))
        });
        let difference = |i: &usize| (real[*i] - synthetic[*i]).abs();
        let worst = (0..real.len()).max_by(|a, b| difference(a).total_cmp(&difference(b)));
        let worst = worst.map_or_else(String::new, |i| {
            let (own, other) = (share(real[i]), share(synthetic[i]));
            format!(" The largest difference: {}, {own} real and {other} synthetic.", value(i))
        });
        let distance = short((distance * 1e4).round() / 1e4);
        Self {
            name: name.to_owned(),
            description,
            ends: [names.first(), names.last()].map(|name| name.cloned().unwrap_or_default()),
            alt: format!("{name} in both tables, L1 distance {distance}.{worst}"),
            distance,
            width: WIDTH,
            height: HEIGHT,
            bars: bars.collect(),
            path: path.collect(),
        }
    }
}
