//! How far the public tables are trusted, marginal by marginal: empirical Bayes.
//!
//! A base that is as good as κ records says of a cell with q of n expected records: y ~ N(q, σ² + n q/κ). Which κ holds of a
//! marginal is learned from its measurement and from those of all marginals of as many attributes:
//!
//! ```text
//! 1  κ is one of m, m/4, m/16, …                              (as good as the m public records, or worse)
//! 2  π_j, the share of marginals with κ_j, by maximum likelihood over the marginals of as many attributes, by EM,
//!    as if ten more had been seen for κ = m                   (Stephens 2017: a penalty of 10 that favors the null)
//! 3  P(κ_j | y_r) ∝ π_j Π_c N(y_c; q_c, σ² + n q_c/κ_j), and κ_r = exp Σ_j P(κ_j | y_r) ln κ_j
//! ```
//!
//! A fit has one pull, and takes `κ_r` in as one of two targets: [`Trust::weighted`] or [`Trust::shrunk`].

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::Clique;
use crate::error::Result;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::constants::{
    EM_STEPS, FINER_BY, LEAST_KAPPA, LEAST_WEIGHT, SEEN_FOR_MOST,
};

/// What the measurements so far say of κ.
#[derive(Clone, Debug)]
pub(super) struct Trust {
    /// Every κ that is tried, from m down.
    grid: Vec<f64>,
    /// By position of the measurement.
    evidence: BTreeMap<usize, Evidence>,
    /// κ of every measurement, by its position.
    kappas: BTreeMap<usize, f64>,
    /// So many marginals of a size are taken to have the largest κ beforehand.
    seen: f64,
}

/// What one measurement says.
#[derive(Clone, Debug)]
struct Evidence {
    clique: Clique,
    /// `q_r`, when it was measured.
    expected: Vec<f64>,
    /// The log-likelihood of every κ, but for a constant.
    likelihoods: Vec<f64>,
    /// `n q̄/σ²`, with q̄ the mean of the expected cells: the mean cell leans to the base by 1/(1 + this/κ).
    precision: f64,
}

impl Evidence {
    fn new(grid: &[f64], measurement: &Measurement, expected: &[f64]) -> Self {
        let total: f64 = expected.iter().sum();
        let noise = measurement.stddev * measurement.stddev;
        let likelihood = |kappa: &f64| -> f64 {
            let cells = measurement.values.iter().zip(expected);
            let of_cell = |(y, q): (&f64, &f64)| {
                let variance = noise + doubt(total, *q, *kappa);
                -0.5 * (variance.ln() + (y - q) * (y - q) / variance)
            };
            cells.map(of_cell).sum()
        };
        Self {
            clique: measurement.clique.clone(),
            expected: expected.to_vec(),
            likelihoods: grid.iter().map(likelihood).collect(),
            precision: total * total / (expected.len() as f64 * noise),
        }
    }
}

impl Trust {
    /// In public tables. `records`: m.
    pub(super) fn in_public(records: f64) -> Self {
        Self::up_to(records, SEEN_FOR_MOST)
    }

    /// In independence, of which nothing is known beforehand. `total`: n, which is the largest κ.
    pub(super) fn in_independence(total: f64) -> Self {
        Self::up_to(total, 0.0)
    }

    /// The same before anything was measured.
    pub(super) fn unlearned(&self) -> Self {
        Self::up_to(self.records(), self.seen)
    }

    fn up_to(records: f64, seen: f64) -> Self {
        let finer = |kappa: &f64| Some(kappa / FINER_BY).filter(|kappa| *kappa > LEAST_KAPPA);
        let grid = std::iter::successors(Some(records), finer).collect();
        Self { grid, evidence: BTreeMap::new(), kappas: BTreeMap::new(), seen }
    }

    /// The largest κ: m, or n for independence.
    pub(super) fn records(&self) -> f64 {
        self.grid[0]
    }

    /// Takes note of measurements by their positions, each with what was expected of it before.
    pub(super) fn learn(&mut self, measurements: &[Measurement], expected: &[(usize, Vec<f64>)]) {
        for (position, expected) in expected {
            let own = Evidence::new(&self.grid, &measurements[*position], expected);
            self.evidence.insert(*position, own);
        }
        // The geometric mean over what is probable. An arithmetic mean of weights would give a small chance of a tiny κ more say
        // than all the rest.
        let mean = |posterior: Vec<f64>| {
            let logs = self.grid.iter().zip(posterior).map(|(kappa, p)| p * kappa.ln());
            logs.sum::<f64>().exp()
        };
        self.kappas = self.posteriors().into_iter().map(|(i, p)| (i, mean(p))).collect();
    }

    /// The probability of every κ given its measurement, by the position of that.
    fn posteriors(&self) -> BTreeMap<usize, Vec<f64>> {
        let sizes: BTreeSet<usize> = self.evidence.values().map(|one| one.clique.len()).collect();
        let mut found = BTreeMap::new();
        for size in sizes {
            let shares = self.common(size);
            let own = self.evidence.iter().filter(|(_, one)| one.clique.len() == size);
            found.extend(own.map(|(i, one)| (*i, posterior(&shares, &one.likelihoods))));
        }
        found
    }

    /// π for the marginals with `size` attributes: the share of them that has each κ of the grid.
    fn common(&self, size: usize) -> Vec<f64> {
        let own = || self.evidence.values().filter(|one| one.clique.len() == size);
        let even = 1.0 / self.grid.len() as f64;
        let mut seen = vec![even; self.grid.len()];
        seen[0] += self.seen;
        let mut shares = normalized(&seen);
        for _ in 0..EM_STEPS {
            let mut sums = seen.clone();
            for one in own() {
                let posterior = posterior(&shares, &one.likelihoods);
                sums.iter_mut().zip(posterior).for_each(|(sum, p)| *sum += p);
            }
            shares = normalized(&sums);
        }
        shares
    }

