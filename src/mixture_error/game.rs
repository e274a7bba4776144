//! The zero-sum game between the mixture and the queries, on some rows and some cells.

use rayon::prelude::*;

/// Fewest incidences for which products use several threads.
const PARALLEL: usize = 1 << 21;
/// Parts of a product that is computed in parallel, for any number of threads.
const PARTS: usize = 8;

/// Relative entropies that are added to a game of N rows and C cells: γ KL(w‖uniform) − δ KL(y‖uniform), with prices
/// above and below as one vector of 2C prices. No smoothing if both are zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Smoothing {
    /// γ.
    pub(super) weights: f64,
    /// δ.
    pub(super) prices: f64,
    /// ln N and ln 2C of the whole game, which a part of it keeps.
    log_sizes: [f64; 2],
}

impl Smoothing {
    /// The smoothing that changes the value of a game with these numbers of rows and cells by at most `most`, down or
    /// up: neither entropy exceeds the logarithm of its number of terms.
    fn within(most: f64, rows: usize, cells: usize) -> Self {
        let log_sizes = [rows, 2 * cells].map(|terms| (terms as f64).ln());
        let [weights, prices] = log_sizes.map(|log| most / log.max(0.5));
        Self { weights, prices, log_sizes }
    }
}

/// min over weights w ≥ 0, Σw = 1, of max over prices y, Σ|y| ≤ 1, of y · (A w − q): row x of Aᵀ has a one for each
/// cell of record x.
pub(super) struct Game {
    /// Where each row's cells begin in `hits`; one more entry at the end.
    starts: Vec<usize>,
    /// Cells of row after row.
    hits: Vec<u32>,
    /// The answers q, as probabilities.
    pub(super) targets: Vec<f64>,
    /// A lower bound on the value, known from elsewhere.
    pub(super) floor: f64,
    pub(super) smoothing: Smoothing,
}

impl Game {
    pub(super) fn new(incidence: &[Vec<u32>], targets: Vec<f64>, floor: f64) -> Self {
        let mut starts = Vec::with_capacity(incidence.len() + 1);
        starts.push(0);
        let ends = incidence.iter().scan(0, |end, cells| {
            *end += cells.len();
            Some(*end)
        });
        starts.extend(ends);
        Self { starts, hits: incidence.concat(), targets, floor, smoothing: Smoothing::default() }
    }

    /// The same with entropies that move its value by at most `most`.
    pub(super) fn smoothed(mut self, most: f64) -> Self {
        self.smoothing = Smoothing::within(most, self.rows(), self.targets.len());
        self
    }

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// The part of the game on some rows and cells, both ascending: a row's cost counts only these cells.
    pub(super) fn part(&self, rows: &[u32], cells: &[u32]) -> Self {
        let mut places = vec![u32::MAX; self.targets.len()];
        (0..).zip(cells).for_each(|(place, cell)| places[*cell as usize] = place);
        let own = |row: &u32| -> Vec<u32> {
            let places = self.cells(*row as usize).iter().map(|cell| places[*cell as usize]);
            places.filter(|place| *place != u32::MAX).collect()
        };
        let incidence: Vec<Vec<u32>> = rows.iter().map(own).collect();
        let targets = cells.iter().map(|cell| self.targets[*cell as usize]).collect();
        Self { smoothing: self.smoothing, ..Self::new(&incidence, targets, self.floor) }
    }

    /// Number of pairs of a row and one of its cells.
    pub(super) fn incidences(&self) -> usize {
        self.hits.len()
    }

    /// The cells of a row.
    fn cells(&self, row: usize) -> &[u32] {
        &self.hits[self.starts[row]..self.starts[row + 1]]
    }

    /// A w.
    pub(super) fn masses(&self, weights: &[f64], masses: &mut [f64]) {
        let add = |rows: std::ops::Range<usize>, masses: &mut [f64]| {
            masses.fill(0.0);
            for row in rows {
                let weight = weights[row];
                for cell in self.cells(row) {
                    masses[*cell as usize] += weight;
                }
            }
        };
        if self.hits.len() < PARALLEL {
            return add(0..self.rows(), masses);
        }
        let part = self.rows().div_ceil(PARTS);
        let sums: Vec<Vec<f64>> = (0..PARTS)
            .into_par_iter()
            .map(|i| {
                let mut sums = vec![0.0; self.targets.len()];
                add((i * part).min(self.rows())..((i + 1) * part).min(self.rows()), &mut sums);
                sums
            })
            .collect();
        masses.fill(0.0);
        for part in sums {
            masses.iter_mut().zip(part).for_each(|(sum, m)| *sum += m);
        }
    }

    /// Aᵀ y.
    pub(super) fn costs(&self, prices: &[f64], costs: &mut [f64]) {
        let cost =
            |row: usize| -> f64 { self.cells(row).iter().map(|cell| prices[*cell as usize]).sum() };
        if self.hits.len() < PARALLEL {
            costs.iter_mut().enumerate().for_each(|(row, c)| *c = cost(row));
        } else {
            costs.par_iter_mut().enumerate().for_each(|(row, c)| *c = cost(row));
        }
    }

    /// The upper bound from weights: the largest error of their masses.
    pub(super) fn upper(&self, weights: &[f64], masses: &[f64]) -> f64 {
        let errors = masses.iter().zip(&self.targets).map(|(mass, target)| mass - target);
        let Smoothing { weights: gamma, prices: delta, log_sizes } = self.smoothing;
        if delta == 0.0 {
            return errors.map(f64::abs).fold(self.floor, f64::max);
        }
        let largest = errors.clone().map(f64::abs).fold(0.0, f64::max);
        let sides = errors.map(|e| ((e - largest) / delta).exp() + ((-e - largest) / delta).exp());
        let log_mean = sides.sum::<f64>().ln() - log_sizes[1];
        self.floor.max(largest + delta * log_mean + gamma * (log_sizes[0] + plogp(weights)))
    }

    /// The lower bound from prices above and below that sum to one together, given the costs of the rows.
    pub(super) fn lower(&self, costs: &[f64], over: &[f64], under: &[f64]) -> f64 {
        let pairs = over.iter().zip(under).zip(&self.targets);
        let paid: f64 = pairs.map(|((over, under), target)| (over - under) * target).sum();
        let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let Smoothing { weights: gamma, prices: delta, log_sizes } = self.smoothing;
        if gamma == 0.0 {
            return cheapest - paid;
        }
        let sum: f64 = costs.iter().map(|cost| ((cheapest - cost) / gamma).exp()).sum();
        let entropy = log_sizes[1] + plogp(over) + plogp(under);
        cheapest - gamma * (sum.ln() - log_sizes[0]) - paid - delta * entropy
    }
}

/// Σ p ln p.
fn plogp(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum()
}
