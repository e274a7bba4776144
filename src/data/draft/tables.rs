//! Observations about the columns of public tables.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use csv::ByteRecord;

use super::bins::Values;
use super::notations::{Found, Hints, notation_of};
use super::patterns::Change;
use crate::data::raw_table::{DECODABLE, RawTable, columns_of, text};
use crate::domain::{TableFormat, days};
use crate::error::{Error, Result};

/// Distinct values kept of one column of numbers or dates.
const MOST_DISTINCT: usize = 200_000;

/// Distinct texts above which a column is an identifier or free text.
pub(super) const MOST_TEXT_CODES: usize = 1000;

/// Longest text kept, in bytes; a longer one is free text.
const LONGEST_CODE: usize = 1000;

/// Texts that stand for a missing value in many tables, besides empty text.
const MARKS: [&str; 12] =
    ["?", ".", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "Null", "null", "<NA>"];

/// The columns of all tables, and how these are written.
pub(super) struct Observation {
    pub(super) columns: Vec<ObservedColumn>,
    /// The format asked for, with blanks dropped where there are some around cells or names.
    pub(super) format: TableFormat,
    /// What to look at in the tables as a whole.
    pub(super) remarks: Vec<String>,
}

/// The values of one column in all tables.
pub(super) struct ObservedColumn {
    pub(super) name: String,
    /// Rows, missing ones included.
    pub(super) rows: u64,
    /// How often each mark of a missing value occurs, empty text among them.
    pub(super) marks: BTreeMap<String, u64>,
    /// How often each of the other texts occurs, as far as they were kept.
    pub(super) counts: BTreeMap<String, u64>,
    /// Whether there are more distinct texts than were kept.
    pub(super) more: bool,
    /// Bytes and blanks of all texts.
    pub(super) bytes: u64,
    pub(super) blanks: u64,
    pub(super) numbers: Numbers,
    /// Whether all texts are dates.
    pub(super) dates: bool,
    /// How the cells are written, if not plainly: the texts are then what they would be plainly.
    pub(super) found: Option<Found>,
    /// Whether a cell was not written so.
    is_mixed: bool,
    /// The numbers at which other columns change.
    pub(super) changes: Vec<Change>,
}

/// The kind of numbers of all texts so far.
#[derive(Clone, Copy)]
pub(super) struct Numbers {
    pub(super) all: bool,
    pub(super) whole: bool,
    pub(super) low: f64,
    pub(super) high: f64,
}

/// Rows of each table from which notations are found.
const SNIFFED: u64 = 5000;

/// Reads the columns of all tables, in the order in which they first occur. Nameless ones are left out. `missing`: texts of
/// missing values besides the usual marks. `listed`: columns whose codes a document lists, as the cells have them.
///
/// # Errors
/// No table, an unreadable one, or a cell that cannot be decoded.
pub(super) fn observe(
    tables: &[&Path],
    format: &TableFormat,
    hints: &Hints,
    missing: &[String],
    listed: &BTreeSet<&str>,
) -> Result<Observation> {
    if tables.is_empty() {
        return Err(Error::invalid_parameter("number of public tables", 0, "at least one"));
    }
    let mut raw = TableFormat { trim: false, ..format.clone() };
    if raw.names.as_ref().is_some_and(Vec::is_empty) {
        raw.names = Some(numbered(tables, &raw)?);
    }
    raw.check("the format of tables")?;
    let read = |notations: &BTreeMap<String, Found>, most| {
        Reading { format: &raw, asked: format, notations, missing, most }.read(tables)
    };
    let mut notations = notations(&read(&BTreeMap::new(), SNIFFED)?.columns, hints);
    notations.retain(|name, _| !listed.contains(name.as_str()));
    loop {
        let observed = read(&notations, u64::MAX)?;
        let before = notations.len();
        for column in
            observed.columns.iter().filter(|column| column.is_mixed || !column.has_numbers())
        {
            notations.remove(&column.name);
        }
        if notations.len() == before {
            return Ok(observed);
        }
    }
}

