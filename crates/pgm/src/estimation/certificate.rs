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

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::{MarginalLoss, Stopping, step};
use crate::inference::MarginalOracle;
use crate::table::Potentials;

/// What is known of a fit: its loss, and a loss that no distribution falls below.
///
/// Both are post-processing of noisy measurements and cost no privacy.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Loss of the model.
    pub loss: f64,
    /// The least loss of any model seen during the search for the bound; at most `loss`, because fits end at the noise
    /// level, before the minimum.
    pub least_loss: f64,
    /// No distribution has a smaller loss, but for rounding (a part in 10⁹).
    pub lower_bound: f64,
    /// Standard deviation of the loss at the true marginals from noise alone ([`MarginalLoss::noise`]); 0 when all
    /// measurements are public. A smaller gap is not distinguishable from none.
    pub noise: f64,
    /// How far the worst noisy measurement is from the model, in standard deviations beyond its noise
    /// (see `SquaredLoss::excess`). If it is at most [`Stopping::AGREEMENT`], no single measurement distinguishes the model
    /// from the truth, however large the gap.
    ///
    /// [`Stopping::AGREEMENT`]: crate::estimation::Stopping::AGREEMENT
    pub excess: f64,
}

impl Certificate {
    /// A bound is useful if its [`doubt`](Self::doubt) is at most this many standard deviations of the loss's noise ...
    pub const DOUBT_IN_NOISE: f64 = 5.0;
    /// ... or at most this share of the least loss.
    pub const DOUBT_IN_LOSS: f64 = 0.1;

    /// Whether the model is as close to every noisy measurement as the true marginals could be.
    pub fn agrees(&self) -> bool {
        self.excess <= Stopping::AGREEMENT
    }

    /// Upper bound on the difference between the loss and the least one.
    pub fn gap(&self) -> f64 {
        (self.loss - self.lower_bound).max(0.0)
    }

    /// The part of the gap that may be due to the bound rather than to the fit: the difference between the least loss
    /// seen and the bound. The rest of the gap is certainly the fit's.
    pub fn doubt(&self) -> f64 {
        (self.least_loss - self.lower_bound).max(0.0)
    }

    /// Whether the bound is too low to be useful: its doubt exceeds both [`Certificate::DOUBT_IN_NOISE`] and
    /// [`Certificate::DOUBT_IN_LOSS`]. Always false if no measurement has noise.
    pub fn says_nothing(&self) -> bool {
        self.noise > 0.0
            && self.doubt() > Self::DOUBT_IN_NOISE * self.noise
            && self.doubt() > Self::DOUBT_IN_LOSS * self.least_loss
    }

    /// The gap as a share of the loss; 0 for a loss of 0.
    pub fn relative_gap(&self) -> f64 {
        if self.loss > 0.0 { self.gap() / self.loss } else { 0.0 }
    }
}

/// A dual point, and the gradients seen since it was found.
#[derive(Clone, Debug)]
pub(super) struct DualBound {
    /// Weighted mean of all gradients.
    mean: Vec<f64>,
    weight: f64,
    /// Weighted mean of the gradients of the current window.
    window: Vec<f64>,
    window_weight: f64,
    /// The dual point of the bound, at its best length.
    point: Vec<f64>,
    lower_bound: f64,
    trial: Vec<f64>,
    negated: Potentials,
}

/// Sweeps that a search between the dual point and the window's mean may take.
const SEARCH: u32 = 4;
/// The golden section.
const SECTION: f64 = 0.618_033_988_749_895;

impl DualBound {
    /// Knows that the loss is at least its constant part.
    pub(super) fn new(loss: &impl MarginalLoss) -> Self {
        let zeros = vec![0.0; loss.layout().cells()];
        Self {
            mean: zeros.clone(),
            weight: 0.0,
            window: zeros.clone(),
            window_weight: 0.0,
            point: zeros.clone(),
            lower_bound: loss.floor(),
            trial: zeros,
            negated: Potentials::zeros(loss.layout()),
        }
    }

    /// Takes in a gradient of the loss at some marginals.
    pub(super) fn average(&mut self, gradient: &[f64], weight: f64) {
        self.weight += weight;
        self.window_weight += weight;
        let (share, window_share) = (weight / self.weight, weight / self.window_weight);
        step::average(&mut self.mean, gradient, share);
        step::average(&mut self.window, gradient, window_share);
    }

