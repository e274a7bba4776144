//! Units of privacy with several records each, such as households.

mod order;

use std::collections::HashMap;
use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

use crate::data::csv::Reading;
use crate::data::raw_table::RawTable;
use crate::data::{Column, Dataset, Members};
use crate::domain::{Bins, Kind, Schema, SchemaColumn, UnitColumns};
use crate::error::{Error, Result};
use crate::privacy::{Keep, Units};
pub(super) use order::RecordOrder;

/// What units and a schema say of one another.
pub(crate) trait UnitsOfSchema {
    /// The schema of the records that are read: where rows stay together, it has the number of records as its last
    /// attribute; where a unit is one record, it has the columns of the unit, that number, and the columns of each member.
    ///
    /// # Errors
    /// A unit column that is an attribute, a column of [`Units::agree`] or of members that is none, or a column that is named
    /// as an added attribute.
    fn widened(&self, schema: &Schema) -> Result<Schema>;

    /// As [`widened`](Self::widened), for a schema that may lack columns of [`Units::agree`].
    fn with_size(&self, schema: &Schema) -> Result<Schema>;

    /// Refuses a column that is an attribute.
    fn check(&self, schema: &Schema) -> Result<()>;

    /// Refuses units of which other records than the first ones count, where no codes are there to order them by.
    fn check_first(&self) -> Result<()>;
}

impl UnitsOfSchema for Units {
    fn widened(&self, schema: &Schema) -> Result<Schema> {
        self.check(schema)?;
        let Some(agree) = self.agree() else { return Ok(schema.clone()) };
        let is_unknown = |name: &&String| schema.domain().position(name).is_none();
        if let Some(unknown) = agree.iter().find(is_unknown) {
            return Err(schema.domain().unknown(unknown, "the unit columns").into());
        }
        let mut of_members = self.members().into_iter().flat_map(Members::columns);
        if let Some(unknown) = of_members.find(is_unknown) {
            return Err(schema.domain().unknown(unknown, "the columns of members").into());
        }
        let has_groups = |column: &&SchemaColumn| matches!(&column.kind, Some(Kind::Categorical { groups, .. }) if !groups.is_empty());
        let mut shared = schema.attributes().filter(|column| agree.contains(&column.name));
        if let Some(column) = shared.find(has_groups) {
            return Err(Error::invalid_specification(
                format!("the unit columns, '{}'", column.name),
                "codes that stand for several values, drawn row by row",
                "a column without groups, on which the rows of a unit can agree",
            ));
        }
        self.with_size(schema)
    }

    fn with_size(&self, schema: &Schema) -> Result<Schema> {
        let edges = (1..=self.most().saturating_add(1)).map(f64::from).collect();
        let bins = Bins::new(edges, Some(true), "the records of a unit")?;
        let mut column = SchemaColumn::attribute(self.size_name(), Kind::Numeric(bins));
        let (unit, most) = (self.column(), self.most());
        column.description =
            Some(format!("Records with the same {unit}, of which at most {most} are counted"));
        let Some(members) = self.members() else { return schema.with_attribute(column) };
        schema.of_units(&UnitColumns {
            shared: self.agree().unwrap_or_default(),
            members: members.columns(),
            size: column,
            most,
        })
    }

    fn check(&self, schema: &Schema) -> Result<()> {
        if schema.attributes().all(|attribute| attribute.name != self.column()) {
            return Ok(());
        }
        Err(Error::invalid_specification(
            format!("unit column '{}'", self.column()),
            "an attribute of the schema",
            "a column that is none: it names units and is not published",
        ))
    }

    fn check_first(&self) -> Result<()> {
        match self.keep() {
            Keep::First => Ok(()),
            Keep::Hash => Err(Error::invalid_parameter(
                "records of a unit that count",
                "hash",
                "first: only the attributes of a schema are hashed",
            )),
        }
    }
}

/// Texts that stand for a missing name, in any case. All records that have one would count as one unit.
const MISSING: [&str; 9] = ["", "na", "n/a", "nan", "null", "none", "?", ".", "-"];

/// What the cell with the name of a unit should be.
pub(super) const NAMED: &str = "the unit that the record belongs to, not a missing value";

