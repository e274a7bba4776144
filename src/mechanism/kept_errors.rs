//! The measured errors of a run in its checkpoint folder: they are measured once, of one table.
//!
//! The file holds the seed of the released records and their hash beside the errors. Both are public, as the records
//! are. A run that is killed before the file is there has shown nobody any error, and measures again; one that is killed
//! later draws the same records, and takes the errors from the file.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::Dataset;
use crate::error::{CheckpointFault, Error, Result};
use crate::mechanism::CheckpointFolder;
use crate::mechanism::checkpoint::hex;
use crate::mechanism::sealed::SealedFile;
use crate::privacy::{LedgerEntry, NoiseMechanism, NoisyStatistics, Rho};

/// The file of measured errors in a checkpoint folder. No other run can open it while this value lives.
#[derive(Debug)]
pub struct KeptErrors {
    file: SealedFile,
    found: Option<Stored>,
}

/// The file, after the version and the checksum.
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
    /// Opens the file of a folder, or prepares to write it. Call this before the run begins.
    ///
    /// # Errors
    /// A folder in use, or a file that cannot be read or was changed.
    pub fn open(checkpoint: &CheckpointFolder) -> Result<Self> {
        let (file, found) = SealedFile::open(&checkpoint.folder, "errors")?;
        Ok(Self { file, found })
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
        self.file.write(&stored)?;
        self.found = Some(stored);
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
