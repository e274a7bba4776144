//! A primal-dual method in the geometry of relative entropy, for games too large for a linear program.
//!
//! Chambolle & Pock (2016), Algorithm 1 with Bregman distances: weights move against the costs of the rows, prices
//! along the errors of an extrapolated mixture, both multiplicatively. Steps adapt to the local curvature and the
//! method restarts from its average or its last point, as in Applegate et al. (2021) for linear programs. The steps
//! affect how fast the bounds meet, never whether they hold.

use super::game::Game;

/// Iterations between two checks of the bounds.
const CHECK: u32 = 10;
/// A restart comes when the gap has fallen by this factor, or after this share of all iterations.
const RESTART_FALL: f64 = 0.3;
const RESTART_SHARE: f64 = 0.36;
/// Smallest weight or price, so that none vanishes permanently.
const LEAST: f64 = 1e-40;
/// Largest step.
const LARGEST_STEP: f64 = 1e6;

/// A mixture and prices, with the products from which their bounds follow.
#[derive(Clone)]
struct Point {
    weights: Vec<f64>,
    /// Prices of masses above the answers, and of masses below; they sum to one together.
    over: Vec<f64>,
    under: Vec<f64>,
    masses: Vec<f64>,
    costs: Vec<f64>,
}

impl Point {
    fn lower(&self, game: &Game) -> f64 {
        game.lower(&self.costs, &self.over, &self.under)
    }

    fn upper(&self, game: &Game) -> f64 {
        game.upper(&self.weights, &self.masses)
    }

    fn gap(&self, game: &Game) -> f64 {
        self.upper(game) - self.lower(game)
    }

    fn parts(&mut self) -> [&mut Vec<f64>; 5] {
        [&mut self.weights, &mut self.over, &mut self.under, &mut self.masses, &mut self.costs]
    }

    fn combine(&mut self, other: &mut Self, f: impl Fn(f64, f64) -> f64) {
        for (own, other) in self.parts().into_iter().zip(other.parts()) {
            own.iter_mut().zip(other.iter()).for_each(|(a, b)| *a = f(*a, *b));
        }
    }

    /// Relative entropies of weights and of prices from those of another point.
    fn divergences(&self, from: &Self) -> (f64, f64) {
        let entropy = |a: &[f64], b: &[f64]| -> f64 {
            a.iter().zip(b).map(|(a, b)| if *a > 0.0 { a * (a / b).ln() } else { 0.0 }).sum()
        };
        let prices = entropy(&self.over, &from.over) + entropy(&self.under, &from.under);
        (entropy(&self.weights, &from.weights).max(0.0), prices.max(0.0))
    }
}

/// The rates of weights and prices.
#[derive(Clone, Copy)]
pub(super) struct Pace {
    step: f64,
    /// Step of the prices relative to that of the weights.
    balance: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self { step: 1.0, balance: 1.0 }
    }
}

/// The search on one game.
pub(super) struct PrimalDual<'g> {
    game: &'g Game,
    last: Point,
    next: Point,
    /// Sum of the points since the last restart, each times its step, and the sum of the steps.
    sum: Point,
    steps: f64,
    restarted_from: Point,
    gap_at_restart: f64,
    since_restart: u32,
    iterations: u32,
    pace: Pace,
    /// The best bounds so far, with the weights and the prices y behind them.
    pub(super) upper: f64,
    pub(super) lower: f64,
    pub(super) weights: Vec<f64>,
    pub(super) prices: Vec<f64>,
}

