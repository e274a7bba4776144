//! Tables that have some of the columns of a schema, kept as they are written.

#[cfg(feature = "arrow")]
mod batches;

use std::io::{Read, Write};
use std::path::Path;

use ::csv::ByteRecord;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::csv::{Reading, of_file, read_keeping};
#[cfg(feature = "parquet")]
use crate::data::decode::BinaryForm;
use crate::data::decode::check_form;
use crate::data::nearest;
use crate::data::raw_table::{RawTable, quoted, text};
use crate::data::{Dataset, Labels, write_csv, write_durably};
use crate::domain::{Bins, Encoding, Kind, Outside, Schema};
use crate::error::{CommonError, Error, Result};

/// Rows of which some columns are attributes of a schema, with their codes and their texts.
///
/// ```
/// use jointly::{Schema, data::PartialTable};
/// let schema = Schema::from_json(r#"{"sex": 2, "age": 85}"#, "domain.json")?;
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("people.csv");
/// std::fs::write(&file, "id,sex\nx1,0\nx2,1\n")?;
/// let table = PartialTable::read(&file, &schema, &["id".to_owned()], None)?;
/// assert_eq!(table.known().row(1), [1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PartialTable {
    name: String,
    header: ByteRecord,
    rows: Vec<ByteRecord>,
    /// The line of each row; its number where rows have no lines.
    lines: Vec<u64>,
    has_lines: bool,
    known: Dataset,
}

impl PartialTable {
    /// Reads a table, CSV or Parquet. `keep`: names of columns that it may have beyond those of the schema, such as its own
    /// identifiers. Columns without a name are kept too. `unit`: the name of one more, which it may have or not.
    ///
    /// # Errors
    /// As [`read_public_csv`](crate::data::read_public_csv): it has at least one attribute of the schema, and one row. A
    /// column that neither the schema nor `keep` has; a name in `keep` that the table lacks; a number or a date beyond the
    /// bins, even where the schema counts those in the outer bins: the row would keep a value that no record has.
    pub fn read(path: &Path, schema: &Schema, keep: &[String], unit: Option<&str>) -> Result<Self> {
        Self::of(of_file(path, schema)?, schema, keep, unit)
    }

    fn of<R: Read>(
        table: RawTable<R>,
        schema: &Schema,
        keep: &[String],
        unit: Option<&str>,
    ) -> Result<Self> {
        check_columns(&table, schema, keep, unit)?;
        let schema = &without_clamps(schema)?;
        let (name, header, has_lines) =
            (table.name.clone(), table.header.clone(), !table.has_rows());
        let (mut rows, mut lines) = (Vec::new(), Vec::new());
        let (known, _) = read_keeping(table, schema, Reading::public(), &mut |record, table| {
            rows.push(record.clone());
            lines.push(table.line(record));
            Ok(())
        })?;
        Ok(Self { name, header, rows, lines, has_lines, known })
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The codes of its attributes.
    pub fn known(&self) -> &Dataset {
        &self.known
    }

    /// The error of a row whose value in a column contradicts the others.
    pub fn contradiction(&self, row: usize, column: &str, expected: &str) -> Error {
        let position = self.header.iter().position(|name| name == column.as_bytes());
        let cell = self.rows.get(row).and_then(|cells| cells.get(position?)).unwrap_or_default();
        let (line, found) = (self.lines.get(row).copied().unwrap_or(0), quoted(cell));
        let (column, expected) = (column.to_owned(), expected.to_owned());
        if self.has_lines {
            return Error::InvalidCell { file: self.name.clone(), line, column, found, expected };
        }
        Error::InvalidValue { table: self.name.clone(), row: line, column, found, expected }
    }

    /// Writes the rows, followed by other columns of a schema. CSV keeps their texts; a name for Parquet or Arrow gives them the types
    /// of `record_batch`. The file appears whole or not at all.
    ///
    /// `more`: as many records as rows. `labels`: of these columns alone. `seed`: of the values drawn inside bins.
    ///
    /// # Errors
    /// Another number of records, a column of `more` that the table has too, a name of a form that this program was built without, or a
    /// failure to write.
    pub fn write_with(
        &self,
        more: &Dataset,
        schema: &Schema,
        path: &Path,
        labels: Labels,
        seed: u64,
    ) -> Result<()> {
        check_form(path)?;
        #[cfg(feature = "parquet")]
        if let Some(form) = BinaryForm::of_name(path) {
            let batch = self.record_batch(more, schema, labels, seed)?;
            return write_durably(path, |file| form.write(path, file, batch.schema(), [Ok(batch)]));
        }
        self.check_added(more)?;
        let mut text = Vec::new();
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        write_csv(&mut text, more, schema, labels, &mut rng)?;
        let is_gzip =
            path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gz"));
        let failed =
            |source: std::io::Error| Error::Io { action: "write", path: path.into(), source };
        write_durably(path, |file| {
            if is_gzip {
                let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::default());
                self.write_rows(&mut gzip, &text, schema).map_err(failed)?;
                return gzip.finish().map(drop).map_err(failed);
            }
            self.write_rows(file, &text, schema).map_err(failed)
        })
    }

