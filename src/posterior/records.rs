//! The records of a table, given the parameters and what was measured.
//!
//! Records are independent draws of `p_θ` before anything is measured. With the measured residuals `R_a` of variance `v_a`, the
//! density of a table with marginals `M_t` has the factor
//!
//! ```text
//! exp(−Σ_a ‖R_a − P_a M_a‖² / 2 v_a) = c · exp(Σ_t (⟨A_t, M_t⟩ − w_t ‖M_t‖² / 2))
//! A_t = R_t / v_t,   w_t = Σ_{a ⊇ t} (−1)^{|a∖t|} / (v_a ∏_{i ∈ a∖t} k_i)
//! ```
//!
//! as centering is a projection. A record moves from cell c to c', drawn from `p_θ`, with probability `min(1, e^Δ)`,
//! `Δ = Σ_t (B_t(c'_t) − B_t(c_t) − w_t [c_t ≠ c'_t])` and `B_t = A_t − w_t M_t` (Ju, Awan, Gong, Rao 2022, *Data augmentation MCMC for
//! Bayesian inference from privatized data*).

use std::collections::BTreeMap;
use std::sync::Arc;

use rand::RngExt;
use rand::rngs::ChaCha20Rng;
use rand_distr::Distribution;
use rand_distr::weighted::WeightedAliasIndex;

use super::log_linear::{LogLinear, places};
use super::observed::Observed;
use crate::domain::Clique;
use crate::error::{Error, Result};

/// Proposals for each record, before a table is done.
const SWEEPS: usize = 10;

/// The measured marginals of tables that change record by record.
pub(super) struct Records {
    marginals: Vec<Marginal>,
}

#[derive(Clone)]
struct Marginal {
    /// The place of each cell of the whole table.
    places: Arc<[u32]>,
    /// `w_t`.
    weight: f64,
    /// `A_t`; `B_t` while a table is drawn.
    pulls: Vec<f64>,
}

impl Records {
    /// Before any table.
    pub(super) fn new(model: &LogLinear, observed: &Observed) -> Self {
        let mut weights: BTreeMap<Clique, f64> = BTreeMap::new();
        for part in &observed.parts {
            for within in part.clique.subsets() {
                let beyond = part.clique.iter().zip(&part.shape);
                let beyond: Vec<usize> =
                    beyond.filter(|(at, _)| !within.contains(*at)).map(|(_, k)| *k).collect();
                let sign = if beyond.len().is_multiple_of(2) { 1.0 } else { -1.0 };
                let values: f64 = beyond.iter().product::<usize>() as f64;
                *weights.entry(within).or_default() += sign / (part.variance * values);
            }
        }
        let (_, shape) = model.whole();
        let marginal = |(clique, weight): (Clique, f64)| {
            let extents: Vec<usize> = clique.iter().map(|at| shape[at]).collect();
            let cells: usize = extents.iter().product();
            let places = places(model.whole(), &clique, cells);
            let part = observed.parts.iter().find(|part| part.clique == clique);
            let pulls = part.map_or_else(
                || vec![0.0; cells],
                |part| part.residual.iter().map(|r| r / part.variance).collect(),
            );
            Marginal { places: places.into(), weight, pulls }
        };
        Self { marginals: weights.into_iter().map(marginal).collect() }
    }

    /// Draws the cell of each record.
    ///
    /// `p`: `p_θ`. `records`: how many.
    pub(super) fn draw(
        &self,
        p: &[f64],
        records: usize,
        rng: &mut ChaCha20Rng,
    ) -> Result<Vec<u32>> {
        let wrong = |_| Error::invalid_parameter("the posterior", "no possible record", "one");
        let law = WeightedAliasIndex::new(p.to_vec()).map_err(wrong)?;
        #[expect(clippy::cast_possible_truncation, reason = "at most 2^18 cells")]
        let propose = |rng: &mut ChaCha20Rng| law.sample(rng) as u32;
        let mut cells: Vec<u32> = (0..records).map(|_| propose(rng)).collect();
        let mut marginals = self.marginals.clone();
        for cell in &cells {
            marginals.iter_mut().for_each(|marginal| marginal.add(*cell, 1.0));
        }
        for _ in 0..SWEEPS.saturating_mul(records) {
            let record = rng.random_range(0..records);
            let (from, to) = (cells[record], propose(rng));
            let gain: f64 = marginals.iter().map(|marginal| marginal.gain(from, to)).sum();
            if gain >= 0.0 || rng.random::<f64>() < gain.exp() {
                marginals.iter_mut().for_each(|marginal| {
                    marginal.add(from, -1.0);
                    marginal.add(to, 1.0);
                });
                cells[record] = to;
            }
        }
        Ok(cells)
    }
}

impl Marginal {
    fn add(&mut self, cell: u32, records: f64) {
        self.pulls[self.places[cell as usize] as usize] -= self.weight * records;
    }

    /// What moving a record adds to the logarithm of the density.
    fn gain(&self, from: u32, to: u32) -> f64 {
        let (from, to) = (self.places[from as usize] as usize, self.places[to as usize] as usize);
        if from == to { 0.0 } else { self.pulls[to] - self.pulls[from] - self.weight }
    }
}

#[cfg(test)]
mod tests;
