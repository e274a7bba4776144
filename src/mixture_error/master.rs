//! Cutting planes and columns: linear programs over some cells and some rows, until the bounds meet.

use std::collections::BTreeSet;

use super::problem::{Bracket, Problem};
use super::support::Prices;
use super::working_set::keep_least;
use crate::error::Result;
use crate::program::{Comparison, Constraint, LinearProgram};

/// Cells and rows of the first program, and the most that a round adds of each.
const FIRST: usize = 200;
const ADDED: usize = 100;
/// Largest cells × rows of a program.
const MAX_SIZE: usize = 1_000_000;
/// Largest number of programs.
const MAX_ROUNDS: usize = 40;

/// A cell whose error is bounded, on one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Cut {
    cell: usize,
    /// Whether it bounds masses above the answer, or below.
    over: bool,
}

/// The programs' cells and rows.
struct Master {
    cuts: BTreeSet<Cut>,
    rows: BTreeSet<u32>,
}

/// Narrows a bracket to `tolerance`, as far as programs of limited size can. A failing solver ends the search and
/// leaves the bracket unchanged. Returns the number of programs solved.
pub(super) fn refine(problem: &Problem<'_>, found: &mut Bracket, tolerance: f64) -> Result<u32> {
    let mut programs = 0;
    let mut master = Master::around(problem, found)?;
    for _ in 0..MAX_ROUNDS {
        if found.gap() <= tolerance || master.cuts.len() * master.rows.len() > MAX_SIZE {
            break;
        }
        let rows: Vec<u32> = master.rows.iter().copied().collect();
        let Some((weights, prices)) = master.solve(problem, &rows)? else { break };
        programs += 1;
        let masses = found.offer_mixture(problem, &rows, &weights)?;
        let costs = found.offer_prices(problem, prices)?;
        let before = (master.cuts.len(), master.rows.len());
        master.cut(problem, &masses, ADDED);
        master.price(&costs, ADDED);
        if before == (master.cuts.len(), master.rows.len()) {
            break;
        }
    }
    Ok(programs)
}

impl Master {
    /// The cells with the largest prices and errors, and the rows with the lowest costs and largest weights.
    fn around(problem: &Problem<'_>, found: &mut Bracket) -> Result<Self> {
        let mut master = Self { cuts: BTreeSet::new(), rows: BTreeSet::new() };
        let mut priced = found.prices.clone();
        priced.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        let priced = priced.iter().take(FIRST);
        master.cuts.extend(priced.map(|(cell, price)| Cut { cell: *cell, over: *price > 0.0 }));
        master.cut(problem, &found.masses, FIRST);
        let mut heavy: Vec<(f64, u32)> =
            found.weights.iter().copied().zip(found.rows.iter().copied()).collect();
        heavy.sort_by(|a, b| b.0.total_cmp(&a.0));
        master.rows.extend(heavy.iter().take(FIRST).map(|(_, row)| *row));
        let costs = problem.support.costs(&found.prices)?;
        master.price(&costs, FIRST);
        Ok(master)
    }

    /// Adds the cells with the largest errors.
    fn cut(&mut self, problem: &Problem<'_>, masses: &[f64], count: usize) {
        let errors = problem.errors(masses).enumerate();
        let cuts = errors.map(|(cell, error)| (-error.abs(), Cut { cell, over: error > 0.0 }));
        let mut new: Vec<(f64, Cut)> = cuts.filter(|(_, cut)| !self.cuts.contains(cut)).collect();
        keep_least(&mut new, count);
        self.cuts.extend(new.into_iter().map(|(_, cut)| cut));
    }

    /// Adds the rows with the lowest costs.
    fn price(&mut self, costs: &[f64], count: usize) {
        let rows = costs.iter().copied().zip(0_u32..);
        let mut new: Vec<(f64, u32)> = rows.filter(|(_, row)| !self.rows.contains(row)).collect();
        keep_least(&mut new, count);
        self.rows.extend(new.into_iter().map(|(_, row)| row));
    }

    /// The smallest t with |mass − answer| ≤ t on the cuts: weights of the rows, and the prices that prove it. `None`
    /// if the solver fails.
    fn solve(&self, problem: &Problem<'_>, rows: &[u32]) -> Result<Option<(Vec<f64>, Prices)>> {
        let mut cells: Vec<usize> = self.cuts.iter().map(|cut| cut.cell).collect();
        cells.dedup();
        let mut terms: Vec<Vec<(usize, f64)>> = vec![Vec::new(); cells.len()];
        for (row, places) in problem.support.incidence(rows, &cells)?.into_iter().enumerate() {
            places.into_iter().for_each(|place| terms[place as usize].push((row + 1, 1.0)));
        }
        let mut constraints = Vec::with_capacity(self.cuts.len() + 2);
        for Cut { cell, over } in &self.cuts {
            let place = cells.partition_point(|other| other < cell);
            let sign = if *over { 1.0 } else { -1.0 };
            let terms = terms[place].iter().map(|(row, one)| (*row, sign * one));
            let terms = terms.chain([(0, -1.0)]).collect();
            let bound = sign * problem.targets[*cell];
            constraints.push(Constraint { terms, comparison: Comparison::AtMost, bound });
        }
        let floor = Constraint {
            terms: vec![(0, -1.0)],
            comparison: Comparison::AtMost,
            bound: -problem.floor,
        };
        let total = Constraint {
            terms: (1..=rows.len()).map(|row| (row, 1.0)).collect(),
            comparison: Comparison::Equal,
            bound: 1.0,
        };
        constraints.extend([floor, total]);
        let mut objective = vec![0.0; rows.len() + 1];
        objective[0] = 1.0;
        let Ok(solution) = (LinearProgram { objective, constraints }).solve() else {
            return Ok(None);
        };
        let weights = solution.values[1..].iter().map(|weight| weight.max(0.0)).collect();
        let mut prices: Prices = Vec::with_capacity(cells.len());
        for (Cut { cell, over }, dual) in self.cuts.iter().zip(&solution.duals) {
            let price = if *over { dual.max(0.0) } else { -dual.max(0.0) };
            match prices.last_mut().filter(|(last, _)| last == cell) {
                Some((_, sum)) => *sum += price,
                None => prices.push((*cell, price)),
            }
        }
        Ok(Some((weights, prices)))
    }
}
