//! What GEM and RAP share: a mixture of products that every round trains on all answers so far.

use ndarray::{Array2, Zip};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::targets::{Targets, largest};
use crate::data::table_sizes;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::linalg::Real;
use crate::measurement::Measurement;
use crate::mechanism::query_release::{Approximation, Iterate};
use crate::mechanism::{FitRecord, ModelState, Run};
use crate::model::products::split::{Split, value_ranges};
use crate::model::{Model, Products};
use crate::observe::Checks;

/// How much an average of parameters takes from each further round.
const TAKEN: f32 = 0.1;

/// Parameters that make a mixture of products, and how they are trained.
pub(super) trait Trained {
    /// The parameters.
    fn parameters(&self) -> &[Array2<f32>];

    /// Replaces the parameters by others of the same shapes, and resets the optimizer.
    fn set(&mut self, parameters: Vec<Array2<f32>>);

    /// What the mixture answers with: a row for each value of each attribute, a column for each component.
    fn matrix(&self) -> &Array2<f32>;

    /// Trains on public tables, before the first round.
    fn pretrain(&mut self, run: &mut Run<'_, '_>) -> Result<()> {
        let _ = run;
        Ok(())
    }

    /// Trains on all answers so far, and returns the number of steps.
    fn train(&mut self, targets: &Targets, round: u32, checks: &dyn Checks) -> Result<u32>;

    /// What training remembers beside the parameters.
    fn memory(&self) -> Memory;

    /// Takes over parameters and memory. False if their shapes are those of another model.
    fn recall(&mut self, parameters: &[Vec<f32>], memory: Memory) -> bool;

    /// The matrix of the released mixture: each attribute's numbers are probabilities.
    fn probabilities(self) -> Array2<f32>;
}

/// A mixture in training, as a model of query release.
pub(super) struct Training<M> {
    model: M,
    domain: Domain,
    targets: Targets,
    total: f64,
    average: TailAverage,
}

impl<M: Trained> Training<M> {
    pub(super) fn new(model: M, domain: &Domain, rounds: u32) -> Self {
        Self {
            model,
            domain: domain.clone(),
            targets: Targets::new(domain),
            total: 1.0,
            average: TailAverage::new(rounds),
        }
    }

    fn add(&mut self, measurements: &[Measurement]) {
        measurements.iter().for_each(|measurement| self.targets.push(measurement, self.total));
    }

    /// A round's training. One that leads to numbers that are not finite, as a large rate can, is taken back: the round
    /// is then recorded with no step.
    fn train(&mut self, round: u32, checks: &dyn Checks) -> Result<FitRecord> {
        let before = self.model.parameters().to_vec();
        let mut steps = self.model.train(&self.targets, round, checks)?;
        if !self.is_finite() {
            self.model.set(before);
            steps = 0;
        }
        self.average.take(round, self.model.parameters());
        let matrix = self.model.matrix();
        let largest_error = largest(&self.targets.errors(matrix, None));
        let model_mib = 4.0 * matrix.len() as f64 / f64::from(1 << 20);
        Ok(FitRecord::Products { largest_error, steps, model_mib })
    }

    fn is_finite(&self) -> bool {
        is_finite(self.model.parameters()) && self.model.matrix().iter().all(|x| x.is_finite())
    }

    fn state(&self) -> State {
        State {
            parameters: numbers(self.model.parameters()),
            averaged: self.average.numbers(),
            memory: self.model.memory(),
        }
    }

    fn restore(&mut self, state: State) -> bool {
        self.model.recall(&state.parameters, state.memory)
            && self.average.restore(state.averaged.as_deref(), self.model.parameters())
    }
}

impl<M: Trained> Approximation for Training<M> {
    /// Trains on public tables, or trains again what a resumed run has lost: its last round, or all rounds if no state
    /// was stored.
    fn begin(&mut self, run: &mut Run<'_, '_>, total: f64) -> Result<Option<FitRecord>> {
        self.total = total;
        let stored = run.restored::<State>()?;
        if stored.is_none() {
            self.model.pretrain(run)?;
        }
        let untrained = if stored.is_some() { 1 } else { run.rounds().len() };
        if stored.is_some_and(|state| !self.restore(state)) {
            return Err(run.refused("the stored parameters do not fit the model"));
        }
        let mut last = None;
        for (number, round) in run.rounds().iter().enumerate() {
            self.add(&run.measurements()[round.measurements.clone()]);
            if number + untrained >= run.rounds().len() {
                last = Some(self.train(round.round, run.checks())?);
            }
        }
        Ok(last)
    }

