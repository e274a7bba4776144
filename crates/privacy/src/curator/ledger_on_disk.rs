//! The ledger's file, kept up to date while a run spends.

use std::path::PathBuf;

use crate::destination::Destination;
use crate::error::Result;
use crate::{Budget, Curator, LedgerFile};

/// A file that holds every entry whose result has been reported to anyone.
pub(super) struct LedgerOnDisk {
    path: PathBuf,
    /// The command that spends.
    command: String,
    budget: Option<Budget>,
    /// The number of entries in the file.
    entries: usize,
}

impl Curator<'_> {
    /// Names the file in which the ledger is kept up to date ([`save_ledger`](Self::save_ledger)), so that a run that is
    /// killed leaves an account of what it has reported. A pipe or a device is not kept up to date: it cannot be replaced.
    #[must_use]
    pub fn with_ledger_at(
        mut self,
        path: impl Into<PathBuf>,
        command: impl Into<String>,
        budget: Option<Budget>,
    ) -> Self {
        let (path, command) = (path.into(), command.into());
        self.on_disk = matches!(Destination::of(&path), Ok(Destination::File { .. }))
            .then_some(LedgerOnDisk { path, command, budget, entries: 0 });
        self
    }

    /// Writes the ledger to its file, if it has one and there are new entries. It is on disk when this returns. A run
    /// calls this before it reports any result. The file says `"unfinished": true`.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn save_ledger(&mut self) -> Result<()> {
        let entries = self.ledger().entries().len();
        let Some(file) = self.on_disk.as_ref().filter(|file| file.entries != entries) else {
            return Ok(());
        };
        let written = LedgerFile::new(&file.command, file.budget, self);
        written.with("unfinished", &true)?.write(&file.path)?;
        if let Some(file) = &mut self.on_disk {
            file.entries = entries;
        }
        Ok(())
    }
}
