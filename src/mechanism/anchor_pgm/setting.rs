//! What a run does by rules that depend only on public numbers: the budget, n, and the size of the public tables.

use crate::error::Result;
use crate::mechanism::Shares;
use crate::mechanism::adaptive::Gain;
use crate::mechanism::anchor_pgm::Chooser;
use crate::mechanism::anchor_pgm::expert::AnchorExpert;
use crate::mechanism::annealing::Step;
use crate::privacy::Rho;

/// Percent of the budget for the choice of the first driver.
const FIRST_PICK: u64 = 1;
/// Percent of the budget for the choice of the published model.
const LAST_PICK: u64 = 2;
/// The unit of the last pick, as a mean error, above which picks would be noise.
const PICK_UNIT: f64 = 0.05;
/// The sensitivity by which the public rules judge picks, whatever the relation: that of replacing a record.
const REPLACED: f64 = 2.0;
/// The unit that the last pick of a coupled run aims at, for at most [`MOST_LAST_PICK`] percent of the budget.
const COUPLED_UNIT: f64 = 0.005;
const MOST_LAST_PICK: u64 = 10;
/// K* above which there is no base.
const MOST_BEATEN: f64 = 5e4;
/// Size limit of the base, in MiB, up to this K*. Above, it falls with the root of K*.
const BASE_MIB: f64 = 20.0;
const FEW_BEATEN: f64 = 100.0;
/// The base never takes more than this share of the size limit.
const BASE_SHARE: f64 = 0.25;

/// How a run uses its public tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regime {
    /// There are none: AIM.
    NoPublicTables,
    /// Private measurements beat the public tables on every marginal of use: a model of its own, and the public tables
    /// only in the last pick.
    Alone,
    /// Experts, driven and published by paid picks.
    Picked,
    /// The rounds of AIM, measurement by measurement. The public tables come in after them: experts, published by a paid
    /// pick.
    Coupled,
    /// As `Picked` where n or the budget is so small that picks would be noise: the expert that predicts the measurements
    /// best drives and is published.
    Predicted,
}

/// The public rules of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) regime: Regime,
    /// Size limit of the base, in MiB.
    pub(super) base_mib: f64,
    /// K* in units of [`FEW_BEATEN`]: how far private measurements beat the public records.
    pub(super) beaten: f64,
    /// Percent of the budget for the choice of the published model, in regimes that pay for it.
    last_pick: u64,
    budget: Rho,
}

impl Setting {
    /// `records`: m, of the public tables; 0 without any.
    pub(super) fn new(
        budget: Rho,
        total: f64,
        records: f64,
        limit_mib: f64,
        chooser: Chooser,
    ) -> Self {
        let rho = budget.to_f64();
        // K*: a marginal of this many cells has the same expected error from a twentieth of the budget as from m public
        // records.
        let beaten = 0.9 * rho * total * total / (20.0 * records.max(1.0));
        let unit_of = |percent: u64| pick_unit(rho * percent as f64 / 100.0, REPLACED, total);
        let mut last_pick = LAST_PICK;
        let regime = if records == 0.0 {
            Regime::NoPublicTables
        } else if chooser == Chooser::Alone {
            let is_enough = |percent: &u64| unit_of(*percent) <= COUPLED_UNIT;
            last_pick = (LAST_PICK..MOST_LAST_PICK).find(is_enough).unwrap_or(MOST_LAST_PICK);
            Regime::Coupled
        } else if unit_of(LAST_PICK) > PICK_UNIT {
            Regime::Predicted
        } else if beaten > MOST_BEATEN {
            Regime::Alone
        } else {
            Regime::Picked
        };
        let beaten = beaten / FEW_BEATEN;
        let base_mib = BASE_MIB * beaten.max(1.0).sqrt().recip();
        Self { regime, base_mib: base_mib.min(BASE_SHARE * limit_mib), beaten, last_pick, budget }
    }

    pub(super) fn has_base(&self) -> bool {
        matches!(self.regime, Regime::Picked | Regime::Predicted | Regime::Coupled)
    }

    /// ρ of the first pick.
    pub(super) fn first_pick(&self) -> Rho {
        if self.regime == Regime::Picked { self.percent(FIRST_PICK) } else { Rho::ZERO }
    }

    /// ρ of the last pick.
    pub(super) fn last_pick(&self) -> Rho {
        if matches!(self.regime, Regime::Picked | Regime::Alone | Regime::Coupled) {
            self.percent(self.last_pick)
        } else {
            Rho::ZERO
        }
    }

