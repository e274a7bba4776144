//! Draws of the parameters: Hamiltonian Monte Carlo from the mode, with the Fisher information there as metric.
//!
//! ```text
//! s | θ ~ N(n μ(θ), S),   S = n Cov(t) + V     μ(θ) = E_θ t
//! θ ~ N(0, τ² I)
//! ```
//!
//! s are the measured contrasts and V the variances of their noise; n Cov(t) is what random records add. S is taken at the mode.

use std::f64::consts::LN_2;

use ndarray::{Array1, Array2};
use rand::rngs::ChaCha20Rng;
use rand::{Rng, RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use rayon::prelude::*;

use super::log_linear::LogLinear;
use super::observed::Observed;
use crate::error::Result;
use crate::linalg::{Cholesky, inverse_positive_definite, multiply};
use crate::observe::Checks;

/// Chains.
const CHAINS: usize = 2;
/// Steps before the first draw, in which the step size is found.
const WARM_UP: u32 = 400;
/// Steps of a chain from draw to draw.
const APART: u32 = 20;
/// Steps of a chain after the warm-up, at least.
const LEAST_STEPS: u32 = 300;
/// The length of a trajectory, in standard deviations of the metric.
const LENGTH: f64 = 1.5;
/// Most leapfrog steps of a trajectory.
const MOST_LEAPFROG: u32 = 64;
/// The share of proposals that the step size aims to accept.
const ACCEPTED: f64 = 0.8;
/// τ, the standard deviation of a parameter before anything is known. Chosen on Pennsylvania at ε = 1
/// (`docs/results/posterior.md`): with a Cauchy prior of τ, or with 6, chains did not mix; with 2, dependence was pulled to independence.
const SCALE: f64 = 3.0;
/// Steps of Fisher's scoring towards the mode.
const SCORING: u32 = 30;
/// The chains agree if the potential scale reduction is below this for nineteen in twenty of the means.
const AGREE: f64 = 1.1;

/// The posterior of the parameters, with what a step needs.
pub(super) struct Chains<'a> {
    model: &'a LogLinear,
    observed: &'a Observed,
    records: f64,
    /// `S⁻¹`.
    precision: Array2<f64>,
    mode: Vec<f64>,
    /// Of the negative Hessian at the mode.
    metric: Cholesky,
}

/// A place of a chain. z are the whitened parameters: `θ = mode + L⁻ᵀ z`.
#[derive(Clone)]
struct Place {
    z: Vec<f64>,
    theta: Vec<f64>,
    /// `n μ(θ)`.
    means: Vec<f64>,
    log_density: f64,
    /// By z.
    gradient: Vec<f64>,
}

/// A chain after its steps.
struct Chain {
    draws: Vec<Vec<f64>>,
    /// Of `n μ(θ)` in the first and second half: mean and sum of squared deviations.
    halves: [Moments; 2],
}

#[derive(Clone, Default)]
struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    fn add(&mut self, values: &[f64]) {
        self.mean.resize(values.len(), 0.0);
        self.squares.resize(values.len(), 0.0);
        self.count += 1.0;
        for ((mean, square), x) in self.mean.iter_mut().zip(&mut self.squares).zip(values) {
            let away = x - *mean;
            *mean += away / self.count;
            *square += away * (x - *mean);
        }
    }
}

impl<'a> Chains<'a> {
    /// Finds the mode and the metric.
    pub(super) fn start(
        model: &'a LogLinear,
        observed: &'a Observed,
        records: f64,
        checks: &dyn Checks,
    ) -> Result<Self> {
        let mut chains = Self {
            model,
            observed,
            records,
            precision: Array2::zeros((0, 0)),
            mode: vec![0.0; observed.size],
            metric: Cholesky::new(&[], 0),
        };
        for _ in 0..SCORING {
            checks.check()?;
            chains.linearize()?;
            let (density, mut step, _) = chains.by_theta(&chains.mode);
            let gradient = step.clone();
            chains.metric.solve(&mut step);
            let decrement: f64 = step.iter().zip(&gradient).map(|(s, g)| s * g).sum();
            let moved = |scale: f64| -> Vec<f64> {
                chains.mode.iter().zip(&step).map(|(x, s)| x + scale * s).collect()
            };
            let mut scale = 1.0;
            let improves = |scale| chains.by_theta(&moved(scale)).0 > density;
            while scale > 1e-3 && !improves(scale) {
                scale /= 2.0;
            }
            chains.mode = moved(scale);
            if decrement < 0.1 {
                break;
            }
        }
        chains.linearize()?;
        Ok(chains)
    }

