//! Marginals as probabilities.

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// A table whose marginals can be had as probabilities.
pub trait Frequencies {
    /// Its attributes.
    fn attributes(&self) -> &Domain;

    /// The marginals on some cliques, as probabilities.
    ///
    /// # Errors
    /// A table without records, or a marginal too large to count.
    fn frequencies(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>>;
}

impl<T: Projectable + ?Sized> Frequencies for T {
    fn attributes(&self) -> &Domain {
        self.domain()
    }

    fn frequencies(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        if self.records() == 0 {
            return Err(Error::invalid_specification("table", "no record", "at least one"));
        }
        let records = self.records() as f64;
        let share = |counts: &Vec<u32>| counts.iter().map(|n| f64::from(*n) / records).collect();
        Ok(self.project_many(cliques)?.iter().map(share).collect())
    }
}

/// Records that count as often as their weights say.
#[derive(Clone, Copy, Debug)]
pub struct Weighted<'a> {
    /// The records.
    pub records: &'a Dataset,
    /// A weight of at least 0 for each; `None` if all count the same.
    pub weights: Option<&'a [f64]>,
}

impl<'a> From<&'a Dataset> for Weighted<'a> {
    fn from(records: &'a Dataset) -> Self {
        Self { records, weights: None }
    }
}

impl Weighted<'_> {
    /// The share of the table that some of its records are.
    pub(super) fn share(&self, records: impl IntoIterator<Item = usize>) -> f64 {
        let Some(weights) = self.weights else {
            return records.into_iter().count() as f64 / self.records.records().max(1) as f64;
        };
        // An empty sum would be -0.
        let found = records.into_iter().fold(0.0, |sum, record| sum + weights[record]);
        found / weights.iter().sum::<f64>().max(f64::MIN_POSITIVE)
    }
}

impl Frequencies for Weighted<'_> {
    fn attributes(&self) -> &Domain {
        self.records.domain()
    }

    fn frequencies(&self, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
        let Some(weights) = self.weights else { return self.records.frequencies(cliques) };
        let sum: f64 = weights.iter().sum();
        if sum <= 0.0 {
            return Err(Error::invalid_specification("table", "weights of 0", "a weight above 0"));
        }
        let counts = self.records.weighted_marginals(weights, cliques)?;
        Ok(counts.into_iter().map(|cells| cells.into_iter().map(|x| x / sum).collect()).collect())
    }
}
