//! The single function that charges every access, and the single place that adds noise to counts.

use rand::rngs::ChaCha20Rng;

use crate::error::{CommonError, Error, Result};
use crate::sampler::IntegerNoise;
use crate::{CellSet, Curator, LedgerEntry, NoiseMechanism, Rho};
use jointly_pgm::data::{Projectable, Tallies};
use jointly_pgm::domain::{Clique, Domain};

/// The description of an access in the ledger.
#[derive(Default)]
pub(super) struct Access {
    pub(super) purpose: String,
    /// Names of the measured attributes.
    pub(super) clique: Option<Vec<String>>,
    /// The cell of that marginal, if only one cell is measured.
    pub(super) cell: Option<u64>,
    /// The cells of that marginal, if only their sum is measured.
    pub(super) cells: Option<CellSet>,
}

/// An access recorded in the ledger. It gives access to the records and the noise generator, and can open a
/// [`Sensitive`](crate::Sensitive). Only [`Curator::pay`] creates one.
pub(crate) struct Paid<'p> {
    pub(super) data: &'p dyn Projectable,
    pub(super) noise: &'p mut ChaCha20Rng,
}

impl Curator<'_> {
    /// Charges an access. **Every result computed from records leaves the curator through this function's return
    /// value.**
    ///
    /// # Errors
    /// A cost above what is left, or one that does not cover the mechanism; a sensitivity of another relation; no round
    /// begun after resuming a run. In that case nothing is charged, and nothing was computed from the records.
    pub(super) fn pay(
        &mut self,
        access: Access,
        mechanism: NoiseMechanism,
        rho: Rho,
    ) -> Result<Paid<'_>> {
        let Access { purpose, clique, cell, cells } = access;
        let round = self.round;
        let entry = LedgerEntry {
            round,
            purpose,
            clique,
            cell,
            cells,
            mechanism,
            records_per_unit: None,
            rho,
        };
        if !entry.is_of(self.relation()) {
            let found = "of another relation";
            return Err(Error::invalid_parameter("sensitivity", found, "the curator's"));
        }
        let noise = self.noise.as_mut().ok_or_else(|| {
            Error::invalid_parameter("round", "none", "one begun after the run was resumed")
        })?;
        self.ledger.charge(entry)?;
        Ok(Paid { data: &*self.data, noise })
    }
}

impl Paid<'_> {
    /// The exact counts on a clique, row-major.
    ///
    /// # Errors
    /// A failure to count, or counts that do not form a table over the clique.
    pub(super) fn counts(&self, clique: &Clique) -> Result<Vec<u32>> {
        counts(self.data, self.data.domain(), clique)
    }

    /// The exact counts of tallies on a clique of theirs, row-major.
    ///
    /// # Errors
    /// As [`counts`](Self::counts); a table that cannot be tallied.
    pub(super) fn tallied(&self, tallies: &Tallies, clique: &Clique) -> Result<Vec<u32>> {
        counts(&*self.data.tally(tallies)?, tallies.domain(), clique)
    }

    /// Adds noise to each integer.
    pub(super) fn add(
        &mut self,
        noise: &IntegerNoise,
        exact: impl IntoIterator<Item = i64>,
    ) -> Vec<i64> {
        exact.into_iter().map(|value| value.saturating_add(noise.sample(self.noise))).collect()
    }
}

/// The counts on a clique, as many as `domain` says.
fn counts(data: &dyn Projectable, domain: &Domain, clique: &Clique) -> Result<Vec<u32>> {
    let counts = data.project(clique)?;
    if domain.cells(clique) == Some(counts.len() as u64) {
        return Ok(counts);
    }
    Err(CommonError::ShapeMismatch {
        clique: domain.describe(clique),
        expected: domain.shape(clique).iter().product(),
        found: counts.len(),
    }
    .into())
}
