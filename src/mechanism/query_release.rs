//! The rounds that MWEM, PMW^Pub, PEP and PEP^Pub share: select a query, measure it, reweight a support.

use rayon::prelude::*;

use crate::data::PublicData;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::checkpoint::{Checkpoint, CheckpointFolder, Identity};
use crate::mechanism::past_queries::{PastQueries, Weights};
use crate::mechanism::rounds::{positive, records};
use crate::mechanism::{Release, Task};
use crate::model::WeightedSupport;
use crate::observe::{Event, Observer};
use crate::privacy::{Curator, Rho, ScoreSensitivity, Selection, Sensitive};

/// Most queries of a workload: their private counts, model counts and scores are held, some 2 GiB.
const MAX_QUERIES: u64 = 1 << 26;

/// What a round selects and measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queries {
    /// One cell of one marginal.
    #[default]
    Single,
    /// The marginal of the worst cell, with all of its cells (the marginal trick of Liu, Vietri & Wu 2021).
    Marginals,
}

/// Which distribution is released.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Iterate {
    /// That of the last round.
    #[default]
    Last,
    /// The mean of those after each round.
    Average,
}

/// What MWEM, PMW^Pub, PEP and PEP^Pub have in common.
///
/// As in the authors' code, what was measured is not selected again as long as there is anything else.
///
/// A round of `T` costs `ρ/T`, of which `measure_share` pays for the noise. A share of 1/2 is the papers' `ε₀ = √(2ρ/(2T))`
/// with permute-and-flip at ε₀; a share of `(1-α)² / (α² + (1-α)²)` is selection by the exponential mechanism at `2αε₀` and
/// noise of `1/(n(1-α)ε₀)`, with `ε₀ = √(2ρ/(T(α² + (1-α)²)))`.
#[derive(Clone, Debug)]
pub struct QueryRelease {
    /// T, at least 1.
    pub rounds: u32,
    /// The share of a round's budget that the measurement gets; in (0, 1).
    pub measure_share: f64,
    /// How a query is chosen by its score.
    pub selection: Selection,
    /// What is chosen and measured.
    pub queries: Queries,
    /// What is released.
    pub iterate: Iterate,
    /// Where to keep the state after every round, so that a killed run can go on.
    pub checkpoint: Option<CheckpointFolder>,
}

impl QueryRelease {
    /// So many rounds of such queries; half of a round's budget for each step, the exponential mechanism, and the last
    /// iterate.
    pub const fn new(rounds: u32, queries: Queries) -> Self {
        Self {
            rounds,
            measure_share: 0.5,
            selection: Selection::Exponential,
            queries,
            iterate: Iterate::Last,
            checkpoint: None,
        }
    }

    fn check(&self) -> Result<()> {
        if self.rounds == 0 {
            return Err(Error::invalid_parameter("rounds", 0, "at least 1"));
        }
        if !(self.measure_share > 0.0 && self.measure_share < 1.0) {
            let found = self.measure_share;
            return Err(Error::invalid_parameter("measure share", found, "above 0 and below 1"));
        }
        Ok(())
    }

