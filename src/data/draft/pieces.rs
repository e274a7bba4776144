//! How public rows lie inside a bin, coarsely: a few values that hold many rows, and ranges.

use super::numbers::{align, inward, shortest, step};
use super::quantiles::{cut, rows};
use crate::domain::Piece;

/// Most ranges of one bin.
const RANGES: f64 = 6.0;

/// A value with 1/6 of a bin's rows is a piece of its own.
const HEAP: u64 = 6;

/// The pieces of a bin `[low, high)` with these values, each of at least `few` rows.
pub(super) fn pieces(
    values: &[(f64, u64)],
    whole: bool,
    few: u64,
    (low, high): (f64, f64),
) -> Vec<Piece> {
    let values = &clamped(values, whole, (low, high));
    let total = rows(values);
    let is_heap = |(_, count): &(f64, u64)| *count >= few && count * HEAP >= total;
    let size = (total as f64 / RANGES).max(few as f64);
    // Groups of positions: heaps alone, the rest cut at quantiles. Too few rows for a piece join the one before.
    let mut groups: Vec<(usize, usize)> = Vec::new();
    let mut at = 0;
    while at < values.len() {
        let start = at;
        if is_heap(&values[at]) {
            at += 1;
            groups.push((start, at));
            continue;
        }
        at += values[at..].iter().take_while(|value| !is_heap(value)).count();
        let mut run: Vec<(usize, usize)> = Vec::new();
        for part in cut(&values[start..at], size, f64::INFINITY) {
            let (from, end) = (start + part.start, start + part.end);
            match run.last_mut() {
                Some(last)
                    if rows(&values[from..end]) < few || rows(&values[last.0..last.1]) < few =>
                {
                    last.1 = end;
                }
                _ => run.push((from, end)),
            }
        }
        groups.extend(run);
    }
    let mut found: Vec<Piece> = Vec::new();
    let mut left = 0;
    let mut lows = vec![low];
    for (from, _) in &groups[1.min(groups.len())..] {
        let is_value = is_heap(&values[*from]) || is_heap(&values[*from - 1]);
        let value = values[*from].0;
        lows.push(if is_value { value } else { shortest(values[*from - 1].0, value) });
    }
    lows.push(high);
    for ((from, end), ends) in groups.iter().zip(lows.windows(2)) {
        let held = rows(&values[*from..*end]);
        if held < few {
            left += held;
            continue;
        }
        found.push(piece(&values[*from..*end], whole, few, (ends[0], ends[1]), held + left));
        left = 0;
    }
    if let Some(last) = found.last_mut() {
        last.rows = weight(u64::from(last.rows) + left);
    }
    inside(found, (low, high))
}

/// The values, with those beyond a bin's outer edge counted at the edge: it was moved inward.
fn clamped(values: &[(f64, u64)], whole: bool, (low, high): (f64, f64)) -> Vec<(f64, u64)> {
    let most = if whole { high - 1.0 } else { f64::INFINITY };
    let mut inside: Vec<(f64, u64)> = Vec::with_capacity(values.len());
    for (value, rows) in values {
        let value = value.min(most).max(low);
        match inside.last_mut() {
            Some((last, sum)) if *last >= value => *sum += rows,
            _ => inside.push((value, *rows)),
        }
    }
    inside
}

/// The piece of some values that lie in `[low, high)`: short numbers that part them from the values around.
fn piece(
    values: &[(f64, u64)],
    whole: bool,
    few: u64,
    (low, high): (f64, f64),
    rows: u64,
) -> Piece {
    let ((first, first_rows), (last, last_rows)) = (values[0], values[values.len() - 1]);
    if values.len() == 1 {
        return Piece { from: first, below: first, rows: weight(rows), step: None };
    }
    let span = last - first;
    let unit = step(values, span, whole);
    // No range reaches far beyond its values, and no end shows a rare one.
    let near = |gap: f64| gap <= span / 4.0;
    let mut from = match () {
        () if near(first - low) => low,
        () if first_rows >= few => first,
        () => inward(first, -1.0).min(last).max(low),
    };
    let mut below = match () {
        () if near(high - last) => high,
        () if last_rows >= few => last,
        () => Some(inward(last, 1.0)).filter(|end| *end > from).unwrap_or(last),
    };
    if let Some(step) = unit {
        from = align(from, step);
        if !near(high - last) {
            // The last value itself belongs to the range.
            below = (below + step / 2.0).min(high);
        }
        if whole {
            below = below.ceil();
        }
        if from >= below || below - from <= step / 2.0 || (whole && below - from <= 1.0) {
            below = from;
        }
    }
    let step = unit.filter(|step| from < below && !(whole && *step <= 1.0));
    Piece { from, below, rows: weight(rows), step }
}

/// Pieces cut to the bin and to the piece before; one that has nothing left gives its rows to that piece.
fn inside(found: Vec<Piece>, (low, high): (f64, f64)) -> Vec<Piece> {
    let mut kept: Vec<Piece> = Vec::new();
    for mut piece in found {
        let start = kept.last().map_or(low, |last| last.below);
        let is_value = piece.is_value();
        if !is_value {
            if piece.from < start {
                piece.from = piece.step.map_or(start, |step| align(start, step));
            }
            piece.below = piece.below.min(high);
        }
        let is_after = kept.last().is_none_or(|last| last.from < piece.from);
        let is_inside = piece.from >= start && piece.from < high;
        match kept.last_mut() {
            _ if is_after && is_inside && (is_value || !piece.is_value()) => kept.push(piece),
            Some(last) => last.rows = last.rows.saturating_add(piece.rows),
            None => {}
        }
    }
    kept
}

fn weight(rows: u64) -> u32 {
    u32::try_from(rows).unwrap_or(u32::MAX)
}
