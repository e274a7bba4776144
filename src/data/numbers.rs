//! Real numbers of a public table, as they are.

use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

use crate::data::encoder::number;
use crate::data::raw_table::RawTable;
use crate::domain::TableFormat;
use crate::error::Result;

/// The texts that stand for a missing number, besides empty text.
pub const MISSING_NUMBERS: [&str; 8] = ["NA", "N/A", "NaN", "nan", "null", "None", "?", "."];

/// Reads the numbers in some columns of a **public** table (CSV, plain or gzip), each column in the order of its rows.
/// Missing numbers, empty or of [`MISSING_NUMBERS`], are left out. The values are not coded, so a private table must not be
/// read in this way: nothing would seal them.
///
/// # Errors
/// A file that cannot be read; a column that the header lacks; a cell that is neither a finite number nor missing. They
/// name file, line and column.
pub fn read_public_numbers<S: AsRef<str>>(
    path: &Path,
    columns: &[S],
    format: &TableFormat,
) -> Result<Vec<Vec<f64>>> {
    numbers_of(RawTable::of_file(path, format, "")?, columns)
}

/// Reads such numbers from any source of bytes; `name` stands for the file in errors.
///
/// ```
/// use jointly::{data::read_public_numbers_from, domain::TableFormat};
/// let table = b"age,income\n30,1250.5\n41,NA\n";
/// let read = read_public_numbers_from(&table[..], "q.csv", &["income", "age"], &TableFormat::default())?;
/// assert_eq!(read, [vec![1250.5], vec![30.0, 41.0]]);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// As [`read_public_numbers`].
pub fn read_public_numbers_from<S: AsRef<str>>(
    source: impl Read,
    name: &str,
    columns: &[S],
    format: &TableFormat,
) -> Result<Vec<Vec<f64>>> {
    numbers_of(RawTable::open(source, name, format)?, columns)
}

pub(super) fn numbers_of<S: AsRef<str>>(
    mut table: RawTable<impl Read>,
    columns: &[S],
) -> Result<Vec<Vec<f64>>> {
    let mut positions = Vec::with_capacity(columns.len());
    for column in columns {
        let column = column.as_ref();
        let position = table.header.iter().position(|cell| cell.trim_ascii() == column.as_bytes());
        positions.push(position.ok_or_else(|| {
            table.header_error(format!("a header without '{column}'"), "the columns asked for")
        })?);
    }
    let mut numbers = vec![Vec::new(); columns.len()];
    let mut record = ByteRecord::new();
    while table.next(&mut record)? {
        for ((position, column), numbers) in positions.iter().zip(columns).zip(&mut numbers) {
            let cell = record.get(*position).unwrap_or_default().trim_ascii();
            if cell.is_empty() || MISSING_NUMBERS.iter().any(|text| text.as_bytes() == cell) {
                continue;
            }
            numbers.push(number(cell).ok_or_else(|| {
                let expected = "a finite number, or a missing one (nothing, NA, ?)".to_owned();
                table.cell_error(&record, column.as_ref(), cell, expected)
            })?);
        }
    }
    Ok(numbers)
}
