//! The naive baseline: a model of a public table alone.

use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::estimation::{EstimatorKind, Stopping, Weighting};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::graphical::{Fitting, GraphicalModel, table_distances};
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::Curator;

/// A fit ends when its loss falls by less than the loss of one marginal that moves by this share of its sampling error.
const SAMPLING_SHARE: f64 = 0.3;

/// Fits a graphical model to marginals of the first public table, and spends nothing.
///
/// The algorithm is greedy. Among the marginals of the downward closure that keep the model within the size limit,
/// every round takes the one on which the model is furthest from the public table. The private table contributes only
/// its number of records, and only if that number is public. Otherwise the model uses the public table's number of
/// records.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, PublicOnly};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let public = [PublicData::new("last year", private.clone(), private.domain())?];
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = PublicOnly::default();
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
/// assert!(release.ledger.spent().is_zero());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PublicOnly {
    /// Number of marginals to take; `None`: two per attribute, at least 30.
    pub rounds: Option<u32>,
    /// Maximum size of the model, in MiB.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for PublicOnly {
    fn default() -> Self {
        Self {
            rounds: None,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl Mechanism for PublicOnly {
    fn name(&self) -> &'static str {
        "public-only"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        self.fitting(1).check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let rounds =
            self.rounds.unwrap_or_else(|| parameters::two_per_attribute(about.domain.len()));
        let plan = RunPlan { rounds, grows: true, ..RunPlan::default() };
        Ok(plan.within(self.size_limit_mib))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        Run::refuse_checkpoint(self.name(), curator)?;
        let Some(table) = task.public.first() else {
            return Err(Error::invalid_parameter("public tables", "none", "at least one"));
        };
        let attributes = curator.domain().len();
        let rounds = self.rounds.unwrap_or_else(|| parameters::two_per_attribute(attributes));
        let total = curator.records().unwrap_or_else(|| table.records()).max(1) as f64;
        let scale = total / (table.records() as f64).max(1.0);
        let cliques: Vec<Clique> =
            task.workload.downward_closure().into_iter().filter(|c| table.covers(c)).collect();
        let counts = table.project_many(&cliques)?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let fitting = self.fitting(table.records());
        let mut model = GraphicalModel::with_total(fitting, &run, total)?;
        run.start(rounds, cliques.len());
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            let share = f64::from(round) / f64::from(rounds);
            let wanted = model.within(&run, &cliques, self.size_limit_mib * share)?;
            let distances = table_distances(
                model.model(),
                &cliques,
                &wanted,
                &counts,
                scale,
                round,
                run.checks(),
            )?;
            let furthest = wanted
                .iter()
                .zip(&distances)
                .max_by(|(i, a), (j, b)| a.total_cmp(b).then(j.cmp(i)))
                .map_or(0, |(i, _)| *i);
            run.take(Measurement {
                clique: cliques[furthest].clone(),
                cell: None,
                values: counts[furthest].iter().map(|c| scale * f64::from(*c)).collect(),
                stddev: 0.0,
                provenance: Provenance::Public { source: table.name().to_owned() },
            });
            run.end_round()?;
            model.fit(&mut run)?;
        }
        model.finish(run)
    }
}

impl PublicOnly {
    /// Stops a fit at the sampling error of the public marginals, as a closer fit gains nothing.
    fn fitting(&self, records: u64) -> Fitting {
        let fitting = Fitting::new(self.size_limit_mib, self.iterations, self.estimator);
        let marginal_share = SAMPLING_SHARE / (records as f64).max(1.0).sqrt();
        let stopping = Stopping { marginal_share, ..fitting.stopping };
        Fitting { stopping, weighting: Weighting::Equal, ..fitting }
    }
}
