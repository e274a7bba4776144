//! A lower bound on the loss of every distribution, so that a fit knows how far from optimal it may be.
//!
//! For any vector `g` over the measured cells, with weights `w` and targets `y`,
//!
//! ```text
//! L(μ) = c + Σ_r max_g { <g_r, μ_r - y_r> - ‖g_r‖²/(2 w_r) }  >=  c + <g, μ - y> - Σ_r ‖g_r‖²/(2 w_r)
//! ```
//!
//! and the least value of `<g, μ>` over the marginals of all distributions is `N min_x Σ_r g_r(x_r)`: one max-sum
//! sweep. The average of the gradients that an accelerated method has seen is a good `g`; its length is set exactly.
//! Proof: `docs/theory/certificate.md`.

use crate::error::Result;
use crate::estimation::SquaredLoss;
use crate::inference::{BeliefPropagation, BeliefWorkspace};
use crate::table::Potentials;

/// The running average of gradients, and the best bound found so far.
#[derive(Clone, Debug)]
pub(super) struct Certificate {
    mean: Potentials,
    weight: f64,
    negated: Potentials,
    lower_bound: f64,
}

impl Certificate {
    /// Knows that the loss is at least its constant part.
    pub(super) fn new(loss: &SquaredLoss) -> Self {
        let mean = Potentials::zeros(loss.layout());
        let lower_bound = loss.constant();
        Self { negated: mean.clone(), mean, weight: 0.0, lower_bound }
    }

    /// Takes in a gradient of the loss at some marginals.
    pub(super) fn average(&mut self, gradient: &[f64], weight: f64) {
        self.weight += weight;
        let share = weight / self.weight;
        for (m, g) in self.mean.values_mut().iter_mut().zip(gradient) {
            *m += share * (g - *m);
        }
    }

    /// The greatest lower bound so far.
    pub(super) fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// Raises the bound by what the average shows: one max-sum sweep.
    pub(super) fn update(
        &mut self,
        oracle: &BeliefPropagation,
        workspace: &mut BeliefWorkspace,
        loss: &SquaredLoss,
        total: f64,
    ) -> Result<()> {
        for (n, m) in self.negated.values_mut().iter_mut().zip(self.mean.values()) {
            *n = -m;
        }
        let least = -total * oracle.largest_log_weight(&self.negated, workspace)?;
        let (along, squares) = loss.dual_parts(self.mean.values());
        let slope = least - along;
        // Of all multiples of g, the one with slope / squares gives the highest bound.
        if slope > 0.0 && squares > 0.0 {
            let bound = loss.constant() + 0.5 * slope * slope / squares;
            if bound.is_finite() {
                self.lower_bound = self.lower_bound.max(bound);
            }
        }
        Ok(())
    }
}
