//! The search for a lower bound: a dual point from a model close to the best one, and quasi-Newton steps from there.

use crate::error::Result;
use crate::estimation::certificate::Bound;
use crate::estimation::smoothed_dual::SmoothedDual;
use crate::estimation::{AcceleratedBregman, SquaredLoss, Stopping};
use crate::inference::{BeliefPropagation, MarginalOracle};
use crate::table::Potentials;

/// What is known of the least loss that any distribution has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LeastLoss {
    /// None is smaller.
    pub lower_bound: f64,
    /// A distribution has this one.
    pub upper_bound: f64,
    /// Oracle calls made, sweeps for the bound included.
    pub oracle_calls: u32,
}

fn tune(name: &str, default: f64) -> f64 {
    std::env::var(name).ok().and_then(|x| x.parse().ok()).unwrap_or(default)
}

impl LeastLoss {
    /// Encloses the least loss with at most so many oracle calls.
    ///
    /// # Errors
    /// What the oracle reports.
    pub fn enclose(
        oracle: &BeliefPropagation,
        loss: &SquaredLoss,
        total: f64,
        near: Option<&Potentials>,
        calls: u32,
    ) -> Result<Self> {
        oracle.in_pool(|| Self::run(oracle, loss, total, near, calls))
    }

    fn run(
        oracle: &BeliefPropagation,
        loss: &SquaredLoss,
        total: f64,
        near: Option<&Potentials>,
        calls: u32,
    ) -> Result<Self> {
        let verbose = tune("VERBOSE", 0.0) > 0.5;
        let noise = loss.noise();
        let t0 = std::time::Instant::now();
        let stopping = Stopping::after((f64::from(calls) * tune("SHARE", 0.5)) as u32);
        let patience = tune("PATIENCE", 10.0) as u32;
        let (first, averaged) =
            AcceleratedBregman { stopping, patience }.run_linear(oracle, loss, total, near)?;
        let mut least = first.loss;
        let mut calls_made = first.oracle_calls;
        let mut workspace = oracle.workspace();
        let mut g = vec![0.0; loss.layout().cells()];
        let point = if tune("AVERAGED", 0.0) > 0.5 { &averaged[..] } else { first.marginals.values() };
        loss.gradient(point, &mut g);
        let mut bound = Bound::new(loss);
        bound.look(oracle, &mut workspace, loss, total, &g)?;
        let start = tune("START", 10.0) * total / (least - bound.lower_bound());
        let mut dual = SmoothedDual::new(oracle, loss, total, workspace, g, first.marginals);
        if !dual.sharpen(start)? {
            if verbose { eprintln!("start out of range"); }
        }
        let look = tune("LOOK", 20.0) as u32;
        let mut next = look;
        let mut reference = dual.value();
        let mut looks = 1;
        while calls_made + dual.calls() + looks < calls {
            let moved = dual.step()?;
            if dual.calls() < next && moved { continue; }
            next = dual.calls() + look;
            let g = dual.point().to_vec();
            let now = bound.look(oracle, dual.workspace(), loss, total, &g)?;
            looks += 1;
            least = least.min(loss.value(dual.marginals()));
            let fell = reference - dual.value();
            reference = dual.value();
            if verbose {
                let top = g.iter().fold(0.0, |a: f64, b| a.max(b.abs())) * dual.sharpness();
                eprintln!("    calls {} lambda/(N/noise) {:.3} fell {:.3} bound slack {:.2} best {:.2} top {:.0} {:.2}s", calls_made + dual.calls() + looks, dual.sharpness() * noise / total, fell / noise, (least - now) / noise, (least - bound.lower_bound()) / noise, top, t0.elapsed().as_secs_f64());
            }
            if least - bound.lower_bound() <= 0.1 * noise { break; }
            let slack = least - bound.lower_bound();
            if !moved || fell < tune("TOL", 0.05) * slack {
                let mut factor = tune("GROW", 2.0);
                let old = dual.sharpness();
                while !dual.sharpen(old * factor)? { factor = factor.sqrt(); if verbose { eprintln!("    out of range"); } if factor < 1.1 { calls_made = calls; break; } }
                reference = dual.value();
                next = dual.calls() + look;
            }
        }
        calls_made += dual.calls() + looks;
        Ok(Self { lower_bound: bound.lower_bound(), upper_bound: least, oracle_calls: calls_made })
    }
}
