//! Reading a table of text, plain or gzip, cell by cell into codes.

use std::io::Read;
use std::path::Path;

use csv::ByteRecord;

#[cfg(feature = "arrow")]
use crate::data::arrow::ArrayCoder;
use crate::data::blocks::{RowBlocks, empty_columns};
use crate::data::encoder::{Encoder, expectation};
use crate::data::members;
use crate::data::places::pair_of;
use crate::data::raw_table::{Opened, RawTable, quoted};
use crate::data::units::{UnitCounter, UnitsOfSchema};
use crate::data::{Dataset, Keep, Units};
use crate::domain::{Clique, Domain, Schema, StructuralZero, TableFormat};
use crate::error::{Error, Result};
use crate::privacy::PrivacyUnit;
use jointly_pgm::data::count::BLOCK;

/// How to treat attributes of the schema that a table lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AbsentColumns {
    /// They are an error: the table must have every attribute.
    Refuse,
    /// They are left out of the domain, as long as one attribute remains.
    LeaveOut,
}

/// Reads a CSV file, plain or gzip (detected by content), under a schema.
///
/// The header names the columns, in any order; columns that are not attributes are ignored. Records are coded while
/// they are read, so memory holds only codes.
///
/// # Errors
/// The file cannot be read; a header that is empty, repeats an attribute or lacks one; no record; a row whose length
/// differs from the header's; a cell that does not fit its column; a record that the schema forbids. They name file,
/// line and column.
pub fn read_csv(path: &Path, schema: &Schema) -> Result<Dataset> {
    read(of_file(path, schema)?, schema, Reading::whole())
}

/// Reads a table that may have no records; otherwise as [`read_csv`]. For private tables whose number of records is
/// private too: an error would tell an empty table from one of one record.
///
/// # Errors
/// As [`read_csv`], except for the number of records.
pub fn read_csv_or_empty(path: &Path, schema: &Schema) -> Result<Dataset> {
    read(of_file(path, schema)?, schema, Reading::or_empty())
}

/// Reads a public table, which may lack attributes of the schema; otherwise as [`read_csv`].
///
/// # Errors
/// As [`read_csv`], and a table that has no attribute of the schema at all.
pub fn read_public_csv(path: &Path, schema: &Schema) -> Result<Dataset> {
    read(of_file(path, schema)?, schema, Reading::public())
}

/// Reads a table from any source of bytes; `name` stands for the file in errors.
///
/// ```
/// use jointly::data::{AbsentColumns, read_csv_from};
/// use jointly::domain::Schema;
/// let schema = Schema::from_json(r#"{"sex": 2, "age": 85}"#, "domain.json")?;
/// let data = read_csv_from(&b"age,sex\n30,1\n"[..], "t.csv", &schema, AbsentColumns::Refuse)?;
/// assert_eq!(data.row(0), [1, 30]);
/// # Ok::<(), jointly::Error>(())
/// ```
///
/// # Errors
/// As [`read_csv`].
pub fn read_csv_from(
    source: impl Read,
    name: &str,
    schema: &Schema,
    absent: AbsentColumns,
) -> Result<Dataset> {
    let table = RawTable::open(source, name, schema.table())?;
    read(table, schema, Reading { absent, ..Reading::whole() })
}

/// Opens a file of text or Parquet that has a header, even where tables of records have none.
pub(super) fn of_file_with_header(path: &Path, schema: &Schema) -> Result<RawTable<Opened>> {
    let format = TableFormat { names: None, ..schema.table().clone() };
    RawTable::of_file(path, &format, schema.na_token())
}

/// Opens a file of text or Parquet, or two: `persons.csv+households.csv` are rows with the columns of their units.
pub(super) fn of_file(path: &Path, schema: &Schema) -> Result<RawTable<Opened>> {
    let open = |path: &Path| RawTable::of_file(path, schema.table(), schema.na_token());
    match pair_of(path) {
        Some((rows, units)) => open(&rows)?.joined(open(&units)?, schema),
        None => open(path),
    }
}

/// What to read of a table.
#[derive(Clone, Copy)]
pub(super) struct Reading<'u> {
    absent: AbsentColumns,
    /// Limits the records of each unit to those that count.
    units: Option<&'u Units>,
    least_records: u64,
}

impl<'u> Reading<'u> {
    /// A private table of at least one record.
    pub(super) fn whole() -> Self {
        Self { absent: AbsentColumns::Refuse, units: None, least_records: 1 }
    }

    /// A private table whose number of records is private.
    pub(super) fn or_empty() -> Self {
        Self { least_records: 0, ..Self::whole() }
    }

    /// A whole table, with the units of its records if they are asked for.
    pub(super) fn measured(units: Option<&'u Units>) -> Self {
        Self { units, ..Self::whole() }
    }

