//! Mechanisms: each takes a curator and a task, and produces a release.

mod adaptive;
mod aim;
mod anchor_pgm;
mod annealing;
mod answers;
mod best_response;
mod catalogue;
mod contradiction;
mod dual_query;
mod entropy_projection;
mod fem;
mod graphical;
#[cfg(test)]
mod handful;
mod hdmm;
mod ide;
mod independent;
mod jam_pgm;
mod measured_errors;
mod mst;
mod multiplicative_weights;
mod mwem_pgm;
mod parameters;
mod past_queries;
mod plan;
mod products;
mod public_only;
mod query_game;
mod query_release;
mod replication;
mod residual_planner;
mod reweighting;
mod run;
mod unlikely;

pub use crate::privacy::Gain;
pub use aim::{Aim, Shrinkage};
pub use anchor_pgm::{AnchorPgm, chooser::Chooser};
pub use answers::{AnswerWorkload, Answers};
pub use best_response::Oracle;
pub use catalogue::{CATALOGUE, Entry, PublicTables, find, parameters as all_parameters};
pub use dual_query::DualQuery;
pub use entropy_projection::{Pep, PepPub};
pub use fem::Fem;
pub use graphical::{Fitting, GraphicalModel};
pub use hdmm::Hdmm;
pub use ide::{GroupProjection, Ide, LevelShares};
pub use independent::Independent;
pub use jam_pgm::{Contradicted, JamPgm, Leftover};
pub use mst::Mst;
pub use multiplicative_weights::{Mwem, PmwPub, Reuse};
pub use mwem_pgm::MwemPgm;
pub use parameters::Parameter;
pub use plan::{PlanFor, PlannedStep, RunPlan};
pub use products::{Gem, GemPub, Latents, Loss, NeuralFit, Rap, RapSoftmax, RowFit};
pub use public_only::PublicOnly;
pub use query_release::{Iterate, Queries, QueryRelease, Repeats};
pub use replication::Replication;
pub use residual_planner::ResidualPlanner;
pub use run::{
    FitRecord, ModelState, RoundRecord, Run, Shares, TalliedMeasurement, expert_kind::ExpertKind,
};

use rand::Rng;
use serde::Serialize;

use crate::data::{Dataset, PublicData};
use crate::domain::{Clique, Domain, Schema, StructuralZero};
use crate::error::Result;
use crate::error_bars::MeasuredErrors;
use crate::estimation::Certificate;
use crate::least_squares::Measured;
use crate::measurement::{Measurement, Provenance};
use crate::model::{Drawing, Model, ModelFile, PublicPart, Refinement};
use crate::observe::Observer;
use crate::privacy::{Curator, Ledger, LedgerEntry, NeighboringRelation, NoiseMechanism};
use crate::query::Workload;
use crate::survey::Weight;

/// The input of a mechanism, apart from the records.
#[derive(Clone, Copy, Debug)]
pub struct Task<'a> {
    /// The cliques whose marginals must be accurate.
    pub workload: &'a Workload,
    /// Public tables that the mechanism may use. May be empty.
    pub public: &'a [PublicData],
}

impl<'a> Task<'a> {
    /// A task.
    pub fn new(workload: &'a Workload, public: &'a [PublicData]) -> Self {
        Self { workload, public }
    }
}

/// An algorithm that turns records into a model within a privacy budget.
///
/// ```
/// use jointly::mechanism::{self, CATALOGUE};
/// use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload, domain::Domain};
/// let rows: Vec<[u32; 2]> = (0..500).map(|i| [i % 2, i % 3]).collect();
/// let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3)])?, &rows)?;
/// let workload = Workload::all_k_way(private.domain(), 2)?;
/// for name in ["independent", "mst", "aim"] {
///     let mechanism = mechanism::find(name)?.build(&Default::default())?;
///     let budget = Budget::approximate(1.0, 1e-6)?;
///     let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
///     let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
///     assert_eq!(release.mechanism, name);
/// }
/// assert!(CATALOGUE.len() > 15);
/// # Ok::<(), jointly::Error>(())
/// ```
pub trait Mechanism {
    /// The mechanism's name in the literature, as used on the command line.
    fn name(&self) -> &'static str;