    /// `ln Σ_j π_j Π_c N(y_c; q_c, σ² + n q_c/κ_j)`, but for the constant of the normal densities: how probable a measurement was by
    /// what was expected of it and by π, before either learns from it.
    pub(super) fn log_density(&self, measurement: &Measurement, expected: &[f64]) -> f64 {
        let own = Evidence::new(&self.grid, measurement, expected);
        let shares = self.common(measurement.clique.len());
        let logs = joint(&shares, &own.likelihoods);
        let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        most + logs.iter().map(|log| (log - most).exp()).sum::<f64>().ln()
    }

    /// The share of m that a measurement leaves to κ; all of it where nothing was learned. The mean cell leans to the base by
    /// [`LEAST_WEIGHT`] at least, as fits with less hardly move.
    pub(super) fn share(&self, position: usize) -> f64 {
        let Some(kappa) = self.kappas.get(&position) else { return 1.0 };
        let least = self.evidence[&position].precision * LEAST_WEIGHT / (1.0 - LEAST_WEIGHT);
        (kappa.max(least) / self.records()).min(1.0)
    }

    /// The [`share`](Self::share) of every measurement, with its clique.
    pub(super) fn shares(&self) -> impl Iterator<Item = (&Clique, f64)> {
        self.evidence.iter().map(|(position, own)| (&own.clique, self.share(*position)))
    }

    /// Targets of a fit that is pulled by κ = m: the measurements, each counted `m/κ_r` times, which is the same as a pull
    /// by `κ_r` (`docs/theory/pull.md`, *A pull of its own for each clique*). A marginal counts as often as the most doubted
    /// one that it is part of. Else a pair, off in its dependence, would outweigh what its single attributes say of
    /// themselves.
    ///
    /// `positions`: of the measurements.
    pub(super) fn weighted(
        &self,
        positions: &[usize],
        measurements: &[Measurement],
    ) -> Vec<Measurement> {
        let weigh = |given: &Measurement| {
            let whole = positions.iter().zip(measurements);
            let whole = whole.filter(|(_, other)| given.clique.is_subset(&other.clique));
            let share = whole.map(|(at, _)| self.share(*at)).fold(1.0, f64::min);
            Measurement { stddev: given.stddev * share.sqrt(), ..given.clone() }
        };
        measurements.iter().map(weigh).collect()
    }

    /// Targets of a fit that is pulled by the least `κ_r` only: mean and mean variance of each marginal given its measurement,
    /// [`Self::mean`] and `1/(1/σ² + κ_r/(n q̄))`. Returns that κ too.
    ///
    /// With weights instead, first measurements, of the marginals furthest from independence, would count a thousand times
    /// as often as later ones, and drown them. `positions`: of the measurements. `of_base`: the marginal of the base for
    /// those that the base has moved to.
    ///
    /// # Errors
    /// Those of `of_base`.
    pub(super) fn shrunk(
        &self,
        positions: &[usize],
        measurements: &[Measurement],
        of_base: impl Fn(&Clique) -> Result<Vec<f64>>,
    ) -> Result<(Vec<Measurement>, f64)> {
        let shrink = |(at, given): (&usize, &Measurement)| -> Result<Measurement> {
            let Some(own) = self.evidence.get(at) else {
                return Ok(Measurement { values: of_base(&given.clique)?, ..given.clone() });
            };
            let gained = 1.0 + self.kappas[at] / own.precision;
            Ok(Measurement {
                values: self.mean(*at, given),
                stddev: given.stddev / gained.sqrt(),
                ..given.clone()
            })
        };
        let targets = positions.iter().zip(measurements).map(shrink).collect::<Result<_>>()?;
        let least = positions.iter().map(|at| self.share(*at)).fold(1.0, f64::min);
        Ok((targets, least * self.records()))
    }

    /// The mean of a learned marginal given its measurement and its κ: `q + (n q/κ)/(σ² + n q/κ) (y - q)` in every cell.
    pub(super) fn mean(&self, position: usize, measurement: &Measurement) -> Vec<f64> {
        let expected = &self.evidence[&position].expected;
        let total: f64 = expected.iter().sum();
        let noise = measurement.stddev * measurement.stddev;
        let of_cell = |(y, q): (&f64, &f64)| {
            let doubt = doubt(total, *q, self.kappas[&position]);
            q + doubt / (doubt + noise) * (y - q)
        };
        measurement.values.iter().zip(expected).map(of_cell).collect()
    }
}

/// `n q/κ`: the variance of a cell in which κ records of the base lead to expect q of n.
fn doubt(total: f64, expected: f64, kappa: f64) -> f64 {
    total * expected.max(f64::MIN_POSITIVE) / kappa
}

/// `ln (π_j p(y | κ_j))`, but for a constant.
fn joint(shares: &[f64], likelihoods: &[f64]) -> Vec<f64> {
    shares.iter().zip(likelihoods).map(|(p, log)| p.ln() + log).collect()
}

fn posterior(shares: &[f64], likelihoods: &[f64]) -> Vec<f64> {
    let logs = joint(shares, likelihoods);
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    normalized(&logs.iter().map(|log| (log - most).exp()).collect::<Vec<_>>())
}

fn normalized(weights: &[f64]) -> Vec<f64> {
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|weight| weight / sum).collect()
}

#[cfg(test)]
mod tests;
