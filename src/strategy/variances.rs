//! Variances of residuals, and so of marginals.

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::{Clique, Domain};
use crate::query::{WeightedClique, Workload};

/// `σ_A²` for some cliques A, in squared counts: the residual of A is known with noise of covariance
/// `σ_A² ⊗_{i ∈ A} (I − J/k_i)`, independently of all others. Cliques without a value are known exactly.
#[derive(Clone, Debug, PartialEq)]
pub struct ResidualVariances {
    domain: Domain,
    by_clique: BTreeMap<Clique, f64>,
}

impl ResidualVariances {
    /// From the `σ_A²` of each clique.
    pub fn new(domain: &Domain, by_clique: BTreeMap<Clique, f64>) -> Self {
        Self { domain: domain.clone(), by_clique }
    }

    /// `σ_A²`, in squared counts; 0 if it is known exactly.
    pub fn of(&self, clique: &Clique) -> f64 {
        self.by_clique.get(clique).copied().unwrap_or(0.0)
    }

    /// The cliques with their `σ_A²`.
    pub fn iter(&self) -> impl Iterator<Item = (&Clique, f64)> {
        self.by_clique.iter().map(|(clique, variance)| (clique, *variance))
    }

    /// Variance of the noise in every cell of a marginal, in squared counts (the formula in [`crate::strategy`]).
    ///
    /// It is exact for Gaussian noise; that of discrete Gaussian noise is never larger, and smaller by less than a
    /// relative 10⁻⁶ for σ ≥ 1 (Canonne, Kamath & Steinke 2020, Corollary 9).
    pub fn of_cell(&self, clique: &Clique) -> f64 {
        parts(clique).map(|part| self.of(&part) * share(&self.domain, &part, clique)).sum()
    }

    /// Root mean squared error over all cells of a workload's marginals, in counts. Weights are ignored.
    pub fn workload_rmse(&self, workload: &Workload) -> f64 {
        let (mut squares, mut cells) = (0.0, 0.0);
        for WeightedClique { clique, .. } in workload.weighted_cliques() {
            let own: f64 = self.domain.shape(clique).iter().map(|k| *k as f64).product();
            squares += own * self.of_cell(clique);
            cells += own;
        }
        (squares / cells).sqrt()
    }
}

/// All subsets of a clique, the empty one first.
pub(super) fn parts(clique: &Clique) -> impl Iterator<Item = Clique> {
    std::iter::once(Clique::default()).chain(clique.subsets())
}

/// The contribution of a unit of `σ_A²` to the variance of a cell of W: `∏_{i ∈ A} (k_i − 1)/k_i ∏_{j ∈ W∖A} 1/k_j²`,
/// for A ⊆ W.
pub(super) fn share(domain: &Domain, part: &Clique, whole: &Clique) -> f64 {
    let factor = |attribute| {
        let k = domain.cardinality(attribute) as f64;
        if part.contains(attribute) { (k - 1.0) / k } else { 1.0 / (k * k) }
    };
    whole.iter().map(factor).product()
}

/// The cliques whose residuals make up a workload, the empty one first: subsets of its cliques, without attributes of a
/// single value, whose residuals are 0.
pub(super) fn needed(domain: &Domain, workload: &Workload) -> Vec<Clique> {
    let mut found: BTreeSet<(usize, Clique)> = BTreeSet::new();
    for WeightedClique { clique, .. } in workload.weighted_cliques() {
        let varied = Clique::new(clique.iter().filter(|a| domain.cardinality(*a) > 1));
        found.extend(parts(&varied).map(|part| (part.len(), part)));
    }
    found.into_iter().map(|(_, clique)| clique).collect()
}
