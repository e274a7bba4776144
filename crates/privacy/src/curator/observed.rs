//! Audits: how much the numbers of a run change between neighbors, beside what was stated.

use jointly_pgm::data::Projectable;

use crate::error::{Error, Result};
use crate::private_table::Table;
use crate::{Curator, Sensitive};

/// How much the numbers of one access change between the private table and its neighbors.
#[derive(Clone, Debug, PartialEq)]
pub struct ObservedChange {
    /// The purpose, as in the ledger.
    pub purpose: String,
    /// The largest change of one number that was stated, in counts.
    pub stated: f64,
    /// The largest change of one number beside any of the neighbors, in counts.
    pub largest: f64,
    /// How many neighbors there were.
    pub neighbors: usize,
}

impl<'a> Curator<'a> {
    /// An audit: computes all scores and statistics of a run beside those of neighbors of the private table. The noise, and
    /// so all that is chosen and measured, is that of the private table; what would be submitted for a neighbor after
    /// the same earlier releases is what the sensitivity is about. [`changes`](Self::changes) has the result. Measured
    /// counts are not observed.
    ///
    /// What is observed depends on the records and is not paid for. So only a curator whose noise has a fixed seed, which
    /// protects nobody, can be audited.
    ///
    /// # Errors
    /// Noise from the system, or a neighbor over another domain.
    pub fn with_neighbors(mut self, neighbors: Vec<&'a dyn Projectable>) -> Result<Self> {
        if self.is_private() {
            let expected = "a fixed seed: an audit shows numbers that nobody paid for";
            return Err(Error::invalid_parameter("noise of an audit", "the system's", expected));
        }
        for neighbor in &neighbors {
            self.domain().check_same(neighbor.domain(), "a neighbor")?;
        }
        self.neighbors = neighbors.into_iter().map(Table::Borrowed).collect();
        Ok(self)
    }

    /// What an audit has seen so far, in the order of the accesses.
    pub fn changes(&self) -> &[ObservedChange] {
        &self.observed
    }

    /// Notes how much a list changes between the neighbors, if there are any.
    pub(super) fn observe(&mut self, purpose: &str, stated: f64, values: &Sensitive<Vec<f64>>) {
        let change = |own: &Vec<f64>, neighbor: &Vec<f64>| {
            let pairs = own.iter().zip(neighbor);
            let largest = pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
            if own.len() == neighbor.len() { largest } else { f64::INFINITY }
        };
        let changes = values.compare(change);
        if !changes.is_empty() {
            let (purpose, neighbors) = (purpose.to_owned(), changes.len());
            let largest = changes.into_iter().fold(0.0, f64::max);
            self.observed.push(ObservedChange { purpose, stated, largest, neighbors });
        }
    }
}
