//! Entropic mirror descent on the marginal polytope.

use crate::error::Result;
use crate::estimation::certificate::DualBound;
use crate::estimation::gauge::{Gauge, RECENTER};
use crate::estimation::{Estimate, Estimator, MarginalLoss, Stopping, Watch, is_dying};
use crate::inference::MarginalOracle;
use crate::table::{Marginals, Potentials};

/// Proximal estimation with an Armijo line search (`McKenna`, Sheldon & Miklau 2019, Algorithm 1): `θ <- θ - a ∇L(μ)`,
/// accepted when `L(μ) - L(μ') >= (a/2) <∇L, μ - μ'>`; then `a` grows by one percent, otherwise it is halved.
///
/// The next step reuses the marginals of an accepted step, so each accepted iteration costs one oracle call.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MirrorDescent {
    /// When to end.
    pub stopping: Stopping,
}

/// Steps grow by this factor until the first is refused.
const FIRST_GROWTH: f64 = 2.0;
/// Steps grow by this factor afterwards.
const GROWTH: f64 = 1.01;

impl Estimator for MirrorDescent {
    fn estimate<O: MarginalOracle, L: MarginalLoss>(
        &self,
        oracle: &O,
        loss: &L,
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
        let mut mu = Marginals::zeros(layout);
        let mut next_mu = mu.clone();
        let mut gradient = vec![0.0; layout.cells()];

        let mut log_partition = oracle.marginals(&theta, total, &mut workspace, &mut mu)?;
        loss.gradient(mu.values(), &mut gradient);
        let mut misfit = loss.misfit(mu.values());
        let mut step = 1.0 / (total * loss.smoothness());
        let mut growth = FIRST_GROWTH;
        let mut gauge = None;
        let mut calls = 1;
        let mut watch = Watch::new(self.stopping, loss, total, misfit.value);
        let mut dual = DualBound::new(loss);
        loop {
            if watch.wants_certificate(calls) {
                dual.update(oracle, &mut workspace, loss, total)?;
            }
            if watch.is_over(calls, misfit, dual.lower_bound()) {
                break;
            }
            let cells = theta.values().iter().zip(&gradient).zip(mu.values());
            for (n, ((t, g), m)) in next.values_mut().iter_mut().zip(cells) {
                *n = if is_dying(*m, *g) { *t } else { t - step * g };
            }
            let next_log = oracle.marginals(&next, total, &mut workspace, &mut next_mu)?;
            calls += 1;
            let next_misfit = loss.misfit(next_mu.values());
            let along: f64 = gradient
                .iter()
                .zip(mu.values().iter().zip(next_mu.values()))
                .map(|(g, (m, n))| if is_dying(*m, *g) { 0.0 } else { g * (m - n) })
                .sum();
            if misfit.value - next_misfit.value >= 0.5 * step * along {
                dual.average(&gradient, step);
                std::mem::swap(&mut theta, &mut next);
                std::mem::swap(&mut mu, &mut next_mu);
                log_partition = next_log;
                misfit = next_misfit;
                loss.gradient(mu.values(), &mut gradient);
                step *= growth;
                if calls % RECENTER == 0 && Gauge::is_due(&theta) {
                    gauge.get_or_insert_with(|| Gauge::new(layout)).recenter(&mut theta, &mu);
                    log_partition = oracle.marginals(&theta, total, &mut workspace, &mut mu)?;
                    calls += 1;
                }
            } else {
                growth = GROWTH;
                step *= 0.5;
                if step < f64::MIN_POSITIVE {
                    break;
                }
            }
        }
        if self.stopping.certified_share > 0.0 {
            dual.update(oracle, &mut workspace, loss, total)?;
        }
        Ok(Estimate {
            potentials: theta,
            marginals: mu,
            loss: misfit.value,
            lower_bound: dual.lower_bound(),
            log_partition,
            oracle_calls: calls,
        })
    }
}
