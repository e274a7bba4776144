//! The dual of a fit, smoothed, and how to climb it.
//!
//! ```text
//! D_λ(g) = c - (N/λ) ln Σ_x exp(-λ Σ_r g_r(x_r)) - <g, y> - Σ_r ‖g_r‖²/(2 w_r)
//! ```
//!
//! is smooth, at most the bound `D(g)`, and falls short of it by at most `(N/λ) ln |X|`. Its gradient is one oracle call:
//! `∇D_λ = μ(-λ g) - y - g/w`. Proof: `docs/theory/certificate.md`.

use crate::error::Result;
use crate::estimation::SquaredLoss;
use crate::estimation::gauge::Gauge;
use crate::estimation::quasi_newton::{Memory, add, dot};
use crate::inference::{BeliefPropagation, BeliefWorkspace};
use crate::table::{Marginals, Potentials};

/// `c - D_λ` at a point, its gradient, and the way there.
#[derive(Debug)]
pub(super) struct SmoothedDual<'a> {
    oracle: &'a BeliefPropagation,
    loss: &'a SquaredLoss,
    total: f64,
    gauge: Gauge,
    workspace: BeliefWorkspace,
    /// 1/w of each cell.
    variances: Vec<f64>,
    /// λ.
    sharpness: f64,
    /// Added to `-g`, leaves the distribution as it is, and keeps potentials near zero wherever records are.
    shift: Vec<f64>,
    /// The Hessian's diagonal when λ was set, but for what cells have to do with each other.
    diagonal: Vec<f64>,
    memory: Memory,
    theta: Potentials,
    mu: Marginals,
    at: Point,
    trial: Point,
    direction: Vec<f64>,
    calls: u32,
}

/// A dual point.
#[derive(Clone, Debug)]
struct Point {
    g: Vec<f64>,
    value: f64,
    gradient: Vec<f64>,
}

/// A step is accepted when it brings this share of what the slope promises (Armijo).
const PROMISED: f64 = 1e-4;
/// Tries of a step's length.
const TRIES: u32 = 20;
/// A step that leaves the range of linear space is shortened to this.
const RETREAT: f64 = 0.25;
/// Passes of the gauge.
const PASSES: u32 = 4;

impl<'a> SmoothedDual<'a> {
    pub(super) fn new(
        oracle: &'a BeliefPropagation,
        loss: &'a SquaredLoss,
        total: f64,
        workspace: BeliefWorkspace,
        g: Vec<f64>,
        mu: Marginals,
    ) -> Self {
        let layout = loss.layout();
        let mut variances = vec![0.0; layout.cells()];
        for (weight, range) in loss.parts() {
            variances[range].fill(1.0 / weight);
        }
        let zeros = vec![0.0; layout.cells()];
        let at = Point { g, value: 0.0, gradient: zeros.clone() };
        Self {
            oracle,
            loss,
            total,
            gauge: Gauge::new(layout),
            workspace,
            variances,
            sharpness: 0.0,
            shift: zeros.clone(),
            diagonal: zeros.clone(),
            memory: Memory::new(),
            theta: Potentials::zeros(layout),
            mu,
            trial: at.clone(),
            at,
            direction: zeros,
            calls: 0,
        }
    }

    /// Sets λ; false when the point is out of the range of linear space there.
    pub(super) fn sharpen(&mut self, sharpness: f64) -> Result<bool> {
        self.sharpness = sharpness;
        self.memory.clear();
        self.theta.values_mut().iter_mut().zip(&self.at.g).for_each(|(t, g)| *t = -g);
        self.gauge.center(&mut self.theta, &self.mu, PASSES);
        for ((shift, t), g) in self.shift.iter_mut().zip(self.theta.values()).zip(&self.at.g) {
            *shift = t + g;
        }
        self.trial.g.copy_from_slice(&self.at.g);
        if !self.evaluate()? {
            return Ok(false);
        }
        std::mem::swap(&mut self.at, &mut self.trial);
        let cells = self.diagonal.iter_mut().zip(&self.variances).zip(self.mu.values());
        cells.for_each(|((d, variance), mu)| *d = variance + sharpness * mu);
        Ok(true)
    }

    /// One quasi-Newton step; false when none is found.
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
        let cells = self.theta.values_mut().iter_mut().zip(&self.trial.g).zip(&self.shift);
        cells.for_each(|((t, g), shift)| *t = self.sharpness * (shift - g));
        let Self { oracle, theta, workspace, mu, .. } = self;
        let Some(log) = oracle.linear_marginals(theta, self.total, workspace, mu)? else {
            return Ok(false);
        };
        let (along, squares) = self.loss.dual_parts(&self.trial.g);
        self.trial.value = self.total / self.sharpness * log + along + 0.5 * squares;
        let known = self.loss.targets().iter().zip(&self.variances).zip(self.mu.values());
        for ((slope, g), ((y, variance), mu)) in
            self.trial.gradient.iter_mut().zip(&self.trial.g).zip(known)
        {
            *slope = y + variance * g - mu;
        }
        Ok(self.trial.value.is_finite())
    }

    /// The dual point.
    pub(super) fn point(&self) -> &[f64] {
        &self.at.g
    }

    /// `c - D_λ`, but for a constant that λ decides.
    pub(super) fn value(&self) -> f64 {
        self.at.value
    }

    /// λ.
    pub(super) fn sharpness(&self) -> f64 {
        self.sharpness
    }

    /// Marginals of the last distribution that the oracle was asked for.
    pub(super) fn marginals(&self) -> &Marginals {
        &self.mu
    }

    /// Scratch for the oracle.
    pub(super) fn workspace(&mut self) -> &mut BeliefWorkspace {
        &mut self.workspace
    }

    /// Oracle calls made.
    pub(super) fn calls(&self) -> u32 {
        self.calls
    }
}
