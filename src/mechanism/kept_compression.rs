//! The noisy marginals of a domain compression in its checkpoint folder: they are measured once.
//!
//! A run that is killed before the file is there has shown nobody anything, and measures again. Later runs take the
//! marginals from the file, so that their domain is the same.

use serde::{Deserialize, Serialize};

use crate::compression;
use crate::error::{CheckpointFault, Result};
use crate::mechanism::checkpoint::{self, Inputs};
use crate::mechanism::sealed::SealedFile;
use crate::mechanism::{CheckpointFolder, Task};
use crate::privacy::{Curator, LedgerEntry, NoisyMarginal, Rho};

/// The file of measured attributes in a checkpoint folder. No other run can open it while this value lives.
#[derive(Debug)]
pub struct KeptCompression {
    file: SealedFile,
    inputs: Inputs,
    found: Option<Stored>,
}

/// The file, after the version and the checksum.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    inputs: Inputs,
    /// The marginals, as they were released.
    noisy: Vec<NoisyMarginal>,
    /// What they cost.
    entries: Vec<LedgerEntry>,
}

impl KeptCompression {
    /// Opens the file of a folder, or prepares to write it.
    ///
    /// `task`: on the values before any are merged.
    ///
    /// # Errors
    /// A folder in use; a file that cannot be read, was changed or belongs to other inputs; or rounds without it, whose
    /// values were merged by other marginals or not at all.
    pub fn open(
        checkpoint: &CheckpointFolder,
        mechanism: &str,
        parameters: &impl Serialize,
        curator: &Curator<'_>,
        task: &Task<'_>,
    ) -> Result<Self> {
        let (file, found) = SealedFile::open::<Stored>(&checkpoint.folder, "compression")?;
        let parameters = serde_json::to_string(parameters);
        let parameters = parameters.map_err(|e| file.refused(CheckpointFault::Unreadable(e)))?;
        let inputs = Inputs::of(mechanism, &parameters, curator, task, checkpoint);
        match &found {
            Some(found) => found.inputs.check(&inputs).map_err(|fault| file.refused(fault))?,
            None if checkpoint.folder.join(checkpoint::FILE).exists() => {
                let why = "there are rounds, and no marginals by which values were merged: the run was begun \
                           without merging, or the file was removed";
                return Err(file.refused(CheckpointFault::Inconsistent(why)));
            }
            None => {}
        }
        Ok(Self { file, inputs, found })
    }

    /// Whether the file has the marginals: they cost nothing more.
    pub fn is_measured(&self) -> bool {
        self.found.is_some()
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
        if let Some(Stored { noisy, entries, .. }) = &self.found {
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
        let stored = Stored { inputs: self.inputs.clone(), noisy, entries };
        self.file.write(&stored)?;
        Ok(self.found.insert(stored).noisy.clone())
    }
}
