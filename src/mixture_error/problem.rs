//! One instance of the best mixture error, and the best bracket found so far.

use super::support::{Answers, Prices, Support};
use crate::error::Result;

/// The instance: a support and the answers to match.
pub(super) struct Problem<'s> {
    pub(super) support: &'s Support,
    /// q(D) on every reached cell.
    pub(super) targets: Vec<f64>,
    /// The largest probability of a cell without support, if such cells count: no mixture has a smaller error.
    pub(super) floor: f64,
}

/// A proved bracket. Both ends follow from the definition, whichever method gave the mixture and the prices.
pub(super) struct Bracket {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// The mixture behind `upper`: rows ascending, and weights that sum to one.
    pub(super) rows: Vec<u32>,
    pub(super) weights: Vec<f64>,
    /// Its probability in every reached cell.
    pub(super) masses: Vec<f64>,
    /// The prices behind `lower`; none if that is the floor.
    pub(super) prices: Prices,
}

impl<'s> Problem<'s> {
    /// `records`: n, or its estimate.
    pub(super) fn new(support: &'s Support, answers: &Answers, records: f64, floor: bool) -> Self {
        let share = |count: &u32| f64::from(*count) / records;
        let floor = if floor { share(&answers.unreached) } else { 0.0 };
        Self { support, targets: answers.counts.iter().map(share).collect(), floor }
    }

    /// The bracket from the public frequencies and the floor.
    pub(super) fn bracket(&self) -> Result<Bracket> {
        let rows: Vec<u32> = (0_u32..).zip(&self.support.counts).map(|(row, _)| row).collect();
        let weights = self.support.frequencies();
        let masses = self.support.masses(&rows, &weights)?;
        let upper = self.upper(&masses);
        Ok(Bracket { lower: self.floor, upper, rows, weights, masses, prices: Vec::new() })
    }

    /// Signed errors of given masses: positive where the mixture has too much.
    pub(super) fn errors<'m>(&'m self, masses: &'m [f64]) -> impl Iterator<Item = f64> + 'm {
        masses.iter().zip(&self.targets).map(|(mass, target)| mass - target)
    }

    fn upper(&self, masses: &[f64]) -> f64 {
        self.errors(masses).map(f64::abs).fold(self.floor, f64::max)
    }
}

impl Bracket {
    pub(super) fn gap(&self) -> f64 {
        self.upper - self.lower
    }

    /// Keeps a mixture if it is better; returns its masses in any case.
    pub(super) fn offer_mixture(
        &mut self,
        problem: &Problem<'_>,
        rows: &[u32],
        weights: &[f64],
    ) -> Result<Vec<f64>> {
        // Weights that together are far below any tolerance are dropped.
        let least = 1e-10 / rows.len().max(1) as f64;
        let kept = rows.iter().zip(weights).filter(|(_, weight)| **weight >= least);
        let (rows, mut weights): (Vec<u32>, Vec<f64>) = kept.unzip();
        let total: f64 = weights.iter().sum();
        weights.iter_mut().for_each(|weight| *weight /= total);
        let masses = problem.support.masses(&rows, &weights)?;
        let upper = problem.upper(&masses);
        if upper < self.upper {
            (self.upper, self.rows, self.weights) = (upper, rows, weights);
            self.masses.clone_from(&masses);
        }
        Ok(masses)
    }

    /// Keeps prices if they give a better bound; returns the costs of all rows in any case.
    ///
    /// For prices y with s = Σ|y| ≤ 1, every mixture w has an error of at least
    /// `y · (A w − q) + (1 − s) floor ≥ min_x (Aᵀ y)_x − y · q + (1 − s) floor`.
    pub(super) fn offer_prices(
        &mut self,
        problem: &Problem<'_>,
        mut prices: Prices,
    ) -> Result<Vec<f64>> {
        prices.retain(|(_, price)| *price != 0.0);
        // A margin for rounding in this sum keeps Σ|y| at most one.
        let size: f64 = prices.iter().map(|(_, price)| price.abs()).sum::<f64>() * (1.0 + 1e-12);
        if size > 1.0 {
            prices.iter_mut().for_each(|(_, price)| *price /= size);
        }
        let costs = problem.support.costs(&prices)?;
        let paid: f64 = prices.iter().map(|(cell, price)| price * problem.targets[*cell]).sum();
        let cheapest = costs.iter().copied().fold(f64::INFINITY, f64::min);
        let lower = cheapest - paid + (1.0 - size.min(1.0)) * problem.floor;
        if lower > self.lower {
            (self.lower, self.prices) = (lower.min(self.upper), prices);
        }
        Ok(costs)
    }
}
