//! The simplest private baseline: independent attributes.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::graphical::{Fitting, GraphicalModel, single_attributes};
use crate::mechanism::parameters::count;
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task};
use crate::observe::Observer;
use crate::privacy::Curator;

/// Measures every single attribute at an equal part of the budget, and models the attributes as independent. Uses
/// neither workload nor public tables. The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Independent};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = Independent::default();
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.measurements.len(), 3);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Independent {
    /// Maximum size of the model, in MiB (8 bytes per value of every attribute).
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls of the fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for Independent {
    fn default() -> Self {
        Self {
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl Mechanism for Independent {
    fn name(&self) -> &'static str {
        "independent"
    }

    fn check(&self) -> Result<()> {
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let singles = about.domain.len();
        let rho = about.after_total().split(1, singles.max(1) as u64).unwrap_or_default().0;
        let steps = vec![about.step("single attributes", singles, rho)];
        Ok(RunPlan { rounds: count(singles), steps, ..RunPlan::default() }
            .within(self.size_limit_mib))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut model = GraphicalModel::open(self.fitting(), &mut run)?;
        let singles = single_attributes(run.domain());
        run.start(count(singles.len()), singles.len());
        let budget = run.budget();
        run.measure_each(&singles, budget)?;
        model.fit(&mut run)?;
        model.finish(run)
    }
}

impl Independent {
    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}