    /// Takes in a lower bound that was found elsewhere.
    pub(super) fn raise(&mut self, bound: f64) {
        self.lower_bound = self.lower_bound.max(bound);
    }

    /// The greatest lower bound so far.
    pub(super) fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// Raises the bound: searches the line between its dual point and the mean of the window, and opens a new window.
    pub(super) fn update<O: MarginalOracle>(
        &mut self,
        oracle: &O,
        workspace: &mut O::Workspace,
        loss: &impl MarginalLoss,
        total: f64,
    ) -> Result<()> {
        if self.window_weight == 0.0 {
            return Ok(());
        }
        self.window_weight = 0.0;
        self.trial.copy_from_slice(&self.mean);
        let (bound, length) = self.bound(oracle, workspace, loss, total)?;
        self.keep(bound, length);
        let mut bound_at = |this: &mut Self, share: f64| -> Result<(f64, f64)> {
            for ((t, p), w) in this.trial.iter_mut().zip(&this.point).zip(&this.window) {
                *t = p + share * (w - p);
            }
            this.bound(oracle, workspace, loss, total)
        };
        let (mut low, mut high) = (0.0, 1.0);
        let (mut left, mut right) = (1.0 - SECTION, SECTION);
        let mut at_left = bound_at(self, left)?.0;
        let mut at_right = bound_at(self, right)?.0;
        for _ in 0..SEARCH {
            if at_left > at_right {
                (high, right, at_right) = (right, left, at_left);
                left = high - SECTION * (high - low);
                at_left = bound_at(self, left)?.0;
            } else {
                (low, left, at_left) = (left, right, at_right);
                right = low + SECTION * (high - low);
                at_right = bound_at(self, right)?.0;
            }
        }
        let (bound, length) = bound_at(self, 0.5 * (low + high))?;
        self.keep(bound, length);
        Ok(())
    }

    /// Makes the trial point the dual point if its bound is higher.
    fn keep(&mut self, bound: f64, length: f64) {
        if bound > self.lower_bound {
            self.lower_bound = bound;
            for (p, t) in self.point.iter_mut().zip(&self.trial) {
                *p = length * t;
            }
        }
    }

    /// The bound of the trial point at its best length, and that length.
    fn bound<O: MarginalOracle>(
        &mut self,
        oracle: &O,
        workspace: &mut O::Workspace,
        loss: &impl MarginalLoss,
        total: f64,
    ) -> Result<(f64, f64)> {
        let negated = &mut self.negated;
        let ray = Ray::through(&self.trial, oracle, workspace, loss, total, negated)?;
        Ok((ray.best(loss), ray.length()))
    }
}

/// The dual along a ray: `D(a g) = c + a s - ½ a² q` for `a >= 0`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ray {
    /// `s = N min_x Σ_r g_r(x_r) - <g, y>`.
    slope: f64,
    /// `q = Σ_r ‖g_r‖²/w_r`.
    squares: f64,
}

impl Ray {
    /// The ray through a point: one max-sum sweep. `scratch` is overwritten. Where oracle or loss give no bound, it says
    /// nothing.
    pub(super) fn through<O: MarginalOracle>(
        g: &[f64],
        oracle: &O,
        workspace: &mut O::Workspace,
        loss: &impl MarginalLoss,
        total: f64,
        scratch: &mut Potentials,
    ) -> Result<Self> {
        for (n, g) in scratch.values_mut().iter_mut().zip(g) {
            *n = -g;
        }
        let largest = oracle.largest_log_weight(scratch, workspace)?;
        let Some((largest, (along, squares))) = largest.zip(loss.dual_parts(g)) else {
            return Ok(Self { slope: 0.0, squares: 0.0 });
        };
        Ok(Self { slope: -total * largest - along, squares })
    }

    /// D at the point itself, but for c.
    pub(super) fn here(&self) -> f64 {
        self.slope - 0.5 * self.squares
    }

    /// Where D is largest, as a multiple of the point.
    fn length(&self) -> f64 {
        let length = self.slope / self.squares;
        if self.slope > 0.0 && self.squares > 0.0 && length.is_finite() { length } else { 0.0 }
    }

    /// The greatest bound of the ray.
    pub(super) fn best(&self, loss: &impl MarginalLoss) -> f64 {
        let rise = 0.5 * self.slope * self.slope / self.squares;
        loss.floor() + if self.length() > 0.0 && rise.is_finite() { rise } else { 0.0 }
    }
}
