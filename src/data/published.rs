//! Published tables of counts, one in each file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use csv::ByteRecord;

use crate::data::csv::of_file_with_header;
use crate::data::encoder::{Encoder, expectation};
use crate::data::raw_table::text;
use crate::domain::{Clique, Kind, Schema, SchemaColumn};
use crate::error::Result;
use crate::table::CliqueLayout;

/// Counts of all combinations of some attributes, as an office publishes them.
#[derive(Clone, Debug, PartialEq)]
pub struct PublishedTable {
    /// The attributes.
    pub clique: Clique,
    /// The least that each count may be, row-major over the clique's sorted attributes.
    pub least: Vec<f64>,
    /// The most that each count may be: the same, in a table of exact counts.
    pub most: Vec<f64>,
    /// The number of combinations that are not listed.
    pub unlisted: usize,
}

/// How the counts of a published table differ from the true ones.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Protection {
    /// They do not. A combination that is not listed has none.
    None,
    /// By no more than this: half of the base, if they are rounded to the nearest multiple of a base, and the base less 1, if they
    /// are rounded up or down at random. A combination that is not listed has at most this many. Cells such as `<10` are
    /// suppressed.
    Rounded(f64),
    /// Only in cells without a number (empty, `*`, `<10`, `(D)`), and in combinations that are not listed, which have fewer than
    /// this.
    Suppressed(f64),
}

impl Protection {
    /// The least and the most records of a cell; `None` for what is no count.
    fn ends(self, cell: &str) -> Option<(f64, f64)> {
        let number = cell.parse::<f64>().ok();
        let number = match number {
            Some(number) if number.is_finite() && number >= 0.0 => number,
            Some(_) => return None,
            None if self == Self::None => return None,
            None => return Some((0.0, self.most_suppressed(cell)?)),
        };
        let by = if let Self::Rounded(by) = self { by } else { 0.0 };
        Some(((number - by).max(0.0), number + by))
    }

    /// The most records of a cell without a number: one less than `<10` says, or than the threshold.
    fn most_suppressed(self, cell: &str) -> Option<f64> {
        let stated = cell.strip_prefix('<').map(|number| number.trim().parse::<f64>());
        match (self, stated) {
            (_, Some(Ok(below))) if below >= 1.0 && below.is_finite() => Some(below - 1.0),
            (Self::Suppressed(below), None) => Some(below - 1.0),
            _ => None,
        }
    }

    /// The most records of a combination that is not listed.
    fn most_unlisted(self) -> f64 {
        match self {
            Self::None => 0.0,
            Self::Rounded(by) => by,
            Self::Suppressed(below) => below - 1.0,
        }
    }

    fn expected(self) -> &'static str {
        match self {
            Self::None => "a count of at least 0",
            Self::Rounded(_) => "a count of at least 0, or <N",
            Self::Suppressed(_) => "a count of at least 0, or a mark that it is suppressed",
        }
    }
}

