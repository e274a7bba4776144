//! Bins of a survey weight by public rows.

use std::collections::BTreeSet;
use std::path::Path;

use super::bins::Values;
use super::notations::Hints;
use super::numbers::shortest;
use super::quantiles::rows;
use super::tables::observe;
use crate::domain::{Bins, Outside, Piece, TableFormat};
use crate::error::{Error, Result};

/// Bins of a weight. Each stands for about as many people: on Pennsylvania eight such bins are as near to the weights as
/// sixteen with as many rows each, and half as many cells are half as much noise.
const BINS: usize = 8;

/// The bins of a column of survey weights by the rows of public tables, each with about the same sum of weights. A bin stands
/// for its mean weight, its only value to draw. A weight above all of them counts in the last bin; weights of 0 have a bin of
/// their own.
///
/// # Errors
/// No table, an unreadable one, or tables in which the column is missing or has other than numbers of at least 0.
pub fn weight_bins(tables: &[&Path], format: &TableFormat, column: &str) -> Result<Bins> {
    let place = format!("weight '{column}' in the public tables");
    let refused = |found: &str, expected: &str| {
        Err(Error::invalid_specification(place.clone(), found, expected))
    };
    let observed = observe(tables, format, &Hints::default(), &[], &BTreeSet::new())?.columns;
    let Some(observed) = observed.into_iter().find(|observed| observed.name == column) else {
        return refused("no such column", "a weight for each record");
    };
    let (missing, low) = (!observed.marks.is_empty(), observed.numbers.low);
    let Some(values) = observed.values(None).filter(|_| observed.numbers.all && !missing) else {
        return refused("texts that are no numbers", "a weight for each record");
    };
    if low < 0.0 {
        return refused("a weight below 0", "weights of at least 0");
    }
    let notation = observed.found.as_ref().map(|found| found.notation.clone());
    Ok(values.weight_bins(&place)?.with_notation(notation))
}

impl Values {
    /// The bins, for a column without values below 0.
    ///
    /// # Errors
    /// Values below 0, or none above it.
    pub(super) fn weight_bins(&self, place: &str) -> Result<Bins> {
        let counts = &self.counts;
        let first = counts.partition_point(|(weight, _)| *weight <= 0.0);
        if first == counts.len() || counts[0].0 < 0.0 {
            let (found, expected) = ("no weight above 0", "weights of at least 0");
            return Err(Error::invalid_specification(place, found, expected));
        }
        let people = |(weight, rows): &(f64, u64)| weight * *rows as f64;
        let all: f64 = counts.iter().map(people).sum();
        // Positions at which a bin begins.
        let mut starts: Vec<usize> = if first > 0 { vec![0, first] } else { vec![0] };
        let zeros = starts.len() - 1;
        let mut held = 0.0;
        for (at, value) in counts.iter().enumerate().skip(first + 1) {
            held += people(&counts[at - 1]);
            let begun = starts.len() - zeros;
            let own = rows(&counts[starts[starts.len() - 1]..at]);
            let left = rows(&counts[at..]);
            let is_full = held + people(value) / 2.0 >= begun as f64 * all / BINS as f64;
            if begun < BINS && is_full && own.min(left) >= self.few() {
                starts.push(at);
            }
        }
        let ends = starts[1..].iter().copied().chain([counts.len()]);
        let mean = |(start, end): (usize, usize)| {
            let own = &counts[start..end];
            rounded(own.iter().map(people).sum::<f64>() / rows(own) as f64)
        };
        let means: Vec<f64> = starts.iter().copied().zip(ends).map(mean).collect();
        // Where a bin ends, but not at the weight of a few rows.
        let between = |at: &usize| shortest(counts[at - 1].0, counts[*at].0);
        let (last, most) = (means[means.len() - 1], counts[counts.len() - 1].0);
        let end = if most > last { shortest(last, most) } else { last + 1.0 };
        let edges = [0.0].into_iter().chain(starts[1..].iter().map(between)).chain([end]);
        let one = |mean: &f64| Piece { from: *mean, below: *mean, rows: 1, step: None };
        let bins = Bins::new(edges.collect(), Some(false), place)?.with_outside(Outside::Clamp);
        bins.with_pieces(means.iter().map(one).collect(), place)
    }
}

/// A mean to six digits, for people who read the schema.
fn rounded(mean: f64) -> f64 {
    format!("{mean:.5e}").parse().unwrap_or(mean)
}

#[cfg(test)]
mod tests;