/// The notations of columns whose cells are not written plainly.
fn notations(columns: &[ObservedColumn], hints: &Hints) -> BTreeMap<String, Found> {
    let of_all = |decimal: Option<char>| -> BTreeMap<String, Found> {
        let found = columns.iter().filter_map(|column| {
            let texts: Vec<&str> = column.counts.keys().map(String::as_str).collect();
            let found = notation_of(&texts, hints, decimal)?;
            Some((column.name.clone(), found))
        });
        found.collect()
    };
    // A mark that one column leaves no doubt about is that of the others.
    let found = of_all(None);
    let mut sure = found.values().filter(|found| found.doubt.is_none());
    match sure.find_map(|found| found.notation.decimal()) {
        Some(decimal) => of_all(Some(decimal)),
        None => found,
    }
}

/// How to read tables.
struct Reading<'a> {
    /// The format, in which blanks are kept.
    format: &'a TableFormat,
    asked: &'a TableFormat,
    notations: &'a BTreeMap<String, Found>,
    missing: &'a [String],
    /// Rows of each table, at most.
    most: u64,
}

impl Reading<'_> {
    fn read(&self, tables: &[&Path]) -> Result<Observation> {
        let mut columns: Vec<ObservedColumn> = Vec::new();
        let mut positions: HashMap<String, usize> = HashMap::new();
        let mut remarks = Vec::new();
        let mut padded = 0_u64;
        for path in tables {
            let mut table = RawTable::of_file(path, self.format, "")?;
            let names: Vec<String> =
                table.header.iter().map(|name| text(name).unwrap_or_default().to_owned()).collect();
            if let Some(remark) = numbers_as_names(&names) {
                remarks.push(format!("{}: {remark}", path.display()));
            }
            let mut places = Vec::with_capacity(names.len());
            for name in &names {
                padded += u64::from(name.trim().len() < name.len());
                let name = name.trim().to_owned();
                let place = *positions.entry(name.clone()).or_insert(columns.len());
                if place == columns.len() {
                    let found = self.notations.get(&name).cloned();
                    columns.push(ObservedColumn { found, ..ObservedColumn::new(name) });
                }
                places.push(place);
            }
            let mut record = ByteRecord::new();
            let mut rows = 0;
            while rows < self.most && table.next(&mut record)? {
                rows += 1;
                for (cell, place) in record.iter().zip(&places) {
                    let column = &mut columns[*place];
                    let Some(cell) = text(cell) else {
                        let expected = DECODABLE.to_owned();
                        return Err(table.cell_error(&record, &column.name, cell, expected));
                    };
                    let value = cell.trim();
                    padded += u64::from(value.len() < cell.len());
                    column.add(value, self.missing);
                }
            }
        }
        columns.retain(|column| !column.name.is_empty());
        if padded > 0 && !self.asked.trim {
            remarks.push(format!("blanks around {padded} cells are dropped ('trim' in 'table')"));
        }
        let format = TableFormat { trim: self.asked.trim || padded > 0, ..self.format.clone() };
        Ok(Observation { columns, format, remarks })
    }
}

/// Names for the columns of tables without any: `column1`, `column2`, ...
fn numbered(tables: &[&Path], format: &TableFormat) -> Result<Vec<String>> {
    let format = TableFormat { names: None, ..format.clone() };
    let mut count = 0;
    for path in tables {
        count = count.max(columns_of(path, &format)?);
    }
    Ok((1..=count).map(|column| format!("column{column}")).collect())
}

/// What to say of a header that looks like a row of values.
fn numbers_as_names(names: &[String]) -> Option<String> {
    let numbers: Vec<&str> = names
        .iter()
        .map(|name| name.trim())
        .filter(|name| !name.is_empty() && name.parse::<f64>().is_ok())
        .collect();
    let [first, second, ..] = numbers.as_slice() else { return None };
    Some(format!(
        "the header has numbers ('{first}', '{second}'); if the table has none, name its columns (`header`)"
    ))
}