    /// Runs the rounds by an update rule.
    ///
    /// # Errors
    /// Parameters out of range, a workload of too many queries, a checkpoint that is refused or cannot be written, or a
    /// budget too small for the rounds.
    pub(super) fn run(
        &self,
        update: &dyn Update,
        over: Over,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let support = over.support(curator.domain(), task.public)?;
        let mut candidates = Candidates::new(curator.domain(), task, self.queries)?;
        let mut state = Checkpoint::open(&self.identity(update), curator, task)?;
        let total = records(curator, &mut state)?;
        let mut fit = Fit::new(update, support, total);
        for (record, measurement) in state.rounds.iter_mut().zip(&state.measurements) {
            (record.loss, record.oracle_calls) = fit.update(record.round, measurement)?;
            record.model_mib = fit.support.size_mib();
            candidates.take_away(measurement);
        }
        let answers = curator.marginals(&candidates.cliques)?;
        observer.event(&Event::Started {
            mechanism: update.name(),
            rounds: self.rounds,
            first_round: state.next_round(),
            candidates: candidates.cliques.len(),
            limit: curator.ledger().limit(),
        });
        while state.next_round() <= self.rounds {
            let round = state.next_round();
            curator.begin_round(round)?;
            let (measure, select) = self.shares(round, curator.remaining())?;

            let scores = candidates.scores(&fit, &answers)?;
            let exact = candidates.cliques.len();
            let among = candidates.left();
            observer.event(&Event::Scored { round, candidates: among, exact, sampled: 0 });
            let sensitivity = ScoreSensitivity::cell_error(curator.relation());
            let choice =
                curator.select(self.selection, scores, sensitivity, select, "choose a query")?;
            let measurement = candidates.measure(choice, curator, measure)?;
            candidates.take_away(&measurement);

            let mut event = Event::Measured {
                round,
                rounds: self.rounds,
                clique: measurement
                    .clique
                    .iter()
                    .map(|a| curator.domain().name(a).into())
                    .collect(),
                provenance: Provenance::Private,
                stddev: measurement.stddev,
                spent: curator.spent(),
                limit: curator.ledger().limit(),
            };
            state.record(round, among, measurement, curator.ledger())?;
            observer.event(&event);
            if let (Some(record), Some(last)) = (state.rounds.last_mut(), state.measurements.last())
            {
                (record.loss, record.oracle_calls) = fit.update(round, last)?;
                record.model_mib = fit.support.size_mib();
                let (loss, oracle_calls, model_mib) =
                    (record.loss, record.oracle_calls, record.model_mib);
                event = Event::Fitted { round, loss, oracle_calls, model_mib };
                observer.event(&event);
            }
        }
        Ok(Release {
            mechanism: update.name(),
            model: fit.finish(self.iterate)?.into(),
            certificate: None,
            measurements: state.measurements,
            rounds: state.rounds,
            ledger: curator.ledger().clone(),
            relation: curator.relation(),
            is_private: curator.is_private(),
        })
    }

    /// What a round may cost for measuring and for choosing: an even part of what is left.
    fn shares(&self, round: u32, remaining: Rho) -> Result<(Rho, Rho)> {
        let left = self.rounds - round + 1;
        let budget = remaining.split(1, left.into()).unwrap_or_default().0;
        positive(budget.fraction(self.measure_share)?, budget)
    }

    fn identity(&self, update: &dyn Update) -> Identity<'_> {
        let Self { rounds, measure_share, selection, queries, iterate, checkpoint } = self;
        let parameters = format!(
            "{rounds} {} {selection:?} {queries:?} {iterate:?} {}",
            measure_share.to_bits(),
            update.parameters()
        );
        Identity {
            name: update.name(),
            parameters,
            measures_total: true,
            checkpoint: checkpoint.as_ref(),
        }
    }
}

/// The records that are reweighted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Over {
    /// All that the domain allows, equally likely at first.
    AllCells,
    /// Those of all public tables, as frequent at first as there.
    PublicRecords,
}

impl Over {
    /// The records with their first weights; they stand for one record until n is known.
    fn support(self, domain: &Domain, public: &[PublicData]) -> Result<WeightedSupport> {
        match self {
            Self::AllCells => WeightedSupport::all_cells(domain, 1.0),
            Self::PublicRecords => WeightedSupport::from_public(domain, public, 1.0),
        }
    }
}

/// How the answers so far change the weights.
pub(super) trait Update {
    /// The mechanism's name.
    fn name(&self) -> &'static str;

    /// Parameters of the rule, as text.
    fn parameters(&self) -> String;

    /// Reweights in a round by the queries of all measurements so far, the last of which is the round's own. Returns the
    /// number of queries it reweighted by.
    fn reweight(&self, round: u32, past: &PastQueries, weights: &mut Weights) -> u32;
}

/// The distribution after some rounds.
struct Fit<'u> {
    update: &'u dyn Update,
    support: WeightedSupport,
    total: f64,
    weights: Weights,
    past: PastQueries,
    /// Sum of the distributions after each round, and their number.
    iterates: (Vec<f64>, u32),
}

impl<'u> Fit<'u> {
    fn new(update: &'u dyn Update, support: WeightedSupport, total: f64) -> Self {
        let weights = Weights::of(&support);
        let iterates = (vec![0.0; support.size()], 0);
        Self { update, support, total, weights, past: PastQueries::default(), iterates }
    }

