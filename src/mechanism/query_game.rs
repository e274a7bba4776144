//! The rounds that FEM and DualQuery share: choose signed queries against the records so far, and let an oracle answer
//! with records that satisfy them.
//!
//! Both release records and measure nothing. The choices alone touch the private table, and pay for it; the records
//! follow from the choices and from public randomness, so that a resumed run finds them again.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use serde::{Deserialize, Serialize};

use crate::data::Dataset;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::mechanism::best_response::{BestResponse, Oracle, Response};
use crate::mechanism::{
    FitRecord, Mechanism, ModelState, Parameter, PlanFor, Release, Run, RunPlan, Task,
};
use crate::model::WeightedSupport;
use crate::observe::Observer;
use crate::privacy::{Curator, Rho, Scores, SealedMarginals, Selection};
use crate::settings::Form;

/// Maximum number of queries of a workload. Their counts, and two scores for each, are in memory: about 2 GiB.
const MAX_QUERIES: u64 = 1 << 25;
/// Most records that a round asks the oracle for, or queries that it draws.
pub(super) const MAX_SAMPLES: u32 = 10_000;

/// The records of a round, one code for each attribute.
pub(super) type Batch = Vec<Vec<u32>>;

/// What a round chooses, and for how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stake {
    /// Nothing.
    Nothing,
    /// This number of queries, uniformly: that costs nothing, as no record is looked at.
    Uniform(u32),
    /// One query by its score.
    One(Rho),
    /// This number of queries by their scores, drawn independently.
    Draws(u32, Rho),
}

/// A mechanism of this kind: the parts in which FEM and DualQuery differ.
pub(super) trait Game: Mechanism + Serialize + Sized {
    /// How records are found.
    fn oracle(&self) -> Oracle;

    /// The number of rounds T. `budget`: that of all rounds. `total`: the number of records, or an estimate.
    fn rounds(&self, budget: Rho, total: f64) -> u32;

    /// What round `round` of `rounds` chooses. `budget`: that of all rounds. `left`: what is left of it.
    fn stake(&self, round: u32, rounds: u32, budget: Rho, left: Rho) -> Stake;

    /// The earlier records that a round scores queries against.
    fn judged<'b>(&self, batches: &'b [Batch]) -> &'b [Batch];

    /// The records that answer the chosen queries.
    ///
    /// # Errors
    /// As [`BestResponse::best`].
    fn respond(
        &self,
        oracle: &mut BestResponse,
        round: u32,
        rounds: u32,
        chosen: &[(&Clique, SignedQuery)],
    ) -> Result<Vec<Response>>;

    /// The records that are released.
    fn released<'b>(&self, batches: &'b [Batch]) -> &'b [Batch] {
        batches
    }

    /// Runs the rounds.
    ///
    /// # Errors
    /// Parameters out of range, a workload with too many queries, a domain too large for the oracle, a checkpoint that
    /// is refused or cannot be written, or a budget too small for the rounds.
    fn play(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let queries = SignedQueries::new(curator.domain(), task)?;
        let mut oracle = BestResponse::new(curator.domain(), self.oracle(), &queries.cliques)?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let total = run.total()?;
        let (budget, domain) = (run.budget(), run.domain().clone());
        let rounds = self.rounds(budget, total);
        let mut choices = Choices::of(&run, queries.candidates())?;
        let mut batches: Vec<Batch> = Vec::with_capacity(rounds as usize);
        let mut resumed = None;
        for (round, chosen) in (1..).zip(&choices.0) {
            run.check()?;
            let found = self.respond(&mut oracle, round, rounds, &queries.at_all(chosen))?;
            resumed = Some(record(found, &domain, &mut batches));
        }
        let answers = run.marginals(&queries.cliques)?;
        run.start(rounds, queries.cliques.len());
        resumed.into_iter().for_each(|record| run.fitted(record));
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            let stake = self.stake(round, rounds, budget, run.remaining());
            let against = self.judged(&batches);
            let chosen = queries.choose(&mut run, stake, against, total, &answers)?;
            choices.0.push(chosen.clone());
            run.keep(&choices)?;
            run.end_round()?;
            let found = self.respond(&mut oracle, round, rounds, &queries.at_all(&chosen))?;
            run.fitted(record(found, &domain, &mut batches));
        }
        let rows: Vec<&Vec<u32>> = self.released(&batches).iter().flatten().collect();
        let rows = Dataset::from_rows(domain, &rows)?;
        let weights = vec![1.0; rows.records()];
        Ok(run.finish(WeightedSupport::new(&rows, weights, total)?, None))
    }

    /// The plan: nothing is measured.
    fn plan_of(&self, about: &PlanFor<'_>) -> RunPlan {
        let rounds = self.rounds(about.after_total(), about.records as f64);
        RunPlan { rounds, ..RunPlan::default() }.remarked(
            "Nothing is measured: the budget pays for the choice of queries, which the records released satisfy.",
        )
    }
}

/// Adds the records found in a round to those of earlier ones.
fn record(found: Vec<Response>, domain: &Domain, batches: &mut Vec<Batch>) -> FitRecord {
    let proved = found.iter().filter(|response| response.proved).count();
    batches.push(found.into_iter().map(|response| response.record).collect());
    let records: usize = batches.iter().map(Vec::len).sum();
    let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    FitRecord::BestResponses {
        records: count(batches.last().map_or(0, Vec::len)),
        proved: count(proved),
        model_mib: (records * domain.len() * size_of::<u32>()) as f64 / f64::from(1 << 20),
    }
}

