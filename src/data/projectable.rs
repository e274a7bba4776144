//! What the privacy path needs of a table.

use crate::domain::{Clique, Domain};
use crate::error::Result;

/// A table of records that can be counted on cliques.
pub trait Projectable {
    /// The attributes of the table.
    fn domain(&self) -> &Domain;

    /// Number of records.
    fn records(&self) -> u64;

    /// The marginals on some cliques, in their order: counts in row-major order of each clique's sorted
    /// attributes. Every marginal sums to [`records`](Self::records).
    ///
    /// # Errors
    /// A clique outside the domain, a marginal that does not fit memory, or a failure to read the table. The
    /// message says nothing that depends on the records.
    fn project_many(&self, cliques: &[Clique]) -> Result<Vec<Vec<u32>>>;
}
