//! What a run does by rules that depend only on public numbers: the budget, n, and the size of the public tables.

use crate::error::Result;
use crate::mechanism::Chooser;
use crate::mechanism::Gain;
use crate::mechanism::anchor_pgm::constants::{
    BASE_SHARE, COMPOSED, COUPLED_UNIT, FAILS_ONE_IN, FEW_BEATEN, LARGEST_UNIT, LAST_CHOICE,
    MEASURE_SHARE, MOST_BEATEN, MOST_LAST_CHOICE, REPLACED, ROUNDS_LEFT, SINGLES,
};
use crate::mechanism::anchor_pgm::schedule::Schedule;
use crate::mechanism::annealing::Step;
use crate::privacy::Rho;

/// Which of the three mechanisms a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Regime {
    /// The default: the leader of the experts drives, and the choice of what is published is paid for.
    Ample,
    /// The default where n or the budget is so small that a paid choice would be noise.
    Scarce,
    /// The rounds of AIM, measurement by measurement. The public tables, if there are any, come in after them.
    CoupledWithAim,
}

/// The public rules of a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) regime: Regime,
    /// Whether there is a public base, and an expert over it besides [`ExpertKind::Alone`](crate::mechanism::ExpertKind::Alone).
    pub(super) has_base: bool,
    /// Size limit of the base, in MiB.
    pub(super) base_mib: f64,
    /// K* in units of [`FEW_BEATEN`]: how far private measurements beat the public records.
    pub(super) beaten: f64,
    /// m, of the public tables; 0 without any.
    pub(super) records: f64,
    /// Percent of the budget for the choice of the published model.
    last_choice: u64,
    /// Whether compositions of units are measured, and models compared on them.
    pub(super) has_compositions: bool,
    budget: Rho,
}

impl Setting {
    /// `total`: n. `records`: m.
    pub(super) fn new(
        budget: Rho,
        total: f64,
        records: f64,
        limit_mib: f64,
        chooser: Chooser,
    ) -> Self {
        let rho = budget.to_f64();
        // K*: a marginal of this many cells has the same expected error from the whole budget as from m public records.
        let beaten = MEASURE_SHARE * rho * total * total / records.max(1.0);
        let unit_of = |percent: u64| choice_unit(rho * percent as f64 / 100.0, REPLACED, total);
        let is_precise = |percent: &u64| unit_of(*percent) <= COUPLED_UNIT;

        let is_public = records > 0.0;
        // Private measurements beat the public tables on every marginal of use: their records are only a candidate of step 4.
        let has_base = is_public && (chooser == Chooser::Alone || beaten <= MOST_BEATEN);
        let regime = match chooser {
            Chooser::Alone => Regime::CoupledWithAim,
            Chooser::Leader if unit_of(LAST_CHOICE) > LARGEST_UNIT => Regime::Scarce,
            Chooser::Leader => Regime::Ample,
        };
        let last_choice = match regime {
            // Without public tables there is nothing to choose from.
            _ if !is_public => 0,
            Regime::Ample => LAST_CHOICE,
            Regime::Scarce => 0,
            Regime::CoupledWithAim => {
                let percent = (LAST_CHOICE..MOST_LAST_CHOICE).find(is_precise);
                percent.unwrap_or(MOST_LAST_CHOICE)
            }
        };

        let beaten = beaten / FEW_BEATEN;
        let base_mib = BASE_SHARE * limit_mib / beaten.max(1.0).sqrt();
        Self {
            regime,
            has_base,
            base_mib,
            beaten,
            records,
            last_choice,
            has_compositions: false,
            budget,
        }
    }

    /// The rules for units with several members, of which some public table has all attributes. They need a choice that is paid
    /// for.
    pub(super) fn of_whole_units(self) -> Self {
        Self { has_compositions: self.regime == Regime::Ample, ..self }
    }

    /// ρ of the choice of the published model; zero where the leader's is published.
    pub(super) fn last_choice(&self) -> Rho {
        self.percent(self.last_choice)
    }

    /// What the published model is worse than the best of `models` by, at most, with a probability of 95 %: units of the last
    /// choice, whose scores have this sensitivity in counts. Only where no model has a head start.
    pub(super) fn last_choice_bound(
        &self,
        models: usize,
        sensitivity: f64,
        total: f64,
    ) -> Option<f64> {
        let unit = choice_unit(self.last_choice().to_f64(), sensitivity, total);
        let units = (models as f64).ln() + FAILS_ONE_IN.ln();
        (self.regime == Regime::CoupledWithAim).then_some(unit * units)
    }

    /// ρ of all rounds, single attributes included.
    pub(super) fn rounds(&self) -> Rho {
        let others = self.last_choice().units().saturating_add(self.compositions().units());
        Rho::from_units(self.budget.units().saturating_sub(others))
    }

    /// ρ of the compositions of units.
    pub(super) fn compositions(&self) -> Rho {
        self.percent(if self.has_compositions { COMPOSED } else { 0 })
    }

    fn percent(&self, percent: u64) -> Rho {
        self.budget.split(percent, 100).unwrap_or_default().0
    }

    /// How a driver scores errors: as AIM does where the run is coupled with it, otherwise by the gain of a fit that is pulled.
    pub(super) fn gain(&self) -> Gain {
        match self.regime {
            Regime::CoupledWithAim => Gain::AboveNoise,
            Regime::Ample | Regime::Scarce => Gain::Shrunk,
        }
    }

    /// The costs of the rounds. `rounds`: T, in which the budget of the rounds is split at first.
    pub(super) fn schedule(&self, rounds: u32, singles: usize, share: f64) -> Result<Schedule> {
        let budget = self.rounds();
        let step = Step::first(budget, rounds, share)?;
        let least_left = match self.regime {
            Regime::CoupledWithAim => 1,
            // Few attributes have few dependences to measure.
            _ if self.records == 0.0 => ROUNDS_LEFT.min(singles as u64).max(1),
            _ => ROUNDS_LEFT,
        };
        let singles = match self.regime {
            Regime::Scarce => self.percent(SINGLES),
            _ => step.measure_times(singles),
        };
        Ok(Schedule::new(budget, singles, step, share, least_left))
    }
}

/// The unit of a choice among models whose mean errors have a sensitivity Δ in counts, as a mean error: 2Δ/(n √(8ρ)). The model
/// chosen from k is worse than the best of them by more than (ln k + t) units with a probability of e^-t at most
/// (`docs/theory/run.md`, section 2).
fn choice_unit(rho: f64, sensitivity: f64, total: f64) -> f64 {
    2.0 * sensitivity / ((8.0 * rho).sqrt() * total)
}

#[cfg(test)]
mod tests;
