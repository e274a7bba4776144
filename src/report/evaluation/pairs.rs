//! The pairs of columns that differ most between the tables.

use std::fmt::Write;

use serde::Serialize;

use super::Page;
use crate::domain::Clique;
use crate::error::Result;
use crate::evaluation::{Frequencies, Weighted, WorkloadError};
use crate::query::{WeightedClique, Workload};
use crate::report::format::{percent, short};
use crate::report::marginals::value_names;

/// Pairs shown.
const PAIRS: usize = 6;

/// Pairs with more cells are not looked at.
const MOST_CELLS: u64 = 1 << 20;

/// Rows and columns of a picture, at most. With more values, neighboring values share one.
const MOST_VALUES: usize = 24;

/// Steps of the scale.
const LEVELS: usize = 8;

/// Side of a picture, in SVG units.
const SIDE: f64 = 120.0;

/// Two columns in both tables.
#[derive(Serialize)]
pub(super) struct Pair {
    name: String,
    distance: String,
    /// The largest difference of a cell, in words.
    worst: String,
    side: f64,
    /// The real table, the synthetic one, and what the latter has more and less.
    pictures: Vec<Picture>,
}

#[derive(Serialize)]
struct Picture {
    name: &'static str,
    alt: String,
    layers: Vec<Layer>,
}

/// Squares of one color.
#[derive(Serialize)]
struct Layer {
    class: &'static str,
    opacity: String,
    path: String,
}

/// The worst pairs by their L1 distance, worst first.
pub(super) fn worst(page: &Page<'_>) -> Result<Vec<Pair>> {
    let [real, synthetic] = &page.tables;
    let domain = real.attributes();
    let pairs = (0..domain.len()).flat_map(|a| (0..a).map(move |b| Clique::new([a, b])));
    let small = pairs.filter(|pair| domain.cells(pair).is_some_and(|cells| cells <= MOST_CELLS));
    let weighted: Vec<WeightedClique> =
        small.map(|clique| WeightedClique { clique, weight: 1.0 }).collect();
    if weighted.is_empty() {
        return Ok(Vec::new());
    }
    let workload = Workload::new(weighted, domain)?;
    let found = WorkloadError::between(real, synthetic, &workload, PAIRS)?.worst;
    let pair = |found: &crate::evaluation::CliqueError| {
        let names: Vec<&str> = found.clique.iter().map(String::as_str).collect();
        pair(page, &domain.clique(&names)?, found.l1)
    };
    found.iter().filter(|found| found.l1 > 0.0).map(pair).collect()
}

fn pair(page: &Page<'_>, clique: &Clique, l1: f64) -> Result<Pair> {
    let domain = page.tables[0].attributes();
    let shape = domain.shape(clique);
    let merge: Vec<usize> = shape.iter().map(|size| size.div_ceil(MOST_VALUES)).collect();
    let size = [0, 1].map(|axis| shape[axis].div_ceil(merge[axis]));
    let shares = |table: Weighted<'_>| -> Result<Vec<f64>> {
        let mut shares = vec![0.0; size[0] * size[1]];
        let found = table.frequencies(std::slice::from_ref(clique))?;
        for (cell, share) in found.iter().flatten().enumerate() {
            let (row, column) = (cell / shape[1] / merge[0], cell % shape[1] / merge[1]);
            shares[row * size[1] + column] += share;
        }
        Ok(shares)
    };
    let [real, synthetic] = [shares(page.tables[0])?, shares(page.tables[1])?];
    let names: Vec<&str> = clique.iter().map(|a| domain.name(a)).collect();
    let values: Vec<Vec<String>> = names
        .iter()
        .zip(&merge)
        .map(|(name, merge)| value_names(page.schema, name, *merge))
        .collect();
    let difference = |cell: &usize| (real[*cell] - synthetic[*cell]).abs();
    let worst = (0..real.len()).max_by(|a, b| difference(a).total_cmp(&difference(b)));
    let share = |share: f64| percent((share * 1e4).round() / 1e4);
    let worst = worst.map_or_else(String::new, |cell| {
        let value = |axis: usize, at: usize| {
            format!("{} {}", names[axis], values[axis].get(at).map_or("", String::as_str))
        };
        let (row, column) = (value(0, cell / size[1]), value(1, cell % size[1]));
        format!("{row}, {column}: {} real, {} synthetic", share(real[cell]), share(synthetic[cell]))
    });
    let name = names.join(" \u{d7} ");
    let top = real.iter().chain(&synthetic).copied().fold(1e-9, f64::max);
    let more: Vec<f64> = real.iter().zip(&synthetic).map(|(a, b)| b - a).collect();
    let less: Vec<f64> = more.iter().map(|difference| -difference).collect();
    let most = more.iter().fold(1e-9_f64, |most, x| most.max(x.abs()));
    let picture = |what: &'static str, layers: Vec<Layer>| Picture {
        name: what,
        alt: format!("{name}, {what}. {worst}"),
        layers,
    };
    let pictures = vec![
        picture("real", layers(&real, size, top, "soft")),
        picture("synthetic", layers(&synthetic, size, top, "private")),
        picture("synthetic less real", {
            let mut both = layers(&more, size, most, "private");
            both.extend(layers(&less, size, most, "public1"));
            both
        }),
    ];
    Ok(Pair { name, distance: short((l1 * 1e4).round() / 1e4), worst, side: SIDE, pictures })
}

/// The squares of a table of positive shares, from the palest: their roots in a few steps up to `top`.
fn layers(shares: &[f64], size: [usize; 2], top: f64, class: &'static str) -> Vec<Layer> {
    let (height, width) = (SIDE / size[0] as f64, SIDE / size[1] as f64);
    let mut paths = vec![String::new(); LEVELS];
    for (cell, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to LEVELS")]
        let level = (((share / top).sqrt() * LEVELS as f64) as usize).min(LEVELS - 1);
        let (x, y) = ((cell % size[1]) as f64 * width, (cell / size[1]) as f64 * height);
        _ = write!(paths[level], "M{x:.1} {y:.1}h{width:.1}v{height:.1}h-{width:.1}z");
    }
    let layer = |(level, path): (usize, String)| Layer {
        class,
        opacity: format!("{:.2}", (level as f64 + 0.35) / LEVELS as f64),
        path,
    };
    paths.into_iter().enumerate().filter(|(_, path)| !path.is_empty()).map(layer).collect()
}
