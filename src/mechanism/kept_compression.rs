//! The noisy marginals of a domain compression in its checkpoint folder: they are measured once.
//!
//! A run that is killed before the file is there has shown nobody anything, and measures again. Later runs take the
//! marginals from the file, so that their domain is the same.

use serde::{Deserialize, Serialize};

use crate::compression;
use crate::error::{CheckpointFault, Result};
use crate::mechanism::CheckpointFolder;
use crate::mechanism::sealed::SealedFile;
use crate::privacy::{Curator, LedgerEntry, NoisyMarginal, Rho};

/// The file of measured attributes in a checkpoint folder. No other run can open it while this value lives.
#[derive(Debug)]
pub struct KeptCompression {
    file: SealedFile,
    found: Option<Stored>,
}

/// The file, after the version and the checksum.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    /// The marginals, as they were released.
    noisy: Vec<NoisyMarginal>,
    /// What they cost.
    entries: Vec<LedgerEntry>,
}

impl KeptCompression {
    /// Opens the file of a folder, or prepares to write it.
    ///
    /// # Errors
    /// A folder in use, or a file that cannot be read or was changed.
    pub fn open(checkpoint: &CheckpointFolder) -> Result<Self> {
        let (file, found) = SealedFile::open(&checkpoint.folder, "compression")?;
        Ok(Self { file, found })
    }

    /// As [`compression::measure`], once: the marginals are on disk before anyone sees them, or taken from there.
    ///
    /// # Errors
    /// As [`compression::measure`]; marginals of other attributes or at another cost, or a file that cannot be written.
    pub fn measure(
        &mut self,
        curator: &mut Curator<'_>,
        attributes: &[usize],
        rho: Rho,
    ) -> Result<Vec<NoisyMarginal>> {
        if let Some(Stored { noisy, entries }) = &self.found {
            let own = compression::cost_of_each(attributes, rho);
            let is_paid = entries.iter().map(|entry| entry.rho).eq(attributes.iter().map(|_| own));
            let measured = noisy.iter().map(|marginal| marginal.clique.attributes());
            if !is_paid || !measured.eq(attributes.iter().map(std::slice::from_ref)) {
                let why =
                    "the measured attributes are those of another run: resume with the same flags";
                return Err(self.file.refused(CheckpointFault::Inconsistent(why)));
            }
            for entry in entries {
                let charged = curator.charge_again(entry.clone());
                charged
                    .map_err(|error| self.file.refused(CheckpointFault::Ledger(Box::new(error))))?;
            }
            return Ok(noisy.clone());
        }
        let earlier = curator.ledger().entries().len();
        let noisy = compression::measure(curator, attributes, rho)?;
        let entries = curator.ledger().entries()[earlier..].to_vec();
        let stored = Stored { noisy, entries };
        self.file.write(&stored)?;
        Ok(self.found.insert(stored).noisy.clone())
    }
}
