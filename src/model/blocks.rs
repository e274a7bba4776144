//! Synthetic records in blocks, so that the memory to draw them does not grow with their number.

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

use crate::data::{Column, Dataset};
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::model::{Drawing, Model, Refinement, Sampling};

/// Most values in a block, which is records times attributes: a million records of 32 attributes. Drawing and refining
/// take about 10 bytes per value, besides the model's own tables.
const BLOCK_VALUES: u64 = 1 << 25;
/// Most bytes of a table that is held in memory whole: 8 GiB.
const MOST_BYTES: u64 = 1 << 33;

/// Synthetic records from [`Model::blocks`]: tables over the model's domain, one after another.
#[derive(Debug)]
pub struct Blocks<'a> {
    model: &'a Model,
    drawing: Drawing,
    refinement: &'a Refinement,
    records: u64,
    /// The number of blocks.
    count: u64,
    /// How many blocks have been returned.
    returned: u64,
    first: Option<Dataset>,
    /// Draws the blocks after the first.
    rng: Option<ChaCha20Rng>,
}

impl Model {
    /// Synthetic records as [`rows`](Self::rows) draws them, in blocks of equal size (or one record less). Up to about
    /// 3·10⁷ values, which is records times attributes, are one block.
    ///
    /// Every block is a synthetic table by itself: its counts are rounded, and it is refined, without regard to the
    /// others. The remainders of rounding are random, so the errors of m blocks grow with √m, while the counts grow
    /// with m. The first block is drawn from `rng`, the others from a generator seeded by it.
    ///
    /// # Errors
    /// No record asked for, or the first block cannot be drawn. An item is an error if its block cannot be drawn.
    pub fn blocks<'a, R: Rng + ?Sized>(
        &'a self,
        records: u64,
        drawing: Drawing,
        refinement: &'a Refinement,
        rng: &mut R,
    ) -> Result<Blocks<'a>> {
        Blocks::new(self, records, drawing, refinement, rng, BLOCK_VALUES)
    }
}

impl<'a> Blocks<'a> {
    /// `block_values`: most values in a block.
    fn new<R: Rng + ?Sized>(
        model: &'a Model,
        records: u64,
        drawing: Drawing,
        refinement: &'a Refinement,
        rng: &mut R,
        block_values: u64,
    ) -> Result<Self> {
        if records == 0 {
            return Err(Error::invalid_parameter("rows", records, "at least 1"));
        }
        let most = (block_values / (model.domain().len() as u64).max(1)).max(1);
        let count = records.div_ceil(most);
        let new = Self {
            model,
            drawing,
            refinement,
            records,
            count,
            returned: 0,
            first: None,
            rng: None,
        };
        let first = Some(new.draw(new.records_of(0), rng)?);
        let rng = (count > 1).then(|| ChaCha20Rng::from_rng(rng));
        Ok(Self { first, rng, ..new })
    }

    /// The number of records in a block.
    fn records_of(&self, block: u64) -> usize {
        let before =
            |block: u64| u128::from(self.records) * u128::from(block) / u128::from(self.count);
        usize::try_from(before(block + 1) - before(block)).unwrap_or(usize::MAX)
    }

    fn draw<R: Rng + ?Sized>(&self, records: usize, rng: &mut R) -> Result<Dataset> {
        match self.drawing {
            Drawing::Refined => self.model.refined(records, self.refinement, rng),
            Drawing::Independent => self.model.sample(records, Sampling::Independent, rng),
        }
    }

    /// All blocks as one table.
    pub(super) fn joined(mut self) -> Result<Dataset> {
        let mut all = self.next().transpose()?;
        for block in self {
            if let Some(all) = &mut all {
                all.append(&block?)?;
            }
        }
        all.ok_or_else(|| Error::invalid_parameter("rows", 0_u64, "at least 1"))
    }
}

impl Iterator for Blocks<'_> {
    type Item = Result<Dataset>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.returned == self.count {
            return None;
        }
        let records = self.records_of(self.returned);
        self.returned += 1;
        if let Some(first) = self.first.take() {
            return Some(Ok(first));
        }
        let mut rng = self.rng.take()?;
        let drawn = self.draw(records, &mut rng);
        self.rng = Some(rng);
        if drawn.is_err() {
            self.returned = self.count;
        }
        Some(drawn)
    }
}

/// Checks that a table of synthetic records can be held in memory.
///
/// # Errors
/// A table of more than 8 GiB, or more than 2³² - 1 records.
pub(crate) fn check_rows(domain: &Domain, records: u64) -> Result<()> {
    let width = |cardinality| match Column::new(cardinality) {
        Column::U8(_) => 1,
        Column::U16(_) => 2,
        Column::U32(_) => 4,
    };
    let record: u64 = (0..domain.len()).map(|a| width(domain.cardinality(a))).sum();
    let most = (MOST_BYTES / record.max(1)).min(u32::MAX.into());
    if records > most {
        let needed = Some(records as f64);
        return Err(Error::too_large("the synthetic table", needed, most as f64, "records"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
