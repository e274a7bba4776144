//! Releases in their files: a form, a version and the release.

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::error::{Error, Result};

/// A release in its file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored<T> {
    format: String,
    version: u32,
    release: T,
}

/// The text of a file.
pub(super) fn write<T: Serialize>(format: &str, version: u32, release: &T) -> Result<String> {
    let stored = Stored { format: format.to_owned(), version, release };
    let text = serde_json::to_string_pretty(&stored).map_err(|error| {
        Error::invalid_specification("release", error.to_string(), "one that JSON can hold")
    })?;
    Ok(text + "\n")
}

/// Reads the text of a file. `name` stands for the file in errors, `form` for what was expected.
pub(super) fn read<T: DeserializeOwned>(
    text: &str,
    name: &str,
    form: &'static str,
    (format, version): (&str, u32),
) -> Result<T> {
    let stored: Stored<T> =
        serde_json::from_str(text).map_err(|error| Error::wrong_json(name, &error, true, form))?;
    if stored.format == format && stored.version == version {
        return Ok(stored.release);
    }
    let found = format!("format '{}', version {}", stored.format, stored.version);
    Err(Error::invalid_specification(name, found, form))
}
