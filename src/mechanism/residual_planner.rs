//! `ResidualPlanner`: a workload of marginals, answered with the best Gaussian noise there is.

use crate::error::Result;
use crate::mechanism::answers::{self, AnswerWorkload, Answers};
use crate::mechanism::{Mechanism, Release, Task};
use crate::observe::Observer;
use crate::privacy::Curator;
use crate::query::Workload;
use crate::strategy::{Objective, ResidualPlan, Residuals};

/// `ResidualPlanner` (Xiao, He, Zhang & Kifer 2023), with exact discrete Gaussian noise (their section 4.4):
///
/// 1. *Select*: noise `σ_A²` for the residual of every subset A of a clique of the workload ([`ResidualPlan`]).
/// 2. *Measure*: all residuals at once, for the whole budget.
/// 3. *Reconstruct*: every marginal as the sum of the residuals of its subsets ([`Residuals`]).
///
/// As a [`Mechanism`] it fits a model to the answers that stand out of the noise.
#[derive(Clone, Debug)]
pub struct ResidualPlanner {
    /// What the noise is best for.
    pub objective: Objective,
    /// Largest model, in MiB (8 bytes a cell of every maximal clique).
    pub size_limit_mib: f64,
    /// Most oracle calls of the fit.
    pub iterations: u32,
}

impl Default for ResidualPlanner {
    fn default() -> Self {
        Self { objective: Objective::default(), size_limit_mib: 80.0, iterations: 1000 }
    }
}

impl AnswerWorkload for ResidualPlanner {
    fn answer(&self, curator: &mut Curator<'_>, workload: &Workload) -> Result<Answers> {
        let (domain, relation) = (curator.domain().clone(), curator.relation());
        let budget = curator.remaining();
        let plan = ResidualPlan::new(&domain, workload, self.objective, relation, budget)?;
        curator.begin_round(1)?;
        let total = curator.records().map_or(0.0, |records| records as f64);
        let mut residuals = Residuals::of_total(&domain, total);
        if !plan.queries().is_empty() {
            let measured = curator.measure_residuals(plan.queries(), budget)?;
            measured.iter().for_each(|residual| residuals.insert(residual));
        }
        Ok(Answers {
            mechanism: self.name(),
            domain,
            cliques: workload.cliques(),
            residuals,
            variances: plan.variances(),
            ledger: curator.ledger().clone(),
            relation,
            is_private: curator.is_private(),
        })
    }
}

impl Mechanism for ResidualPlanner {
    fn name(&self) -> &'static str {
        "residual-planner"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        let settings = answers::settings(self.name(), self.size_limit_mib, self.iterations);
        answers::release(self, settings, curator, task, observer)
    }
}
