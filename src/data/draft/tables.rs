//! Observations about the columns of public tables.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use csv::ByteRecord;

use super::is_weight;
use crate::data::raw_table::{RawTable, open};
use crate::domain::{Bins, Kind, Role, SchemaColumn};
use crate::error::{Error, Result};

/// Distinct values kept of one column. A column with more is a number or an identifier anyway.
const MOST_DISTINCT: usize = 200_000;

/// Distinct numbers above which a column gets bins.
const MOST_NUMERIC_CODES: usize = 40;

/// Distinct texts above which a column is an identifier.
const MOST_TEXT_CODES: usize = 1000;

/// Quantiles at which bins are cut.
const QUANTILES: u64 = 20;

/// The values of one column in all tables.
pub(super) struct Observed {
    pub(super) name: String,
    /// Whether empty text occurs.
    pub(super) missing: bool,
    /// How often each of the first [`MOST_DISTINCT`] other texts occurs.
    counts: BTreeMap<String, u64>,
    /// Whether there are more distinct texts than were kept.
    more: bool,
    numbers: Numbers,
}

/// The kind of numbers of all texts so far.
struct Numbers {
    all: bool,
    whole: bool,
    low: f64,
    high: f64,
}

/// Reads the columns of all tables, in the order in which they first occur. Nameless ones are left out.
///
/// # Errors
/// No table, or an unreadable one.
pub(super) fn observe(tables: &[&Path]) -> Result<Vec<Observed>> {
    if tables.is_empty() {
        return Err(Error::invalid_parameter("number of public tables", 0, "at least one"));
    }
    let mut columns: Vec<Observed> = Vec::new();
    let mut positions: HashMap<String, usize> = HashMap::new();
    for path in tables {
        let mut table = RawTable::open(open(path)?, &path.display().to_string())?;
        let mut places = Vec::with_capacity(table.header.len());
        for name in &table.header {
            let name = String::from_utf8_lossy(name).into_owned();
            let place = *positions.entry(name.clone()).or_insert(columns.len());
            if place == columns.len() {
                columns.push(Observed::new(name));
            }
            places.push(place);
        }
        let mut record = ByteRecord::new();
        while table.next(&mut record)? {
            for (cell, place) in record.iter().zip(&places) {
                columns[*place].add(cell);
            }
        }
    }
    columns.retain(|column| !column.name.is_empty());
    Ok(columns)
}

impl Observed {
    fn new(name: String) -> Self {
        let numbers =
            Numbers { all: true, whole: true, low: f64::INFINITY, high: f64::NEG_INFINITY };
        Self { name, missing: false, counts: BTreeMap::new(), more: false, numbers }
    }

    fn add(&mut self, cell: &[u8]) {
        if cell.is_empty() {
            self.missing = true;
            return;
        }
        let text = String::from_utf8_lossy(cell);
        if let Some(count) = self.counts.get_mut(text.as_ref()) {
            *count += 1;
            return;
        }
        self.numbers.add(&text);
        if self.counts.len() < MOST_DISTINCT {
            self.counts.insert(text.into_owned(), 1);
        } else {
            self.more = true;
        }
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

    /// Smallest and largest number; `None` if a text is not a number. If all are missing, the empty range at 0.
    pub(super) fn range(&self) -> Option<(f64, f64)> {
        if self.counts.is_empty() {
            return Some((f64::INFINITY, f64::NEG_INFINITY));
        }
        self.numbers.all.then_some((self.numbers.low, self.numbers.high))
    }

    /// Whether every number is whole.
    pub(super) fn whole(&self) -> bool {
        self.numbers.whole
    }

    /// The column that accepts the observed values.
    pub(super) fn into_column(self) -> SchemaColumn {
        let distinct = self.counts.len();
        let numeric = self.numbers.all && distinct > MOST_NUMERIC_CODES;
        let role = match () {
            () if is_weight(&self.name) => Role::Weight,
            () if numeric && !self.every_row_differs() => Role::Attribute,
            () if numeric || self.more || distinct > MOST_TEXT_CODES => Role::Id,
            () if distinct == 0 => Role::Constant,
            () if distinct == 1 && !self.missing => Role::Constant,
            () => Role::Attribute,
        };
        if role != Role::Attribute {
            return SchemaColumn::ignored(self.name, role);
        }
        let kind = if numeric { self.bins().map(Kind::Numeric) } else { None };
        let kind = kind.unwrap_or_else(|| {
            let codes = self.texts().into_iter().map(String::from).collect();
            Kind::Categorical { codes, labels: None, other: None }
        });
        SchemaColumn { na: self.missing, ..SchemaColumn::attribute(self.name, kind) }
    }

    /// Whether it is a long list of whole numbers that never repeat: a serial number.
    fn every_row_differs(&self) -> bool {
        let repeats = self.counts.values().any(|count| *count > 1);
        self.numbers.whole && !repeats && self.counts.len() > MOST_TEXT_CODES
    }

    /// Bins at rounded quantiles; a whole number with more than a bin's share of the rows gets its own.
    fn bins(&self) -> Option<Bins> {
        let texts = self.texts();
        let counts: Vec<u64> = texts.iter().filter_map(|t| self.counts.get(*t).copied()).collect();
        let total: u64 = counts.iter().sum();
        let (low, high) = (self.numbers.low, self.numbers.high);
        let mut edges = Vec::new();
        let (mut before, mut share) = (0_u64, 0_u64);
        for (text, count) in texts.iter().zip(counts) {
            let value: f64 = text.parse().ok()?;
            if (before + count) * QUANTILES / total > share {
                share = (before + count) * QUANTILES / total;
                edges.push(rounded(value, self.numbers.whole));
            }
            if self.numbers.whole && count * QUANTILES > total {
                edges.extend([value, value + 1.0]);
            }
            before += count;
        }
        let (first, last) = (widest(low, -1.0), widest(high, 1.0));
        edges.retain(|edge| first < *edge && *edge < last);
        edges.extend([first, last]);
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        Bins::new(edges, Some(self.numbers.whole), &self.name).ok()
    }
}

/// A number to two digits.
fn rounded(value: f64, whole: bool) -> f64 {
    if value == 0.0 {
        return 0.0;
    }
    let mut unit = 10_f64.powf(value.abs().log10().floor() - 1.0);
    if whole {
        unit = unit.max(1.0);
    }
    // Dividing by a power of ten below 1 would leave errors in the last digit.
    if unit < 1.0 {
        (value / unit).round() / (1.0 / unit).round()
    } else {
        (value / unit).round() * unit
    }
}

/// An outer edge well beyond an extreme value: 0 if the values do not cross it, else ten times as far, and a power of
/// ten.
fn widest(extreme: f64, side: f64) -> f64 {
    if extreme * side < 0.0 || (extreme == 0.0 && side < 0.0) {
        return 0.0;
    }
    let far = extreme.abs().max(1.0) * 10.0;
    side * 10_f64.powf(far.log10().ceil()).max(far)
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
