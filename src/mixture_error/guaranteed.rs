//! A method with a proved number of iterations, for brackets of a given width that are part of a privacy guarantee.

use super::game::Game;

/// The norm of A between weights and prices that sum to one: its entries are 0 and 1, and can be shifted by ½ since
/// changes of weights sum to zero.
pub(super) const NORM: f64 = 0.5;
/// Iterations between two checks of the bounds.
const CHECK: u64 = 64;

/// Bounds on the value of a smoothed game, and the last averages behind them.
pub(super) struct Solution {
    /// The lower one and the upper one.
    pub(super) bracket: [f64; 2],
    pub(super) weights: Vec<f64>,
    /// Prices above and below, which sum to one together.
    pub(super) over: Vec<f64>,
    pub(super) under: Vec<f64>,
}

/// A bracket of the value of a smoothed game. With `norm` = [`NORM`] it is at most `width` wide, however long that
/// takes.
///
/// Chambolle & Pock (2016), Algorithm 1 for strongly convex parts, with relative entropies as distances, from the
/// uniform mixture of N rows and even prices on both sides of C cells. With a smoothing of γ and δ, steps τ = μ/γ and
/// σ = μ/δ, μ = √(γδ) / norm, and an extrapolation by θ = 1/(1 + μ), averages with weights θ⁻ᵏ have a duality gap of at
/// most (γ ln N + δ ln 2C) / ((1 + μ)ᵀ − 1) after T iterations (`docs/theory/sensitivities.md`, section 7). A smaller
/// norm is faster, and works as long as no move meets a larger one, which only the gap can show.
///
/// The loop stops slightly after the T of this bound, which exact arithmetic would not reach.
pub(super) fn close(game: &Game, width: f64, norm: f64) -> Solution {
    let (rows, cells) = (game.rows(), game.targets.len());
    let [gamma, delta] = [game.smoothing.weights, game.smoothing.prices];
    let entropy = |terms: usize| (terms as f64).ln();
    let mu = (gamma * delta).sqrt() / norm;
    let (tau, sigma, theta) = (mu / gamma, mu / delta, 1.0 / (1.0 + mu));
    let gap = gamma * entropy(rows) + delta * entropy(2 * cells);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let needed = ((gap / width).ln_1p() / mu.ln_1p()).ceil() as u64;
    let most = needed.saturating_add(needed / 8).saturating_add(CHECK);

    let mut weights = vec![1.0 / rows as f64; rows];
    let (mut masses, mut costs) = (vec![0.0; cells], vec![0.0; rows]);
    game.masses(&weights, &mut masses);
    let mut before = masses.clone();
    let (mut log_weights, mut log_prices) = (vec![0.0; rows], vec![0.0; cells]);
    let mut average = Average::new(rows, cells);
    let mut bracket = [game.floor, f64::INFINITY];
    for iteration in 1..=most {
        for (((log, new), old), target) in
            log_prices.iter_mut().zip(&masses).zip(&before).zip(&game.targets)
        {
            *log = theta * (*log + sigma * (new + theta * (new - old) - target));
        }
        let [over, under] = both_soft_max(&log_prices);
        let net: Vec<f64> = over.iter().zip(&under).map(|(over, under)| over - under).collect();
        game.costs(&net, &mut costs);
        let pairs = log_weights.iter_mut().zip(&costs);
        pairs.for_each(|(log, cost)| *log = theta * (*log - tau * cost));
        soft_max(&log_weights, &mut weights);
        std::mem::swap(&mut before, &mut masses);
        game.masses(&weights, &mut masses);
        average.add(theta, &weights, &over, &under);
        if iteration.is_multiple_of(CHECK) || iteration == most {
            let [lower, upper] = average.solution(game).bracket;
            bracket = [bracket[0].max(lower), bracket[1].min(upper)];
            if bracket[1] - bracket[0] <= width {
                break;
            }
        }
    }
    Solution { bracket, ..average.solution(game) }
}

/// Sums of points, the newest with a weight of one and those before it with θ, θ², ...
struct Average {
    weights: Vec<f64>,
    over: Vec<f64>,
    under: Vec<f64>,
    total: f64,
}

impl Average {
    fn new(rows: usize, cells: usize) -> Self {
        let [over, under] = [(); 2].map(|()| vec![0.0; cells]);
        Self { weights: vec![0.0; rows], over, under, total: 0.0 }
    }

    fn add(&mut self, theta: f64, weights: &[f64], over: &[f64], under: &[f64]) {
        for (sums, new) in
            [(&mut self.weights, weights), (&mut self.over, over), (&mut self.under, under)]
        {
            sums.iter_mut().zip(new).for_each(|(sum, new)| *sum = theta * *sum + new);
        }
        self.total = theta * self.total + 1.0;
    }

    /// The averages, and their bounds.
    fn solution(&self, game: &Game) -> Solution {
        let [weights, over, under] = [&self.weights, &self.over, &self.under]
            .map(|sums| sums.iter().map(|sum| sum / self.total).collect::<Vec<f64>>());
        Solution { bracket: bounds(game, &weights, &over, &under), weights, over, under }
    }
}

/// The bounds on the value of a game from weights and prices.
pub(super) fn bounds(game: &Game, weights: &[f64], over: &[f64], under: &[f64]) -> [f64; 2] {
    let (mut masses, mut costs) = (vec![0.0; over.len()], vec![0.0; weights.len()]);
    game.masses(weights, &mut masses);
    let net: Vec<f64> = over.iter().zip(under).map(|(over, under)| over - under).collect();
    game.costs(&net, &mut costs);
    [game.lower(&costs, over, under), game.upper(weights, &masses)]
}

/// `exp(logs)`, scaled to sum to one.
fn soft_max(logs: &[f64], weights: &mut [f64]) {
    let largest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    weights.iter_mut().zip(logs).for_each(|(weight, log)| *weight = (log - largest).exp());
    let total: f64 = weights.iter().sum();
    weights.iter_mut().for_each(|weight| *weight /= total);
}

/// Prices proportional to exp(x) for "too much" and exp(−x) for "too little"; all of them sum to one.
fn both_soft_max(logs: &[f64]) -> [Vec<f64>; 2] {
    let largest = logs.iter().fold(0.0_f64, |most, log| most.max(log.abs()));
    let mut sides =
        [1.0, -1.0].map(|side| logs.iter().map(|log| (side * log - largest).exp()).collect());
    let total: f64 = sides.iter().flat_map(|side: &Vec<f64>| side).sum();
    sides.iter_mut().flatten().for_each(|price| *price /= total);
    sides
}

#[cfg(test)]
mod tests;
