//! Answers in files, in the form that `jointly answer` writes.

use std::collections::BTreeMap;
use std::path::Path;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::data::{quoted, read_text};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::prior::Answers;

/// The columns of a file; others are ignored.
const COLUMNS: [&str; 3] = ["attributes", "codes", "count"];

/// A line that is being read: where it is, and its fields of [`COLUMNS`].
struct Line<'a> {
    place: &'a str,
    number: u64,
    fields: [&'a str; 3],
}

impl Answers {
    /// Reads answers from CSV with one line per answered cell: `attributes` (names joined by ` x `, in any order),
    /// `codes` (in that order, separated by spaces) and `count`, a noisy number of records. That is the form that
    /// `jointly answer` writes; further columns, such as `stddev`, are ignored. A marginal with all its cells is
    /// answered whole, any other on its cells alone; marginals and cells are sorted. Names that contain ` x ` cannot be
    /// read.
    ///
    /// `records`: the number of records, public or noisy, by which counts are divided; finite and above 0.
    ///
    /// # Errors
    /// A file that cannot be read; a header that lacks a column; an unknown or repeated attribute; a code outside its
    /// attribute, or not one per attribute; a count that is not a finite number; a cell twice; no line. They name file,
    /// line and column. A number of records out of range, or marginals of 2³² cells and more.
    pub fn read(path: &Path, domain: &Domain, records: f64) -> Result<Vec<Self>> {
        Self::from_csv(&read_text(path)?, &path.display().to_string(), domain, records)
    }

    /// As [`read`](Self::read), from a text that `place` names in errors.
    ///
    /// ```
    /// use jointly::{domain::{Clique, Domain}, estimation::prior::Answers};
    /// let domain = Domain::new([("age", 3), ("sex", 2)])?;
    /// let text = "attributes,codes,count\nsex,0,61.5\nsex,1,38.25\nsex x age,1 2,20\n";
    /// let answers = Answers::from_csv(text, "noisy.csv", &domain, 100.0)?;
    /// // Row-major, in the domain's order: age 2 and sex 1 are the last of six cells.
    /// let pair = Answers::of_cells(Clique::new([0, 1]), vec![5], vec![0.2]);
    /// assert_eq!(answers, [pair, Answers::new(Clique::new([1]), vec![0.615, 0.3825])]);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn from_csv(text: &str, place: &str, domain: &Domain, records: f64) -> Result<Vec<Self>> {
        if !(records > 0.0 && records.is_finite()) {
            let expected = "a finite number above 0";
            return Err(Error::invalid_parameter("records", records, expected));
        }
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut reader = ReaderBuilder::new().trim(Trim::All).from_reader(text.as_bytes());
        let unreadable = |error: &csv::Error| {
            let line = error.position().map_or(1, csv::Position::line);
            wrong_line(place, line, error.to_string(), "CSV with as many cells as the header")
        };
        let header = reader.headers().map_err(|error| unreadable(&error))?.clone();
        let mut columns = [0; 3];
        for (column, name) in columns.iter_mut().zip(COLUMNS) {
            let Some(found) = header.iter().position(|cell| cell == name) else {
                let found = format!("a header without '{name}'");
                return Err(wrong_line(place, 1, found, "attributes, codes and count"));
            };
            *column = found;
        }
        let mut found: BTreeMap<Clique, BTreeMap<u32, f64>> = BTreeMap::new();
        let mut row = StringRecord::new();
        while reader.read_record(&mut row).map_err(|error| unreadable(&error))? {
            let number = row.position().map_or(1, csv::Position::line);
            let fields = columns.map(|column| row.get(column).unwrap_or_default());
            let line = Line { place, number, fields };
            let (clique, cell) = line.cell(domain)?;
            let frequency = line.count()? / records;
            if found.entry(clique).or_default().insert(cell, frequency).is_some() {
                return Err(line.wrong(1, "each cell of a marginal once"));
            }
        }
        if found.is_empty() {
            return Err(wrong_line(place, 1, "a header without lines", "at least one answer"));
        }
        let answered = |(clique, cells): (Clique, BTreeMap<u32, f64>)| {
            let is_whole = domain.cells(&clique) == Some(cells.len() as u64);
            let (cells, frequencies) = cells.into_iter().unzip();
            Self { clique, cells: (!is_whole).then_some(cells), frequencies }
        };
        Ok(found.into_iter().map(answered).collect())
    }
}

impl Line<'_> {
    /// The marginal and the row-major index of the cell.
    fn cell(&self, domain: &Domain) -> Result<(Clique, u32)> {
        let place = || format!("{}, line {}", self.place, self.number);
        let names: Vec<&str> = self.fields[0].split(" x ").map(str::trim).collect();
        let mut attributes = Vec::with_capacity(names.len());
        for name in names {
            let position = domain.position(name).ok_or_else(|| domain.unknown(name, place()))?;
            if attributes.contains(&position) {
                return Err(self.wrong(0, "different attributes"));
            }
            attributes.push(position);
        }
        let codes: Vec<&str> = self.fields[1].split_whitespace().collect();
        if codes.len() != attributes.len() {
            return Err(self.wrong(1, format!("{} codes, one per attribute", attributes.len())));
        }
        let clique = Clique::new(attributes.iter().copied());
        let mut cell = 0_u32;
        for attribute in clique.iter() {
            let values = u32::try_from(domain.cardinality(attribute)).unwrap_or(u32::MAX);
            let own = attributes.iter().zip(&codes).find(|(known, _)| **known == attribute);
            let code = own.and_then(|(_, code)| code.parse::<u32>().ok());
            let Some(code) = code.filter(|code| *code < values) else {
                let name = domain.name(attribute);
                let expected = format!("a code of '{name}' from 0 to {}", values.saturating_sub(1));
                return Err(self.wrong(1, expected));
            };
            let next = cell.checked_mul(values).and_then(|cell| cell.checked_add(code));
            cell = next.ok_or_else(|| {
                Error::too_large(place(), None, f64::from(u32::MAX), "cells of a marginal")
            })?;
        }
        Ok((clique, cell))
    }

    fn count(&self) -> Result<f64> {
        let count = self.fields[2].parse::<f64>().ok().filter(|count| count.is_finite());
        count.ok_or_else(|| self.wrong(2, "a finite number"))
    }

    /// The error of a field.
    fn wrong(&self, field: usize, expected: impl Into<String>) -> Error {
        Error::InvalidCell {
            file: self.place.to_owned(),
            line: self.number,
            column: COLUMNS[field].to_owned(),
            found: quoted(self.fields[field].as_bytes()),
            expected: expected.into(),
        }
    }
}

fn wrong_line(
    place: &str,
    line: u64,
    found: impl Into<String>,
    expected: impl Into<String>,
) -> Error {
    Error::InvalidRow {
        file: place.to_owned(),
        line,
        found: found.into(),
        expected: expected.into(),
    }
}

#[cfg(test)]
mod tests;
