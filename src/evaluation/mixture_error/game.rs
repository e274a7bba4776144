//! The zero-sum game of the mixture against the queries, on some rows and some cells.

use rayon::prelude::*;

/// From so many incidences on, products are worth several threads.
const PARALLEL: usize = 1 << 21;
/// Parts of a product that is computed in parallel, whatever the number of threads.
const PARTS: usize = 8;

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
        Self { starts, hits: incidence.concat(), targets, floor }
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

    /// The largest error of some masses: what the weights guarantee.
    pub(super) fn upper(&self, masses: &[f64]) -> f64 {
        let errors = masses.iter().zip(&self.targets).map(|(mass, target)| (mass - target).abs());
        errors.fold(self.floor, f64::max)
    }

    /// What prices of Σ|y| = 1 guarantee, from the costs of the rows.
    pub(super) fn lower(&self, costs: &[f64], prices: impl Iterator<Item = f64>) -> f64 {
        let paid: f64 = prices.zip(&self.targets).map(|(price, target)| price * target).sum();
        costs.iter().copied().fold(f64::INFINITY, f64::min) - paid
    }
}
