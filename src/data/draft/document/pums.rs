//! The Census Bureau's PUMS data dictionary.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::path::Path;
use std::rc::Rc;

use csv::{ReaderBuilder, StringRecord};

use crate::data::draft::document::DescribedColumn;
use crate::data::draft::document::range::inner_edges;
use crate::data::draft::is_weight;
use crate::data::raw_table::{Source, open_text};
use crate::domain::{Bins, Encoding, Kind, MAX_CARDINALITY, Role, SchemaColumn};
use crate::error::{Error, Result};

/// Largest dictionary read, in bytes.
const LARGEST: usize = 256 << 20;

/// Most codes in a range of a character column; a longer range is an identifier.
const MOST_CODES: u64 = 200;

/// The dictionary's entry for one column; rows of the household and the person file are merged.
#[derive(Default)]
struct Entry {
    name: String,
    description: String,
    numeric: bool,
    /// From, to and meaning of each value or range.
    values: Vec<(String, String, String)>,
    missing: bool,
    /// When it is, in words.
    not_applicable: Option<String>,
}

/// The columns of a dictionary, in its order.
///
/// # Errors
/// An unreadable file, or a row of another form.
pub(super) fn read(path: &Path) -> Result<Vec<DescribedColumn>> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let source = Source::open(
        open_text(path)?,
        Encoding::Utf8,
        Rc::new(Cell::new(false)),
        Rc::new(Cell::new(LARGEST)),
    )
    .map_err(failed)?;
    let mut reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(source);
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: BTreeMap<String, usize> = BTreeMap::new();
    let mut row = StringRecord::new();
    while reader.read_record(&mut row).map_err(|error| unread(path, error))? {
        let cell = |i: usize| row.get(i).unwrap_or_default().trim().to_string();
        let known = places.get(&cell(1)).copied();
        match (row.get(0).unwrap_or_default().trim(), known) {
            ("NAME", _) => {
                let place = known.unwrap_or(entries.len());
                if known.is_none() {
                    entries.push(Entry { name: cell(1), ..Entry::default() });
                    places.insert(cell(1), place);
                }
                entries[place].description = cell(4);
                entries[place].numeric = cell(2) == "N";
            }
            ("VAL", Some(place)) => entries[place].add(cell(4), cell(5), cell(6)),
            (kind, _) => {
                return Err(Error::InvalidRow {
                    file: path.display().to_string(),
                    line: row.position().map_or(1, csv::Position::line),
                    found: format!("a row '{kind}' of '{}'", cell(1)),
                    expected: "NAME rows, each followed by the VAL rows of its column".into(),
                });
            }
        }
    }
    let described = |mut entry: Entry| {
        let not_applicable = entry.not_applicable.take();
        let column = entry.into_column();
        DescribedColumn { column, remarks: Vec::new(), is_bounded: true, not_applicable }
    };
    Ok(entries.into_iter().map(described).collect())
}

/// The error of a row that cannot be read.
fn unread(path: &Path, error: csv::Error) -> Error {
    let line = error.position().map_or(1, csv::Position::line);
    match error.into_kind() {
        csv::ErrorKind::Io(source) => Error::Io { action: "read", path: path.into(), source },
        _ => Error::InvalidRow {
            file: path.display().to_string(),
            line,
            found: "bytes that are not UTF-8".into(),
            expected: "text in UTF-8".into(),
        },
    }
}

impl Entry {
    fn add(&mut self, from: String, to: String, meaning: String) {
        if !from.is_empty() && from.bytes().all(|byte| byte == b'b') {
            self.missing = true;
            self.not_applicable.get_or_insert(meaning);
        } else if !self.values.iter().any(|(f, t, _)| *f == from && *t == to) {
            self.values.push((from, to, meaning));
        }
    }

    fn into_column(self) -> SchemaColumn {
        let identifies = ["SERIALNO", "SPORDER"].contains(&self.name.as_str());
        let kind = if self.numeric { self.bins() } else { self.codes() };
        let area = self.description.to_ascii_lowercase().contains("area code");
        let role = match &kind {
            _ if is_weight(&self.name) => Role::Weight,
            _ if identifies => Role::Id,
            Some(Kind::Categorical { codes, .. }) if codes.len() == 1 && !self.missing => {
                Role::Constant
            }
            Some(_) => Role::Attribute,
            None if area => Role::StateSpecific,
            None => Role::Id,
        };
        SchemaColumn {
            name: self.name,
            note: None,
            description: Some(self.description).filter(|text| !text.is_empty()),
            na: self.missing && role == Role::Attribute,
            kind: kind.filter(|_| role == Role::Attribute),
            role,
        }
    }

    /// The codes of a character column, short ranges written out; `None` for identifiers.
    fn codes(&self) -> Option<Kind> {
        let mut codes: Vec<String> = Vec::new();
        let mut labels = Vec::new();
        let mut add = |code: String, label: &str| {
            if !codes.contains(&code) {
                codes.push(code);
                labels.push(label.to_string());
            }
        };
        for (from, to, meaning) in &self.values {
            if from == to {
                add(from.clone(), meaning);
                continue;
            }
            let (low, high): (u64, u64) = (from.parse().ok()?, to.parse().ok()?);
            if high < low || high - low >= MOST_CODES {
                return None;
            }
            let width = from.len();
            (low..=high).for_each(|code| add(format!("{code:0width$}"), meaning));
        }
        let few = !codes.is_empty() && codes.len() < MAX_CARDINALITY as usize;
        let (labels, groups) = (Some(labels), Vec::new());
        few.then_some(Kind::Categorical { codes, labels, other: None, groups })
    }

    /// The bins of a numeric column; `None` if its values are not numbers.
    fn bins(&self) -> Option<Kind> {
        let mut singles = Vec::new();
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for (from, to, _) in &self.values {
            let (first, last): (f64, f64) = (from.parse().ok()?, to.parse().ok()?);
            if from == to {
                singles.push(first);
            }
            low = low.min(first);
            high = high.max(last + 1.0);
        }
        let mut edges = inner_edges(low, high);
        // A few single values outside a range (none, top-coded) have their own meaning.
        if singles.len() < self.values.len() && singles.len() <= 5 {
            edges.extend(singles.iter().flat_map(|value| [*value, value + 1.0]));
        }
        edges.extend([low, high]);
        edges.retain(|edge| (low..=high).contains(edge));
        edges.sort_by(f64::total_cmp);
        edges.dedup();
        Bins::new(edges, None, &self.name).ok().map(Kind::Numeric)
    }
}
