//! A mechanism that is compiled for tests only. It stands in for the next one to be added:
//! `tests/integration/architecture.rs` counts the files that it touches, and `synthesis/job/tests.rs` runs it as a job.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::{Fitting, GraphicalModel, Mechanism, Parameter, Release, Run, Task};
use crate::observe::Observer;
use crate::privacy::Curator;
use crate::settings::Form;

/// Measures the first cliques of the workload.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Handful {
    picks: usize,
}

impl Default for Handful {
    fn default() -> Self {
        Self { picks: 2 }
    }
}

/// Its parameters.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "picks",
    value_name: "K",
    help: "Number of cliques to measure",
    form: Form::Count,
    unset: "",
}];

impl Mechanism for Handful {
    fn name(&self) -> &'static str {
        "handful"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let fitting = Fitting::new(1.0, 50, EstimatorKind::default());
        let mut model = GraphicalModel::open(fitting, &mut run)?;
        let cliques = task.workload.cliques();
        run.start(1, cliques.len());
        let budget = run.budget();
        run.measure_each(&cliques[..self.picks.min(cliques.len())], budget)?;
        model.fit(&mut run)?;
        model.finish(run)
    }
}
