//! Replicates of the released table: its mechanism once more, on the released records. They cost no privacy.

use std::fs;
use std::path::{Path, PathBuf};

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};

use crate::data::{Dataset, Destination, Labels, PublicData, write_csv_file};
use crate::domain::Schema;
use crate::error::{Contradiction, Error, OutputFault, Result};
use crate::mechanism::Replication;
use crate::observe::{Event, Notice, Observer, Quiet};
use crate::privacy::{LedgerFile, NoiseSeed};
use crate::query::Workload;
use crate::synthesis::job::ResolvedJob;

/// Most replicates; more than a few dozen make no interval narrower.
const MOST: u32 = 1000;

/// What replicates are made of. It has no private records, so that nothing about them can get into a replicate.
pub(super) struct ReplicateSource<'a> {
    pub(super) rows: &'a Dataset,
    pub(super) schema: &'a Schema,
    pub(super) workload: &'a Workload,
    pub(super) public: &'a [PublicData],
    /// What was spent before the run.
    pub(super) earlier: Option<&'a LedgerFile>,
}

/// The file of a replicate beside that of the released table: `t.replicate-1.csv` for `t.csv`, and likewise for names that
/// end in `.csv.gz`, `.parquet`, `.arrow` or `.feather`.
///
/// `number`: counted from 1.
///
/// ```
/// use jointly::synthesis::replicate_path;
/// assert_eq!(replicate_path("out/t.csv.gz".as_ref(), 3), std::path::Path::new("out/t.replicate-3.csv.gz"));
/// ```
pub fn replicate_path(table: &Path, number: u32) -> PathBuf {
    beside(table, "replicate", number)
}

/// The file of a table that is drawn from the posterior: `t.posterior-1.csv` for `t.csv`, otherwise as [`replicate_path`].
///
/// `number`: counted from 1.
pub fn posterior_path(table: &Path, number: u32) -> PathBuf {
    beside(table, "posterior", number)
}

fn beside(table: &Path, word: &str, number: u32) -> PathBuf {
    let name = table.file_name().unwrap_or_default().to_string_lossy();
    // Endings count in any case, as where tables are written.
    let without = |name: &str, ending: &str| {
        let start = name.len().checked_sub(ending.len())?;
        let is_end = name.get(start..).is_some_and(|end| end.eq_ignore_ascii_case(ending));
        is_end.then(|| name[..start].to_owned())
    };
    let plain = without(&name, ".gz").unwrap_or_else(|| name.to_string());
    let ends = [".csv", ".parquet", ".arrow", ".feather"];
    let stem = ends.iter().find_map(|end| without(&plain, end)).unwrap_or(plain);
    table.with_file_name(format!("{stem}.{word}-{number}{}", &name[stem.len()..]))
}

impl ResolvedJob<'_> {
    /// The files of the replicates.
    pub(super) fn replicate_paths(&self) -> Vec<PathBuf> {
        let table = self.out.as_deref();
        let paths =
            |table| (1..=self.replicates()).map(move |number| replicate_path(table, number));
        table.into_iter().flat_map(paths).collect()
    }

    /// Refuses replicates that there cannot be.
    pub(super) fn check_replicates(&self) -> Result<()> {
        let Some(replicates) = self.tables else { return Ok(()) };
        if !(2..=u64::from(MOST)).contains(&replicates) {
            let expected = "from 2 to 1000: one replicate shows no spread";
            return Err(Error::invalid_parameter("tables", replicates, expected));
        }
        let entry = self.entry;
        if !entry.spends {
            let what = "replicates".to_owned();
            return Err(Contradiction::Unused { what, mechanism: entry.name }.into());
        }
        let together =
            |second, why| Err(Contradiction::Together { first: "replicates", second, why }.into());
        if self.labels == Labels::Text {
            let why = "combine reads the tables under their schema, by the codes";
            return together("labels as text", why);
        }
        if self.rows.is_some() {
            let why = "a replicate repeats the run on a table of the same size";
            return together("number of rows", why);
        }
        Ok(())
    }

    /// Refuses replicates of a table that is no file: they lie beside it.
    pub(super) fn check_replicate_files(&self) -> Result<()> {
        let is_file =
            |path: &PathBuf| matches!(Destination::of(path), Ok(Destination::File { .. }));
        if self.tables.is_some() && !self.out.as_ref().is_some_and(is_file) {
            let second = "a synthetic table that is no file";
            let why = "replicates are files beside the table";
            return Err(Contradiction::Together { first: "replicates", second, why }.into());
        }
        Ok(())
    }

    /// Refuses a table beside which lies a file that would pass for one of its replicates, and that this run does not write.
    /// It may be anybody's, so nothing removes it.
    pub(super) fn check_beside(&self) -> Result<()> {
        let is_file = |path: &&Path| matches!(Destination::of(path), Ok(Destination::File { .. }));
        let Some(table) = self.out.as_deref().filter(is_file) else { return Ok(()) };
        let others = (self.replicates() + 1..=MOST).map(|number| replicate_path(table, number));
        match others.into_iter().find(|path| fs::symlink_metadata(path).is_ok()) {
            None => Ok(()),
            Some(other) => {
                let (path, fault) = (table.to_path_buf(), OutputFault::BesideReplicate(other));
                Err(Error::Output { name: "synthetic table", path, fault })
            }
        }
    }

    /// Draws the replicates and writes each as soon as it is drawn.
    pub(super) fn write_replicates(
        &self,
        from: &ReplicateSource<'_>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let paths = self.replicate_paths();
        let mut paths = paths.iter();
        self.draw_replicates(from, observer, &mut |_, rows, within| match paths.next() {
            Some(path) => write_csv_file(path, &rows, from.schema, Labels::Codes, within),
            None => Ok(()),
        })
    }

    /// Draws the replicates one after another. `each`: gets the number of each, from 1, its records, and the seed of the values
    /// inside bins.
    pub(super) fn draw_replicates(
        &self,
        from: &ReplicateSource<'_>,
        observer: &mut dyn Observer,
        each: &mut dyn FnMut(u32, Dataset, u64) -> Result<()>,
    ) -> Result<()> {
        let Some(budget) = self.budget.filter(|_| self.replicates() > 0) else { return Ok(()) };
        let mechanism = self.entry.build(&self.parameters)?;
        let replication = Replication {
            mechanism: &*mechanism,
            workload: from.workload,
            public: from.public,
            budget,
            error_share: self.error_share,
            earlier: from.earlier,
            unit: &self.unit,
            drawing: self.draw,
        };
        // Of a fixed seed, other noise than that of the run.
        let seed = self.seed.map_or_else(rand::random, |seed| !seed);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        for number in 1..=self.replicates() {
            let [noise, rows, within] = [rng.next_u64(), rng.next_u64(), rng.next_u64()];
            let noise = self.seed.map_or(NoiseSeed::System, |_| NoiseSeed::Fixed(noise));
            let drawn = replication.draw(from.rows, noise, rows, &mut Quiet(observer))?;
            each(number, drawn, within)?;
            let of = self.replicates();
            observer.event(&Event::Notice(Notice::Replicate { number, of }));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
