//! The driver of a run, which connects a curator and an observer.
//!
//! Every mechanism is built on it, and mechanisms of other crates can be too (`examples/own_mechanism.rs`). A run is a
//! sequence of rounds. A round makes any number of choices and takes any number of measurements; its results become
//! durable when it ends, before anyone sees them. An interrupted run resumes after its last durable round, and pays for
//! no round twice.

mod choosing;
pub(super) mod expert_kind;
mod measuring;
mod progress;
mod watching;

use std::cell::Cell;
use std::marker::PhantomData;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::data::Tallies;
use crate::domain::{Clique, Domain};
use crate::error::{CheckpointFault, Error, Result};
use crate::estimation::Certificate;
use crate::measurement::Measurement;
use crate::mechanism::run::progress::Progress;
pub use crate::mechanism::run::progress::TalliedMeasurement;
use crate::mechanism::{ExpertKind, Release, Task};
use crate::model::Model;
use crate::observe::{Event, Observer, SharedObserver};
use crate::privacy::{
    Curator, LedgerEntry, MarginalSensitivity, NeighboringRelation, PrivacyUnit, Ratio, Rho,
    SealedMarginals,
};

/// One round of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoundRecord {
    /// The round, counted from 1.
    pub round: u32,
    /// The number of candidates of each choice in the round, drawn together or not. Empty if the mechanism measures
    /// fixed marginals.
    pub choices: Vec<u64>,
    /// The range of the round's measurements in [`Release::measurements`].
    pub measurements: std::ops::Range<usize>,
    /// The fit after the round; `None` if the next round, or the end of the run, followed without a fit.
    pub fit: Option<FitRecord>,
}

/// The result of a fit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
#[non_exhaustive]
pub enum FitRecord {
    /// A graphical model was fitted to all measurements.
    GraphicalModel {
        /// Loss after the fit, in squared counts times the weights.
        loss: f64,
        /// Oracle calls of the fit.
        oracle_calls: u32,
        /// Model size, in MiB at 8 bytes per cell of every maximal clique.
        model_mib: f64,
    },
    /// Several graphical models were fitted to all measurements.
    Experts {
        /// The one that drives the next round.
        driver: ExpertKind,
        /// The number of cliques whose measurements contradict its base.
        contradicted: u32,
        /// Oracle calls of its fit.
        oracle_calls: u32,
        /// Its size, in MiB at 8 bytes per cell of every maximal clique.
        model_mib: f64,
    },
    /// Listed records were reweighted.
    WeightedSupport {
        /// The largest error on the answers so far, as a probability.
        largest_error: f64,
        /// Number of queries used to reweight the records.
        queries: u32,
        /// Size of the support, in MiB.
        model_mib: f64,
    },
    /// A mixture of product distributions was trained.
    Products {
        /// The largest error on the answers so far, as a probability.
        largest_error: f64,
        /// Number of training steps.
        steps: u32,
        /// Size of the mixture, in MiB.
        model_mib: f64,
    },
    /// An oracle found records that satisfy the queries chosen so far.
    BestResponses {
        /// The records found in this round.
        records: u32,
        /// The number of them that are proved to be best; the others may be worse, which costs accuracy only.
        proved: u32,
        /// Size of all records so far, in MiB.
        model_mib: f64,
    },
}

impl FitRecord {
    /// Model size, in MiB.
    pub fn model_mib(&self) -> f64 {
        match self {
            Self::GraphicalModel { model_mib, .. }
            | Self::Experts { model_mib, .. }
            | Self::WeightedSupport { model_mib, .. }
            | Self::Products { model_mib, .. }
            | Self::BestResponses { model_mib, .. } => *model_mib,
        }
    }
}

/// The state of a model between rounds, opaque to the checkpoint that stores it. A checkpoint with a state of another
/// kind or version is refused.
pub trait ModelState: Serialize + DeserializeOwned {
    /// Identifies the format of the state.
    const KIND: &'static str;
    /// The version of that format.
    const VERSION: u32;
}

