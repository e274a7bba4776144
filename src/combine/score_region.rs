//! Intervals of a coefficient by inverting tests of its value.

use crate::combine::fit::WeightedCells;
use crate::combine::statistic::Design;
use crate::least_squares::EstimatedMarginal;
use crate::linalg::Cholesky;
use crate::model::LOOSE;

/// Most steps of one minimization.
const MOST_STEPS: usize = 20;
/// A minimum is found once a step gains less than this in units of χ².
const CLOSE: f64 = 1e-5;
/// Standard errors from the estimate within which an end is looked for.
const FURTHEST: f64 = 64.0;
/// Most halvings of the range in which an end lies.
const MOST_HALVINGS: usize = 60;
/// An end is found once it is this near, in standard errors.
const NEAR: f64 = 1e-3;

/// The scores `U(β) = Σ_c n_c x_c (y_c − μ(β·x_c))` of measured counts.
///
/// At the coefficients of the private table its own scores are 0, so that those of the measured counts are their noise: linear in it, and of
/// known covariance Σ(β). With one coefficient fixed at b and the others free, `Q(b) = min U' Σ⁻¹ U` has one degree of freedom, and the
/// interval is where `Q(b) ≤ z²`. Nothing is taken to first order in the noise but the coefficients that are free.
pub(super) struct Scores<'d> {
    pub(super) design: &'d Design,
    pub(super) marginal: &'d EstimatedMarginal,
    /// The cells whose records count, with their measured counts.
    pub(super) cells: &'d WeightedCells,
    /// Their places in the marginal.
    pub(super) places: &'d [usize],
    /// Records of a random sample, for the coefficients of a population, and how many records of the private table each stands for.
    pub(super) sample: Option<(&'d WeightedCells, f64)>,
}

/// The scores at some coefficients.
#[derive(Clone)]
struct At {
    beta: Vec<f64>,
    scores: Vec<f64>,
    /// Derivatives of the scores, row-major.
    slopes: Vec<f64>,
    covariance: Cholesky,
    /// `U' Σ⁻¹ U`.
    distance: f64,
}

