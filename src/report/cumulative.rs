//! How numbers are distributed, with every bin at its width: the share of a column's values below each number.
//!
//! Bars have one width each, or the heap of a single value beside a bin of a thousand could not be seen: as the area of a
//! histogram a heap would be infinitely high, and with heights wide bins would look like many records. A curve of
//! cumulative shares has room for both: a heap is a jump, and a wide bin a slope. The axis leaves out half a percent of
//! the values at either end, or one bin up to ten million would be the picture.

use serde::Serialize;

use super::marginals::{Line, round};
use crate::domain::{Bins, Kind, SchemaColumn, date_of};
use crate::report::format::short;

const WIDTH: f64 = 150.0;
const HEIGHT: f64 = 40.0;
/// Share of the model's values that the axis leaves out at each end: a long tail would take most of the width.
const TAIL: f64 = 0.005;
/// Fewest bins that are worth a curve.
const FEWEST: u32 = 4;

/// Cumulative shares of a column of numbers or dates.
#[derive(Serialize)]
pub(super) struct Cumulative {
    height: f64,
    /// The values at both ends of the axis.
    ends: [String; 2],
    /// What the picture shows, for those who do not see it.
    alt: String,
    /// The curve of the model, above its area.
    model: String,
    area: String,
    /// The curves of the public tables.
    lines: Vec<Line>,
}

impl Cumulative {
    /// `model` and `public`: a count for each value of the column, and the colors of the public tables. `None` if these are
    /// no numbers, or too few bins.
    pub(super) fn of(
        column: &SchemaColumn,
        model: &[f64],
        public: &[(usize, Vec<f64>)],
    ) -> Option<Self> {
        let (bins, written): (_, fn(f64) -> String) = match &column.kind {
            Some(Kind::Numeric(bins)) => (bins, short),
            Some(Kind::Date(bins)) => (bins, date_of),
            _ => return None,
        };
        if bins.count() < FEWEST {
            return None;
        }
        let own = Curve::of(bins, model)?;
        let (low, high) = (own.value_below(TAIL), own.value_below(1.0 - TAIL));
        if low >= high {
            return None;
        }
        let lines = public.iter().filter_map(|(color, counts)| {
            Some(Line { color: *color, path: Curve::of(bins, counts)?.path(low, high) })
        });
        let model = own.path(low, high);
        let whole = |end: f64| if bins.is_integer() { end.round() } else { end };
        let ends = [low, high].map(|end| written(whole(end)));
        Some(Self {
            height: HEIGHT,
            alt: format!(
                "Curve: the share of {} below each value, {} to {}",
                column.name, ends[0], ends[1]
            ),
            area: format!("{model}V{HEIGHT}H0Z"),
            lines: lines.collect(),
            model,
            ends,
        })
    }
}

/// Corners of a rising curve: a value, and the share of all values below it.
struct Curve(Vec<(f64, f64)>);

impl Curve {
    /// `None` without records.
    fn of(bins: &Bins, counts: &[f64]) -> Option<Self> {
        let counts = counts.get(..bins.count() as usize)?;
        let total: f64 = counts.iter().sum();
        if total <= 0.0 {
            return None;
        }
        let mut corners = vec![(bins.plausible(0).0, 0.0)];
        let mut below = 0.0;
        for (bin, count) in (0..).zip(counts) {
            below += count / total;
            corners.push((bins.plausible(bin).1, below.min(1.0)));
        }
        Some(Self(corners))
    }

    /// The value below which a share of the values lies.
    fn value_below(&self, share: f64) -> f64 {
        let after = self.0.partition_point(|(_, below)| *below < share).max(1);
        let [(from, low), (to, high)] = [self.0[after - 1], self.0[after.min(self.0.len() - 1)]];
        if high > low {
            from + (to - from) * ((share - low) / (high - low)).clamp(0.0, 1.0)
        } else {
            to
        }
    }

    /// The share of the values below a value.
    fn share_below(&self, value: f64) -> f64 {
        let after = self.0.partition_point(|(corner, _)| *corner < value).max(1);
        let [(from, low), (to, high)] = [self.0[after - 1], self.0[after.min(self.0.len() - 1)]];
        if to > from {
            low + (high - low) * ((value - from) / (to - from)).clamp(0.0, 1.0)
        } else {
            high
        }
    }

    /// The curve between two values, over the whole width of the picture.
    fn path(&self, low: f64, high: f64) -> String {
        let inside = self.0.iter().copied().filter(|(value, _)| *value > low && *value < high);
        let ends = [low, high].map(|value| (value, self.share_below(value)));
        let corners = [ends[0]].into_iter().chain(inside).chain([ends[1]]);
        let place = |(value, share): (f64, f64)| {
            format!(
                "{} {}",
                round(WIDTH * (value - low) / (high - low)),
                round(HEIGHT * (1.0 - share))
            )
        };
        format!("M{}", corners.map(place).collect::<Vec<_>>().join("L"))
    }
}

#[cfg(test)]
mod tests;
