//! Files that appear whole or not at all, and are on disk when they appear; and streams, which cannot.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::destination::Destination;
pub use crate::destination::open_stream;
use crate::error::{Error, Result};

const BUFFER: usize = 1 << 16;

/// Writes a file beside its place, under a name that nobody can guess, and moves it there once it is complete and on
/// disk; then syncs the folder, so that the file is still there after a power cut.
///
/// Whoever reads `path` sees the former file or the new one, never a part. A failure leaves the former file and removes
/// the part. The folder must exist. A link is followed: the file that it leads to is written.
///
/// Standard output (`-`), pipes and character devices get the bytes as they are made. A reader that closes a pipe has
/// seen what it wanted: that ends the writing, and is no error.
///
/// # Errors
/// Those of `write`, a path that leads to nothing that can be written, or a file that cannot be created, written or
/// moved.
pub fn write_durably<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    // As for any new file, the process's mask decides who may read it.
    write_with_mode(path, 0o666, write)
}

/// As [`write_durably`], a file that its owner alone may read and write.
///
/// # Errors
/// As there.
pub fn write_privately<E: From<Error>>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    write_with_mode(path, 0o600, write)
}

#[cfg_attr(not(unix), expect(unused_variables, reason = "files have no mode"))]
fn write_with_mode<E: From<Error>>(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
) -> Result<(), E> {
    let failed = |action| move |source| Error::Io { action, path: path.into(), source };
    let destination =
        Destination::of(path).map_err(|fault| Error::Output { path: path.into(), fault })?;
    match destination {
        Destination::StandardOutput => write_stream(io::stdout().lock(), write, failed("write")),
        Destination::Stream(stream) => {
            write_stream(open_stream(&stream).map_err(failed("open"))?, write, failed("write"))
        }
        Destination::File { folder, file } => {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let prefix = format!(".{name}.");
            let mut builder = tempfile::Builder::new();
            builder.prefix(&prefix).suffix(".tmp");
            #[cfg(unix)]
            builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(mode));
            // Dropped on failure, the part removes itself.
            let part = builder.tempfile_in(&folder).map_err(failed("create"))?;
            let mut buffered = BufWriter::with_capacity(BUFFER, part);
            write(&mut buffered)?;
            let part =
                buffered.into_inner().map_err(|error| failed("write")(error.into_error()))?;
            part.as_file().sync_all().map_err(failed("write"))?;
            part.persist(&file).map_err(|error| failed("write")(error.error))?;
            // Folders cannot be opened and synced everywhere.
            if cfg!(unix) {
                File::open(folder).and_then(|folder| folder.sync_all()).map_err(failed("write"))?;
            }
            Ok(())
        }
    }
}

fn write_stream<E: From<Error>>(
    out: impl Write,
    write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    failed: impl FnOnce(io::Error) -> Error,
) -> Result<(), E> {
    let mut out = UntilClosed { out: BufWriter::with_capacity(BUFFER, out), closed: false };
    let written = write(&mut out).and_then(|()| Ok(out.flush().map_err(failed)?));
    if out.closed { Ok(()) } else { written }
}

/// A stream that remembers whether its reader has closed it.
struct UntilClosed<W> {
    out: W,
    closed: bool,
}

impl<W> UntilClosed<W> {
    fn note<T>(&mut self, done: io::Result<T>) -> io::Result<T> {
        self.closed |= done.as_ref().is_err_and(|e| e.kind() == io::ErrorKind::BrokenPipe);
        done
    }
}

impl<W: Write> Write for UntilClosed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let done = self.out.write(bytes);
        self.note(done)
    }

    fn flush(&mut self) -> io::Result<()> {
        let done = self.out.flush();
        self.note(done)
    }
}

#[cfg(test)]
mod tests;
