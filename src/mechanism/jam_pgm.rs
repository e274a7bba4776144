//! JAM-PGM: joint adaptive measurements of a private and of public tables.

use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::adaptive::{self, l1_distance};
use crate::mechanism::checkpoint::{Checkpoint, CheckpointFolder};
use crate::mechanism::{Mechanism, Release, Task};
use crate::model::MarkovRandomField;
use crate::observe::{Event, Observer};
use crate::privacy::{Curator, MarginalSensitivity, Rho, ScoreSensitivity, Sensitive};

/// JAM-PGM (Fuentes, Mullins, `McKenna`, Miklau & Sheldon 2024, Algorithm 2).
///
/// Each of `rounds` rounds scores every small enough subset of a workload clique, once as a noisy measurement of the
/// private table and once as a free marginal of each public table that covers it; draws one of them by the exponential
/// mechanism; observes it; and fits a graphical model to everything observed. What a public choice does not spend is
/// left for later rounds. As in the paper, the weights of the workload's cliques play no part in the score.
///
/// Under [`crate::privacy::NeighboringRelation::AddRemoveOne`] the number of records is estimated once, for one
/// percent of the budget. Proofs: `docs/theory/sensitivities.md`, `docs/theory/run.md`.
#[derive(Clone, Debug)]
pub struct JamPgm {
    /// T, at least 1; `None`: [`JamPgm::default_rounds`].
    pub rounds: Option<u32>,
    /// α, the share of a round's budget that a private measurement gets; in (0, 1).
    pub measure_share: f64,
    /// Largest model, in MiB (8 bytes a cell of every maximal clique); reached only when the budget is spent.
    pub size_limit_mib: f64,
    /// Most oracle calls of a fit.
    pub iterations: u32,
    /// Where to keep the state after every round, so that a killed run can go on.
    pub checkpoint: Option<CheckpointFolder>,
}

impl Default for JamPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.8,
            size_limit_mib: 80.0,
            iterations: 1000,
            checkpoint: None,
        }
    }
}

/// Share of the budget that the number of records costs under add-remove-one: 1/100.
const TOTAL_SHARE: (u64, u64) = (1, 100);

impl JamPgm {
    /// Rounds for a table of `attributes` attributes where none are asked for: two an attribute, and at least 30. The
    /// paper's 30 rounds on the 15 attributes of Adult are two an attribute as well; see
    /// `docs/adr/0007-two-rounds-an-attribute.md`.
    pub fn default_rounds(attributes: usize) -> u32 {
        u32::try_from(attributes).unwrap_or(u32::MAX).saturating_mul(2).max(30)
    }

    fn check(&self) -> Result<()> {
        if self.rounds == Some(0) {
            return Err(Error::invalid_parameter("rounds", 0, "at least 1"));
        }
        if !(self.measure_share > 0.0 && self.measure_share < 1.0) {
            let found = self.measure_share;
            return Err(Error::invalid_parameter("measure share", found, "above 0 and below 1"));
        }
        if !(self.size_limit_mib > 0.0 && self.size_limit_mib.is_finite()) {
            let found = self.size_limit_mib;
            return Err(Error::invalid_parameter("size limit", found, "above 0 MiB"));
        }
        if self.iterations == 0 {
            return Err(Error::invalid_parameter("iterations", 0, "at least 1"));
        }
        Ok(())
    }
}

/// A clique and the table to take it from.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    clique: usize,
    source: Source,
}

#[derive(Clone, Copy, Debug)]
enum Source {
    Private,
    /// Position of the public table.
    Public(usize),
}

impl Mechanism for JamPgm {
    fn name(&self) -> &'static str {
        "jam-pgm"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let domain = curator.domain().clone();
        adaptive::check_size_limit(&domain, self.size_limit_mib)?;
        let rounds = self.rounds.unwrap_or_else(|| Self::default_rounds(domain.len()));
        let cliques = task.workload.downward_closure();
        let mut state = Checkpoint::open(self, curator, task)?;
        let total = records(curator, &mut state)?;
        let public = PublicAnswers::count(task.public, &cliques)?;
        let answers = curator.marginals(&cliques)?;
        let public_errors = public.errors(&answers, &cliques, total);
        observer.event(&Event::Started {
            mechanism: self.name(),
            rounds,
            first_round: state.next_round(),
            candidates: cliques.len(),
            limit: curator.ledger().limit(),
        });

