//! The fast search on a smoothed game: first on all of it, then on the few rows and cells that matter at its solution.

use super::game::Game;
use super::guaranteed::{self, NORM, bounds};
use super::primal_dual::{Pace, PrimalDual};
use super::working_set::keep_least;

/// Incidences read by the iterations on the whole game, and the smallest and largest number of iterations. They often
/// suffice; otherwise they show which rows and cells matter.
const WHOLE: usize = 1 << 32;
const LEAST_WHOLE: u32 = 400;
const MOST_WHOLE: u32 = 20_000;
/// Initial rows and cells of a part, and the most that a round adds of each.
const ROWS: usize = 512;
const CELLS: usize = 2048;
/// Largest number of parts.
const ROUNDS: u32 = 16;
/// Share of the width that may remain after a part.
const INNER: f64 = 0.5;
/// Items left out weigh less than exp of minus this, relative to the largest.
const NEGLIGIBLE: f64 = 28.0;
/// Norms to try, relative to the proved one, which moves seldom meet.
const NORMS: [f64; 3] = [1.0 / 8.0, 1.0 / 3.0, 1.0];

/// A bracket of the value of a smoothed game, which may be wider than `width`.
///
/// Weights and prices of the solution are exponential in costs and errors, so most of them are negligible. Bounds hold
/// for the whole game, whichever part led to them.
pub(super) fn close(game: &Game, width: f64) -> [f64; 2] {
    let whole = u32::try_from(WHOLE / game.incidences().max(1)).unwrap_or(u32::MAX);
    close_after(game, width, whole.clamp(LEAST_WHOLE, MOST_WHOLE))
}

/// The same with a given number of iterations on the whole game.
pub(super) fn close_after(game: &Game, width: f64, whole: u32) -> [f64; 2] {
    let even = vec![1.0 / game.rows() as f64; game.rows()];
    let mut search = PrimalDual::new(game, even, &vec![0.0; game.targets.len()], Pace::default());
    search.run(width, whole);
    let mut bracket = [search.lower, search.upper];
    let mut point = Point { weights: search.weights, prices: search.prices };
    let mut rows = least(point.weights.iter().map(|w| -w), ROWS);
    let mut cells = least(point.prices.iter().map(|y| -y.abs()), CELLS);
    let mut norm = 0;
    for round in 0..ROUNDS {
        let (costs, errors) = point.look(game);
        let rates = [game.smoothing.weights, game.smoothing.prices].map(f64::recip);
        let grown = add(&mut rows, costs.iter().map(|cost| rates[0] * cost), ROWS)
            | add(&mut cells, errors.iter().map(|e| -rates[1] * e.abs()), CELLS);
        if bracket[1] - bracket[0] <= width || (round > 0 && !grown) {
            break;
        }
        let part = game.part(&rows, &cells);
        let mut solved = guaranteed::close(&part, INNER * width, NORM * NORMS[norm]);
        while solved.bracket[1] - solved.bracket[0] > INNER * width && norm + 1 < NORMS.len() {
            norm += 1;
            solved = guaranteed::close(&part, INNER * width, NORM * NORMS[norm]);
        }
        let weights = lift(&rows, &solved.weights, game.rows());
        let [over, under] =
            [&solved.over, &solved.under].map(|side| lift(&cells, side, game.targets.len()));
        let [lower, upper] = bounds(game, &weights, &over, &under);
        bracket = [bracket[0].max(lower), bracket[1].min(upper)];
        let prices = over.iter().zip(&under).map(|(over, under)| over - under).collect();
        point = Point { weights, prices };
    }
    bracket
}

/// Weights and net prices on the whole game.
struct Point {
    weights: Vec<f64>,
    prices: Vec<f64>,
}

impl Point {
    /// The costs of all rows and the errors of all cells.
    fn look(&self, game: &Game) -> (Vec<f64>, Vec<f64>) {
        let (mut masses, mut costs) = (vec![0.0; self.prices.len()], vec![0.0; self.weights.len()]);
        game.masses(&self.weights, &mut masses);
        game.costs(&self.prices, &mut costs);
        masses.iter_mut().zip(&game.targets).for_each(|(mass, target)| *mass -= target);
        (costs, masses)
    }
}

/// The items with the lowest keys below zero, ascending.
fn least(keys: impl Iterator<Item = f64>, count: usize) -> Vec<u32> {
    let mut items: Vec<(f64, u32)> = keys.zip(0..).filter(|(key, _)| *key < 0.0).collect();
    keep_least(&mut items, count);
    let mut items: Vec<u32> = items.into_iter().map(|(_, item)| item).collect();
    items.sort_unstable();
    items
}

/// If any new item's key is near the lowest of all, adds those with the lowest keys. Returns whether there were any.
fn add(items: &mut Vec<u32>, keys: impl Iterator<Item = f64> + Clone, most: usize) -> bool {
    let near = keys.clone().fold(f64::INFINITY, f64::min) + NEGLIGIBLE;
    let known = |item: &u32| items.binary_search(item).is_ok();
    let mut new: Vec<(f64, u32)> = keys.zip(0..).filter(|(_, item)| !known(item)).collect();
    if new.iter().all(|(key, _)| *key >= near) {
        return false;
    }
    keep_least(&mut new, most);
    items.extend(new.iter().map(|(_, item)| *item));
    items.sort_unstable();
    true
}

/// Values of some items among all of them, the others 0.
fn lift(items: &[u32], values: &[f64], all: usize) -> Vec<f64> {
    let mut lifted = vec![0.0; all];
    items.iter().zip(values).for_each(|(item, value)| lifted[*item as usize] = *value);
    lifted
}
