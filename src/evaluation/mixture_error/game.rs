//! The zero-sum game of the mixture against the queries, on some rows and some cells.

use rayon::prelude::*;

/// From so many incidences on, products are worth several threads.
const PARALLEL: usize = 1 << 21;
/// Parts of a product that is computed in parallel, whatever the number of threads.
const PARTS: usize = 8;

/// Relative entropies that are added to a game: γ KL(w‖uniform) − δ KL(y‖uniform), with prices above and below as 2C
/// prices in one. None where both are zero.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Smoothing {
    /// γ.
    pub(super) weights: f64,
    /// δ.
    pub(super) prices: f64,
}

impl Smoothing {
    /// The two that move the value of a game of so many rows and cells by at most `most`, down or up: neither entropy
    /// exceeds the logarithm of the number of its terms.
    pub(super) fn within(most: f64, rows: usize, cells: usize) -> Self {
        let share = |terms: usize| most / (terms.max(2) as f64).ln();
        Self { weights: share(rows), prices: share(2 * cells) }
    }
}

/// min over weights w ≥ 0, Σw = 1, of max over prices y, Σ|y| ≤ 1, of y · (A w − q): row x of Aᵀ holds a one for each
/// cell that the record x is in.
pub(super) struct Game {
    /// Where each row's cells begin in `hits`; one more entry at the end.
    starts: Vec<usize>,
    /// Cells of row after row.
    hits: Vec<u32>,
    /// The answers q, as probabilities.
    pub(super) targets: Vec<f64>,
    /// A lower bound on the value that is known from elsewhere.
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

    /// Number of rows.
    pub(super) fn rows(&self) -> usize {
        self.starts.len() - 1
    }

    /// A w.
    pub(super) fn masses(&self, weights: &[f64], masses: &mut [f64]) {
        let add = |rows: std::ops::Range<usize>, masses: &mut [f64]| {
            masses.fill(0.0);
            for row in rows {
                let weight = weights[row];
                for cell in &self.hits[self.starts[row]..self.starts[row + 1]] {
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
        let cost = |row: usize| -> f64 {
            let cells = &self.hits[self.starts[row]..self.starts[row + 1]];
            cells.iter().map(|cell| prices[*cell as usize]).sum()
        };
        if self.hits.len() < PARALLEL {
            costs.iter_mut().enumerate().for_each(|(row, c)| *c = cost(row));
        } else {
            costs.par_iter_mut().enumerate().for_each(|(row, c)| *c = cost(row));
        }
    }

    /// What weights guarantee: the largest error of their masses.
    pub(super) fn upper(&self, weights: &[f64], masses: &[f64]) -> f64 {
        let errors = masses.iter().zip(&self.targets).map(|(mass, target)| mass - target);
        let Smoothing { weights: gamma, prices: delta } = self.smoothing;
        if delta == 0.0 {
            return errors.map(f64::abs).fold(self.floor, f64::max);
        }
        let largest = errors.clone().map(f64::abs).fold(0.0, f64::max);
        let sides = errors.map(|e| ((e - largest) / delta).exp() + ((-e - largest) / delta).exp());
        let mean = sides.sum::<f64>() / (2.0 * self.targets.len() as f64);
        self.floor.max(largest + delta * mean.ln() + gamma * from_uniform(weights))
    }

    /// What prices above and below guarantee that sum to one together, from the costs of the rows.
    pub(super) fn lower(&self, costs: &[f64], over: &[f64], under: &[f64]) -> f64 {
        let pairs = over.iter().zip(under).zip(&self.targets);
        let paid: f64 = pairs.map(|((over, under), target)| (over - under) * target).sum();
        let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let Smoothing { weights: gamma, prices: delta } = self.smoothing;
        if gamma == 0.0 {
            return cheapest - paid;
        }
        let mean = costs.iter().map(|cost| ((cheapest - cost) / gamma).exp()).sum::<f64>()
            / costs.len() as f64;
        let entropy = (2.0 * self.targets.len() as f64).ln() + plogp(over) + plogp(under);
        cheapest - gamma * mean.ln() - paid - delta * entropy
    }
}

/// KL(w‖uniform).
fn from_uniform(weights: &[f64]) -> f64 {
    (weights.len() as f64).ln() + plogp(weights)
}

/// Σ p ln p.
fn plogp(probabilities: &[f64]) -> f64 {
    probabilities.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum()
}
