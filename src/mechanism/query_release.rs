//! The rounds that MWEM, PMW^Pub, PEP, PEP^Pub, GEM and RAP share: select queries, measure them, learn from the
//! answers.

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::Measurement;
use crate::mechanism::{
    FitRecord, Mechanism, Parameter, PlanFor, Release, Run, RunPlan, Shares, Task, parameters,
};
use crate::model::Model;
use crate::observe::{Checks, Observer};
use crate::privacy::{Curator, MarginalSensitivity, Scores, SealedMarginals, Selection};
use crate::settings::Form;

/// Maximum number of queries of a workload. Their private counts, model counts and scores are in memory: about 2 GiB.
const MAX_QUERIES: u64 = 1 << 26;
/// Most queries of a round.
const MOST_PER_ROUND: u32 = 10_000;

/// The queries that a round selects and measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Queries {
    /// One cell of one marginal.
    #[default]
    Single,
    /// All cells of the marginal that contains the worst cell (the marginal trick of Liu, Vietri & Wu 2021).
    Marginals,
}

/// The distribution that is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Iterate {
    /// The distribution after the last round.
    #[default]
    Last,
    /// The mean of the distributions after each round.
    Average,
}

/// Whether a round may select a query that an earlier round measured. The queries of one round are distinct either way
/// (if there are as many), as they are selected against the same model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Repeats {
    /// It may: every query of the workload is a candidate in every round.
    Allowed,
    /// Not while a query is left that no round has measured.
    Excluded,
}

/// The parameters that MWEM, PMW^Pub, PEP, PEP^Pub, GEM and RAP share.
///
/// PEP, PEP^Pub, GEM and RAP select no query again while others are left, as in their authors' code. MWEM and PMW^Pub
/// have a parameter for it, [`Repeats`].
///
/// Each of the `T` rounds costs `ρ/T`, of which each of its k queries gets an equal part, and `measure_share` of that
/// pays for the noise. For k = 1, a share of 1/2 is the papers' `ε₀ = √(2ρ/(2T))` with permute-and-flip at ε₀; a share
/// of `(1-α)² / (α² + (1-α)²)` is selection by the exponential mechanism at `2αε₀` and noise of `1/(n(1-α)ε₀)`, with
/// `ε₀ = √(2ρ/(T(α² + (1-α)²)))`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct QueryRelease {
    /// T, at least 1.
    pub rounds: u32,
    /// The share of a round's budget for the measurement; in (0, 1).
    pub measure_share: f64,
    /// How a query is selected by its score.
    pub selection: Selection,
    /// k, the number of queries that a round selects and measures, all against the same model; at least 1.
    pub per_round: u32,
    /// What is selected and measured.
    pub queries: Queries,
    /// What is released.
    pub iterate: Iterate,
}

impl QueryRelease {
    /// Parameters with the given rounds and queries. Each step gets half of a round's budget, the exponential mechanism
    /// selects, and the last iterate is released.
    pub const fn new(rounds: u32, queries: Queries) -> Self {
        Self {
            rounds,
            measure_share: 0.5,
            selection: Selection::Exponential,
            per_round: 1,
            queries,
            iterate: Iterate::Last,
        }
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(Some(self.rounds))?;
        if !(1..=MOST_PER_ROUND).contains(&self.per_round) {
            return Err(Error::invalid_parameter("per round", self.per_round, "from 1 to 10,000"));
        }
        parameters::check_share("measure share", self.measure_share)
    }
}

/// A mechanism of these rounds.
pub(super) trait QueryMechanism: Serialize {
    /// The mechanism's name.
    const NAME: &'static str;

    /// The parameters of the rounds.
    fn release(&self) -> &QueryRelease;

    /// Checks the other parameters.
    fn check_model(&self) -> Result<()> {
        Ok(())
    }

    /// Whether a round may select what an earlier one measured.
    fn repeats(&self) -> Repeats {
        Repeats::Excluded
    }

    /// Whether the model starts from the public tables.
    const STARTS_FROM_PUBLIC: bool = false;