/// A run in progress.
///
/// It is not shared between threads, so that closures over sealed values, which must be `Sync`, cannot hold it and ask its
/// observer as often as the records say:
///
/// ```compile_fail
/// fn shared<T: Sync>() {}
/// shared::<jointly::mechanism::Run<'static, 'static>>();
/// ```
pub struct Run<'r, 'c> {
    mechanism: &'static str,
    curator: &'r mut Curator<'c>,
    observer: SharedObserver<'r>,
    task: Task<'r>,
    progress: Progress,
    domain: Domain,
    /// The part of the limit that was spent before this run.
    earlier: Rho,
    planned: u32,
    /// The round in progress, if any.
    current: Option<RoundRecord>,
    not_shared: PhantomData<Cell<()>>,
}

impl<'r, 'c> Run<'r, 'c> {
    /// Begins a run, or resumes the one in the curator's checkpoint.
    ///
    /// `mechanism`: its name. `parameters`: everything that determines the run apart from the task, curator and seed. A
    /// checkpoint with other parameters is refused.
    ///
    /// # Errors
    /// A checkpoint that is refused, unreadable or in use.
    pub fn open(
        mechanism: &'static str,
        parameters: &impl Serialize,
        curator: &'r mut Curator<'c>,
        task: &Task<'r>,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        let (task, domain, earlier) = (*task, curator.domain().clone(), curator.spent());
        let parameters = serde_json::to_string(parameters).map_err(|error| {
            let expected = "parameters that JSON can hold";
            Error::invalid_specification(mechanism, error.to_string(), expected)
        })?;
        let inputs = || progress::inputs(mechanism, &parameters, &task);
        let check = |progress: &Progress, entries: &[LedgerEntry]| progress.check(&domain, entries);
        let progress = curator.begin_step("rounds", inputs, check)?.unwrap_or_default();
        let (planned, current) = (0, None);
        Ok(Self {
            mechanism,
            curator,
            observer: SharedObserver::new(observer),
            task,
            progress,
            domain,
            earlier,
            planned,
            current,
            not_shared: PhantomData,
        })
    }

    /// Refuses a checkpoint. For mechanisms that spend everything at once, or nothing.
    ///
    /// # Errors
    /// A curator with a checkpoint.
    pub fn refuse_checkpoint(mechanism: &'static str, curator: &Curator<'_>) -> Result<()> {
        if !curator.has_checkpoint() {
            return Ok(());
        }
        let expected = "no checkpoint: the mechanism has no rounds to resume";
        Err(Error::invalid_parameter("checkpoint", mechanism, expected))
    }

    /// The number of records n, at least 1: public under replace-one, otherwise an estimate that costs budget
    /// ([`Curator::total`]) and is made only once. Call this before the first round.
    ///
    /// # Errors
    /// A budget that is too small, or a checkpoint whose rounds were run without this number.
    pub fn total(&mut self) -> Result<f64> {
        if let Some(known) = self.progress.total {
            return Ok(known);
        }
        let is_public = self.curator.records().is_some();
        if !is_public && self.next_round() > 1 {
            return Err(self.refused("it holds rounds without the number of records"));
        }
        self.check()?;
        let total = self.curator.total()?;
        if !is_public {
            self.progress.total = Some(total);
            self.curator.keep_step(&self.progress)?;
        }
        Ok(total)
    }

    /// The attributes.
    pub fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The neighboring relation.
    pub fn relation(&self) -> NeighboringRelation {
        self.curator.relation()
    }

    /// What differs between neighboring tables.
    pub fn unit(&self) -> &PrivacyUnit {
        self.curator.unit()
    }

    /// The number of records n, if it is public.
    pub fn public_records(&self) -> Option<u64> {
        self.curator.records()
    }

    /// The remaining budget.
    pub fn remaining(&self) -> Rho {
        self.curator.remaining()
    }

    /// The remaining ε of a pure-ε budget, or √(2ρ) of the remaining ρ.
    ///
    /// # Errors
    /// None in practice.
    pub fn remaining_epsilon(&self) -> Result<Ratio> {
        Ok(self.curator.remaining_epsilon()?)
    }

    /// The budget of all rounds together, spent or not: the limit minus the cost of everything before the first round.
    pub fn budget(&self) -> Rho {
        let entries = self.curator.ledger().entries().iter();
        let before = entries.take_while(|entry| entry.round == 0);
        let before = before.map(|entry| entry.rho.units()).sum::<u64>();
        Rho::from_units(self.curator.ledger().limit().units().saturating_sub(before))
    }

