//! The costs of rounds that get more precise as the model improves.

use crate::error::Result;
use crate::mechanism::Shares;
use crate::privacy::Rho;

/// Why a run may differ from its plan.
pub(super) const REMARK: &str =
    "Rounds get more expensive after rounds that taught little, so there are often fewer.";

/// The cost of a round: `1/(2σ²) Δ₂²` for measuring and `ε²/8` for choosing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Step(pub(super) Shares);

impl Step {
    /// One of T equal parts: `σ² = T Δ₂²/(2 α ρ)`, `ε² = 8 (1 - α) ρ / T`.
    pub(super) fn first(budget: Rho, rounds: u32, measure_share: f64) -> Result<Self> {
        let part = budget.split(1, rounds.into()).unwrap_or_default().0;
        Shares::of(part, measure_share).map(Self)
    }

    /// The cost of several measurements.
    pub(super) fn measure_times(self, measurements: usize) -> Rho {
        Rho::from_units(self.0.measure.units().saturating_mul(measurements as u64))
    }

    /// Halves σ and doubles ε.
    pub(super) fn annealed(self) -> Self {
        let times_four = |rho: Rho| Rho::from_units(rho.units().saturating_mul(4));
        Self(Shares { measure: times_four(self.0.measure), select: times_four(self.0.select) })
    }

    /// Anneals until a measurement costs at least `measure`.
    pub(super) fn raised_to(self, measure: Rho) -> Self {
        if self.0.measure < measure { self.annealed().raised_to(measure) } else { self }
    }

    /// This step, or everything that remains if that is less than two such steps.
    pub(super) fn or_all(self, remaining: Rho, measure_share: f64) -> Result<Self> {
        if remaining.units() >= self.0.sum().units().saturating_mul(2) {
            return Ok(self);
        }
        Shares::of(remaining, measure_share).map(Self)
    }

    /// The number of rounds after the next one, without further annealing.
    pub(super) fn rounds_after(self, remaining: Rho) -> u32 {
        let rounds = (remaining.units() / self.0.sum().units().max(1)).saturating_sub(1);
        u32::try_from(rounds).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