impl<'g> PrimalDual<'g> {
    /// Starts from weights, which are positive and sum to one, and from prices with Σ|y| ≤ 1; the rest of the prices is
    /// spread evenly.
    pub(super) fn new(game: &'g Game, weights: Vec<f64>, prices: &[f64], pace: Pace) -> Self {
        let cells = game.targets.len();
        let mut masses = vec![0.0; cells];
        game.masses(&weights, &mut masses);
        let rest = 1.0 - prices.iter().map(|price| price.abs()).sum::<f64>();
        let half = (0.5 * rest / cells.max(1) as f64).max(LEAST);
        let over: Vec<f64> = prices.iter().map(|price| price.max(0.0) + half).collect();
        let under: Vec<f64> = prices.iter().map(|price| (-price).max(0.0) + half).collect();
        let mut costs = vec![0.0; game.rows()];
        game.costs(prices, &mut costs);
        let last = Point { weights, over, under, masses, costs };
        let mut sum = last.clone();
        sum.parts().into_iter().for_each(|part| part.fill(0.0));
        let (upper, weights) = (last.upper(game), last.weights.clone());
        Self {
            game,
            next: last.clone(),
            sum,
            steps: 0.0,
            restarted_from: last.clone(),
            gap_at_restart: f64::INFINITY,
            since_restart: 0,
            iterations: 0,
            pace,
            upper,
            lower: game.floor,
            weights,
            prices: vec![0.0; cells],
            last,
        }
    }

    /// Iterates until the bounds are within `gap`, or up to a number of iterations; returns their number.
    pub(super) fn run(&mut self, gap: f64, iterations: u32) -> u32 {
        let mut done = 0;
        while done < iterations && self.upper - self.lower > gap {
            self.iterate();
            done += 1;
            if self.iterations.is_multiple_of(CHECK) || done == iterations {
                self.look();
            }
        }
        done
    }

    /// The best start for a later search on a similar game: prices, and the pace.
    pub(super) fn state(&self) -> (Vec<f64>, Pace) {
        let net = self.last.over.iter().zip(&self.last.under).map(|(over, under)| over - under);
        (net.collect(), self.pace)
    }

    /// Takes one step; a step that is too long is repeated with a shorter one.
    fn iterate(&mut self) {
        self.iterations += 1;
        self.since_restart += 1;
        let count = f64::from(self.iterations + 1);
        loop {
            let step = self.pace.step;
            let moved = self.try_step();
            // The step that the coupling between the two moves allows.
            let (weights, prices, coupling) = moved;
            let allowed = (self.pace.balance * weights + prices / self.pace.balance) / coupling;
            let allowed = if coupling > 1e-15 { allowed } else { LARGEST_STEP };
            let grown = (1.0 + count.powf(-0.6)) * step;
            self.pace.step =
                ((1.0 - count.powf(-0.3)) * allowed).min(grown).clamp(1e-3, LARGEST_STEP);
            if step <= allowed || step <= 1e-3 || allowed.is_nan() {
                std::mem::swap(&mut self.last, &mut self.next);
                self.sum.combine(&mut self.last, |sum, x| step.mul_add(x, sum));
                self.steps += step;
                return;
            }
        }
    }

