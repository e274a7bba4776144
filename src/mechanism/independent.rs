//! The simplest private baseline: single attributes alone.

use crate::error::Result;
use crate::estimation::{Stopping, Weighting};
use crate::mechanism::checkpoint::CheckpointFolder;
use crate::mechanism::rounds::{Rounds, Settings, count, single_attributes};
use crate::mechanism::{Mechanism, Release, Task};
use crate::observe::Observer;
use crate::privacy::Curator;

/// Measures every attribute alone, at equal parts of the budget, and takes them as independent. It uses neither workload
/// nor public tables. n as for [`crate::mechanism::Aim`].
#[derive(Clone, Debug)]
pub struct Independent {
    /// Largest model, in MiB (8 bytes a value of every attribute).
    pub size_limit_mib: f64,
    /// Most oracle calls of the fit.
    pub iterations: u32,
    /// Where to keep the state after every measurement, so that a killed run can go on.
    pub checkpoint: Option<CheckpointFolder>,
}

impl Default for Independent {
    fn default() -> Self {
        Self { size_limit_mib: 80.0, iterations: 1000, checkpoint: None }
    }
}

impl Mechanism for Independent {
    fn name(&self) -> &'static str {
        "independent"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        let settings = Settings {
            name: self.name(),
            rounds: None,
            measure_share: None,
            size_limit_mib: self.size_limit_mib,
            stopping: Stopping::default().at_most(self.iterations),
            weighting: Weighting::InverseVariance,
            checkpoint: self.checkpoint.as_ref(),
        };
        let mut run = Rounds::open(settings, curator, task, observer)?;
        let singles = single_attributes(run.domain());
        run.start(count(singles.len()), singles.len());
        run.measure_each(&singles, run.budget())?;
        run.fit()?;
        run.finish()
    }
}
