//! AIM: adaptive measurements, weighted by the workload, with noise that decreases as the model improves.

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::EstimatorKind;
use crate::mechanism::annealing::Step;
use crate::mechanism::graphical::{Fitting, GraphicalModel};
use crate::mechanism::{Mechanism, PlanFor, Release, Run, RunPlan, Task, parameters};
use crate::observe::Observer;
use crate::privacy::{Curator, ScoreSensitivity};
use crate::query::Workload;

/// AIM (`McKenna`, Mullins, Sheldon & Miklau 2022, Algorithm 4), without public tables.
///
/// First measures all single attributes of the workload. Each later round then selects, among the subsets of workload
/// cliques that are small enough for the model, one with a large expected improvement. The score is
/// `w_r (‖M_r(D) - M_r(model)‖₁ - √(2/π) σ n_r)` with `w_r = Σ_s c_s |r ∩ s|`. Fits weight measurements by `1/σ²`. If a
/// measurement moves the model by less than its noise, σ is halved and ε doubled (annealing). The last round spends the
/// remaining budget.
///
/// The number of records n is public under [`crate::privacy::NeighboringRelation::ReplaceOne`]; otherwise it is
/// estimated once, for one percent of the budget. Proofs: `docs/theory/sensitivities.md`, `docs/theory/run.md`.
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
}

impl Default for Aim {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.9,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            estimator: EstimatorKind::default(),
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
        let weights = relevance(task.workload, &cliques, curator.domain());
        let singles: Vec<Clique> = cliques.iter().take_while(|c| c.len() == 1).cloned().collect();
        check_rounds(self.name(), rounds, singles.len())?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let mut model = GraphicalModel::open(self.fitting(), &mut run)?;
        let mut step = Step::first(run.budget(), rounds, self.measure_share)?;
        let answers = run.marginals(&cliques)?;
        run.start(rounds, cliques.len());

        // All single attributes, which come first among the cliques.
        run.measure_each(&singles, step.measure_times(singles.len()))?;
        if run.measurements().len() == singles.len() {
            model.fit(&mut run)?;
        } else {
            // Resumed: the noise is that of the last measurement.
            step = step.raised_to(run.last_cost());
            step = fit_and_anneal(step, &mut model, &mut run)?;
        }
        while !run.remaining().is_zero() {
            let round = run.begin_round()?;
            let cost = step.or_all(run.remaining(), self.measure_share)?;
            run.plan(round.saturating_add(step.rounds_after(run.remaining())));

            // Candidates within the size limit, which grows with the budget spent, including this round's.
            let share = run.spent_share_with(cost.0.sum());
            let wanted = model.within(&run, &cliques, self.size_limit_mib * share)?;

            // Score: the model's error minus the expected noise, weighted by relevance to the workload.
            let errors = model.errors(&cliques, &wanted, &answers, round)?;
            let noise = run.expected_noise(cost.0.measure);
            let domain = run.domain();
            let cells = |i: usize| domain.cells(&cliques[i]).unwrap_or(u64::MAX) as f64;
            let scores = errors.map(|errors| {
                let score = |(i, error): (&usize, f64)| weights[*i] * (error - noise * cells(*i));
                wanted.iter().zip(errors).map(score).collect()
            });
            let largest = wanted.iter().map(|i| weights[*i]).fold(0.0, f64::max);
            let penalty = noise * model.most_cells(&cliques, &wanted);
            let sensitivity = ScoreSensitivity::l1_error(run.relation()).less(penalty);
            let sensitivity = sensitivity.weighted(largest)?;

            // Select, measure, fit, and anneal if the model moved by no more than the noise.
            let choice =
                model.select(&mut run, scores, wanted.len(), sensitivity, cost.0.select)?;
            run.measure(&cliques[wanted[choice]], cost.0.measure)?;
            run.end_round()?;
            step = fit_and_anneal(step, &mut model, &mut run)?;
        }
        model.finish(run)
    }
}

/// Each single attribute takes one round, and the other cliques need at least one.
pub(super) fn check_rounds(mechanism: &'static str, rounds: u32, singles: usize) -> Result<()> {
    if rounds as usize > singles {
        return Ok(());
    }
    let found = format!("{rounds} rounds for a workload of {singles} attributes");
    let expected = "more rounds than attributes, each of which takes a round";
    Err(Error::invalid_specification(mechanism, found, expected))
}

/// Fits, and anneals if the last measurement, on r, moved the model by no more than its noise:
/// `‖M_r(new) - M_r(old)‖₁ ≤ √(2/π) σ n_r`.
fn fit_and_anneal(step: Step, model: &mut GraphicalModel, run: &mut Run<'_, '_>) -> Result<Step> {
    let Some(last) = run.measurements().last() else { return Ok(step) };
    let noise = (2.0 / std::f64::consts::PI).sqrt() * last.stddev * last.values.len() as f64;
    let measured = [last.clique.clone()];
    let old = model.model().marginals(&measured)?;
    model.fit(run)?;
    let new = model.model().marginals(&measured)?;
    let cells = new[0].values().iter().zip(old[0].values());
    let moved: f64 = cells.map(|(new, old)| (new - old).abs()).sum();
    Ok(if moved <= noise { step.annealed() } else { step })
}

/// `w_r = Σ_s c_s |r ∩ s|`: the relevance of each clique r to the workload. Summed by attribute:
/// `w_r = Σ_{a ∈ r} Σ_{s ∋ a} c_s`.
pub(super) fn relevance(workload: &Workload, cliques: &[Clique], domain: &Domain) -> Vec<f64> {
    let mut of_attribute = vec![0.0; domain.len()];
    for weighted in workload.weighted_cliques() {
        for attribute in weighted.clique.iter() {
            of_attribute[attribute] += weighted.weight;
        }
    }
    cliques.iter().map(|clique| clique.iter().map(|a| of_attribute[a]).sum()).collect()
}

#[cfg(test)]
#[path = "../../tests/unit/mechanism_aim.rs"]
mod tests;
