//! What a user of the table will see: a few records, and how its columns go together.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

use super::Content;
use super::format::counted;
use crate::data::Dataset;
use crate::domain::{Kind, SchemaColumn};
use crate::error::Result;
use crate::evaluation::cramers_v;

/// Records shown.
const RECORDS: usize = 8;

/// Columns in the picture of associations, at most.
const COLUMNS: usize = 60;

/// Pairs in the list.
const STRONGEST: usize = 10;

/// Steps of the scale of associations.
const LEVELS: usize = 8;

/// Columns with more values are left out of the picture.
const MOST_VALUES: usize = 1_000;

/// Side of a square in the picture.
const SIDE: f64 = 10.0;

/// Room for a name behind the diagonal, and its characters.
const ROOM: f64 = 70.0;
const LETTERS: usize = 14;

/// The first records, with the names of values.
#[derive(Serialize)]
pub(super) struct Records {
    names: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// Cramér's V of the pairs of columns.
#[derive(Serialize)]
pub(super) struct Associations {
    size: f64,
    side: f64,
    /// With room for the name of the last column.
    width: f64,
    names: Vec<String>,
    /// The squares of each level of the scale as one path, from the weakest.
    levels: Vec<Level>,
    strongest: Vec<Strongest>,
    /// Columns that are not in the picture.
    left_out: usize,
}

#[derive(Serialize)]
struct Level {
    opacity: String,
    path: String,
}

#[derive(Serialize)]
struct Strongest {
    pair: String,
    v: String,
    names: [String; 2],
    number: f64,
}

impl Associations {
    /// The strongest pairs, for programs.
    pub(super) fn described(&self) -> Value {
        let pair = |pair: &Strongest| json!({ "pair": pair.names, "cramers_v": pair.number });
        self.strongest.iter().map(pair).collect()
    }
}

/// A value; of a bin that stands for a single one, such as a survey weight, that one.
fn written(column: &SchemaColumn, code: u32) -> String {
    match &column.kind {
        Some(Kind::Numeric(bins)) => match bins.pieces_of(code) {
            [piece] if piece.is_value() => piece.from.to_string(),
            _ => column.value_name(code),
        },
        _ => column.value_name(code),
    }
}

/// The first records of the table.
pub(super) fn records(content: &Content<'_>) -> Records {
    let columns: Vec<_> = content.written.attributes().collect();
    let names = columns.iter().map(|column| column.name.clone()).collect();
    let row = |record: usize| {
        let codes = content.table.row(record);
        columns.iter().zip(codes).map(|(column, code)| written(column, code)).collect()
    };
    let rows = (0..content.table.records().min(RECORDS)).map(row).collect();
    Records { names, rows }
}

/// How many records have a combination that the schema calls unlikely; `None` if it has none that the records' columns have.
pub(super) fn unlikely(content: &Content<'_>) -> Option<String> {
    let (table, domain) = (content.table, content.table.domain());
    let avoided = content.written.avoided().iter();
    let avoided: Vec<_> = avoided.filter(|zero| zero.check(domain).is_ok()).collect();
    if avoided.is_empty() || table.records() == 0 {
        return None;
    }
    let has_one = |record: &usize| {
        let codes = table.row(*record);
        avoided.iter().any(|zero| zero.forbids(domain, |attribute| codes[attribute]))
    };
    let found = (0..table.records()).filter(has_one).count() as u64;
    let all = counted(content.written.unlikely().len() as u64, "combination");
    let records = if found == 0 {
        "No record has".to_owned()
    } else {
        format!("{} have", counted(found, "record"))
    };
    Some(format!(
        "{records} one of the {all} of values that no public row has and no measurement showed."
    ))
}

/// The associations of the released table; `None` for fewer than two columns, or no record.
pub(super) fn associations(table: &Dataset) -> Result<Option<Associations>> {
    let domain = table.domain();
    let small: Vec<usize> =
        (0..domain.len()).filter(|a| domain.cardinality(*a) <= MOST_VALUES).take(COLUMNS).collect();
    if small.len() < 2 || table.records() == 0 {
        return Ok(None);
    }
    let found = cramers_v(&table.select(&small)?)?;
    let name = |at: usize| domain.name(small[at]).to_owned();
    let short = |at: usize| match name(at).char_indices().nth(LETTERS) {
        Some((end, _)) => format!("{}\u{2026}", &name(at)[..end]),
        None => name(at),
    };
    let mut paths = vec![String::new(); LEVELS];
    for pair in &found {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to LEVELS")]
        let level = ((pair.v * LEVELS as f64) as usize).min(LEVELS - 1);
        let (x, y) = (pair.first as f64 * SIDE, pair.second as f64 * SIDE);
        _ = write!(paths[level], "M{x} {y}h{s}v{s}h-{s}z", s = SIDE - 1.0);
    }
    let levels = paths.into_iter().enumerate().map(|(level, path)| Level {
        opacity: format!("{:.2}", (level as f64 + 0.35) / LEVELS as f64),
        path,
    });
    let mut sorted: Vec<_> = found.iter().collect();
    sorted.sort_by(|a, b| b.v.total_cmp(&a.v));
    let strongest = sorted.iter().take(STRONGEST).map(|pair| Strongest {
        pair: format!("{} \u{d7} {}", name(pair.first), name(pair.second)),
        v: format!("{:.2}", pair.v),
        names: [name(pair.first), name(pair.second)],
        number: pair.v,
    });
    Ok(Some(Associations {
        size: small.len() as f64 * SIDE,
        side: SIDE,
        width: small.len() as f64 * SIDE + ROOM,
        names: (0..small.len()).map(short).collect(),
        levels: levels.collect(),
        strongest: strongest.collect(),
        left_out: domain.len() - small.len(),
    }))
}
