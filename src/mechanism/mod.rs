//! Mechanisms: from a curator and a task to a release.

mod adaptive;
mod aim;
mod answers;
mod checkpoint;
mod entropy_projection;
mod hdmm;
mod ide;
mod independent;
mod jam_pgm;
mod mst;
mod multiplicative_weights;
mod mwem_pgm;
mod past_queries;
mod public_only;
mod query_release;
mod residual_planner;
mod rounds;

pub use aim::Aim;
pub use answers::{AnswerWorkload, Answers};
pub use checkpoint::CheckpointFolder;
pub use entropy_projection::{Pep, PepPub};
pub use hdmm::Hdmm;
pub use ide::{Ide, LevelShares};
pub use independent::Independent;
pub use jam_pgm::JamPgm;
pub use mst::Mst;
pub use multiplicative_weights::{Mwem, PmwPub};
pub use mwem_pgm::MwemPgm;
pub use public_only::PublicOnly;
pub use query_release::{Iterate, Queries, QueryRelease};
pub use residual_planner::ResidualPlanner;

use serde::{Deserialize, Serialize};

use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::Result;
use crate::estimation::Certificate;
use crate::measurement::{Measurement, Provenance};
use crate::model::Model;
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
}

/// A way from records to a model within a budget.
pub trait Mechanism {
    /// The name under which the field knows it, as on the command line.
    fn name(&self) -> &'static str;

    /// Runs within the curator's remaining budget.
    ///
    /// # Errors
    /// Parameters out of range, a workload that leaves no candidate, a table that does not fit memory, or a failure of
    /// the checkpoint's files or of the system's random generator. Messages say nothing about the records. After an error
    /// of a run with a checkpoint, what counts is the checkpoint's ledger: do not publish the curator's, which may name what
    /// was drawn in a round that is to be drawn anew.
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

/// One round of a mechanism: one marginal, or one cell of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// The round, counted from 1.
    pub round: u32,
    /// The clique that was taken.
    pub clique: Clique,
    /// The table it was taken from.
    pub provenance: Provenance,
    /// Standard deviation of its noise, in counts; 0 for a public marginal.
    pub stddev: f64,
    /// Candidates it was chosen among, private and public ones together; 0 for a marginal that the mechanism takes in
    /// any case.
    pub candidates: usize,
    /// Loss after the fit; 0, as the next two, when no fit came before the next round. Of a weighted support: the largest
    /// error on the answers so far, as a probability.
    pub loss: f64,
    /// Oracle calls of the fit; of a weighted support: queries by which it was reweighted.
    pub oracle_calls: u32,
    /// Model size after the fit, in MiB.
    pub model_mib: f64,
}
