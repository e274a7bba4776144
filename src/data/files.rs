//! Text files.

use std::path::Path;

use crate::data::write_durably;
use crate::error::{Error, Result};

/// Reads a file of text in UTF-8.
///
/// # Errors
/// A file that cannot be read, or bytes that are not UTF-8: the message names the line.
///
/// ```
/// let missing = jointly::data::read_text("no-such-file.json".as_ref());
/// assert!(missing.is_err());
/// ```
pub fn read_text(path: &Path) -> Result<String> {
    Ok(jointly_privacy::files::read_text(path)?)
}

/// Writes a text file, whole or not at all; it is on disk when this returns. The path `-` is standard output, and pipes
/// and character devices are written to as they are.
///
/// # Errors
/// A path that leads to nothing that can be written, or a file that cannot be created, written or moved.
pub fn write_text(path: &Path, text: &str) -> Result<()> {
    write_durably(path, |file| {
        let failed = |source| Error::Io { action: "write", path: path.into(), source };
        file.write_all(text.as_bytes()).map_err(failed)
    })
}