    /// Computes `next`; the relative entropies of its moves in weights and prices, and their coupling.
    ///
    /// A smoothing γ adds γ ln(old) to the gradient of a weight or price, and changes a rate r to r / (1 + r γ).
    fn try_step(&mut self) -> (f64, f64, f64) {
        let Self { game, last, next, .. } = self;
        let drawn = |old: f64, smoothing: f64| {
            if smoothing > 0.0 { smoothing * old.max(LEAST).ln() } else { 0.0 }
        };
        let slowed = |rate: f64, smoothing: f64| rate / (1.0 + rate * smoothing);

        let gamma = game.smoothing.weights;
        let rate = slowed(self.pace.step / self.pace.balance, gamma);
        let pairs = last.costs.iter().zip(&last.weights);
        let pulls: Vec<f64> = pairs.map(|(cost, old)| cost + drawn(*old, gamma)).collect();
        let least = pulls.iter().copied().fold(f64::INFINITY, f64::min);
        let gain = |pull: &f64| -rate * (pull - least);
        let pairs = next.weights.iter_mut().zip(&last.weights).zip(&pulls);
        let total: f64 = pairs.map(|((new, old), pull)| grow(new, *old, gain(pull))).sum();
        let scale = total.recip();
        let mut weights = 0.0;
        for (new, pull) in next.weights.iter_mut().zip(&pulls) {
            *new = (*new * scale).max(LEAST);
            weights += *new * gain(pull);
        }
        game.masses(&next.weights, &mut next.masses);

        // Prices move along the errors of the extrapolated mixture: the new one plus its difference from the old one.
        let delta = game.smoothing.prices;
        let rate = slowed(self.pace.step * self.pace.balance, delta);
        let errors = next.masses.iter().zip(&last.masses).zip(&game.targets);
        let errors: Vec<f64> =
            errors.map(|((new, old), target)| 2.0 * new - old - target).collect();
        let sides = [(1.0, &last.over), (-1.0, &last.under)];
        let pushes = sides.map(|(side, old)| -> Vec<f64> {
            errors.iter().zip(old).map(|(e, old)| side * e - drawn(*old, delta)).collect()
        });
        let most = pushes.iter().flatten().copied().fold(f64::NEG_INFINITY, f64::max);
        let gain = |push: &f64| rate * (push - most);
        let mut sum = 0.0;
        for (pushes, (new, old)) in
            pushes.iter().zip([(&mut next.over, &last.over), (&mut next.under, &last.under)])
        {
            let pairs = new.iter_mut().zip(old).zip(pushes);
            sum += pairs.map(|((new, old), push)| grow(new, *old, gain(push))).sum::<f64>();
        }
        let share = sum.recip();
        let mut prices = 0.0;
        for (pushes, new) in pushes.iter().zip([&mut next.over, &mut next.under]) {
            for (new, push) in new.iter_mut().zip(pushes) {
                *new = (*new * share).max(LEAST);
                prices += *new * gain(push);
            }
        }
        let net: Vec<f64> = next.over.iter().zip(&next.under).map(|(o, u)| o - u).collect();
        game.costs(&net, &mut next.costs);
        let moves = next.weights.iter().zip(&last.weights).map(|(new, old)| new - old);
        let changes = next.costs.iter().zip(&last.costs).map(|(new, old)| new - old);
        let coupling = moves.zip(changes).map(|(w, c)| w * c).sum::<f64>().abs();
        ((weights - total.ln()).max(0.0), (prices - sum.ln()).max(0.0), coupling)
    }

    /// Checks the bounds of the last point and of the average, keeps the best, and restarts when due.
    fn look(&mut self) {
        let mut average = self.sum.clone();
        let share = self.steps.recip();
        average.parts().into_iter().flatten().for_each(|x| *x *= share);
        let gaps = [&self.last, &average].map(|point| point.gap(self.game));
        for point in [&self.last, &average] {
            let (lower, upper) = (point.lower(self.game), point.upper(self.game));
            if upper < self.upper {
                self.upper = upper;
                self.weights.clone_from(&point.weights);
            }
            if lower > self.lower {
                self.lower = lower;
                self.prices = point.over.iter().zip(&point.under).map(|(o, u)| o - u).collect();
            }
        }
        let gap = gaps[0].min(gaps[1]);
        let late = f64::from(self.since_restart) > RESTART_SHARE * f64::from(self.iterations);
        if gap < RESTART_FALL * self.gap_at_restart || late {
            if gaps[1] < gaps[0] {
                self.last = average;
            }
            self.restart(gap);
        }
    }

    fn restart(&mut self, gap: f64) {
        let (weights, prices) = self.last.divergences(&self.restarted_from);
        if weights > 1e-12 && prices > 1e-12 {
            // Moves halfway, in logarithms, to the balance at which both would have moved equally.
            self.pace.balance = (self.pace.balance * (prices / weights).sqrt()).sqrt();
        }
        self.restarted_from = self.last.clone();
        self.sum.parts().into_iter().for_each(|part| part.fill(0.0));
        (self.steps, self.since_restart, self.gap_at_restart) = (0.0, 0, gap);
    }
}

/// Sets `new` to `old` times exp(`exponent`), and returns it.
fn grow(new: &mut f64, old: f64, exponent: f64) -> f64 {
    *new = old * exponent.exp();
    *new
}
