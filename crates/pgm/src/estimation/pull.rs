//! The pull of a fit towards a base measure: `κ KL(p ‖ p₀)`, in addition to the loss.
//!
//! Potentials θ are relative to the base, `p ~ p₀ exp(Σ_r θ_r)`, and the oracle's log-partition value is that of p₀:
//! `A(0) = 0`. Then `KL(p ‖ p₀) = <θ, μ/N> - A(θ)`, and the mirror step with the term is exact: it shortens the new
//! potentials (`docs/theory/pull.md`).

use crate::error::{Error, Result};
use crate::estimation::certificate::DualBound;
use crate::estimation::{MarginalLoss, Misfit};
use crate::inference::MarginalOracle;
use crate::table::{Marginals, Potentials};

/// κ and N.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pull {
    /// κ, in records; 0: no pull.
    pub(super) strength: f64,
    /// N.
    pub(super) total: f64,
}

impl Pull {
    /// Checks κ.
    ///
    /// # Errors
    /// A κ that is negative or not finite.
    pub(super) fn new(strength: f64, total: f64) -> Result<Self> {
        if strength >= 0.0 && strength.is_finite() {
            return Ok(Self { strength, total });
        }
        Err(Error::invalid_parameter("pull", strength, "finite and at least 0"))
    }

    /// `κ KL(p ‖ p₀)`.
    fn value(self, theta: &Potentials, mu: &Marginals, log_partition: f64) -> f64 {
        let cells = theta.values().iter().zip(mu.values());
        // A cell without records may hold minus infinity.
        let along: f64 = cells.map(|(t, m)| if *m > 0.0 { t * m } else { 0.0 }).sum();
        self.strength * (along / self.total - log_partition).max(0.0)
    }

    /// Raises the lower bound: with a pull, to the value at the potentials that would be optimal for the marginals `mu`,
    /// `-(N/κ) ∇L(μ)`. The steps reach these slowly where different potentials have the same distribution.
    ///
    /// # Errors
    /// What the oracle reports.
    pub(super) fn update<O: MarginalOracle>(
        self,
        dual: &mut DualBound,
        oracle: &O,
        workspace: &mut O::Workspace,
        loss: &impl MarginalLoss,
        mu: &Marginals,
    ) -> Result<()> {
        if self.strength == 0.0 {
            return dual.update(oracle, workspace, loss, self.total);
        }
        let mut theta = Potentials::zeros(loss.layout());
        loss.gradient(mu.values(), theta.values_mut());
        let scale = -self.total / self.strength;
        theta.values_mut().iter_mut().for_each(|value| *value *= scale);
        let mut at_theta = mu.clone();
        // Potentials so far apart are mostly far from optimal: their bound would take long, and say nothing.
        let log_partition =
            oracle.marginals_if_fast(&theta, self.total, workspace, &mut at_theta)?;
        if let Some(log_partition) = log_partition {
            let mut misfit = loss.misfit(at_theta.values());
            dual.raise(self.join(&mut misfit, loss, &theta, &at_theta, log_partition));
        }
        Ok(())
    }

    /// The share of the new potentials that a mirror step with curvature `curvature` keeps.
    pub(super) fn kept(self, curvature: f64) -> f64 {
        if self.strength == 0.0 { 1.0 } else { curvature / (curvature + self.strength) }
    }

    /// Adds the pull at θ to the loss, and gives a number that the two together are never below.
    pub(super) fn join(
        self,
        misfit: &mut Misfit,
        loss: &impl MarginalLoss,
        theta: &Potentials,
        mu: &Marginals,
        log_partition: f64,
    ) -> f64 {
        if self.strength == 0.0 {
            return f64::NEG_INFINITY;
        }
        misfit.value += self.value(theta, mu, log_partition);
        let gap = loss.pulled_gap(mu.values(), theta.values(), self.strength / self.total);
        gap.map_or(f64::NEG_INFINITY, |gap| misfit.value - gap)
    }
}

#[cfg(test)]
mod tests;