    /// Takes in a round's measurement: the largest error left on the answers, and the number of queries reweighted by.
    fn update(&mut self, round: u32, measurement: &Measurement) -> Result<(f64, u32)> {
        self.past.push(&self.support, measurement, self.total)?;
        let steps = self.update.reweight(round, &self.past, &mut self.weights);
        self.weights.renormalize();
        let probabilities = self.weights.times(1.0);
        self.iterates.0.iter_mut().zip(probabilities).for_each(|(sum, p)| *sum += p);
        self.iterates.1 += 1;
        Ok((self.past.largest_error(&self.weights), steps))
    }

    fn finish(self, iterate: Iterate) -> Result<WeightedSupport> {
        let weights = match iterate {
            Iterate::Average if self.iterates.1 > 0 => self.iterates.0,
            Iterate::Last | Iterate::Average => self.weights.times(1.0),
        };
        self.support.reweighted(weights, self.total)
    }
}

/// The queries that a round selects among: those of the workload that no round has measured, as long as there are any.
struct Candidates {
    cliques: Vec<Clique>,
    queries: Queries,
    /// Queries of each clique, or 1 where marginals are chosen.
    sizes: Vec<usize>,
    /// Which of them were measured, in order.
    taken: Vec<Vec<usize>>,
}

impl Candidates {
    fn new(domain: &Domain, task: &Task<'_>, queries: Queries) -> Result<Self> {
        let cliques = task.workload.cliques();
        let (mut sizes, mut sum) = (Vec::with_capacity(cliques.len()), 0_u64);
        for clique in &cliques {
            let cells = domain.cells(clique).unwrap_or(u64::MAX);
            sum = sum.saturating_add(cells);
            if sum > MAX_QUERIES {
                return Err(Error::TooLarge {
                    what: format!("the queries of a workload of {} cliques", cliques.len()),
                    needed: "more cells".into(),
                    limit: format!("{MAX_QUERIES} cells of all cliques together"),
                });
            }
            sizes.push(match queries {
                Queries::Single => usize::try_from(cells).unwrap_or(usize::MAX),
                Queries::Marginals => 1,
            });
        }
        let taken = vec![Vec::new(); cliques.len()];
        Ok(Self { cliques, queries, sizes, taken })
    }

    /// Number of candidates.
    fn left(&self) -> usize {
        self.left_of_each().sum()
    }

    fn left_of_each(&self) -> impl Iterator<Item = usize> {
        self.sizes.iter().zip(&self.taken).map(|(size, taken)| size - taken.len())
    }

    /// Removes what was measured. When nothing is left, everything is a candidate again.
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

    /// A candidate: its clique, and its query there.
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

    /// `|n q(A) - n q(D)|` in counts for every candidate, the largest of them where it is a marginal.
    fn scores(
        &self,
        fit: &Fit<'_>,
        answers: &Sensitive<Vec<Vec<u32>>>,
    ) -> Result<Sensitive<Vec<f64>>> {
        let counts = fit.weights.times(fit.total);
        let tables = fit.support.rows().weighted_marginals(&counts, &self.cliques)?;
        Ok(answers.as_ref().map(|answers| {
            let mut scores = vec![0.0; self.left()];
            let mut parts = Vec::with_capacity(tables.len());
            let mut rest = scores.as_mut_slice();
            for left in self.left_of_each() {
                let (part, after) = rest.split_at_mut(left);
                parts.push(part);
                rest = after;
            }
            let tables = answers.par_iter().zip(&tables).zip(&self.taken);
            parts.into_par_iter().zip(tables).for_each(|(part, ((answers, table), taken))| {
                let pairs = answers.iter().zip(table);
                let errors = pairs.map(|(count, model)| (model - f64::from(*count)).abs());
                match self.queries {
                    Queries::Single => {
                        let mut taken = taken.iter().peekable();
                        let open = (0..).zip(errors);
                        let open = open.filter(|(query, _)| taken.next_if_eq(&query).is_none());
                        part.iter_mut().zip(open).for_each(|(place, (_, error))| *place = error);
                    }
                    Queries::Marginals => {
                        let worst = errors.fold(0.0, f64::max);
                        part.fill(worst);
                    }
                }
            });
            scores
        }))
    }

    /// Measures the chosen one of the candidates.
    fn measure(&self, choice: usize, curator: &mut Curator<'_>, rho: Rho) -> Result<Measurement> {
        let (clique, query) = self.at(choice);
        let clique = &self.cliques[clique];
        match self.queries {
            Queries::Single => Ok(curator.measure_cell(clique, query, rho)?.into()),
            Queries::Marginals => Ok(curator.measure(clique, rho)?.into()),
        }
    }
}
