//! One-way marginals of the model, compared with the public tables and the measurements.

use serde::Serialize;
use serde_json::{Value, json};

use super::cumulative::Cumulative;
use super::format::{percent, short};
use super::{COLORS, Content};
use crate::data::PublicData;
use crate::domain::{Clique, Kind, Schema, SchemaColumn, date_of};
use crate::error::Result;
use crate::model::Spread;
use crate::survey::Weight;

const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 56.0;

/// Maximum number of bars in a chart. With more values, neighboring values share a bar.
const MAX_BARS: usize = 32;

/// The marginals of one attribute.
#[derive(Serialize)]
pub(super) struct Chart {
    name: String,
    description: String,
    values: usize,
    /// The share of missing values, which have no bar.
    missing: Option<String>,
    top: String,
    /// The names of the first and the last bar.
    ends: [String; 2],
    /// What the picture shows, for those who do not see it.
    alt: String,
    /// Mean and quartiles of numbers and dates: those of the model first, then those of public tables.
    numbers: Vec<Numbers>,
    /// Numbers and dates with bins at their width.
    cumulative: Option<Cumulative>,
    width: f64,
    height: f64,
    /// The model: filled bars.
    bars: Vec<Bar>,
    /// Public tables: stepped lines.
    lines: Vec<Line>,
    /// A noisy measurement: whiskers of one standard deviation on both sides.
    whiskers: Vec<Whisker>,
    /// The names of the public tables, for the columns of `rows`.
    tables: Vec<String>,
    /// The bars in words.
    rows: Vec<ValueRow>,
}

/// A bar in words: the share in the model, and in each public table.
#[derive(Serialize)]
struct ValueRow {
    name: String,
    share: String,
    public: Vec<String>,
}

/// The mean and the quartiles of a column in one table.
#[derive(Serialize)]
struct Numbers {
    /// The public table; empty for the model.
    table: String,
    mean: String,
    quartiles: [String; 3],
    spread: Spread,
}

#[derive(Serialize)]
struct Bar {
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    title: String,
    name: String,
    share: f64,
}

#[derive(Serialize)]
pub(super) struct Line {
    pub(super) color: usize,
    pub(super) path: String,
}

#[derive(Serialize)]
struct Whisker {
    x: f64,
    low: f64,
    high: f64,
    middle: f64,
}

impl Chart {
    /// The column and its shares, for programs.
    pub(super) fn described(&self) -> Value {
        let value = |bar: &Bar| json!({ "value": bar.name, "share": bar.share });
        let shares: Vec<Value> = self.bars.iter().map(value).collect();
        let mut described = json!({
            "name": self.name, "description": self.description, "values": self.values, "model": shares,
        });
        if let Some(numbers) = self.numbers.first() {
            described["numbers"] = json!(numbers.spread);
        }
        described
    }
}

/// Shares of the values, merged into bars, and the standard deviation of each.
struct Bars {
    shares: Vec<f64>,
    stddev: f64,
}

/// A chart for each attribute, in the domain's order.
pub(super) fn charts(content: &Content<'_>) -> Result<Vec<Chart>> {
    let domain = content.release.model.domain();
    let single: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
    let model = content.release.model.marginals(&single)?;
    let mut charts = Vec::with_capacity(single.len());
    let is_weight = |attribute: usize| content.weight.is_some_and(|w| w.attribute == attribute);
    let attributes = single.iter().zip(&model).enumerate();
    for (attribute, (clique, factor)) in attributes.filter(|(at, _)| !is_weight(*at)) {
        let column = content.schema.column(domain.name(attribute));
        // A missing value is the last one.
        let values = domain.cardinality(attribute) - usize::from(column.is_some_and(|c| c.na));
        let merge = values.div_ceil(MAX_BARS).max(1);
        let total = content.release.model.total();
        let shares = merged(&factor.values()[..values], total, merge);
        let mut numbers = vec![(String::new(), factor.values().to_vec())];
        let (mut public, mut counted) = (Vec::new(), Vec::new());
        for (color, table) in content.public.iter().enumerate() {
            if !table.covers(clique) {
                continue;
            }
            let counts = public_counts(table, clique, content.weight)?;
            let total = counts.iter().sum();
            public.push((color % COLORS, merged(&counts[..values], total, merge)));
            counted.push((color % COLORS, counts.clone()));
            numbers.push((table.name().to_owned(), counts));
        }
        let measured = measured(content, clique, values, merge)?;
        let names = names(content.schema, domain.name(attribute));
        let names = joined(names.get(..values).unwrap_or(&names), merge);
        let mut chart = chart(content, attribute, &shares, &public, measured.as_ref(), &names);
        chart.missing = factor.values().get(values).map(|missing| shown(missing / total));
        chart.tables = numbers.iter().skip(1).map(|(table, _)| table.clone()).collect();
        chart.rows = shares
            .iter()
            .enumerate()
            .map(|(at, share)| ValueRow {
                name: names.get(at).cloned().unwrap_or_default(),
                share: shown(*share),
                public: public.iter().map(|(_, shares)| shown(shares[at])).collect(),
            })
            .collect();
        chart.cumulative =
            column.and_then(|column| Cumulative::of(column, factor.values(), &counted));
        let numbers = numbers.into_iter();
        chart.numbers =
            numbers.filter_map(|(table, counts)| Numbers::of(column?, table, &counts)).collect();
        charts.push(chart);
    }
    Ok(charts)
}