    /// What the published model is worse than the best of `models` by, at most, with a probability of 95 %: units of the last
    /// pick, whose scores have this sensitivity in counts. Only where no model has a head start.
    pub(super) fn last_pick_bound(
        &self,
        models: usize,
        sensitivity: f64,
        total: f64,
    ) -> Option<f64> {
        let unit = pick_unit(self.last_pick().to_f64(), sensitivity, total);
        (self.regime == Regime::Coupled).then(|| unit * ((models as f64).ln() + 20_f64.ln()))
    }

    /// ρ of all rounds, single attributes included.
    pub(super) fn rounds(&self) -> Rho {
        let picks = self.first_pick().units().saturating_add(self.last_pick().units());
        Rho::from_units(self.budget.units().saturating_sub(picks))
    }

    /// ρ of all single attributes, where it is not that of ordinary rounds: half of the budget.
    pub(super) fn singles(&self) -> Option<Rho> {
        let half = || self.budget.split(1, 2).unwrap_or_default().0;
        (self.regime == Regime::Predicted).then(half)
    }

    fn percent(&self, percent: u64) -> Rho {
        self.budget.split(percent, 100).unwrap_or_default().0
    }

    /// How a driver scores errors. The expert without public tables does as AIM does; but where private measurements beat
    /// the public tables, the gain of a shrunk fit is the better score for it too.
    pub(super) fn gain(&self, driver: AnchorExpert) -> Gain {
        match self.regime {
            Regime::Alone => Gain::Shrunk,
            _ if driver == AnchorExpert::Alone => Gain::AboveNoise,
            _ => Gain::Shrunk,
        }
    }

    /// The costs of the rounds. `rounds`: T, in which the budget of the rounds is split at first.
    pub(super) fn schedule(&self, rounds: u32, singles: usize, share: f64) -> Result<Schedule> {
        let budget = self.rounds();
        let step = Step::first(budget, rounds, share)?;
        let singles = self.singles().unwrap_or(step.measure_times(singles));
        let left = budget.checked_sub(singles).unwrap_or_default();
        let as_in_aim = matches!(self.regime, Regime::NoPublicTables | Regime::Coupled);
        let least_left = if as_in_aim { 1 } else { ROUNDS_LEFT };
        Ok(Schedule { singles, left, budget, step, share, least_left })
    }
}

/// The unit of a choice among models whose mean errors have a sensitivity Δ in counts, as a mean error: 2Δ/(n √(8ρ)). The model
/// chosen from k is worse than the best of them by more than (ln k + t) units with a probability of e^-t at most
/// (`docs/theory/run.md`, section 2).
fn pick_unit(rho: f64, sensitivity: f64, total: f64) -> f64 {
    2.0 * sensitivity / ((8.0 * rho).sqrt() * total)
}

/// Annealing leaves the budget for at least this many rounds, where there are public tables: fits that shrink noise
/// towards them hardly move, so AIM's rule alone would spend everything in a few rounds.
const ROUNDS_LEFT: u64 = 12;

/// What the rounds cost. It follows from the budget and the measurements, so a resumed run finds the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Schedule {
    /// ρ of all single attributes.
    pub(super) singles: Rho,
    /// ρ of all rounds to come.
    pub(super) left: Rho,
    /// ρ of all rounds, single attributes included.
    budget: Rho,
    step: Step,
    share: f64,
    least_left: u64,
}

impl Schedule {
    /// The cost of the next round.
    pub(super) fn next(&self) -> Result<Step> {
        self.step.or_all(self.left, self.share)
    }

    /// The share of the rounds' budget that is spent after a round of this cost.
    pub(super) fn spent_share_with(&self, cost: Step) -> f64 {
        let left = self.left.checked_sub(cost.0.sum()).unwrap_or_default();
        let spent = self.budget.checked_sub(left).unwrap_or_default();
        spent.to_f64() / self.budget.to_f64()
    }

    /// The number of rounds after the next one, without further annealing.
    pub(super) fn rounds_after(&self) -> u32 {
        self.step.rounds_after(self.left)
    }

    /// A round of this cost is over. Anneals if it told nothing.
    pub(super) fn advance(&mut self, cost: Step, told_nothing: bool) {
        self.left = self.left.checked_sub(cost.0.sum()).unwrap_or_default();
        if !told_nothing {
            return;
        }
        self.step = self.step.annealed();
        let most = self.left.split(1, self.least_left).unwrap_or_default().0;
        if self.least_left > 1 && self.step.0.sum() > most {
            let capped = Shares::of(most, self.share).ok().map(Step);
            self.step = capped.filter(|step| step.0.sum() > cost.0.sum()).unwrap_or(cost);
        }
    }
}

#[cfg(test)]
mod tests;
