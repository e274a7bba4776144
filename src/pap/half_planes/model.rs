//! Multiplicative weights over the cells of a plane.

use std::collections::HashMap;

use rayon::prelude::*;

use super::cells::Cells;
use super::release::{PlaneSide, Side};

/// Most projections after each round.
const PROJECTIONS: u32 = 100;
/// Minimum distance of answers from 0 and 1.
const MARGIN: f64 = 1e-6;
/// Error at which projections end.
const MET: f64 = 1e-12;

/// A distribution over cells, the last of which is that of records with a missing number.
///
/// Cells that are on the same side of all measured lines keep their ratios, so projections work on groups of these.
pub(super) struct Model {
    cells: Cells,
    /// One a cell.
    weights: Vec<f64>,
    /// The group of each cell.
    groups: Vec<usize>,
    /// What was measured, and for each group whether its cells are there.
    answered: Vec<(f64, Vec<bool>)>,
    /// Number of groups. That of a missing number is the first.
    count: usize,
}

impl Model {
    /// All cells equally likely.
    pub(super) fn new(cells: Cells) -> Self {
        let count = cells.count + 1;
        let weights = vec![(count as f64).recip(); count];
        let mut groups = vec![1; count];
        groups[count - 1] = 0;
        Self { cells, weights, groups, answered: Vec::new(), count: 2 }
    }

    /// The probability of a missing number.
    pub(super) fn missing(&self) -> f64 {
        self.weights[self.cells.count]
    }

    /// The probability of each side of some lines: inside, outside, missing.
    pub(super) fn shares(&self, lines: usize) -> Vec<[f64; 3]> {
        let missing = self.missing();
        let share = |line| {
            let inside = self.cells.sum_inside(line, &self.weights).min(1.0 - missing);
            [inside, (1.0 - missing - inside).max(0.0), missing]
        };
        (0..lines).into_par_iter().map(share).collect()
    }

    /// Takes a measured share into account: projects onto the one of all with the largest error, again and again.
    pub(super) fn learn(&mut self, side: PlaneSide, share: f64) {
        self.divide(side.line);
        let is_there = self.members(side);
        self.answered.push((share.clamp(0.0, 1.0), is_there));
        let mut masses = vec![0.0; self.count];
        self.groups.iter().zip(&self.weights).for_each(|(g, weight)| masses[*g] += weight);
        let before = masses.clone();
        project(&mut masses, &self.answered);
        let factors: Vec<f64> = masses
            .iter()
            .zip(&before)
            .map(|(new, old)| if *old > 0.0 { new / old } else { 0.0 })
            .collect();
        let scaled = self.weights.iter_mut().zip(&self.groups);
        scaled.for_each(|(weight, group)| *weight *= factors[*group]);
    }

    /// Divides every group by a line.
    fn divide(&mut self, line: usize) {
        let mut numbers: HashMap<(usize, bool), usize> = HashMap::from([((0, false), 0)]);
        let mut origins = vec![0];
        for (cell, group) in self.groups.iter_mut().enumerate().take(self.cells.count) {
            let key = (*group, self.cells.is_inside(line, cell));
            *group = *numbers.entry(key).or_insert_with(|| {
                origins.push(key.0);
                origins.len() - 1
            });
        }
        for (_, members) in &mut self.answered {
            *members = origins.iter().map(|origin| members[*origin]).collect();
        }
        self.count = origins.len();
    }

    /// For each group, whether its cells are on a side of a line that divides none.
    fn members(&self, side: PlaneSide) -> Vec<bool> {
        let mut members = vec![false; self.count];
        for (cell, group) in self.groups.iter().enumerate().take(self.cells.count) {
            members[*group] = self.cells.is_inside(side.line, cell) == (side.side == Side::Inside);
        }
        members
    }
}

/// Projects probabilities onto the answer with the largest error, at most [`PROJECTIONS`] times: the groups that are there are
/// scaled to the answer, the others to the rest.
fn project(masses: &mut [f64], answered: &[(f64, Vec<bool>)]) {
    for _ in 0..PROJECTIONS {
        let sum_of = |members: &[bool]| -> f64 {
            masses
                .iter()
                .zip(members)
                .filter(|(_, is_there)| **is_there)
                .map(|(mass, _)| mass)
                .sum()
        };
        let errors = answered.iter().map(|answer| (answer, sum_of(&answer.1)));
        let worst =
            errors.max_by(|(one, a), (other, b)| (a - one.0).abs().total_cmp(&(b - other.0).abs()));
        let Some(((wanted, members), found)) = worst else { return };
        if (found - wanted).abs() <= MET {
            return;
        }
        let [wanted, found] = [*wanted, found].map(|p| p.clamp(MARGIN, 1.0 - MARGIN));
        let (inside, outside) = (wanted / found, (1.0 - wanted) / (1.0 - found));
        for (mass, is_there) in masses.iter_mut().zip(members) {
            *mass *= if *is_there { inside } else { outside };
        }
        let sum: f64 = masses.iter().sum();
        masses.iter_mut().for_each(|mass| *mass /= sum);
    }
}
