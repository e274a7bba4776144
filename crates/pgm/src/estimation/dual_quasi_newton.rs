//! Fits that are pulled towards a base measure, by quasi-Newton steps on their dual.
//!
//! ```text
//! F(p) = L(μ) + κ KL(p ‖ p₀)
//! J(θ) = N A(θ) - <θ, y> + ½ Σ_r c_r ‖θ_r‖²,    c_r = κ / (N w_r)
//! ```
//!
//! J is convex, its gradient `μ - y + c θ` is one oracle call, and its least point is that of F (`docs/theory/pull.md`).

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::estimation::pull::Pull;
use crate::estimation::quasi_newton::{CHUNK, Point, QuasiNewton};
use crate::estimation::{Estimate, MarginalLoss, Misfit, SquaredLoss, Stopping, Watch};
use crate::inference::MarginalOracle;
use crate::table::{Marginals, Potentials};

/// Minimizes `L(μ) + κ KL(p ‖ p₀)`, where p₀ is the oracle's distribution for potentials of zero; the oracle's log-partition
/// value must be 0 there, as that of [`OverBase`](crate::inference::OverBase) is.
///
/// [`AcceleratedBregman::pull`](crate::estimation::AcceleratedBregman::pull) has the same minimum and the same bound at every step. Where
/// the pull is strong, this method took a third of its calls; where it is weak, fits that ended early made better releases with that one
/// (`docs/adr/0059-the-expert-of-the-public-tables-is-fitted-on-its-dual.md`).
///
/// ```
/// use jointly_pgm::{domain::{Clique, Domain}, inference::OverBase, measurement::Measurement};
/// use jointly_pgm::estimation::{DualQuasiNewton, SquaredLoss, Stopping, Weighting};
/// use jointly_pgm::table::{CliqueLayout, Potentials};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let base = Potentials::zeros(&CliqueLayout::new(&domain, [Clique::new([0, 1])])?);
/// let noisy = [Measurement::new(Clique::new([0]), vec![90.0, 10.0], 5.0)];
/// let loss = SquaredLoss::new(&domain, &noisy, Weighting::InverseVariance)?;
/// let oracle = OverBase::new(&domain, &base, loss.layout())?;
/// let method = DualQuasiNewton { pull: 100.0, stopping: Stopping::certified(1e-6, 50) };
/// let fit = method.fit(&oracle, &loss, 100.0, None)?;
/// // Between the base, where it is 50, and the measurement.
/// assert!(fit.marginals.values()[0] > 70.0 && fit.marginals.values()[0] < 85.0);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DualQuasiNewton {
    /// κ, in records; above 0.
    pub pull: f64,
    /// When to end.
    pub stopping: Stopping,
}

/// Steps that are remembered.
const PAIRS: usize = 20;
/// By how much the diagonal alone moves a potential, at most: far from the optimum, a gradient tells no more than the
/// direction.
const REACH: f64 = 1.0;

impl DualQuasiNewton {
    /// The fit, from `warm_start` or from the base, with marginals that sum to `total` records. `oracle` must be one for the cliques
    /// of the loss.
    ///
    /// # Errors
    /// A κ that is not finite and above 0, a warm start over other cliques than the loss's, or what the oracle reports.
    pub fn fit<O: MarginalOracle>(
        &self,
        oracle: &O,
        loss: &SquaredLoss,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate> {
        if !(self.pull > 0.0 && self.pull.is_finite()) {
            return Err(Error::invalid_parameter("pull", self.pull, "finite and above 0"));
        }
        oracle.together(|| self.run(oracle, loss, total, warm_start))
    }

    fn run<O: MarginalOracle>(
        &self,
        oracle: &O,
        loss: &SquaredLoss,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate> {
        let start = match warm_start {
            Some(potentials) => potentials.expand(loss.layout())?,
            None => Potentials::zeros(loss.layout()),
        };
        let mut dual = Dual::new(oracle, loss, Pull::new(self.pull, total)?);
        let mut search = dual.search_from(&start)?;
        let mut diagonal = vec![0.0; loss.layout().cells()];
        let (mut misfit, mut lower_bound) = dual.misfit_and_bound();
        let mut watch = Watch::new(self.stopping, loss, total, misfit.value);
        let mut best = dual.estimate(misfit);
        while !watch.is_over(dual.calls, misfit, lower_bound) {
            dual.write_diagonal(search.at(), &mut diagonal);
            if !search.step(&diagonal, |point| dual.evaluate(point))? {
                break;
            }
            dual.accept();
            let bound;
            (misfit, bound) = dual.misfit_and_bound();
            lower_bound = lower_bound.max(bound);
            if misfit.value < best.loss {
                best = dual.estimate(misfit);
            }
        }
        Ok(Estimate { lower_bound, oracle_calls: dual.calls, ..best })
    }
}

/// J, with what the oracle said of the present point and of the one that is tried.
struct Dual<'a, O: MarginalOracle> {
    oracle: &'a O,
    workspace: O::Workspace,
    loss: &'a SquaredLoss,
    pull: Pull,
    /// c of each cell.
    spread: Vec<f64>,
    here: Answer,
    there: Answer,
    calls: u32,
}

/// Potentials with their marginals and their log-partition value.
#[derive(Clone)]
struct Answer {
    theta: Potentials,
    mu: Marginals,
    log_partition: f64,
}

impl<'a, O: MarginalOracle> Dual<'a, O> {
    fn new(oracle: &'a O, loss: &'a SquaredLoss, pull: Pull) -> Self {
        let layout = loss.layout();
        let (theta, mu) = (Potentials::zeros(layout), Marginals::zeros(layout));
        let here = Answer { theta, mu, log_partition: 0.0 };
        Self {
            oracle,
            workspace: oracle.workspace(),
            loss,
            pull,
            spread: loss.variances(pull.strength / pull.total),
            there: here.clone(),
            here,
            calls: 0,
        }
    }

