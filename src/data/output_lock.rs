//! A lock on the place of an output, so that two runs do not write one file.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::data::Destination;
use crate::error::{DestinationFault, Error, OutputFault, Result};

/// Number of attempts, over one second, while another process has the lock: a process that is starting another one lends
/// it a copy of its open files for a moment.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(50);

/// While this value lives, no other run writes to the place. The lock is a hidden file beside it, which is removed with the
/// value. A killed process leaves the file without the lock, and the next run takes it over.
#[derive(Debug)]
pub(crate) struct OutputLock {
    path: PathBuf,
    _file: File,
}

impl OutputLock {
    /// Locks the place of an output; `None` for standard output, pipes and devices, to which several may write.
    ///
    /// `name`: of the output, for errors.
    ///
    /// # Errors
    /// A place that cannot be written, or that another run has locked.
    pub(crate) fn of(name: &'static str, output: &Path) -> Result<Option<Self>> {
        let refused = |fault| Error::Output { name, path: output.to_path_buf(), fault };
        let Destination::File { folder, file } =
            Destination::of(output).map_err(|fault| refused(fault.into()))?
        else {
            return Ok(None);
        };
        let hidden = format!(".{}.lock", file.file_name().unwrap_or_default().to_string_lossy());
        let path = folder.join(hidden);
        let unwritable = |source| {
            let folder = folder.clone();
            refused(DestinationFault::FolderNotWritable { folder, source }.into())
        };
        for attempt in 0..TRIES {
            if attempt > 0 {
                std::thread::sleep(PAUSE);
            }
            let open = OpenOptions::new().write(true).create(true).truncate(false).open(&path);
            let open = open.map_err(unwritable)?;
            match open.try_lock() {
                // Its last holder may have removed the file between opening and locking.
                Ok(()) if is_at(&open, &path) => return Ok(Some(Self { path, _file: open })),
                Ok(()) | Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(source)) => return Err(unwritable(source)),
            }
        }
        Err(refused(OutputFault::InUse))
    }
}

impl Drop for OutputLock {
    fn drop(&mut self) {
        // Still locked: whoever opens it now finds that it is gone, and makes another. Left there, it does no harm.
        _ = fs::remove_file(&self.path);
    }
}

/// Whether an open file is the one at a path.
#[cfg(unix)]
fn is_at(open: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let identity = |about: io::Result<fs::Metadata>| about.map(|about| (about.dev(), about.ino()));
    match (identity(open.metadata()), identity(fs::metadata(path))) {
        (Ok(open), Ok(there)) => open == there,
        _ => false,
    }
}

/// Elsewhere an open file cannot be removed.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> bool {
    fs::metadata(path).is_ok()
}
