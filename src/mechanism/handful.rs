//! A mechanism that only the tests have, in place of the next one that is added: `tests/integration/architecture.rs` counts
//! the files that it touches, and `synthesis/job/tests.rs` runs it as a job.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::{Fitting, Form, GraphicalModel, Mechanism, Parameter, Release, Run, Task};
use crate::observe::Observer;
use crate::privacy::{Curator, ScoreSensitivity};

/// Chooses and measures several cliques of the workload in one round.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(super) struct Handful {
    picks: u32,
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
    help: "Cliques to choose",
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
        let answers = run.marginals(&cliques)?;
        run.start(1, cliques.len());
        if run.rounds().is_empty() {
            let round = run.begin_round()?;
            let mut left = model.within(&run, &cliques, 1.0)?;
            for pick in 0..self.picks {
                let shares = run.even_share(self.picks - pick, 0.8)?;
                let scores = model.errors(&run, &cliques, &left, &answers, round)?;
                let sensitivity = ScoreSensitivity::l1_error(run.relation());
                let length = left.len();
                let choice = model.select(&mut run, scores, length, sensitivity, shares.select)?;
                run.measure(&cliques[left.swap_remove(choice)], shares.measure)?;
            }
            run.end_round()?;
        }
        model.fit(&mut run)?;
        model.finish(run)
    }
}
