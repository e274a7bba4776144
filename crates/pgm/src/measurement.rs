//! Measurements: marginals of the private table with noise, or marginals of a public table.

use serde::{Deserialize, Serialize};

use crate::domain::Clique;

/// Where a measured marginal comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Provenance {
    /// The private table, with noise that the ledger paid for.
    Private,
    /// A public table, scaled to the private total; free.
    Public {
        /// Name of the table.
        source: String,
    },
}

/// A marginal or one cell of it, exact or noisy, in counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measurement {
    /// The attributes.
    pub clique: Clique,
    /// The only cell that was measured, row-major over the clique; `None` for all of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cell: Option<usize>,
    /// Counts, row-major, or the count of the only cell; noise can make them negative.
    pub values: Vec<f64>,
    /// Standard deviation σ of the noise on each cell, in counts; 0 for a public table.
    pub stddev: f64,
    /// Private or public.
    pub provenance: Provenance,
}

impl Measurement {
    /// A whole marginal with noise of this standard deviation on each cell.
    ///
    /// `values`: counts, row-major over the clique's sorted attributes.
    pub fn new(clique: Clique, values: Vec<f64>, stddev: f64) -> Self {
        Self { clique, cell: None, values, stddev, provenance: Provenance::Private }
    }
}