/// How many records of each unit have been read.
pub(super) struct UnitCounter<'u> {
    units: &'u Units,
    na_token: &'u str,
    position: usize,
    /// The position of each unit in `records`, by its name.
    seen: HashMap<Box<[u8]>, u32>,
    /// How many records of each unit count.
    records: Vec<u32>,
    /// The unit of each record that counts, by position.
    of_record: Vec<u32>,
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
        let named = Some(units.column()).filter(|name| !name.is_empty());
        let position = named.and_then(|name| table.position(name)).ok_or_else(|| {
            table.header_error(
                format!("a header without a column '{}' ({})", units.column(), table.names()),
                "the column that names the unit of each record",
            )
        })?;
        let (records, of_record) = (Vec::new(), Vec::new());
        Ok(Self { units, na_token, position, seen: HashMap::new(), records, of_record })
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
        if is_missing(unit, self.na_token) {
            return Err(table.cell_error(record, self.units.column(), unit, NAMED.to_owned()));
        }
        let place = if let Some(place) = self.seen.get(unit) {
            *place
        } else {
            let place = u32::try_from(self.records.len()).unwrap_or(u32::MAX);
            self.seen.insert(unit.into(), place);
            self.records.push(0);
            place
        };
        let records = &mut self.records[place as usize];
        if *records == self.units.most() && self.units.keep() == Keep::First {
            return Ok(false);
        }
        *records = records.saturating_add(1);
        self.of_record.push(place);
        Ok(true)
    }

    /// The records that count, of all that were read, where that is chosen by hash.
    pub(super) fn kept_by_hash(&mut self, all: Dataset) -> Dataset {
        let most = self.units.most();
        let mut rows: HashMap<u32, Vec<u32>> = HashMap::new();
        for (row, unit) in (0..).zip(&self.of_record) {
            if self.records[*unit as usize] > most {
                rows.entry(*unit).or_default().push(row);
            }
        }
        if rows.is_empty() {
            return all;
        }
        let order = RecordOrder::new(all.domain(), all.domain().len());
        let mut counts = vec![true; all.records()];
        for (name, unit) in &self.seen {
            let Some(mut rows) = rows.remove(unit) else { continue };
            rows.sort_by_cached_key(|row| order.key(name, &all.row(*row as usize)));
            rows.iter().skip(most as usize).for_each(|row| counts[*row as usize] = false);
            self.records[*unit as usize] = most;
        }
        let kept = |row: &u32| counts[*row as usize];
        let positions: Vec<u32> = (0..).take(counts.len()).filter(kept).collect();
        self.of_record = positions.iter().map(|row| self.of_record[*row as usize]).collect();
        all.take(&positions)
    }

    /// The unit of each record that counts: numbers from 0, in the order of the units' first records.
    pub(super) fn numbers(self) -> Vec<u32> {
        self.of_record
    }

    /// The column of the number of records of each record's unit, where rows stay together.
    pub(super) fn sizes(&self) -> Option<Result<Column>> {
        self.units.agree()?;
        let sizes = self.of_record.iter().map(|unit| self.records[*unit as usize] - 1);
        Some(Column::from_codes(sizes, self.units.most() as usize).map_err(Error::from))
    }
}

/// Whether a cell is no name of a unit.
pub(super) fn is_missing(unit: &[u8], na_token: &str) -> bool {
    let name = unit.trim_ascii();
    name == na_token.as_bytes()
        || MISSING.iter().any(|text| name.eq_ignore_ascii_case(text.as_bytes()))
}

/// Reads a CSV file, plain or gzip, in which only some records of each unit count, as [`Keep`] says; otherwise as
/// [`read_csv`](crate::data::read_csv).
///
/// Memory holds the codes and, while reading, the units' names; with [`Keep::Hash`], the codes of all records.
///
/// # Errors
/// As [`read_csv`](crate::data::read_csv); a unit column that is an attribute of the schema, that the header lacks or
/// repeats, or that is empty or missing (`NA`, `?`, the schema's mark) in some record. A table without records is none:
/// whether there are any is private.
pub fn read_units_csv(path: &Path, schema: &Schema, units: &Units) -> Result<Dataset> {
    units.check(schema)?;
    super::csv::read(super::csv::of_file(path, schema)?, schema, Reading::units(units))
}

/// Reads a public table of which some records of each unit count, as [`read_units_csv`] does. A table without the unit
/// column is read as [`read_public_csv`](crate::data::read_public_csv) reads it: it lacks the numbers of records of units.
///
/// # Errors
/// As [`read_public_csv`](crate::data::read_public_csv), and a record without a unit.
pub fn read_public_units_csv(path: &Path, schema: &Schema, units: &Units) -> Result<Dataset> {
    units.check(schema)?;
    super::csv::read(super::csv::of_file(path, schema)?, schema, Reading::public_units(units))
}

/// Reads a table of units from any source of bytes; `name` stands for the file in errors.
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
mod tests;