        let mut model = self.first_model(curator, &mut state, total, observer)?;
        for round in state.next_round()..=rounds {
            curator.begin_round(round)?;
            // Budget of the round, and what each of its two steps may cost.
            let share = u64::from(rounds - round + 1);
            let round_budget = curator.remaining().split(1, share).unwrap_or_default().0;
            let (measure_budget, select_budget) = round_budget.fraction(self.measure_share)?;
            if measure_budget.is_zero() || select_budget.is_zero() {
                let expected =
                    "a positive rho for each step of each round: more budget or fewer rounds";
                return Err(Error::invalid_parameter("budget of a round", round_budget, expected));
            }

            // Candidates within the size limit, which grows with the budget spent.
            let limit_mib = self.size_limit_mib * grown_share(curator, round, rounds);
            let kept = adaptive::tractable(&domain, &state.cliques(), &cliques, limit_mib);
            let wanted: Vec<usize> = (0..cliques.len()).filter(|i| kept[*i]).collect();
            let candidates = candidates(&wanted, &cliques, task.public);
            if candidates.is_empty() {
                let reason = format!("no clique fits a model of {limit_mib:.3} MiB");
                return Err(Error::NoCandidates { round, reason });
            }

            // Score: how far the model is off, less how far the new marginal would be off.
            let (errors, coverage) =
                adaptive::model_errors(&model, &cliques, &wanted, &answers, round)?;
            let noise = expected_noise(curator, measure_budget);
            let scores = errors.zip(public_errors.as_ref()).map(|(errors, public_errors)| {
                let of_model: Vec<f64> = spread(cliques.len(), &wanted, &errors);
                let cells = |i: usize| domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
                let score = |c: &Candidate| match c.source {
                    Source::Private => of_model[c.clique] - noise * cells(c.clique),
                    Source::Public(p) => of_model[c.clique] - public_errors[p][c.clique],
                };
                candidates.iter().map(score).collect()
            });
            observer.event(&Event::Scored {
                round,
                candidates: candidates.len(),
                exact: coverage.exact,
                sampled: coverage.sampled,
            });

            // Select, then measure or take for free.
            let sensitivity = ScoreSensitivity::l1_error_difference(curator.relation());
            let choice = curator.select(scores, sensitivity, select_budget, "choose a marginal")?;
            let Candidate { clique, source } = candidates[choice];
            let measurement = match source {
                Source::Private => {
                    let counts = answers.as_ref().map(|a| a[clique].as_slice());
                    let noisy = curator.measure(&cliques[clique], counts, measure_budget)?;
                    Measurement {
                        clique: cliques[clique].clone(),
                        stddev: noisy.stddev(),
                        values: noisy.values.iter().map(|v| *v as f64).collect(),
                        provenance: Provenance::Private,
                    }
                }
                Source::Public(table) => public.measurement(table, clique, &cliques, total),
            };
            // Durable before anything of the round is seen.
            state.record(round, candidates.len(), measurement, curator.ledger())?;
            report_measured(curator, &state, rounds, observer);
            model = self.fit(curator, &mut state, total, observer)?;
        }
        Ok(Release {
            mechanism: self.name(),
            model,
            measurements: state.measurements,
            rounds: state.rounds,
            ledger: curator.ledger().clone(),
            relation: curator.relation(),
            is_private: curator.is_private(),
        })
    }
}

impl JamPgm {
    /// The uniform model, or the fit that a continued run had come to.
    fn first_model(
        &self,
        curator: &Curator<'_>,
        state: &mut Checkpoint,
        total: f64,
        observer: &mut dyn Observer,
    ) -> Result<MarkovRandomField> {
        if state.measurements.is_empty() {
            return MarkovRandomField::uniform(curator.domain(), total);
        }
        self.fit(curator, state, total, observer)
    }

    /// Fits all measurements, from the potentials of the last fit.
    fn fit(
        &self,
        curator: &Curator<'_>,
        state: &mut Checkpoint,
        total: f64,
        observer: &mut dyn Observer,
    ) -> Result<MarkovRandomField> {
        let (model, estimate) = adaptive::fit(
            curator.domain(),
            &state.measurements,
            total,
            state.potentials.as_ref(),
            self.iterations,
        )?;
        state.potentials = Some(estimate.potentials);
        if let Some(record) = state.rounds.last_mut() {
            record.loss = estimate.loss;
            record.oracle_calls = estimate.oracle_calls;
            record.model_mib = model.size_mib();
            observer.event(&Event::Fitted {
                round: record.round,
                loss: record.loss,
                oracle_calls: record.oracle_calls,
                model_mib: record.model_mib,
            });
        }
        Ok(model)
    }
}

/// n: public under replace-one; otherwise a paid estimate, made once and kept in the checkpoint.
fn records(curator: &mut Curator<'_>, state: &mut Checkpoint) -> Result<f64> {
    if let Some(records) = curator.records() {
        return Ok((records as f64).max(1.0));
    }
    if let Some(total) = state.total {
        return Ok(total);
    }
    let (numerator, denominator) = TOTAL_SHARE;
    let budget = curator.remaining().split(numerator, denominator).unwrap_or_default().0;
    let total = (curator.measure_total(budget)? as f64).max(1.0);
    state.record_total(total, curator.ledger())?;
    Ok(total)
}