    /// `S⁻¹` and the metric at the mode.
    fn linearize(&mut self) -> Result<()> {
        let (n, size) = (self.records, self.observed.size);
        let p = self.model.distribution(&self.mode);
        let means = self.model.means(&p);
        let covariance = self.model.covariance(&p, &means) * n;
        let mut spread = covariance.clone();
        for part in &self.observed.parts {
            part.range.clone().for_each(|i| spread[[i, i]] += part.variance);
        }
        if self.observed.total_variance > 0.0 {
            for (i, a) in means.iter().enumerate() {
                for (j, b) in means.iter().enumerate() {
                    spread[[i, j]] += self.observed.total_variance * a * b;
                }
            }
        }
        self.precision = inverse_positive_definite(&spread)?.0;
        let mut half = Array2::zeros((size, size));
        multiply(&self.precision.view(), &covariance.view(), half.view_mut(), false);
        let mut metric = Array2::zeros((size, size));
        multiply(&covariance.view(), &half.view(), metric.view_mut(), false);
        (0..size).for_each(|i| metric[[i, i]] += 1.0 / (SCALE * SCALE));
        let rows: Vec<f64> = metric.iter().copied().collect();
        self.metric = Cholesky::new(&rows, size);
        Ok(())
    }

    /// The logarithm of the density up to a constant, its gradient, and `n μ`.
    fn by_theta(&self, theta: &[f64]) -> (f64, Vec<f64>, Vec<f64>) {
        let p = self.model.distribution(theta);
        let means = self.model.means(&p);
        let away = self.observed.values.iter().zip(&means).map(|(s, m)| s - self.records * m);
        let away: Array1<f64> = away.collect();
        let pulled = self.precision.dot(&away).to_vec();
        let mut density = -0.5 * away.iter().zip(&pulled).map(|(a, b)| a * b).sum::<f64>();
        let mut gradient = self.model.covariance_times(&p, &means, &pulled);
        gradient.iter_mut().for_each(|g| *g *= self.records);
        for (g, x) in gradient.iter_mut().zip(theta) {
            density -= 0.5 * (x / SCALE).powi(2);
            *g -= x / (SCALE * SCALE);
        }
        (density, gradient, means.iter().map(|m| self.records * m).collect())
    }

    fn place(&self, z: Vec<f64>) -> Place {
        let mut theta = z.clone();
        self.metric.solve_transposed(&mut theta);
        theta.iter_mut().zip(&self.mode).for_each(|(x, m)| *x += m);
        let (log_density, mut gradient, means) = self.by_theta(&theta);
        self.metric.solve_lower(&mut gradient);
        Place { z, theta, means, log_density, gradient }
    }

    /// Draws parameters, of all chains in turn; `None` if the chains do not agree. `many`: how many.
    pub(super) fn draw(
        &self,
        many: usize,
        seed: u64,
        checks: &dyn Checks,
    ) -> Result<Option<Vec<Vec<f64>>>> {
        let each = many.div_ceil(CHAINS);
        let steps = u32::try_from(each).unwrap_or(u32::MAX).saturating_mul(APART);
        let mut steps = steps.max(LEAST_STEPS);
        // Twice as many steps if the chains do not agree, and once more.
        for attempt in 0..3_u64 {
            let run = |chain: u64| {
                let mut rng = ChaCha20Rng::seed_from_u64(seed);
                rng.set_stream(attempt * CHAINS as u64 + chain);
                self.run(steps, each, &mut rng, checks)
            };
            let chains = (0..CHAINS as u64).into_par_iter().map(run);
            let chains: Vec<Chain> = chains.collect::<Result<_>>()?;
            let worst = disagreement(&chains);
            if worst < AGREE {
                let of_all = (0..each).flat_map(|i| chains.iter().map(move |c| c.draws[i].clone()));
                return Ok(Some(of_all.take(many).collect()));
            }
            steps = steps.saturating_mul(2);
        }
        Ok(None)
    }

