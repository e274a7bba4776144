//! Bins of a number by the public rows.
//!
//! Few or close whole numbers get a bin each. Otherwise a value that holds much of the rows (a heap) gets its own bin,
//! and the rows between heaps are cut at quantiles, such that no bin of several values holds more than a twentieth of all
//! rows. Edges move to the shortest number nearby. No edge and no piece stands for a few rows only, so that the extreme
//! values of single public rows do not appear in the schema.

use std::ops::Range;

use super::numbers::{after, inward, shortest};
use super::pieces::pieces;
use super::quantiles::{HEAP, MOST, MOST_OF_REST, UNITS, cut, rows};
use crate::domain::{Bins, Outside};
use crate::error::Result;

/// Zero, the smallest and the largest value are heaps from this share of the rows. Other heaps hold [`HEAP`], and as much
/// as both neighbors together.
const SPECIAL: f64 = 1.0 / 400.0;

/// The outermost bin of a long tail is cut until it holds 1/200 of the rows.
const TAIL: u64 = 200;

/// Rows that the edges of outer bins and the pieces of any bin stand for at least, in a table of 500 rows or more.
const FEW: u64 = 10;

/// The public values of one column.
pub(super) struct Values {
    /// The distinct values in increasing order, with the number of rows of each.
    pub(super) counts: Vec<(f64, u64)>,
    /// Whether they are whole numbers.
    pub(super) whole: bool,
    /// What a dictionary says they reach from and stay below.
    pub(super) limits: Option<(f64, f64)>,
    /// Numbers at which other columns change, in increasing order: bins of several values begin there.
    pub(super) changes: Vec<f64>,
}

/// A bin before its edges are known: positions of its values.
type Group = Range<usize>;

impl Values {
    /// Rows in a group.
    fn rows(&self, group: &Group) -> u64 {
        rows(&self.counts[group.clone()])
    }

    fn total(&self) -> u64 {
        self.rows(&(0..self.counts.len()))
    }

    /// The least number of rows that an outer bin or a piece stands for.
    pub(super) fn few(&self) -> u64 {
        (self.total() / 50).clamp(1, FEW)
    }

    /// Bins that follow the rows, with pieces to draw from; `None` without values.
    ///
    /// # Errors
    /// None in practice: edges that do not increase.
    pub(super) fn bins(&self, name: &str) -> Result<Option<Bins>> {
        let (Some((least, _)), Some((most, _))) = (self.counts.first(), self.counts.last()) else {
            return Ok(None);
        };
        let groups = self.groups();
        let few = self.few();
        let mut edges = vec![self.outer(groups.first(), *least, -1.0)];
        edges.extend(groups.windows(2).map(|pair| self.edge(&pair[0], &pair[1])));
        edges.push(self.outer(groups.last(), *most, 1.0));
        let end = edges.len() - 1;
        // Values are drawn where public rows lie, also where a dictionary allows others.
        let (lowest, highest) = (edges[0], edges[end]);
        let beyond = match self.limits {
            Some((low, high)) => {
                edges[0] = lowest.min(low);
                edges[end] = highest.max(high);
                *least < low || *most >= high
            }
            None => true,
        };
        let mut drawn = Vec::new();
        for (group, ends) in groups.iter().zip(edges.windows(2)) {
            let (low, high) = (ends[0].max(lowest), ends[1].min(highest));
            // A bin of one whole number needs none.
            if (self.whole && ends[1] - ends[0] <= 1.0) || self.rows(group) < few {
                continue;
            }
            drawn.extend(pieces(&self.counts[group.clone()], self.whole, few, (low, high)));
        }
        let outside = if beyond { Outside::Clamp } else { Outside::Refuse };
        let bins = Bins::new(edges, Some(self.whole), name)?.with_outside(outside);
        let with_pieces = bins.clone().with_pieces(drawn, name);
        debug_assert!(with_pieces.is_ok(), "pieces lie in their bins: {with_pieces:?}");
        Ok(Some(with_pieces.unwrap_or(bins)))
    }

