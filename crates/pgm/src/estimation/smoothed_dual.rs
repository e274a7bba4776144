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
use crate::estimation::quasi_newton::{Point, QuasiNewton};
use crate::inference::{BeliefPropagation, BeliefWorkspace, MarginalOracle};
use crate::table::{Marginals, Potentials};

/// A dual point that quasi-Newton steps on `c - D_λ` improve.
#[derive(Debug)]
pub(super) struct SmoothedDual<'a> {
    search: QuasiNewton,
    smooth: Smooth<'a>,
    gauge: Gauge,
    /// The Hessian's diagonal when λ was set, without the covariances of cells.
    diagonal: Vec<f64>,
}

/// `c - D_λ`, but for c, as a function of the dual point g.
#[derive(Debug)]
struct Smooth<'a> {
    oracle: &'a BeliefPropagation,
    loss: &'a SquaredLoss,
    total: f64,
    workspace: BeliefWorkspace,
    /// 1/w of each cell.
    variances: Vec<f64>,
    /// λ.
    sharpness: f64,
    /// Added to `-g`: leaves the distribution unchanged and keeps potentials near zero where it is largest.
    shift: Vec<f64>,
    /// Cliques contained in no other measured clique.
    maximal: Vec<usize>,
    /// Added to all potentials of these.
    lift: f64,
    theta: Potentials,
    /// Marginals from the last oracle call.
    mu: Marginals,
    calls: u32,
}

/// Steps that are remembered.
const PAIRS: usize = 40;
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
        let smooth = Smooth {
            oracle,
            loss,
            total,
            workspace: oracle.workspace(),
            variances: loss.variances(1.0),
            sharpness: 0.0,
            shift: zeros.clone(),
            maximal: maximal(layout.cliques()),
            lift: 0.0,
            theta: Potentials::zeros(layout),
            mu: Marginals::zeros(layout),
            calls: 0,
        };
        let search = QuasiNewton::new(g, PAIRS);
        let mut start = Self { search, smooth, gauge: Gauge::new(layout), diagonal: zeros };
        start.level(PASSES.0);
        start
    }

    /// Sets λ and forgets the steps so far. False, and nothing done, when the point is out of the range of linear space there.
    pub(super) fn sharpen(&mut self, sharpness: f64) -> Result<bool> {
        self.level(PASSES.1);
        let Self { search, smooth, diagonal, .. } = self;
        let before = (smooth.sharpness, smooth.lift);
        for lift in LIFTS {
            (smooth.sharpness, smooth.lift) = (sharpness, lift);
            if search.begin(|point| smooth.evaluate(point))? {
                let cells = diagonal.iter_mut().zip(&smooth.variances).zip(smooth.mu.values());
                cells.for_each(|((d, variance), mu)| *d = variance + sharpness * mu);
                return Ok(true);
            }
        }
        (smooth.sharpness, smooth.lift) = before;
        Ok(false)
    }

    /// Moves the point by one quasi-Newton step; false when none is found.
    pub(super) fn step(&mut self) -> Result<bool> {
        let Self { search, smooth, diagonal, .. } = self;
        search.step(diagonal, |point| smooth.evaluate(point))
    }

    /// Brings the potentials of the point near zero where its distribution is largest.
    fn level(&mut self, passes: u32) {
        let Self { search, smooth: Smooth { theta, shift, .. }, gauge, .. } = self;
        let g = &search.at().x;
        let cells = theta.values_mut().iter_mut().zip(g).zip(&*shift);
        cells.for_each(|((t, g), shift)| *t = shift - g);
        gauge.level(theta, passes);
        let cells = shift.iter_mut().zip(theta.values()).zip(g);
        cells.for_each(|((shift, t), g)| *shift = t + g);
    }

    /// The exact dual on the ray through the point.
    pub(super) fn ray(&mut self) -> Result<Ray> {
        let Self { search, smooth: Smooth { oracle, loss, total, workspace, theta, .. }, .. } =
            self;
        Ray::through(&search.at().x, *oracle, workspace, *loss, *total, theta)
    }

    /// The smoothed dual at the point, but for c.
    pub(super) fn value(&self) -> f64 {
        -self.search.at().value
    }

    /// λ.
    pub(super) fn sharpness(&self) -> f64 {
        self.smooth.sharpness
    }

    /// Loss of the last distribution that the oracle was asked for.
    pub(super) fn loss(&self) -> f64 {
        self.smooth.loss.value(&self.smooth.mu)
    }

    /// Oracle calls made.
    pub(super) fn calls(&self) -> u32 {
        self.smooth.calls
    }
}

impl Smooth<'_> {
    /// Value and gradient at a point; false when it is out of the range of linear space.
    fn evaluate(&mut self, point: &mut Point) -> Result<bool> {
        self.calls += 1;
        let Self { oracle, loss, workspace, theta, mu, .. } = self;
        let cells = theta.values_mut().iter_mut().zip(&point.x).zip(&self.shift);
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
        let (along, squares) = loss.along_and_squares(&point.x);
        point.value = self.total / self.sharpness * (shifted - added) + along + 0.5 * squares;
        let known = loss.targets().iter().zip(&self.variances).zip(mu.values());
        let slopes = point.gradient.iter_mut().zip(&point.x).zip(known);
        slopes.for_each(|((slope, g), ((y, variance), mu))| *slope = y + variance * g - mu);
        Ok(point.value.is_finite())
    }
}

/// Positions of the cliques that are part of no other one.
fn maximal(cliques: &[Clique]) -> Vec<usize> {
    let is_part = |c: &Clique| cliques.iter().any(|other| other != c && c.is_subset(other));
    (0..cliques.len()).filter(|i| !is_part(&cliques[*i])).collect()
}

#[cfg(test)]
mod tests;
