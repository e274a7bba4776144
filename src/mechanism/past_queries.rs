//! Weights of a support, and the queries answered so far, stored as lists of the records that they count.

use rayon::prelude::*;

use crate::domain::Clique;
use crate::error::Result;
use crate::measurement::Measurement;
use crate::model::WeightedSupport;

/// The distribution A over the records of a support.
///
/// Logarithms are stored next to the weights, so that no product underflows for good and a record with almost no weight
/// can regain it. A record that starts at weight 0 stays there.
pub(super) struct Weights {
    logs: Vec<f64>,
    /// `exp(log - shift)`, of which `sum` is the sum.
    scaled: Vec<f64>,
    sum: f64,
    /// The sum when it was last computed over all records.
    exact_sum: f64,
}

impl Weights {
    /// The weights of a support.
    pub(super) fn of(support: &WeightedSupport) -> Self {
        let logs = support.weights().iter().map(|weight| weight.ln()).collect();
        let mut own = Self { logs, scaled: Vec::new(), sum: 0.0, exact_sum: 0.0 };
        own.renormalize();
        own
    }

    /// Recomputes all weights from the logarithms, scaled so that the largest is 1.
    pub(super) fn renormalize(&mut self) {
        let largest = self.logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        self.logs.iter_mut().for_each(|log| *log -= largest);
        self.scaled.clear();
        self.scaled.extend(self.logs.iter().map(|log| log.exp()));
        self.add_up();
    }

    fn add_up(&mut self) {
        self.sum = self.scaled.iter().sum();
        self.exact_sum = self.sum;
    }

    /// `q(A)`: the probability of the given records.
    pub(super) fn answer(&self, records: &[u32]) -> f64 {
        records.iter().map(|record| self.scaled[*record as usize]).sum::<f64>() / self.sum
    }

    /// `A(x) ~ A(x) exp(log_factor)` for the given records x.
    pub(super) fn scale(&mut self, records: &[u32], log_factor: f64) {
        let factor = log_factor.exp();
        let mut change = 0.0;
        for record in records {
            let record = *record as usize;
            let weight = &mut self.scaled[record];
            change += *weight * (factor - 1.0);
            *weight *= factor;
            self.logs[record] += log_factor;
        }
        self.sum += change;
        // A sum that changes a lot would carry the rounding error of its old value.
        if !(0.5..=2.0).contains(&(self.sum / self.exact_sum)) {
            self.add_up();
            if !(1e-100..=1e100).contains(&self.sum) {
                self.renormalize();
            }
        }
    }

    /// The probability of every record, times `total`.
    pub(super) fn times(&self, total: f64) -> Vec<f64> {
        let scale = total / self.sum;
        self.scaled.iter().map(|weight| scale * weight).collect()
    }
}

/// A measurement: disjoint queries, so that each record counts in at most one, with their answers.
struct AnsweredMarginal {
    clique: Clique,
    /// As of [`Measurement::cell`].
    cell: Option<usize>,
    /// Records of the support, grouped by query.
    records: Vec<u32>,
    /// The end of each query's records.
    ends: Vec<usize>,
    /// `a_i`, as probabilities.
    answers: Vec<f64>,
    /// Number of records of the support.
    all: usize,
}

impl AnsweredMarginal {
    /// The queries of a measurement: all cells of a noisy marginal, or the single measured cell.
    fn new(support: &WeightedSupport, measurement: &Measurement, total: f64) -> Result<Self> {
        let cells = support.rows().cells(&measurement.clique)?;
        let first = measurement.cell.unwrap_or(0);
        let query = |cell: u32| (cell as usize).checked_sub(first);
        let queries = measurement.values.len();
        let mut counts = vec![0_usize; queries];
        for cell in &cells {
            if let Some(count) = query(*cell).and_then(|query| counts.get_mut(query)) {
                *count += 1;
            }
        }
        let mut next = Vec::with_capacity(queries);
        let mut start = 0;
        for count in &counts {
            next.push(start);
            start += count;
        }
        let mut records = vec![0_u32; start];
        for (record, cell) in (0_u32..).zip(&cells) {
            if let Some(next) = query(*cell).and_then(|query| next.get_mut(query)) {
                records[*next] = record;
                *next += 1;
            }
        }
        // Each start has moved to the end of its query's records.
        let answers = measurement.values.iter().map(|count| (count / total).clamp(0.0, 1.0));
        let (clique, cell) = (measurement.clique.clone(), measurement.cell);
        let (answers, all) = (answers.collect(), cells.len());
        Ok(Self { clique, cell, records, ends: next, answers, all })
    }

