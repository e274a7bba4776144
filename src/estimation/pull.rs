//! The pull of a fit towards a base measure: `κ KL(p ‖ p₀)`, in addition to the loss.
//!
//! Potentials θ are relative to the base, `p ~ p₀ exp(Σ_r θ_r)`, and the oracle's log-partition value is that of p₀:
//! `A(0) = 0`. Then `KL(p ‖ p₀) = <θ, μ/N> - A(θ)`, and the mirror step with the term is exact: it shortens the new
//! potentials (`docs/theory/pull.md`).

use crate::estimation::MarginalLoss;
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
    /// `κ KL(p ‖ p₀)`.
    pub(super) fn value(self, theta: &Potentials, mu: &Marginals, log_partition: f64) -> f64 {
        if self.strength == 0.0 {
            return 0.0;
        }
        let cells = theta.values().iter().zip(mu.values());
        let along: f64 = cells.map(|(t, m)| t * m).sum();
        self.strength * (along / self.total - log_partition).max(0.0)
    }

    /// The share of the new potentials that a mirror step with curvature `curvature` keeps.
    pub(super) fn kept(self, curvature: f64) -> f64 {
        if self.strength == 0.0 { 1.0 } else { curvature / (curvature + self.strength) }
    }

    /// A number that the loss and the pull together are never below; `value` is theirs at θ.
    pub(super) fn lower_bound(
        self,
        loss: &impl MarginalLoss,
        theta: &Potentials,
        mu: &Marginals,
        value: f64,
    ) -> f64 {
        if self.strength == 0.0 {
            return f64::NEG_INFINITY;
        }
        let gap = loss.pulled_gap(mu.values(), theta.values(), self.strength / self.total);
        gap.map_or(f64::NEG_INFINITY, |gap| value - gap)
    }
}
