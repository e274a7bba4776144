//! Numbers at which other columns change: nobody below 16 has an employment status, nobody below 15 is married.
//!
//! A bin that holds numbers of both sides cannot tell them apart, so a bin begins there. Such a change shows in a bin as a set of
//! values of another column that no row on one side has, though at least 30 rows on the other side have it, and 30
//! on this one would if they were alike.

use std::collections::BTreeMap;
use std::path::Path;

use super::unlikely::{EXPECTED, MOST_CELLS, counted};
use crate::data::{Dataset, read_public_csv};
use crate::domain::{Bins, Clique, Kind, Schema, SchemaColumn};
use crate::error::Result;

/// Most whole numbers from the least to the largest of a column that is looked at.
const MOST_NUMBERS: f64 = 400.0;
/// Most values of another column that are looked at one by one.
const MOST_VALUES: usize = 64;
/// Such rows, over all columns that change, are at least this share of all rows, ...
const SHARE: f64 = 1.0 / 200.0;
/// A set that fewer of the rows on the other side have does not change sharply. Households, whose members are alike, make chance look
/// like a change otherwise.
const SHARP: f64 = 1.0 / 4.0;
/// ... and at least this many lie on each side of it, so that no row is alone in a bin.
const FEW: u64 = 10;
/// Most changes inside the bins of a column.
const MOST_CHANGES: usize = 8;
/// Columns that a remark names.
const SHOWN: usize = 3;

/// A number at which other columns change.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Change {
    pub(super) at: f64,
    /// What changes, where no bin began there before.
    pub(super) text: Option<String>,
}

impl Change {
    /// The number, with what changes there.
    pub(super) fn text(at: f64, names: &[&str]) -> String {
        let shown = names.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        match names.len().saturating_sub(SHOWN) {
            0 => format!("{at} ({shown})"),
            more => format!("{at} ({shown} and {more} more)"),
        }
    }

    /// What to say of the changes of a column inside bins.
    pub(super) fn remark(changes: &[Self]) -> Option<String> {
        let texts: Vec<&str> = changes.iter().filter_map(|change| change.text.as_deref()).collect();
        (!texts.is_empty())
            .then(|| format!("bins begin where other columns change: {}", texts.join(", ")))
    }
}

/// The changes of each column of whole numbers, in order: those inside its bins, and those at edges that it has.
pub(super) fn changes(schema: &Schema, tables: &[&Path]) -> Result<BTreeMap<String, Vec<Change>>> {
    let attributes: Vec<&SchemaColumn> = schema.attributes().collect();
    let bins: Vec<Option<&Bins>> = attributes.iter().map(|column| wide_bins(column)).collect();
    if bins.iter().all(Option::is_none) {
        return Ok(BTreeMap::new());
    }
    let single = |bins: &Bins| Kind::Numeric(bins.cut_at(&numbers(bins)));
    let kinds = bins.iter().map(|bins| bins.map(single)).collect();
    let by_number = schema.with_kinds("schema", kinds)?;
    let read = tables.iter().map(|path| read_public_csv(path, &by_number));
    let tables = read.collect::<Result<Vec<Dataset>>>()?;
    let mut found = BTreeMap::new();
    for (attribute, bins) in bins.iter().enumerate() {
        let Some(bins) = bins else { continue };
        let others = others(&by_number, &tables, attribute)?;
        let own = Profile { first: bins.edges()[0].ceil(), others }.changes(bins);
        if !own.is_empty() {
            found.insert(attributes[attribute].name.clone(), own);
        }
    }
    Ok(found)
}

/// The bins of a column of whole numbers that are neither single numbers nor too many.
fn wide_bins(column: &SchemaColumn) -> Option<&Bins> {
    let Some(Kind::Numeric(bins)) = &column.kind else { return None };
    let edges = bins.edges();
    let is_wide = edges.windows(2).any(|ends| ends[1].ceil() - ends[0].ceil() > 1.0);
    let span = edges[edges.len() - 1] - edges[0];
    (bins.is_integer() && is_wide && span <= MOST_NUMBERS).then_some(bins)
}

/// The whole numbers in some bins.
fn numbers(bins: &Bins) -> Vec<f64> {
    let edges = bins.edges();
    let last = edges[edges.len() - 1];
    std::iter::successors(Some(edges[0].ceil()), |number| Some(number + 1.0))
        .take_while(|number| *number < last)
        .collect()
}

/// A set of values of another column: how many rows have it with a number below each.
struct Set {
    text: String,
    below: Vec<u64>,
}

/// Another column, by number.
struct Other {
    below: Vec<u64>,
    sets: Vec<Set>,
}

/// Sums of all before each.
fn sums(counts: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut sum = 0;
    std::iter::once(0)
        .chain(counts.map(|count| {
            sum += count;
            sum
        }))
        .collect()
}

