//! A linear function of counts of several marginals, written in residuals.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};
use crate::least_squares::{center, is_varied, parts};
use crate::table::Projection;

/// Weights of a residual below this share of those of the counts are rounding errors.
const ROUNDING: f64 = 1e-9;

/// `Σ_r ⟨g_r, M_r⟩` for weights `g_r` of the cells of some marginals, as `Σ_s ⟨h_s, R_s⟩`: `h_s = Σ_{r ⊇ s} P_s g_{r,s} / K_{r,s}`
/// with `g_{r,s}` the weights summed over the attributes outside of s, and `P_s` the centering.
#[derive(Clone, Debug, Default)]
pub struct LinearForm {
    parts: BTreeMap<Clique, Vec<f64>>,
    /// `Σ_r ‖g_r‖²`.
    size: f64,
}

impl LinearForm {
    /// Adds weights of the cells of a marginal, row-major.
    pub fn add(&mut self, domain: &Domain, clique: &Clique, weights: &[f64]) {
        let shape = domain.shape(clique);
        self.size += weights.iter().map(|w| w * w).sum::<f64>();
        for part in parts(clique).filter(|part| is_varied(domain, part)) {
            let inner = domain.shape(&part);
            let mut own = vec![0.0; inner.iter().product()];
            Projection::between(clique, &shape, &part).add_into(weights, &mut own);
            center(&inner, &mut own);
            let share = own.len() as f64 / weights.len() as f64;
            let sums = self.parts.entry(part).or_insert_with(|| vec![0.0; own.len()]);
            sums.iter_mut().zip(own).for_each(|(sum, w)| *sum += share * w);
        }
    }

    /// The residuals with their weights.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&Clique, &[f64])> {
        self.parts.iter().map(|(clique, weights)| (clique, weights.as_slice()))
    }

    /// Whether a residual with these weights is not needed.
    pub(super) fn is_without(&self, weights: &[f64]) -> bool {
        weights.iter().map(|w| w * w).sum::<f64>() <= ROUNDING * ROUNDING * self.size
    }
}