    /// The share of this run's budget that is spent once `cost` is spent too. This run's budget is the limit minus
    /// earlier costs.
    pub fn spent_share_with(&self, cost: Rho) -> f64 {
        let own = |rho: Rho| rho.units().saturating_sub(self.earlier.units());
        let spent = own(self.curator.spent()).saturating_add(cost.units());
        let limit = own(self.curator.ledger().limit()).max(1);
        Rho::from_units(spent).to_f64() / Rho::from_units(limit).to_f64()
    }

    /// The budget of each of `left` rounds, in two parts: `measure_share` of it for measuring, the rest for choosing.
    ///
    /// # Errors
    /// A part that is zero.
    pub fn even_share(&self, left: u32, measure_share: f64) -> Result<Shares> {
        Shares::of(self.remaining().split(1, left.into()).unwrap_or_default().0, measure_share)
    }

    /// `√(2/π) σ`: the expected absolute noise of a cell of a marginal measured at this cost, `σ² = Δ₂²/(2ρ)`.
    pub fn expected_noise(&self, rho: Rho) -> f64 {
        let squared_l2 = f64::from(MarginalSensitivity::of(self.relation()).squared_l2());
        let variance = squared_l2 / (2.0 * rho.to_f64());
        (2.0 * variance / std::f64::consts::PI).sqrt()
    }

    /// The cost of the last access.
    pub fn last_cost(&self) -> Rho {
        self.curator.ledger().entries().last().map_or(Rho::ZERO, |entry| entry.rho)
    }

    /// The measurements, in order, including those of the round in progress.
    pub fn measurements(&self) -> &[Measurement] {
        &self.progress.measurements
    }

    /// The rounds that have ended.
    pub fn rounds(&self) -> &[RoundRecord] {
        &self.progress.rounds
    }

    /// The first round that has not ended, counted from 1.
    pub fn next_round(&self) -> u32 {
        self.progress.rounds.last().map_or(1, |record| record.round + 1)
    }

    /// The exact marginals on the given cliques, sealed. They cost nothing, as none of them is released.
    ///
    /// # Errors
    /// A clique outside the domain, or a failure to count.
    pub fn marginals(&self, cliques: &[Clique]) -> Result<SealedMarginals> {
        Ok(self.curator.marginals(cliques)?)
    }

    /// The exact marginals of tallies of the records, sealed.
    ///
    /// # Errors
    /// As [`Curator::tallied_marginals`].
    pub fn tallied_marginals(
        &self,
        tallies: &Tallies,
        cliques: &[Clique],
    ) -> Result<SealedMarginals> {
        Ok(self.curator.tallied_marginals(tallies, cliques)?)
    }

    /// Begins the next round, which has its own noise generator, and returns its number.
    ///
    /// # Errors
    /// A failure of the system's random generator.
    pub fn begin_round(&mut self) -> Result<u32> {
        self.check()?;
        let round = self.next_round();
        self.curator.begin_round(round)?;
        Ok(self.current_round().round)
    }

    /// The record of the round in progress.
    fn current_round(&mut self) -> &mut RoundRecord {
        let (round, at) = (self.next_round(), self.progress.measurements.len());
        let new = || RoundRecord { round, choices: Vec::new(), measurements: at..at, fit: None };
        self.current.get_or_insert_with(new)
    }

    /// Adds a marginal that costs nothing to the round: one of a public table, or one that was already released.
    pub fn take(&mut self, measurement: Measurement) {
        self.current_round();
        self.progress.measurements.push(measurement);
        let end = self.progress.measurements.len();
        self.current_round().measurements.end = end;
    }

