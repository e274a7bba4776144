//! JAM-PGM: joint adaptive measurements of a private table and public tables.

mod public;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::{EstimatorKind, Weighting};
use crate::measurement::Measurement;
use crate::mechanism::graphical::{Fitting, GraphicalModel};
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, ImprovementOf, OwnError, Rho};
use crate::settings::Form;

use public::{Contradictions, PublicAnswers};

/// JAM-PGM (Fuentes, Mullins, `McKenna`, Miklau & Sheldon 2024, Algorithm 2).
///
/// Each of `rounds` rounds scores every small enough subset of a workload clique, once as a noisy measurement of the
/// private table and once as a free marginal of each public table that covers it. It draws one of them by the
/// exponential mechanism, observes it, and fits a graphical model to everything observed. The budget that a public
/// choice saves is left for later rounds. As in the paper, the score ignores the weights of the workload's cliques.
///
/// Three options go beyond the paper: weights by sampling error and noise ([`JamPgm::weighting`]), a last private round for
/// what is left of the budget ([`JamPgm::leftover`]), and public marginals that are dropped once a measurement contradicts
/// them ([`JamPgm::contradicted`]). All of them read released numbers and public tables alone.
///
/// Under [`crate::privacy::NeighboringRelation::AddRemoveOne`] the number of records is estimated once, for one
/// percent of the budget. Proofs: `docs/theory/sensitivities.md`, `docs/theory/run.md`.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, JamPgm};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let public = [PublicData::new("last year", private.clone(), private.domain())?];
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = JamPgm { rounds: Some(4), ..JamPgm::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 4);
/// # Ok::<(), jointly::Error>(())
/// ```
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
    /// How observations weigh in a fit; as in the paper: [`Weighting::Equal`]. With [`Weighting::InverseVariance`] a private
    /// marginal weighs by its noise, and a public one by the mean sampling variance of its cells.
    pub weighting: Weighting,
    /// What becomes of the budget that is left after T rounds, which is that for measuring in the last round if that was
    /// public; as in the paper: [`Leftover::Keep`].
    pub leftover: Leftover,
    /// What becomes of public marginals that private measurements contradict; as in the paper: [`Contradicted::Keep`].
    pub contradicted: Contradicted,
}

/// What [`JamPgm`] does with the budget that is left after its rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Leftover {
    /// Does not spend it.
    #[default]
    Keep,
    /// Spends it on one more round, without public candidates.
    Spend,
}

/// What [`JamPgm`] does with public marginals that private measurements contradict.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Contradicted {
    /// Goes on fitting them.
    #[default]
    Keep,
    /// Drops them from the fit and from the candidates, and with them all marginals of the same table that contain them. A
    /// private measurement contradicts a public marginal on some of its attributes by a chi-square test, with the noise of
    /// the one and the sampling error of the other; by chance alone it does with a probability of at most e⁻⁶.
    Drop,
}

/// Descriptions of its own parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "weighting",
        value_name: "RULE",
        help: "How private and public marginals weigh in a fit",
        form: Form::Choice(&[
            ("equal", "All the same, as published"),
            ("inverse-variance", "By their noise or sampling error"),
        ]),
        unset: "",
    },
    Parameter {
        name: "leftover",
        value_name: "RULE",
        help: "What to do with budget that is left after all rounds",
        form: Form::Choice(&[
            ("keep", "It is not spent, as published"),
            ("spend", "One more round, without public candidates"),
        ]),
        unset: "",
    },
    Parameter {
        name: "contradicted",
        value_name: "RULE",
        help: "What to do with public marginals that private measurements contradict",
        form: Form::Choice(&[
            ("keep", "They are still fitted, as published"),
            ("drop", "They are no longer fitted or chosen"),
        ]),
        unset: "",
    },
];

impl Default for JamPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.8,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
            weighting: Weighting::Equal,
            leftover: Leftover::default(),
            contradicted: Contradicted::default(),
        }
    }
}