    /// The model of the records that learns from the answers.
    fn model<'m>(
        &'m self,
        domain: &Domain,
        task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m, Self>>;
}

impl<M: QueryMechanism> Mechanism for M {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn check(&self) -> Result<()> {
        self.check_model()?;
        self.release().check()
    }

    /// Rounds that share the budget evenly and measure one query or one marginal each.
    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let QueryRelease { rounds, per_round, measure_share, queries, .. } = *self.release();
        let measurements = rounds.max(1).saturating_mul(per_round.max(1));
        let budget = about.after_total().split(1, measurements.into());
        let measure = Shares::of(budget.unwrap_or_default().0, measure_share)?.measure;
        let (what, sensitivity) = match queries {
            Queries::Single => ("queries", MarginalSensitivity::one_cell(about.relation)),
            Queries::Marginals => ("marginals", MarginalSensitivity::of(about.relation)),
        };
        let stddev = sensitivity.l2() / (2.0 * measure.to_f64()).sqrt();
        let steps = vec![about.step_of(what, measurements as usize, stddev)];
        Ok(RunPlan { rounds, steps, ..RunPlan::default() })
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let QueryRelease { rounds, measure_share, selection, per_round, queries, iterate } =
            *self.release();
        let mut model = self.model(curator.domain(), task)?;
        let mut candidates = Candidates::new(curator.domain(), task, queries, self.repeats())?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let total = run.total()?;
        let resumed = model.begin(&mut run, total)?;
        run.measurements().iter().for_each(|measurement| candidates.take_away(measurement));
        let answers = run.marginals(&candidates.cliques)?;
        run.start(rounds, candidates.cliques.len());
        resumed.into_iter().for_each(|record| run.fitted(record));
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            candidates.begin_round();
            let tables = model.answers(&candidates.cliques)?;
            model.keep(&mut run)?;
            let start = run.measurements().len();
            for earlier in 0..per_round {
                let left = (rounds - round + 1) * per_round - earlier;
                let shares = run.even_share(left, measure_share)?;
                let scores = candidates.scores(&tables, &answers)?;
                run.scored(candidates.left(), candidates.cliques.len(), 0);
                let choice = run.select(selection, scores, shares.select, "choose a query")?;
                let (clique, cell) = candidates.at(choice);
                let clique = &candidates.cliques[clique];
                match queries {
                    Queries::Single => run.measure_cell(clique, cell, shares.measure)?,
                    Queries::Marginals => run.measure(clique, shares.measure)?,
                }
                run.measurements().last().into_iter().for_each(|last| candidates.take_away(last));
            }
            run.end_round()?;
            let record = model.learn(round, &run.measurements()[start..], run.checks())?;
            run.fitted(record);
        }
        let release = run.finish(model.finish(iterate)?, None);
        Ok(if Self::STARTS_FROM_PUBLIC { release.starting_from(task.public) } else { release })
    }
}

/// What rounds ask of a model of the records.
pub(super) trait Approximation {
    /// Begins a run over `total` records, or learns again what a resumed one has measured. Returns the record of the
    /// last round.
    fn begin(&mut self, run: &mut Run<'_, '_>, total: f64) -> Result<Option<FitRecord>>;

