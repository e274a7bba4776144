//! Reading files of text, and saying where they are wrong.

use std::fmt::Write;
use std::fs;
use std::path::Path;

use crate::error::{Error, Result};

/// The first bytes of a file with exact counts of private records. No delimiter of a table is among them, so that a reader
/// of tables finds them in its first cell.
pub const EXACT_COUNTS: &str =
    "# jointly: exact counts of private records as private as the records themselves";

/// The first bytes of a file with exact counts of a public table.
pub const PUBLIC_COUNTS: &str = "# jointly: exact counts of a public table";

/// Reads a file of text in UTF-8.
///
/// # Errors
/// A file that cannot be read, or bytes that are not UTF-8: the message names the line.
///
/// ```
/// let missing = jointly_privacy::files::read_text("no-such-file.json".as_ref());
/// assert!(missing.is_err());
/// ```
pub fn read_text(path: &Path) -> Result<String> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let bytes = fs::read(path).map_err(failed)?;
    String::from_utf8(bytes).map_err(|error| {
        let bytes = error.as_bytes();
        let valid = &bytes[..error.utf8_error().valid_up_to()];
        let found = encoding(bytes).unwrap_or("bytes that are not UTF-8");
        Error::InvalidText {
            file: path.display().to_string(),
            line: valid.split(|byte| *byte == b'\n').count() as u64,
            found: found.into(),
            expected: "text in UTF-8".into(),
        }
    })
}

/// Bytes in hexadecimal digits.
pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string does not fail.
        _ = write!(text, "{byte:02x}");
        text
    })
}

/// What a file is by its first bytes, where they show that it is no text in UTF-8.
pub fn encoding(start: &[u8]) -> Option<&'static str> {
    match start {
        _ if start.starts_with(EXACT_COUNTS.as_bytes()) => Some("exact counts of private records"),
        _ if start.starts_with(PUBLIC_COUNTS.as_bytes()) => Some("counts of a public table"),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => Some("text in UTF-16"),
        [b'P', b'K', 3, 4, ..] => Some("a zip archive or a spreadsheet"),
        [0x89, b'P', b'N', b'G', ..] => Some("an image"),
        [b'%', b'P', b'D', b'F', ..] => Some("a PDF document"),
        [b'P', b'A', b'R', b'1', ..] => Some("a Parquet file"),
        [b'A', b'R', b'R', b'O', b'W', b'1', 0, ..] => Some("an Arrow file"),
        [0xff, 0xff, 0xff, 0xff, ..] => Some("an Arrow stream, which is no Arrow file"),
        [b'F', b'E', b'A', b'1', 0, ..] => Some("a Feather file of version 1"),
        _ => None,
    }
}

impl Error {
    /// The error of JSON that is not of the expected form. `place`: the file, or a part of it; without `positions` the
    /// parser saw only that part, so that its line and column say nothing.
    pub fn wrong_json(place: &str, error: &serde_json::Error, positions: bool, form: &str) -> Self {
        let text = error.to_string();
        let end = text.rfind(" at line ").unwrap_or(text.len());
        let message = suggested(&plain(&text[..end]));
        let at = if positions && error.line() > 0 {
            format!("{place}, line {}, column {}", error.line(), error.column())
        } else {
            place.to_owned()
        };
        match message.split_once(", expected ") {
            Some((found, expected)) => {
                Self::invalid_specification(at, found, format!("{expected}, in {form}"))
            }
            None => Self::invalid_specification(at, message, form),
        }
    }
}

/// The known name that an unknown one may stand for: the one with the fewest letters to change, if these are at most
/// two, or a third of all letters.
///
/// ```
/// assert_eq!(jointly_privacy::files::nearest("epsilom", ["delta", "epsilon"]), Some("epsilon"));
/// assert_eq!(jointly_privacy::files::nearest("color", ["delta", "epsilon"]), None);
/// ```
pub fn nearest<'a>(unknown: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let changes = |name: &str| strsim::damerau_levenshtein(unknown, name);
    let names = known.into_iter().map(|name| (changes(name), name));
    let alike = names.filter(|(changes, _)| *changes <= 2.max(unknown.len() / 3));
    alike.min_by_key(|(changes, _)| *changes).map(|(_, name)| name)
}

/// The message about an unknown member, with the known one that it may stand for.
fn suggested(message: &str) -> String {
    let Some((unknown, known)) =
        message.strip_prefix("unknown field `").and_then(|rest| rest.split_once('`'))
    else {
        return message.to_owned();
    };
    match nearest(unknown, known.split('`').skip(1).step_by(2)) {
        Some(nearest) => format!("unknown field `{unknown}` (did you mean `{nearest}`?){known}"),
        None => message.to_owned(),
    }
}

/// The parser's words for types, in those of a reader.
fn plain(message: &str) -> String {
    let words = [
        ("expected u32", "expected a whole number from 0 to 4294967295"),
        ("expected u64", "expected a whole number of at least 0"),
        ("expected usize", "expected a whole number of at least 0"),
        ("expected f64", "expected a number"),
        ("expected a sequence", "expected a list"),
        ("expected a map", "expected an object"),
        ("expected a JSON object", "expected an object"),
        ("invalid type: sequence", "a list"),
        ("invalid type: map", "an object"),
        ("invalid type: ", ""),
        ("invalid value: ", ""),
        ("EOF while parsing", "the end of the file inside"),
        ("expected `", "no `"),
        ("expected value", "text that is not JSON"),
    ];
    words.iter().fold(message.to_owned(), |text, (from, to)| text.replace(from, to))
}
