//! What a release knows about several columns at once: measured ranges, and the shares of a grid's cells.

use serde::{Deserialize, Serialize};

use crate::pap::release::part_below;
use crate::pap::{Answer, ColumnShares, Condition, Cuts};

/// The cells of one column from one cut to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellRange {
    /// Place of the column among those of the release.
    pub column: usize,
    /// The first cell; cell j ends at the j-th cut, counted from 0.
    pub from: usize,
    /// The cell after the last one.
    pub before: usize,
}

/// The share of all records in a range, or in several ranges at once, as a round of PMW measured it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeasuredRange {
    /// Ranges of different columns.
    pub ranges: Vec<CellRange>,
    /// The measured share, clipped to [0, 1], and its bracket.
    pub share: Answer,
}

/// A condition of a question, with the place of its column.
pub(super) type Placed<'q> = (usize, &'q Condition);

impl MeasuredRange {
    /// The values from (outside) and to (inside) of a range.
    fn ends(range: CellRange, columns: &[ColumnShares]) -> (f64, f64) {
        let points = columns[range.column].cuts.points();
        let from = range.from.checked_sub(1).map_or(f64::NEG_INFINITY, |j| points[j]);
        (from, points.get(range.before - 1).copied().unwrap_or(f64::INFINITY))
    }

    /// Whether every record in the range meets all conditions.
    pub(super) fn is_within(&self, query: &[Placed<'_>], columns: &[ColumnShares]) -> bool {
        query.iter().all(|(column, condition)| {
            let own = self.ranges.iter().find(|range| range.column == *column);
            own.map(|range| Self::ends(*range, columns))
                .is_some_and(|(from, to)| condition.above() <= from && to <= condition.to())
        })
    }

    /// Whether every record that meets all conditions is in the range.
    pub(super) fn holds(&self, query: &[Placed<'_>], columns: &[ColumnShares]) -> bool {
        self.ranges.iter().all(|range| {
            let (from, to) = Self::ends(*range, columns);
            let own = query.iter().find(|(column, _)| range.column == *column);
            own.is_some_and(|(_, condition)| from <= condition.above() && condition.to() <= to)
        })
    }

    /// Whether no record in the range meets all conditions.
    pub(super) fn is_apart(&self, query: &[Placed<'_>], columns: &[ColumnShares]) -> bool {
        query.iter().any(|(column, condition)| {
            let own = self.ranges.iter().find(|range| range.column == *column);
            own.map(|range| Self::ends(*range, columns))
                .is_some_and(|(from, to)| to <= condition.above() || condition.to() <= from)
        })
    }

    /// Whether every record in the range is in another.
    fn is_part(&self, other: &Self) -> bool {
        other.ranges.iter().all(|range| {
            let own = self.ranges.iter().find(|own| own.column == range.column);
            own.is_some_and(|own| range.from <= own.from && own.before <= range.before)
        })
    }

    /// Whether it is about cells of these columns, each at most once.
    pub(super) fn is_valid(&self, columns: &[ColumnShares]) -> bool {
        let is_one = |(place, range): (usize, &CellRange)| {
            let column = columns.get(range.column);
            let is_first = self.ranges[..place].iter().all(|other| other.column != range.column);
            is_first
                && range.from < range.before
                && column.is_some_and(|column| range.before < column.cuts.cells())
        };
        self.ranges.iter().enumerate().all(is_one) && self.share.is_valid()
    }
}

/// A bracket for a query, from those of its conditions and from measured ranges.
///
/// The records that meet all of r conditions are at most those that meet any, and at least those left when all that miss one
/// are taken away: between `1 − Σ (1 − F_i)` and `min F_i`. A range within the query has no more records, and a range that
/// holds the query no fewer; from the latter, records in a part of it apart from the query may be taken away.
pub(super) fn bracket(
    query: &[Placed<'_>],
    answers: &[Answer],
    measured: &[MeasuredRange],
    columns: &[ColumnShares],
) -> (f64, f64) {
    let missed: f64 = answers.iter().map(|answer| 1.0 - answer.low).sum();
    let mut low = if let [only] = answers { only.low } else { (1.0 - missed).max(0.0) };
    let mut high = answers.iter().map(|answer| answer.high).fold(1.0, f64::min);
    let apart: Vec<_> = measured.iter().filter(|range| range.is_apart(query, columns)).collect();
    for range in measured {
        if range.is_within(query, columns) {
            low = low.max(range.share.low);
        }
        if range.holds(query, columns) {
            let parts = apart.iter().filter(|part| part.is_part(range));
            let less = parts.map(|part| part.share.low).fold(0.0, f64::max);
            high = high.min(range.share.high - less);
        }
    }
    high = apart.iter().map(|part| 1.0 - part.share.low).fold(high, f64::min);
    (low, high)
}

/// The share of records that meet all conditions: shares of cells, row-major over the columns, times the parts of cells
/// that meet the condition of each column, as if values were even in a cell.
pub(super) fn interpolated(shares: &[f64], query: &[Placed<'_>], columns: &[ColumnShares]) -> f64 {
    let mut table = shares.to_vec();
    for (place, column) in columns.iter().enumerate().rev() {
        let own = query.iter().find(|(own, _)| *own == place);
        let parts = own.map_or_else(
            || vec![1.0; column.cuts.cells()],
            |(_, condition)| parts(&column.cuts, condition),
        );
        let slices = table.chunks(parts.len());
        table = slices.map(|s| s.iter().zip(&parts).map(|(s, part)| s * part).sum()).collect();
    }
    table.first().copied().unwrap_or_default()
}

/// The part of each cell that meets a condition.
fn parts(cuts: &Cuts, condition: &Condition) -> Vec<f64> {
    let points = cuts.points();
    // The part of cell j at or below t: of an outer cell nothing, unless all of it.
    let below = |j: usize, t: f64| match (j.checked_sub(1).map(|j| points[j]), points.get(j)) {
        (_, Some(end)) if *end <= t => 1.0,
        (Some(start), Some(end)) => part_below(t, start, *end),
        (_, None) if t == f64::INFINITY => 1.0,
        _ => 0.0,
    };
    let of_cell = |j| below(j, condition.to()) - below(j, condition.above());
    (0..=points.len()).map(of_cell).chain([0.0]).collect()
}

#[cfg(test)]
mod tests;
