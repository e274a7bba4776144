//! `ResidualPlanner`: a workload of marginals, answered with optimal Gaussian noise.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::least_squares::Measured;
use crate::mechanism::answers::{self, AnswerWorkload, Answers};
use crate::mechanism::graphical::Fitting;
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, RunPlan, Task};
use crate::observe::Observer;
use crate::privacy::Curator;
use crate::query::Workload;
use crate::settings::Form;
use crate::strategy::{Objective, ResidualPlan};

/// `ResidualPlanner` (Xiao, He, Zhang & Kifer 2023), with exact discrete Gaussian noise (their section 4.4):
///
/// 1. *Select*: noise `σ_A²` for the residual of every subset A of a clique of the workload ([`ResidualPlan`]).
/// 2. *Measure*: all residuals at once, for the whole budget.
/// 3. *Reconstruct*: every marginal as the sum of the residuals of its subsets ([`crate::least_squares`]).
///
/// As a [`Mechanism`], it fits a model to the answers that stand out from the noise.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, ResidualPlanner};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = ResidualPlanner::default();
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.answered.expect("common residuals").residuals.len(), 6);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ResidualPlanner {
    /// The objective that the noise minimizes.
    pub objective: Objective,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique).
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls of the fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for ResidualPlanner {
    fn default() -> Self {
        Self {
            objective: Objective::default(),
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl AnswerWorkload for ResidualPlanner {
    fn answer(&self, curator: &mut Curator<'_>, workload: &Workload) -> Result<Answers> {
        let (domain, relation) = (curator.domain().clone(), curator.relation());
        let budget = curator.remaining();
        let plan = ResidualPlan::new(&domain, workload, self.objective, relation, budget)?;
        curator.begin_round(1)?;
        let mut measured = Measured::of_records(curator.records());
        if !plan.queries().is_empty() {
            let noisy = curator.measure_residuals(plan.queries(), budget)?;
            noisy.iter().for_each(|residual| measured.insert(&domain, residual));
        }
        Answers::new(self.name(), workload, curator, measured)
    }
}

impl Mechanism for ResidualPlanner {
    fn name(&self) -> &'static str {
        "residual-planner"
    }

    fn check(&self) -> Result<()> {
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let PlanFor { domain, workload, relation, rho, .. } = *about;
        let plan = ResidualPlan::new(domain, workload, self.objective, relation, rho)?;
        Ok(answers::plan(about, &plan.variances(), self.size_limit_mib))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        answers::release(self, self.fitting(), curator, task, observer)
    }
}

impl ResidualPlanner {
    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}

/// The parameter specific to this mechanism.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "objective",
    value_name: "WHAT",
    help: "What the plan minimizes, weighted by the workload",
    form: Form::Choice(&[
        ("sum-of-variances", "The sum of the variances of all cells"),
        ("max-variance", "The largest variance of a cell"),
    ]),
    unset: "",
}];
