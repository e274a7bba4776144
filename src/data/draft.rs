//! Drafting a schema from public sources, for a person to look over.
//!
//! A schema must never be made from the private table: which codes occur, and how far numbers reach, is
//! itself private. Dictionaries and public tables cost nothing.

mod dictionary;
mod tables;

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use crate::data::draft::tables::{Observed, observe};
use crate::domain::{Bins, Kind, Role, Schema, SchemaColumn};
use crate::error::Result;

/// Drafts a schema from a data dictionary in the format of the Census Bureau's PUMS files (CSV, plain or
/// gzip): rows `NAME,column,type,width,description` and `VAL,column,type,width,from,to,label`.
///
/// Single values of a character column become its codes, with labels; ranges of a numeric column become
/// about 20 bins; `bbb` becomes a missing value (empty text). Ranges of identifiers get the role `id`, or
/// `state_specific` for areas; columns named `...WGTP` and their replicates the role `weight`.
///
/// # Errors
/// An unreadable file, a row of another form, or no attribute.
pub fn draft_from_dictionary(dictionary: &Path) -> Result<Schema> {
    of(dictionary, dictionary::read(dictionary)?)
}

/// Drafts a schema from the rows of public tables (CSV, plain or gzip), with each column as it appears in any of them.
///
/// Numbers with more than 40 distinct values get bins at rounded quantiles, with outer edges widened well beyond the
/// observed values, since private rows may reach further; other columns get the sorted codes that occur. More than
/// 1,000 distinct texts make an `id`. Empty text is a missing value. The schema reads the tables it came from.
///
/// # Errors
/// No table, an unreadable one, or no attribute.
pub fn draft_from_public(tables: &[&Path]) -> Result<Schema> {
    let observed = observe(tables)?;
    let columns = observed.into_iter().map(Observed::into_column).collect();
    tables.first().map_or_else(|| Schema::new("", Vec::new()), |table| of(table, columns))
}

/// Drafts a schema for the columns that public tables have, as the dictionary describes them.
///
/// The dictionary is widened where the tables show more: unknown codes are added (a code that differs only
/// in leading zeros replaces the dictionary's), outer bins are widened, missing values allowed. Columns that
/// the dictionary does not describe are drafted from the tables.
///
/// # Errors
/// As [`draft_from_dictionary`] and [`draft_from_public`].
pub fn draft(dictionary: &Path, tables: &[&Path]) -> Result<Schema> {
    let described = dictionary::read(dictionary)?;
    let by_name: HashMap<&str, &SchemaColumn> =
        described.iter().map(|column| (column.name.as_str(), column)).collect();
    let columns =
        observe(tables)?.into_iter().map(|observed| match by_name.get(observed.name.as_str()) {
            Some(column) => widened((*column).clone(), observed),
            None => observed.into_column(),
        });
    of(dictionary, columns.collect())
}

/// The schema of some columns; errors name the file that they come from.
fn of(file: &Path, columns: Vec<SchemaColumn>) -> Result<Schema> {
    let file = file.display().to_string();
    Schema::new("", columns).map_err(|error| error.in_file(&file))
}

/// A column of a dictionary, extended to accept the observed values.
fn widened(mut column: SchemaColumn, observed: Observed) -> SchemaColumn {
    if column.role != Role::Attribute {
        return column;
    }
    column.na |= observed.missing;
    match column.kind.take() {
        Some(Kind::Categorical { mut codes, mut labels, other }) => {
            let mut unpadded = false;
            for text in observed.texts() {
                if codes.iter().any(|code| code == text) {
                    continue;
                }
                let padded = codes.iter().position(|code| bare(code) == bare(text));
                unpadded |= padded.is_some_and(|position| codes[position].len() > text.len());
                if let Some(position) = padded {
                    codes[position] = text.to_string();
                } else {
                    codes.push(text.to_string());
                    if let Some(labels) = &mut labels {
                        labels.push(format!("{text} (in the public rows, not in the dictionary)"));
                    }
                }
            }
            // A table that drops the leading zeros of some codes also drops those of codes that it does not show.
            let padded = |text: &str| text.len() > 1 && text.starts_with('0');
            if unpadded && !observed.texts().into_iter().any(padded) {
                let stripped: Vec<String> = codes.iter().map(|code| bare(code)).collect();
                let distinct: BTreeSet<&String> = stripped.iter().collect();
                if distinct.len() == codes.len() {
                    codes = stripped;
                }
            }
            column.kind = Some(Kind::Categorical { codes, labels, other });
            column
        }
        Some(Kind::Numeric(bins)) => match observed.range() {
            // Texts among the numbers: the rows decide.
            None => observed.into_column(),
            Some((low, high)) => {
                let mut edges = bins.edges().to_vec();
                if let Some(first) = edges.first_mut().filter(|first| low < **first) {
                    *first = low.floor();
                }
                if let Some(last) = edges.last_mut().filter(|last| high >= **last) {
                    *last = high.floor() + 1.0;
                }
                let whole = Some(bins.is_integer() && observed.whole());
                let bins = Bins::new(edges, whole, &column.name).unwrap_or(bins);
                column.kind = Some(Kind::Numeric(bins));
                column
            }
        },
        kind => SchemaColumn { kind, ..column },
    }
}

/// A code without its leading zeros; `0` for zeros alone.
fn bare(code: &str) -> String {
    match code.trim_start_matches('0') {
        "" if !code.is_empty() => "0".into(),
        rest => rest.into(),
    }
}

/// Whether a column is a weight or a replicate of one, by its name: `PWGTP`, `WGTP`, `PWGTP17`.
fn is_weight(name: &str) -> bool {
    name.trim_end_matches(|c: char| c.is_ascii_digit()).ends_with("WGTP")
}

#[cfg(test)]
#[path = "../../tests/unit/data_draft.rs"]
mod tests;
