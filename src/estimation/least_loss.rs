//! The search for the least loss of all distributions, from both sides: a model close to the best one, and from its
//! gradient quasi-Newton steps on the smoothed dual, which is sharpened step by step.

use std::ops::RangeInclusive;

use crate::error::Result;
use crate::estimation::smoothed_dual::SmoothedDual;
use crate::estimation::{AcceleratedBregman, Certificate, SquaredLoss};
use crate::inference::BeliefPropagation;
use crate::table::Potentials;

/// What is known of the least loss that any distribution has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastLoss {
    /// No distribution has a smaller loss, but for rounding (a part in 10⁹).
    pub lower_bound: f64,
    /// A distribution was found that has this one.
    pub upper_bound: f64,
    /// Oracle calls made; a look at the bound counts as one.
    pub oracle_calls: u32,
}

/// Share of the calls that look for a better model first, as a fraction.
const PRIMAL: (u64, u64) = (3, 10);
/// The first λ makes the distance of the two sides so many times `N/λ`.
const BLUR: f64 = 10.0;
/// Calls between two looks at the bound.
const LOOK: u32 = 20;
/// λ grows when the smoothed dual rose by less than a share of what lies between the sides: the first while that is more
/// than [`Certificate::DOUBT_IN_NOISE`] allows, then the second ...
const SLOW: (f64, f64) = (0.1, 0.03);
/// ... by this factor, or by roots of it where that leaves the range of linear space, ...
const GROWTH: f64 = 1.5;
/// ... down to this one. Then λ stays, and the search ends when the rise is slower than this share.
const LEAST_GROWTH: f64 = 1.1;
const SLOWEST: f64 = 0.003;

impl LeastLoss {
    /// Share of the loss's noise to which the least loss is enclosed, where calls suffice.
    pub const SHARE: f64 = 0.25;
    /// The same once the first number of calls is spent.
    pub const LATE_SHARE: f64 = 2.0;

    /// Encloses the least loss. `near` are the potentials of a model that is close to the best one; without them the search
    /// starts from the uniform distribution.
    ///
    /// The search ends when the sides are within [`LeastLoss::SHARE`] of the loss's noise. `calls`: the oracle calls after
    /// which [`LeastLoss::LATE_SHARE`] is enough, and those after which it ends in any case.
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
        oracle.in_pool(|| Self::search(oracle, loss, total, near, calls))
    }

    fn search(
        oracle: &BeliefPropagation,
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
        let mut dual = SmoothedDual::new(oracle, loss, total, gradient);
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
                goes_on = moves && rise >= SLOWEST;
            } else if goes_on && (!moves || rise < slow) {
                is_sharpest = !sharpen(&mut dual)?;
            }
        }
        Ok(Self { lower_bound: bound, upper_bound: least, oracle_calls: others + dual.calls() })
    }
}

/// Raises λ; false where that leaves the range of linear space.
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
