//! An oracle that asks before every call whether to go on.

use crate::Checks;
use crate::error::Result;
use crate::inference::MarginalOracle;
use crate::table::{Marginals, Potentials};

/// An oracle whose calls fail with [`Error::Interrupted`](crate::Error::Interrupted) once `checks` asks to stop. That ends
/// any fit on it, whatever the estimator.
#[derive(Clone, Copy)]
pub struct Interruptible<'a, O> {
    /// The oracle that does the work.
    pub oracle: &'a O,
    /// Asked before every call.
    pub checks: &'a dyn Checks,
}

impl<O: MarginalOracle> MarginalOracle for Interruptible<'_, O> {
    type Workspace = O::Workspace;

    fn workspace(&self) -> Self::Workspace {
        self.oracle.workspace()
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        self.checks.check()?;
        self.oracle.marginals(theta, total, workspace, mu)
    }

    fn marginals_if_fast(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut Self::Workspace,
        mu: &mut Marginals,
    ) -> Result<Option<f64>> {
        self.checks.check()?;
        self.oracle.marginals_if_fast(theta, total, workspace, mu)
    }

    fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut Self::Workspace,
    ) -> Result<Option<f64>> {
        self.checks.check()?;
        self.oracle.largest_log_weight(theta, workspace)
    }

    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.oracle.together(work)
    }
}
