//! The character between the cells of a public table.

use std::path::Path;

use csv::ByteRecord;

use crate::data::raw_table::RawTable;
use crate::domain::TableFormat;

/// Rows that are looked at.
const ROWS: usize = 50;

/// The candidates; the first of several that fit alike wins.
const DELIMITERS: [char; 5] = [',', ';', '\t', '|', ':'];

/// The character between the cells of a **public** table: of comma, semicolon, tab, bar and colon, the one that cuts its first
/// rows into the most cells, as many in each. A comma where none cuts them, and for a file that cannot be read: reading it says
/// why.
///
/// `format`: what else is known of the table.
///
/// ```
/// use jointly::{data::delimiter_of, domain::TableFormat};
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("public.csv");
/// std::fs::write(&file, "sex;pay\nf;1,5\nm;2,25\n")?;
/// assert_eq!(delimiter_of(&file, &TableFormat::default()), ';');
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn delimiter_of(path: &Path, format: &TableFormat) -> char {
    let mut best = (1, ',');
    for delimiter in DELIMITERS {
        let format = TableFormat { delimiter, names: None, ..format.clone() };
        let Ok(mut table) = RawTable::of_file(path, &format, "") else { continue };
        if table.has_rows() {
            break;
        }
        let mut record = ByteRecord::new();
        let is_even = (0..ROWS).all(|_| table.next(&mut record).is_ok());
        let cells = table.header.len();
        if is_even && cells > best.0 {
            best = (cells, delimiter);
        }
    }
    best.1
}

#[cfg(test)]
mod tests;
