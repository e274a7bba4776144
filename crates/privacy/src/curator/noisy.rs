//! Noisy results that the curator returns.

use serde::{Deserialize, Serialize};

use crate::{CellSet, Ratio, ResidualQuery};
use jointly_pgm::domain::Clique;
use jointly_pgm::measurement::{Measurement, Provenance};

/// A marginal with noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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

/// The marginal of one attribute, its values merged in blocks, with noise in every block: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyBlocks {
    /// The attribute.
    pub attribute: usize,
    /// Codes in each block; the last may have fewer.
    pub width: usize,
    /// Counts with discrete Gaussian noise, in the order of the codes.
    pub values: Vec<i64>,
    /// The noise's parameter σ², in squared counts, exactly.
    pub variance: Ratio,
}

/// A marginal with discrete Laplace noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct LaplaceMarginal {
    /// The measured clique.
    pub clique: Clique,
    /// Counts with noise, in row-major order of the clique's sorted attributes.
    pub values: Vec<i64>,
    /// The noise's scale b, in counts, exactly: `P[x] ∝ exp(−|x| / b)`.
    pub scale: Ratio,
}

impl LaplaceMarginal {
    /// The noise's standard deviation in counts, `√(2q) / (1 − q)` with `q = exp(−1/b)`.
    pub fn stddev(&self) -> f64 {
        let q = (-1.0 / self.scale.to_f64()).exp();
        (2.0 * q).sqrt() / (1.0 - q)
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

/// The number of records in some cells of a marginal, with noise: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisySum {
    /// The clique.
    pub clique: Clique,
    /// The cells.
    pub cells: CellSet,
    /// The number of records in them, with discrete Gaussian noise.
    pub value: i64,
    /// The noise's parameter σ², in squared counts, exactly.
    pub variance: Ratio,
}

/// Values of a column that its schema does not list and that many records seem to have: they may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyValues {
    /// The name of the column.
    pub column: String,
    /// The values in the order of their texts, with counts with discrete Gaussian noise that are at least the threshold.
    pub values: Vec<(String, i64)>,
    /// The smallest noisy count at which a value is named.
    pub threshold: u64,
    /// The noise's parameter σ², in squared counts, exactly.
    pub variance: Ratio,
}

/// A residual query's answer with noise in every cell: it may be published.
#[derive(Clone, Debug, PartialEq)]
pub struct NoisyResidual {
    /// The query.
    pub query: ResidualQuery,
    /// v with discrete Gaussian noise, in row-major order of the clique's sorted attributes.
    pub values: Vec<i64>,
}

impl From<NoisyMarginal> for Measurement {
    fn from(noisy: NoisyMarginal) -> Self {
        let (stddev, provenance) = (noisy.stddev(), Provenance::Private);
        let values = noisy.values.into_iter().map(|value| value as f64).collect();
        Self { clique: noisy.clique, cell: None, values, stddev, provenance }
    }
}

impl From<NoisyCell> for Measurement {
    fn from(noisy: NoisyCell) -> Self {
        let (stddev, provenance) = (noisy.stddev(), Provenance::Private);
        let values = vec![noisy.value as f64];
        Self { clique: noisy.clique, cell: Some(noisy.cell), values, stddev, provenance }
    }
}

impl From<LaplaceMarginal> for Measurement {
    fn from(noisy: LaplaceMarginal) -> Self {
        let (stddev, provenance) = (noisy.stddev(), Provenance::Private);
        let values = noisy.values.into_iter().map(|value| value as f64).collect();
        Self { clique: noisy.clique, cell: None, values, stddev, provenance }
    }
}
