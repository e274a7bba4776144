//! The smoothed dual of a fit and its maximization.
//!
//! ```text
//! D_λ(g) = c - (N/λ) ln Σ_x exp(-λ Σ_r g_r(x_r)) - <g, y> - Σ_r ‖g_r‖²/(2 w_r)
//! ```
//!
//! is smooth, at most the bound `D(g)`, and below it by at most `(N/λ) ln |X|`. Its gradient is one oracle call:
//! `∇D_λ = μ(-λ g) - y - g/w`. Proof: `docs/theory/certificate.md`.

use crate::domain::Clique;
use crate::error::Result;
use crate::estimation::SquaredLoss;
use crate::estimation::certificate::Ray;
use crate::estimation::gauge::Gauge;
use crate::estimation::quasi_newton::{Memory, add, dot};
use crate::inference::{BeliefPropagation, BeliefWorkspace, MarginalOracle};
use crate::table::{Marginals, Potentials};

/// A dual point that quasi-Newton steps on `c - D_λ` improve.
#[derive(Debug)]
pub(super) struct SmoothedDual<'a> {
    oracle: &'a BeliefPropagation,
    loss: &'a SquaredLoss,
    total: f64,
    workspace: BeliefWorkspace,
    /// 1/w of each cell.
    variances: Vec<f64>,
    /// λ.
    sharpness: f64,
    gauge: Gauge,
    /// Added to `-g`: leaves the distribution unchanged and keeps potentials near zero where it is largest.
    shift: Vec<f64>,
    /// Cliques contained in no other measured clique.
    maximal: Vec<usize>,
    /// Added to all potentials of these.
    lift: f64,
    memory: Memory,
    /// The Hessian's diagonal when λ was set, without the covariances of cells.
    diagonal: Vec<f64>,
    at: Point,
    trial: Point,
    direction: Vec<f64>,
    theta: Potentials,
    /// Marginals from the last oracle call.
    mu: Marginals,
    calls: u32,
}

/// A dual point with `c - D_λ` and its gradient.
#[derive(Clone, Debug)]
struct Point {
    g: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A step is accepted if it achieves this share of the decrease that the slope predicts (Armijo).
const PROMISED: f64 = 1e-4;
/// Lengths of a step that are tried.
const TRIES: u32 = 20;
/// What a step that leaves the range of linear space is shortened to.
const RETREAT: f64 = 0.25;
/// Passes of the gauge over all pairs of tables, at first and later.
const PASSES: (u32, u32) = (30, 5);
/// What the largest potential of a table is raised to, tried in this order. Where tables are at odds with each other, the
/// largest product of all is far below the product of their largest numbers.
const LIFTS: [f64; 3] = [0.0, 50.0, 95.0];

impl<'a> SmoothedDual<'a> {
    /// Starts at a point. No step can be taken before λ is set.
    pub(super) fn new(
        oracle: &'a BeliefPropagation,
        loss: &'a SquaredLoss,
        total: f64,
        g: Vec<f64>,
    ) -> Self {
        let layout = loss.layout();
        let zeros = vec![0.0; layout.cells()];
        let mut variances = zeros.clone();
        for (weight, range) in loss.parts() {
            variances[range].fill(1.0 / weight);
        }
        let at = Point { g, value: 0.0, gradient: zeros.clone() };
        let mut start = Self {
            oracle,
            loss,
            total,
            workspace: oracle.workspace(),
            variances,
            sharpness: 0.0,
            gauge: Gauge::new(layout),
            shift: zeros.clone(),
            maximal: maximal(layout.cliques()),
            lift: 0.0,
            memory: Memory::new(),
            diagonal: zeros.clone(),
            trial: at.clone(),
            at,
            direction: zeros,
            theta: Potentials::zeros(layout),
            mu: Marginals::zeros(layout),
            calls: 0,
        };
        start.level(PASSES.0);
        start
    }

    /// Sets λ and forgets the steps so far. False, and nothing done, when the point is out of the range of linear space there.
    pub(super) fn sharpen(&mut self, sharpness: f64) -> Result<bool> {
        self.level(PASSES.1);
        self.trial.g.copy_from_slice(&self.at.g);
        let before = (self.sharpness, self.lift);
        for lift in LIFTS {
            (self.sharpness, self.lift) = (sharpness, lift);
            if self.evaluate()? {
                std::mem::swap(&mut self.at, &mut self.trial);
                self.memory.clear();
                let cells = self.diagonal.iter_mut().zip(&self.variances).zip(self.mu.values());
                cells.for_each(|((d, variance), mu)| *d = variance + sharpness * mu);
                return Ok(true);
            }
        }
        (self.sharpness, self.lift) = before;
        Ok(false)
    }

