//! The part of an instance for the first-order method: all of it if that fits, otherwise the rows and cells that matter
//! most.

use super::game::Game;
use super::primal_dual::{Pace, PrimalDual};
use super::problem::{Bracket, Problem};
use super::support::Prices;
use crate::error::Result;

/// Most incidences of records with cells of a complete game: 128 MiB.
pub(super) const MAX_INCIDENCES: usize = 1 << 25;
/// Initial rows and cells of a larger instance, and the most that a round adds of each.
const FIRST_ROWS: usize = 1 << 13;
const FIRST_CELLS: usize = 1 << 15;
const ADDED_ROWS: usize = 1 << 11;
const ADDED_CELLS: usize = 1 << 14;
/// Share of the public frequencies in the initial weights of a search, so that every row has some.
const FREQUENCIES: f64 = 0.02;

/// Share of earlier prices in the initial ones of a search; the rest is even.
const EARLIER: f64 = 0.9;

/// Rows and cells, ascending, and the end point of the last search on them.
pub(super) struct WorkingSet {
    rows: Vec<u32>,
    cells: Vec<usize>,
    prices: Prices,
    pace: Pace,
}

impl WorkingSet {
    /// Everything, or evenly spaced rows and the cells with the largest errors.
    pub(super) fn new(problem: &Problem<'_>, found: &Bracket) -> Self {
        let (rows, cells) = (problem.support.rows.records(), problem.support.reached());
        let size = rows.saturating_mul(problem.support.cliques());
        let all = (0_u32..).take(rows);
        if size <= MAX_INCIDENCES {
            let (rows, cells) = (all.collect(), (0..cells).collect());
            return Self { rows, cells, prices: Vec::new(), pace: Pace::default() };
        }
        let distance = rows.div_ceil(FIRST_ROWS);
        let rows = all.step_by(distance).collect();
        let (cells, prices) = (Vec::new(), Vec::new());
        let mut set = Self { rows, cells, prices, pace: Pace::default() };
        set.add_cells(problem, &found.masses, 0.0, FIRST_CELLS);
        set
    }

    /// Whether it is the whole instance.
    pub(super) fn is_complete(&self, problem: &Problem<'_>) -> bool {
        let support = problem.support;
        self.rows.len() == support.rows.records() && self.cells.len() == support.reached()
    }

    /// The game on it.
    pub(super) fn game(&self, problem: &Problem<'_>) -> Result<Game> {
        let incidence = problem.support.incidence(&self.rows, &self.cells)?;
        let targets = self.cells.iter().map(|cell| problem.targets[*cell]).collect();
        Ok(Game::new(&incidence, targets, problem.floor))
    }

    /// A search on its game, starting where the last one ended.
    pub(super) fn search<'g>(
        &self,
        game: &'g Game,
        problem: &Problem<'_>,
        found: &Bracket,
    ) -> PrimalDual<'g> {
        let mut prices = vec![0.0; self.cells.len()];
        for (cell, price) in &self.prices {
            if let Ok(place) = self.cells.binary_search(cell) {
                prices[place] = EARLIER * price;
            }
        }
        PrimalDual::new(game, self.start(problem, found), &prices, self.pace)
    }

    /// Initial weights: the best mixture, with some of the public frequencies.
    fn start(&self, problem: &Problem<'_>, found: &Bracket) -> Vec<f64> {
        let mut best = vec![0.0; problem.support.rows.records()];
        for (row, weight) in found.rows.iter().zip(&found.weights) {
            best[*row as usize] = *weight;
        }
        let pick = |of: &[f64]| {
            let picked: Vec<f64> = self.rows.iter().map(|row| of[*row as usize]).collect();
            let total: f64 = picked.iter().sum();
            picked.into_iter().map(move |weight| weight / total)
        };
        let mixed = pick(&best).zip(pick(&problem.support.frequencies()));
        mixed.map(|(best, some)| best + FREQUENCIES * (some - best)).collect()
    }

    /// Offers the result of a search to the bracket, and adds the cells and rows that violate it. Returns whether there
    /// were any.
    pub(super) fn offer(
        &mut self,
        problem: &Problem<'_>,
        found: &mut Bracket,
        search: &PrimalDual<'_>,
    ) -> Result<bool> {
        let masses = found.offer_mixture(problem, &self.rows, &search.weights)?;
        let (last, pace) = search.state();
        self.prices = self.cells.iter().copied().zip(last).collect();
        self.pace = pace;
        let prices: Prices =
            self.cells.iter().copied().zip(search.prices.iter().copied()).collect();
        let costs = found.offer_prices(problem, prices)?;
        let added = self.add_cells(problem, &masses, search.upper, ADDED_CELLS);
        Ok(self.add_rows(&costs) | added)
    }

    /// Adds the cells with the largest errors above `least`. Returns whether there were any.
    fn add_cells(
        &mut self,
        problem: &Problem<'_>,
        masses: &[f64],
        least: f64,
        most: usize,
    ) -> bool {
        let mut known = vec![false; masses.len()];
        self.cells.iter().for_each(|cell| known[*cell] = true);
        let errors = problem.errors(masses).map(f64::abs).enumerate();
        let mut new: Vec<(f64, usize)> = errors
            .filter(|(cell, error)| *error > least && !known[*cell])
            .map(|(cell, error)| (-error, cell))
            .collect();
        keep_least(&mut new, most);
        self.cells.extend(new.iter().map(|(_, cell)| *cell));
        self.cells.sort_unstable();
        !new.is_empty()
    }

    /// Adds the rows that cost less than all of its own. Returns whether there were any.
    fn add_rows(&mut self, costs: &[f64]) -> bool {
        let own = self.rows.iter().map(|row| costs[*row as usize]);
        let cheapest = own.fold(f64::INFINITY, f64::min);
        let mut new: Vec<(f64, u32)> =
            costs.iter().copied().zip(0_u32..).filter(|(cost, _)| *cost < cheapest).collect();
        keep_least(&mut new, ADDED_ROWS);
        self.rows.extend(new.iter().map(|(_, row)| *row));
        self.rows.sort_unstable();
        !new.is_empty()
    }
}

/// Keeps the items with the `count` lowest keys; equal keys in the items' order.
pub(super) fn keep_least<T: Ord>(items: &mut Vec<(f64, T)>, count: usize) {
    if count < items.len() {
        items.select_nth_unstable_by(count, |a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        items.truncate(count);
    }
}
