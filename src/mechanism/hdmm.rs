//! HDMM for workloads of marginals: the best weighted set of marginals, and least squares.

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
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
use crate::strategy::MarginalPlan;

/// HDMM with the strategy `OPT_M` (`McKenna`, Miklau, Hay & Machanavajjhala 2018, section 7.2), for Gaussian noise:
///
/// 1. *Select*: weights of marginals that minimize the workload's total squared error ([`MarginalPlan`]).
/// 2. *Measure*: each of them, at its share of the budget.
/// 3. *Reconstruct*: by least squares.
///
/// As a [`Mechanism`], it fits a model to the answers that stand out from the noise.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Hdmm};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = Hdmm::default();
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.answered.expect("the strategy's marginals").marginals.len(), 3);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Hdmm {
    /// Maximum number of attributes of a measured clique that is not a subset of a workload clique.
    pub widest: usize,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique).
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls of the fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for Hdmm {
    fn default() -> Self {
        Self {
            widest: 0,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl AnswerWorkload for Hdmm {
    fn answer(&self, curator: &mut Curator<'_>, workload: &Workload) -> Result<Answers> {
        let (domain, relation) = (curator.domain().clone(), curator.relation());
        let budget = curator.remaining();
        let plan = MarginalPlan::new(&domain, workload, self.widest, relation, budget)?;
        curator.begin_round(1)?;
        let measured = plan.measured().iter();
        let noisy = measured.map(|(clique, rho)| Ok(curator.measure(clique, *rho)?.into()));
        let marginals = noisy.collect::<Result<_>>()?;
        let measured = Measured { marginals, ..Measured::of_records(curator.records()) };
        Answers::new(self.name(), workload, curator, measured)
    }
}

impl Mechanism for Hdmm {
    fn name(&self) -> &'static str {
        "hdmm"
    }

    fn check(&self) -> Result<()> {
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let PlanFor { domain, workload, relation, rho, .. } = *about;
        let plan = MarginalPlan::new(domain, workload, self.widest, relation, rho)?;
        Ok(answers::plan(about, &plan.variances(), self.size_limit_mib))
    }

    fn counts(&self, domain: &Domain, workload: &Workload) -> Result<Vec<Clique>> {
        let mut cliques = workload.cliques();
        let widest = self.widest.min(domain.len());
        if widest > 0 {
            cliques.extend(Workload::all_k_way(domain, widest)?.cliques());
        }
        Ok(cliques)
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

impl Hdmm {
    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}

/// The parameter specific to this mechanism.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "widest",
    value_name: "K",
    help: "Cliques of up to this many attributes may be measured besides subsets of the workload's",
    form: Form::Count,
    unset: "",
}];