    /// Moves the point by one quasi-Newton step; false when none is found.
    pub(super) fn step(&mut self) -> Result<bool> {
        self.direction.copy_from_slice(&self.at.gradient);
        self.memory.precondition(&self.diagonal, &mut self.direction);
        let slope = -dot(&self.direction, &self.at.gradient);
        let mut length = 1.0;
        for _ in 0..TRIES {
            self.trial.g.copy_from_slice(&self.at.g);
            add(&mut self.trial.g, -length, &self.direction);
            if !self.evaluate()? {
                length *= RETREAT;
                continue;
            }
            let rise = self.trial.value - self.at.value;
            if rise <= PROMISED * length * slope {
                let points = [&self.at.g[..], &self.trial.g];
                self.memory.learn(points, [&self.at.gradient, &self.trial.gradient]);
                std::mem::swap(&mut self.at, &mut self.trial);
                return Ok(true);
            }
            // Where the parabola through both values is least.
            let least = -0.5 * slope * length * length / (rise - slope * length);
            length = least.clamp(0.1 * length, 0.5 * length);
        }
        Ok(false)
    }

    /// The trial point's value and gradient; false when it is out of the range of linear space.
    fn evaluate(&mut self) -> Result<bool> {
        self.calls += 1;
        let Self { oracle, loss, workspace, theta, mu, trial, .. } = self;
        let cells = theta.values_mut().iter_mut().zip(&trial.g).zip(&self.shift);
        cells.for_each(|((t, g), shift)| *t = self.sharpness * (shift - g));
        for index in &self.maximal {
            theta.table_mut(*index).iter_mut().for_each(|t| *t += self.lift);
        }
        let Some(shifted) = oracle.marginals_if_fast(theta, self.total, workspace, mu)? else {
            return Ok(false);
        };
        // What was added to the potentials of a record, the same for all: of the first one, say.
        let firsts = loss.parts().map(|(_, range)| self.shift[range.start]);
        let added = self.sharpness * firsts.sum::<f64>() + self.lift * self.maximal.len() as f64;
        let (along, squares) = loss.along_and_squares(&trial.g);
        trial.value = self.total / self.sharpness * (shifted - added) + along + 0.5 * squares;
        let known = loss.targets().iter().zip(&self.variances).zip(mu.values());
        let slopes = trial.gradient.iter_mut().zip(&trial.g).zip(known);
        slopes.for_each(|((slope, g), ((y, variance), mu))| *slope = y + variance * g - mu);
        Ok(trial.value.is_finite())
    }

    /// Brings the potentials of the point near zero where its distribution is largest.
    fn level(&mut self, passes: u32) {
        let cells = self.theta.values_mut().iter_mut().zip(&self.at.g).zip(&self.shift);
        cells.for_each(|((t, g), shift)| *t = shift - g);
        self.gauge.level(&mut self.theta, passes);
        let cells = self.shift.iter_mut().zip(self.theta.values()).zip(&self.at.g);
        cells.for_each(|((shift, t), g)| *shift = t + g);
    }

    /// The exact dual on the ray through the point.
    pub(super) fn ray(&mut self) -> Result<Ray> {
        let Self { oracle, loss, total, workspace, at, theta, .. } = self;
        Ray::through(&at.g, *oracle, workspace, *loss, *total, theta)
    }

    /// The smoothed dual at the point, but for c.
    pub(super) fn value(&self) -> f64 {
        -self.at.value
    }

    /// λ.
    pub(super) fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// Loss of the last distribution that the oracle was asked for.
    pub(super) fn loss(&self) -> f64 {
        self.loss.value(&self.mu)
    }

    /// Oracle calls made.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }
}

/// Positions of the cliques that are part of no other one.
fn maximal(cliques: &[Clique]) -> Vec<usize> {
    let is_part = |c: &Clique| cliques.iter().any(|other| other != c && c.is_subset(other));
    (0..cliques.len()).filter(|i| !is_part(&cliques[*i])).collect()
}

#[cfg(test)]
mod tests;