/// Share of the size limit that may be used: what was spent of the budget, and 1/T in the first round.
fn grown_share(curator: &Curator<'_>, round: u32, rounds: u32) -> f64 {
    if round == 1 {
        return 1.0 / f64::from(rounds);
    }
    curator.spent().to_f64() / curator.ledger().limit().to_f64()
}

/// `√(2/π) σ`: expected absolute noise of a cell at this budget, `σ² = Δ₂²/(2ρ)`.
fn expected_noise(curator: &Curator<'_>, measure_budget: Rho) -> f64 {
    let squared_l2 = f64::from(MarginalSensitivity::of(curator.relation()).squared_l2());
    let variance = squared_l2 / (2.0 * measure_budget.to_f64());
    (2.0 * variance / std::f64::consts::PI).sqrt()
}

fn candidates(wanted: &[usize], cliques: &[Clique], public: &[PublicData]) -> Vec<Candidate> {
    let private = wanted.iter().map(|i| Candidate { clique: *i, source: Source::Private });
    let free = public.iter().enumerate().flat_map(|(p, table)| {
        wanted
            .iter()
            .filter(|i| table.covers(&cliques[**i]))
            .map(move |i| Candidate { clique: *i, source: Source::Public(p) })
    });
    private.chain(free).collect()
}

/// Values by position, zero elsewhere.
fn spread(length: usize, positions: &[usize], values: &[f64]) -> Vec<f64> {
    let mut all = vec![0.0; length];
    for (position, value) in positions.iter().zip(values) {
        all[*position] = *value;
    }
    all
}

fn report_measured(
    curator: &Curator<'_>,
    state: &Checkpoint,
    rounds: u32,
    observer: &mut dyn Observer,
) {
    let domain = curator.domain();
    if let Some(record) = state.rounds.last() {
        observer.event(&Event::Measured {
            round: record.round,
            rounds,
            clique: record.clique.iter().map(|a| domain.name(a).to_owned()).collect(),
            provenance: record.provenance.clone(),
            stddev: record.stddev,
            spent: curator.spent(),
            limit: curator.ledger().limit(),
        });
    }
}

/// The marginals of the public tables, counted once.
struct PublicAnswers<'a> {
    tables: &'a [PublicData],
    /// For each table, the counts on each clique; empty where it lacks an attribute.
    counts: Vec<Vec<Vec<u32>>>,
}

impl<'a> PublicAnswers<'a> {
    fn count(tables: &'a [PublicData], cliques: &[Clique]) -> Result<Self> {
        let mut counts = Vec::with_capacity(tables.len());
        for table in tables {
            let covered: Vec<usize> =
                (0..cliques.len()).filter(|i| table.covers(&cliques[*i])).collect();
            let asked: Vec<Clique> = covered.iter().map(|i| cliques[*i].clone()).collect();
            let mut all = vec![Vec::new(); cliques.len()];
            for (i, found) in covered.into_iter().zip(table.project_many(&asked)?) {
                all[i] = found;
            }
            counts.push(all);
        }
        Ok(Self { tables, counts })
    }

    /// n/m: what scales a table's counts to the private total.
    fn scale(&self, table: usize, total: f64) -> f64 {
        total / (self.tables[table].records() as f64).max(1.0)
    }

    /// `‖M_τ(D) - (n/m) M_τ(P)‖₁` for every table and clique; they do not change from round to round.
    fn errors(
        &self,
        answers: &Sensitive<Vec<Vec<u32>>>,
        cliques: &[Clique],
        total: f64,
    ) -> Sensitive<Vec<Vec<f64>>> {
        answers.as_ref().map(|answers| {
            let of_table = |(table, counts): (usize, &Vec<Vec<u32>>)| {
                let scale = self.scale(table, total);
                let pairs = answers.iter().zip(counts).take(cliques.len());
                pairs.map(|(private, public)| l1_distance(private, public, scale)).collect()
            };
            self.counts.iter().enumerate().map(of_table).collect()
        })
    }

    fn measurement(
        &self,
        table: usize,
        clique: usize,
        cliques: &[Clique],
        total: f64,
    ) -> Measurement {
        let scale = self.scale(table, total);
        Measurement {
            clique: cliques[clique].clone(),
            values: self.counts[table][clique].iter().map(|c| scale * f64::from(*c)).collect(),
            stddev: 0.0,
            provenance: Provenance::Public { source: self.tables[table].name().to_owned() },
        }
    }
}