    /// Ends the round: makes it and the ledger durable, then reports its measurements to the observer.
    ///
    /// # Errors
    /// A checkpoint or a ledger that cannot be written.
    pub fn end_round(&mut self) -> Result<()> {
        self.current_round();
        let Some(record) = self.current.take() else { return Ok(()) };
        let (round, measurements) = (record.round, record.measurements.clone());
        self.progress.rounds.push(record);
        self.curator.keep_step(&self.progress)?;
        let name = |attribute| self.domain.name(attribute).to_owned();
        let named = |own: &Measurement| own.clique.iter().map(name).collect::<Vec<_>>();
        let own = self.progress.measurements[measurements].iter().map(|own| (named(own), own));
        let tallied = self.progress.tallied.iter().filter(|tallied| tallied.round == round);
        let tallied = tallied.map(|tallied| (tallied.names.clone(), &tallied.measurement));
        for (clique, measurement) in own.chain(tallied) {
            self.observer.event(&Event::Measured {
                round,
                rounds: self.planned.max(round),
                clique,
                provenance: measurement.provenance.clone(),
                stddev: measurement.stddev,
                spent: self.curator.spent(),
                limit: self.curator.ledger().limit(),
            });
        }
        Ok(())
    }

    /// Measures the given marginals, one per round, each at an equal part of the budget. Rounds that are already
    /// durable are not repeated.
    ///
    /// `cliques`: must be the first measurements of the run.
    ///
    /// # Errors
    /// As [`measure`](Self::measure) and [`end_round`](Self::end_round); a part that is zero.
    pub fn measure_each(&mut self, cliques: &[Clique], budget: Rho) -> Result<()> {
        let all = cliques.len() as u64;
        let up_to = |i: u64| budget.split(i, all).unwrap_or_default().0;
        for (i, clique) in (0_u64..).zip(cliques).skip(self.rounds().len()) {
            let rho = up_to(i + 1).checked_sub(up_to(i)).unwrap_or_default();
            self.begin_round()?;
            self.measure(clique, rho)?;
            self.end_round()?;
        }
        Ok(())
    }

    /// The model state at the end of the resumed rounds; `None` for a new run.
    ///
    /// # Errors
    /// A state of another kind or version.
    pub fn restored<S: ModelState>(&self) -> Result<Option<S>> {
        self.progress.state().map_err(|fault| self.curator.refused(fault).into())
    }

    /// Stores the model state with the next round that ends. Does nothing without a checkpoint.
    ///
    /// # Errors
    /// A state that JSON cannot represent.
    pub fn keep<S: ModelState>(&mut self, state: &S) -> Result<()> {
        if self.curator.has_checkpoint() { self.progress.keep(state) } else { Ok(()) }
    }

    /// An error for a checkpoint that does not match this run. `why` must not contain numbers computed from private
    /// rows.
    pub fn refused(&self, why: &'static str) -> Error {
        self.curator.refused(CheckpointFault::Inconsistent(why)).into()
    }

    /// The release of the finished run.
    pub fn finish(mut self, model: impl Into<Model>, certificate: Option<Certificate>) -> Release {
        if let Some(certificate) = certificate {
            self.tell(&Event::Certified(certificate));
        }
        Release {
            mechanism: self.mechanism,
            model: model.into(),
            workload: self.task.workload.clone(),
            certificate,
            measurements: self.progress.measurements,
            compositions: self.progress.tallied,
            answered: None,
            public_records: self.curator.records(),
            rounds: self.progress.rounds,
            starts_from: Vec::new(),
            public_trust: None,
            population: None,
            errors: None,
            ledger: self.curator.ledger().clone(),
            unlikely: Vec::new(),
            conditional_on: self.curator.conditional_on().to_vec(),
            relation: self.curator.relation(),
            is_private: self.curator.is_private(),
        }
    }
}

/// The two parts of a round's budget, both above 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shares {
    /// For measuring.
    pub measure: Rho,
    /// For choosing.
    pub select: Rho,
}

impl Shares {
    /// Splits a round's budget; measuring gets the share `measure_share`.
    ///
    /// # Errors
    /// A part that is zero, or a share outside [0, 1].
    pub fn of(round: Rho, measure_share: f64) -> Result<Self> {
        let (measure, select) = round.fraction(measure_share)?;
        if measure.is_zero() || select.is_zero() {
            let expected =
                "a positive rho for each step of each round: more budget or fewer rounds";
            return Err(Error::invalid_budget("budget of a round", round, expected));
        }
        Ok(Self { measure, select })
    }

    /// The sum of both parts.
    pub fn sum(self) -> Rho {
        Rho::from_units(self.measure.units().saturating_add(self.select.units()))
    }
}
