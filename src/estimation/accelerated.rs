//! Accelerated Bregman proximal gradient with an exact acceptance test.

use crate::error::Result;
use crate::estimation::gauge::{Gauge, RECENTER};
use crate::estimation::{Estimate, Estimator, SquaredLoss, Stopping, Watch, spare_dead_cells};
use crate::inference::{BeliefPropagation, MarginalOracle};
use crate::table::{Marginals, Potentials};

/// The accelerated Bregman proximal gradient method (Hanzely, Richtarik & Xiao 2021) over distributions of the model,
/// with the negative entropy of the joint as mirror map: a proximal step subtracts a multiple of the gradient from
/// the potentials and calls the oracle.
///
/// With counts `μ = N M p` and `λ = L/N` a step from `z` to `z'` is accepted when
/// `½ Σ_r w_r ‖μ_r(z') - μ_r(z)‖² <= L KL(z' ‖ z)`, where the joint divergence
/// `KL(z' ‖ z) = <θ' - θ, μ(z')/N> - (A(θ') - A(θ))` comes from numbers already at hand. Returns `z`, whose potentials
/// are known, so that sampling from the fit is exact.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AcceleratedBregman {
    /// When to end.
    pub stopping: Stopping,
}

/// After an accepted step the smoothness estimate is relaxed by this factor.
const RELAXATION: f64 = 1.1;
/// The worst-case smoothness constant is this many times too careful, at least, in practice.
const FIRST_RELAXATION: f64 = 16.0;
/// Relative error of the divergence, which is a difference of numbers of the size of A.
const ROUNDING: f64 = 1e-14;

impl Estimator for AcceleratedBregman {
    fn estimate(
        &self,
        oracle: &BeliefPropagation,
        loss: &SquaredLoss,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate> {
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
        let mut middle = x.clone();
        let mut gradient = vec![0.0; layout.cells()];

        let mut smoothness = total * total * loss.total_weight() / FIRST_RELAXATION;
        // L_prev t_prev² of the last accepted step; before the first, t = 1.
        let mut momentum: Option<f64> = None;
        let mut gauge = None;
        let mut calls = 1;
        let mut value = loss.value(&z);
        let mut watch = Watch::new(self.stopping, loss, total, value);
        while !watch.is_over(calls, value) {
            // L t²/(1 - t) = L_prev t_prev².
            let t = momentum.map_or(1.0, |m| {
                let ratio = m / smoothness;
                0.5 * ((ratio * ratio + 4.0 * ratio).sqrt() - ratio)
            });
            for ((m, x), z) in middle.iter_mut().zip(&x).zip(z.values()) {
                *m = (1.0 - t) * x + t * z;
            }
            loss.gradient(&middle, &mut gradient);
            spare_dead_cells(z.values(), &mut gradient);
            let step = total / (t * smoothness);
            for ((n, p), g) in next.values_mut().iter_mut().zip(theta.values()).zip(&gradient) {
                *n = p - step * g;
            }
            let next_log = oracle.marginals(&next, total, &mut workspace, &mut next_z)?;
            calls += 1;
            let along: f64 = gradient.iter().zip(next_z.values()).map(|(g, m)| -step * g * m).sum();
            let rounding = ROUNDING * (along.abs() / total + next_log.abs() + log_partition.abs());
            let divergence = along / total - (next_log - log_partition);
            let moved = loss.half_distance(next_z.values(), z.values());
            if moved > smoothness * (divergence + rounding) {
                smoothness *= 2.0;
                if smoothness.is_finite() {
                    continue;
                }
                break;
            }
            for (x, z) in x.iter_mut().zip(next_z.values()) {
                *x = (1.0 - t) * *x + t * z;
            }
            std::mem::swap(&mut theta, &mut next);
            std::mem::swap(&mut z, &mut next_z);
            log_partition = next_log;
            momentum = Some(smoothness * t * t);
            smoothness /= RELAXATION;
            value = loss.value_at(&x);
            if calls % RECENTER == 0 && Gauge::is_due(&theta) {
                gauge.get_or_insert_with(|| Gauge::new(layout)).recenter(&mut theta, &z);
                log_partition = oracle.marginals(&theta, total, &mut workspace, &mut z)?;
                calls += 1;
            }
        }
        Ok(Estimate {
            loss: loss.value(&z),
            potentials: theta,
            marginals: z,
            log_partition,
            oracle_calls: calls,
        })
    }
}
