//! Synthetic records as files in a folder, however many.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use rand::rngs::ChaCha20Rng;
use rand::{Rng, SeedableRng};
use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::data::{Dataset, Labels, check_form, write_csv_blocks};
use crate::domain::Schema;
use crate::error::{Error, Result};
use crate::model::{Drawing, Model, Refinement};
use crate::observe::Checks;

/// Records of a part, unless the caller says otherwise.
pub const PART_ROWS: u64 = 1_000_000;

/// Values, which are records times attributes, of the parts that are drawn at the same time; about 10 bytes each.
const MOST_VALUES: u64 = 1 << 28;
/// Records that are decoded together.
const SLICE: u32 = 1 << 16;
/// How the names of parts begin.
const PREFIX: &str = "part-";

/// The form of the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartForm {
    /// Text.
    Csv,
    /// Text, compressed with gzip.
    CsvGz,
    /// Parquet, with the feature `parquet`.
    Parquet,
}

impl PartForm {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] = &[
        ("csv", "CSV"),
        ("csv-gz", "CSV, compressed with gzip"),
        ("parquet", "Parquet, if this program was built with it"),
    ];

    /// How the names of files end.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::CsvGz => "csv.gz",
            Self::Parquet => "parquet",
        }
    }
}

/// Records to draw into the files `part-00000`, `part-00001`, ... of a folder.
///
/// Every part is a synthetic table by itself, as [`Model::rows`] draws it: its counts are rounded, and it is refined,
/// without regard to the others. Its generator has the seed SHA-256(`"jointly part"`, [`seed`](Self::seed), number), with
/// both numbers as 64 bits, little-endian. So a part is a function of the model, the seed, its number and its number of
/// records: the threads that draw parts at the same time do not change it.
///
/// ```
/// use jointly::data::Labels;
/// use jointly::model::{Drawing, Model, PartForm, Parts, Refinement, WeightedSupport};
/// use jointly::{Schema, observe::Unstoppable};
/// let schema = Schema::from_json(r#"{"a": 2}"#, "domain.json")?;
/// let model = Model::from(WeightedSupport::all_cells(&schema.domain(), 8.0)?);
/// let folder = tempfile::tempdir()?;
/// let (drawing, labels, form) = (Drawing::Independent, Labels::Codes, PartForm::Csv);
/// let parts = Parts { model: &model, schema: &schema, refinement: &Refinement::default(), drawing, labels, form, records: 25, part_rows: 10, seed: 1 };
/// assert_eq!(parts.write(folder.path(), &Unstoppable)?, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The model.
    pub model: &'a Model,
    /// The schema of the records that are written. Attributes of the model that it lacks are left out, such as a survey weight.
    pub schema: &'a Schema,
    /// What refined records are brought near to.
    pub refinement: &'a Refinement,
    /// How to draw records.
    pub drawing: Drawing,
    /// How categorical values are written.
    pub labels: Labels,
    /// The form of the files.
    pub form: PartForm,
    /// Number of records in all.
    pub records: u64,
    /// Number of records in each part but the last; [`PART_ROWS`] is usual. Memory is proportional to it.
    pub part_rows: u64,
    /// Seed of the run.
    pub seed: u64,
}

