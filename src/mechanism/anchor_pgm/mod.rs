//! Anchor-PGM: adaptive measurements of a model that is anchored at public tables.

mod base;
pub(super) mod chooser;
mod constants;
mod doubt;
mod expert;
mod mixture;
mod panel;
mod pick;
mod publish;
mod rows;
mod schedule;
mod setting;
mod steps;
mod trust;
mod unit_records;
mod whole_units;

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::EstimatorKind;
use crate::mechanism::graphical::Fitting;
use crate::mechanism::{
    Chooser, Mechanism, PlanFor, Release, RunPlan, Task, adaptive, annealing, parameters,
};
use crate::observe::Observer;
use crate::privacy::Curator;
pub(super) use chooser::PARAMETERS;
use constants::{MEASURE_SHARE, ROUNDS_PER_ATTRIBUTE};
use setting::Regime;
use steps::AnchorRun;

/// Anchor-PGM, this library's own mechanism for public tables that may be good or bad, or none.
///
/// Public data are never a target of the fit. A model of the public tables is the *base measure* that fits to noisy
/// measurements are pulled to, `½ Σ_r ‖n M_r p - y_r‖²/σ_r² + κ KL(p ‖ p_pub)`, where κ is the weight of the public data in
/// records. Two *experts* fit the same measurements: one is pulled to the public tables, by κ = m, the number of public
/// records, at most; the other, which knows no public table, to the independence of attributes, by κ = n at most.
///
/// ```text
/// 0. free:    fit the base p_pub: from independent attributes, greedily add public marginals that are further from the
///             model than their sampling error
/// 1. pay:     measure all single attributes; move both bases to what is now known of them; fit both experts
/// 2. repeat:  the expert charged least drives: choose a marginal r by its gain w_r e (1 - a/√(e² + a²)),
///             e = ‖M_r(D) - M_r(driver)‖₁, a = √(2/π) σ n_r; measure it; charge both experts for how badly they predicted
///             it; fit the contenders, κ_r by empirical Bayes; anneal as AIM does
/// 3. units:   if records are units with several members, pay 10 %: list the public units and a few drawn from the driver;
///             measure 15 tables of what units are made of, chosen by the gain over this list; reweight it to all measurements
/// 4. pay 2 %: fit the expert that rests; publish the best by mean workload error of: both experts, reweighted public
///             records, and these mixed with the driver in several shares, or those of step 3
/// ```
///
/// How far each measured marginal leans to a base is learned from how badly it and all others of as many attributes were
/// predicted (`trust.rs`): with public tables by its weight, with independence by shrinking it before the fit. One record changes the mean workload error of a model by Δ₁ = 2 at most, whatever the number of
/// marginals, so comparing whole models is cheap. Where n or the budget is so small that the choice of step 4 would be noise,
/// no budget is spent on it: half of it measures the single attributes, the experts are charged for these too, and the leader
/// is published, mixed with the public records if these are the better half. Where private measurements beat the public
/// tables on every marginal of use, and without public tables, the second expert drives alone. All of these are decided from
/// what is public or released: the budget, n, the public tables and the measurements (`docs/guide/mechanisms.md`).
///
/// Step 3 is for households with their members ([`Units::with_members`](crate::data::Units::with_members)), where the workload
/// has marginals of at most two members. It needs a public table with all attributes, and a choice that is paid for. Models are
/// then compared on all compositions ([`Compositions`](crate::query::Compositions)) as well, which matter as much as the
/// workload (`docs/adr/0054-households-are-compared-by-what-they-are-made-of.md`).
///
/// The number of records n is treated as in [`crate::mechanism::Aim`]. Proofs: `docs/theory/pull.md`,
/// `docs/theory/sensitivities.md`, `docs/theory/run.md`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AnchorPgm {
    /// T, which sets the cost of the first rounds, single attributes included; above the number of attributes. `None`:
    /// [`AnchorPgm::default_rounds`], or that of [`crate::mechanism::Aim`] where its expert chooses.
    pub rounds: Option<u32>,
    /// α, the share of a round's budget for the measurement; in (0, 1).
    pub measure_share: f64,
    /// Maximum size of the model, in MiB (8 bytes per cell of every maximal clique); reached only when the budget is
    /// spent.
    pub size_limit_mib: f64,
    /// Maximum number of oracle calls per fit of AIM's expert, with [`Chooser::Alone`]. Other fits end sooner.
    pub iterations: u32,
    /// Who chooses the marginals to measure.
    pub chooser: Chooser,
}

