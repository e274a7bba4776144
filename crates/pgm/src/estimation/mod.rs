//! Estimation: one distribution fitted to all measurements.

mod accelerated;
mod certificate;
mod dual_quasi_newton;
mod gauge;
mod kind;
mod least_loss;
mod loss;
mod mirror_descent;
mod pull;
mod quasi_newton;
mod smoothed_dual;
mod step;
mod target;
mod target_loss;
mod under_totals;

pub use accelerated::AcceleratedBregman;
pub use certificate::Certificate;
pub use dual_quasi_newton::DualQuasiNewton;
pub use kind::EstimatorKind;
pub use least_loss::LeastLoss;
pub use loss::{MarginalLoss, Misfit, SquaredLoss, Weighting};
pub use mirror_descent::MirrorDescent;
pub use step::{Descent, Move, Points};
pub use target::{Target, Targets};
pub use target_loss::TargetLoss;
pub use under_totals::{UnderTotals, UnderTotalsWorkspace, raked_weights};

use crate::error::Result;
use crate::inference::MarginalOracle;
use crate::table::{Marginals, Potentials};

/// A fitted model.
#[derive(Clone, Debug)]
pub struct Estimate {
    /// Log-potentials θ on the measured cliques.
    pub potentials: Potentials,
    /// The marginals μ of the fitted distribution on the measured cliques, in counts.
    pub marginals: Marginals,
    /// Value of the loss at μ.
    pub loss: f64,
    /// No distribution has a smaller loss than this: proved by a dual point, whatever the optimiser did. Hardly useful
    /// where [`Stopping::certified_share`] is 0.
    pub lower_bound: f64,
    /// Log-partition value A(θ).
    pub log_partition: f64,
    /// Oracle calls made.
    pub oracle_calls: u32,
}

impl Estimate {
    /// How far the loss is from optimal, at most.
    pub fn certified_gap(&self) -> f64 {
        (self.loss - self.lower_bound).max(0.0)
    }
}

/// When a fit ends: after a number of oracle calls, as soon as the loss hardly falls any more, or as soon as it is known to
/// be close to the least one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stopping {
    /// Most oracle calls (iterations of the papers).
    pub iterations: u32,
    /// The fit also ends when the loss fell by less than this fraction of itself over [`Stopping::WINDOW`] calls.
    pub relative_decrease: f64,
    /// The fit also ends when the loss fell by less than if one marginal had moved by this share of the records
    /// (L2 norm).
    pub marginal_share: f64,
    /// The fit also ends when the loss fell by less than this share of its standard deviation from noise
    /// ([`SquaredLoss::noise`]).
    pub noise_share: f64,
    /// The fit also ends when every measured clique agrees with its measurement: its share of the loss is at most this number of
    /// standard deviations above what is expected of it at the true marginals. Below 0: not for that reason.
    pub agreement: f64,
    /// The fit also ends when the loss is certified to be above the least one by no more than this share of its
    /// standard deviation from noise. 0: no bound is computed.
    pub certified_share: f64,
}

impl Stopping {
    /// Standard deviations above its expected value within which a clique agrees with its measurement.
    pub const AGREEMENT: f64 = 2.0;

    /// Oracle calls between two looks at the decrease.
    pub const WINDOW: u32 = 25;

    /// Oracle calls between two looks at the certificate, which costs about half a call.
    pub const CERTIFY: u32 = 50;

    /// Runs all iterations.
    pub fn after(iterations: u32) -> Self {
        Self {
            iterations,
            relative_decrease: 0.0,
            marginal_share: 0.0,
            noise_share: 0.0,
            agreement: -1.0,
            certified_share: 0.0,
        }
    }

    /// The same, with another number of oracle calls at most.
    #[must_use]
    pub fn at_most(self, iterations: u32) -> Self {
        Self { iterations, ..self }
    }

    /// Runs until the loss is certified to be within this share of its noise, or to the last iteration.
    pub fn certified(share: f64, iterations: u32) -> Self {
        Self { certified_share: share, ..Self::after(iterations) }
    }
}

impl Default for Stopping {
    fn default() -> Self {
        Self {
            iterations: 1000,
            relative_decrease: 1e-3,
            marginal_share: 1e-4,
            noise_share: 0.5,
            agreement: Self::AGREEMENT,
            certified_share: 0.0,
        }
    }
}

/// Watches a loss for the end of its decrease.
#[derive(Clone, Copy, Debug)]
struct Watch {
    stopping: Stopping,
    least_decrease: f64,
    certified: f64,
    reference: f64,
    next: u32,
    next_certificate: u32,
}

impl Watch {
    fn new(stopping: Stopping, loss: &impl MarginalLoss, total: f64, value: f64) -> Self {
        let moved = stopping.marginal_share * total;
        let least_decrease =
            (0.5 * loss.largest_weight() * moved * moved).max(stopping.noise_share * loss.noise());
        Self {
            stopping,
            least_decrease,
            certified: stopping.certified_share * loss.noise(),
            reference: value,
            next: Stopping::WINDOW,
            next_certificate: Stopping::CERTIFY,
        }
    }

    /// Whether the lower bound is to be brought up to date after `calls` oracle calls.
    fn wants_certificate(&mut self, calls: u32) -> bool {
        let due = self.stopping.certified_share > 0.0 && calls >= self.next_certificate;
        if due {
            self.next_certificate = calls + Stopping::CERTIFY;
        }
        due
    }

    /// Whether the fit is over after `calls` oracle calls, with such a misfit and a loss of at least `lower_bound`.
    fn is_over(&mut self, calls: u32, misfit: Misfit, lower_bound: f64) -> bool {
        let Misfit { value, excess } = misfit;
        if calls >= self.stopping.iterations
            || value - lower_bound <= self.certified
            || excess <= self.stopping.agreement
        {
            return true;
        }
        if calls < self.next {
            return false;
        }
        let decrease = self.reference - value;
        self.reference = value;
        self.next = calls + Stopping::WINDOW;
        let least = self.least_decrease.max(self.stopping.relative_decrease * value.abs());
        least > 0.0 && decrease < least
    }
}

/// Expected records below which a cell counts as empty.
const DEAD_CELL: f64 = 1e-8;

/// Whether a cell is all but empty and should shrink further. Such cells are left alone.
///
/// Noise makes targets negative, and their potentials would fall for ever: no visible change of the marginals, but
/// numbers so far apart that others have to make up for them, until sums lose their digits.
#[inline]
fn is_dying(mu: f64, gradient: f64) -> bool {
    mu < DEAD_CELL && gradient > 0.0
}

/// Fits the distribution of the exponential family whose marginals minimize a loss.
///
/// An estimator takes any oracle and any convex loss of the marginals.
pub trait Estimator {
    /// Minimizes `loss` over the marginals of distributions with this total, from `warm_start` or from the uniform
    /// distribution. `oracle` must be one for the cliques of the loss.
    ///
    /// # Errors
    /// A warm start over other cliques than the loss's, or what the oracle reports.
    fn estimate<O: MarginalOracle, L: MarginalLoss>(
        &self,
        oracle: &O,
        loss: &L,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate>;
}

#[cfg(test)]
mod tests;
