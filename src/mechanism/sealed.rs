//! A file of a checkpoint folder beside the rounds, for what a run pays for before or after them.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::data::write_durably;
use crate::error::{CheckpointFault, Error, Result};
use crate::mechanism::checkpoint::{checksum, is_sealed, lock, opening};

/// A locked file with a checksum. No other run can open it while this value lives.
#[derive(Debug)]
pub(super) struct SealedFile {
    path: PathBuf,
    /// Held until the end of the job: two runs on one folder would both pay.
    _lock: File,
}

impl SealedFile {
    /// Opens `NAME.json` in a folder, and returns its content if it is there.
    ///
    /// # Errors
    /// A folder in use, or a file that cannot be read or was changed.
    pub(super) fn open<T: DeserializeOwned>(
        folder: &Path,
        name: &str,
    ) -> Result<(Self, Option<T>)> {
        let failed = |action, path: &Path| {
            let path = path.to_owned();
            move |source| Error::Io { action, path, source }
        };
        fs::create_dir_all(folder).map_err(failed("create", folder))?;
        let lock = lock(folder, &format!("{name}.lock"))?;
        let own = Self { path: folder.join(format!("{name}.json")), _lock: lock };
        match fs::read(&own.path) {
            Ok(text) if is_sealed(&text) => {
                let found = serde_json::from_slice(&text);
                let found = found.map_err(|e| own.refused(CheckpointFault::Unreadable(e)))?;
                Ok((own, Some(found)))
            }
            Ok(_) => Err(own.refused(CheckpointFault::Changed)),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok((own, None)),
            Err(error) => Err(failed("read", &own.path)(error)),
        }
    }

    /// Writes the content, an object. It is on disk when this returns.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub(super) fn write(&self, content: &impl Serialize) -> Result<()> {
        let path = self.path.clone();
        let failed = |source| Error::Io { action: "write", path: path.clone(), source };
        let text = serde_json::to_string(content).map_err(|error| failed(error.into()))?;
        let rest = text.strip_prefix('{').unwrap_or(&text);
        write_durably(&self.path, |out| {
            write!(out, "{}{}\",{rest}", opening(), checksum(rest.as_bytes())).map_err(failed)
        })
    }

    /// An error that names the file.
    pub(super) fn refused(&self, fault: CheckpointFault) -> Error {
        Error::Checkpoint { path: self.path.clone(), fault }
    }
}
