//! Cutting values at quantiles, and at short numbers near them.

use std::ops::Range;

use super::numbers::shortest;

/// Whole numbers in a range that get a bin each.
pub(crate) const UNITS: usize = 40;

/// A bin of several values holds at most this share of the rows.
pub(crate) const MOST: f64 = 1.0 / 20.0;

/// Of the rows outside heaps, it holds at most this share.
pub(crate) const MOST_OF_REST: f64 = 1.0 / 10.0;

/// A value with this share of the rows may be a heap, a bin of its own.
pub(crate) const HEAP: f64 = 1.0 / 40.0;

/// Part of a group's rows by which a cut may move to a shorter number.
const SLACK: f64 = 0.15;

/// Rows of some values.
pub(super) fn rows(values: &[(f64, u64)]) -> u64 {
    values.iter().map(|(_, rows)| rows).sum()
}

/// Positions of values, cut into groups of about equally many rows: `size` or less, and at most `most` as far as values
/// can be told apart. No group is empty.
pub(crate) fn cut(values: &[(f64, u64)], size: f64, most: f64) -> Vec<Range<usize>> {
    let total = rows(values) as f64;
    let parts = (total / size).ceil().max(1.0);
    if parts <= 1.0 || values.len() < 2 {
        return std::iter::once(0..values.len()).collect();
    }
    let size = total / parts;
    let mut cuts = vec![0];
    let mut held = 0.0;
    for (at, (_, rows)) in values.iter().enumerate() {
        let next = *rows as f64;
        let over = held + next - size;
        // The value starts a new group if that leaves the old one closer to its size.
        if held > 0.0 && (held + next > most || over > size - held) {
            cuts.push(at);
            held = 0.0;
        }
        held += next;
    }
    // A short rest joins the group before it.
    if let [.., before, last] = *cuts.as_slice()
        && 3.0 * held < size
        && rows(&values[before..last]) as f64 + held <= most
    {
        cuts.pop();
    }
    cuts.push(values.len());
    for at in 1..cuts.len() - 1 {
        cuts[at] = rounded(values, (cuts[at - 1], cuts[at], cuts[at + 1]), SLACK * size, most);
    }
    cuts.windows(2).map(|ends| ends[0]..ends[1]).collect()
}

/// A cut between two others, moved by at most `slack` rows to where the edge is a shorter number.
fn rounded(
    values: &[(f64, u64)],
    (start, cut, end): (usize, usize, usize),
    slack: f64,
    most: f64,
) -> usize {
    let room = |group: Range<usize>| (most - rows(&values[group]) as f64).clamp(0.0, slack);
    let (mut low, mut high) = (cut, cut);
    let (mut down, mut up) = (room(cut..end), room(start..cut));
    while low > start + 1 && values[low - 1].1 as f64 <= down {
        low -= 1;
        down -= values[low].1 as f64;
    }
    while high + 1 < end && values[high].1 as f64 <= up {
        up -= values[high].1 as f64;
        high += 1;
    }
    let edge = shortest(values[low - 1].0, values[high].0);
    values.partition_point(|(value, _)| *value < edge).clamp(low, high)
}
