//! Opening a file, and what form it has.

use std::io::{Chain, Cursor, Read};
use std::path::Path;

use crate::data::standard_input::{Input, name_of};
use crate::error::{Error, Result};

/// The first bytes of a Parquet file.
pub(in crate::data) const PARQUET: &[u8; 4] = b"PAR1";

/// An opened file of text, with the bytes that were read to detect its form.
pub(in crate::data) type Opened = Chain<Cursor<Vec<u8>>, Input>;

/// Opens a file of text.
///
/// # Errors
/// A file that cannot be read, or one of Parquet.
pub(in crate::data) fn open_text(path: &Path) -> Result<Opened> {
    match open(path)? {
        Opening::Text(source) => Ok(source),
        Opening::Parquet(_) => {
            let place = path.display().to_string();
            Err(Error::invalid_specification(place, "a Parquet file", "CSV, plain or gzip"))
        }
    }
}

/// What a file is, by its first bytes.
pub(super) enum Opening {
    /// Text, plain or gzip.
    Text(Opened),
    /// Parquet, after its first bytes.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "it is refused unread"))]
    Parquet(std::fs::File),
}

/// Opens a file, and detects its form.
pub(super) fn open(path: &Path) -> Result<Opening> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let mut input = Input::open(path).map_err(failed)?;
    let mut start = Vec::with_capacity(PARQUET.len());
    input.by_ref().take(PARQUET.len() as u64).read_to_end(&mut start).map_err(failed)?;
    match input {
        Input::File(file) if start == PARQUET => Ok(Opening::Parquet(file)),
        Input::StandardInput(_) if start == PARQUET => {
            let expected = "CSV, plain or gzip: Parquet is read from a file";
            Err(Error::invalid_specification(name_of(path), "a Parquet file", expected))
        }
        input => Ok(Opening::Text(Cursor::new(start).chain(input))),
    }
}
