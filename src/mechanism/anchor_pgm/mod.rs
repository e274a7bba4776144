//! Anchor-PGM: adaptive measurements of a model that is anchored at public tables.

mod base;
mod doubt;
mod expert;
mod panel;
mod pick;
mod rows;
mod setting;

use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::adaptive::{self, Candidates};
use crate::mechanism::annealing;
use crate::mechanism::graphical::Fitting;
use crate::mechanism::{
    Form as Kind, Mechanism, ModelState, Parameter, PlanFor, PublicTrust, Release, Run, RunPlan,
    Task, parameters,
};
use crate::observe::Observer;
use crate::privacy::{Curator, ScoreSensitivity};

use base::{Base, PublicMarginals};
pub use expert::AnchorExpert;
use panel::Panel;
use pick::{Candidate, Compared, Form};
use rows::PublicRecords;
use setting::{Regime, Setting};

/// Anchor-PGM, this library's own mechanism for public tables that may be good or bad.
///
/// Public data are never a target of the fit. A model of the public tables is the *base measure* that fits to noisy
/// measurements are pulled to, `½ Σ_r ‖n M_r p - y_r‖²/σ_r² + κ KL(p ‖ p_pub)`, where κ is the weight of the public data in
/// records. Several *experts* fit the same measurements with κ of m, m/10 and 0, and one without public tables.
///
/// ```text
/// 0. free:    p_pub: from independent attributes, greedily fit public marginals that are further from the model than their
///             sampling error
/// 1. pay:     measure all single attributes; fit all experts
/// 2. pay 1 %: choose the first driver by mean workload error
/// 3. repeat:  choose a marginal r by the driver's gain w_r e (1 - a/√(e² + a²)), e = ‖M_r(D) - M_r(driver)‖₁,
///             a = √(2/π) σ n_r; measure it; every expert is charged how badly it predicted it; fit all experts;
///             the expert charged least drives; anneal as AIM does
/// 4. pay 2 %: publish the best by mean workload error of: experts, p_pub, public records, reweighted public records, and
///             these mixed with the driver
/// ```
///
/// A measured marginal that contradicts the base by a chi-square test lowers κ there to a quarter, and again as long as
/// it does. One record changes the mean workload error of a model by Δ₁ = 2 at most, whatever the number of marginals, so
/// comparing whole models is cheap. Where n or the budget is so small that the choices of steps 2 and 4 would be noise, no
/// budget is spent on them: half of it measures the single attributes, there are two experts, κ = m and no public tables,
/// and the one that predicted the measurements best drives and is published, mixed with the public records if these are
/// the better half. Where private measurements beat the public tables on every marginal of use, there is no base. Without
/// public tables the mechanism is [`crate::mechanism::Aim`]. All of these are decided from what is public or released: the
/// budget, n, the public tables and the measurements (`docs/guide/mechanisms.md`).
///
/// The number of records n is treated as in [`crate::mechanism::Aim`]. Proofs: `docs/theory/pull.md`,
/// `docs/theory/sensitivities.md`, `docs/theory/run.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AnchorPgm {
    /// T, which sets the cost of the first rounds, single attributes included; above the number of attributes. `None`:
    /// [`AnchorPgm::default_rounds`], or that of [`crate::mechanism::Aim`] without public tables.
    pub rounds: Option<u32>,
    /// α, the share of a round's budget for the measurement; in (0, 1).
    pub measure_share: f64,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique); reached only when the budget is
    /// spent.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit of the expert without public tables.
    pub iterations: u32,
    /// Who chooses the marginals to measure.
    pub chooser: Chooser,
}

/// Who chooses the marginals that [`AnchorPgm`] measures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Chooser {
    /// The expert that predicted the measurements best so far.
    #[default]
    Leader,
    /// The expert without public tables, as AIM does: a run measures what [`crate::mechanism::Aim`] measures with the budget
    /// that the last pick leaves, 90 to 98 %, draw by draw. The other experts fit these measurements afterwards. AIM's model
    /// is one of the k models of the last pick, so with a probability of 1 - e^-t the mean workload error of the published
    /// model is at most AIM's plus `4 (ln k + t)/(n √(8ρ))`, whatever the public tables are; ρ is that of the pick. Proof:
    /// `docs/theory/run.md`, section 2.
    Alone,
}

