//! The results of a comparison: a CSV file. Every run is added as soon as it finishes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::cell::Cell;
use crate::error::{Error, ErrorKind, Result};
use crate::report::comparison::Row;

/// The file of results, locked while it is open.
pub(super) struct Results {
    path: PathBuf,
    file: File,
    rows: Vec<Row>,
}

impl Results {
    /// Opens or creates the file. Removes an incomplete last line, left by a run that was killed while writing it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let failed = |source| Error::Io { action: "read", path: path.into(), source };
        let options = OpenOptions::new().read(true).append(true).create(true).clone();
        let mut file = options.open(path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(refused(format!("{}: another comparison uses it", path.display())));
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let mut text = String::new();
        file.read_to_string(&mut text).map_err(failed)?;
        let header = lines(&Row::default(), true).map_err(failed)?;
        let header = header.split_inclusive(|byte| *byte == b'\n').next().unwrap_or_default();
        // Only the beginning of a header, where a run was killed while it wrote it.
        if !text.as_bytes().starts_with(header) && !header.starts_with(text.as_bytes()) {
            let message = "has other columns than this version writes; expected another --out";
            return Err(refused(format!("{}, line 1: {message}", path.display())));
        }
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let mut rows: Vec<Row> = Vec::new();
        let mut reader = csv::Reader::from_reader(&text.as_bytes()[..whole]);
        for row in reader.deserialize() {
            rows.push(row.map_err(|error| {
                let place = path.display().to_string();
                Error::invalid_specification(place, error.to_string(), "a row of a comparison")
            })?);
        }
        // The first row brings the header with it.
        let whole = if rows.is_empty() { 0 } else { whole };
        file.set_len(whole as u64).map_err(failed)?;
        file.seek(SeekFrom::End(0)).map_err(failed)?;
        Ok(Self { path: path.into(), file, rows })
    }

    pub(super) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// The row of a run; an error if the row comes from another protocol.
    pub(super) fn find(&self, cell: &Cell) -> Result<Option<&Row>> {
        let found = self.rows.iter().enumerate().find(|(_, row)| row.key() == cell.key);
        match found {
            Some((at, row)) if row.digest != cell.digest => Err(refused(format!(
                "{}, line {}: '{}' was run under another protocol, on other tables or by another \
                 version; expected another --out, or the line removed",
                self.path.display(),
                at + 2,
                cell.key,
            ))),
            found => Ok(found.map(|(_, row)| row)),
        }
    }

    /// A finished run with the same result, under any key.
    pub(super) fn same(&self, cell: &Cell) -> Option<&Row> {
        self.rows.iter().find(|row| row.digest == cell.digest)
    }

    /// Adds a row in one write, and returns once it is on disk.
    pub(super) fn add(&mut self, row: Row) -> Result<()> {
        lines(&row, self.rows.is_empty())
            .and_then(|line| self.file.write_all(&line).and_then(|()| self.file.sync_data()))
            .map_err(|source| Error::Io { action: "write", path: self.path.clone(), source })?;
        self.rows.push(row);
        Ok(())
    }
}

/// A row as a line, preceded by a header line if requested.
fn lines(row: &Row, names: bool) -> std::io::Result<Vec<u8>> {
    let mut writer = csv::WriterBuilder::new().has_headers(names).from_writer(Vec::new());
    writer.serialize(row).map_err(std::io::Error::other)?;
    writer.into_inner().map_err(|error| std::io::Error::other(error.to_string()))
}

fn refused(message: String) -> Error {
    Error::comparison(ErrorKind::Checkpoint, message)
}