    /// Checks that the parameters are in range. [`run`](Self::run) performs the same check.
    ///
    /// # Errors
    /// A parameter out of range.
    fn check(&self) -> Result<()> {
        Ok(())
    }

    /// How a run will spend its budget, as far as this is known before it reads any data.
    ///
    /// # Errors
    /// A parameter out of range, or a budget too small to give every step a positive share.
    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let _ = about;
        Ok(RunPlan::default())
    }

    /// The cliques whose marginals of the private table a run may ask for, up to subsets: what to count of a table whose
    /// records are not held ([`CountPlan`](crate::data::CountPlan)). By default the workload's and the single attributes.
    ///
    /// # Errors
    /// Too many cliques.
    fn counts(&self, domain: &Domain, workload: &Workload) -> Result<Vec<Clique>> {
        let singles = (0..domain.len()).map(|attribute| Clique::new([attribute]));
        Ok(singles.chain(workload.cliques()).collect())
    }

    /// Runs within the curator's remaining budget.
    ///
    /// # Errors
    /// Parameters out of range, a workload that leaves no candidate, a table that does not fit in memory, or a failure
    /// of the checkpoint's files or of the system's random generator. Messages reveal nothing about the records. If a
    /// run with a checkpoint fails, the checkpoint's ledger is the valid one. Do not publish the curator's ledger: it
    /// may name draws of a round that will be repeated.
    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release>;
}

/// The result of a run. All of it may be published if [`Release::is_private`] is true.
#[derive(Clone, Debug)]
pub struct Release {
    /// The mechanism's name.
    pub mechanism: &'static str,
    /// The fitted distribution.
    pub model: Model,
    /// The workload of the task.
    pub workload: Workload,
    /// Upper bound on the distance of the fit from the best one; `None` without measurements, and for weighted
    /// supports.
    pub certificate: Option<Certificate>,
    /// The measurements, in order.
    pub measurements: Vec<Measurement>,
    /// What was measured of units as a whole, where they are records with several members; none of the measurements above.
    pub compositions: Vec<TalliedMeasurement>,
    /// What was measured, where the measurements above were computed from it (HDMM, residual planner): these agree with one
    /// another, and have noise in common.
    pub answered: Option<Measured>,
    /// The number of private records, if it is public.
    pub public_records: Option<u64>,
    /// The record of each round.
    pub rounds: Vec<RoundRecord>,
    /// The public tables that the model starts from, and corrects by what was measured. None where it takes only some of their
    /// marginals ([`Measurement::provenance`]), or nothing.
    pub starts_from: Vec<PublicPart>,
    /// How far the public tables were trusted; `None` if the mechanism does not say.
    pub public_trust: Option<PublicTrust>,
    /// Of what population the model is, if it is not of the private records: then measurements and certificate are of the sample
    /// ([`Release::measured`]).
    pub population: Option<ReleasedPopulation>,
    /// Combinations that records are drawn without, though the model has them.
    pub unlikely: Vec<StructuralZero>,
    /// The errors of the released records, if they were measured ([`Release::measure_errors`]).
    pub errors: Option<MeasuredErrors>,
    /// The cost of each access.
    pub ledger: Ledger,
    /// Names of tables of the private records that are released as they are, in this run or an earlier one of the ledger: the
    /// guarantee holds among private tables that share them.
    pub conditional_on: Vec<String>,
    /// The neighboring relation of the guarantee.
    pub relation: NeighboringRelation,
    /// False if the noise came from a fixed seed; the release is then not private.
    pub is_private: bool,
}

/// What a run found about its public tables. It follows from paid releases.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PublicTrust {
    /// What was published, in words.
    pub published: &'static str,
    /// The cliques whose measurements contradict the public tables, with the share of the public tables' weight that was
    /// left there, below a quarter. `None` if no fit was pulled to the public tables, so that nothing was tested.
    pub contradicted: Option<Vec<(Clique, f64)>>,
    /// With [`Chooser::Alone`]: with a probability of 95 %, the mean workload error of the published model is at most this much
    /// above that of AIM's model, in [0, 2] as that error itself (`docs/theory/run.md`, section 2).
    pub above_aim: Option<f64>,
}

