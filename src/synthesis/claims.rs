//! The outputs of a run with a checkpoint. The run that resumes knows its own files by them, and replaces no others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::ErrorKind::{NotADirectory, NotFound};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use crate::data::{Destination, write_text};
use crate::error::{CheckpointFault, Error, PrivacyError, Result};
use crate::privacy::files::hex;
use crate::synthesis::job::ResolvedJob;
use crate::synthesis::{Existing, NamedFile, ReservedOutputs, check_outputs};

/// The file in the checkpoint's folder.
const FILE: &str = "outputs.json";
const BUFFER: usize = 1 << 16;

/// The files of a run, by their paths without links. Each has the SHA-256 of what the run wrote, or none while the run is
/// writing it. So a file that somebody changed after the run is no longer the run's own.
#[derive(Debug, Default)]
pub(super) struct Claims {
    folder: PathBuf,
    files: BTreeMap<String, Option<String>>,
    /// Those of the run in progress.
    own: Vec<PathBuf>,
}

impl Claims {
    /// Those of a checkpoint; none if there are none.
    ///
    /// # Errors
    /// A file that cannot be read.
    fn read(folder: &Path) -> Result<Self> {
        let (path, folder) = (folder.join(FILE), folder.to_path_buf());
        let none = Self { folder, ..Self::default() };
        match fs::read(&path) {
            Ok(text) => match serde_json::from_slice(&text) {
                Ok(files) => Ok(Self { files, ..none }),
                Err(error) => Err(Error::Privacy(PrivacyError::Checkpoint {
                    path,
                    fault: CheckpointFault::Unreadable(error),
                })),
            },
            // A checkpoint that is no folder is refused where it is created.
            Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(none),
            Err(source) => Err(Error::Io { action: "read", path, source }),
        }
    }

    /// Whether the run has written a file, and nobody has changed it since.
    fn has_written(&self, file: &Path) -> bool {
        match self.files.get(&name_of(file)) {
            None => false,
            Some(None) => true,
            Some(Some(digest)) => digest_of(file).is_ok_and(|found| found == *digest),
        }
    }

    /// Notes the files of the run that are not there yet, and its ledger, before anything is written. What is known of the
    /// others stays: the run may still be refused.
    fn claim(&mut self, own: Vec<PathBuf>, ledger: Option<&Path>) -> Result<()> {
        for file in &own {
            if !file.exists() || Some(file.as_path()) == ledger {
                self.files.insert(name_of(file), None);
            }
        }
        self.own = own;
        self.write()
    }

    /// Notes that all files of the run are about to be written.
    pub(super) fn begin(&mut self) -> Result<()> {
        self.files.extend(self.own.iter().map(|file| (name_of(file), None)));
        self.write()
    }

    /// Notes what was written to them.
    pub(super) fn seal(&mut self) -> Result<()> {
        for (file, digest) in self.files.iter_mut().filter(|(_, digest)| digest.is_none()) {
            *digest = digest_of(Path::new(file)).ok();
        }
        self.write()
    }

    fn write(&self) -> Result<()> {
        let path = self.folder.join(FILE);
        let text = serde_json::to_string_pretty(&self.files).map_err(|error| Error::Io {
            action: "write",
            path: path.clone(),
            source: error.into(),
        })?;
        write_text(&path, &text)
    }
}

fn name_of(file: &Path) -> String {
    file.to_string_lossy().into_owned()
}

/// SHA-256 of a file, in hexadecimal digits.
fn digest_of(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; BUFFER];
    loop {
        match file.read(&mut buffer)? {
            0 => break,
            read => hash.update(&buffer[..read]),
        }
    }
    Ok(hex(&hash.finalize()))
}

impl ResolvedJob<'_> {
    /// Checks the output files ([`check_files`](super::check_files)). With a checkpoint, those that the interrupted run wrote
    /// may be replaced.
    pub(super) fn check_output_files(&self) -> Result<()> {
        let claims = self.claims()?;
        let may_replace = |file: &Path| {
            self.existing == Existing::Replaced
                || claims.as_ref().is_some_and(|claims| claims.has_written(file))
        };
        check_outputs(&self.inputs(), &named(&self.all_outputs()), &may_replace)?;
        self.check_beside()
    }

    /// Locks the output files, checks them again, and notes them in the checkpoint. Replicates are written after all other
    /// files, under the lock of the table.
    pub(super) fn reserve(&self) -> Result<(ReservedOutputs, Option<Claims>)> {
        let reserved = ReservedOutputs::of(&named(&self.named_outputs()))?;
        // Another job may have written them before they were locked.
        self.check_output_files()?;
        let mut claims = self.claims()?;
        if let Some(claims) = &mut claims {
            let own = self.all_outputs().into_iter().filter_map(|(_, path)| file_of(&path));
            let ledger = self.ledger.as_deref().and_then(file_of);
            claims.claim(own.collect(), ledger.as_deref())?;
        }
        Ok((reserved, claims))
    }

    fn all_outputs(&self) -> Vec<(&'static str, PathBuf)> {
        let replicates = self.replicate_paths().into_iter().map(|path| ("replicate", path));
        self.named_outputs().into_iter().chain(replicates).collect()
    }

    fn claims(&self) -> Result<Option<Claims>> {
        self.checkpoint.as_deref().map(Claims::read).transpose()
    }
}

fn named<'p>(outputs: &'p [(&'static str, PathBuf)]) -> Vec<NamedFile<'p>> {
    outputs.iter().map(|(name, path)| (*name, path.as_path())).collect()
}

/// The file that an output is, without links; `None` for a stream.
fn file_of(path: &Path) -> Option<PathBuf> {
    match Destination::of(path) {
        Ok(Destination::File { file, .. }) => Some(file),
        _ => None,
    }
}
