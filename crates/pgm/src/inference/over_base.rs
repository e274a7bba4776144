//! Belief propagation over a base measure: potentials are relative to a fixed distribution.

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::Result;
use crate::inference::structure::check_layout;
use crate::inference::{BeliefPropagation, BeliefWorkspace, MarginalOracle};
use crate::table::{CliqueLayout, Marginals, Potentials};

/// The oracle of `p ~ p₀ exp(Σ_r θ_r)`, for a fixed base measure `p₀ ~ exp(Σ_b β_b)` with potentials of its own on cliques
/// of its own. Its log-partition value is relative to the base: `A(0) = 0`.
///
/// Any estimator fits to measurements over it: started from zero, it starts from the base, and
/// [`AcceleratedBregman::pull`](crate::estimation::AcceleratedBregman::pull) keeps it near the base.
///
/// ```
/// use jointly_pgm::{domain::{Clique, Domain}, inference::{MarginalOracle, OverBase}};
/// use jointly_pgm::table::{CliqueLayout, Marginals, Potentials};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let base = CliqueLayout::new(&domain, [Clique::new([0, 1])])?;
/// let mut beta = Potentials::zeros(&base);
/// beta.table_mut(0)[3] = 3_f64.ln(); // a = b = 1 three times as likely
/// let measured = CliqueLayout::new(&domain, [Clique::new([0])])?;
/// let oracle = OverBase::new(&domain, &beta, &measured)?;
/// let mut mu = Marginals::zeros(&measured);
/// let theta = Potentials::zeros(&measured);
/// let log_partition = oracle.marginals(&theta, 6.0, &mut oracle.workspace(), &mut mu)?;
/// assert!(log_partition.abs() < 1e-12);
/// assert!((mu.table(0)[1] - 4.0).abs() < 1e-12);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct OverBase {
    oracle: Arc<BeliefPropagation>,
    /// The measured cliques, which come first among the oracle's.
    measured: Arc<CliqueLayout>,
    /// β, on all cliques.
    base: Potentials,
    log_partition: f64,
}

/// Scratch of [`OverBase`].
#[derive(Debug)]
pub struct OverBaseWorkspace {
    inner: BeliefWorkspace,
    theta: Potentials,
    mu: Marginals,
}

impl OverBase {
    /// The oracle for these measured cliques over a base with the potentials `base`.
    ///
    /// # Errors
    /// Tables that do not fit in memory, or a base that allows no record.
    pub fn new(domain: &Domain, base: &Potentials, measured: &Arc<CliqueLayout>) -> Result<Self> {
        Self::compile(domain, base, measured, None)
    }

    /// The same for measured cliques that differ little from those of an earlier oracle.
    ///
    /// # Errors
    /// As [`OverBase::new`].
    pub fn following(
        domain: &Domain,
        base: &Potentials,
        measured: &Arc<CliqueLayout>,
        earlier: &Self,
    ) -> Result<Self> {
        Self::compile(domain, base, measured, Some(earlier))
    }

    fn compile(
        domain: &Domain,
        base: &Potentials,
        measured: &Arc<CliqueLayout>,
        earlier: Option<&Self>,
    ) -> Result<Self> {
        let cliques = measured.cliques().iter().chain(base.layout().cliques());
        let all = CliqueLayout::new(domain, cliques.cloned())?;
        let oracle = match earlier {
            Some(earlier) => BeliefPropagation::following(domain, &all, &earlier.oracle),
            None => BeliefPropagation::new(domain, &all),
        };
        let base = base.expand(&all)?;
        let (mut workspace, mut mu) = (oracle.workspace(), Marginals::zeros(&all));
        let log_partition = oracle.marginals(&base, 1.0, &mut workspace, &mut mu)?;
        let (oracle, measured) = (Arc::new(oracle), Arc::clone(measured));
        Ok(Self { oracle, measured, base, log_partition })
    }

    /// The oracle of all potentials, the base's included.
    pub fn inner(&self) -> &Arc<BeliefPropagation> {
        &self.oracle
    }

    /// The potentials of `p₀ exp(Σ_r θ_r)`, on the cliques of the base and on the measured ones.
    ///
    /// `theta`: on the measured cliques.
    pub fn potentials(&self, theta: &Potentials) -> Potentials {
        let mut all = self.base.clone();
        self.add(theta, &mut all);
        all
    }

    fn add(&self, theta: &Potentials, all: &mut Potentials) {
        let sums = all.values_mut().iter_mut().zip(self.base.values().iter().zip(theta.values()));
        sums.for_each(|(sum, (base, theta))| *sum = base + theta);
    }

    /// As [`add`](Self::add), of potentials that may be of another layout.
    fn add_base(&self, theta: &Potentials, all: &mut Potentials) -> Result<()> {
        check_layout(theta, &self.measured)?;
        self.add(theta, all);
        Ok(())
    }

    /// The measured cliques' part of all marginals, and the log-partition value relative to the base's.
    fn take(&self, log_partition: f64, all: &Marginals, measured: &mut Marginals) -> f64 {
        measured.values_mut().copy_from_slice(&all.values()[..self.measured.cells()]);
        log_partition - self.log_partition
    }
}

impl MarginalOracle for OverBase {
    type Workspace = OverBaseWorkspace;

    fn workspace(&self) -> OverBaseWorkspace {
        let mu = Marginals::zeros(self.oracle.layout());
        OverBaseWorkspace { inner: self.oracle.workspace(), theta: self.base.clone(), mu }
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut OverBaseWorkspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        self.add_base(theta, &mut workspace.theta)?;
        let OverBaseWorkspace { inner, theta, mu: all } = workspace;
        let log_partition = self.oracle.marginals(theta, total, inner, all)?;
        Ok(self.take(log_partition, all, mu))
    }

    fn marginals_if_fast(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut OverBaseWorkspace,
        mu: &mut Marginals,
    ) -> Result<Option<f64>> {
        self.add_base(theta, &mut workspace.theta)?;
        let OverBaseWorkspace { inner, theta, mu: all } = workspace;
        let log_partition = self.oracle.marginals_if_fast(theta, total, inner, all)?;
        Ok(log_partition.map(|log_partition| self.take(log_partition, all, mu)))
    }

    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.oracle.in_pool(work)
    }
}

#[cfg(test)]
mod tests;
