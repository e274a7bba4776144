//! RAP and RAP-softmax: product distributions that are themselves the parameters.

use std::ops::Range;

use ndarray::{Array2, ArrayViewMut2, Axis, Slice};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde::{Deserialize, Serialize};

use super::adam::Adam;
use super::soft_max;
use super::targets::Targets;
use super::training::{Memory, Trained, Training, fill, numbers};
use super::{check_count, check_rate, check_size};
use crate::domain::Domain;
use crate::error::Result;
use crate::mechanism::Task;
use crate::mechanism::query_release::{Approximation, Queries, QueryMechanism, QueryRelease};
use crate::model::products::split::value_ranges;
use crate::observe::Checks;

/// The seed of the first parameters. It is public, and the same for all runs.
const SEED: u64 = 0;
/// A loss that ends training.
const MET: f64 = 1e-8;
/// Training ends when this many steps ...
const PATIENCE: u32 = 50;
/// ... improve the loss by less than this share of it.
const IMPROVED: f64 = 1e-4;

/// The rows of RAP, and how a round trains them.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RowFit {
    /// B, the number of rows.
    pub components: u32,
    /// Maximum number of steps of a round. It ends earlier at a loss below 10⁻⁸, and when 50 steps improve the loss by
    /// less than 10⁻⁴ of it.
    pub steps: u32,
    /// Adam's rate.
    pub learning_rate: f64,
}

impl RowFit {
    fn check(&self) -> Result<()> {
        check_count("components", self.components)?;
        check_count("steps", self.steps)?;
        check_rate(self.learning_rate)
    }
}

/// RAP-softmax (Liu, Vietri & Wu 2021): [`Rap`] with a soft-max for each attribute of each row, so that every row is a
/// product of distributions.
///
/// Each round selects k queries that the rows answer worst, measures them, and minimizes `Σ (q - a)²` over all answers
/// so far by Adam. The number of records n is treated as in [`crate::mechanism::Aim`].
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, QueryRelease, RapSoftmax, RowFit};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 2, ..RapSoftmax::default().release };
/// let rows = RowFit { components: 20, steps: 200, learning_rate: 0.1 };
/// let mechanism = RapSoftmax { release, rows };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 2);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct RapSoftmax {
    /// Rounds, selection, queries and output; by default 25 rounds of two marginals.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The rows and their training; by default 1,000 rows, 1,000 steps and a rate of 0.1.
    #[serde(flatten)]
    pub rows: RowFit,
}

impl Default for RapSoftmax {
    fn default() -> Self {
        let rows = RowFit { components: 1000, steps: 1000, learning_rate: 0.1 };
        Self { release: two_a_round(), rows }
    }
}

/// RAP, the relaxed adaptive projection (Aydore, Brown, Kearns, Kenthapadi, Melis, Roth & Siva 2021): rows of numbers
/// in [0, 1], whose products answer queries as if they were probabilities.
///
/// The rounds are those of [`RapSoftmax`]. Nothing makes the numbers of an attribute sum to 1 while they are fitted, so
/// a measured cell says nothing about the others of its marginal. The released model takes each attribute's numbers in
/// proportion; drawing from it is the paper's randomized rounding. Its answers are not those that were fitted.
///
/// ```
/// # use jointly::domain::Domain;
/// # use jointly::mechanism::{Mechanism, QueryRelease, Rap, RowFit};
/// # use jointly::{Budget, Dataset, NeighboringRelation, NoiseSeed, Silent, Task, Workload};
/// # let rows: Vec<[u32; 3]> = (0..600).map(|i| [i % 2, i % 3, i % 5 / 2]).collect();
/// # let private = Dataset::from_rows(Domain::new([("a", 2), ("b", 3), ("c", 3)])?, &rows)?;
/// # let workload = Workload::all_k_way(private.domain(), 2)?;
/// # let budget = Budget::approximate(1.0, 1e-6)?;
/// # let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
/// let release = QueryRelease { rounds: 2, ..Rap::default().release };
/// let rows = RowFit { components: 20, steps: 200, learning_rate: 0.01 };
/// let mechanism = Rap { release, rows };
/// let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
/// assert_eq!(release.rounds.len(), 2);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Rap {
    /// Rounds, selection, queries and output; by default 25 rounds of two marginals.
    #[serde(flatten)]
    pub release: QueryRelease,
    /// The rows and their training; by default 1,000 rows, 1,000 steps and a rate of 0.001.
    #[serde(flatten)]
    pub rows: RowFit,
}

impl Default for Rap {
    fn default() -> Self {
        let rows = RowFit { components: 1000, steps: 1000, learning_rate: 0.001 };
        Self { release: two_a_round(), rows }
    }
}

fn two_a_round() -> QueryRelease {
    QueryRelease { per_round: 2, ..QueryRelease::new(25, Queries::Marginals) }
}

/// How rows answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    /// By the soft-max of their numbers.
    SoftMax,
    /// By the numbers themselves, kept in [0, 1].
    Relaxed,
}

/// Rows in training.
struct RowModel {
    rows: Rows,
    settings: RowFit,
    /// Where the values of each attribute lie.
    ranges: Vec<Range<usize>>,
    /// One matrix: a row for each value of each attribute, a column for each of the model's rows.
    parameters: Vec<Array2<f32>>,
    /// What the rows answer with.
    matrix: Array2<f32>,
    adam: Adam<f32>,
}

