//! The measured errors of a run in its checkpoint folder: they are measured once, of one table.
//!
//! The file holds the seed of the released records and their hash beside the errors. Both are public, as the records
//! are. The file is there from the beginning of the run, so that one that was removed is missed: a run whose errors are not
//! in it has shown nobody any error, and measures again; one that is killed later draws the same records, and takes the errors
//! from the file.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::Dataset;
use crate::error::{CheckpointFault, Error, Result};
use crate::mechanism::CheckpointFolder;
use crate::mechanism::checkpoint;
use crate::mechanism::sealed::SealedFile;
use crate::privacy::{LedgerEntry, NoiseMechanism, NoisyStatistics, Rho};
use crate::text::hex;

/// The file of measured errors in a checkpoint folder. No other run can open it while this value lives.
#[derive(Debug)]
pub struct KeptErrors {
    file: SealedFile,
    found: Option<Stored>,
}

/// The file, after the version and the checksum.
#[derive(Debug, Serialize, Deserialize)]
struct Content {
    /// `None`: they are not measured yet.
    errors: Option<Stored>,
}

/// Measured errors.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    /// The seed from which the records were drawn.
    row_seed: u64,
    /// Their hash.
    records: String,
    /// The released numbers.
    pub(super) noisy: NoisyStatistics,
    /// What they cost.
    pub(super) entry: LedgerEntry,
}

impl KeptErrors {
    /// Opens the file of a folder, or begins it. Call this before the run begins.
    ///
    /// # Errors
    /// A folder in use; a file that cannot be read or written, or was changed; rounds without the file, or measured errors
    /// without the rounds that they are of: both were paid for.
    pub fn open(checkpoint: &CheckpointFolder) -> Result<Self> {
        let (file, found) = SealedFile::open::<Content>(&checkpoint.folder, "errors")?;
        let has_rounds = checkpoint.folder.join(checkpoint::FILE).exists();
        let refused = |why| Err(file.refused(CheckpointFault::Inconsistent(why)));
        match found {
            None if has_rounds => refused(
                "there are rounds, and no file of measured errors: the run was begun without measuring errors, or \
                 the file was removed",
            ),
            Some(Content { errors: Some(_) }) if !has_rounds => {
                refused("the rounds whose errors were measured are gone")
            }
            None => {
                file.write(&Content { errors: None })?;
                Ok(Self { file, found: None })
            }
            Some(Content { errors: found }) => Ok(Self { file, found }),
        }
    }

    /// The seed of the records whose errors were measured, if they were: the records must be drawn from it again.
    pub fn row_seed(&self) -> Option<u64> {
        self.found.as_ref().map(|found| found.row_seed)
    }

    /// The errors of these records, if the file has them.
    ///
    /// `cost`: what they must have cost. `numbers`: how many there must be.
    ///
    /// # Errors
    /// Errors of other records, or at another cost.
    pub(super) fn of(
        &self,
        records: &Dataset,
        cost: Rho,
        numbers: usize,
    ) -> Result<Option<&Stored>> {
        let Some(found) = &self.found else { return Ok(None) };
        if found.records != hash(records) {
            let why = "the measured errors are those of other records: resume with the same flags";
            return Err(self.refused(CheckpointFault::Inconsistent(why)));
        }
        let paid = match &found.entry.mechanism {
            NoiseMechanism::GridGaussian { numbers, .. }
            | NoiseMechanism::GridLaplace { numbers, .. } => *numbers,
            _ => 0,
        };
        let values = &found.noisy.values;
        let is_whole = values.iter().all(|value| value.is_finite()) && found.noisy.stddev > 0.0;
        if !is_whole || found.entry.rho != cost || (paid, values.len()) != (numbers as u64, numbers)
        {
            let why = "the measured errors do not fit their ledger entry";
            return Err(self.refused(CheckpointFault::Inconsistent(why)));
        }
        Ok(Some(found))
    }

    /// Makes the errors durable. They are on disk when this returns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn keep(
        &mut self,
        row_seed: u64,
        records: &Dataset,
        noisy: &NoisyStatistics,
        entry: LedgerEntry,
    ) -> Result<()> {
        let stored = Stored { row_seed, records: hash(records), noisy: noisy.clone(), entry };
        let content = Content { errors: Some(stored) };
        self.file.write(&content)?;
        self.found = content.errors;
        Ok(())
    }

    /// An error that names the file.
    pub(super) fn refused(&self, fault: CheckpointFault) -> Error {
        self.file.refused(fault)
    }
}

/// SHA-256 of the records' codes, in order.
fn hash(records: &Dataset) -> String {
    let mut hash = Sha256::new();
    hash.update((records.records() as u64).to_le_bytes());
    for column in records.columns() {
        let codes: Vec<u8> = column.iter().flat_map(u32::to_le_bytes).collect();
        hash.update(codes);
    }
    hex(&hash.finalize())
}