    /// What of a private table is kept: the records that count, at least one where their number is public.
    pub(super) fn private(unit: &'u PrivacyUnit) -> Self {
        match unit.units() {
            Some(units) => Self::units(units),
            None if unit.relation().has_public_total() => Self::whole(),
            None => Self::or_empty(),
        }
    }

    /// The units whose records are counted.
    pub(super) fn units_of(&self) -> Option<&'u Units> {
        self.units
    }

    /// The same table, with all rows of units.
    pub(super) fn of_rows<'r>(&self, units: &'r Units) -> Reading<'r> {
        Reading { absent: self.absent, units: Some(units), least_records: self.least_records }
    }

    /// A public table.
    pub(super) fn public() -> Self {
        Self { absent: AbsentColumns::LeaveOut, ..Self::whole() }
    }

    /// A private table of units, which may be empty.
    pub(super) fn units(units: &'u Units) -> Self {
        Self { absent: AbsentColumns::Refuse, units: Some(units), least_records: 0 }
    }

    /// A public table, of units if it has their column.
    pub(super) fn public_units(units: &'u Units) -> Self {
        Self { units: Some(units), ..Self::public() }
    }
}

/// Reads a table.
pub(super) fn read(
    table: RawTable<impl Read>,
    schema: &Schema,
    reading: Reading<'_>,
) -> Result<Dataset> {
    if let Some(units) = reading.units {
        return match units.members() {
            Some(members) => members::read(table, schema, reading, (units, members)),
            None => Ok(read_keeping(table, schema, reading, &mut |_, _| Ok(()))?.0),
        };
    }
    let mut blocks = RowBlocks::new(table, schema, reading.absent)?;
    let mut columns = blocks.empty();
    let mut records = 0_u64;
    loop {
        let more = blocks.append(&mut columns, BLOCK, |row| Err(row.error()))?;
        records += more as u64;
        if records > u64::from(u32::MAX) {
            return Err(blocks.too_many());
        }
        if more == 0 {
            break;
        }
    }
    if records < reading.least_records {
        return Err(blocks.without_records());
    }
    Ok(Dataset::new(blocks.domain().clone(), columns)?)
}

/// Reads a table, and passes each row that is kept, with its table, to a function. With the records come the numbers of
/// their units, none if there are no units. Where records are kept by hash, the function sees all of them.
pub(super) fn read_keeping<R: Read>(
    mut table: RawTable<R>,
    schema: &Schema,
    reading: Reading<'_>,
    keep: &mut impl FnMut(&ByteRecord, &RawTable<R>) -> Result<()>,
) -> Result<(Dataset, Vec<u32>)> {
    let Reading { absent, units, least_records } = reading;
    let layout = Layout::new(&table, schema, absent)?;
    let is_there = |units: &&Units| {
        absent == AbsentColumns::Refuse || table.position(units.column()).is_some()
    };
    let units = units.filter(is_there);
    let mut columns = empty_columns(&layout.domain);
    let counter = |units| UnitCounter::new(units, schema.na_token(), &table);
    let mut counter = units.map(counter).transpose()?;
    let (mut record, mut codes) = (ByteRecord::new(), Vec::new());
    let mut records = 0_u64;
    while table.next(&mut record)? {
        if let Some(counter) = &mut counter
            && !counter.counts(&table, &record)?
        {
            continue;
        }
        if let Some(misfit) = layout.encode(&record, &mut codes) {
            return Err(layout.refuse(misfit, schema, &table, &record));
        }
        codes.iter().zip(&mut columns).for_each(|(code, column)| column.push(*code));
        keep(&record, &table)?;
        records += 1;
        if records > u64::from(u32::MAX) {
            return Err(Error::too_large(
                format!("table {}", table.name),
                None,
                f64::from(u32::MAX),
                "records",
            ));
        }
    }
    if records < least_records {
        return Err(without_records(&table));
    }
    let mut all = Dataset::new(layout.domain, columns)?;
    if let Some(counter) = &mut counter
        && units.is_some_and(|units| units.keep() == Keep::Hash)
    {
        all = counter.kept_by_hash(all);
    }
    if let (Some(units), Some(sizes)) = (units, counter.as_ref().and_then(UnitCounter::sizes)) {
        let columns = all.columns().iter().cloned().chain([sizes?]).collect();
        all = Dataset::new(units.with_size(&layout.schema)?.domain(), columns)?;
    }
    let numbers = counter.map_or_else(Vec::new, UnitCounter::numbers);
    Ok((all, numbers))
}

/// The error of a table that must have records.
pub(super) fn without_records(table: &RawTable<impl Read>) -> Error {
    table.header_error("a header without records".into(), "at least one record")
}

