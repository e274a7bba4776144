//! Counting the rows of a file, which are never held all at once.

use std::io::Read;
use std::path::Path;

use crate::data::CountedTable;
use crate::data::blocks::RowBlocks;
use crate::data::csv::of_file;
use crate::data::raw_table::RawTable;
use crate::data::{AbsentColumns, CountPlan, Counter, Projectable};
#[cfg(feature = "parquet")]
use crate::data::{
    parquet::RowGroups,
    places::{files_of, pair_of},
};
use crate::error::Result;
use crate::observe::Checks;
use jointly_pgm::data::count::BLOCK;

/// Most cells of the counters that count at the same time: 2 GiB.
#[cfg(feature = "parquet")]
const MOST_CELLS: u64 = 1 << 28;

impl CountPlan {
    /// Counts the rows of a file: CSV, plain or gzip, or Parquet with the feature `parquet`. The counts are those of
    /// [`read_csv`](crate::data::read_csv)'s table, and the memory does not depend on the number of rows. The row groups of
    /// a Parquet file are counted in parallel.
    ///
    /// # Errors
    /// As [`read_csv`](crate::data::read_csv), and [`CommonError::Interrupted`](crate::CommonError::Interrupted) if `checks` stops it.
    pub fn count_file(&self, path: &Path, checks: &dyn Checks) -> Result<CountedTable> {
        let counted = self.count_file_or_empty(path, checks)?;
        if counted.records() == 0 {
            let table = of_file(path, self.schema())?;
            return Err(
                RowBlocks::new(table, self.schema(), AbsentColumns::Refuse)?.without_records()
            );
        }
        Ok(counted)
    }

    /// Counts the rows of a file that may have none; otherwise as [`count_file`](Self::count_file).
    ///
    /// # Errors
    /// As [`count_file`](Self::count_file), except for the number of rows.
    pub fn count_file_or_empty(&self, path: &Path, checks: &dyn Checks) -> Result<CountedTable> {
        let mut counter = self.counter();
        counter.count_file(path, checks)?;
        counter.finish()
    }

    /// Counts the row groups of some files in parallel, neighboring ones by the same counter.
    #[cfg(feature = "parquet")]
    fn count_groups(&self, files: &[RowGroups], checks: &dyn Checks) -> Result<Counter> {
        use rayon::prelude::*;

        let all: usize = files.iter().map(RowGroups::len).sum();
        let most = usize::try_from(MOST_CELLS / self.cells().max(1)).unwrap_or(usize::MAX);
        let counters = rayon::current_num_threads().min(most).min(all).max(1);
        let parts: Vec<_> =
            (0..counters).map(|part| all * part / counters..all * (part + 1) / counters).collect();
        let count = |part: std::ops::Range<usize>| {
            let (mut counter, mut before) = (self.counter(), 0);
            for file in files {
                let own = before..before + file.len();
                let (from, to) = (part.start.max(own.start), part.end.min(own.end));
                if from < to {
                    let groups = from - before..to - before;
                    counter.count_rows(file.rows(groups, self.schema())?, checks)?;
                }
                before = own.end;
            }
            Ok(counter)
        };
        let counted: Vec<Result<Counter>> =
            parts.into_par_iter().with_max_len(1).map(count).collect();
        // The first error in the order of the file, however many threads there are.
        let mut counted = counted.into_iter().collect::<Result<Vec<_>>>()?.into_iter();
        let mut all = counted.next().unwrap_or_else(|| self.counter());
        counted.try_for_each(|part| all.add(&part))?;
        Ok(all)
    }
}

impl Counter {
    /// Counts the rows of a file.
    pub(super) fn count_file(&mut self, path: &Path, checks: &dyn Checks) -> Result<()> {
        #[cfg(feature = "parquet")]
        if pair_of(path).is_none()
            && let Some(files) = RowGroups::of_files(&files_of(path)?)?
        {
            return self.add(&self.plan.count_groups(&files, checks)?);
        }
        let table = of_file(path, self.plan.schema())?;
        self.count_rows(table, checks)
    }

    /// Counts the rows of a table; the first one that does not fit is an error with its place.
    fn count_rows(&mut self, table: RawTable<impl Read>, checks: &dyn Checks) -> Result<()> {
        let plan = self.plan.clone();
        let mut blocks = RowBlocks::new(table, plan.schema(), AbsentColumns::Refuse)?;
        loop {
            checks.check()?;
            let block = blocks.next(BLOCK, |row| Err(row.error()))?;
            if block.records() == 0 {
                return Ok(());
            }
            self.update(&block)?;
        }
    }
}
