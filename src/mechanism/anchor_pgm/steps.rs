//! The steps that runs are made of: 0 to 3 of [`AnchorPgm`]; step 4 is in `publish.rs`.
//!
//! A resumed run goes through the same steps. It finds its choices and measurements where it would pay for them, and fits the
//! experts again.

use serde::{Deserialize, Serialize};

use crate::domain::Clique;
use crate::error::Result;
use crate::mechanism::adaptive::{self, Candidates};
use crate::mechanism::anchor_pgm::AnchorPgm;
use crate::mechanism::anchor_pgm::base::{Base, PublicMarginals};
use crate::mechanism::anchor_pgm::expert::Expert;
use crate::mechanism::anchor_pgm::panel::Panel;
use crate::mechanism::anchor_pgm::pick::{Candidate, ComparedMarginals};
use crate::mechanism::anchor_pgm::rows::whole;
use crate::mechanism::anchor_pgm::schedule::Schedule;
use crate::mechanism::anchor_pgm::setting::{Regime, Setting};
use crate::mechanism::anchor_pgm::unit_records::UnitRecords;
use crate::mechanism::anchor_pgm::whole_units::{Composing, WholeUnits, have_several_members};
use crate::mechanism::annealing::Step;
use crate::mechanism::{Mechanism, ModelState, Run, Task};
use crate::observe::Observer;
use crate::privacy::{Curator, Rho, SealedMarginals};

/// The outcome of the paid choice among models, which a checkpoint must keep; the models follow from the measurements.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Picks {
    pub(super) last: Option<usize>,
}

impl ModelState for Picks {
    const KIND: &'static str = "picks";
    const VERSION: u32 = 10;
}

/// A run in progress, with all that its steps need.
pub(super) struct AnchorRun<'r, 'c> {
    pub(super) run: Run<'r, 'c>,
    pub(super) task: Task<'r>,
    pub(super) setting: Setting,
    schedule: Schedule,
    pub(super) panel: Panel,
    /// n, or its paid estimate.
    pub(super) total: f64,
    size_limit_mib: f64,
    /// α.
    measure_share: f64,
    /// The closure of the workload. Single attributes come first.
    cliques: Vec<Clique>,
    /// The number of single attributes.
    singles: usize,
    /// `w_r` of each clique.
    relevance: Vec<f64>,
    /// The private marginals of all cliques.
    answers: SealedMarginals,
    pub(super) picks: Picks,
    /// What models are compared with besides the workload, where units have several members.
    whole_units: Option<WholeUnits>,
    /// Step 3.
    pub(super) units: Option<UnitRecords>,
    /// The number of measurements that the experts know. Beyond it are those that an interrupted run left.
    known: usize,
}

impl<'r, 'c> AnchorRun<'r, 'c> {
    /// Step 0: chooses the regime, and fits the base.
    pub(super) fn open(
        anchor: &AnchorPgm,
        curator: &'r mut Curator<'c>,
        task: &Task<'r>,
        observer: &'r mut dyn Observer,
    ) -> Result<Self> {
        let rounds = anchor.rounds_of(curator.domain().len());
        let cliques = task.workload.downward_closure();
        let singles = cliques.iter().take_while(|clique| clique.len() == 1).count();
        adaptive::check_rounds(anchor.name(), rounds, singles)?;
        let (fitting, size_limit_mib) = (anchor.fitting(), anchor.size_limit_mib);
        fitting.check_domain(curator.domain())?;
        let mut run = Run::open(anchor.name(), anchor, curator, task, observer)?;
        let picks = run.restored()?.unwrap_or_default();
        let total = run.total()?;

        let relevance = adaptive::relevance(task.workload, &cliques, run.domain());
        let public = PublicMarginals::count(task.public, &cliques)?;
        let (budget, records) = (run.budget(), public.total());
        let mut setting = Setting::new(budget, total, records, size_limit_mib, anchor.chooser);
        if have_several_members(run.unit()) && !whole(run.domain(), task.public).is_empty() {
            setting = setting.of_whole_units();
        }
        let schedule = setting.schedule(rounds, singles, anchor.measure_share)?;
        let mut base = None;
        if setting.has_base {
            run.fitting_public_tables();
            let (mib, checks) = (setting.base_mib, run.checks());
            base = Some(Base::build(run.domain(), &public, &relevance, mib, total, checks)?);
        }
        let panel = Panel::new(fitting, run.domain(), base, &setting, total)?;
        let answers = run.marginals(&cliques)?;
        let whole_units = if setting.has_compositions { WholeUnits::count(&run)? } else { None };
        run.start(rounds, cliques.len());
        Ok(Self {
            run,
            task: *task,
            setting,
            schedule,
            panel,
            total,
            size_limit_mib,
            measure_share: anchor.measure_share,
            cliques,
            singles,
            relevance,
            answers,
            picks,
            whole_units,
            units: None,
            known: 0,
        })
    }

    pub(super) fn regime(&self) -> Regime {
        self.setting.regime
    }

    /// Measures all single attributes.
    pub(super) fn measure_singles(&mut self) -> Result<()> {
        self.run.measure_each(&self.cliques[..self.singles], self.schedule.singles)?;
        self.known = self.singles;
        Ok(())
    }

    /// Moves the bases to what the single attributes say.
    pub(super) fn move_bases(&mut self) -> Result<()> {
        let singles = &self.run.measurements()[..self.singles];
        self.panel.move_bases(singles, self.run.checks())
    }