/// The counts of one attribute in a public table; weighted, if there is a survey weight and the table has it.
fn public_counts(table: &PublicData, clique: &Clique, weight: Option<&Weight>) -> Result<Vec<f64>> {
    let with = |weight: &Weight| clique.union(&Clique::new([weight.attribute]));
    let weight = weight.filter(|weight| table.covers(&with(weight)));
    let asked = weight.map_or_else(|| clique.clone(), with);
    let counts = table.project_many(std::slice::from_ref(&asked))?.swap_remove(0);
    let counts: Vec<f64> = counts.iter().map(|count| f64::from(*count)).collect();
    let Some(Weight { attribute, means }) = weight else { return Ok(counts) };
    let values = counts.len() / means.len().max(1);
    // Row-major: the weight comes first or last.
    let comes_first = clique.iter().all(|own| *attribute < own);
    let cell = |value: usize, bin: usize| {
        if comes_first { bin * values + value } else { value * means.len() + bin }
    };
    let sum = |value| {
        let bins = means.iter().enumerate();
        bins.map(|(bin, mean)| mean * counts[cell(value, bin)]).sum()
    };
    Ok((0..values).map(sum).collect())
}

/// An attribute as everything that was measured says.
fn measured(
    content: &Content<'_>,
    clique: &Clique,
    values: usize,
    merge: usize,
) -> Result<Option<Bars>> {
    let Some(known) = content.release.measured() else { return Ok(None) };
    let domain = content.release.model.domain();
    let solved = known.estimates(domain, std::slice::from_ref(clique))?;
    let Some(found) = solved.marginal(clique) else { return Ok(None) };
    let total = content.release.model.total();
    let together: Vec<(usize, f64)> = (0..merge.clamp(1, values)).map(|own| (own, 1.0)).collect();
    Ok(Some(Bars {
        shares: merged(&found.counts()[..values], total, merge),
        stddev: found.variance(&together).sqrt() / total,
    }))
}

/// Shares of a total, merging `merge` neighboring values at a time.
pub(super) fn merged(counts: &[f64], total: f64, merge: usize) -> Vec<f64> {
    counts.chunks(merge.max(1)).map(|chunk| chunk.iter().sum::<f64>() / total).collect()
}

