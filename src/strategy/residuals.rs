//! Estimates of residuals, and the marginals that they make up.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::privacy::NoisyResidual;
use crate::strategy::variances::parts;
use crate::table::Projection;

/// Unbiased estimates of residuals `r_A = (⊗_{i ∈ A} (I − J/k_i)) M_A`, in counts. Marginals built from them agree on
/// all shared attributes.
#[derive(Clone, Debug)]
pub struct Residuals {
    domain: Domain,
    by_clique: BTreeMap<Clique, Vec<f64>>,
}

impl Residuals {
    /// Residuals for a public number of records and nothing else.
    pub fn of_total(domain: &Domain, total: f64) -> Self {
        let by_clique = BTreeMap::from([(Clique::default(), vec![total])]);
        Self { domain: domain.clone(), by_clique }
    }

    /// Adds a measured residual query: divided by its scale, and centered along all attributes, which leaves noise of
    /// covariance `σ_A² ⊗ (I − J/k_i)` with `σ_A = σ / scale`.
    pub fn insert(&mut self, measured: &NoisyResidual) {
        let scale = measured.query.scale() as f64;
        let values = measured.values.iter().map(|value| *value as f64 / scale).collect();
        self.insert_table(measured.query.clique().clone(), values);
    }

    /// Centers a noisy marginal and adds it as the residual of its clique.
    pub(crate) fn insert_table(&mut self, clique: Clique, mut values: Vec<f64>) {
        Self::center(&self.domain.shape(&clique), &mut values);
        self.by_clique.insert(clique, values);
    }

    /// The marginal on a clique, in counts, row-major: `Σ_{A ⊆ W} r_A / ∏_{j ∈ W∖A} k_j` (Xiao, He, Zhang & Kifer 2023,
    /// Algorithm 2). A residual that is not known counts as 0.
    ///
    /// # Errors
    /// A clique outside the domain, or too many cells for memory.
    pub fn marginal(&self, clique: &Clique) -> Result<Vec<f64>> {
        let cells = self.domain.cells(clique).filter(|cells| *cells <= 1 << 40);
        let inside = clique.iter().all(|attribute| attribute < self.domain.len());
        let cells = cells.and_then(|cells| usize::try_from(cells).ok()).filter(|_| inside);
        let cells = cells.ok_or_else(|| {
            Error::too_large(
                format!("the marginal on {clique}"),
                None,
                2_f64.powi(40),
                "cells over the attributes of the domain",
            )
        })?;
        let shape = self.domain.shape(clique);
        let mut marginal = vec![0.0; cells];
        for part in parts(clique) {
            if let Some(residual) = self.by_clique.get(&part) {
                let spread = residual.len() as f64 / cells as f64;
                let walk = Projection::between(clique, &shape, &part);
                walk.zip_from(residual, &mut marginal, |cell, r| *cell += spread * r);
            }
        }
        Ok(marginal)
    }

    /// Subtracts its mean from every line along every axis: `(⊗_i (I − J/k_i)) table`, in place.
    pub(crate) fn center(shape: &[usize], table: &mut [f64]) {
        let mut run = table.len();
        for extent in shape {
            let block = run;
            run /= extent.max(&1);
            for block in table.chunks_exact_mut(block.max(1)) {
                for cell in 0..run {
                    let sum: f64 = block[cell..].iter().step_by(run).sum();
                    let mean = sum / *extent as f64;
                    block[cell..].iter_mut().step_by(run).for_each(|x| *x -= mean);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
