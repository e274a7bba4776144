//! Tables whose marginals can be counted.

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// Records that can be counted, however they are stored.
pub trait Projectable: Send + Sync {
    /// The attributes of a record.
    fn domain(&self) -> &Domain;

    /// Number of records.
    fn records(&self) -> u64;

    /// The exact marginal on every clique: numbers of records, in row-major order of the clique's sorted
    /// attributes, each of which sums to [`Projectable::records`].
    ///
    /// # Errors
    /// An attribute outside the domain, or counts that do not fit in memory. The message does not depend on the
    /// records.
    fn project_many(&self, cliques: &[Clique]) -> Result<Vec<Vec<u32>>>;

    /// The exact marginal on one clique, as in [`Projectable::project_many`].
    ///
    /// # Errors
    /// As [`Projectable::project_many`].
    fn project(&self, clique: &Clique) -> Result<Vec<u32>> {
        self.project_many(std::slice::from_ref(clique))?.pop().ok_or_else(|| Error::ShapeMismatch {
            clique: clique.to_string(),
            expected: 1,
            found: 0,
        })
    }
}
