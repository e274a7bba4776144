//! The exact form: answers onto distributions by a linear program, then the prior onto the answers.

use ndarray::{Array1, Array2};

use crate::error::{Error, Result};
use crate::estimation::prior::on_support::blocks;
use crate::estimation::prior::{Answers, check, l1};
use crate::linalg::solve_positive_definite;
use crate::model::{Distribution, WeightedSupport};
use crate::program::{Comparison, Constraint, LinearProgram};

/// How the prior is projected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KullbackLeibler {
    /// Iterative proportional fitting: cheap steps, linear convergence.
    #[default]
    ProportionalFitting,
    /// Newton's method on the dual, a smooth convex function of one number per query: few steps, each of which solves a
    /// dense system of that size.
    Newton,
}

/// The two stages of prior-aware estimation, exactly (Tao et al. 2021, section 3): `y* = argmin ‖y - y~‖₁` over
/// `y = W z` with a distribution z on the prior's records, then `q = argmin KL(q ‖ p)` with `W q = y*`.
///
/// ```
/// use jointly::{domain::{Clique, Domain}, model::{Distribution, WeightedSupport}};
/// use jointly::estimation::prior::{Answers, TwoStages};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let prior = WeightedSupport::all_cells(&domain, 100.0)?;
/// let answers = [Answers::new(Clique::new([1]), vec![0.5, 0.5])];
/// let found = TwoStages::default().update(&prior, &answers)?;
/// assert!((found.model.marginals(&[Clique::new([1])])?[0].values()[0] - 50.0).abs() < 1e-6);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoStages {
    /// How the second stage is solved.
    pub method: KullbackLeibler,
    /// The second stage ends when no answer is off by more than this.
    pub tolerance: f64,
    /// Most steps of the second stage: passes over all marginals, or Newton steps.
    pub steps: u32,
}

impl Default for TwoStages {
    fn default() -> Self {
        Self { method: KullbackLeibler::default(), tolerance: 1e-10, steps: 10_000 }
    }
}

/// A posterior with its proof of optimality.
#[derive(Clone, Debug)]
pub struct TwoStageEstimate {
    /// The distribution q.
    pub model: WeightedSupport,
    /// The answers `y*`, marginal after marginal, in the order of the noisy ones.
    pub answers: Vec<Vec<f64>>,
    /// `‖y* - y~‖₁`.
    pub moved: f64,
    /// `KL(q ‖ p)` in nats.
    pub divergence: f64,
    /// `KL(q ‖ p)` minus the value of the dual: how far q is from optimal, up to the residual.
    pub duality_gap: f64,
    /// `max |W q - y*|`.
    pub residual: f64,
    /// Steps of the second stage.
    pub steps: u32,
}

/// Most variables and constraints of the linear program together.
const MOST_SIZE: usize = 60_000;
/// Most queries of Newton's method: a dense system of that size.
const MOST_QUERIES: usize = 3_000;
/// Answers below this count as zero: no record can lie there.
const ZERO: f64 = 1e-12;
/// Added to the diagonal of the Hessian, which has a kernel: marginals share their sums.
const RIDGE: f64 = 1e-12;

impl TwoStages {
    /// The posterior of a prior. Records of weight 0 are not in its support.
    ///
    /// # Errors
    /// Answers that do not fit the prior's domain, a program above 60,000 variables and constraints, more than 3,000
    /// queries for Newton's method, or a solver that fails.
    pub fn update(&self, prior: &WeightedSupport, answers: &[Answers]) -> Result<TwoStageEstimate> {
        check(prior.domain(), answers)?;
        let sum: f64 = prior.weights().iter().sum();
        let p: Vec<f64> = prior.weights().iter().map(|w| w / sum).collect();
        let queries = Queries::new(prior, answers, &p)?;
        let y = queries.nearest(answers)?;
        let moved = y.iter().zip(answers).map(|(y, a)| l1(y, &a.frequencies)).sum();

        // Records in empty cells are removed; the rest keeps its form p exp(Σ λ).
        let mut q = p.clone();
        for (cells, y) in queries.cells.iter().zip(&y) {
            for (q, cell) in q.iter_mut().zip(cells) {
                if y[*cell as usize] <= ZERO {
                    *q = 0.0;
                }
            }
        }
        let support: f64 = q.iter().sum();
        q.iter_mut().for_each(|q| *q /= support);
        let start = q.clone();
        let mut dual = Dual { lambda: y.iter().map(|y| vec![0.0; y.len()]).collect() };
        let steps = match self.method {
            KullbackLeibler::ProportionalFitting => self.fit(&queries, &y, &mut q, &mut dual),
            KullbackLeibler::Newton => self.newton(&queries, &y, &start, &mut q, &mut dual)?,
        };
        let divergence: f64 =
            q.iter().zip(&p).filter(|(q, _)| **q > 0.0).map(|(q, p)| q * (q / p).ln()).sum();
        // The dual: <λ, y> - ln Σ p exp(Σ λ), over the remaining records.
        let value = dual.value(&queries, &y, &start) - support.ln();
        let residual = queries.residual(&q, &y);
        let model = prior.clone().reweighted(q, prior.total())?;
        let duality_gap = divergence - value;
        let answered = y.iter().zip(answers).map(|(y, a)| y[..a.frequencies.len()].to_vec());
        let y = answered.collect();
        Ok(TwoStageEstimate { model, answers: y, moved, divergence, duality_gap, residual, steps })
    }