fn chart(
    content: &Content<'_>,
    attribute: usize,
    shares: &[f64],
    public: &[(usize, Vec<f64>)],
    measured: Option<&Bars>,
    names: &[String],
) -> Chart {
    let domain = content.release.model.domain();
    let noisy = measured.map_or(&[][..], |measured| &measured.shares);
    let all = shares.iter().chain(public.iter().flat_map(|(_, shares)| shares)).chain(noisy);
    let top = all.copied().fold(1e-6, f64::max);
    let step = WIDTH / shares.len().max(1) as f64;
    let gap = (step * 0.15).min(2.0);
    let y = |share: f64| round(HEIGHT * (1.0 - (share / top).clamp(0.0, 1.0)));
    let bars = shares.iter().enumerate().map(|(i, share)| Bar {
        x: round(i as f64 * step + gap),
        y: y(*share),
        width: round(step - 2.0 * gap),
        height: round(HEIGHT - y(*share)),
        title: format!(
            "{}: {}",
            names.get(i).map_or("", String::as_str),
            percent((share * 1e5).round() / 1e5)
        ),
        name: names.get(i).cloned().unwrap_or_default(),
        share: *share,
    });
    let lines = public.iter().map(|(color, shares)| {
        let step_path = |(i, share): (usize, &f64)| {
            let start = if i == 0 { "M" } else { "L" };
            let (left, right) = (round(i as f64 * step), round((i + 1) as f64 * step));
            format!("{start}{left} {h}H{right}", h = y(*share))
        };
        Line { color: *color, path: shares.iter().enumerate().map(step_path).collect() }
    });
    let whiskers = measured.iter().flat_map(|measured| {
        measured.shares.iter().enumerate().map(|(i, share)| Whisker {
            x: round((i as f64 + 0.5) * step),
            low: y(share - measured.stddev),
            high: y(share + measured.stddev),
            middle: y(*share),
        })
    });
    let column = content.schema.column(domain.name(attribute));
    Chart {
        name: domain.name(attribute).to_owned(),
        description: column.and_then(|c| c.description.clone()).unwrap_or_default(),
        values: domain.cardinality(attribute),
        top: percent((top * 1e3).round() / 1e3),
        ends: [names.first(), names.last()].map(|name| name.cloned().unwrap_or_default()),
        alt: alt(domain.name(attribute), shares, names),
        numbers: Vec::new(),
        cumulative: None,
        width: WIDTH,
        height: HEIGHT,
        bars: bars.collect(),
        lines: lines.collect(),
        whiskers: whiskers.collect(),
        missing: None,
        tables: Vec::new(),
        rows: Vec::new(),
    }
}

/// A share with one decimal place of a percent.
fn shown(share: f64) -> String {
    percent((share * 1e3).round() / 1e3)
}

impl Numbers {
    /// `counts`: one for each value of the column. `None` if these are no numbers.
    fn of(column: &SchemaColumn, table: String, counts: &[f64]) -> Option<Self> {
        let (bins, written): (_, fn(f64) -> String) = match &column.kind {
            Some(Kind::Numeric(bins)) => (bins, short),
            Some(Kind::Date(bins)) => (bins, date_of),
            _ => return None,
        };
        let spread = Spread::of(bins, counts.get(..bins.count() as usize)?)?;
        let quartiles = spread.quartiles.map(written);
        Some(Self { table, mean: written(spread.mean), quartiles, spread })
    }
}

/// The most frequent values in words.
fn alt(name: &str, shares: &[f64], names: &[String]) -> String {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|a, b| shares[*b].total_cmp(&shares[*a]));
    let value = |at: &usize| {
        let share = percent((shares[*at] * 1e3).round() / 1e3);
        format!("{} {share}", names.get(*at).map_or("", String::as_str))
    };
    let most: Vec<String> = order.iter().take(3).map(value).collect();
    format!("Bars of {name}, {} in all. The most frequent: {}", shares.len(), most.join(", "))
}

/// Two decimals are enough for a picture.
pub(super) fn round(x: f64) -> f64 {
    (x * 100.0).round() / 100.0
}

/// The labels of bars of `merge` values each: value labels, codes or ranges.
pub(super) fn value_names(schema: &Schema, attribute: &str, merge: usize) -> Vec<String> {
    joined(&names(schema, attribute), merge)
}

/// The names of all values, `missing` the last one.
fn names(schema: &Schema, attribute: &str) -> Vec<String> {
    let Some(column) = schema.column(attribute) else { return Vec::new() };
    let name = |code: u32| match &column.kind {
        Some(Kind::Categorical { labels: Some(labels), .. }) => {
            labels.get(code as usize).cloned().unwrap_or_else(|| column.value_name(code))
        }
        _ => column.value_name(code),
    };
    (0..column.cardinality()).map(name).collect()
}

/// The names of neighboring values as one.
fn joined(names: &[String], merge: usize) -> Vec<String> {
    let name = |chunk: &[String]| match chunk {
        [only] => only.clone(),
        [first, .., last] => format!("{first} \u{2026} {last}"),
        [] => String::new(),
    };
    names.chunks(merge.max(1)).map(name).collect()
}
