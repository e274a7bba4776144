//! The values of a column that its schema does not list.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use ::csv::ByteRecord;

use crate::data::csv::of_file;
use crate::data::encoder::{Encoder, expectation};
use crate::data::private::RowSource;
use crate::data::raw_table::{RawTable, text};
use crate::data::units::{UnitCounter, UnitsOfSchema};
use crate::domain::{Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::privacy::Units;

/// The texts of a categorical column that are neither listed nor missing, each with its number of records. **Private**: which
/// texts occur is as private as how often.
type Counts = BTreeMap<String, u32>;

/// Counts the values of some columns, of the records that count.
///
/// # Errors
/// A file that cannot be read, a header without one of the columns, a column that has no code `other`, a cell that is no
/// text, a record without a unit.
pub(super) fn read(
    rows: RowSource<'_>,
    schema: &Schema,
    names: &[String],
    units: Option<&Units>,
) -> Result<Vec<Counts>> {
    units.map_or(Ok(()), |units| units.check(schema).and_then(|()| units.check_first()))?;
    match rows {
        RowSource::File(path) => of_table(of_file(path, schema)?, schema, names, units),
        #[cfg(feature = "arrow")]
        RowSource::Memory(table) => of_table(table.raw(schema)?, schema, names, units),
    }
}

fn of_table(
    mut table: RawTable<impl Read>,
    schema: &Schema,
    names: &[String],
    units: Option<&Units>,
) -> Result<Vec<Counts>> {
    let fields: Vec<Field<'_>> =
        names.iter().map(|name| Field::new(name, schema, &table)).collect::<Result<_>>()?;
    let counter = |units| UnitCounter::new(units, schema.na_token(), &table);
    let mut units = units.map(counter).transpose()?;
    // Hashed while reading, as most cells repeat; sorted before anything is made of them.
    let mut counts: Vec<HashMap<Box<[u8]>, u32>> = vec![HashMap::new(); fields.len()];
    let mut record = ByteRecord::new();
    while table.next(&mut record)? {
        if let Some(units) = &mut units
            && !units.counts(&table, &record)?
        {
            continue;
        }
        for (field, counts) in fields.iter().zip(&mut counts) {
            let cell = record.get(field.position).unwrap_or_default();
            if field.listed.encode(cell).is_some() || is_missing(cell, schema) {
                continue;
            }
            if let Some(count) = counts.get_mut(cell) {
                *count = count.saturating_add(1);
            } else if text(cell).is_some() {
                counts.insert(cell.into(), 1);
            } else {
                let expected = expectation(field.column, schema.na_token());
                return Err(table.cell_error(&record, &field.column.name, cell, expected));
            }
        }
    }
    let read = |(cell, count): (Box<[u8]>, u32)| Some((text(&cell)?.to_owned(), count));
    let sorted = |counts: HashMap<_, _>| counts.into_iter().filter_map(read).collect();
    Ok(counts.into_iter().map(sorted).collect())
}

/// A column that is counted.
struct Field<'s> {
    column: &'s SchemaColumn,
    position: usize,
    /// Codes what the schema lists, and missing values.
    listed: Encoder,
}

impl<'s> Field<'s> {
    fn new(name: &str, schema: &'s Schema, table: &RawTable<impl Read>) -> Result<Self> {
        let column = schema.with_other(name)?;
        let position = table.position(name).ok_or_else(|| {
            let found = format!("a header without '{name}' ({})", table.names());
            table.header_error(found, "every column to find categories of")
        })?;
        let mut closed = column.clone();
        if let Some(Kind::Categorical { other, .. }) = &mut closed.kind {
            *other = None;
        }
        let listed = Encoder::new(&closed, schema).ok_or_else(|| {
            Error::invalid_specification(format!("column '{name}'"), "no 'kind'", "'categorical'")
        })?;
        Ok(Self { column, position, listed })
    }
}

/// Whether a cell is a mark of a missing value, also where the column may not be missing: such a text is no category.
fn is_missing(cell: &[u8], schema: &Schema) -> bool {
    let marks = std::iter::once(schema.na_token()).chain(schema.missing().iter().map(|t| &**t));
    cell.trim_ascii().is_empty() || marks.map(str::as_bytes).any(|mark| mark == cell)
}

#[cfg(test)]
mod tests;