    fn run(
        &self,
        steps: u32,
        draws: usize,
        rng: &mut ChaCha20Rng,
        checks: &dyn Checks,
    ) -> Result<Chain> {
        let start: Vec<f64> = (0..self.observed.size).map(|_| 0.5 * normal(rng)).collect();
        let mut place = self.place(start);
        let mut step = StepSize::new();
        let mut chain = Chain { draws: Vec::new(), halves: Default::default() };
        let apart = steps / u32::try_from(draws.max(1)).unwrap_or(u32::MAX);
        for number in 0..WARM_UP + steps {
            checks.check()?;
            let size = if number < WARM_UP { step.current } else { step.averaged };
            let accepted = self.step(&mut place, size, rng);
            if number < WARM_UP {
                step.learn(accepted);
            }
            if number >= WARM_UP {
                let done = number - WARM_UP + 1;
                chain.halves[usize::from(2 * done > steps)].add(&place.means);
                if done.is_multiple_of(apart.max(1)) && chain.draws.len() < draws {
                    chain.draws.push(place.theta.clone());
                }
            }
        }
        Ok(chain)
    }

    /// One trajectory. Returns the probability with which it was accepted.
    fn step(&self, place: &mut Place, size: f64, rng: &mut ChaCha20Rng) -> f64 {
        let mut momentum: Vec<f64> = place.z.iter().map(|_| normal(rng)).collect();
        let energy = |place: &Place, momentum: &[f64]| {
            0.5 * momentum.iter().map(|p| p * p).sum::<f64>() - place.log_density
        };
        let before = energy(place, &momentum);
        // Of random length, against periodic orbits.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "at most 64")]
        let most = (2.0 * LENGTH / size).ceil().clamp(1.0, f64::from(MOST_LEAPFROG)) as u32;
        let many = rng.random_range(1..=most);
        let mut there = place.clone();
        let kick = |momentum: &mut [f64], place: &Place, by: f64| {
            momentum.iter_mut().zip(&place.gradient).for_each(|(p, g)| *p += by * g);
        };
        for _ in 0..many {
            kick(&mut momentum, &there, size / 2.0);
            let z = there.z.iter().zip(&momentum).map(|(z, p)| z + size * p).collect();
            there = self.place(z);
            kick(&mut momentum, &there, size / 2.0);
        }
        let accepted = (before - energy(&there, &momentum)).exp().min(1.0);
        // Not a number where a trajectory has left all bounds.
        let accepted = if accepted.is_nan() { 0.0 } else { accepted };
        if rng.random::<f64>() < accepted {
            *place = there;
        }
        accepted
    }
}

/// The 95 % quantile of the split potential scale reduction of all means (Gelman et al., *Bayesian data analysis*, 11.4).
fn disagreement(chains: &[Chain]) -> f64 {
    let halves: Vec<&Moments> = chains.iter().flat_map(|chain| &chain.halves).collect();
    let (many, count) = (halves.len() as f64, halves[0].count);
    let of = |i: usize| {
        let mean = halves.iter().map(|half| half.mean[i]).sum::<f64>() / many;
        let between =
            halves.iter().map(|half| (half.mean[i] - mean).powi(2)).sum::<f64>() / (many - 1.0);
        let within =
            halves.iter().map(|half| half.squares[i] / (half.count - 1.0)).sum::<f64>() / many;
        ((count - 1.0) / count + between / within).sqrt()
    };
    let mut found: Vec<f64> = (0..halves[0].mean.len()).map(of).collect();
    found.sort_by(f64::total_cmp);
    found.get((found.len() * 19).div_ceil(20).saturating_sub(1)).copied().unwrap_or(1.0)
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// The step size of leapfrog steps, found by dual averaging (Hoffman and Gelman 2014, algorithm 5).
struct StepSize {
    current: f64,
    averaged: f64,
    steps: f64,
    error: f64,
}

impl StepSize {
    const FIRST: f64 = 0.1;

    fn new() -> Self {
        Self { current: Self::FIRST, averaged: 1.0, steps: 0.0, error: 0.0 }
    }

    fn learn(&mut self, accepted: f64) {
        self.steps += 1.0;
        let weight = 1.0 / (self.steps + 10.0);
        self.error = (1.0 - weight) * self.error + weight * (ACCEPTED - accepted);
        let log = (10.0 * Self::FIRST).ln() - self.steps.sqrt() / 0.05 * self.error;
        self.current = log.min(LN_2).exp();
        let weight = self.steps.powf(-0.75);
        self.averaged = (weight * log.min(LN_2) + (1.0 - weight) * self.averaged.ln()).exp();
    }
}

#[cfg(test)]
mod tests;