impl ObservedColumn {
    fn new(name: String) -> Self {
        let numbers =
            Numbers { all: true, whole: true, low: f64::INFINITY, high: f64::NEG_INFINITY };
        Self {
            name,
            rows: 0,
            marks: BTreeMap::new(),
            counts: BTreeMap::new(),
            more: false,
            bytes: 0,
            blanks: 0,
            numbers,
            dates: true,
            found: None,
            is_mixed: false,
            changes: Vec::new(),
        }
    }

    /// Takes one cell into account, without blanks around it.
    fn add(&mut self, text: &str, missing: &[String]) {
        self.rows += 1;
        if text.is_empty() || MARKS.contains(&text) || missing.iter().any(|mark| mark == text) {
            match self.marks.get_mut(text) {
                Some(count) => *count += 1,
                None => _ = self.marks.insert(text.to_owned(), 1),
            }
            return;
        }
        let plain = self.found.as_ref().map(|found| found.notation.plainly(text));
        self.is_mixed |= plain == Some(None);
        let plain = plain.flatten();
        let text = plain.as_deref().unwrap_or(text);
        self.bytes += text.len() as u64;
        self.blanks += text.matches(' ').count() as u64;
        if let Some(count) = self.counts.get_mut(text) {
            *count += 1;
            return;
        }
        if self.numbers.all {
            self.numbers.add(text);
        }
        self.dates = self.dates && days(text).is_some();
        let most = if self.numbers.all || self.dates { MOST_DISTINCT } else { MOST_TEXT_CODES + 1 };
        if self.counts.len() < most && text.len() <= LONGEST_CODE {
            self.counts.insert(text.to_owned(), 1);
        } else {
            self.more = true;
        }
    }

    /// Whether some value is missing.
    pub(super) fn missing(&self) -> bool {
        !self.marks.is_empty()
    }

    /// Rows with a value.
    pub(super) fn present(&self) -> u64 {
        self.rows - self.marks.values().sum::<u64>()
    }

    /// The distinct texts, sorted as numbers where they are.
    pub(super) fn texts(&self) -> Vec<&str> {
        let mut texts: Vec<&str> = self.counts.keys().map(String::as_str).collect();
        if self.numbers.all {
            let value = |text: &str| text.parse().unwrap_or(f64::NAN);
            texts.sort_by(|a, b| value(a).total_cmp(&value(b)).then(a.cmp(b)));
        }
        texts
    }

    /// The numbers and their rows; `None` if a text is not a number.
    pub(super) fn values(&self, limits: Option<(f64, f64)>) -> Option<Values> {
        let number = |text: &str| text.parse().ok();
        self.numbers.all.then(|| self.counted(number, self.numbers.whole, limits))
    }

    /// The days and their rows; `None` if a text is not a date.
    pub(super) fn days(&self) -> Option<Values> {
        let day = |text: &str| days(text).map(f64::from);
        (self.dates && !self.counts.is_empty()).then(|| self.counted(day, true, None))
    }

    fn counted(
        &self,
        value: impl Fn(&str) -> Option<f64>,
        whole: bool,
        limits: Option<(f64, f64)>,
    ) -> Values {
        let mut all: Vec<(f64, u64)> =
            self.counts.iter().filter_map(|(text, rows)| Some((value(text)?, *rows))).collect();
        all.sort_by(|a, b| a.0.total_cmp(&b.0));
        let mut counts: Vec<(f64, u64)> = Vec::with_capacity(all.len());
        for (value, rows) in all {
            match counts.last_mut() {
                Some((last, sum)) if *last >= value => *sum += rows,
                _ => counts.push((value, rows)),
            }
        }
        let changes = self.changes.iter().map(|change| change.at).collect();
        Values { counts, whole, limits, changes }
    }
}

impl Numbers {
    /// Takes one distinct text into account. Texts with leading zeros or signs, as in codes, are not numbers.
    fn add(&mut self, text: &str) {
        let digits = text.strip_prefix('-').unwrap_or(text);
        let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let padded = digits.len() > 1 && whole && digits.starts_with('0');
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        match text.parse::<f64>() {
            Ok(value) if plain && !padded && value.abs() < 1e15 => {
                self.whole &= value.fract() == 0.0;
                self.low = self.low.min(value);
                self.high = self.high.max(value);
            }
            _ => self.all = false,
        }
    }
}
