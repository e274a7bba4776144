//! The best mixture error: how well any weighting of a public table's rows can do.

mod bound;
mod game;
mod guaranteed;
mod master;
mod parts;
mod primal_dual;
mod problem;
mod smoothed;
mod support;
mod thinning;
mod working_set;

use serde::{Deserialize, Serialize};

use crate::data::{Dataset, Projectable};
use crate::error::{Error, Result};
use crate::query::Workload;

pub use bound::{ReweightingBound, WorstCase, sufficient_public_records};
pub(crate) use smoothed::{SmoothedAnswers, SmoothedError};
pub(crate) use thinning::thinned;

use problem::{Bracket, Problem};
use support::Support;
use working_set::WorkingSet;

/// Iterations before linear programs are tried on the remaining gap, or before a working set grows.
const FIRST_ITERATIONS: u32 = 8000;
const ITERATIONS_A_ROUND: u32 = 400;
/// Largest number of working sets.
const MAX_ROUNDS: u32 = 16;
/// Share of the tolerance that may remain after a search on a part of the instance.
const INNER: f64 = 0.5;

/// Which cells of the marginals count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoredCells {
    /// All of them, as in the definition.
    #[default]
    All,
    /// Those that at least one row of the support reaches, which the mixture can change.
    Supported,
}

impl ScoredCells {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("all", "All cells of the workload"),
        ("supported", "Only cells that contain a row of the public table"),
    ];
}

/// The best mixture error of a support S for a table D (Liu et al. 2021, section 5): **not private**.
///
/// ```text
/// f(S) = min over weights w on the rows of S  of  max over queries q  of  |q(D) − Σ_x w_x q(x)|
/// ```
///
/// where q is every cell of every marginal of a workload, as a probability. No method that reweights the rows of S can
/// have a smaller largest error. The answer is a bracket that is proved from the definition: its upper end is the error
/// of the mixture found, its lower end follows from prices on the queries. Weights of the workload are ignored.
///
/// ```
/// use jointly::{data::Dataset, domain::Domain, mixture_error::MixtureError, query::Workload};
/// let domain = Domain::new([("a", 2), ("b", 3)])?;
/// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 0], [1, 1], [1, 2]])?;
/// let public = Dataset::from_rows(domain.clone(), &[[0, 0], [1, 1]])?; // nobody has b = 2
/// let workload = Workload::all_k_way(&domain, 1)?;
/// let found = MixtureError::default().solve(&public, &real, &workload)?;
/// assert!((found.value() - 0.25).abs() < 1e-6 && found.gap() <= 1e-6);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureError {
    /// Width of the bracket, as a probability, at which the search ends.
    pub tolerance: f64,
    /// Which cells count.
    pub cells: ScoredCells,
    /// Most iterations of the first-order method; if they do not suffice, the bracket is wider than the tolerance.
    pub iterations: u32,
}

impl Default for MixtureError {
    fn default() -> Self {
        Self { tolerance: 1e-6, cells: ScoredCells::All, iterations: 20_000 }
    }
}

/// The method that closed a bracket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MixtureMethod {
    /// The public table itself meets the bound of the cells without support.
    Bound,
    /// The first-order method, on all rows and cells or on working sets of them.
    FirstOrder,
    /// Linear programs over some cells and rows, after the first-order method.
    LinearPrograms,
}

/// A proved bracket of a best mixture error, and the mixture behind its upper end.
#[derive(Clone, Debug, PartialEq)]
pub struct MixtureBracket {
    /// No mixture has a smaller error.
    pub lower: f64,
    /// The mixture's error.
    pub upper: f64,
    /// The largest probability of a cell that no row of the support reaches: a lower bound where all cells count.
    pub unreached: f64,
    /// Rows of the support with a weight.
    pub rows: Dataset,
    /// Their weights, which sum to one.
    pub weights: Vec<f64>,
    /// Number of distinct rows that could be mixed.
    pub support: usize,
    /// Number of cells that count.
    pub queries: u64,
    /// The method that closed the bracket, or came closest to it.
    pub method: MixtureMethod,
    /// Iterations of the first-order method.
    pub iterations: u32,
    /// Linear programs solved.
    pub programs: u32,
}

