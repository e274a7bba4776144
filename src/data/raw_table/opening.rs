//! Opening a file, and what form it has.

use std::fs::File;
use std::io::{Chain, Cursor, Read, Seek as _};
use std::path::Path;

use crate::data::standard_input::{Input, name_of};
use crate::error::{Error, Result};

/// The first bytes of a Parquet file.
pub(in crate::data) const PARQUET: &[u8; 4] = b"PAR1";

/// The first bytes of an Arrow file, also called Feather of version 2.
const ARROW: &[u8; 8] = b"ARROW1\0\0";

/// An opened file of text, with the bytes that were read to detect its form.
pub(in crate::data) type Opened = Chain<Cursor<Vec<u8>>, Input>;

/// Opens a file of text.
///
/// # Errors
/// A file that cannot be read, or one of Parquet or Arrow.
pub(in crate::data) fn open_text(path: &Path) -> Result<Opened> {
    let refused = |found: &str| {
        let place = path.display().to_string();
        Err(Error::invalid_specification(place, found, "CSV, plain or gzip"))
    };
    match open(path)? {
        Opening::Text(source) => Ok(source),
        Opening::Parquet(_) => refused("a Parquet file"),
        Opening::Arrow(_) => refused("an Arrow file"),
    }
}

/// What a file is, by its first bytes.
pub(super) enum Opening {
    /// Text, plain or gzip.
    Text(Opened),
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "it is refused unread"))]
    Parquet(Binary),
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "it is refused unread"))]
    Arrow(Binary),
}

/// A file of bytes that are read in any order.
#[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "it is refused unread"))]
pub(in crate::data) enum Binary {
    /// A file, at its start.
    File(File),
    /// All bytes of a pipe.
    Pipe(Vec<u8>),
}

impl Binary {
    /// A file of which some bytes have been read.
    fn of_file(mut file: File, start: Vec<u8>) -> std::io::Result<Self> {
        if file.metadata()?.is_file() {
            file.rewind()?;
            return Ok(Self::File(file));
        }
        let mut bytes = start;
        file.read_to_end(&mut bytes)?;
        Ok(Self::Pipe(bytes))
    }
}

/// Opens a file, and detects its form.
pub(super) fn open(path: &Path) -> Result<Opening> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let mut input = Input::open(path).map_err(failed)?;
    let mut start = Vec::with_capacity(ARROW.len());
    input.by_ref().take(ARROW.len() as u64).read_to_end(&mut start).map_err(failed)?;
    let (is_parquet, is_arrow) = (start.starts_with(PARQUET), start == ARROW);
    match input {
        Input::File(file) if is_parquet => {
            Binary::of_file(file, start).map(Opening::Parquet).map_err(failed)
        }
        Input::File(file) if is_arrow => {
            Binary::of_file(file, start).map(Opening::Arrow).map_err(failed)
        }
        Input::StandardInput(_) if is_parquet || is_arrow => {
            let form = if is_parquet { "Parquet" } else { "Arrow" };
            let article = if is_parquet { "a" } else { "an" };
            let expected = format!("CSV, plain or gzip: {form} is read from a file");
            let found = format!("{article} {form} file");
            Err(Error::invalid_specification(name_of(path), found, expected))
        }
        input => Ok(Opening::Text(Cursor::new(start).chain(input))),
    }
}
