//! Files that appear whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// Writes a file beside its place and moves it there once it is complete and on disk.
///
/// Whoever reads `path` sees the former file or the new one, never a part; a failure leaves the former file
/// and removes the part. The folder must exist.
///
/// What is there must be an ordinary file: moving over a device or a pipe would put a file in its place.
///
/// # Errors
/// Those of `write`, something at `path` that is no ordinary file, or the file cannot be created, written or moved.
pub fn write_atomically(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let failed = |action| move |source| Error::Io { action, path: path.into(), source };
    if fs::metadata(path).is_ok_and(|there| !there.is_file()) {
        let other = io::Error::new(io::ErrorKind::InvalidInput, "it is no ordinary file");
        return Err(failed("write")(other));
    }
    let part = beside(path).map_err(failed("create"))?;
    let file = File::create(&part).map_err(failed("create"))?;
    let mut buffered = BufWriter::with_capacity(1 << 16, file);
    let written = write(&mut buffered).and_then(|()| {
        let file = buffered.into_inner().map_err(io::IntoInnerError::into_error);
        let synced = file.and_then(|file| file.sync_all());
        synced.and_then(|()| fs::rename(&part, path)).map_err(failed("write"))
    });
    if written.is_err() {
        // The failure itself is what the caller must hear of.
        _ = fs::remove_file(&part);
    }
    written
}

/// A name in the same folder that no other process uses.
fn beside(path: &Path) -> io::Result<PathBuf> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut part = OsString::from(".");
    part.push(name);
    part.push(format!(".{}.tmp", std::process::id()));
    Ok(path.with_file_name(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_write_keeps_the_former_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file.txt");
        let text = |text: &'static str| {
            move |out: &mut dyn Write| {
                out.write_all(text.as_bytes()).unwrap();
                Ok(())
            }
        };
        write_atomically(&path, text("first")).unwrap();
        write_atomically(&path, text("second")).unwrap();
        let failure = write_atomically(&path, |out| {
            out.write_all(b"third").unwrap();
            Err(Error::invalid_parameter("x", 1, "2"))
        });
        assert!(failure.is_err());
        assert_eq!(fs::read_to_string(&path).unwrap(), "second");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write_atomically(Path::new("/"), text("")).is_err());
        assert!(write_atomically(&folder.path().join("no/file"), text("")).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_ordinary_file_stays_what_it_is() {
        use std::os::unix::net::UnixListener;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = UnixListener::bind(&path).unwrap();
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        for path in [&path, &link] {
            let error = write_atomically(path, |_| Ok(())).unwrap_err().to_string();
            assert!(error.contains("no ordinary file"), "{error}");
        }
        assert!(!fs::metadata(&path).unwrap().is_file());
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }
}