    /// Iterative proportional fitting; the passes made.
    fn fit(&self, queries: &Queries, y: &[Vec<f64>], q: &mut [f64], dual: &mut Dual) -> u32 {
        for pass in 0..self.steps {
            if queries.residual(q, y) <= self.tolerance {
                return pass;
            }
            for (index, y) in y.iter().enumerate() {
                let b = queries.marginal(index, q);
                let log =
                    |(y, b): (&f64, &f64)| if *y > ZERO && *b > 0.0 { (y / b).ln() } else { 0.0 };
                let change: Vec<f64> = y.iter().zip(&b).map(log).collect();
                for (q, cell) in q.iter_mut().zip(&queries.cells[index]) {
                    *q *= change[*cell as usize].exp();
                }
                dual.lambda[index].iter_mut().zip(change).for_each(|(l, c)| *l += c);
            }
        }
        self.steps
    }

    /// Newton's method on `g(λ) = ln Σ p exp(Σ λ) - <λ, y>`, damped by halving; the steps made.
    fn newton(
        &self,
        queries: &Queries,
        y: &[Vec<f64>],
        p: &[f64],
        q: &mut Vec<f64>,
        dual: &mut Dual,
    ) -> Result<u32> {
        let size: usize = y.iter().map(Vec::len).sum();
        if size > MOST_QUERIES {
            return Err(Error::too_large(
                "Newton's method on the dual",
                Some(size as f64),
                MOST_QUERIES as f64,
                "queries",
            ));
        }
        let mut value = dual.value(queries, y, p);
        for step in 0..self.steps {
            if queries.residual(q, y) <= self.tolerance {
                return Ok(step);
            }
            let (hessian, gradient) = queries.derivatives(q, y);
            let direction = solve_positive_definite(&hessian, &gradient)?;
            let mut length = 1.0;
            loop {
                let next = dual.moved(&direction, length);
                let next_value = next.value(queries, y, p);
                if next_value >= value || length < 1e-12 {
                    let done = next_value <= value && length < 1e-12;
                    *dual = next;
                    value = next_value;
                    *q = dual.distribution(queries, p);
                    if done {
                        return Ok(step);
                    }
                    break;
                }
                length *= 0.5;
            }
        }
        Ok(self.steps)
    }
}

/// The queries of all answers, on the prior's records.
struct Queries {
    /// For each marginal, the block of every record: its cell, or the rest of the cells.
    cells: Vec<Vec<u32>>,
    /// For each marginal, its number of blocks.
    sizes: Vec<usize>,
    /// Records in the prior's support.
    support: Vec<usize>,
}

impl Queries {
    fn new(prior: &WeightedSupport, answers: &[Answers], p: &[f64]) -> Result<Self> {
        let cells = blocks(prior, answers)?;
        let sizes = answers.iter().map(Answers::blocks).collect();
        Ok(Self { cells, sizes, support: (0..p.len()).filter(|j| p[*j] > 0.0).collect() })
    }

    fn marginal(&self, index: usize, q: &[f64]) -> Vec<f64> {
        let mut b = vec![0.0; self.sizes[index]];
        self.cells[index].iter().zip(q).for_each(|(cell, q)| b[*cell as usize] += q);
        b
    }

    /// `max |W q - y|`.
    fn residual(&self, q: &[f64], y: &[Vec<f64>]) -> f64 {
        let of = |(index, y): (usize, &Vec<f64>)| {
            let b = self.marginal(index, q);
            b.iter().zip(y).map(|(b, y)| (b - y).abs()).fold(0.0, f64::max)
        };
        y.iter().enumerate().map(of).fold(0.0, f64::max)
    }