/// Positions of the attributes in the rows, and how they are coded.
pub(super) struct Layout {
    /// The schema of the attributes that are present.
    schema: Schema,
    domain: Domain,
    fields: Vec<Field>,
}

struct Field {
    position: usize,
    name: String,
    encoder: Encoder,
}

/// What of a row does not fit the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The cell of an attribute.
    Cell(usize),
    /// The combination that one of the domain's structural zeros forbids.
    Combination(usize),
}

impl Misfit {
    /// What does not fit, shortened, of a row with these cells.
    #[cold]
    pub(super) fn found<'r>(
        self,
        domain: &Domain,
        cell: impl Fn(usize) -> Option<&'r [u8]>,
    ) -> String {
        let cell = |attribute| quoted(cell(attribute).unwrap_or_default());
        let zero = match self {
            Self::Cell(attribute) => return cell(attribute),
            Self::Combination(zero) => domain.structural_zeros().get(zero),
        };
        let named = |a: usize| format!("{} = {}", domain.name(a), cell(a));
        let clique = zero.map(StructuralZero::clique);
        let found: Vec<String> = clique.into_iter().flat_map(Clique::iter).map(named).collect();
        found.join(" with ")
    }
}

/// The combination that a row must not have, if it has one.
pub(crate) fn is_forbidden(domain: &Domain, code: impl Fn(usize) -> u32 + Copy) -> Option<Misfit> {
    let zeros = domain.structural_zeros();
    zeros.iter().position(|zero| zero.forbids(domain, code)).map(Misfit::Combination)
}

impl Layout {
    pub(super) fn new(
        table: &RawTable<impl Read>,
        schema: &Schema,
        absent: AbsentColumns,
    ) -> Result<Self> {
        let mut fields = Vec::new();
        let mut names = Vec::new();
        for column in schema.attributes() {
            let Some(position) = table.position(&column.name) else {
                if absent == AbsentColumns::LeaveOut {
                    continue;
                }
                return Err(table.lacks(&column.name));
            };
            if let Some(encoder) = Encoder::new(column, schema) {
                let encoder = if table.has_rows() { encoder.of_values() } else { encoder };
                fields.push(Field { position, name: column.name.clone(), encoder });
                names.push(column.name.as_str());
            }
        }
        if fields.is_empty() {
            return Err(table.header_error(
                format!("no attribute of the schema among {}", table.names()),
                "at least one",
            ));
        }
        // Includes the rules on the attributes that are present.
        let schema = schema.select(&names)?;
        Ok(Self { domain: schema.domain(), schema, fields })
    }

    /// The attributes that are present.
    pub(super) fn domain(&self) -> &Domain {
        &self.domain
    }

    /// The codes of a row, unless it does not fit.
    pub(super) fn encode(&self, record: &ByteRecord, codes: &mut Vec<u32>) -> Option<Misfit> {
        codes.clear();
        for (attribute, field) in self.fields.iter().enumerate() {
            let cell = record.get(field.position).unwrap_or_default();
            let Some(code) = field.encoder.encode(cell) else {
                return Some(Misfit::Cell(attribute));
            };
            codes.push(code);
        }
        is_forbidden(&self.domain, |a| codes.get(a).copied().unwrap_or_default())
    }

    /// The position of each attribute in the rows.
    #[cfg(feature = "arrow")]
    pub(super) fn positions(&self) -> impl Iterator<Item = usize> {
        self.fields.iter().map(|field| field.position)
    }

    /// How the values of each attribute are coded in record batches. `schema`: the whole one.
    #[cfg(feature = "arrow")]
    pub(super) fn array_coder(&self, schema: &Schema) -> ArrayCoder {
        ArrayCoder::new(&self.schema, schema)
    }

    /// What was found that does not fit, shortened.
    #[cold]
    pub(super) fn found(&self, misfit: Misfit, record: &ByteRecord) -> String {
        let cell = |a: usize| self.fields.get(a).and_then(|field| record.get(field.position));
        misfit.found(&self.domain, cell)
    }

    /// The error for a row that does not fit.
    #[cold]
    pub(super) fn refuse(
        &self,
        misfit: Misfit,
        schema: &Schema,
        table: &RawTable<impl Read>,
        record: &ByteRecord,
    ) -> Error {
        let Misfit::Cell(attribute) = misfit else {
            let expected = "no combination that the schema forbids";
            return table.record_error(record, self.found(misfit, record), expected);
        };
        let field = &self.fields[attribute];
        let expected = schema
            .column(&field.name)
            .map_or_else(String::new, |column| expectation(column, schema.na_token()));
        let cell = record.get(field.position).unwrap_or_default();
        table.cell_error(record, &field.name, cell, expected)
    }
}
