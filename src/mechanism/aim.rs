//! AIM: adaptive measurements, weighted by the workload, with noise that decreases as the model improves.

use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::measurement::Measurement;
use crate::mechanism::Gain;
use crate::mechanism::adaptive::{self, Candidates, squared_distance};
use crate::mechanism::annealing::{self, Step};
use crate::mechanism::graphical::{Fitting, GraphicalModel};
use crate::mechanism::{Mechanism, Parameter, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::Curator;
use crate::settings::Form;

/// AIM (`McKenna`, Mullins, Sheldon & Miklau 2022, Algorithm 4), without public tables.
///
/// First measures all single attributes of the workload. Each later round then selects, among the subsets of workload
/// cliques that are small enough for the model, one with a large expected improvement. The score is
/// `w_r (‖M_r(D) - M_r(model)‖₁ - √(2/π) σ n_r)` with `w_r = Σ_s c_s |r ∩ s|`. Fits weight measurements by `1/σ²`. If a
/// measurement moves the model by less than its noise, σ is halved and ε doubled (annealing). The last round spends the
/// remaining budget.
///
/// Two options go beyond the paper: a score for fits that weigh measurements against the model ([`Aim::score`]), and
/// measurements that are shrunk to what the model expected ([`Aim::shrinkage`]).
///
/// The number of records n is public under [`crate::privacy::NeighboringRelation::ReplaceOne`]; otherwise it is
/// estimated once, for one percent of the budget. Proofs: `docs/theory/sensitivities.md`, `docs/theory/run.md`.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, Aim};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let mechanism = Aim { size_limit_mib: 1.0, ..Aim::default() };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert!(release.measurements.len() > 3, "single attributes, then what is chosen");
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Aim {
    /// T, the maximum number of rounds, including those for single attributes; above the number of attributes. `None`:
    /// [`Aim::default_rounds`].
    pub rounds: Option<u32>,
    /// α, the share of a round's budget for the measurement; in (0, 1).
    pub measure_share: f64,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique); reached only when the budget is
    /// spent.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit.
    pub iterations: u32,
    /// The estimation method.
    pub estimator: EstimatorKind,
    /// What the score takes to be gained by a measurement; as in the paper: [`Gain::AboveNoise`].
    pub score: Gain,
    /// What is done to a measurement before it is fitted; as in the paper: [`Shrinkage::None`].
    pub shrinkage: Shrinkage,
}

/// How a noisy marginal is moved towards what the model expected, before it is fitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Shrinkage {
    /// Not at all.
    #[default]
    None,
    /// By the positive-part estimator of James & Stein (1961): `x + max(0, 1 - (k - 2) σ²/‖y - x‖²) (y - x)`, for k cells and
    /// the marginal x of the model before the measurement. With Gaussian noise and k of 3 and more, its expected squared
    /// error is below that of y, whatever x is. It reads only what was released, so it costs nothing. Annealing then follows
    /// another rule, `‖y - x‖² ≤ 2 k σ²`, as a fit to shrunk measurements moves less.
    JamesStein,
}

impl Shrinkage {
    /// The measurement, shrunk to `expected`.
    fn apply(self, measurement: &Measurement, expected: &[f64]) -> Measurement {
        let mut shrunk = measurement.clone();
        if self == Self::None {
            return shrunk;
        }
        let distance = squared_distance(&measurement.values, expected);
        let noise = (expected.len() as f64 - 2.0).max(0.0) * measurement.stddev.powi(2);
        let kept = if distance > noise { 1.0 - noise / distance } else { 0.0 };
        let pairs = measurement.values.iter().zip(expected);
        shrunk.values = pairs.map(|(y, x)| x + kept * (y - x)).collect();
        shrunk
    }
}

/// Descriptions of its own parameters.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "score",
        value_name: "GAIN",
        help: "What a measurement is expected to gain: error e of the model, expected noise a",
        form: Form::Choice(&[
            ("above-noise", "e - a, as published"),
            ("shrunk", "e (1 - a/sqrt(e^2 + a^2)), for fits that weigh it against the model"),
        ]),
        unset: "",
    },
    Parameter {
        name: "shrinkage",
        value_name: "RULE",
        help: "How measurements are moved towards what the model expected, before they are fitted",
        form: Form::Choice(&[
            ("none", "Not at all, as published"),
            ("james-stein", "By the positive-part James-Stein estimator"),
        ]),
        unset: "",
    },
];

impl Default for Aim {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.9,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
            score: Gain::default(),
            shrinkage: Shrinkage::default(),
        }
    }
}

impl Aim {
    /// T = 16 d, as in the paper. Annealing makes runs far shorter.
    pub fn default_rounds(attributes: usize) -> u32 {
        parameters::sixteen_per_attribute(attributes)
    }

    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, self.estimator)
    }
}

