//! Counting a table part by part: what was counted of each part can be merged, in any order and on any machine, and
//! the memory does not depend on the number of records.

mod file;
mod misfits;
mod parts;
mod plan;
mod request;
mod state;
mod table;
#[cfg(feature = "arrow")]
mod waiting;

use std::ops::Range;

pub use parts::CountedParts;
pub use plan::{CountPlan, MAX_PLAN_CELLS};
pub use request::CountRequest;
pub use table::CountedTable;

use crate::data::Dataset;
use crate::error::{Error, Result};
use jointly_pgm::data::count::add_counts;

use misfits::Misfits;
#[cfg(feature = "arrow")]
use {jointly_pgm::data::count::BLOCK, waiting::Waiting};

/// Counts records by a [`CountPlan`]. Its memory depends on the plan alone.
///
/// Each [`update`](Self::update) touches every table of the plan, so hand over many records at a time, 100,000 or more.
#[derive(Clone, Debug)]
pub struct Counter {
    plan: CountPlan,
    /// The counts of each table of the plan, row-major. Each sums to `records`.
    tables: Vec<Vec<u64>>,
    records: u64,
    misfits: Misfits,
    /// Rows that are coded and not yet counted.
    #[cfg(feature = "arrow")]
    waiting: Option<Waiting>,
}

impl Counter {
    pub(super) fn new(plan: CountPlan) -> Self {
        let (tables, misfits) = (plan.tables(), Misfits::new(plan.domain()));
        Self {
            plan,
            tables,
            records: 0,
            misfits,
            #[cfg(feature = "arrow")]
            waiting: None,
        }
    }

    /// The plan.
    pub fn plan(&self) -> &CountPlan {
        &self.plan
    }

    /// Number of records counted so far. **Private** where the table is.
    pub fn records(&self) -> u64 {
        #[cfg(feature = "arrow")]
        let waiting = self.waiting.as_ref().map_or(0, |waiting| waiting.rows as u64);
        #[cfg(not(feature = "arrow"))]
        let waiting = 0;
        self.records + waiting
    }

    /// Counts the records of a table.
    ///
    /// # Errors
    /// A table over another domain than the plan's. Nothing is counted then.
    pub fn update(&mut self, table: &Dataset) -> Result<()> {
        self.update_rows(table, 0..table.records())
    }

    /// Counts some records of a table.
    ///
    /// # Errors
    /// As [`update`](Self::update), or rows outside the table.
    pub fn update_rows(&mut self, table: &Dataset, rows: Range<usize>) -> Result<()> {
        self.plan.domain().check_same(table.domain(), "records to count")?;
        if rows.start > rows.end || rows.end > table.records() {
            let found = format!("rows {} to {}", rows.start, rows.end);
            let expected = format!("rows of a table of {}", table.records());
            return Err(Error::invalid_specification("records to count", found, expected));
        }
        add_counts(
            self.plan.domain(),
            table.columns(),
            &rows,
            self.plan.covers(),
            &mut self.tables,
        );
        self.records += rows.len() as u64;
        Ok(())
    }

    /// Codes and counts the rows of a record batch, as [`ArrowTable`](crate::data::arrow::ArrowTable) reads them. Rows that
    /// do not fit the schema are counted by column, with one example, and make [`finish`](Self::finish) fail.
    ///
    /// # Errors
    /// A batch without a column of the schema, or with a column twice; as [`update_columns`](Self::update_columns).
    #[cfg(feature = "arrow")]
    pub fn update_batch(&mut self, batch: &arrow_array::RecordBatch) -> Result<()> {
        let arrays = crate::data::arrow::columns_of(batch, self.plan.schema())?;
        self.update_columns(&arrays)
    }

    /// As [`update_batch`](Self::update_batch), of the columns of the schema's attributes alone, in the schema's order. Few
    /// rows at a time are as good as many: they wait until there are enough.
    ///
    /// # Errors
    /// Another number of columns, columns of different lengths, or one whose type cannot be read. Nothing is counted then.
    #[cfg(feature = "arrow")]
    pub fn update_columns(&mut self, arrays: &[arrow_array::ArrayRef]) -> Result<()> {
        let rows = waiting::checked_rows(&self.plan, arrays)?;
        // A large batch in parts: its codes are never held as a whole.
        for start in (0..rows).step_by(BLOCK) {
            let part = BLOCK.min(rows - start);
            let arrays: Vec<_> = arrays.iter().map(|array| array.slice(start, part)).collect();
            let waiting = self.waiting.get_or_insert_with(|| Waiting::new(&self.plan));
            waiting.add(&self.plan, &arrays, part, &mut self.misfits);
            if waiting.rows >= BLOCK {
                self.count_waiting()?;
            }
        }
        Ok(())
    }

    /// Counts records of units by their [keys](crate::data::arrow::UnitOrder::keys): those that count, and no others. A key has
    /// all values of its record, and is smaller. `sizes`: where the plan's last attribute is the number of records of a unit
    /// that count, that number, for each.
    ///
    /// # Errors
    /// An array of another type or length, a key of another schema, a null, or a number that no unit may have. Some rows may be
    /// counted then.
    #[cfg(feature = "arrow")]
    pub fn update_keys(
        &mut self,
        keys: &arrow_array::ArrayRef,
        sizes: Option<&arrow_array::ArrayRef>,
    ) -> Result<()> {
        let waiting = self.waiting.get_or_insert_with(|| Waiting::new(&self.plan));
        waiting.add_keys(&self.plan, keys, sizes)?;
        if waiting.rows >= BLOCK { self.count_waiting() } else { Ok(()) }
    }

    /// Counts the rows that wait.
    #[cfg_attr(
        not(feature = "arrow"),
        expect(
            clippy::unused_self,
            clippy::unnecessary_wraps,
            reason = "only record batches wait"
        )
    )]
    fn count_waiting(&mut self) -> Result<()> {
        #[cfg(feature = "arrow")]
        if let Some(waiting) = self.waiting.as_mut().filter(|waiting| waiting.rows > 0) {
            let coded = waiting.take(&self.plan)?;
            self.update(&coded)?;
        }
        Ok(())
    }

    /// Adds what another counter of the same plan has counted: its [`state`](Self::state). The order of merging does not
    /// change the result.
    ///
    /// # Errors
    /// Bytes that are no state of a counter, are damaged, or are of another plan. Nothing is added then.
    pub fn merge(&mut self, state: &[u8]) -> Result<()> {
        let read = Self::of_state(&self.plan, state)?;
        self.add(&read)
    }

    /// Adds what another counter of the same plan has counted.
    fn add(&mut self, other: &Self) -> Result<()> {
        let records = self.records.checked_add(other.records).ok_or_else(|| {
            Error::too_large("the counted table", None, u64::MAX as f64, "records")
        })?;
        // No cell is above the number of records, so none overflows.
        let cells = self.tables.iter_mut().flatten().zip(other.tables.iter().flatten());
        cells.for_each(|(cell, more)| *cell += more);
        self.records = records;
        self.misfits.add(&other.misfits);
        Ok(())
    }

    /// Refuses rows that did not fit the schema.
    ///
    /// # Errors
    /// Their number by column, and an example.
    pub(super) fn check(&self) -> Result<()> {
        self.misfits.check(self.plan.domain())
    }

    /// The counted table.
    ///
    /// # Errors
    /// Rows that did not fit the schema, with their number by column and an example; or more than 2³² - 1 records.
    pub fn finish(mut self) -> Result<CountedTable> {
        self.count_waiting()?;
        self.check()?;
        CountedTable::new(self.plan, self.tables, self.records)
    }
}

#[cfg(test)]
mod tests;
