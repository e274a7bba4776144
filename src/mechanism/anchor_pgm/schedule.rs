//! What the rounds cost.

use crate::error::Result;
use crate::mechanism::Shares;
use crate::mechanism::annealing::Step;
use crate::privacy::Rho;

/// The costs of the rounds. They follow from the budget and the measurements, so a resumed run finds the same.
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
    /// Annealing leaves the budget for at least this many rounds: fits that shrink noise towards public tables hardly move, so
    /// AIM's rule alone would spend everything in a few rounds. 1: AIM's rule alone.
    least_left: u64,
}

impl Schedule {
    /// `singles`: ρ of all single attributes. `step`: the cost of the first round after them. `share`: that of a round's budget
    /// for the measurement.
    pub(super) fn new(budget: Rho, singles: Rho, step: Step, share: f64, least_left: u64) -> Self {
        let left = budget.checked_sub(singles).unwrap_or_default();
        Self { singles, left, budget, step, share, least_left }
    }

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
