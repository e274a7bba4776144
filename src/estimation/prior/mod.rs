//! Prior-aware estimation: the distribution nearest to a prior among those that agree with noisy answers as well as a
//! distribution can (Tao, Bater & Machanavajjhala 2021, "IDE").
//!
//! In two stages ([`TwoStages`]): the answers `y~` are moved, as little as possible in L1 norm, to `y* = W z` that some
//! distribution z has; then `q = argmin KL(q ‖ p)` with `W q = y*`. Or iteratively ([`PriorAware`], Algorithm 1):
//! marginals are projected one at a time and q is scaled to each, which suffices for large priors.
//!
//! The prior is a list of records with weights, or a graphical model.

mod file;
mod l1_projection;
mod on_model;
mod on_support;
mod two_stages;

pub use l1_projection::{l1_projection, l1_projection_by_program};
pub use two_stages::{KullbackLeibler, TwoStageEstimate, TwoStages};

use std::collections::{BTreeMap, BTreeSet};

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use crate::domain::{Clique, Domain};
use crate::error::{CommonError, Error, Result};

/// Noisy frequencies on one marginal, or on some of its cells: a partial workload (Tao et al. 2021).
#[derive(Clone, Debug, PartialEq)]
pub struct Answers {
    /// The marginal.
    pub clique: Clique,
    /// The answered cells, as row-major indices, each once; `None`: all, in order.
    pub cells: Option<Vec<u32>>,
    /// Noisy counts over the number of records, one per answered cell; they may be negative and need not sum to 1.
    pub frequencies: Vec<f64>,
}

impl Answers {
    /// Answers on all cells of a marginal, row-major.
    pub fn new(clique: Clique, frequencies: Vec<f64>) -> Self {
        Self { clique, cells: None, frequencies }
    }

    /// Answers on some cells of a marginal, given by their row-major indices. The others are taken together: they have
    /// what the answered ones leave.
    pub fn of_cells(clique: Clique, cells: Vec<u32>, frequencies: Vec<f64>) -> Self {
        Self { clique, cells: Some(cells), frequencies }
    }

    /// The number of blocks into which the answers divide the domain: one per answered cell and, unless all cells are
    /// answered, a last one for the rest.
    fn blocks(&self) -> usize {
        self.frequencies.len() + usize::from(self.cells.is_some())
    }

    /// Maps cells of the marginal to blocks.
    fn block_of(&self) -> impl Fn(u32) -> u32 + use<> {
        let answered = self.cells.as_ref().map(|cells| {
            let blocks = cells.iter().copied().zip(0_u32..);
            (blocks.collect::<BTreeMap<u32, u32>>(), u32::try_from(cells.len()).unwrap_or(u32::MAX))
        });
        move |cell| match &answered {
            None => cell,
            Some((known, rest)) => known.get(&cell).copied().unwrap_or(*rest),
        }
    }
}

/// Which answers the next step takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// All in turn.
    #[default]
    RoundRobin,
    /// All in a new random order in each pass. The seed costs no privacy: the answers are already released.
    Random {
        /// Seed of the order.
        seed: u64,
    },
    /// Those that the current distribution is furthest from, in L1 norm, after their projection.
    WorstFirst,
}

/// How answers are moved onto distributions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Projection {
    /// Nearest in L1 norm and, among those, with the smallest relative entropy to the current answers, in closed form.
    #[default]
    LeastEntropy,
    /// Nearest in L1 norm, any solution of a linear program: as published.
    LinearProgram,
}

/// Iterative prior-aware estimation (Tao et al. 2021, Algorithm 1): starting from the prior, each step projects the
/// answers on one marginal and scales the distribution to them (Definition 3.1). Among the records in cell i, with
/// current answer `b_i` and projected answer `y_i`,
///
/// - those with weight are scaled by `y_i / b_i` where `b_i > 0`, and
/// - where `b_i = 0`, all records that may lie there share `y_i` evenly.
///
/// Answers on some cells of a marginal leave `1 - Σ y_i` to the records outside them, which scale likewise by `(1 - Σ
/// y_i) / (1 - Σ b_i)`, or share it evenly if they had no weight. These answers are projected onto `y >= 0` with a sum
/// of at most 1.
///
/// With answers that some distribution has, this is iterative proportional fitting, and its limit is the projection of
/// the prior ([`TwoStages`]). Noisy answers contradict each other, and the steps move in a cycle. The iteration ends
/// when a pass moves almost as much as the previous one.
///
/// ```
/// use jointly::{Dataset, domain::{Clique, Domain}, model::{Distribution, WeightedSupport}};
/// use jointly::estimation::prior::{Answers, PriorAware};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let prior = WeightedSupport::all_cells(&domain, 100.0)?;
/// let answers = [Answers::new(Clique::new([0]), vec![0.25, 0.75])];
/// let found = PriorAware::default().update(&prior, &answers)?;
/// assert!((found.model.marginals(&[Clique::new([0])])?[0].values()[0] - 25.0).abs() < 1e-9);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriorAware {
    /// Which answers are next.
    pub order: Order,
    /// How they are projected.
    pub projection: Projection,
    /// Most passes; one pass has as many steps as there are answers.
    pub passes: u32,
    /// It ends when a pass moves the answers by less than this on average, in L1 norm, or ...
    pub tolerance: f64,
    /// ... by more than this share of the previous pass's movement.
    pub stagnation: f64,
}