/// Reads a published table of counts: CSV, plain or gzip, or Parquet.
///
/// The header names attributes of the schema, in any order, and one more column, of the counts. Each row has a value of
/// each attribute: as in the records, by its label, or as the schema names a bin (`18 to 24`). Rows of numbers and dates
/// that are in the same bin add up.
///
/// # Errors
/// A file that cannot be read; a header without an attribute, or with other than one column besides; a value that the
/// schema does not have; a count that is no number or negative; a row twice; more cells than memory can hold. They name file,
/// line and column.
pub fn read_published(
    path: &Path,
    schema: &Schema,
    protection: Protection,
) -> Result<PublishedTable> {
    let mut table = of_file_with_header(path, schema)?;
    let domain = schema.domain();
    let names: Vec<&str> = table.header.iter().map(|name| text(name).unwrap_or_default()).collect();
    let others: Vec<usize> =
        (0..names.len()).filter(|at| domain.position(names[*at]).is_none()).collect();
    let ([counts], true) = (&*others, names.len() > 1) else {
        let found = format!("{} columns that are no attribute ({})", others.len(), table.names());
        let expected = "attributes of the schema, and one column with counts";
        return Err(table.header_error(found, expected));
    };
    let (counts, counted) = (*counts, names[*counts].to_owned());
    let columns = schema.attributes().filter_map(|column| {
        let at = names.iter().position(|name| *name == column.name)?;
        Some((at, Values::new(column, schema)?))
    });
    let columns: Vec<(usize, Values<'_>)> = columns.collect();
    // In the order of the schema, which is that of the clique.
    let clique =
        domain.clique(&columns.iter().map(|(_, v)| &*v.column.name).collect::<Vec<_>>())?;
    let layout = CliqueLayout::new(&domain, [clique.clone()])?;
    let shape = layout.shape(0);

    let mut least = vec![0.0; layout.cells()];
    let mut most = least.clone();
    let mut listed = vec![false; least.len()];
    let mut seen = HashSet::new();
    let mut record = ByteRecord::new();
    while table.next(&mut record)? {
        let mut cell = 0;
        for ((at, values), size) in columns.iter().zip(shape) {
            let found = record.get(*at).unwrap_or_default();
            let code = values.code(found).ok_or_else(|| {
                table.cell_error(&record, &values.column.name, found, values.expected())
            })?;
            cell = cell * size + code as usize;
        }
        let count = record.get(counts).unwrap_or_default();
        let ends = text(count).and_then(|count| protection.ends(count.trim()));
        let Some((lower, upper)) = ends else {
            let expected = protection.expected().to_owned();
            return Err(table.cell_error(&record, &counted, count, expected));
        };
        let values: Vec<Vec<u8>> =
            columns.iter().map(|(at, _)| record.get(*at).unwrap_or_default().to_vec()).collect();
        if !seen.insert(values) {
            let expected = "each combination of values once";
            return Err(table.record_error(&record, "a combination again".into(), expected));
        }
        least[cell] += lower;
        most[cell] += upper;
        listed[cell] = true;
    }
    let mut unlisted = 0;
    for (most, _) in most.iter_mut().zip(&listed).filter(|(_, listed)| !**listed) {
        *most = protection.most_unlisted();
        unlisted += 1;
    }
    Ok(PublishedTable { clique, least, most, unlisted })
}

/// The values of one attribute, by their texts.
pub(super) struct Values<'s> {
    pub(super) column: &'s SchemaColumn,
    encoder: Encoder,
    named: HashMap<String, u32>,
    na_token: &'s str,
}

impl<'s> Values<'s> {
    pub(super) fn new(column: &'s SchemaColumn, schema: &'s Schema) -> Option<Self> {
        let encoder = Encoder::new(column, schema)?;
        let mut named = HashMap::new();
        for code in 0..column.cardinality() {
            named.entry(column.value_name(code)).or_insert(code);
        }
        if let Some(Kind::Categorical { codes, labels, .. }) = &column.kind {
            for (code, label) in (0..).zip(labels.iter().flatten()) {
                named.entry(label.clone()).or_insert(code);
            }
            // The texts of records come first.
            named.extend((0..).zip(codes).map(|(code, text)| (text.clone(), code)));
        }
        Some(Self { column, encoder, named, na_token: schema.na_token() })
    }

    /// The code of a cell; `None` for what is no value. A text that is not listed is none, even where records may have others.
    pub(super) fn code(&self, cell: &[u8]) -> Option<u32> {
        let named = text(cell).and_then(|cell| self.named.get(cell.trim())).copied();
        let is_listed = matches!(self.column.kind, Some(Kind::Categorical { .. }));
        let encoded = || {
            let code = self.encoder.encode(cell)?;
            (!is_listed || Some(code) == self.column.na_code()).then_some(code)
        };
        named.or_else(encoded)
    }

    pub(super) fn expected(&self) -> String {
        format!("{}, or the name of a value", expectation(self.column, self.na_token))
    }
}

#[cfg(test)]
mod tests;