/// The other columns by the numbers of one: each value of those with few, and whether there is a value.
fn others(schema: &Schema, tables: &[Dataset], attribute: usize) -> Result<Vec<Other>> {
    let domain = schema.domain();
    let columns: Vec<&SchemaColumn> = schema.attributes().collect();
    let numbers = columns[attribute].cardinality() as usize - usize::from(columns[attribute].na);
    let mut found = Vec::new();
    for (second, column) in columns.iter().enumerate().filter(|(second, _)| *second != attribute) {
        let pair = Clique::new([attribute, second]);
        if domain.cells(&pair).is_none_or(|cells| cells > MOST_CELLS) {
            continue;
        }
        let Some(counts) = counted(tables, schema, &pair)? else { continue };
        let [of_number, of_value] = if attribute < second {
            [domain.cardinality(second), 1]
        } else {
            [1, domain.cardinality(attribute)]
        };
        let count = |number: usize, value: usize| counts[number * of_number + value * of_value];
        let values = column.cardinality() as usize;
        let rows = |number: usize| (0..values).map(|value| count(number, value)).sum();
        let below = sums((0..numbers).map(rows));
        let present = values - usize::from(column.na);
        let mut sets: Vec<(String, Vec<usize>)> = Vec::new();
        if column.na {
            sets.push((column.name.clone(), (0..present).collect()));
            sets.push((format!("no {}", column.name), vec![present]));
        }
        let is_single = |ends: &[f64]| ends[1] - ends[0] <= 1.0;
        let are_single = match &column.kind {
            Some(Kind::Numeric(bins)) => {
                bins.is_integer() && bins.edges().windows(2).all(is_single)
            }
            Some(Kind::Date(_)) => false,
            _ => true,
        };
        if are_single && present <= MOST_VALUES {
            let codes = (0..present).zip(0_u32..);
            let name = |code| format!("{} {}", column.name, column.value_name(code));
            sets.extend(codes.map(|(value, code)| (name(code), vec![value])));
        }
        let sets = sets.into_iter().map(|(text, set)| {
            let rows = |number: usize| set.iter().map(|value| count(number, *value)).sum();
            Set { text, below: sums((0..numbers).map(rows)) }
        });
        found.push(Other { below, sets: sets.collect() });
    }
    Ok(found)
}

/// What parting a bin at a number tells apart.
struct Parting<'p> {
    /// The rows that would have what no row on their side has, if they were as those on the other side, over all columns.
    rows: f64,
    /// The same of each column, with its set, most first.
    sets: Vec<(f64, &'p str)>,
}

impl Other {
    /// Of the sets that all lie on one side when the numbers `from..below` are cut at `at`, the one with the most rows expected on
    /// the other side, and that number of rows.
    fn parted(&self, from: usize, at: usize, below: usize) -> Option<(f64, &str)> {
        let within = |sums: &[u64], from: usize, below: usize| sums[below] - sums[from];
        let [left, right] = [within(&self.below, from, at), within(&self.below, at, below)];
        if left < FEW || right < FEW {
            return None;
        }
        let told = self.sets.iter().filter_map(|set| {
            let (rows, has, of) =
                match [within(&set.below, from, at), within(&set.below, at, below)] {
                    [0, has] => (left as f64, has as f64, right as f64),
                    [has, 0] => (right as f64, has as f64, left as f64),
                    _ => return None,
                };
            let (share, expected) = (has / of, rows * has / of);
            let is_change = share >= SHARP && has >= EXPECTED && expected >= EXPECTED;
            is_change.then_some((expected, &*set.text))
        });
        told.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

/// A column of whole numbers beside all others.
struct Profile {
    /// The least number.
    first: f64,
    others: Vec<Other>,
}

impl Profile {
    fn parting(&self, from: usize, at: usize, below: usize) -> Parting<'_> {
        let mut sets: Vec<(f64, &str)> =
            self.others.iter().filter_map(|other| other.parted(from, at, below)).collect();
        sets.sort_by(|a, b| b.0.total_cmp(&a.0));
        Parting { rows: sets.iter().map(|set| set.0).sum(), sets }
    }

    fn changes(&self, bins: &Bins) -> Vec<Change> {
        let all = self.others.iter().filter_map(|other| other.below.last()).max();
        let least = SHARE * all.copied().unwrap_or(0) as f64;
        let position = |edge: &f64| whole(edge.ceil() - self.first);
        let before: Vec<usize> = bins.edges().iter().map(position).collect();
        let mut edges = before.clone();
        let mut found = Vec::new();
        for _ in 0..MOST_CHANGES {
            let inside = edges.windows(2).flat_map(|ends| {
                (ends[0] + 1..ends[1]).map(|at| (at, self.parting(ends[0], at, ends[1])))
            });
            let best = inside.max_by(|a, b| a.1.rows.total_cmp(&b.1.rows));
            let Some((at, parting)) = best.filter(|(_, parting)| parting.rows >= least) else {
                break;
            };
            if parting.sets.is_empty() {
                break;
            }
            let number = self.first + at as f64;
            let names: Vec<&str> = parting.sets.iter().map(|(_, set)| *set).collect();
            found.push(Change { at: number, text: Some(Change::text(number, &names)) });
            edges.insert(edges.partition_point(|edge| *edge < at), at);
        }
        // Edges at which something changes stay where they are.
        for around in edges.windows(3).filter(|around| before.contains(&around[1])) {
            let parting = self.parting(around[0], around[1], around[2]);
            if !parting.sets.is_empty() && parting.rows >= least {
                found.push(Change { at: self.first + around[1] as f64, text: None });
            }
        }
        found.sort_by(|a, b| a.at.total_cmp(&b.at));
        found
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 400")]
fn whole(number: f64) -> usize {
    number.max(0.0) as usize
}

#[cfg(test)]
mod tests;