    fn answers(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        table_sizes(&self.domain, cliques)?;
        let (ranges, total) = (value_ranges(&self.domain), self.total);
        let matrix = self.model.matrix().view();
        let tables = cliques.par_iter().map(|clique| {
            let mut table = Split::new(&ranges, clique).marginal(&matrix);
            table.iter_mut().for_each(|cell| *cell *= total);
            table
        });
        Ok(tables.collect())
    }

    fn learn(&mut self, round: u32, new: &[Measurement], checks: &dyn Checks) -> Result<FitRecord> {
        self.add(new);
        self.train(round, checks)
    }

    fn keep(&self, run: &mut Run<'_, '_>) -> Result<()> {
        run.keep(&self.state())
    }

    fn finish(mut self, iterate: Iterate) -> Result<Model> {
        if let (Iterate::Average, Some(averaged)) = (iterate, self.average.parameters.take()) {
            let last = self.model.parameters().to_vec();
            self.model.set(averaged);
            if !self.is_finite() {
                self.model.set(last);
            }
        }
        Ok(Products::of(self.domain, self.model.probabilities(), self.total)?.into())
    }
}

/// Whether all numbers are.
pub(super) fn is_finite<F: Real>(parameters: &[Array2<F>]) -> bool {
    parameters.iter().flatten().all(|x| x.is_finite())
}

/// What training has changed, matrix by matrix.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct State {
    parameters: Vec<Vec<f32>>,
    averaged: Option<Vec<Vec<f32>>>,
    memory: Memory,
}

impl ModelState for State {
    const KIND: &'static str = "products";
    const VERSION: u32 = 1;
}

/// What training remembers from round to round beside the parameters.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "snake_case")]
pub(super) enum Memory {
    /// GEM's running mean of the largest errors.
    Error(Option<f64>),
    /// RAP's optimizer: means of gradients and of their squares, and the number of steps.
    Adam {
        /// Of the gradients.
        first: Vec<Vec<f32>>,
        /// Of their squares.
        second: Vec<Vec<f32>>,
        /// Steps so far.
        steps: i32,
    },
}

/// The numbers of some matrices.
pub(super) fn numbers(matrices: &[Array2<f32>]) -> Vec<Vec<f32>> {
    matrices.iter().map(|matrix| matrix.iter().copied().collect()).collect()
}

/// Writes numbers into matrices of the right sizes. False if the sizes differ.
pub(super) fn fill(matrices: &mut [Array2<f32>], numbers: &[Vec<f32>]) -> bool {
    let sizes = matrices.iter().map(Array2::len);
    if !sizes.eq(numbers.iter().map(Vec::len)) {
        return false;
    }
    for (matrix, numbers) in matrices.iter_mut().zip(numbers) {
        matrix.iter_mut().zip(numbers).for_each(|(to, from)| *to = *from);
    }
    true
}

/// The average of the parameters over the last half of the rounds, in which later rounds count more.
#[derive(Clone, Debug)]
struct TailAverage {
    rounds: u32,
    parameters: Option<Vec<Array2<f32>>>,
}

impl TailAverage {
    fn new(rounds: u32) -> Self {
        Self { rounds, parameters: None }
    }

    /// Takes the parameters after a round: from round `T - max(1, ⌊T/2 + ½⌋) + 1` on, `0.9` of the average and `0.1` of
    /// them.
    fn take(&mut self, round: u32, parameters: &[Array2<f32>]) {
        if round + self.rounds.div_ceil(2).max(1) <= self.rounds {
            return;
        }
        match &mut self.parameters {
            None => self.parameters = Some(parameters.to_vec()),
            Some(averaged) => {
                for (averaged, new) in averaged.iter_mut().zip(parameters) {
                    Zip::from(averaged).and(new).for_each(|sum, x| *sum += TAKEN * (*x - *sum));
                }
            }
        }
    }

    fn numbers(&self) -> Option<Vec<Vec<f32>>> {
        self.parameters.as_deref().map(numbers)
    }

    /// Takes over stored numbers. `like`: matrices of the right shapes. False if the sizes differ.
    fn restore(&mut self, stored: Option<&[Vec<f32>]>, like: &[Array2<f32>]) -> bool {
        let mut parameters = like.to_vec();
        let fits = stored.is_none_or(|stored| fill(&mut parameters, stored));
        self.parameters = stored.map(|_| parameters);
        fits
    }
}

#[cfg(test)]
mod tests;