    /// Refuses columns to add that are not as many rows, or that are there.
    fn check_added(&self, more: &Dataset) -> Result<()> {
        if more.records() != self.rows.len() {
            let (found, expected) = (more.records().to_string(), self.rows.len().to_string());
            return Err(Error::invalid_specification("records to add", found, expected));
        }
        let named = |names: &ByteRecord, attribute: &crate::domain::Attribute| {
            names.iter().any(|name| name == attribute.name.as_bytes())
        };
        if let Some(twice) = more.domain().attributes().iter().find(|a| named(&self.header, a)) {
            return Err(CommonError::DuplicateAttribute {
                name: twice.name.clone(),
                place: self.name.clone(),
            }
            .into());
        }
        Ok(())
    }

    /// Writes each row with the same row of a CSV text with a header.
    fn write_rows(&self, mut out: impl Write, text: &[u8], schema: &Schema) -> std::io::Result<()> {
        let format = schema.table();
        let mark = if format.encoding == Encoding::Utf8 { 0 } else { "\u{feff}".len() };
        out.write_all(&text[..mark])?;
        let mut reader = ::csv::ReaderBuilder::new();
        let mut reader =
            reader.delimiter(format.delimiter_byte()).has_headers(false).from_reader(&text[mark..]);
        let mut writer = ::csv::WriterBuilder::new();
        let mut writer =
            writer.delimiter(format.delimiter_byte()).buffer_capacity(1 << 16).from_writer(out);
        let mut more = ByteRecord::new();
        for row in std::iter::once(&self.header).chain(&self.rows) {
            reader.read_byte_record(&mut more)?;
            writer.write_record(row.iter().chain(&more))?;
        }
        writer.flush()
    }
}

/// Refuses columns that nobody knows: a misspelled one would be drawn as if it were not there.
fn check_columns<R: Read>(
    table: &RawTable<R>,
    schema: &Schema,
    keep: &[String],
    unit: Option<&str>,
) -> Result<()> {
    if let Some(lacking) = keep.iter().find(|name| table.position(name).is_none()) {
        let found = format!("no column '{lacking}' among {}", table.names());
        return Err(table.header_error(found, "every column that is to be kept"));
    }
    let is_known = |name: &str| {
        let is_kept = keep.iter().any(|kept| kept == name) || unit == Some(name);
        name.is_empty() || schema.column(name).is_some() || is_kept
    };
    let unknown = table.header.iter().filter_map(text).find(|name| !is_known(name));
    let Some(unknown) = unknown else { return Ok(()) };
    let known = schema.attributes().map(|column| column.name.as_str());
    let similar = nearest(unknown, known.filter(|name| table.position(name).is_none()));
    let similar = similar.map_or_else(String::new, |name| format!(" (did you mean '{name}'?)"));
    let found = format!("the unknown column {}{similar}", quoted(unknown.as_bytes()));
    Err(table.header_error(found, "columns of the schema, or the names of others to keep"))
}

/// The schema with values beyond the bins refused.
fn without_clamps(schema: &Schema) -> Result<Schema> {
    let refusing = |bins: &Bins| bins.clone().with_outside(Outside::Refuse);
    let kinds = schema.attributes().map(|column| match &column.kind {
        Some(Kind::Numeric(bins)) => Some(Kind::Numeric(refusing(bins))),
        Some(Kind::Date(bins)) => Some(Kind::Date(refusing(bins))),
        _ => None,
    });
    schema.with_kinds("schema", kinds.collect())
}

#[cfg(test)]
mod tests;