/// The population that a release is of.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ReleasedPopulation {
    /// The attribute with the survey weight.
    pub weight: Option<String>,
    /// The sum of the weights of the sample, by its model; `None` without weights.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weighted: Option<f64>,
    /// The weight, if it alone makes the population of the sample: with totals, what was measured of the sample does not say how
    /// many members of the population there are.
    #[serde(skip)]
    pub weighted_alone: Option<Weight>,
    /// The number of records that the model of the sample represents.
    pub sampled: u64,
    /// The names of the totals that hold.
    pub totals: Vec<String>,
    /// The largest difference between a total, scaled to the number of records, and the released records, or their weights, in
    /// its cell; `None` without totals.
    pub largest_difference: Option<f64>,
}

impl Release {
    /// The same, of a model that starts from these tables.
    #[must_use]
    pub(crate) fn starting_from(self, public: &[PublicData]) -> Self {
        let part = |table: &PublicData| PublicPart {
            clique: table.attributes(),
            table: Some(table.name().to_owned()),
        };
        Self { starts_from: public.iter().map(part).collect(), ..self }
    }

    /// Draws synthetic records from the model and, by default, adjusts them to its marginals on the workload. Any
    /// number of records can be drawn at no privacy cost. The same generator gives the same records everywhere in this
    /// program.
    ///
    /// # Errors
    /// A number of records that is 0 or does not fit in 32 bits.
    pub fn rows<R: Rng + ?Sized>(
        &self,
        records: usize,
        drawing: Drawing,
        rng: &mut R,
    ) -> Result<Dataset> {
        self.model.rows(records, drawing, &self.refinement(), rng)
    }

    /// What refined records are brought near to: the model on the workload, without what is unlikely.
    pub fn refinement(&self) -> Refinement {
        Refinement { cliques: self.workload.cliques(), unlikely: self.unlikely.clone() }
    }

    /// The number of records that the model represents: a whole number of at least 1.
    pub fn records(&self) -> usize {
        self.model.records()
    }

    /// What one round measured of units as a whole.
    pub fn compositions_of(
        &self,
        round: &RoundRecord,
    ) -> impl Iterator<Item = &TalliedMeasurement> {
        let round = round.round;
        self.compositions.iter().filter(move |own| own.round == round)
    }

    /// The measurements of one round.
    pub fn measurements_of(&self, round: &RoundRecord) -> &[Measurement] {
        self.measurements.get(round.measurements.clone()).unwrap_or_default()
    }

    /// The cliques of all marginals that were measured whole.
    pub fn measured_cliques(&self) -> Vec<Clique> {
        let whole = self.measurements.iter().filter(|measurement| measurement.cell.is_none());
        whole.map(|measurement| measurement.clique.clone()).collect()
    }

    /// What was measured privately of what the model is of: of the private records, or of the population that a weighted sample
    /// stands for. `None` if it does not say anything about that.
    pub fn measured(&self) -> Option<Measured> {
        let own = self.measured_of_sample();
        let Some(population) = &self.population else { return Some(own) };
        Some(population.weighted_alone.as_ref()?.measured(self.model.domain(), &own))
    }

    /// What was measured privately of the private records.
    fn measured_of_sample(&self) -> Measured {
        let is_laplace =
            |entry: &LedgerEntry| matches!(entry.mechanism, NoiseMechanism::DiscreteLaplace { .. });
        let own = self.answered.clone().unwrap_or_else(|| Measured::of(&self.measurements));
        Measured {
            records: self.public_records.map(|records| records as f64),
            is_laplace: self.ledger.entries().iter().any(is_laplace),
            ..own
        }
    }

    /// The number of marginals measured privately, and the number taken from public tables.
    pub fn provenances(&self) -> (usize, usize) {
        let is_private = |m: &&Measurement| m.provenance == Provenance::Private;
        let private = self.measurements.iter().filter(is_private).count();
        (private, self.measurements.len() - private)
    }

    /// The model with its schema, ready to be saved to a file.
    pub fn model_file(&self, schema: Schema) -> ModelFile {
        ModelFile {
            schema,
            model: self.model.clone(),
            refined_on: self.workload.cliques(),
            accuracy: self.measured().map(|_| self.accuracy()),
            linked: None,
            weight: self.population.as_ref().and_then(|population| population.weight.clone()),
            mechanism: self.mechanism.to_owned(),
            is_private: self.is_private,
            conditional_on: self.conditional_on.clone(),
        }
    }
}