/// Steps 1 to 4 of [`AnchorPgm`].
fn led_by_the_best(mut run: AnchorRun<'_, '_>) -> Result<Release> {
    let is_scarce = run.regime() == Regime::Scarce;
    // 1. pay
    run.measure_singles()?;
    if is_scarce {
        run.charge_for_singles()?;
    }
    run.move_bases()?;
    run.fit_all()?;

    // 2. repeat
    let leader = loop {
        let driver = run.panel.charged_least();
        run.report(driver);
        if !run.has_rounds() {
            break driver;
        }
        run.measure_by_gain_of(driver)?;
        run.charge_all()?;
        run.fit_contenders()?;
        run.anneal(driver)?;
    };

    // 3. units with several members
    run.compose(leader)?;

    // 4. pay 2 %
    run.fit_resting()?;
    let (models, favorite) = run.finalists(leader)?;
    let is_paid = !run.setting.last_choice().is_zero();
    let published = if is_paid { run.choose_published(&models, Some(favorite))? } else { favorite };
    run.release(models, published)
}

/// With [`Chooser::Alone`]: the second expert is AIM, which is not pulled to anything, and the run is AIM's up to its last step.
///
/// ```text
/// 1. pay:     measure all single attributes; move the base; fit both experts
/// 2. repeat:  choose a marginal r by AIM's gain w_r (e - a); measure it; charge this expert; fit it; anneal as AIM does
/// 3. pay:     2 to 10 %: fit the other expert; publish the best as in `AnchorPgm`, without a head start; nothing without public
///             tables
/// ```
fn coupled_with_aim(mut run: AnchorRun<'_, '_>) -> Result<Release> {
    // 1. pay
    run.measure_singles()?;
    run.move_bases()?;
    run.fit_all()?;

    // 2. repeat
    let driver = run.panel.alone();
    run.report(driver);
    while run.has_rounds() {
        run.measure_by_gain_of(driver)?;
        run.charge(driver)?;
        run.fit(driver)?;
        run.anneal(driver)?;
        run.report(driver);
    }

    // 3. pay. The expert with public tables has seen none of the rounds.
    run.fit_resting()?;
    let (models, _) = run.finalists(0)?;
    let is_aim = models.len() == 1;
    let published = if is_aim { driver } else { run.choose_published(&models, None)? };
    run.release(models, published)
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
        let rounds = self.rounds_of(about.domain.len());
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
        // 0. free
        let run = AnchorRun::open(self, curator, task, observer)?;
        match run.regime() {
            Regime::Ample | Regime::Scarce => led_by_the_best(run),
            Regime::CoupledWithAim => coupled_with_aim(run),
        }
    }
}

impl Default for AnchorPgm {
    fn default() -> Self {
        Self {
            rounds: None,
            measure_share: MEASURE_SHARE,
            size_limit_mib: Fitting::SIZE_LIMIT_MIB,
            iterations: Fitting::ITERATIONS,
            chooser: Chooser::default(),
        }
    }
}

impl AnchorPgm {
    /// The default T where the leader chooses: four rounds an attribute.
    pub fn default_rounds(attributes: usize) -> u32 {
        parameters::count(attributes).saturating_mul(ROUNDS_PER_ATTRIBUTE)
    }

    fn rounds_of(&self, attributes: usize) -> u32 {
        self.rounds.unwrap_or_else(|| match self.chooser {
            Chooser::Leader => Self::default_rounds(attributes),
            Chooser::Alone => parameters::sixteen_per_attribute(attributes),
        })
    }

    fn fitting(&self) -> Fitting {
        Fitting::new(self.size_limit_mib, self.iterations, EstimatorKind::default())
    }
}
