//! How far fitted marginals are from the measured ones.

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::estimation::Misfit;
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, Marginals};

/// Weight of a measurement in the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weighting {
    /// Every measurement weighs 1, as in JAM-PGM.
    Equal,
    /// `1/σ²`; a measurement without noise weighs as one with `σ = 1`.
    InverseVariance,
}

/// `L(μ) = ½ Σ_r w_r ‖μ_r - y_r‖₂²` (`McKenna`, Sheldon & Miklau 2019, equation 1). Measurements of the same clique are
/// averaged first, which changes the loss by a constant that is kept.
#[derive(Clone, Debug)]
pub struct SquaredLoss {
    layout: Arc<CliqueLayout>,
    targets: Vec<f64>,
    weights: Vec<f64>,
    constant: f64,
    noise: f64,
    /// Weight times variance of a cell, for each clique.
    variances: Vec<f64>,
}

impl SquaredLoss {
    /// The loss of some measurements; its cliques are theirs.
    ///
    /// # Errors
    /// No measurement, a table whose size is not that of its clique, or a value that is not finite.
    pub fn new(
        domain: &Domain,
        measurements: &[Measurement],
        weighting: Weighting,
    ) -> Result<Self> {
        if measurements.is_empty() {
            return Err(Error::invalid_parameter("measurements", "empty", "at least one"));
        }
        let layout = CliqueLayout::new(domain, measurements.iter().map(|m| m.clique.clone()))?;
        let mut targets = vec![0.0; layout.cells()];
        let mut weights = vec![0.0; layout.cliques().len()];
        let mut squares = 0.0;
        let mut noise_variance = 0.0;
        let mut variances = vec![0.0; layout.cliques().len()];
        for measurement in measurements {
            let index = layout.position(&measurement.clique).unwrap_or(0);
            let target = &mut targets[layout.range(index)];
            if measurement.values.len() != target.len() {
                return Err(Error::ShapeMismatch {
                    clique: domain.describe(&measurement.clique),
                    expected: target.len(),
                    found: measurement.values.len(),
                });
            }
            if measurement.values.iter().any(|y| !y.is_finite()) {
                return Err(Error::invalid_specification(
                    format!("measurement of {}", domain.describe(&measurement.clique)),
                    "a value that is not finite",
                    "finite counts",
                ));
            }
            let weight = match weighting {
                Weighting::InverseVariance if measurement.stddev > 0.0 => {
                    1.0 / (measurement.stddev * measurement.stddev)
                }
                _ => 1.0,
            };
            weights[index] += weight;
            let cell_variance = weight * measurement.stddev * measurement.stddev;
            variances[index] += weight * cell_variance;
            noise_variance += 0.5 * cell_variance * cell_variance * target.len() as f64;
            for (t, y) in target.iter_mut().zip(&measurement.values) {
                *t += weight * y;
                squares += weight * y * y;
            }
        }
        let mut averaged = 0.0;
        for (index, weight) in weights.iter().enumerate() {
            // The variance of a weighted mean, times the sum of the weights.
            variances[index] /= weight;
            for t in &mut targets[layout.range(index)] {
                *t /= weight;
                averaged += weight * *t * *t;
            }
        }
        let constant = 0.5 * (squares - averaged);
        Ok(Self { layout, targets, weights, constant, noise: noise_variance.sqrt(), variances })
    }

    /// The measured cliques.
    pub fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    /// Σ of the weights: `L` is `total² Σw`-smooth relative to the entropy of the joint distribution.
    pub(crate) fn total_weight(&self) -> f64 {
        self.weights.iter().sum()
    }

    /// Standard deviation of L at the true marginals: `√(Σ_r (w_r σ_r²)² K_r / 2)` with `K_r` cells. Smaller
    /// differences of the loss carry no information about the records.
    pub fn noise(&self) -> f64 {
        self.noise
    }

    /// By how many standard deviations a clique's share of the loss, `½ w_r ‖μ_r - y_r‖²`, exceeds its expectation at
    /// the true marginals, `½ w_r σ_r² K_r`; 0 if it is below. Infinite above a measurement without noise.
    pub(super) fn excess_of(&self, clique: usize, share: f64) -> f64 {
        let half_cells = 0.5 * self.layout.range(clique).len() as f64;
        let variance = self.variances[clique];
        let above = share - variance * half_cells;
        if above > 0.0 { above / (variance * half_cells.sqrt()) } else { 0.0 }
    }

    /// How far marginals are from the worst noisy measurement: by how many standard deviations its share of the loss,
    /// `½ w_r ‖μ_r - y_r‖²`, exceeds its expectation from noise alone, `½ w_r σ_r² K_r`; 0 if no share does.
    pub fn excess(&self, mu: &Marginals) -> f64 {
        let shares = self.shares(mu.values()).enumerate();
        let noisy = shares.filter(|(clique, _)| self.variances[*clique] > 0.0);
        noisy.map(|(clique, share)| self.excess_of(clique, share)).fold(0.0, f64::max)
    }

    /// How far a vector of tables is from the measurements.
    pub(super) fn misfit(&self, mu: &[f64]) -> Misfit {
        let mut misfit = Misfit { value: self.constant, excess: 0.0 };
        for (clique, share) in self.shares(mu).enumerate() {
            misfit.value += share;
            misfit.excess = misfit.excess.max(self.excess_of(clique, share));
        }
        misfit
    }

    /// `½ w_r ‖μ_r - y_r‖²`, clique by clique.
    fn shares(&self, mu: &[f64]) -> impl Iterator<Item = f64> {
        self.parts().map(|(weight, range)| {
            let cells = mu[range.clone()].iter().zip(&self.targets[range]);
            0.5 * weight * cells.map(|(m, y)| (m - y) * (m - y)).sum::<f64>()
        })
    }

    /// The largest weight of a clique.
    pub(crate) fn largest_weight(&self) -> f64 {
        self.weights.iter().copied().fold(0.0, f64::max)
    }

    /// The rest of L when every clique is fitted exactly: the differences of measurements of the same clique.
    pub(super) fn constant(&self) -> f64 {
        self.constant
    }

    /// The measured marginals, table after table.
    pub(super) fn targets(&self) -> &[f64] {
        &self.targets
    }

    /// Weight and place of each table.
    pub(super) fn parts(&self) -> impl Iterator<Item = (f64, std::ops::Range<usize>)> {
        self.weights.iter().enumerate().map(|(index, weight)| (*weight, self.layout.range(index)))
    }

    /// `<g, y>` and `Σ_r ‖g_r‖²/w_r`.
    pub(super) fn dual_parts(&self, g: &[f64]) -> (f64, f64) {
        let (mut along, mut squares) = (0.0, 0.0);
        for (index, weight) in self.weights.iter().enumerate() {
            let range = self.layout.range(index);
            let mut own = 0.0;
            for (g, y) in g[range.clone()].iter().zip(&self.targets[range]) {
                along += g * y;
                own += g * g;
            }
            squares += own / weight;
        }
        (along, squares)
    }

    /// L(μ).
    pub fn value(&self, mu: &Marginals) -> f64 {
        self.misfit(mu.values()).value
    }

    /// Writes `∇L = w_r (μ_r - y_r)`.
    pub fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
        for (weight, range) in self.parts() {
            let cells = mu[range.clone()].iter().zip(&self.targets[range.clone()]);
            for (g, (m, y)) in gradient[range].iter_mut().zip(cells) {
                *g = weight * (m - y);
            }
        }
    }
}
