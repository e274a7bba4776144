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
///
/// ```
/// use jointly_pgm::{Domain, MarkovRandomField, Measurement};
/// let domain = Domain::new([("a", 2), ("b", 2)])?;
/// let noisy = Measurement::new(domain.clique(&["a"])?, vec![31.0, 68.0], 2.0);
/// let model = MarkovRandomField::fit(&domain, &[noisy], 100.0)?;
/// assert!((model.marginals(&[domain.clique(&["a"])?])?[0].values()[1] - 68.5).abs() < 1.0);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
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