/// Descriptions of its own parameters.
pub(super) const PARAMETERS: &[Parameter] = &[Parameter {
    name: "chooser",
    value_name: "WHO",
    help: "Who chooses the marginals to measure",
    form: Kind::Choice(&[
        ("leader", "The expert that predicted the measurements best so far"),
        (
            "alone",
            "The expert without public tables, as in aim; how much worse than aim it can get is bounded",
        ),
    ]),
    unset: "",
}];

impl Default for AnchorPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: 0.9,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            chooser: Chooser::default(),
        }
    }
}

/// Pulled fits end when they are certified to be within this share of the noise of the loss.
const GAP: f64 = 0.1;

/// The outcomes of the paid picks, which a checkpoint must keep; the models follow from the measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Picks {
    first: Option<usize>,
    last: Option<usize>,
}

impl ModelState for Picks {
    const KIND: &'static str = "picks";
    const VERSION: u32 = 1;
}

impl Mechanism for AnchorPgm {
    fn name(&self) -> &'static str {
        "anchor-pgm"
    }

    fn check(&self) -> Result<()> {
        parameters::check_rounds(self.rounds)?;
        parameters::check_share("measure share", self.measure_share)?;
        self.fitting().check()
    }

    fn plan(&self, about: &PlanFor<'_>) -> Result<RunPlan> {
        let rounds = self.rounds_of(about.domain.len(), true);
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
        let rounds = self.rounds_of(curator.domain().len(), !task.public.is_empty());
        let cliques = task.workload.downward_closure();
        let singles: Vec<Clique> = cliques.iter().take_while(|c| c.len() == 1).cloned().collect();
        adaptive::check_rounds(self.name(), rounds, singles.len())?;
        let fitting = self.fitting();
        fitting.check_domain(curator.domain())?;
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let total = run.total()?;

        // 0. The base, from public tables alone.
        let relevance = adaptive::relevance(task.workload, &cliques, run.domain());
        let public = PublicMarginals::count(task.public, &cliques)?;
        let records = public.total();
        let setting = Setting::new(run.budget(), total, records, self.size_limit_mib, self.chooser);
        let mut schedule = setting.schedule(rounds, singles.len(), self.measure_share)?;
        let mut base = None;
        if setting.has_base() {
            run.fitting_public_tables();
            let (mib, checks) = (setting.base_mib, run.checks());
            base = Some(Base::build(run.domain(), &public, &relevance, mib, total, checks)?);
        }
        let mut panel = Panel::new(fitting, run.domain(), base, &setting, records, total)?;
        let answers = run.marginals(&cliques)?;
        let compared = Compared::new(task.workload, &cliques, &answers);
        run.start(rounds, cliques.len());

        // 1. All single attributes, which come first among the cliques.
        run.measure_each(&singles, schedule.singles)?;
        let resumed = run.measurements().len();
        let first = &run.measurements()[..singles.len()];
        if setting.regime == Regime::Predicted {
            first.iter().try_for_each(|measurement| panel.observe(measurement))?;
        }
        panel.fit(first, run.checks())?;

        // 2. The first driver. Then what an interrupted run did.
        let mut picks: Picks = run.restored()?.unwrap_or_default();
        if setting.regime == Regime::Picked && picks.first.is_none() {
            let models = panel.models();
            picks.first = Some(compared.choose(&mut run, &models, None, setting.first_pick())?);
            run.keep(&picks)?;
            run.end_round()?;
        }
        let favored = picks.first.unwrap_or(0);
        if favored >= panel.experts.len() {
            return Err(run.refused("a pick that names no expert"));
        }
        panel.favor(favored);
        for taken in singles.len() + 1..=resumed {
            let cost = schedule.next()?;
            schedule.advance(cost, panel.take(&run.measurements()[..taken], run.checks())?);
        }
        if picks.last.is_none() {
            run.fitted(panel.record());
        }

        // 3. Rounds as AIM's, on the driver's model.
        let candidates = Candidates { cliques: &cliques, relevance: &relevance, answers: &answers };
        while !schedule.left.is_zero() {
            let round = run.begin_round()?;
            let cost = schedule.next()?;
            run.plan(round.saturating_add(schedule.rounds_after()));
            let driver = panel.driver();
            let gain = setting.gain(driver.which);
            let share = match setting.regime {
                Regime::Coupled => schedule.spent_share_with(cost),
                _ => run.spent_share_with(cost.0.sum()),
            };
            let limit_mib = driver.limit_mib(self.size_limit_mib, share);
            let held = driver.cliques(run.measurements());
            let clique =
                candidates.choose(&mut run, &driver.model, &held, limit_mib, gain, cost)?;
            run.measure(clique, cost.0.measure)?;
            run.keep(&picks)?;
            run.end_round()?;
            schedule.advance(cost, panel.take(run.measurements(), run.checks())?);
            run.fitted(panel.record());
        }

        // 4. The published model.
        panel.wake(run.measurements(), run.checks())?;
        let (mut models, favorite) = finalists(&run, task, &panel, &setting, total)?;
        let favorite = favorite.filter(|_| setting.regime != Regime::Coupled);
        let published = if let (true, Some(favorite)) = (setting.last_pick().is_zero(), favorite) {
            favorite
        } else if let Some(published) = picks.last {
            published
        } else {
            let rho = run.remaining();
            let published = compared.choose(&mut run, &models, favorite, rho)?;
            picks.last = Some(published);
            run.keep(&picks)?;
            run.end_round()?;
            published
        };
        if published >= models.len() {
            return Err(run.refused("a pick that names no model"));
        }
        let sensitivity = ScoreSensitivity::mean_workload_error(run.relation()).value();
        let above_aim = setting.last_pick_bound(models.len(), sensitivity, total);
        let certificate = panel.certificate(published, run.checks())?;
        let published = models.swap_remove(published);
        let name = published.name;
        let mut release = run.finish(published.into_model(), certificate);
        if setting.regime != Regime::NoPublicTables {
            let contradicted = setting.has_base().then(|| panel.contradicted());
            release.public_trust = Some(PublicTrust { published: name, contradicted, above_aim });
        }
        Ok(release)
    }
}