impl RowModel {
    fn new(rows: Rows, settings: RowFit, domain: &Domain) -> Result<Self> {
        let mut rng = ChaCha20Rng::seed_from_u64(SEED);
        let ranges = value_ranges(domain);
        let values = ranges.last().map_or(0, |range| range.end);
        check_size(6.0 * values as f64 * f64::from(settings.components))?;
        let mut parameters: Array2<f32> = Array2::zeros((values, settings.components as usize));
        for range in &ranges {
            let mut block = parameters.slice_axis_mut(Axis(0), Slice::from(range.clone()));
            match rows {
                Rows::SoftMax => block.mapv_inplace(|_| StandardNormal.sample(&mut rng)),
                // Away from 0, where products have no slope.
                Rows::Relaxed => {
                    let values = range.len() as f32;
                    block.mapv_inplace(|_| (0.1 + 0.8 * rng.random::<f32>()) / values);
                }
            }
        }
        let parameters = vec![parameters];
        let (matrix, adam) = (Array2::zeros((0, 0)), Adam::new(&parameters));
        let mut own = Self { rows, settings, ranges, parameters, matrix, adam };
        own.forward();
        Ok(own)
    }

    /// Computes what the rows answer with.
    fn forward(&mut self) {
        let Some(parameters) = self.parameters.first_mut() else { return };
        match self.rows {
            Rows::SoftMax => {
                self.matrix.clone_from(parameters);
                soft_max::forward(&mut self.matrix, &self.ranges);
            }
            Rows::Relaxed => {
                parameters.mapv_inplace(|x| x.clamp(0.0, 1.0));
                self.matrix.clone_from(parameters);
            }
        }
    }
}

impl Trained for RowModel {
    fn parameters(&self) -> &[Array2<f32>] {
        &self.parameters
    }

    fn set(&mut self, parameters: Vec<Array2<f32>>) {
        self.adam = Adam::new(&parameters);
        self.parameters = parameters;
        self.forward();
    }

    fn matrix(&self) -> &Array2<f32> {
        &self.matrix
    }

    /// The box of `docs/theory/query-release.md`, section 2.
    fn train(&mut self, targets: &Targets, _round: u32, checks: &dyn Checks) -> Result<u32> {
        let squares = |errors: &[Vec<f64>]| errors.iter().flatten().map(|e| e * e).sum::<f64>();
        let mut errors = targets.errors(&self.matrix, None);
        let mut loss = squares(&errors);
        let (mut marked, mut steps) = (loss, 0);
        while steps < self.settings.steps && loss >= MET {
            checks.check()?;
            for slope in errors.iter_mut().flatten() {
                *slope *= 2.0;
            }
            let mut gradient = targets.pull_back(&self.matrix, &errors);
            if self.rows == Rows::SoftMax {
                soft_max::backward(&self.matrix, &mut gradient, &self.ranges);
            }
            self.adam.step(&mut self.parameters, &[gradient], self.settings.learning_rate);
            self.forward();
            errors = targets.errors(&self.matrix, None);
            loss = squares(&errors);
            steps += 1;
            if steps % PATIENCE == 0 {
                if marked - loss < IMPROVED * marked {
                    break;
                }
                marked = loss;
            }
        }
        Ok(steps)
    }

    fn memory(&self) -> Memory {
        let Adam { first, second, steps } = &self.adam;
        Memory::Adam { first: numbers(first), second: numbers(second), steps: *steps }
    }

    fn recall(&mut self, parameters: &[Vec<f32>], memory: Memory) -> bool {
        let Memory::Adam { first, second, steps } = memory else { return false };
        self.adam.steps = steps;
        let fits = fill(&mut self.parameters, parameters)
            && fill(&mut self.adam.first, &first)
            && fill(&mut self.adam.second, &second);
        self.forward();
        fits
    }

    fn probabilities(mut self) -> Array2<f32> {
        if self.rows == Rows::Relaxed {
            for range in &self.ranges {
                proportions(self.matrix.slice_axis_mut(Axis(0), Slice::from(range.clone())));
            }
        }
        self.matrix
    }
}

/// Makes every column sum to 1: uniform where all its numbers are 0.
fn proportions(mut block: ArrayViewMut2<'_, f32>) {
    let values = block.nrows() as f32;
    for mut column in block.columns_mut() {
        let sum: f32 = column.sum();
        if sum > 0.0 {
            column.mapv_inplace(|x| x / sum);
        } else {
            column.fill(1.0 / values);
        }
    }
}

impl QueryMechanism for RapSoftmax {
    const NAME: &'static str = "rap-softmax";

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        self.rows.check()
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        _task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        let model = RowModel::new(Rows::SoftMax, self.rows, domain)?;
        Ok(Training::new(model, domain, self.release.rounds))
    }
}

impl QueryMechanism for Rap {
    const NAME: &'static str = "rap";

    fn release(&self) -> &QueryRelease {
        &self.release
    }

    fn check_model(&self) -> Result<()> {
        self.rows.check()
    }

    fn model<'m>(
        &'m self,
        domain: &Domain,
        _task: &Task<'_>,
    ) -> Result<impl Approximation + use<'m>> {
        let model = RowModel::new(Rows::Relaxed, self.rows, domain)?;
        Ok(Training::new(model, domain, self.release.rounds))
    }
}
