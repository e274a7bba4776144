//! The records of a release, and their measured errors.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

use crate::data::Dataset;
use crate::domain::Schema;
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::Release;
use crate::observe::Observer;
use crate::privacy::{Curator, Inputs, LedgerEntry};
use crate::survey::{Draw, Emission, Released};
use crate::synthesis::Tables;
use crate::synthesis::job::ResolvedJob;

/// A release and the records that are published. Nothing draws them again.
pub(super) struct Drawn {
    pub(super) release: Release,
    pub(super) rows: Dataset,
    /// The schema of the records.
    pub(super) schema: Schema,
    /// The number of records that the model of the private records represents.
    pub(super) sampled: usize,
    /// The number of each record's unit, if the records come as units.
    pub(super) units: Option<Vec<u32>>,
    /// The seed of values inside bins.
    pub(super) value_seed: u64,
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
        tables: &Tables,
        curator: &mut Curator<'_>,
        merged: bool,
        observer: &mut dyn Observer,
    ) -> Result<Drawn> {
        let mut rng = ChaCha20Rng::seed_from_u64(self.row_seed(curator)?);
        let sampled = release.records();
        let records = self.rows()?.unwrap_or(sampled);
        if self.is_of_population() {
            let Released { rows, schema, weights, .. } =
                self.of_population(&mut release, tables, records, &mut rng, observer)?;
            if self.error_share.is_some()
                && let Some(weight) = &tables.population.weight
            {
                let attributes = match &weights {
                    Some(_) => &tables.population.without_weight(rows.clone(), &schema)?.0,
                    None => &rows,
                };
                let total = release.population.as_ref().and_then(|population| population.weighted);
                let (weights, total) = (weights.as_deref(), total.unwrap_or_default());
                release.measure_weighted_errors(curator, attributes, weights, weight, total)?;
            }
            let value_seed = rng.next_u64();
            return Ok(Drawn { release, rows, schema, sampled, units: None, value_seed });
        }
        let rows = match &tables.completed {
            Some(given) => given.completed(&release, &tables.schema, &mut rng, observer)?,
            None => release.rows(records, self.draw, &mut rng)?,
        };
        let (rows, units) = self.link(&release, rows, &mut rng)?;
        if self.error_share.is_some() {
            release.measure_errors(curator, &rows)?;
        }
        if merged && let Some(errors) = &mut release.errors {
            errors.left_out.merged_values = true;
        }
        let (schema, value_seed) = (tables.schema.clone(), rng.next_u64());
        Ok(Drawn { release, rows, schema, sampled, units, value_seed })
    }

    /// Other records than those that were published, with their schema.
    ///
    /// # Errors
    /// Weighted records, or completed ones.
    pub(super) fn others(
        &self,
        tables: &Tables,
        release: &Release,
        records: usize,
    ) -> Result<(Dataset, Schema)> {
        if self.complete.is_some() {
            let expected = "as many as were released: completed rows are those that were given";
            return Err(Error::invalid_parameter("number of records", records, expected));
        }
        let mut rng = ChaCha20Rng::seed_from_u64(self.seed.unwrap_or_else(rand::random));
        if !self.is_of_population() {
            let rows = release.rows(records, self.draw, &mut rng)?;
            return Ok((rows, tables.schema.clone()));
        }
        if self.emit == Emission::Weighted {
            let expected = "as many as were released: their weights are those of the whole release";
            return Err(Error::invalid_parameter("number of weighted records", records, expected));
        }
        let (drawing, schema) = (self.draw, &tables.schema);
        let refinement = release.refinement();
        let draw = Draw { records, drawing, refinement: &refinement, schema };
        let found = tables.population.members(&release.model, draw, &mut rng)?;
        Ok((found.rows, found.schema))
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