    /// What is left to say of the drafted bins: wide bins of over 5 %, and one value of many with over half of the rows.
    /// Few values have a bin each anyway.
    pub(super) fn remarks(&self, bins: &Bins) -> Vec<String> {
        let total = self.total().max(1);
        let mut widths: Vec<f64> = bins.edges().windows(2).map(|w| w[1] - w[0]).collect();
        widths.sort_by(f64::total_cmp);
        let median = widths[widths.len() / 2];
        let mut found = Vec::new();
        for ends in bins.edges().windows(2) {
            let (low, high) = (ends[0], ends[1]);
            let start = self.counts.partition_point(|(value, _)| *value < low);
            let end = self.counts.partition_point(|(value, _)| *value < high);
            let rows = self.rows(&(start..end));
            let share = 100.0 * rows as f64 / total as f64;
            if 2 * rows > total && end - start == 1 && self.counts.len() > UNITS {
                found.push(format!(
                    "{share:.0} % of the public rows are {}: one bin, which cannot be cut",
                    self.counts[start].0
                ));
            } else if end - start > 1 && rows as f64 > MOST * total as f64 && high - low > median {
                found.push(format!(
                    "{share:.0} % of the public rows in the bin [{low}, {high}), too few to cut it"
                ));
            }
        }
        found
    }

    /// The bins as groups of values, in order.
    fn groups(&self) -> Vec<Group> {
        let count = self.counts.len();
        let span = self.counts[count - 1].0 - self.counts[0].0;
        let close = self.whole && span < UNITS as f64;
        let few = self.few();
        let groups: Vec<Group> = match () {
            () if close => (0..count).map(|at| at..at + 1).collect(),
            () if count <= UNITS => self.each(),
            () => self.quantiles(),
        };
        let mut groups = self.parted(groups);
        // An outer bin of a few rows would show the values of single rows. A heap stays alone.
        let joins = |outer: &Group, next: &Group| {
            self.rows(outer) < few && self.rows(next) as f64 <= MOST * self.total() as f64
        };
        while let [.., before, last] = groups.as_slice()
            && joins(last, before)
        {
            let merged = before.start..last.end;
            groups.truncate(groups.len() - 2);
            groups.push(merged);
        }
        while let [first, next, ..] = groups.as_slice()
            && joins(first, next)
        {
            let merged = first.start..next.end;
            groups.drain(..2);
            groups.insert(0, merged);
        }
        groups
    }

    /// The groups, cut where other columns change. What is cut off joins a neighbor as long as both hold no more than a bin may, so
    /// that there are few more bins than before.
    fn parted(&self, groups: Vec<Group>) -> Vec<Group> {
        let position = |at: &f64| self.counts.partition_point(|(value, _)| value < at);
        let changes: Vec<usize> = self.changes.iter().map(position).collect();
        // With whether a group is a part of one that was cut.
        let mut parts: Vec<(Group, bool)> = Vec::new();
        for group in groups {
            let inside = changes.iter().filter(|at| group.start < **at && **at < group.end);
            let mut starts: Vec<usize> =
                std::iter::once(group.start).chain(inside.copied()).collect();
            starts.dedup();
            let is_part = starts.len() > 1;
            starts.push(group.end);
            parts.extend(starts.windows(2).map(|ends| (ends[0]..ends[1], is_part)));
        }
        let most = (MOST * self.total() as f64).max(self.few() as f64);
        let is_heap = |group: &Group| {
            group.len() == 1 && self.rows(group) as f64 >= HEAP * self.total() as f64
        };
        let joined = |pair: &[(Group, bool)]| {
            let ((before, is_part), (next, is_next_part)) = (&pair[0], &pair[1]);
            let may_join = (*is_part || *is_next_part)
                && !changes.contains(&next.start)
                && !is_heap(before)
                && !is_heap(next);
            let rows = self.rows(&(before.start..next.end));
            (may_join && rows as f64 <= most).then_some(rows)
        };
        loop {
            let pairs = parts.windows(2).enumerate();
            let least = pairs.filter_map(|(at, pair)| Some((joined(pair)?, at))).min();
            let Some((_, at)) = least else { break };
            let (next, _) = parts.remove(at + 1);
            parts[at] = (parts[at].0.start..next.end, true);
        }
        parts.into_iter().map(|(group, _)| group).collect()
    }

