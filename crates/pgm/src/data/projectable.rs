//! Tables whose marginals can be counted.

use crate::data::{Recoding, Tallies};
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

    /// The same records under new codes.
    ///
    /// # Errors
    /// Records of which only counts are left, unless their type says otherwise; codes that are not those of the domain.
    fn recode(&self, _recoding: &Recoding) -> Result<Box<dyn Projectable>> {
        let (found, expected) = ("counts", "records, which can be recoded");
        Err(Error::invalid_specification("table to recode", found, expected))
    }

    /// Attributes of the same records and tallies of others, as a table of its own.
    ///
    /// # Errors
    /// Records of which only counts are left, unless their type says otherwise; tallies of another domain.
    fn tally(&self, _tallies: &Tallies) -> Result<Box<dyn Projectable>> {
        let (found, expected) = ("counts", "records, which can be tallied");
        Err(Error::invalid_specification("table to tally", found, expected))
    }
}
