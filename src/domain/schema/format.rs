//! How the tables of a schema are written as text.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::error::{CommonError, Error, Result};

/// Encoding of a table without a byte-order mark; a mark for UTF-8 or UTF-16 always decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Encoding {
    /// UTF-8.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// Latin-1 as web browsers read it, Windows-1252: ISO 8859-1 with printable characters at 0x80 to 0x9F.
    #[serde(rename = "latin-1")]
    Latin1,
}

impl Encoding {
    /// The names, each with its meaning.
    pub const NAMES: &'static [(&'static str, &'static str)] =
        &[("utf-8", "UTF-8; other bytes are errors"), ("latin-1", "Latin-1, read as Windows-1252")];
}

/// How the tables of a schema are written as text: private, public and synthetic ones alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TableFormat {
    /// The ASCII character between cells; a comma by default.
    pub delimiter: char,
    /// The names of the columns in tables without a header. A first row of names only is still a header. For
    /// drafting, no names stand for `column1`, `column2`, ...
    #[serde(skip_serializing_if = "Option::is_none")]
    pub names: Option<Vec<String>>,
    /// Encoding of tables without a byte-order mark.
    pub encoding: Encoding,
    /// Whether blanks around cells and names are dropped.
    pub trim: bool,
}

impl Default for TableFormat {
    fn default() -> Self {
        Self { delimiter: ',', names: None, encoding: Encoding::Utf8, trim: false }
    }
}

impl TableFormat {
    /// The byte between cells.
    pub(crate) fn delimiter_byte(&self) -> u8 {
        u8::try_from(self.delimiter).unwrap_or(b',')
    }

    /// Checks the format; `place` names it in errors.
    ///
    /// # Errors
    /// A delimiter that is a quote, a line end, a letter, a digit or not ASCII; no name, or a name twice.
    pub fn check(&self, place: &str) -> Result<()> {
        let delimiter = self.delimiter;
        let unusable = matches!(delimiter, '"' | '\r' | '\n' | '.' | '-');
        if !delimiter.is_ascii() || delimiter.is_ascii_alphanumeric() || unusable {
            return Err(Error::invalid_specification(
                place,
                format!("delimiter {delimiter:?}"),
                "one ASCII character that is no letter, digit, point, minus or quote",
            ));
        }
        let Some(names) = &self.names else { return Ok(()) };
        if names.is_empty() {
            return Err(Error::invalid_specification(place, "no name", "a name for each column"));
        }
        let mut seen = BTreeSet::new();
        match names.iter().find(|name| !seen.insert(name.as_str())) {
            Some(twice) => Err(CommonError::DuplicateAttribute {
                name: twice.clone(),
                place: format!("{place}, the names of columns"),
            }
            .into()),
            None => Ok(()),
        }
    }
}
