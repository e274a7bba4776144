//! Published tables of counts, one in each file.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use csv::ByteRecord;

use crate::data::csv::of_file;
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
    /// Counts, row-major over the clique's sorted attributes. A combination that is not listed has none.
    pub counts: Vec<f64>,
    /// The number of combinations that are not listed.
    pub unlisted: usize,
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
pub fn read_totals(path: &Path, schema: &Schema) -> Result<PublishedTable> {
    let mut table = of_file(path, schema)?;
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

    let mut sums = vec![0.0; layout.cells()];
    let mut listed = vec![false; sums.len()];
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
        let number = text(count).and_then(|count| count.trim().parse::<f64>().ok());
        let Some(number) = number.filter(|number| number.is_finite() && *number >= 0.0) else {
            let expected = "a count of at least 0".to_owned();
            return Err(table.cell_error(&record, &counted, count, expected));
        };
        let values: Vec<Vec<u8>> =
            columns.iter().map(|(at, _)| record.get(*at).unwrap_or_default().to_vec()).collect();
        if !seen.insert(values) {
            let expected = "each combination of values once";
            return Err(table.record_error(&record, "a combination again".into(), expected));
        }
        sums[cell] += number;
        listed[cell] = true;
    }
    let unlisted = listed.iter().filter(|listed| !**listed).count();
    Ok(PublishedTable { clique, counts: sums, unlisted })
}

/// The values of one attribute, by their texts.
struct Values<'s> {
    column: &'s SchemaColumn,
    encoder: Encoder,
    named: HashMap<String, u32>,
    na_token: &'s str,
}

impl<'s> Values<'s> {
    fn new(column: &'s SchemaColumn, schema: &'s Schema) -> Option<Self> {
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
    fn code(&self, cell: &[u8]) -> Option<u32> {
        let named = text(cell).and_then(|cell| self.named.get(cell.trim())).copied();
        let is_listed = matches!(self.column.kind, Some(Kind::Categorical { .. }));
        let encoded = || {
            let code = self.encoder.encode(cell)?;
            (!is_listed || Some(code) == self.column.na_code()).then_some(code)
        };
        named.or_else(encoded)
    }

    fn expected(&self) -> String {
        format!("{}, or the name of a value", expectation(self.column, self.na_token))
    }
}

#[cfg(test)]
mod tests;
