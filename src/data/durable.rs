//! Files that appear whole or not at all, and are on disk when they appear.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Writes a file beside its place, under a name that nobody can guess, and moves it there once it is complete and on
/// disk; then syncs the folder, so that the file is still there after a power cut.
///
/// Whoever reads `path` sees the former file or the new one, never a part. A failure leaves the former file and removes
/// the part. The folder must exist, and what is at `path` must be an ordinary file: moving over a device or a pipe would
/// put a file in its place.
///
/// # Errors
/// Those of `write`, something at `path` that is no ordinary file, or a file that cannot be created, written or moved.
pub(crate) fn write_durably(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let failed = |action| move |source| Error::Io { action, path: path.into(), source };
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let other = io::Error::new(io::ErrorKind::InvalidInput, "it is no ordinary file");
        return Err(failed("write")(other));
    }
    let Some(name) = path.file_name() else {
        let nameless = io::Error::new(io::ErrorKind::InvalidInput, "the path names no file");
        return Err(failed("create")(nameless));
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or_else(|| Path::new("."));
    let prefix = format!(".{}.", name.to_string_lossy());
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix).suffix(".tmp");
    // As for any new file, the process's mask decides who may read it.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    // Dropped on failure, the part removes itself.
    let part = builder.tempfile_in(folder).map_err(failed("create"))?;
    let mut buffered = BufWriter::with_capacity(1 << 16, part);
    write(&mut buffered)?;
    let part = buffered.into_inner().map_err(|error| failed("write")(error.into_error()))?;
    part.as_file().sync_all().map_err(failed("write"))?;
    part.persist(path).map_err(|error| failed("write")(error.error))?;
    // Folders cannot be opened and synced everywhere.
    if cfg!(unix) {
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write"))?;
    }
    Ok(())
}

/// Writes a text file, whole or not at all; it is on disk when this returns.
///
/// # Errors
/// Something at `path` that is no ordinary file, or a file that cannot be created, written or moved.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_durably(path, |file| {
        let failed = |source| Error::Io { action: "write", path: path.into(), source };
        file.write_all(text.as_bytes()).map_err(failed)
    })
}

#[cfg(test)]
#[path = "../../tests/unit/data_durable.rs"]
mod tests;
