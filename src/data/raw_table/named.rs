//! Rows and cells in error messages.

use crate::error::Error;

/// Names the rows of a table in errors.
pub(in crate::data) struct RowsByLine {
    pub(super) table: String,
    /// Whether the table has rows instead of lines.
    pub(super) has_rows: bool,
}

impl RowsByLine {
    /// The error of a row. `line`: as [`RawTable::line`].
    pub(in crate::data) fn error(self, line: u64, found: String, expected: &str) -> Error {
        if self.has_rows {
            let place = format!("{}, row {line}", self.table);
            return Error::invalid_specification(place, found, expected);
        }
        Error::InvalidRow { file: self.table, line, found, expected: expected.into() }
    }
}

/// The text of a cell for an error message, shortened.
pub(crate) fn quoted(cell: &[u8]) -> String {
    const LONGEST: usize = 40;
    if cell.is_empty() {
        return "nothing".into();
    }
    let Some(text) = text(cell) else {
        let text = cell.escape_ascii().to_string();
        let end = text.len().min(LONGEST);
        let more = if end < text.len() { "..." } else { "" };
        return format!("'{}{more}' (undecodable bytes, not UTF-8)", &text[..end]);
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("'{}...'", text[..end].escape_debug()),
        None => format!("'{}'", text.escape_debug()),
    }
}

/// Whether the bytes are text: what cannot be decoded is not.
pub(in crate::data) fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}