impl JamPgm {
    /// The default number of rounds for a table of `attributes` attributes: two per attribute, and at least 30. The
    /// paper's 30 rounds on the 15 attributes of Adult are also two per attribute; see
    /// `docs/results/acs.md`.
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
        let plan = about.even_rounds(rounds, self.measure_share)?.within(self.size_limit_mib);
        Ok(plan.remarked(
            "A round that takes a public marginal leaves its share of the budget to later rounds.",
        ))
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
        let public_errors = public.errors(&answers, model.total())?;
        run.start(rounds, cliques.len());
        let mut wrong = self.wrong_before_last(&public, &run, model.total())?;
        self.fit(&mut model, &mut run, &public, &mut wrong)?;
        while run.next_round() <= rounds || self.has_leftover(&run) {
            let round = run.begin_round()?;
            let is_planned = round <= rounds;
            let left = if is_planned { rounds - round + 1 } else { 1 };
            let shares = run.even_share(left, self.measure_share)?;

            // Candidates within the size limit, which grows with the budget spent.
            let first_share = 1.0 / f64::from(rounds);
            let share = if round == 1 { first_share } else { run.spent_share_with(Rho::ZERO) };
            let wanted = model.within(&run, &cliques, self.size_limit_mib * share)?;
            let is_free = |table: usize, i: usize| {
                is_planned
                    && task.public[table].covers(&cliques[i])
                    && !wrong.spoil(table, &cliques[i])
            };
            let candidates = candidates(&wanted, task.public.len(), is_free);

            // Score: the model's error minus the error of the new marginal.
            let errors = model.errors(&run, &cliques, &wanted, &answers, round)?;
            let noise = run.expected_noise(shares.measure);
            let domain = run.domain();
            let cells = |i: usize| domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
            let improvement = |c: &Candidate| ImprovementOf {
                marginal: c.clique,
                own: match c.source {
                    Source::Private => OwnError::Expected(noise * cells(c.clique)),
                    Source::Public(table) => OwnError::Sealed(&public_errors[table]),
                },
            };
            let of_all: Vec<_> = candidates.iter().map(improvement).collect();
            let scores = errors.improvements(&of_all)?;

            // Select, then measure privately or take the public marginal, and fit.
            let choice = model.select(&mut run, scores, shares.select)?;
            let Candidate { clique, source } = candidates[choice];
            match source {
                Source::Private => run.measure(&cliques[clique], shares.measure)?,
                Source::Public(table) => {
                    run.take(public.measurement(table, clique, model.total()));
                }
            }
            run.end_round()?;
            self.fit(&mut model, &mut run, &public, &mut wrong)?;
        }
        model.finish(run)
    }
}

impl JamPgm {
    fn fitting(&self) -> Fitting {
        let fitting = Fitting::new(self.size_limit_mib, self.iterations, self.estimator);
        Fitting { weighting: self.weighting, ..fitting }
    }

    fn has_leftover(&self, run: &Run<'_, '_>) -> bool {
        self.leftover == Leftover::Spend && !run.remaining().is_zero()
    }

    /// What the measurements but the last contradict: the state of a resumed run before its last fit.
    fn wrong_before_last(
        &self,
        public: &PublicAnswers<'_>,
        run: &Run<'_, '_>,
        total: f64,
    ) -> Result<Contradictions> {
        match (self.contradicted, run.measurements()) {
            (Contradicted::Drop, [earlier @ .., _]) => {
                public.contradictions(run.domain(), earlier, total)
            }
            _ => Ok(Contradictions::default()),
        }
    }

    /// Fits what was observed, as the options take it.
    fn fit(
        &self,
        model: &mut GraphicalModel,
        run: &mut Run<'_, '_>,
        public: &PublicAnswers<'_>,
        wrong: &mut Contradictions,
    ) -> Result<()> {
        let total = model.total();
        if self.contradicted == Contradicted::Drop {
            let found = public.contradictions(run.domain(), run.measurements(), total)?;
            if found != *wrong {
                *wrong = found;
                model.forget()?;
            }
        }
        let is_wrong =
            |m: &Measurement| public.source(m).is_some_and(|table| wrong.spoil(table, &m.clique));
        let kept = run.measurements().iter().filter(|m| !is_wrong(m)).cloned();
        let believed: Vec<Measurement> = match self.weighting {
            Weighting::Equal => kept.collect(),
            Weighting::InverseVariance => kept.map(|m| public.as_sample(m, total)).collect(),
        };
        model.advance(run.domain(), &believed, run.checks())?;
        model.report(run)
    }
}

/// Each wanted clique as a private measurement, and as a free marginal of each table from which it may be taken.
fn candidates(
    wanted: &[usize],
    tables: usize,
    is_free: impl Fn(usize, usize) -> bool,
) -> Vec<Candidate> {
    let private = wanted.iter().map(|i| Candidate { clique: *i, source: Source::Private });
    let free = (0..tables).flat_map(|table| wanted.iter().map(move |i| (table, *i)));
    let free = free.filter(|(table, clique)| is_free(*table, *clique));
    let free = free.map(|(table, clique)| Candidate { clique, source: Source::Public(table) });
    private.chain(free).collect()
}
