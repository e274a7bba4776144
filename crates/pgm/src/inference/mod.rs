//! Exact inference: from potentials on the measured cliques to their marginals.

mod belief_propagation;
#[cfg(test)]
mod brute_force;
mod calibrated;
mod choices;
mod conditional;
mod elimination;
mod interruptible;
mod kernel;
mod lanes;
mod listed_records;
mod log_space;
mod over_base;
mod plan;
mod rearrangement;
mod search;
mod semiring;
mod structure;
mod vector;

pub use belief_propagation::{BeliefPropagation, BeliefWorkspace};
#[cfg(test)]
pub(crate) use brute_force::BruteForce;
pub(crate) use calibrated::{Calibrated, bounded};
pub(crate) use conditional::Conditional;
pub use interruptible::Interruptible;
pub use listed_records::ListedRecords;
#[cfg(test)]
pub(crate) use log_space::LogSpace;
pub use over_base::{OverBase, OverBaseWorkspace};
pub(crate) use structure::check_layout;

use crate::error::Result;
use crate::table::{Marginals, Potentials};

/// Cells in a pass over tables below which threads cost more than they save.
const PARALLEL_CELLS: u64 = 1 << 16;

/// Whether a pass over this number of cells uses threads.
fn in_parallel(cells: u64) -> bool {
    cells >= PARALLEL_CELLS && rayon::current_num_threads() > 1
}

/// Computes the marginals of `p(x) ~ exp(Σ_r θ_r(x_r))`, scaled to a total, on the cliques of θ.
pub trait MarginalOracle: Sync {
    /// Scratch, made once and reused from call to call.
    type Workspace: Send;

    /// Scratch for this oracle.
    fn workspace(&self) -> Self::Workspace;

    /// Writes the marginals (counts that sum to `total` on every clique) and returns the log-partition value
    /// `A(θ) = ln Σ_x exp(Σ_r θ_r(x_r))` over all records of the domain.
    ///
    /// # Errors
    /// Potentials on cliques other than the oracle's, a potential that is NaN or plus infinity, or potentials that
    /// forbid every record.
    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<f64>;

    /// As [`marginals`](Self::marginals), where that is fast; `None`, quickly, where potentials are so far apart that it is not.
    /// What `mu` then holds is not defined.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals).
    fn marginals_if_fast(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<Option<f64>> {
        self.marginals(theta, total, workspace, mu).map(Some)
    }

    /// `max_x Σ_r θ_r(x_r)` over all records of the domain, or an upper bound of the mean of `Σ_r θ_r` under any distribution of
    /// the oracle; `None` for an oracle that cannot find it. Estimators then give
    /// no lower bound.
    ///
    /// # Errors
    /// As [`marginals`](Self::marginals).
    fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut Self::Workspace,
    ) -> Result<Option<f64>> {
        let _ = (theta, workspace);
        Ok(None)
    }

    /// Runs work of many calls where the calls themselves run, so that control does not switch between threads for each.
    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T
    where
        Self: Sized,
    {
        work()
    }
}

impl<O: MarginalOracle> MarginalOracle for &O {
    type Workspace = O::Workspace;

    fn workspace(&self) -> Self::Workspace {
        (**self).workspace()
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        (**self).marginals(theta, total, workspace, mu)
    }

    fn marginals_if_fast(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<Option<f64>> {
        (**self).marginals_if_fast(theta, total, workspace, mu)
    }

    fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut Self::Workspace,
    ) -> Result<Option<f64>> {
        (**self).largest_log_weight(theta, workspace)
    }

    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        (**self).together(work)
    }
}

#[cfg(test)]
mod tests;
