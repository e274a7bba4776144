//! The records of a release, and their measured errors.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::Dataset;
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::Release;
use crate::privacy::{Curator, Inputs, LedgerEntry};
use crate::synthesis::job::ResolvedJob;

/// A release and the records that are published. Nothing draws them again.
pub(super) struct Drawn {
    pub(super) release: Release,
    pub(super) rows: Dataset,
    /// The number of each record's unit, if the records come as units.
    pub(super) units: Option<Vec<u32>>,
    /// The generator after drawing.
    pub(super) rng: ChaCha20Rng,
}

impl ResolvedJob<'_> {
    /// Refuses a share out of range, or one of no budget.
    pub(super) fn check_error_share(&self) -> Result<()> {
        let Some(share) = self.error_share else { return Ok(()) };
        if !(share > 0.0 && share < 1.0) {
            let expected = "strictly between 0 and 1, for instance 0.05";
            return Err(Error::invalid_parameter("error share", share, expected));
        }
        if self.budget.is_none() {
            let (what, mechanism) = ("a budget for the error share", self.entry.name);
            return Err(Contradiction::Missing { what, mechanism }.into());
        }
        Ok(())
    }

    /// Draws the records, once, and measures their errors if that was requested.
    ///
    /// `merged`: whether rare values were merged.
    pub(super) fn draw(
        &self,
        mut release: Release,
        curator: &mut Curator<'_>,
        merged: bool,
    ) -> Result<Drawn> {
        let mut rng = ChaCha20Rng::seed_from_u64(self.row_seed(curator)?);
        let records = self.rows()?.unwrap_or_else(|| release.records());
        let rows = release.rows(records, self.draw, &mut rng)?;
        let (rows, units) = self.link(&release, rows, &mut rng)?;
        if self.error_share.is_some() {
            release.measure_errors(curator, &rows)?;
        }
        if merged && let Some(errors) = &mut release.errors {
            errors.left_out.merged_values = true;
        }
        Ok(Drawn { release, rows, units, rng })
    }

    /// The seed from which the records are drawn: a step that costs nothing, so that a resumed run draws the same records, whose
    /// errors may be measured already.
    fn row_seed(&self, curator: &mut Curator<'_>) -> Result<u64> {
        let Some(seed) = self.seed else {
            let free = |_: &u64, paid: &[LedgerEntry]| match paid {
                [] => Ok(()),
                _ => Err("drawing records costs nothing"),
            };
            return curator.once("drawing", Inputs::default, |_| Ok(rand::random()), free);
        };
        Ok(seed)
    }
}