impl Parts<'_> {
    /// Draws the parts in parallel and writes each of them whole or not at all. Creates the folder. Returns the number of
    /// parts.
    ///
    /// # Errors
    /// No record, or parts of none or of more than 2³² - 1 records; a folder that cannot be created or that has parts
    /// already; a part that cannot be drawn or written; [`CommonError::Interrupted`](crate::CommonError::Interrupted) if `checks` stops it, which is asked before
    /// each part. The parts that are complete stay.
    pub fn write(&self, folder: &Path, checks: &dyn Checks) -> Result<u64> {
        if self.records == 0 {
            return Err(Error::invalid_parameter("rows", self.records, "at least 1"));
        }
        if self.part_rows == 0 || u32::try_from(self.part_rows).is_err() {
            let expected = "1 to 4294967295";
            return Err(Error::invalid_parameter("rows of a part", self.part_rows, expected));
        }
        check_form(&self.path(folder, 0))?;
        prepare(folder)?;
        let parts = self.records.div_ceil(self.part_rows);
        let (next, stop) = (AtomicU64::new(0), AtomicBool::new(false));
        let failed: Mutex<Option<(u64, Error)>> = Mutex::new(None);
        let work = || {
            while !stop.load(Ordering::Relaxed) {
                let part = next.fetch_add(1, Ordering::Relaxed);
                if part >= parts {
                    return;
                }
                let Err(error) = checks
                    .check()
                    .map_err(Error::from)
                    .and_then(|()| self.write_part(folder, part))
                else {
                    continue;
                };
                stop.store(true, Ordering::Relaxed);
                let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                if failed.as_ref().is_none_or(|(other, _)| part < *other) {
                    *failed = Some((part, error));
                }
            }
        };
        // Threads of their own: one of the pool that waits could begin with another part meanwhile.
        std::thread::scope(|scope| {
            (1..self.at_once(parts)).for_each(|_| drop(scope.spawn(work)));
            work();
        });
        match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some((_, error)) => Err(error),
            None => Ok(parts),
        }
    }

    /// Parts that are drawn at the same time.
    fn at_once(&self, parts: u64) -> u64 {
        let values = self.part_rows.saturating_mul(self.model.domain().len() as u64);
        let threads = rayon::current_num_threads() as u64;
        (MOST_VALUES / values.max(1)).clamp(1, threads).min(parts)
    }

    fn path(&self, folder: &Path, part: u64) -> PathBuf {
        folder.join(format!("{PREFIX}{part:05}.{}", self.form.ending()))
    }

    fn write_part(&self, folder: &Path, part: u64) -> Result<()> {
        let before = part * self.part_rows;
        let records =
            usize::try_from(self.part_rows.min(self.records - before)).unwrap_or(usize::MAX);
        let mut hash = Sha256::new();
        hash.update("jointly part");
        hash.update(self.seed.to_le_bytes());
        hash.update(part.to_le_bytes());
        let mut rng = ChaCha20Rng::from_seed(hash.finalize().into());
        let rows = self.model.rows(records, self.drawing, self.refinement, &mut rng)?;
        let names: Vec<&str> = self.schema.attributes().map(|column| &*column.name).collect();
        let kept: Vec<usize> = rows.domain().clique(&names)?.iter().collect();
        let rows = if kept.len() < rows.domain().len() { rows.into_selected(&kept)? } else { rows };
        let path = self.path(folder, part);
        write_csv_blocks(&path, slices(&rows).map(Ok), self.schema, self.labels, rng.next_u64())
    }
}

/// The records, a few at a time.
fn slices(rows: &Dataset) -> impl Iterator<Item = Dataset> {
    let records = u32::try_from(rows.records()).unwrap_or(u32::MAX);
    (0..records).step_by(SLICE as usize).map(move |start| {
        let end = start.saturating_add(SLICE).min(records);
        rows.take(&(start..end).collect::<Vec<u32>>())
    })
}

/// Creates a folder, and refuses one that has parts: they would be taken for parts of this table.
fn prepare(folder: &Path) -> Result<()> {
    let failed = |action| move |source| Error::Io { action, path: folder.into(), source };
    fs::create_dir_all(folder).map_err(failed("create"))?;
    for entry in fs::read_dir(folder).map_err(failed("read"))? {
        let name = entry.map_err(failed("read"))?.file_name();
        if name.to_string_lossy().starts_with(PREFIX) {
            let place = folder.display().to_string();
            let found = format!("the part {} of another table", name.display());
            return Err(Error::invalid_specification(place, found, "a folder without parts"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
