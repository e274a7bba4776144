//! How far fitted marginals are from the measured ones.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::estimation::step::{self, Descent, Move, Points};
use crate::measurement::Measurement;
use crate::table::{CliqueLayout, Marginals};

/// Weight of a measurement in the loss.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weighting {
    /// Every measurement weighs 1, as in JAM-PGM.
    Equal,
    /// `1/σ²`; a measurement without noise weighs as one with `σ = 1`.
    InverseVariance,
}

/// How far marginals are from what they should be.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Misfit {
    /// The loss.
    pub value: f64,
    /// By how many standard deviations the worst clique is further from its measurement than noise explains; infinite
    /// where there is no noise to compare with.
    pub excess: f64,
}

/// The worst-case smoothness constant is this many times too careful, at least, in practice.
const FIRST_RELAXATION: f64 = 16.0;

/// A convex, differentiable loss of marginals.
///
/// The first four methods define it. The others have defaults that are right for every loss; a loss that knows more gives
/// its estimators lower bounds, an end at the noise level, or faster passes.
///
/// ```
/// use std::sync::Arc;
/// use jointly_pgm::domain::{Clique, Domain};
/// use jointly_pgm::estimation::{AcceleratedBregman, Estimator, MarginalLoss, Misfit};
/// use jointly_pgm::inference::BeliefPropagation;
/// use jointly_pgm::table::CliqueLayout;
///
/// /// Pseudo-Huber loss `Σ √(1 + (μ − y)²)`: less sensitive to single cells than squares.
/// struct Huber { layout: Arc<CliqueLayout>, targets: Vec<f64> }
///
/// impl MarginalLoss for Huber {
///     fn layout(&self) -> &Arc<CliqueLayout> { &self.layout }
///     fn misfit(&self, mu: &[f64]) -> Misfit {
///         let value = mu.iter().zip(&self.targets).map(|(m, y)| (m - y).hypot(1.0)).sum();
///         Misfit { value, excess: f64::INFINITY }
///     }
///     fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
///         let cells = mu.iter().zip(&self.targets).zip(gradient);
///         cells.for_each(|((m, y), g)| *g = (m - y) / (m - y).hypot(1.0));
///     }
///     fn smoothness(&self) -> f64 { self.layout.cliques().len() as f64 }
/// }
///
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let layout = CliqueLayout::new(&domain, [Clique::new([0]), Clique::new([1])])?;
/// let loss = Huber { layout: Arc::clone(&layout), targets: vec![30.0, 70.0, 90.0, 10.0] };
/// let oracle = BeliefPropagation::new(&domain, &layout);
/// let fit = AcceleratedBregman::default().estimate(&oracle, &loss, 100.0, None)?;
/// assert!(fit.marginals.values().iter().zip(&loss.targets).all(|(m, y)| (m - y).abs() < 1.0));
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
pub trait MarginalLoss: Sync {
    /// The cliques whose marginals it takes.
    fn layout(&self) -> &Arc<CliqueLayout>;

    /// How far marginals are off; tables in counts, one after the other.
    fn misfit(&self, mu: &[f64]) -> Misfit;

    /// Writes `∇L(μ)`.
    fn gradient(&self, mu: &[f64], gradient: &mut [f64]);

    /// β such that `L(μ') <= L(μ) + <∇L(μ), μ' - μ> + ½ β max_r ‖μ'_r - μ_r‖²`: for a sum over cliques, the sum of their
    /// smoothness constants. `L` is then `total² β`-smooth relative to the entropy of the joint distribution.
    fn smoothness(&self) -> f64;

    /// A guess of how smooth the loss is relative to the entropy of the joint distribution, for a first step. Too small a one
    /// costs a few calls, too large a one many.
    fn first_smoothness(&self, total: f64) -> f64 {
        total * total * self.smoothness() / FIRST_RELAXATION
    }

    /// The largest smoothness constant of a single clique.
    fn largest_weight(&self) -> f64 {
        self.smoothness()
    }

    /// Standard deviation of the loss at the true marginals from noise alone; 0 where nothing is known.
    fn noise(&self) -> f64 {
        0.0
    }

    /// A number that the loss is never below.
    fn floor(&self) -> f64 {
        f64::NEG_INFINITY
    }

    /// For a vector g over the measured cells, `<g, y>` and `q` with `L(μ) >= floor + a <g, μ - y> - ½ a² q` for all
    /// `a >= 0`; `None` for a loss that has no such form.
    fn dual_parts(&self, g: &[f64]) -> Option<(f64, f64)> {
        let _ = g;
        None
    }