    /// Begins at a point, or at the base where potentials are so far apart that only a slow oracle could answer.
    fn search_from(&mut self, start: &Potentials) -> Result<QuasiNewton> {
        let mut search = QuasiNewton::new(start.values().to_vec(), PAIRS);
        if !search.begin(|point| self.evaluate(point))? {
            search = QuasiNewton::new(vec![0.0; start.values().len()], PAIRS);
            search.begin(|point| self.evaluate_slowly(point))?;
        }
        self.accept();
        Ok(search)
    }

    /// J and its gradient; false where only a slow oracle could answer.
    fn evaluate(&mut self, point: &mut Point) -> Result<bool> {
        self.calls += 1;
        let Self { oracle, workspace, pull, there, .. } = self;
        there.theta.values_mut().copy_from_slice(&point.x);
        let Answer { theta, mu, .. } = there;
        match oracle.marginals_if_fast(theta, pull.total, workspace, mu)? {
            Some(log_partition) => Ok(self.write(log_partition, point)),
            None => Ok(false),
        }
    }

    /// The same, however long it takes.
    fn evaluate_slowly(&mut self, point: &mut Point) -> Result<bool> {
        self.calls += 1;
        let Self { oracle, workspace, pull, there, .. } = self;
        there.theta.values_mut().copy_from_slice(&point.x);
        let Answer { theta, mu, .. } = there;
        let log_partition = oracle.marginals(theta, pull.total, workspace, mu)?;
        Ok(self.write(log_partition, point))
    }

    /// Writes J and its gradient from what the oracle said; false if they are no numbers.
    fn write(&mut self, log_partition: f64, point: &mut Point) -> bool {
        let Self { loss, pull: Pull { strength, total }, spread, there, .. } = self;
        there.log_partition = log_partition;
        let (along, squares) = loss.along_and_squares(&point.x);
        point.value = *total * log_partition - along + 0.5 * *strength / *total * squares;
        let known = there.mu.values().par_iter().zip(loss.targets()).zip(&*spread);
        let slopes = point.gradient.par_iter_mut().zip(&point.x).zip(known).with_min_len(CHUNK);
        slopes.for_each(|((slope, t), ((mu, y), c))| *slope = mu - y + c * t);
        point.value.is_finite()
    }

    /// The point that was tried last is the present one.
    fn accept(&mut self) {
        std::mem::swap(&mut self.here, &mut self.there);
    }

    /// The Hessian's diagonal at the present point, `μ + c` without covariances, or more.
    fn write_diagonal(&self, at: &Point, diagonal: &mut [f64]) {
        let known = self.here.mu.values().par_iter().zip(&self.spread).zip(&at.gradient);
        let cells = diagonal.par_iter_mut().zip(known).with_min_len(CHUNK);
        cells.for_each(|(d, ((mu, c), slope))| *d = (mu + c).max(slope.abs() / REACH));
    }

    /// F at the present point with how far the measurements are, and a number that F is never below.
    fn misfit_and_bound(&self) -> (Misfit, f64) {
        let Answer { theta, mu, log_partition } = &self.here;
        let mut misfit = self.loss.misfit(mu.values());
        let bound = self.pull.join(&mut misfit, self.loss, theta, mu, *log_partition);
        (misfit, bound.max(self.loss.floor()))
    }

    fn estimate(&self, misfit: Misfit) -> Estimate {
        let Answer { theta: potentials, mu: marginals, log_partition } = self.here.clone();
        let (loss, lower_bound, oracle_calls) = (misfit.value, f64::NEG_INFINITY, self.calls);
        Estimate { potentials, marginals, loss, lower_bound, log_partition, oracle_calls }
    }
}
