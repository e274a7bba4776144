//! Accelerated Bregman proximal gradient with an exact acceptance test.

use crate::error::Result;
use crate::estimation::certificate::DualBound;
use crate::estimation::gauge::{Gauge, RECENTER};
use crate::estimation::pull::Pull;
use crate::estimation::{
    Descent, Estimate, Estimator, MarginalLoss, Misfit, Move, Points, SquaredLoss, Stopping, Watch,
};
use crate::inference::{BeliefPropagation, BeliefWorkspace, Interruptible, MarginalOracle};
use crate::table::{Marginals, Potentials};

/// The accelerated Bregman proximal gradient method (Hanzely, Richtarik & Xiao 2021) over distributions of the model,
/// with the negative entropy of the joint as mirror map: a proximal step subtracts a multiple of the gradient from
/// the potentials and calls the oracle.
///
/// With counts `μ = N M p` and `λ = L/N` a step from `z` to `z'` is accepted when
/// `½ Σ_r w_r ‖μ_r(z') - μ_r(z)‖² <= L KL(z' ‖ z)`, where the joint divergence
/// `KL(z' ‖ z) = <θ' - θ, μ(z')/N> - (A(θ') - A(θ))` comes from numbers already at hand.
///
/// The averaged iterate of the method has no potentials; the points `z` have, so that sampling from them is exact, but
/// their loss is not monotone. The best of them is kept and returned, and when ten calls have not improved on it, the
/// method starts again from there without momentum. That makes the returned model better than the averaged iterate
/// of the plain method after equally many calls (`docs/adr/0002-restarted-accelerated-fit.md`).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AcceleratedBregman {
    /// When to end.
    pub stopping: Stopping,
    /// Oracle calls without a better model after which the momentum is dropped. Short patience gives a better model
    /// sooner, long patience a tighter certificate.
    pub patience: u32,
    /// κ, at least 0: adds `κ KL(p ‖ p₀)` to the loss, where p₀ is the oracle's distribution for potentials of zero; the oracle's
    /// log-partition value must be 0 there. It pulls the fit towards p₀ about as strongly as κ records drawn from p₀ would
    /// (`docs/theory/pull.md`). There is then a proved lower bound at every step, which is exact at the optimum
    /// ([`MarginalLoss::pulled_gap`]), and `Estimate::loss` includes the new term.
    pub pull: f64,
}

impl Default for AcceleratedBregman {
    fn default() -> Self {
        Self { stopping: Stopping::default(), patience: Self::PATIENCE, pull: 0.0 }
    }
}

impl AcceleratedBregman {
    /// Patience for models that are fitted again soon.
    pub const PATIENCE: u32 = 10;
    /// Patience of a run that ends by its certificate.
    pub const CERTIFYING_PATIENCE: u32 = 40;
}

/// After an accepted step the smoothness estimate is relaxed by this factor.
const RELAXATION: f64 = 1.1;
/// Relative error of the divergence, which is a difference of numbers of the size of A.
const ROUNDING: f64 = 1e-14;

impl AcceleratedBregman {
    /// The best model after this number of oracle calls; ends early rather than continue in log space, which is slow.
    pub(super) fn in_linear_space(
        oracle: &Interruptible<'_, BeliefPropagation>,
        loss: &SquaredLoss,
        total: f64,
        warm_start: Option<&Potentials>,
        calls: u32,
    ) -> Result<Estimate> {
        let method = Self { stopping: Stopping::after(calls), ..Self::default() };
        let may_go_on = |workspace: &BeliefWorkspace| !workspace.has_left_linear_space();
        method.run(oracle, loss, total, warm_start, may_go_on)
    }