    /// Charges every expert for how badly it predicted the single attributes.
    pub(super) fn charge_for_singles(&mut self) -> Result<()> {
        let singles = &self.run.measurements()[..self.singles];
        singles.iter().try_for_each(|single| self.panel.charge_all(single))
    }

    /// Chooses a model by mean workload error. `favorite`: the one with a head start.
    pub(super) fn choose_model(
        &mut self,
        models: &[Candidate],
        favorite: Option<usize>,
        rho: Rho,
    ) -> Result<usize> {
        let compared = ComparedMarginals::new(
            self.task.workload,
            &self.cliques,
            &self.answers,
            self.whole_units.as_ref(),
        );
        compared.choose(&mut self.run, models, favorite, rho)
    }

    /// Whether there is a measurement to make, or one that an interrupted run has made.
    pub(super) fn has_rounds(&self) -> bool {
        self.is_replaying() || !self.schedule.left.is_zero()
    }

    /// Whether an interrupted run has made the next measurement.
    fn is_replaying(&self) -> bool {
        self.known < self.run.measurements().len()
    }

    /// Reports the fits after a round. `driver`: of the next one.
    pub(super) fn report(&mut self, driver: usize) {
        let is_later = self.run.tallied().len() > 0 || self.picks.last.is_some();
        let was_reported = self.is_replaying() || is_later;
        if !was_reported {
            self.run.fitted(self.panel.record(driver));
        }
    }

    /// Chooses a marginal by the driver's gain, and measures it.
    pub(super) fn measure_by_gain_of(&mut self, driver: usize) -> Result<()> {
        if !self.is_replaying() {
            let round = self.run.begin_round()?;
            let cost = self.schedule.next()?;
            let composed = self.whole_units.as_ref().map_or(0, WholeUnits::rounds);
            let after = self.schedule.rounds_after().saturating_add(composed);
            self.run.plan(round.saturating_add(after));
            let share = self.spent_share_with(cost);
            let driver = self.panel.expert(driver);
            let limit_mib = driver.limit_mib(self.size_limit_mib, share);
            let held = driver.cliques(self.run.measurements());
            let gain = self.setting.gain();
            let Self { run, cliques, relevance, answers, .. } = self;
            let candidates = Candidates { cliques, relevance, answers };
            let clique = candidates.choose(run, &driver.model, &held, limit_mib, gain, cost)?;
            run.measure(clique, cost.0.measure)?;
            run.keep(&self.picks)?;
            run.end_round()?;
        }
        self.known += 1;
        Ok(())
    }

    /// The share of the budget that is spent after a round of this cost: the size limit grows with it.
    fn spent_share_with(&self, cost: Step) -> f64 {
        let is_coupled = self.setting.regime == Regime::CoupledWithAim;
        if is_coupled && self.setting.has_base {
            // AIM has no last choice.
            self.schedule.spent_share_with(cost)
        } else {
            self.run.spent_share_with(cost.0.sum())
        }
    }

    /// Charges every expert for how badly it predicted the measurement.
    pub(super) fn charge_all(&mut self) -> Result<()> {
        let last = self.run.measurements()[..self.known].last();
        last.map_or(Ok(()), |last| self.panel.charge_all(last))
    }

    /// Charges one expert in the same way.
    pub(super) fn charge(&mut self, expert: usize) -> Result<()> {
        let last = self.run.measurements()[..self.known].last();
        last.map_or(Ok(()), |last| self.panel.charge(expert, last))
    }

    pub(super) fn fit_all(&mut self) -> Result<()> {
        self.fit_those(|_| true)
    }

    pub(super) fn fit(&mut self, expert: usize) -> Result<()> {
        let kind = self.panel.expert(expert).kind;
        self.fit_those(|expert| expert.kind == kind)
    }

    /// Fits the experts that are not far behind the leader; the others rest.
    pub(super) fn fit_contenders(&mut self) -> Result<()> {
        let most = self.panel.most_charge();
        self.fit_those(|expert| expert.charge <= most)
    }

    /// Step 3: measures compositions of units with several members, and reweights public units and some of an expert's fit.
    pub(super) fn compose(&mut self, expert: usize) -> Result<()> {
        let Some(whole_units) = &self.whole_units else { return Ok(()) };
        let tables = whole(self.run.domain(), self.task.public);
        let fit = &self.panel.expert(expert).model;
        let composing =
            Composing { rho: self.setting.compositions(), measure_share: self.measure_share };
        let Self { run, picks, .. } = self;
        let keep = |run: &mut Run<'_, '_>| run.keep(picks);
        self.units = Some(whole_units.measure(run, (&tables, fit), composing, keep)?);
        Ok(())
    }

    /// Fits the experts that rest.
    pub(super) fn fit_resting(&mut self) -> Result<()> {
        let known = self.known;
        self.fit_those(|expert| expert.fitted < known)
    }

    fn fit_those(&mut self, are_due: impl Fn(&Expert) -> bool) -> Result<()> {
        let known = &self.run.measurements()[..self.known];
        self.panel.fit_those(are_due, known, self.run.checks())
    }

    /// Ends the round. If its measurement told the driver nothing beyond noise, the next ones are dearer.
    pub(super) fn anneal(&mut self, driver: usize) -> Result<()> {
        let known = &self.run.measurements()[..self.known];
        let was_told_nothing = self.panel.expert(driver).was_told_nothing(known)?;
        let cost = self.schedule.next()?;
        self.schedule.advance(cost, was_told_nothing);
        Ok(())
    }
}
