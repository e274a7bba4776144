//! Units of privacy with several records each, such as households.

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

use crate::data::Dataset;
use crate::data::csv::Reading;
use crate::data::raw_table::RawTable;
use crate::domain::Schema;
use crate::error::{Error, Result};

/// The column that names the unit of each record, and how many records of a unit count: the first ones in the file.
/// Further records are dropped while reading, so nothing is ever computed from them.
///
/// With this limit, adding or removing one unit changes at most that many records. The number of dropped records is
/// private.
///
/// ```
/// use jointly::data::Units;
/// assert!(Units::new("SERIALNO", 4).is_ok() && Units::new("SERIALNO", 0).is_err());
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Units {
    column: String,
    most: u32,
}

impl Units {
    /// `column`: its name in the header; it must not be an attribute. `most`: records of a unit, at least 1.
    ///
    /// # Errors
    /// No record.
    pub fn new(column: impl Into<String>, most: u32) -> Result<Self> {
        if most == 0 {
            return Err(Error::invalid_parameter("max records", most, "1 to 32"));
        }
        Ok(Self { column: column.into(), most })
    }

    /// Name of the column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// Refuses a column that is an attribute.
    pub(super) fn check(&self, schema: &Schema) -> Result<()> {
        if schema.attributes().all(|attribute| attribute.name != self.column) {
            return Ok(());
        }
        Err(Error::invalid_specification(
            format!("unit column '{}'", self.column),
            "an attribute of the schema",
            "a column that is none: it names units and is not published",
        ))
    }

    /// Records of a unit that count, at most.
    pub fn most(&self) -> u32 {
        self.most
    }
}

/// Texts that stand for a missing name, in any case. All records that have one would count as one unit.
const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "null", "none", "?", ".", "-"];

/// How many records of each unit have been read.
pub(super) struct UnitCounter<'u> {
    units: &'u Units,
    na_token: &'u str,
    position: usize,
    seen: HashMap<Box<[u8]>, u32>,
}

impl<'u> UnitCounter<'u> {
    /// Finds the column.
    ///
    /// # Errors
    /// A header that does not have it exactly once.
    pub(super) fn new(
        units: &'u Units,
        na_token: &'u str,
        table: &RawTable<impl Read>,
    ) -> Result<Self> {
        let named = Some(&units.column).filter(|name| !name.is_empty());
        let position = named.and_then(|name| table.position(name)).ok_or_else(|| {
            table.header_error(
                format!("a header without a column '{}' ({})", units.column, table.names()),
                "the column that names the unit of each record",
            )
        })?;
        Ok(Self { units, na_token, position, seen: HashMap::new() })
    }

    /// Whether the next record counts.
    ///
    /// # Errors
    /// A record without a unit.
    pub(super) fn counts(
        &mut self,
        table: &RawTable<impl Read>,
        record: &ByteRecord,
    ) -> Result<bool> {
        let unit = record.get(self.position).unwrap_or_default();
        if self.is_missing(unit) {
            let expected = "the unit that the record belongs to, not a missing value".to_owned();
            return Err(table.cell_error(record, &self.units.column, unit, expected));
        }
        if let Some(records) = self.seen.get_mut(unit) {
            let is_within = *records < self.units.most;
            *records += u32::from(is_within);
            return Ok(is_within);
        }
        self.seen.insert(unit.into(), 1);
        Ok(true)
    }

    fn is_missing(&self, unit: &[u8]) -> bool {
        let name = unit.trim_ascii();
        name == self.na_token.as_bytes()
            || MISSING.iter().any(|text| name.eq_ignore_ascii_case(text.as_bytes()))
    }
}

/// Reads a CSV file, plain or gzip, in which only the first records of each unit count; otherwise as
/// [`read_csv`](crate::data::read_csv).
///
/// Memory holds the codes and, while reading, the units' names.
///
/// # Errors
/// As [`read_csv`](crate::data::read_csv); a unit column that is an attribute of the schema, that the header lacks or
/// repeats, or that is empty or missing (`NA`, `?`, the schema's mark) in some record. A table without records is none:
/// whether there are any is private.
pub fn read_units_csv(path: &Path, schema: &Schema, units: &Units) -> Result<Dataset> {
    units.check(schema)?;
    super::csv::read(super::csv::of_file(path, schema)?, schema, Reading::units(units))
}

/// Reads such a table from any source of bytes; `name` stands for the file in errors.
///
/// ```
/// use jointly::data::{Units, read_units_csv_from};
/// use jointly::domain::Schema;
/// let schema = Schema::from_json(r#"{"sex": 2}"#, "domain.json")?;
/// let people = b"home,sex\nA,0\nB,1\nA,1\nA,1\n";
/// let data = read_units_csv_from(&people[..], "t.csv", &schema, &Units::new("home", 2)?)?;
/// assert_eq!(data.records(), 3);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// As [`read_units_csv`].
pub fn read_units_csv_from(
    source: impl Read,
    name: &str,
    schema: &Schema,
    units: &Units,
) -> Result<Dataset> {
    units.check(schema)?;
    let table = RawTable::open(source, name, schema.table())?;
    super::csv::read(table, schema, Reading::units(units))
}

#[cfg(test)]
#[path = "../../tests/unit/data_units.rs"]
mod tests;