    /// The method. It ends as soon as `may_go_on` is false before a call.
    fn run<O: MarginalOracle>(
        &self,
        oracle: &O,
        loss: &impl MarginalLoss,
        total: f64,
        warm_start: Option<&Potentials>,
        may_go_on: impl Fn(&O::Workspace) -> bool,
    ) -> Result<Estimate> {
        let pull = Pull::new(self.pull, total)?;
        let layout = loss.layout();
        let mut workspace = oracle.workspace();
        let mut theta = match warm_start {
            Some(potentials) => potentials.expand(layout)?,
            None => Potentials::zeros(layout),
        };
        let mut next = theta.clone();
        let mut z = Marginals::zeros(layout);
        let mut next_z = z.clone();
        let mut log_partition = oracle.marginals(&theta, total, &mut workspace, &mut z)?;
        let mut x = z.values().to_vec();
        let mut gradient = vec![0.0; layout.cells()];

        // Every step passes the test with this one, but for rounding.
        let worst_case = total * total * loss.smoothness();
        let mut smoothness = loss.first_smoothness(total);
        // L_prev t_prev² of the last accepted step; before the first, t = 1.
        let mut momentum: Option<f64> = None;
        // How far x is to move to z before the next step.
        let mut averaged = 0.0;
        let mut gauge = None;
        let mut calls = 1;
        let mut misfit = loss.misfit(z.values());
        let mut dual = DualBound::new(loss);
        dual.raise(pull.join(&mut misfit, loss, &theta, &z, log_partition));
        let mut watch = Watch::new(self.stopping, loss, total, misfit.value);
        let mut best = Best {
            potentials: theta.clone(),
            marginals: z.clone(),
            log_partition,
            misfit,
            calls,
            is_current: true,
        };
        loop {
            if watch.wants_certificate(calls) {
                pull.update(&mut dual, oracle, &mut workspace, loss, best.seen(&z))?;
            }
            if watch.is_over(calls, best.misfit, dual.lower_bound()) || !may_go_on(&workspace) {
                break;
            }
            // L t²/(1 - t) = L_prev t_prev².
            let t = momentum.map_or(1.0, |m| {
                let ratio = m / smoothness;
                0.5 * ((ratio * ratio + 4.0 * ratio).sqrt() - ratio)
            });
            let (step, kept) = (total / (t * smoothness), pull.kept(t * smoothness));
            let descent = Descent { t, averaged, z: z.values(), theta: theta.values(), step, kept };
            loss.descend(descent, &mut x, &mut gradient, next.values_mut());
            averaged = 0.0;
            let next_log = oracle.marginals(&next, total, &mut workspace, &mut next_z)?;
            calls += 1;
            let points = Points {
                theta: theta.values(),
                next: next.values(),
                z: z.values(),
                next_z: next_z.values(),
            };
            let Move { along, moved, mut misfit } = loss.judge(points);
            let rounding = ROUNDING * (along.abs() / total + next_log.abs() + log_partition.abs());
            let divergence = along / total - (next_log - log_partition);
            if moved > smoothness * (divergence + rounding) && smoothness < worst_case {
                smoothness *= 2.0;
                continue;
            }
            if self.pull == 0.0 && self.stopping.certified_share > 0.0 {
                dual.average(&gradient, 1.0 / (t * smoothness));
            }
            averaged = t;
            std::mem::swap(&mut theta, &mut next);
            std::mem::swap(&mut z, &mut next_z);
            dual.raise(pull.join(&mut misfit, loss, &theta, &z, next_log));
            momentum = Some(smoothness * t * t);
            smoothness /= RELAXATION;
            if misfit.value < best.misfit.value {
                (best.misfit, best.calls, best.is_current) = (misfit, calls, true);
            } else if best.is_current {
                // The former point was the best one: its vectors are kept, and those kept so far are free.
                best.is_current = false;
                best.log_partition = log_partition;
                std::mem::swap(&mut best.potentials, &mut next);
                std::mem::swap(&mut best.marginals, &mut next_z);
            }
            log_partition = next_log;
            if calls - best.calls > self.patience {
                // The momentum carries it around the minimum: start again from the best model seen.
                theta.values_mut().copy_from_slice(best.potentials.values());
                z.values_mut().copy_from_slice(best.marginals.values());
                averaged = 1.0;
                log_partition = best.log_partition;
                momentum = None;
                (best.calls, best.is_current) = (calls, true);
            }
            // Moving means between tables would change the pull, which keeps potentials small by itself.
            if self.pull == 0.0 && calls % RECENTER == 0 && Gauge::is_due(&theta) {
                gauge.get_or_insert_with(|| Gauge::new(layout)).recenter(&mut theta, &z);
                log_partition = oracle.marginals(&theta, total, &mut workspace, &mut z)?;
                calls += 1;
            }
        }
        if self.stopping.certified_share > 0.0 {
            pull.update(&mut dual, oracle, &mut workspace, loss, best.seen(&z))?;
        }
        if best.is_current {
            (best.potentials, best.marginals, best.log_partition) = (theta, z, log_partition);
        }
        Ok(best.estimate(dual.lower_bound(), calls))
    }
}

impl Estimator for AcceleratedBregman {
    fn estimate<O: MarginalOracle, L: MarginalLoss>(
        &self,
        oracle: &O,
        loss: &L,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate> {
        oracle.together(|| self.run(oracle, loss, total, warm_start, |_| true))
    }
}

/// The model of least loss seen.
struct Best {
    /// Stale while the current point is the best one, as are the next two.
    potentials: Potentials,
    marginals: Marginals,
    log_partition: f64,
    misfit: Misfit,
    calls: u32,
    is_current: bool,
}

impl Best {
    /// Its marginals; `current`: those of the current point.
    fn seen<'a>(&'a self, current: &'a Marginals) -> &'a Marginals {
        if self.is_current { current } else { &self.marginals }
    }

    fn estimate(self, lower_bound: f64, oracle_calls: u32) -> Estimate {
        let Self { potentials, marginals, log_partition, misfit, .. } = self;
        let loss = misfit.value;
        Estimate { potentials, marginals, loss, lower_bound, log_partition, oracle_calls }
    }
}