impl Mechanism for Aim {
    fn name(&self) -> &'static str {
        "aim"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        parameters::check_share("measure share", self.measure_share)?;
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let rounds = self.rounds.unwrap_or_else(|| Self::default_rounds(about.domain.len()));
        adaptive::check_rounds(self.name(), rounds, about.singles())?;
        let plan = about.even_rounds(rounds, self.measure_share)?.within(self.size_limit_mib);
        Ok(plan.remarked(annealing::REMARK))
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
        let relevance = adaptive::relevance(task.workload, &cliques, curator.domain());
        let singles: Vec<Clique> = cliques.iter().take_while(|c| c.len() == 1).cloned().collect();
        adaptive::check_rounds(self.name(), rounds, singles.len())?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut fit = Refit::open(self, &mut run)?;
        let mut step = Step::first(run.budget(), rounds, self.measure_share)?;
        let answers = run.marginals(&cliques)?;
        let candidates = Candidates { cliques: &cliques, relevance: &relevance, answers: &answers };
        run.start(rounds, cliques.len());

        // All single attributes, which come first among the cliques.
        run.measure_each(&singles, step.measure_times(singles.len()))?;
        step = fit.resume(&mut run, singles.len(), step)?;
        while !run.remaining().is_zero() {
            let round = run.begin_round()?;
            let cost = step.or_all(run.remaining(), self.measure_share)?;
            run.plan(round.saturating_add(step.rounds_after(run.remaining())));

            // Candidates within the size limit, which grows with the budget spent, including this round's.
            let limit_mib = self.size_limit_mib * run.spent_share_with(cost.0.sum());
            let held: Vec<Clique> = run.measurements().iter().map(|m| m.clique.clone()).collect();

            // Select, measure, fit, and anneal if the model moved by no more than the noise.
            let model = fit.model.model();
            let clique = candidates.choose(&mut run, model, &held, limit_mib, self.score, cost)?;
            run.measure(clique, cost.0.measure)?;
            run.end_round()?;
            let told_nothing = fit.take(&run, run.measurements().len())?;
            fit.model.report(&mut run)?;
            if told_nothing {
                step = step.annealed();
            }
        }
        fit.model.finish(run)
    }
}

/// The model, and the measurements as it takes them.
struct Refit {
    model: GraphicalModel,
    shrinkage: Shrinkage,
    /// All measurements, shrunk; empty without shrinkage.
    believed: Vec<Measurement>,
}

impl Refit {
    fn open(aim: &Aim, run: &mut Run<'_, '_>) -> Result<Self> {
        let (fitting, shrinkage) = (aim.fitting(), aim.shrinkage);
        let model = match shrinkage {
            Shrinkage::None => GraphicalModel::open(fitting, run)?,
            // What a measurement is shrunk to depends on all fits before it: a resumed run repeats them.
            Shrinkage::JamesStein => GraphicalModel::unfitted(fitting, run)?,
        };
        Ok(Self { model, shrinkage, believed: Vec::new() })
    }

    /// The first fit, to all single attributes or, in a resumed run, to all measurements that there are. `first`: the cost of
    /// the first round. Returns that of the next one.
    fn resume(&mut self, run: &mut Run<'_, '_>, singles: usize, first: Step) -> Result<Step> {
        let all = run.measurements().len();
        if self.shrinkage != Shrinkage::None {
            for taken in singles..all {
                self.take(run, taken)?;
            }
        }
        let told_nothing = self.take(run, all)?;
        self.model.report(run)?;
        if all == singles {
            return Ok(first);
        }
        let last = first.raised_to(run.last_cost());
        Ok(if told_nothing { last.annealed() } else { last })
    }

    /// Fits all measurements up to one of them, and returns whether it told nothing.
    fn take(&mut self, run: &Run<'_, '_>, up_to: usize) -> Result<bool> {
        let measurements = &run.measurements()[..up_to];
        let Some(last) = measurements.last() else { return Ok(false) };
        let asked = std::slice::from_ref(&last.clique);
        let old = self.model.model().marginals(asked)?;
        if self.shrinkage == Shrinkage::None {
            self.model.advance(run.domain(), measurements, run.checks())?;
            let new = self.model.model().marginals(asked)?;
            return Ok(adaptive::moved_nothing(last, old[0].values(), new[0].values()));
        }
        if self.believed.is_empty() {
            self.believed = measurements.to_vec();
        } else {
            self.believed.push(self.shrinkage.apply(last, old[0].values()));
        }
        self.model.advance(run.domain(), &self.believed, run.checks())?;
        Ok(adaptive::told_nothing(last, old[0].values()))
    }
}

#[cfg(test)]
mod tests;
