//! The simplest private baseline: single attributes alone.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::graphical::{Fitting, GraphicalModel, single_attributes};
use crate::mechanism::parameters::count;
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task};
use crate::observe::Observer;
use crate::privacy::Curator;

/// Measures every attribute alone, at equal parts of the budget, and takes them as independent. It uses neither workload
/// nor public tables. n as for [`crate::mechanism::Aim`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Independent {
    /// Largest model, in MiB (8 bytes a value of every attribute).
    pub size_limit_mib: f64,
    /// Most oracle calls of the fit.
    pub iterations: u32,
    /// The method of the fits.
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