impl MixtureBracket {
    /// The middle of the bracket.
    pub fn value(&self) -> f64 {
        self.lower.midpoint(self.upper)
    }

    /// The width of the bracket.
    pub fn gap(&self) -> f64 {
        self.upper - self.lower
    }
}

/// The effort of a search.
#[derive(Clone, Copy, Debug, Default)]
struct Effort {
    iterations: u32,
    programs: u32,
}

impl MixtureError {
    /// The default tolerance of a release: at smaller ones, noise dominates in most tables.
    pub const RELEASED: f64 = 2.5e-4;

    /// The bracket for the distinct rows of a public table, on a workload over the common domain.
    ///
    /// # Errors
    /// A tolerance or a number of iterations of 0, tables over different domains, a table without records, or a
    /// workload too large to count.
    pub fn solve(
        &self,
        public: &Dataset,
        real: &dyn Projectable,
        workload: &Workload,
    ) -> Result<MixtureBracket> {
        self.check()?;
        real.domain().check_same(public.domain(), "the support")?;
        if real.records() == 0 {
            return Err(Error::invalid_specification("table", "no record", "at least one"));
        }
        let support = Support::new(public, workload)?;
        let answers = support.answers(|cliques| Ok(real.project_many(cliques)?))?;
        let records = real.records() as f64;
        let all = self.cells == ScoredCells::All;
        let problem = Problem::new(&support, &answers, records, all);
        let mut found = problem.bracket()?;
        let effort = self.search(&problem, &mut found)?;
        Ok(MixtureBracket {
            lower: found.lower,
            upper: found.upper,
            unreached: f64::from(answers.unreached) / records,
            rows: support.select(&found.rows)?.unwrap_or_else(|| support.rows.clone()),
            weights: found.weights,
            support: support.rows.records(),
            queries: if all { support.queries() } else { support.reached() as u64 },
            method: match effort {
                Effort { iterations: 0, .. } => MixtureMethod::Bound,
                Effort { programs: 0, .. } => MixtureMethod::FirstOrder,
                Effort { .. } => MixtureMethod::LinearPrograms,
            },
            iterations: effort.iterations,
            programs: effort.programs,
        })
    }

    /// Refuses parameters out of range. [`solve`](Self::solve) does so too.
    ///
    /// # Errors
    /// A tolerance or a number of iterations that is not above 0.
    pub fn check(&self) -> Result<()> {
        if !(self.tolerance > 0.0 && self.tolerance.is_finite()) {
            return Err(Error::invalid_parameter("tolerance", self.tolerance, "above 0"));
        }
        if self.iterations == 0 {
            return Err(Error::invalid_parameter("iterations", 0, "at least 1"));
        }
        Ok(())
    }

    /// Narrows a bracket: by the first-order method on growing parts of the instance, then by linear programs if a gap
    /// remains, and by more first-order iterations if the programs are too large.
    fn search(&self, problem: &Problem<'_>, found: &mut Bracket) -> Result<Effort> {
        let mut effort = Effort::default();
        let mut set = WorkingSet::new(problem, found);
        let mut round = 0;
        while found.gap() > self.tolerance
            && round < MAX_ROUNDS
            && effort.iterations < self.iterations
        {
            round += 1;
            let complete = set.is_complete(problem);
            let most = if complete { FIRST_ITERATIONS } else { ITERATIONS_A_ROUND };
            let left = self.iterations - effort.iterations;
            let game = set.game(problem)?;
            let mut search = set.search(&game, problem, found);
            effort.iterations += search.run(INNER * self.tolerance, most.min(left));
            let grown = set.offer(problem, found, &search)?;
            if complete || !grown {
                effort.programs += master::refine(problem, found, self.tolerance)?;
                if found.gap() > self.tolerance {
                    let left = self.iterations - effort.iterations;
                    effort.iterations += search.run(INNER * self.tolerance, left);
                    set.offer(problem, found, &search)?;
                }
            }
        }
        Ok(effort)
    }
}

#[cfg(test)]
mod tests;