impl AnchorPgm {
    /// The default T with public tables: four rounds an attribute.
    pub fn default_rounds(attributes: usize) -> u32 {
        parameters::count(attributes).saturating_mul(4)
    }

    /// `anchored`: whether there are public tables.
    fn rounds_of(&self, attributes: usize, anchored: bool) -> u32 {
        let by_leader = anchored && self.chooser == Chooser::Leader;
        let as_in_aim = parameters::sixteen_per_attribute;
        let default = if by_leader { Self::default_rounds } else { as_in_aim };
        self.rounds.unwrap_or_else(|| default(attributes))
    }

    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, EstimatorKind::default())
    }
}

/// The models that may be published, and the position of the favorite: a mixture with public records if there is one,
/// otherwise the model of the leading expert.
fn finalists(
    run: &Run<'_, '_>,
    task: &Task<'_>,
    panel: &Panel,
    setting: &Setting,
    total: f64,
) -> Result<(Vec<Candidate>, Option<usize>)> {
    let (mut models, mut favorite) = (panel.models(), Some(panel.leader()));
    models.extend(panel.base.iter().map(|base| Candidate {
        name: "the model of the public tables alone",
        form: Form::Graphical(base.model.clone()),
    }));
    let (public, checks) = (task.public, run.checks());
    let records = PublicRecords::fit(run.domain(), public, run.measurements(), total, checks)?;
    let Some(records) = records else { return Ok((models, favorite)) };
    if let (Some(base), Some(expert)) = (&panel.base, panel.believer())
        && let Some(mixed) =
            records.mixed_with(&expert.model, base, task, setting.beaten, checks)?
    {
        favorite = Some(models.len());
        models.push(Candidate {
            name: "the public records, reweighted and mixed with a fit",
            form: Form::Listed(mixed),
        });
    }
    models.extend(records.candidates());
    Ok((models, favorite))
}