    /// Each value that holds some rows, with the rare ones after it.
    fn each(&self) -> Vec<Group> {
        let mut groups: Vec<Group> = Vec::new();
        for (at, (_, rows)) in self.counts.iter().enumerate() {
            match groups.last_mut() {
                Some(last) if *rows < self.few() => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        groups
    }

    /// Heaps, and the rows between them at quantiles.
    fn quantiles(&self) -> Vec<Group> {
        let total = self.total();
        let last = self.counts.len() - 1;
        let is_heap = |at: usize| {
            let (value, rows) = self.counts[at];
            let around =
                |at: Option<usize>| at.and_then(|at| self.counts.get(at)).map_or(0, |v| v.1);
            let stands_out = rows >= around(at.checked_sub(1)) + around(Some(at + 1));
            let special = value == 0.0 || at == 0 || at == last;
            let least = if special { SPECIAL } else { HEAP };
            stands_out && rows as f64 >= least * total as f64 && rows >= self.few()
        };
        let in_heaps: u64 = (0..=last).filter(|at| is_heap(*at)).map(|at| self.counts[at].1).sum();
        let most = (MOST * total as f64).min(MOST_OF_REST * (total - in_heaps) as f64);
        let most = most.max(self.few() as f64);
        let mut groups: Vec<Group> = Vec::new();
        let mut at = 0;
        while at <= last {
            let start = at;
            if is_heap(at) {
                at += 1;
                groups.push(start..at);
                continue;
            }
            while at <= last && !is_heap(at) {
                at += 1;
            }
            // A fifth less than allowed leaves room to move edges.
            let run = cut(&self.counts[start..at], most / 1.2, most).into_iter();
            let mut run: Vec<Group> =
                run.map(|group| start + group.start..start + group.end).collect();
            if at >= last {
                self.cut_tail(&mut run, |group, middle| [group.start..middle, middle..group.end]);
            }
            if start <= 1 {
                run.reverse();
                self.cut_tail(&mut run, |group, middle| [middle..group.end, group.start..middle]);
                run.reverse();
            }
            groups.extend(run);
        }
        groups
    }

    /// Cuts the last group of a run in halves while it is much wider than the one before it and holds many rows.
    /// `halves` gives the inner half and the outer one.
    fn cut_tail(&self, run: &mut Vec<Group>, halves: impl Fn(&Group, usize) -> [Group; 2]) {
        const WIDE: f64 = 2.0;
        let width = |g: &Group| self.counts[g.end - 1].0 - self.counts[g.start].0;
        let least = (self.total() / TAIL).max(self.few());
        while let [.., before, last] = run.as_slice() {
            let rows = self.rows(last);
            if last.len() < 2 || rows / 2 < least || width(last) <= WIDE * width(before) {
                return;
            }
            let mut held = 0;
            let reached = |at: &usize| {
                held += self.counts[*at].1;
                2 * held >= rows
            };
            let middle = last.clone().find(reached).unwrap_or(last.start) + 1;
            let middle = middle.clamp(last.start + 1, last.end - 1);
            let [inner, outer] = halves(last, middle);
            if self.rows(&outer) < least || self.rows(&inner) < least {
                return;
            }
            run.pop();
            run.extend([inner, outer]);
        }
    }

    /// The edge between two groups: right after a heap, otherwise the shortest number that parts them.
    fn edge(&self, before: &Group, next: &Group) -> f64 {
        let (last, first) = (self.counts[before.end - 1].0, self.counts[next.start].0);
        if before.len() == 1 && next.len() > 1 {
            return after(last, first, self.whole);
        }
        if next.len() == 1 {
            return first;
        }
        shortest(last, first)
    }

    /// The outer edge at an extreme value: the value itself where it stands for enough rows, otherwise one further in.
    fn outer(&self, group: Option<&Group>, extreme: f64, side: f64) -> f64 {
        let ends = group.map(|g| (self.counts[g.start], self.counts[g.end - 1]));
        let Some((first, last)) = ends else { return extreme };
        let (rows, inner) = if side < 0.0 { (first.1, last.0) } else { (last.1, first.0) };
        let mut edge = extreme;
        if rows < self.few() {
            let rounded = inward(extreme, side);
            if (rounded - inner) * side > 0.0 {
                edge = rounded;
            }
        }
        match (self.whole, side > 0.0) {
            (true, true) => edge.floor() + 1.0,
            (true, false) => edge.ceil(),
            // A bin of one value has a width.
            (false, true) if edge <= inner => after(edge, f64::INFINITY, false),
            (false, _) => edge,
        }
    }
}