    /// How far `L(μ) + κ KL(p ‖ p₀)` may be above its least value, for the distribution p with marginals μ and potentials θ
    /// over p₀; `None` for a loss for which this is not known.
    ///
    /// `per_record`: κ/N. The least value also has no distribution further away than `KL(p ‖ p*) <= gap/κ`.
    fn pulled_gap(&self, mu: &[f64], theta: &[f64], per_record: f64) -> Option<f64> {
        let _ = (mu, theta, per_record);
        None
    }

    /// One step of the potentials along the gradient: writes x, the gradient and the new potentials.
    fn descend(&self, by: Descent<'_>, x: &mut [f64], gradient: &mut [f64], next: &mut [f64]) {
        by.along_gradient(self, x, gradient, next);
    }

    /// Compares two points.
    fn judge(&self, points: Points<'_>) -> Move {
        points.compared_by_gradient(self)
    }
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

    /// The part of each clique, `½ w_r ‖μ_r - y_r‖²`.
    pub fn of_cliques(&self, mu: &Marginals) -> Vec<f64> {
        self.shares(mu.values()).collect()
    }

    /// `½ w_r ‖μ_r - y_r‖²`, clique by clique.
    fn shares(&self, mu: &[f64]) -> impl Iterator<Item = f64> {
        self.parts().map(|(weight, range)| {
            let cells = mu[range.clone()].iter().zip(&self.targets[range]);
            0.5 * weight * cells.map(|(m, y)| (m - y) * (m - y)).sum::<f64>()
        })
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

    /// `scale / w` of each cell.
    pub(super) fn variances(&self, scale: f64) -> Vec<f64> {
        let mut variances = vec![0.0; self.layout.cells()];
        for (weight, range) in self.parts() {
            variances[range].fill(scale / weight);
        }
        variances
    }

    /// `<g, y>` and `Σ_r ‖g_r‖²/w_r`.
    pub(super) fn along_and_squares(&self, g: &[f64]) -> (f64, f64) {
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
        MarginalLoss::misfit(self, mu.values()).value
    }
}

impl MarginalLoss for SquaredLoss {
    fn layout(&self) -> &Arc<CliqueLayout> {
        &self.layout
    }

    fn misfit(&self, mu: &[f64]) -> Misfit {
        let mut misfit = Misfit { value: self.constant, excess: 0.0 };
        for (clique, share) in self.shares(mu).enumerate() {
            misfit.value += share;
            misfit.excess = misfit.excess.max(self.excess_of(clique, share));
        }
        misfit
    }

    /// `∇L = w_r (μ_r - y_r)`.
    fn gradient(&self, mu: &[f64], gradient: &mut [f64]) {
        for (weight, range) in self.parts() {
            let cells = mu[range.clone()].iter().zip(&self.targets[range.clone()]);
            for (g, (m, y)) in gradient[range].iter_mut().zip(cells) {
                *g = weight * (m - y);
            }
        }
    }

    /// Σ of the weights.
    fn smoothness(&self) -> f64 {
        self.weights.iter().sum()
    }

    fn largest_weight(&self) -> f64 {
        self.weights.iter().copied().fold(0.0, f64::max)
    }

    fn noise(&self) -> f64 {
        self.noise
    }

    fn floor(&self) -> f64 {
        self.constant
    }

    fn dual_parts(&self, g: &[f64]) -> Option<(f64, f64)> {
        Some(self.along_and_squares(g))
    }

    /// `Σ_r ½ w_r ‖μ_r - y_r + (κ/N) θ_r / w_r‖²`: zero where the gradient is. Proof: `docs/theory/pull.md`.
    fn pulled_gap(&self, mu: &[f64], theta: &[f64], per_record: f64) -> Option<f64> {
        let gap = self.parts().map(|(weight, range)| {
            let scale = per_record / weight;
            let fitted = mu[range.clone()].iter().zip(&self.targets[range.clone()]);
            let cells = fitted.zip(&theta[range]);
            let off = |((m, y), t): ((&f64, &f64), &f64)| (m - y + scale * t).powi(2);
            0.5 * weight * cells.map(off).sum::<f64>()
        });
        Some(gap.sum())
    }

    fn descend(&self, by: Descent<'_>, x: &mut [f64], gradient: &mut [f64], next: &mut [f64]) {
        by.run(self, x, gradient, next);
    }

    fn judge(&self, points: Points<'_>) -> Move {
        step::judge(self, points)
    }
}
