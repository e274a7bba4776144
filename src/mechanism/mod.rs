//! Mechanisms: from a curator and a task to a release.

mod aim;
mod answers;
mod catalogue;
mod checkpoint;
mod entropy_projection;
mod graphical;
mod hdmm;
mod ide;
mod independent;
mod jam_pgm;
mod mst;
mod multiplicative_weights;
mod mwem_pgm;
mod parameters;
mod past_queries;
mod plan;
mod public_only;
mod query_release;
mod residual_planner;
mod run;

pub use aim::Aim;
pub use answers::{AnswerWorkload, Answers};
pub use catalogue::{CATALOGUE, Entry, PublicTables, find, parameters as all_parameters};
pub use checkpoint::CheckpointFolder;
pub use entropy_projection::{Pep, PepPub};
pub use graphical::{Fitting, GraphicalModel};
pub use hdmm::Hdmm;
pub use ide::{GroupProjection, Ide, LevelShares};
pub use independent::Independent;
pub use jam_pgm::JamPgm;
pub use mst::Mst;
pub use multiplicative_weights::{Mwem, PmwPub};
pub use mwem_pgm::MwemPgm;
pub use parameters::{Form, Parameter};
pub use plan::{PlanFor, PlannedStep, RunPlan};
pub use public_only::PublicOnly;
pub use query_release::{Iterate, Queries, QueryRelease};
pub use residual_planner::ResidualPlanner;
pub use run::{FitRecord, ModelState, RoundRecord, Run, Shares};

use rand::Rng;

use crate::data::{Dataset, PublicData};
use crate::domain::Schema;
use crate::error::Result;
use crate::estimation::Certificate;
use crate::measurement::{Measurement, Provenance};
use crate::model::{Drawing, Model, ModelFile};
use crate::observe::Observer;
use crate::privacy::{Curator, Ledger, NeighboringRelation};
use crate::query::Workload;

/// What a mechanism is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The cliques whose marginals must be good.
    pub workload: &'a Workload,
    /// Public tables that may help; there may be none.
    pub public: &'a [PublicData],
    /// Where to keep the state after every round, so that a killed run can resume; `None`: nowhere.
    pub checkpoint: Option<&'a CheckpointFolder>,
}

impl<'a> Task<'a> {
    /// A task without a checkpoint.
    pub fn new(workload: &'a Workload, public: &'a [PublicData]) -> Self {
        Self { workload, public, checkpoint: None }
    }
}

/// A way from records to a model within a budget.
pub trait Mechanism {
    /// The name under which the field knows it, as on the command line.
    fn name(&self) -> &'static str;

    /// Refuses parameters out of range. [`run`](Self::run) does so too.
    ///
    /// # Errors
    /// A parameter out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// What a run will do with a budget, as far as that is known before any data are read.
    ///
    /// # Errors
    /// A parameter out of range, or a budget that leaves a step nothing.
    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let _ = about;
        Ok(RunPlan::default())
    }

    /// Runs within the curator's remaining budget.
    ///
    /// # Errors
    /// Parameters out of range, a workload that leaves no candidate, a table that does not fit memory, or a failure of
    /// the checkpoint's files or of the system's random generator. Messages say nothing about the records. After an error
    /// of a run with a checkpoint, the checkpoint's ledger counts: do not publish the curator's, which may name what was
    /// drawn in a round that will be drawn again.
    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release>;
}

/// A finished run. All of it may be published when [`Release::is_private`] holds.
#[derive(Clone, Debug)]
pub struct Release {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// The fitted distribution.
    pub model: Model,
    /// The workload that was asked for.
    pub workload: Workload,
    /// How far the fit is from the best one, at most; `None` without measurements, and for weighted supports.
    pub certificate: Option<Certificate>,
    /// What was measured, in order.
    pub measurements: Vec<Measurement>,
    /// What each round did.
    pub rounds: Vec<RoundRecord>,
    /// What each access cost.
    pub ledger: Ledger,
    /// Which tables the guarantee holds for.
    pub relation: NeighboringRelation,
    /// False when the noise came from a fixed seed: then nothing is private.
    pub is_private: bool,
}

impl Release {
    /// Synthetic records, drawn from the model and by default brought near its marginals on the workload. They cost no
    /// privacy, however many there are. The same generator gives the same records, here and everywhere else in this
    /// program.
    ///
    /// # Errors
    /// No record asked for, or more than 32 bits can count.
    pub fn rows<R: Rng + ?Sized>(
        &self,
        records: usize,
        drawing: Drawing,
        rng: &mut R,
    ) -> Result<Dataset> {
        self.model.rows(records, drawing, &self.workload.cliques(), rng)
    }

    /// The number of records that the model stands for, as a whole number of at least 1.
    pub fn records(&self) -> usize {
        self.model.records()
    }

    /// The measurements of one round.
    pub fn measurements_of(&self, round: &RoundRecord) -> &[Measurement] {
        self.measurements.get(round.measurements.clone()).unwrap_or_default()
    }

    /// How many marginals were measured privately, and how many were taken from public tables.
    pub fn provenances(&self) -> (usize, usize) {
        let is_private = |m: &&Measurement| m.provenance == Provenance::Private;
        let private = self.measurements.iter().filter(is_private).count();
        (private, self.measurements.len() - private)
    }

    /// The model with its schema, to be kept in a file.
    pub fn model_file(&self, schema: Schema) -> ModelFile {
        ModelFile {
            schema,
            model: self.model.clone(),
            refined_on: self.workload.cliques(),
            mechanism: self.mechanism.to_owned(),
            is_private: self.is_private,
        }
    }
}