    /// `y* = W z` for the distribution z on the support with the least `‖W z - y~‖₁`.
    fn nearest(&self, answers: &[Answers]) -> Result<Vec<Vec<f64>>> {
        let records = self.support.len();
        let queries: usize = self.sizes.iter().sum();
        let size = records + 3 * queries;
        if size > MOST_SIZE {
            return Err(Error::too_large(
                "the first stage",
                Some(size as f64),
                MOST_SIZE as f64,
                "variables and constraints of a linear program",
            ));
        }
        // z, then t >= |W z - y~|.
        let mut members: Vec<Vec<usize>> = vec![Vec::new(); queries];
        let mut first = 0;
        for (cells, size) in self.cells.iter().zip(&self.sizes) {
            for (position, record) in self.support.iter().enumerate() {
                members[first + cells[*record] as usize].push(position);
            }
            first += size;
        }
        let mut constraints = vec![Constraint {
            terms: (0..records).map(|j| (j, 1.0)).collect(),
            comparison: Comparison::Equal,
            bound: 1.0,
        }];
        // The rest of a marginal's cells has no answer, so no constraint.
        let answers = answers.iter().flat_map(|a| {
            let rest = a.cells.as_ref().map(|_| None);
            a.frequencies.iter().map(|answer| Some(*answer)).chain(rest)
        });
        let answered = members.iter().enumerate().zip(answers);
        for ((query, members), answer) in answered.filter_map(|(m, answer)| Some((m, answer?))) {
            for sign in [1.0, -1.0] {
                let terms = members.iter().map(|j| (*j, sign)).chain([(records + query, -1.0)]);
                constraints.push(Constraint {
                    terms: terms.collect(),
                    comparison: Comparison::AtMost,
                    bound: sign * answer,
                });
            }
        }
        let objective = (0..records + queries).map(|i| if i < records { 0.0 } else { 1.0 });
        let solution = LinearProgram { objective: objective.collect(), constraints }.solve()?;
        // The solver's z is a distribution up to rounding; normalized, its answers are those of a distribution.
        let mut z = vec![0.0; self.cells.first().map_or(0, Vec::len)];
        for (record, value) in self.support.iter().zip(&solution.values) {
            z[*record] = if *value > ZERO { *value } else { 0.0 };
        }
        let sum: f64 = z.iter().sum();
        z.iter_mut().for_each(|z| *z /= sum);
        Ok((0..self.sizes.len()).map(|index| self.marginal(index, &z)).collect())
    }

    /// Hessian of g and its negative gradient `y - W q`, over all queries.
    fn derivatives(&self, q: &[f64], y: &[Vec<f64>]) -> (Array2<f64>, Array1<f64>) {
        let mut starts = vec![0];
        for size in &self.sizes {
            starts.push(starts.last().copied().unwrap_or(0) + size);
        }
        let size = starts.last().copied().unwrap_or(0);
        let mean: Vec<f64> = (0..self.sizes.len()).flat_map(|i| self.marginal(i, q)).collect();
        let mut hessian = Array2::zeros((size, size));
        for (record, q) in q.iter().enumerate().filter(|(_, q)| **q > 0.0) {
            let at = |i: usize| starts[i] + self.cells[i][record] as usize;
            for i in 0..self.sizes.len() {
                for j in 0..=i {
                    hessian[[at(i), at(j)]] += q;
                }
            }
        }
        for i in 0..size {
            for j in 0..=i {
                hessian[[i, j]] -= mean[i] * mean[j];
            }
            hessian[[i, i]] += RIDGE;
        }
        let off = y.iter().flatten().zip(&mean).map(|(y, mean)| y - mean);
        (hessian, off.collect())
    }
}

/// One λ for every query.
#[derive(Clone)]
struct Dual {
    lambda: Vec<Vec<f64>>,
}

impl Dual {
    /// `Σ λ` over the queries that a record answers.
    fn exponent(&self, queries: &Queries, record: usize) -> f64 {
        let own = self.lambda.iter().zip(&queries.cells);
        own.map(|(lambda, cells)| lambda[cells[record] as usize]).sum()
    }

    /// `<λ, y> - ln Σ p exp(Σ λ)`.
    fn value(&self, queries: &Queries, y: &[Vec<f64>], p: &[f64]) -> f64 {
        let along: f64 =
            self.lambda.iter().flatten().zip(y.iter().flatten()).map(|(l, y)| l * y).sum();
        along - self.log_partition(queries, p)
    }

    fn log_partition(&self, queries: &Queries, p: &[f64]) -> f64 {
        let left = p.iter().enumerate().filter(|(_, p)| **p > 0.0);
        let logs: Vec<f64> = left.map(|(j, p)| p.ln() + self.exponent(queries, j)).collect();
        let max = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        max + logs.iter().map(|log| (log - max).exp()).sum::<f64>().ln()
    }

    fn moved(&self, direction: &Array1<f64>, length: f64) -> Self {
        let mut next = self.clone();
        let steps = next.lambda.iter_mut().flatten().zip(direction);
        steps.for_each(|(lambda, d)| *lambda += length * d);
        next
    }

    /// `p exp(Σ λ)`, normalized.
    fn distribution(&self, queries: &Queries, p: &[f64]) -> Vec<f64> {
        let log_partition = self.log_partition(queries, p);
        let log = |j: usize| self.exponent(queries, j) - log_partition;
        p.iter().enumerate().map(|(j, p)| if *p > 0.0 { p * log(j).exp() } else { 0.0 }).collect()
    }
}
