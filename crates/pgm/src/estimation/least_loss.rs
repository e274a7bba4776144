//! Bounds the least loss of all distributions from both sides: above, by a model close to the best one; below, by
//! quasi-Newton steps on the smoothed dual, which start at that model's gradient while the smoothing is reduced.

use std::ops::RangeInclusive;

use crate::Unstoppable;
use crate::error::Result;
use crate::estimation::smoothed_dual::SmoothedDual;
use crate::estimation::{AcceleratedBregman, Certificate, MarginalLoss, SquaredLoss};
use crate::inference::{BeliefPropagation, Interruptible};
use crate::table::Potentials;

/// Bounds on the least loss of any distribution.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastLoss {
    /// No distribution has a smaller loss, but for rounding (a part in 10⁹).
    pub lower_bound: f64,
    /// The loss of a distribution that was found.
    pub upper_bound: f64,
    /// Oracle calls made; each evaluation of the bound counts as one.
    pub oracle_calls: u32,
}

/// Fraction of the calls spent on a better model first.
const PRIMAL: (u64, u64) = (3, 10);
/// The first λ is this number times `N` over the distance between the two bounds.
const BLUR: f64 = 10.0;
/// Calls between two evaluations of the bound.
const LOOK: u32 = 20;
/// λ grows when the smoothed dual rose by less than a share of the distance between the bounds: the first share while the
/// distance exceeds [`Certificate::DOUBT_IN_NOISE`], the second afterwards ...
const SLOW: (f64, f64) = (0.1, 0.03);
/// ... by this factor, or by roots of it if the marginals then leave the range of linear space, ...
const GROWTH: f64 = 1.5;
/// ... down to this one. Then λ stays, and the search ends when, at its present pace, the calls that are left would close less
/// than a [`WORTHWHILE`] share of the distance.
const LEAST_GROWTH: f64 = 1.1;
/// Chosen by hand: decision 17.
const WORTHWHILE: f64 = 0.1;

impl LeastLoss {
    /// Target distance between the bounds, as a share of the loss's noise.
    pub const SHARE: f64 = 0.25;
    /// The same after the first number of calls.
    pub const LATE_SHARE: f64 = 2.0;

    /// Bounds the least loss. `near` holds the potentials of a model close to the best one; without it the search starts
    /// from the uniform distribution.
    ///
    /// The search ends when the bounds are within [`LeastLoss::SHARE`] of the loss's noise. `calls`: the number of oracle
    /// calls after which [`LeastLoss::LATE_SHARE`] is enough, and the number after which the search always ends.
    ///
    /// # Errors
    /// Potentials over other cliques than the loss's, or what the oracle reports.
    pub fn enclose(
        oracle: &BeliefPropagation,
        loss: &SquaredLoss,
        total: f64,
        near: Option<&Potentials>,
        calls: RangeInclusive<u32>,
    ) -> Result<Self> {
        let oracle = Interruptible { oracle, checks: &Unstoppable };
        Self::enclose_while(&oracle, loss, total, near, calls)
    }

    /// As [`enclose`](Self::enclose), on an oracle that can be stopped.
    ///
    /// # Errors
    /// As [`enclose`](Self::enclose), and [`Error::Interrupted`](crate::Error::Interrupted).
    pub fn enclose_while(
        oracle: &Interruptible<'_, BeliefPropagation>,
        loss: &SquaredLoss,
        total: f64,
        near: Option<&Potentials>,
        calls: RangeInclusive<u32>,
    ) -> Result<Self> {
        oracle.oracle.in_pool(|| Self::search(oracle, loss, total, near, calls))
    }

    fn search(
        oracle: &Interruptible<'_, BeliefPropagation>,
        loss: &SquaredLoss,
        total: f64,
        near: Option<&Potentials>,
        calls: RangeInclusive<u32>,
    ) -> Result<Self> {
        let (soft, calls) = calls.into_inner();
        // From above, as any fit.
        let first = part(calls, PRIMAL);
        let model = AcceleratedBregman::in_linear_space(oracle, loss, total, near, first)?;
        let (mut least, mut others) = (model.loss, model.oracle_calls + 1);
        // From below, beginning with its gradient.
        let mut gradient = vec![0.0; loss.layout().cells()];
        loss.gradient(model.marginals.values(), &mut gradient);
        let mut dual = SmoothedDual::new(oracle.oracle, loss, total, gradient);
        let mut bound = dual.ray()?.best(loss).max(loss.constant());
        let far = Certificate::DOUBT_IN_NOISE * loss.noise();
        let mut enough = Self::SHARE * loss.noise();
        let mut goes_on = least - bound > enough && dual.sharpen(BLUR * total / (least - bound))?;
        let mut is_sharpest = false;
        while goes_on && others + dual.calls() < calls {
            let before = dual.value();
            let end = dual.calls() + LOOK.min(calls - others - dual.calls());
            let mut moves = true;
            while moves && dual.calls() < end {
                oracle.checks.check()?;
                moves = dual.step()?;
            }
            let ray = dual.ray()?;
            others += 1;
            bound = bound.max(ray.best(loss));
            least = least.min(dual.loss());
            if others + dual.calls() >= soft {
                enough = Self::LATE_SHARE * loss.noise();
            }
            // A smoothed dual above the exact one has lost records to underflow.
            goes_on = least - bound > enough && dual.value() <= ray.here();
            let rise = (dual.value() - before) / (least - bound);
            let slow = if least - bound > far { SLOW.0 } else { SLOW.1 };
            if goes_on && is_sharpest {
                let left = calls.saturating_sub(others + dual.calls());
                goes_on = moves && rise * f64::from(left) / f64::from(LOOK) >= WORTHWHILE;
            } else if goes_on && (!moves || rise < slow) {
                is_sharpest = !sharpen(&mut dual)?;
            }
        }
        Ok(Self { lower_bound: bound, upper_bound: least, oracle_calls: others + dual.calls() })
    }
}

/// Raises λ; false if the marginals then leave the range of linear space.
fn sharpen(dual: &mut SmoothedDual<'_>) -> Result<bool> {
    let (before, mut growth) = (dual.sharpness(), GROWTH);
    while growth > LEAST_GROWTH {
        if dual.sharpen(growth * before)? {
            return Ok(true);
        }
        growth = growth.sqrt();
    }
    Ok(false)
}

/// A fraction of some calls.
fn part(calls: u32, (numerator, denominator): (u64, u64)) -> u32 {
    u32::try_from(u64::from(calls) * numerator / denominator).unwrap_or(calls)
}
