//! What the curator hands out after noise.

use crate::domain::Clique;
use crate::privacy::{Ratio, ResidualQuery};

/// A marginal with noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyMarginal {
    /// The measured clique.
    pub clique: Clique,
    /// Counts with discrete Gaussian noise, in row-major order of the clique's sorted attributes.
    pub values: Vec<i64>,
    /// The noise's parameter σ², in squared counts, exactly.
    pub variance: Ratio,
}

impl NoisyMarginal {
    /// The noise's parameter σ, in counts.
    pub fn stddev(&self) -> f64 {
        self.variance.to_f64().sqrt()
    }
}

/// One cell of a marginal with noise: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyCell {
    /// The clique.
    pub clique: Clique,
    /// The cell, row-major over the clique's sorted attributes.
    pub cell: usize,
    /// Its count with discrete Gaussian noise.
    pub value: i64,
    /// The noise's parameter σ², in squared counts, exactly.
    pub variance: Ratio,
}

impl NoisyCell {
    /// The noise's parameter σ, in counts.
    pub fn stddev(&self) -> f64 {
        self.variance.to_f64().sqrt()
    }
}

/// A residual query's answer with noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyResidual {
    /// What was asked.
    pub query: ResidualQuery,
    /// v with discrete Gaussian noise, in row-major order of the clique's sorted attributes.
    pub values: Vec<i64>,
}