    /// Its marginals, in counts, row-major.
    fn answers(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>>;

    /// Takes over the measurements of a round.
    fn learn(&mut self, round: u32, new: &[Measurement], checks: &dyn Checks) -> Result<FitRecord>;

    /// Stores what cannot be learned again cheaply, before a round becomes durable.
    fn keep(&self, run: &mut Run<'_, '_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// The model to release.
    fn finish(self, iterate: Iterate) -> Result<Model>;
}

/// The queries that a round selects from: those of the workload that are not taken, or all queries if none is left.
///
/// Which are taken depends only on earlier choices, which are released.
struct Candidates {
    cliques: Vec<Clique>,
    queries: Queries,
    repeats: Repeats,
    /// Number of queries of each clique, or 1 if whole marginals are selected.
    sizes: Vec<usize>,
    /// The queries measured in this round, and in earlier ones if these are not to be repeated, in order.
    taken: Vec<Vec<usize>>,
}

impl Candidates {
    fn new(domain: &Domain, task: &Task<'_>, queries: Queries, repeats: Repeats) -> Result<Self> {
        let cliques = task.workload.cliques();
        let (mut sizes, mut sum) = (Vec::with_capacity(cliques.len()), 0_u64);
        for clique in &cliques {
            let cells = domain.cells(clique).unwrap_or(u64::MAX);
            sum = sum.saturating_add(cells);
            if sum > MAX_QUERIES {
                return Err(Error::too_large(
                    format!("the queries of a workload of {} cliques", cliques.len()),
                    None,
                    MAX_QUERIES as f64,
                    "cells of all cliques together",
                ));
            }
            sizes.push(match queries {
                Queries::Single => usize::try_from(cells).unwrap_or(usize::MAX),
                Queries::Marginals => 1,
            });
        }
        let taken = vec![Vec::new(); cliques.len()];
        Ok(Self { cliques, queries, repeats, sizes, taken })
    }

    /// Makes the queries of earlier rounds candidates again, if they may be repeated.
    fn begin_round(&mut self) {
        match self.repeats {
            Repeats::Allowed => self.taken.fill(Vec::new()),
            Repeats::Excluded => {}
        }
    }

    /// Number of candidates.
    fn left(&self) -> usize {
        self.left_of_each().sum()
    }

    fn left_of_each(&self) -> impl Iterator<Item = usize> {
        self.sizes.iter().zip(&self.taken).map(|(size, taken)| size - taken.len())
    }

    /// Removes a measured query or marginal. When no candidate is left, all become candidates again.
    fn take_away(&mut self, measurement: &Measurement) {
        let clique = self.cliques.iter().position(|clique| *clique == measurement.clique);
        let Some(clique) = clique else { return };
        let query = measurement.cell.unwrap_or(0);
        if let Err(place) = self.taken[clique].binary_search(&query) {
            self.taken[clique].insert(place, query);
        }
        if self.left() == 0 {
            self.taken.fill(Vec::new());
        }
    }

    /// The clique of a candidate, and its query within the clique.
    fn at(&self, mut choice: usize) -> (usize, usize) {
        for (clique, left) in self.left_of_each().enumerate() {
            if choice < left {
                let taken = &self.taken[clique];
                let query = taken.iter().fold(choice, |query, t| query + usize::from(*t <= query));
                return (clique, query);
            }
            choice -= left;
        }
        (0, 0)
    }

    /// `|n q(A) - n q(D)|` in counts for every candidate; for a marginal, the maximum over its cells. `tables`: `n
    /// q(A)`, `answers`: `n q(D)`.
    fn scores(&self, tables: &[Vec<f64>], answers: &SealedMarginals) -> Result<Scores> {
        Ok(match self.queries {
            Queries::Single => answers.cell_errors(tables, &self.taken)?,
            Queries::Marginals => answers.worst_cell_errors(tables, &self.taken)?,
        })
    }
}

/// The parameters of all query-release mechanisms.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "selection",
        value_name: "HOW",
        help: "How a round chooses a query",
        form: Form::Choice(&[
            ("exponential", "By a weight exponential in the score; (epsilon^2)/8 of rho"),
            ("permute-and-flip", "Each in random order, accepted by a coin; (epsilon^2)/2 of rho"),
        ]),
        unset: "",
    },
    Parameter {
        name: "per-round",
        value_name: "K",
        help: "Queries or marginals that a round chooses and measures",
        form: Form::Count,
        unset: "",
    },
    Parameter {
        name: "queries",
        value_name: "WHAT",
        help: "What a round chooses and measures",
        form: Form::Choice(&[
            ("single", "One cell of one marginal"),
            ("marginals", "The whole marginal of the worst cell"),
        ]),
        unset: "",
    },
    Parameter {
        name: "iterate",
        value_name: "WHICH",
        help: "Which model is released",
        form: Form::Choice(&[
            ("last", "The one after the last round"),
            (
                "average",
                "The mean of those after each round; gem, rap: of the last half, later ones more",
            ),
        ]),
        unset: "",
    },
];