impl Scores<'_> {
    /// The interval of a coefficient, and the distance Q of the value 0; `None` if the interval of 3.3 standard deviations has
    /// no ends: the information on the coefficient is then too noisy, as that of a mean over a group whose size has a relative
    /// deviation of 0.3.
    ///
    /// `beta`: where the scores are 0. `error`: the standard error of the coefficient to first order. `deviations`: z.
    pub(super) fn interval(
        &self,
        beta: &[f64],
        place: usize,
        error: f64,
        deviations: f64,
    ) -> Option<([f64; 2], f64)> {
        let limits = [deviations, 1.0 / LOOSE].map(|z| z * z);
        let start = self.at(beta.to_vec())?;
        let mut ends = [0.0; 2];
        for (end, sign) in ends.iter_mut().zip([-1.0, 1.0]) {
            // The last value inside, and the first one outside, of either limit.
            let (mut inside, mut first_outside) = (start.clone(), None);
            let (mut step, mut reached) = (error, start.clone());
            loop {
                if step > FURTHEST * error {
                    return None;
                }
                let next = self.profile(&reached, place, beta[place] + sign * step)?;
                if first_outside.is_none() && next.distance > limits[0] {
                    first_outside = Some(next.beta[place]);
                } else if first_outside.is_none() {
                    inside = next.clone();
                }
                if next.distance > limits[1] {
                    break;
                }
                reached = next;
                step *= 1.5;
            }
            let mut outside = first_outside?;
            for _ in 0..MOST_HALVINGS {
                if (outside - inside.beta[place]).abs() <= NEAR * error {
                    break;
                }
                let middle = f64::midpoint(inside.beta[place], outside);
                let found = self.profile(&inside, place, middle)?;
                if found.distance > limits[0] {
                    outside = middle;
                } else {
                    inside = found;
                }
            }
            *end = outside;
        }
        let zero = self.profile(&start, place, 0.0);
        Some((ends, zero.map_or(f64::INFINITY, |zero| zero.distance)))
    }

    /// The least distance with one coefficient at a value, from nearby coefficients. `None` if the scores are not determined.
    fn profile(&self, from: &At, place: usize, value: f64) -> Option<At> {
        let mut beta = from.beta.clone();
        beta[place] = value;
        let mut here = self.at(beta)?;
        let size = here.beta.len();
        let free: Vec<usize> = (0..size).filter(|own| *own != place).collect();
        for _ in 0..MOST_STEPS {
            // Gauss-Newton: the weights Σ⁻¹ are taken as they are here.
            let columns: Vec<Vec<f64>> = free
                .iter()
                .map(|own| (0..size).map(|row| here.slopes[row * size + own]).collect())
                .collect();
            let weighted = columns.iter().map(|column| {
                let mut weighted = column.clone();
                here.covariance.solve(&mut weighted);
                weighted
            });
            let weighted: Vec<Vec<f64>> = weighted.collect();
            let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
            let normal = columns.iter().flat_map(|a| weighted.iter().map(move |b| dot(a, b)));
            let normal: Vec<f64> = normal.collect();
            let mut step: Vec<f64> = weighted.iter().map(|own| -dot(own, &here.scores)).collect();
            Cholesky::new(&normal, free.len()).solve(&mut step);
            let mut scale = 1.0;
            let better = loop {
                let mut beta = here.beta.clone();
                free.iter().zip(&step).for_each(|(own, step)| beta[*own] += scale * step);
                match self.at(beta) {
                    Some(next) if next.distance < here.distance => break Some(next),
                    _ if scale < 1e-3 => break None,
                    _ => scale /= 2.0,
                }
            };
            let Some(next) = better else { break };
            let gain = here.distance - next.distance;
            here = next;
            if gain < CLOSE {
                break;
            }
        }
        Some(here)
    }

    /// The scores at some coefficients; `None` if their covariance is singular.
    fn at(&self, beta: Vec<f64>) -> Option<At> {
        let size = beta.len();
        let residuals = self.cells.rows.iter().map(|row| self.design.residual(row, &beta));
        let residuals: Vec<(f64, f64)> = residuals.collect();
        let (mut scores, mut slopes) = (vec![0.0; size], vec![0.0; size * size]);
        let rows = self.cells.rows.iter().zip(&self.cells.weights).zip(&residuals);
        for ((row, count), (residual, slope)) in rows {
            for (a, x) in row.1.iter().enumerate() {
                scores[a] += count * residual * x;
                for (b, z) in row.1.iter().enumerate() {
                    slopes[a * size + b] -= count * slope * x * z;
                }
            }
        }
        let sums = (0..size).map(|a| {
            let cells = self.places.iter().zip(&self.cells.rows).zip(&residuals);
            let weights = cells.map(|((place, row), (residual, _))| (*place, residual * row.1[a]));
            self.marginal.sum(&weights.collect::<Vec<_>>())
        });
        let sums: Vec<_> = sums.collect();
        let mut covariance = vec![0.0; size * size];
        for a in 0..size {
            for b in 0..=a {
                covariance[a * size + b] = self.marginal.covariance(&sums[a], &sums[b]);
            }
        }
        for (row, weight, scale) in self.sample.iter().flat_map(|(sample, scale)| {
            sample.rows.iter().zip(&sample.weights).map(move |(row, weight)| (row, weight, scale))
        }) {
            let square = scale * weight * self.design.residual(row, &beta).0.powi(2);
            for a in 0..size {
                for b in 0..=a {
                    covariance[a * size + b] += square * row.1[a] * row.1[b];
                }
            }
        }
        let covariance = Cholesky::new(&covariance, size);
        let mut weighted = scores.clone();
        covariance.solve(&mut weighted);
        let distance: f64 = weighted.iter().zip(&scores).map(|(w, u)| w * u).sum();
        let is_determined = covariance.rank == size && distance.is_finite();
        is_determined.then_some(At { beta, scores, slopes, covariance, distance })
    }
}
