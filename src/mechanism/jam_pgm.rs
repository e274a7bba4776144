//! JAM-PGM: joint adaptive measurements of a private table and public tables.

use serde::{Deserialize, Serialize};

use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::Result;
use crate::estimation::{EstimatorKind, Weighting};
use crate::measurement::{Measurement, Provenance};
use crate::mechanism::graphical::{Fitting, GraphicalModel};
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, Rho, ScoreSensitivity, Sensitive};
use crate::table::l1_distance;

/// JAM-PGM (Fuentes, Mullins, `McKenna`, Miklau & Sheldon 2024, Algorithm 2).
///
/// Each of `rounds` rounds scores every small enough subset of a workload clique, once as a noisy measurement of the
/// private table and once as a free marginal of each public table that covers it. It draws one of them by the
/// exponential mechanism, observes it, and fits a graphical model to everything observed. The budget that a public
/// choice saves is left for later rounds. As in the paper, the score ignores the weights of the workload's cliques.
///
/// Under [`crate::privacy::NeighboringRelation::AddRemoveOne`] the number of records is estimated once, for one
/// percent of the budget. Proofs: `docs/theory/sensitivities.md`, `docs/theory/run.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct JamPgm {
    /// T, at least 1; `None`: [`JamPgm::default_rounds`].
    pub rounds: Option<u32>,
    /// α, the share of a round's budget for a private measurement; in (0, 1).
    pub measure_share: f64,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique); reached only when the budget is
    /// spent.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
}

impl Default for JamPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.8,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
        }
    }
}

impl JamPgm {
    /// The default number of rounds for a table of `attributes` attributes: two per attribute, and at least 30. The
    /// paper's 30 rounds on the 15 attributes of Adult are also two per attribute; see
    /// `docs/adr/0007-two-rounds-an-attribute.md`.
    pub fn default_rounds(attributes: usize) -> u32 {
        parameters::two_per_attribute(attributes)
    }
}

/// A clique, and the table that its marginal comes from.
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

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        parameters::check_share("measure share", self.measure_share)?;
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let rounds = self.rounds.unwrap_or_else(|| Self::default_rounds(about.domain.len()));
        Ok(about.even_rounds(rounds, self.measure_share)?.within(self.size_limit_mib))
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> Result<Release> {
        self.check()?;
        let rounds = self.rounds.unwrap_or_else(|| Self::default_rounds(curator.domain().len()));
        let cliques = task.workload.downward_closure();
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut model = GraphicalModel::open(self.fitting(), &mut run)?;
        let public = PublicAnswers::count(task.public, &cliques)?;
        let answers = run.marginals(&cliques)?;
        let public_errors = public.errors(&answers, &cliques, model.total());
        run.start(rounds, cliques.len());
        model.fit(&mut run)?;
        while run.next_round() <= rounds {
            let round = run.begin_round()?;
            let shares = run.even_share(rounds - round + 1, self.measure_share)?;

            // Candidates within the size limit, which grows with the budget spent.
            let first_share = 1.0 / f64::from(rounds);
            let share = if round == 1 { first_share } else { run.spent_share_with(Rho::ZERO) };
            let wanted = model.within(&run, &cliques, self.size_limit_mib * share)?;
            let candidates = candidates(&wanted, &cliques, task.public);

            // Score: the model's error minus the error of the new marginal.
            let errors = model.errors(&cliques, &wanted, &answers, round)?;
            let noise = run.expected_noise(shares.measure);
            let domain = run.domain();
            let scores = errors.zip(public_errors.as_ref()).map(|(errors, public_errors)| {
                let of_model: Vec<f64> = spread(cliques.len(), &wanted, &errors);
                let cells = |i: usize| domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
                let score = |c: &Candidate| match c.source {
                    Source::Private => of_model[c.clique] - noise * cells(c.clique),
                    Source::Public(p) => of_model[c.clique] - public_errors[p][c.clique],
                };
                candidates.iter().map(score).collect()
            });

            // Select, then measure privately or take the public marginal, and fit.
            let sensitivity = ScoreSensitivity::l1_error_difference(run.relation());
            let sensitivity = sensitivity.less(noise * model.most_cells(&cliques, &wanted));
            let among = candidates.len();
            let choice = model.select(&mut run, scores, among, sensitivity, shares.select)?;
            let Candidate { clique, source } = candidates[choice];
            match source {
                Source::Private => run.measure(&cliques[clique], shares.measure)?,
                Source::Public(table) => {
                    run.take(public.measurement(table, clique, &cliques, model.total()));
                }
            }
            run.end_round()?;
            model.fit(&mut run)?;
        }
        model.finish(run)
    }
}

impl JamPgm {
    /// As in the paper, all measurements have equal weight, whatever their noise.
    fn fitting(&self) -> Fitting {
        let fitting = Fitting::new(self.size_limit_mib, self.iterations, self.estimator);
        Fitting { weighting: Weighting::Equal, ..fitting }
    }
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

    /// n/m: the factor that scales a table's counts to the private total.
    fn scale(&self, table: usize, total: f64) -> f64 {
        total / (self.tables[table].records() as f64).max(1.0)
    }

    /// `‖M_τ(D) - (n/m) M_τ(P)‖₁` for every table and clique. Constant over the rounds.
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
            cell: None,
            values: self.counts[table][clique].iter().map(|c| scale * f64::from(*c)).collect(),
            stddev: 0.0,
            provenance: Provenance::Public { source: self.tables[table].name().to_owned() },
        }
    }
}