impl Default for PriorAware {
    fn default() -> Self {
        Self {
            order: Order::RoundRobin,
            projection: Projection::LeastEntropy,
            passes: 50,
            tolerance: 1e-9,
            stagnation: 0.99,
        }
    }
}

/// A posterior with its history.
#[derive(Clone, Debug)]
pub struct PriorAwareEstimate<M> {
    /// The distribution.
    pub model: M,
    /// For each pass, the mean over its steps of the L1 distance by which answers were moved: `‖y_s - W_s q‖₁`.
    pub moved: Vec<f64>,
    /// Whether it converged within the allowed passes.
    pub converged: bool,
}

impl PriorAware {
    /// Runs all passes over `answers` answers. `distance`: how far the current distribution is from the projection of
    /// one; `step`: projects one, scales the distribution to it, and returns the distance.
    fn run<State>(
        &self,
        answers: usize,
        state: &mut State,
        mut distance: impl FnMut(&mut State, usize) -> Result<f64>,
        mut step: impl FnMut(&mut State, usize) -> Result<f64>,
    ) -> Result<(Vec<f64>, bool)> {
        if self.passes == 0 {
            return Err(Error::invalid_parameter("passes", self.passes, "at least 1"));
        }
        let mut order: Vec<usize> = (0..answers).collect();
        let seed = if let Order::Random { seed } = self.order { seed } else { 0 };
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let mut moved: Vec<f64> = Vec::new();
        for _ in 0..self.passes {
            let mut sum = 0.0;
            if matches!(self.order, Order::Random { .. }) {
                order.shuffle(&mut rng);
            }
            for position in &order {
                let next = if self.order == Order::WorstFirst {
                    let mut worst = (f64::NEG_INFINITY, 0);
                    for index in 0..answers {
                        let off = distance(state, index)?;
                        worst = if off > worst.0 { (off, index) } else { worst };
                    }
                    worst.1
                } else {
                    *position
                };
                sum += step(state, next)?;
            }
            let mean = sum / answers.max(1) as f64;
            let stagnates = moved.last().is_some_and(|last| mean > self.stagnation * last);
            moved.push(mean);
            if mean <= self.tolerance || stagnates {
                return Ok((moved, true));
            }
        }
        Ok((moved, false))
    }

    /// The projection of one marginal's answers, given the current ones. `current` and `possible` have one more member
    /// than there are answers if a last block has the rest.
    fn project(&self, answers: &[f64], current: &[f64], possible: &[bool]) -> Result<Vec<f64>> {
        let whole = |current: &[f64], possible: &[bool]| match self.projection {
            Projection::LeastEntropy => l1_projection(answers, current, possible),
            Projection::LinearProgram => l1_projection_by_program(answers, possible),
        };
        let (Some((_, answered)), Some((has_rest, may))) =
            (current.split_last(), possible.split_last())
        else {
            return whole(current, possible);
        };
        if current.len() == answers.len() {
            return whole(current, possible);
        }
        let positive = |(answer, may): (&f64, &bool)| if *may { answer.max(0.0) } else { 0.0 };
        let mut y: Vec<f64> = answers.iter().zip(may).map(positive).collect();
        let sum: f64 = y.iter().sum();
        if *has_rest && sum <= 1.0 {
            // The nearest such answers are the answers themselves; the rest has what they leave.
            y.push(1.0 - sum);
        } else {
            y = whole(answered, may)?;
            y.push(0.0);
        }
        Ok(y)
    }
}

/// Refuses answers that do not fit a domain.
fn check(domain: &Domain, answers: &[Answers]) -> Result<()> {
    for Answers { clique, cells, frequencies } in answers {
        if let Some(outside) = clique.iter().find(|a| *a >= domain.len()) {
            return Err(domain
                .unknown(&format!("#{outside}"), format!("the answers on {clique}"))
                .into());
        }
        let place = || format!("answers on {}", domain.describe(clique));
        let all = domain.cells(clique);
        let expected = match cells {
            None => all,
            Some(cells) => Some(cells.len() as u64),
        };
        if expected != Some(frequencies.len() as u64) {
            return Err(CommonError::ShapeMismatch {
                clique: domain.describe(clique),
                expected: usize::try_from(expected.unwrap_or(u64::MAX)).unwrap_or(usize::MAX),
                found: frequencies.len(),
            }
            .into());
        }
        let mut known = BTreeSet::new();
        for cell in cells.iter().flatten() {
            if all.is_some_and(|all| u64::from(*cell) >= all) || !known.insert(cell) {
                let expected = "different cells of the marginal";
                return Err(Error::invalid_specification(
                    place(),
                    format!("cell {cell}"),
                    expected,
                ));
            }
        }
        if frequencies.iter().any(|x| !x.is_finite()) {
            return Err(Error::invalid_specification(
                place(),
                "a frequency that is not finite",
                "finite frequencies",
            ));
        }
    }
    Ok(())
}

/// `‖a - b‖₁`.
fn l1(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| (a - b).abs()).sum()
}
