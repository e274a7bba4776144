//! The naive baseline: a model of a public table alone.

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::estimation::{Stopping, Weighting};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::rounds::{Rounds, Settings};
use crate::mechanism::{JamPgm, Mechanism, Release, Task, adaptive};
use crate::observe::Observer;
use crate::privacy::Curator;

/// A fit ends when its loss falls by less than a marginal's that moves by this share of its sampling error.
const SAMPLING_SHARE: f64 = 0.3;

/// Fits a graphical model to marginals of the first public table, and spends nothing.
///
/// Greedy: every round takes the marginal of the downward closure on which the model is furthest from the public
/// table, among those that keep the model within the size limit. The private table gives its number of records, and
/// only where that is public; otherwise the model stands for the public table's.
#[derive(Clone, Debug)]
pub struct PublicOnly {
    /// Marginals to take; `None`: [`JamPgm::default_rounds`].
    pub rounds: Option<u32>,
    /// Largest model, in MiB.
    pub size_limit_mib: f64,
    /// Most oracle calls of a fit.
    pub iterations: u32,
}

impl Default for PublicOnly {
    fn default() -> Self {
        Self { rounds: None, size_limit_mib: 80.0, iterations: 1000 }
    }
}

impl Mechanism for PublicOnly {
    fn name(&self) -> &'static str {
        "public-only"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        let Some(table) = task.public.first() else {
            return Err(Error::invalid_parameter("public tables", "none", "at least one"));
        };
        let attributes = curator.domain().len();
        let rounds = self.rounds.unwrap_or_else(|| JamPgm::default_rounds(attributes));
        let settings = Settings {
            name: self.name(),
            rounds: Some(rounds),
            measure_share: None,
            size_limit_mib: self.size_limit_mib,
            // Closer than the public marginals themselves are to what they stand for there is nothing to gain.
            stopping: Stopping {
                marginal_share: SAMPLING_SHARE / (table.records() as f64).max(1.0).sqrt(),
                ..Stopping::default().at_most(self.iterations)
            },
            weighting: Weighting::Equal,
            checkpoint: None,
        };
        let total = curator.records().unwrap_or_else(|| table.records()).max(1) as f64;
        let scale = total / (table.records() as f64).max(1.0);
        let cliques: Vec<Clique> =
            task.workload.downward_closure().into_iter().filter(|c| table.covers(c)).collect();
        let counts = table.project_many(&cliques)?;
        let mut run = Rounds::open_free(settings, curator, total, observer)?;
        run.start(rounds, cliques.len());
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            let share = f64::from(round) / f64::from(rounds);
            let wanted = run.within(&cliques, self.size_limit_mib * share)?;
            let distances =
                adaptive::table_distances(run.model(), &cliques, &wanted, &counts, scale, round)?;
            let furthest = wanted
                .iter()
                .zip(&distances)
                .max_by(|(i, a), (j, b)| a.total_cmp(b).then(j.cmp(i)))
                .map_or(0, |(i, _)| *i);
            let measurement = Measurement {
                clique: cliques[furthest].clone(),
                cell: None,
                values: counts[furthest].iter().map(|c| scale * f64::from(*c)).collect(),
                stddev: 0.0,
                provenance: Provenance::Public { source: table.name().to_owned() },
            };
            run.record(wanted.len(), measurement)?;
            run.fit()?;
        }
        run.finish()
    }
}
