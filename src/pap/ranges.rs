//! The queries of a class over the cells between cuts, and all their answers by running sums.

use crate::pap::RangeClass;

/// The cells of one column: those between its cuts, and last that of a missing value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Axis {
    /// Number of cells, that of a missing value included.
    pub(super) cells: usize,
    /// The class whose ranges of cells are queries.
    pub(super) class: RangeClass,
}

impl Axis {
    /// The ranges of cells, each with its first cell and the one after its last.
    ///
    /// Thresholds start at the first cell. Intervals start anywhere. Conjunctions have single cells. No range has the missing
    /// value's cell, except that of a box or a conjunction has all cells in a column about which it says nothing.
    pub(super) fn ranges(self) -> impl Iterator<Item = (usize, usize)> {
        let Self { cells, class } = self;
        let is_single = matches!(class, RangeClass::Conjunctions { .. });
        let starts = if class.starts_anywhere() || is_single { cells - 1 } else { 1 };
        let all = class.is_joint().then_some((0, cells));
        let ends = move |from| if is_single { from + 1..from + 2 } else { from + 1..cells };
        let between = (0..starts).flat_map(move |from| ends(from).map(move |to| (from, to)));
        all.into_iter().chain(between)
    }

    /// Number of ranges.
    pub(super) fn len(self) -> usize {
        let values = self.cells - 1;
        match self.class {
            RangeClass::Thresholds | RangeClass::Stumps { .. } => values,
            RangeClass::Intervals => values * (values + 1) / 2,
            RangeClass::Boxes { .. } => values * (values + 1) / 2 + 1,
            RangeClass::Conjunctions { .. } => values + 1,
            // Released otherwise: by a list, and by lines.
            RangeClass::List { .. } | RangeClass::HalfPlanes => 0,
        }
    }
}

/// The product of some numbers, `u64::MAX` if it does not fit.
pub(super) fn product(numbers: impl Iterator<Item = usize>) -> u64 {
    numbers.fold(1_u64, |all, number| all.saturating_mul(number as u64))
}

/// The sums of a row-major table over all products of ranges, in order, the first axis slowest: by running sums along each
/// axis, two numbers for each sum.
pub(super) fn sums(table: &[f64], axes: &[Axis]) -> Vec<f64> {
    let Some((first, rest)) = axes.split_first() else { return table.to_vec() };
    // running[k]: the first k slices together.
    let mut running = vec![vec![0.0; table.len() / first.cells]];
    for slice in table.chunks(table.len() / first.cells) {
        let before = &running[running.len() - 1];
        let sum = before.iter().zip(slice).map(|(sum, more)| sum + more).collect();
        running.push(sum);
    }
    let mut found = Vec::with_capacity(axes.iter().map(|axis| axis.len()).product());
    for (from, to) in first.ranges() {
        let between = running[to].iter().zip(&running[from]).map(|(all, before)| all - before);
        if rest.is_empty() {
            found.extend(between);
        } else {
            found.extend(sums(&between.collect::<Vec<f64>>(), rest));
        }
    }
    found
}

/// The sums of a row-major table over some products of ranges, in order: from running sums along all axes, two numbers for each
/// condition.
pub(super) fn sums_of(table: &[f64], axes: &[Axis], queries: &[Vec<(usize, usize)>]) -> Vec<f64> {
    let mut running = table.to_vec();
    let mut stride = 1;
    for axis in axes.iter().rev() {
        for at in 0..running.len() {
            if at / stride % axis.cells > 0 {
                running[at] += running[at - stride];
            }
        }
        stride *= axis.cells;
    }
    let sum = |query: &Vec<(usize, usize)>| {
        // Ends of the ranges, each with its sign.
        let mut corners = vec![(0, 1.0)];
        for (axis, (from, before)) in axes.iter().zip(query) {
            let step = |at: usize, end: usize| at * axis.cells + end - 1;
            let ends = |(at, sign): (usize, f64)| {
                let less = (*from > 0).then(|| (step(at, *from), -sign));
                [(step(at, *before), sign)].into_iter().chain(less)
            };
            corners = corners.into_iter().flat_map(ends).collect();
        }
        corners.into_iter().map(|(at, sign)| sign * running[at]).sum()
    };
    queries.iter().map(sum).collect()
}

/// The ranges of one query, by its place among [`sums`].
pub(super) fn query(axes: &[Axis], place: usize) -> Vec<(usize, usize)> {
    let mut rest = place;
    let mut ranges = Vec::with_capacity(axes.len());
    for axis in axes.iter().rev() {
        ranges.extend(axis.ranges().nth(rest % axis.len()));
        rest /= axis.len();
    }
    ranges.reverse();
    ranges
}

#[cfg(test)]
mod tests;
