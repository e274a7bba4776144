//! Mechanisms compared across data sets, budgets and seeds, from one file. The results are **not private**: seeds are fixed, and
//! errors are those against the real records.
//!
//! A [`Protocol`] lists what to run; each of its [`Cell`]s is one run in a process of its own ([`in_process`]), whose row of
//! results is on disk before the next one starts. An interrupted comparison continues where it stopped.

mod cell;
mod one_run;
mod protocol;
mod results;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use crate::data::write_text;
use crate::error::{Error, Result};
use crate::report::comparison::{self, Row};
use crate::synthesis::{Existing, ReservedOutputs, reserve_files};

pub use cell::Cell;
pub use one_run::in_process;
pub use protocol::Protocol;
use results::Results;

/// What to run of a protocol; an empty list stands for everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// Names of data sets.
    pub data: Vec<String>,
    /// Names of mechanisms.
    pub mechanism: Vec<String>,
    /// Values of ε.
    pub epsilon: Vec<f64>,
    /// Seeds.
    pub seed: Vec<u64>,
}

/// What a comparison does.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Some runs are in the results already.
    Resumed {
        /// Their number.
        finished: usize,
        /// Number of all runs.
        runs: usize,
    },
    /// A run is finished, and its row on disk.
    Finished {
        /// Its number, from 1.
        number: usize,
        /// Number of all runs.
        runs: usize,
        /// Its row.
        row: &'a Row,
        /// How long it took, its reading and measuring included.
        seconds: f64,
    },
    /// A public table lacks attributes, and there is nothing to measure.
    LeftOut(&'a Cell),
    /// A run failed; the others go on.
    Failed(&'a Error),
}

/// A finished comparison.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The rows of the runs that were selected, in order, but for those that were left out.
    pub rows: Vec<Row>,
    /// Number of runs that were selected.
    pub runs: usize,
    /// The CSV file of all rows.
    pub table: PathBuf,
    /// The page about them.
    pub page: PathBuf,
    /// Mean workload errors over seeds, least to most, as text.
    pub errors: String,
}

/// A comparison whose files are open: `results.csv` and `comparison.html` in a folder.
pub struct Comparison<'a> {
    protocol: &'a Protocol,
    cells: Vec<Cell>,
    results: Results,
    table: PathBuf,
    page: PathBuf,
    _reserved: ReservedOutputs,
}

impl<'a> Comparison<'a> {
    /// Opens the results of the runs of a protocol that are selected. `place`: the protocol's file. `existing`: whether a page
    /// without results beside it may be replaced.
    ///
    /// # Errors
    /// A selection that the protocol does not have, files that cannot be read or written, or results of another protocol.
    pub fn open(
        (place, protocol): (&Path, &'a Protocol),
        only: &Selection,
        folder: &Path,
        existing: Existing,
    ) -> Result<Self> {
        let cells = cell::cells(protocol, only)?;
        let failed = |source| Error::Io { action: "create", path: folder.to_path_buf(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        let (table, page) = (folder.join("results.csv"), folder.join("comparison.html"));
        // Results are continued, and the page beside them shows them.
        let continued = if table.is_file() { Existing::Replaced } else { existing };
        let outputs: [(&str, &Path); 2] = [("comparison", &table), ("comparison", &page)];
        let reserved = reserve_files(&[("protocol", place)], &outputs, continued)?;
        let results = Results::open(&table)?;
        for cell in &cells {
            results.find(cell)?;
        }
        Ok(Self { protocol, cells, results, table, page, _reserved: reserved })
    }

    /// Executes the missing runs one by one. Each result is on disk before the next run starts.
    ///
    /// `start`: executes a run, as [`in_process`] does. `told`: hears what is done; its error ends the comparison.
    ///
    /// # Errors
    /// Files that cannot be written, or the first run that failed, once all others are finished.
    pub fn run(
        mut self,
        start: &mut dyn FnMut(&Cell) -> Result<Option<Row>>,
        told: &mut dyn FnMut(Progress<'_>) -> Result<()>,
    ) -> Result<Compared> {
        let mut missing = Vec::new();
        for cell in &self.cells {
            if self.results.find(cell)?.is_none() {
                missing.push(cell);
            }
        }
        let (finished, runs) = (self.cells.len() - missing.len(), self.cells.len());
        if finished > 0 {
            told(Progress::Resumed { finished, runs })?;
        }
        let shown = |results: &Results| {
            let text = comparison::render(&self.protocol.comparison(), results.rows())?;
            write_text(&self.page, &text)
        };
        let mut first = None;
        for (at, cell) in missing.iter().enumerate() {
            let started = Instant::now();
            let found = match self.results.same(cell) {
                Some(row) => Ok(Some(row.under(&cell.key))),
                None => start(cell),
            };
            match found {
                Ok(Some(row)) => {
                    self.results.add(row.clone())?;
                    shown(&self.results)?;
                    let (number, seconds) = (finished + at + 1, started.elapsed().as_secs_f64());
                    told(Progress::Finished { number, runs, row: &row, seconds })?;
                }
                Ok(None) => told(Progress::LeftOut(cell))?,
                Err(error) => {
                    told(Progress::Failed(&error))?;
                    first.get_or_insert(error);
                }
            }
        }
        shown(&self.results)?;
        if let Some(error) = first {
            let message = format!("not all runs succeeded: {error}");
            return Err(Error::comparison(error.kind(), message));
        }
        let mut rows = Vec::new();
        for cell in &self.cells {
            rows.extend(self.results.find(cell)?.cloned());
        }
        let errors = comparison::text(&self.protocol.comparison(), self.results.rows());
        Ok(Compared { rows, runs, table: self.table, page: self.page, errors })
    }
}