/// A generator of public randomness for a round, so that a resumed run repeats it.
pub(super) fn public_generator(round: u32) -> ChaCha20Rng {
    ChaCha20Rng::seed_from_u64(u64::from(round))
}

/// Refuses a number of samples out of range.
pub(super) fn check_samples(samples: u32) -> Result<()> {
    if (1..=MAX_SAMPLES).contains(&samples) {
        return Ok(());
    }
    Err(Error::invalid_parameter("samples", samples, "from 1 to 10,000"))
}

/// The chosen candidates of each round so far, which are paid for.
#[derive(Debug, Serialize, Deserialize)]
struct Choices(Vec<Vec<usize>>);

impl ModelState for Choices {
    const KIND: &'static str = "chosen signed queries";
    const VERSION: u32 = 1;
}

impl Choices {
    /// Those of a checkpoint, which must match the choices that its ledger lists; none for a new run.
    fn of(run: &Run<'_, '_>, candidates: usize) -> Result<Self> {
        let rounds = run.rounds();
        let own = run.restored::<Self>()?.unwrap_or(Self(Vec::new()));
        let matches = own.0.len() == rounds.len()
            && own.0.iter().zip(rounds).all(|(chosen, record)| {
                let is_paid = record.choices.len() == chosen.len();
                let is_free = record.choices.is_empty();
                let among = record.choices.iter().all(|among| *among == candidates as u64);
                (is_paid || is_free) && among && chosen.iter().all(|choice| *choice < candidates)
            });
        if matches { Ok(own) } else { Err(run.refused("rounds and chosen queries do not match")) }
    }
}

/// A query: the records in one cell of a marginal, or all others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SignedQuery {
    /// Row-major over its clique.
    pub cell: usize,
    /// Whether it asks for the others.
    pub is_negated: bool,
}

/// The queries of a workload in both signs. Candidate `2i` is query i, candidate `2i + 1` its negation: a choice
/// includes the sign, which is not read off the records afterwards.
struct SignedQueries {
    cliques: Vec<Clique>,
    /// The first query of each clique, and the number of all.
    starts: Vec<usize>,
}

impl SignedQueries {
    fn new(domain: &Domain, task: &Task<'_>) -> Result<Self> {
        let cliques = task.workload.cliques();
        let (mut starts, mut sum) = (vec![0], 0_u64);
        for clique in &cliques {
            sum = sum.saturating_add(domain.cells(clique).unwrap_or(u64::MAX));
            if sum > MAX_QUERIES {
                let what = format!("the queries of a workload of {} cliques", cliques.len());
                let unit = "cells of all cliques together";
                return Err(Error::too_large(what, None, MAX_QUERIES as f64, unit));
            }
            starts.push(usize::try_from(sum).unwrap_or(usize::MAX));
        }
        Ok(Self { cliques, starts })
    }

    /// Number of candidates: twice that of queries.
    fn candidates(&self) -> usize {
        2 * self.starts.last().copied().unwrap_or(0)
    }

    /// A candidate, with its clique.
    fn at(&self, candidate: usize) -> (&Clique, SignedQuery) {
        let query = candidate / 2;
        let clique = self.starts.partition_point(|start| *start <= query) - 1;
        let cell = query - self.starts[clique];
        (&self.cliques[clique], SignedQuery { cell, is_negated: candidate % 2 == 1 })
    }

    fn at_all(&self, candidates: &[usize]) -> Vec<(&Clique, SignedQuery)> {
        candidates.iter().map(|candidate| self.at(*candidate)).collect()
    }

    /// Chooses candidates by their scores against some records.
    fn choose(
        &self,
        run: &mut Run<'_, '_>,
        stake: Stake,
        against: &[Batch],
        total: f64,
        answers: &SealedMarginals,
    ) -> Result<Vec<usize>> {
        let (draws, rho) = match stake {
            Stake::Nothing => return Ok(Vec::new()),
            Stake::Uniform(draws) => {
                let mut rng = public_generator(run.next_round());
                // Other numbers than those of the records.
                rng.set_stream(1);
                return Ok((0..draws).map(|_| rng.random_range(0..self.candidates())).collect());
            }
            Stake::One(rho) => (None, rho),
            Stake::Draws(draws, rho) => (Some(draws), rho),
        };
        let scores = self.scores(run.domain(), against, total, answers)?;
        run.scored(self.candidates(), self.cliques.len(), 0);
        let purpose = "choose a query with its sign";
        if let Some(draws) = draws {
            return run.select_times(scores, rho, draws, purpose);
        }
        Ok(vec![run.select(Selection::Exponential, scores, rho, purpose)?])
    }

    /// `count_q(D) − n q(S)` in counts for every query and its negative for the negated query, where S are some
    /// records, equally weighted.
    fn scores(
        &self,
        domain: &Domain,
        against: &[Batch],
        total: f64,
        answers: &SealedMarginals,
    ) -> Result<Scores> {
        let rows: Vec<&Vec<u32>> = against.iter().flatten().collect();
        let rows = Dataset::from_rows(domain.clone(), &rows)?;
        let weights = vec![total / (rows.records().max(1) as f64); rows.records()];
        let tables = rows.weighted_marginals(&weights, &self.cliques)?;
        Ok(answers.signed_cell_errors(&tables)?)
    }
}

/// The parameter that both mechanisms share.
pub(super) const SAMPLES: Parameter = Parameter {
    name: "samples",
    value_name: "S",
    help: "Records per round (fem), or queries drawn per round (dual-query)",
    form: Form::Count,
    unset: "a fifth of the rounds, at least 10",
};

#[cfg(test)]
mod tests;
