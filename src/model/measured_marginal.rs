//! A marginal as it was measured, without a model.

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::strategy::Residuals;
use crate::table::Factor;

/// The unbiased counts of a marginal, from all measurements that say something about it, and the law of their noise.
///
/// The parts of a marginal `M_r`, its residuals `R_s = ⊗_{i ∈ s} (I − J/k_i) M_s` for s ⊆ r, have independent noise, as the
/// noise of a measured marginal has the same law in every cell. Each is the average of the measurements that hold s,
/// weighted by their precision; `M_r = Σ_s R_s / K_s` with `K_s` the cells of r per cell of s.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredMarginal {
    counts: Factor,
    /// Each subset of the clique, with the variance of the noise in each cell of its average before it was centered.
    parts: Vec<(Clique, f64)>,
}

impl MeasuredMarginal {
    /// `averages`: the average of the measurements on each subset of the clique, and its variance per cell.
    pub(super) fn new(
        domain: &Domain,
        clique: &Clique,
        averages: Vec<(Clique, Vec<f64>, f64)>,
    ) -> Result<Self> {
        let mut residuals = Residuals::of_total(domain, 0.0);
        let mut parts = Vec::with_capacity(averages.len());
        for (part, counts, variance) in averages {
            residuals.insert_table(part.clone(), counts);
            parts.push((part, variance));
        }
        let counts = Factor::new(domain, clique.clone(), residuals.marginal(clique)?)?;
        Ok(Self { counts, parts })
    }

    /// The counts; noise can make them negative.
    pub fn counts(&self) -> &Factor {
        &self.counts
    }

    /// The variance of the noise in a weighted sum of the counts: `Σ_s v_s ‖P_s g_s‖² / K_s²` with `g_s` the weights summed
    /// over the attributes outside of s, and `P_s` the centering.
    ///
    /// # Errors
    /// Weights of another number than cells.
    pub fn variance(&self, domain: &Domain, weights: Vec<f64>) -> Result<f64> {
        let clique = self.counts.clique();
        let all = weights.len() as f64;
        let weights = Factor::new(domain, clique.clone(), weights)?;
        let of_part = |(part, variance): &(Clique, f64)| {
            let mut own = weights.project(part).values().to_vec();
            let per_cell = all / own.len() as f64;
            Residuals::center(&domain.shape(part), &mut own);
            variance * own.iter().map(|x| x * x).sum::<f64>() / (per_cell * per_cell)
        };
        Ok(self.parts.iter().map(of_part).sum())
    }
}

#[cfg(test)]
mod tests;