    fn records(&self, query: usize) -> &[u32] {
        let start = if query == 0 { 0 } else { self.ends[query - 1] };
        &self.records[start..self.ends[query]]
    }

    /// Whether weights can change the answer: false if the query counts no record of the support, or all of them.
    fn can_change(&self, query: usize) -> bool {
        (1..self.all).contains(&self.records(query).len())
    }

    fn errors(&self, weights: &Weights) -> Vec<f64> {
        let error = |(i, a): (usize, &f64)| (a - weights.answer(self.records(i))).abs();
        self.answers.iter().enumerate().map(error).collect()
    }
}

/// An answered query: its measurement, and its position in the measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Query(usize, usize);

/// All queries answered so far, each with its last answer.
#[derive(Default)]
pub(super) struct PastQueries {
    answered: Vec<AnsweredMarginal>,
    /// The position of the round's first measurement.
    round: usize,
}

impl PastQueries {
    /// Measurements added from now on belong to a new round.
    pub(super) fn begin_round(&mut self) {
        self.round = self.answered.len();
    }

    /// Adds a measurement's queries, with answers clamped to [0, 1]. They replace earlier answers of the same queries, as
    /// in the authors' code for PMW^Pub (`measurements_dict` in `mwem.py`).
    ///
    /// # Errors
    /// An attribute outside the domain.
    pub(super) fn push(
        &mut self,
        support: &WeightedSupport,
        measurement: &Measurement,
        total: f64,
    ) -> Result<()> {
        let answered = AnsweredMarginal::new(support, measurement, total)?;
        let is_same = |a: &AnsweredMarginal| a.clique == answered.clique && a.cell == answered.cell;
        if let Some(earlier) = self.answered.iter().position(is_same) {
            self.answered.remove(earlier);
            self.round -= usize::from(earlier < self.round);
        }
        self.answered.push(answered);
        Ok(())
    }

    /// The records of the support that a query counts.
    pub(super) fn records(&self, query: Query) -> &[u32] {
        self.answered[query.0].records(query.1)
    }

    /// `a_i`.
    pub(super) fn answer(&self, query: Query) -> f64 {
        self.answered[query.0].answers[query.1]
    }

    /// `|q_i(A) - a_i|` for every query, measurement by measurement.
    pub(super) fn errors(&self, weights: &Weights) -> Vec<Vec<f64>> {
        self.answered.par_iter().map(|answered| answered.errors(weights)).collect()
    }

    /// The largest error on any query.
    pub(super) fn largest_error(&self, weights: &Weights) -> f64 {
        self.errors(weights).iter().flatten().copied().fold(0.0, f64::max)
    }

    /// The query with the largest error among those whose answers the weights can change, and that error. Ties go to
    /// the first.
    pub(super) fn worst(&self, weights: &Weights) -> Option<(Query, f64)> {
        let mut worst: Option<(Query, f64)> = None;
        for (i, errors) in self.errors(weights).iter().enumerate() {
            for (j, error) in errors.iter().enumerate() {
                if worst.is_none_or(|(_, largest)| *error > largest)
                    && self.answered[i].can_change(j)
                {
                    worst = Some((Query(i, j), *error));
                }
            }
        }
        worst
    }

    /// The queries of the round.
    pub(super) fn of_the_round(&self) -> Vec<Query> {
        let own = (self.round..).zip(&self.answered[self.round..]);
        own.flat_map(|(i, answered)| (0..answered.answers.len()).map(move |j| Query(i, j)))
            .collect()
    }

    /// The queries whose error is at least `share` of the largest error of the round's own.
    pub(super) fn as_bad_as_the_round(&self, weights: &Weights, share: f64) -> Vec<Query> {
        let errors = self.errors(weights);
        let largest = errors[self.round..].iter().flatten().copied().fold(0.0, f64::max);
        let is_bad = |error: &f64| *error >= share * largest;
        let queries = errors.iter().enumerate().flat_map(|(i, errors)| {
            let bad = errors.iter().enumerate().filter(|(_, error)| is_bad(error));
            bad.map(move |(j, _)| Query(i, j))
        });
        queries.collect()
    }
}

#[cfg(test)]
mod tests;
