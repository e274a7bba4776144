//! Rows of text, plain or gzip, with the lines on which they start; or of record batches. A table may be in several files.

mod joined;
mod named;
mod opening;
mod source;

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, Read};
use std::path::Path;
use std::rc::Rc;

use csv::{ByteRecord, Trim};

#[cfg(feature = "arrow")]
use arrow_array::ArrayRef;

#[cfg(feature = "arrow")]
use crate::data::arrow::{ArrowRows, check_readable};
use crate::data::places::files_of;
use crate::data::standard_input::name_of;
#[cfg(feature = "parquet")]
use crate::data::{arrow_file, parquet};
use crate::domain::TableFormat;
use crate::error::{Error, Result};
use joined::JoinedRows;
use jointly_privacy::files::encoding;
pub(crate) use named::quoted;
pub(super) use named::{RowsByLine, text};
#[cfg(feature = "parquet")]
pub(super) use opening::{Binary, PARQUET};
pub(super) use opening::{Opened, open_text};
use opening::{Opening, open};
use source::BUFFER;
pub(super) use source::Source;

/// What a cell in another encoding should be.
pub(super) const DECODABLE: &str =
    "text in UTF-8, or in UTF-16 with a byte-order mark (or is the table in latin-1?)";

/// Longest row read, in bytes.
const LONGEST_ROW: usize = 16 << 20;

/// Rows of text under a header, all as long as the header, each with the line on which it starts.
pub(super) struct RawTable<R> {
    /// Name of the source in errors.
    pub(super) name: String,
    rows: Rows<R>,
    /// The names of the columns, distinct.
    pub(super) header: ByteRecord,
    /// The position of each name.
    positions: HashMap<Vec<u8>, usize>,
    /// The first row, where it is no header and has not been returned.
    first: Option<ByteRecord>,
    delimiter: char,
    /// Opens the next file of the table; `None` if this one is the last.
    further: Option<Further<R>>,
}

/// Opens the files that follow, one after another.
type Further<R> = Box<dyn FnMut() -> Result<Option<RawTable<R>>>>;

/// Where the rows come from.
enum Rows<R> {
    /// Text with lines.
    Lines {
        reader: Box<csv::Reader<Source<R>>>,
        crlf: Rc<Cell<bool>>,
        /// Bytes that may still be read for the current row.
        left: Rc<Cell<usize>>,
    },
    /// Record batches.
    #[cfg(feature = "arrow")]
    Batches(Box<ArrowRows>),
    /// Rows of another table, each with the cells of its unit.
    Joined(Box<JoinedRows<R>>),
}

impl RawTable<Opened> {
    /// Opens a file, CSV, Parquet or Arrow (detected by content), or those of a folder or a pattern, one after another. `missing`: the
    /// text of a null in Parquet or Arrow.
    ///
    /// # Errors
    /// As [`RawTable::open`]; a Parquet file, where this program was built without it; a place without files.
    pub(super) fn of_file(path: &Path, format: &TableFormat, missing: &str) -> Result<Self> {
        let mut files = files_of(path)?.into_iter();
        let mut table = Self::of_one(&files.next().unwrap_or_default(), format, missing)?;
        if files.len() > 0 {
            let (format, missing) = (format.clone(), missing.to_owned());
            let open = move || {
                let file = files.next();
                file.map(|file| Self::of_one(&file, &format, &missing)).transpose()
            };
            table.further = Some(Box::new(open));
        }
        Ok(table)
    }

    fn of_one(path: &Path, format: &TableFormat, missing: &str) -> Result<Self> {
        let name = name_of(path);
        match open(path)? {
            Opening::Text(source) => Self::open(source, &name, format),
            #[cfg(feature = "parquet")]
            Opening::Parquet(file) => {
                let (schema, batches) = parquet::batches(path, file)?;
                Self::of_rows(&name, ArrowRows::new(&schema, batches, missing, format.trim))
            }
            #[cfg(feature = "parquet")]
            Opening::Arrow(file) => {
                let (schema, batches) = arrow_file::batches(path, file)?;
                Self::of_rows(&name, ArrowRows::new(&schema, batches, missing, format.trim))
            }
            #[cfg(not(feature = "parquet"))]
            opening => {
                let _ = missing; // Text has no nulls.
                let found = match opening {
                    Opening::Parquet(_) => "a Parquet file",
                    _ => "an Arrow file",
                };
                let expected =
                    "CSV, or a program built with Parquet: cargo build --features parquet";
                Err(Error::invalid_specification(name, found, expected))
            }
        }
    }
}

/// Number of cells in the first row of a file, or of columns.
///
/// # Errors
/// An empty or unreadable file.
pub(super) fn columns_of(path: &Path, format: &TableFormat) -> Result<usize> {
    let path = &files_of(path)?.swap_remove(0);
    match open(path)? {
        Opening::Text(source) => {
            let name = name_of(path);
            Ok(RawTable::first_row(source, &name, format)?.1.len())
        }
        Opening::Parquet(_) | Opening::Arrow(_) => {
            Ok(RawTable::of_file(path, format, "")?.header.len())
        }
    }
}

#[cfg(feature = "arrow")]
impl<R: Read> RawTable<R> {
    /// A table of record batches.
    ///
    /// # Errors
    /// A column name twice.
    pub(super) fn of_rows(name: &str, rows: ArrowRows) -> Result<Self> {
        let header = rows.names().clone();
        Self::with_rows(name, Rows::Batches(Box::new(rows)), ',').with_header(header)
    }
}

impl<R: Read> RawTable<R> {
    /// Opens a source, plain or gzip, and reads its header, unless the format names the columns. A byte-order mark is
    /// skipped.
    ///
    /// # Errors
    /// No header, a column name twice or in another encoding, or an unreadable source.
    pub(super) fn open(source: R, name: &str, format: &TableFormat) -> Result<Self> {
        let (mut table, mut header) = Self::first_row(source, name, format)?;
        if let Some(names) = &format.names {
            let known: HashSet<&[u8]> = names.iter().map(String::as_bytes).collect();
            let is_name = |cell: &[u8]| known.contains(cell.trim_ascii());
            // A synthetic table has the header of the columns that it has.
            if !header.iter().all(is_name) {
                table.first = Some(header);
                header = ByteRecord::from(names.as_slice());
            }
        }
        table.with_header(header)
    }

    fn with_rows(name: &str, rows: Rows<R>, delimiter: char) -> Self {
        let (name, header, positions) = (name.to_owned(), ByteRecord::new(), HashMap::new());
        Self { name, rows, header, positions, first: None, delimiter, further: None }
    }

    fn with_header(mut self, header: ByteRecord) -> Result<Self> {
        let table = &mut self;
        for (position, column) in header.iter().enumerate() {
            if text(column).is_none() {
                let found = format!("the name {} of column {}", quoted(column), position + 1);
                return Err(table.header_error(found, DECODABLE));
            }
            let is_new = table.positions.insert(column.to_owned(), position).is_none();
            // Nameless columns (row numbers of other tools) may repeat.
            if !is_new && !column.is_empty() {
                let found = format!("column {} twice in the header", quoted(column));
                return Err(table.header_error(found, "distinct names"));
            }
        }
        table.header = header;
        Ok(self)
    }

    /// Opens a source and reads its first row, whatever it is.
    fn first_row(source: R, name: &str, format: &TableFormat) -> Result<(Self, ByteRecord)> {
        let crlf = Rc::new(Cell::new(false));
        let left = Rc::new(Cell::new(LONGEST_ROW));
        let source = Source::open(source, format.encoding, Rc::clone(&crlf), Rc::clone(&left))
            .map_err(|source| Error::Io { action: "read", path: name.into(), source })?;
        let mut builder = csv::ReaderBuilder::new();
        builder.delimiter(format.delimiter_byte());
        builder.trim(if format.trim { Trim::All } else { Trim::None });
        let reader =
            builder.has_headers(false).flexible(true).buffer_capacity(BUFFER).from_reader(source);
        let rows = Rows::Lines { reader: Box::new(reader), crlf, left };
        let mut table = Self::with_rows(name, rows, format.delimiter);
        let mut header = ByteRecord::new();
        let is_there = table.read(&mut header)?;
        if let Some(found) = header.get(0).and_then(encoding) {
            return Err(table.header_error(found.into(), "CSV in UTF-8, plain or gzip"));
        }
        if !is_there {
            return Err(table.header_error("an empty file".into(), "a header and records"));
        }
        Ok((table, header))
    }

    /// The position of a column.
    pub(super) fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name.as_bytes()).copied()
    }

    /// Reads the next row; `false` at the end.
    ///
    /// # Errors
    /// A row whose length differs from the header's, or an unreadable source.
    pub(super) fn next(&mut self, record: &mut ByteRecord) -> Result<bool> {
        loop {
            match self.first.take() {
                Some(first) => *record = first,
                None if self.read(record)? => {}
                None if self.is_continued()? => continue,
                None => return Ok(false),
            }
            break;
        }
        if record.len() == self.header.len() {
            return Ok(true);
        }
        let found = format!("{} cell{}", record.len(), if record.len() == 1 { "" } else { "s" });
        let mut expected = format!("{}, as in the header", self.header.len());
        if record.as_slice().contains(&b'\n') {
            expected.push_str(" (a cell has several lines: is a quote not closed?)");
        } else if record.len() == 1 && self.header.len() > 1 {
            _ = write!(expected, " (cells are separated by {:?})", self.delimiter);
        }
        Err(self.record_error(record, found, &expected))
    }

    /// Goes on with the next file, if there is one.
    ///
    /// # Errors
    /// A file that cannot be opened, of another form, or with other columns.
    fn is_continued(&mut self) -> Result<bool> {
        let Some(further) = &mut self.further else { return Ok(false) };
        let Some(next) = further()? else { return Ok(false) };
        if next.has_rows() != self.has_rows() {
            let found = "a table of another form";
            let expected = "CSV, or none of them CSV, as the files before it";
            return Err(Error::invalid_specification(next.name, found, expected));
        }
        if next.header != self.header {
            return Err(
                next.header_error(next.names(), &format!("{}, as in {}", self.names(), self.name))
            );
        }
        (self.name, self.rows, self.first) = (next.name, next.rows, next.first);
        Ok(true)
    }

    fn read(&mut self, record: &mut ByteRecord) -> Result<bool> {
        let (reader, left) = match &mut self.rows {
            Rows::Lines { reader, left, .. } => (reader, left),
            #[cfg(feature = "arrow")]
            Rows::Batches(rows) => return rows.read(record),
            Rows::Joined(joined) => return joined.read(record),
        };
        left.set(LONGEST_ROW);
        let line = reader.position().line();
        let error = match reader.read_byte_record(record) {
            Ok(is_there) => return Ok(is_there),
            Err(error) => error,
        };
        if left.get() == 0 {
            let found = format!("a row of more than {} MiB", LONGEST_ROW >> 20);
            return Err(self.row_error(line, found, "a shorter row: is a quote not closed?"));
        }
        let source = match error.into_kind() {
            csv::ErrorKind::Io(source) => source,
            other => io::Error::other(format!("{other:?}")),
        };
        Err(Error::Io { action: "read", path: self.name.as_str().into(), source })
    }

    /// The readable columns of the next rows of record batches, as [`ArrowRows::slice`]; `None` at the end, and of text.
    #[cfg(feature = "arrow")]
    pub(super) fn slice(&mut self, most: usize) -> Result<Option<(Vec<ArrayRef>, usize)>> {
        loop {
            let Rows::Batches(rows) = &mut self.rows else { return Ok(None) };
            if let Some(slice) = rows.slice(most)? {
                return Ok(Some(slice));
            }
            if !self.is_continued()? {
                return Ok(None);
            }
        }
    }

    /// Numbers the latest row of record batches, for its error.
    #[cfg(feature = "arrow")]
    pub(super) fn at_row(&mut self, row: u64) {
        if let Rows::Batches(rows) = &mut self.rows {
            rows.at_row(row);
        }
    }

    /// The number of the latest row of record batches.
    #[cfg(feature = "arrow")]
    pub(super) fn row(&self) -> u64 {
        match &self.rows {
            Rows::Batches(rows) => rows.row(),
            _ => 0,
        }
    }

    /// The line on which the latest row starts, counted from 1.
    ///
    /// The reader has consumed the row's line feed (the source adds one to a last line without), unless the line ends
    /// in CR LF: then it stops after the CR. Going back from there skips empty lines correctly. An unclosed quote has
    /// consumed the last line feed, but no row starts before the line where the reader began it.
    pub(super) fn line(&self, record: &ByteRecord) -> u64 {
        let (reader, crlf) = match &self.rows {
            Rows::Lines { reader, crlf, .. } => (reader, crlf),
            #[cfg(feature = "arrow")]
            Rows::Batches(rows) => return rows.row(),
            Rows::Joined(joined) => return joined.line(),
        };
        let line_feeds = |cell: &[u8]| cell.split(|byte| *byte == b'\n').count() as u64 - 1;
        let inside = line_feeds(record.as_slice());
        let after = reader.position().line();
        let began = record.position().map_or(1, csv::Position::line);
        after.saturating_sub(inside + u64::from(!crlf.get())).max(began)
    }

    /// Whether rows are numbered, as they have no lines: they come from record batches.
    pub(super) fn has_rows(&self) -> bool {
        match &self.rows {
            Rows::Lines { .. } => false,
            #[cfg(feature = "arrow")]
            Rows::Batches(_) => true,
            Rows::Joined(joined) => joined.has_rows(),
        }
    }

    /// Whether rows can be taken as [slices](Self::slice) of record batches.
    #[cfg(feature = "arrow")]
    pub(super) fn has_slices(&self) -> bool {
        matches!(self.rows, Rows::Batches(_))
    }

    /// The error of a table without an attribute, or with one whose type cannot be read.
    pub(super) fn lacks(&self, name: &str) -> Error {
        #[cfg(feature = "arrow")]
        if let Rows::Batches(rows) = &self.rows
            && let Some(kind) = rows.unreadable(name)
            && let Err(error) = check_readable(&self.name, name, kind)
        {
            return error;
        }
        let found = format!("a header without '{name}' ({})", self.names());
        self.header_error(found, "every attribute of the schema")
    }

    /// The error of a header.
    pub(super) fn header_error(&self, found: String, expected: &str) -> Error {
        if self.has_rows() {
            return Error::invalid_specification(&self.name, found, expected);
        }
        self.row_error(1, found, expected)
    }

    /// The error of the latest row.
    pub(super) fn record_error(&self, record: &ByteRecord, found: String, expected: &str) -> Error {
        self.row_error(self.line(record), found, expected)
    }

    fn row_error(&self, line: u64, found: String, expected: &str) -> Error {
        self.rows_by_line().error(line, found, expected)
    }

    /// What names rows in errors once the table has been read.
    pub(super) fn rows_by_line(&self) -> RowsByLine {
        RowsByLine { table: self.name.clone(), has_rows: self.has_rows() }
    }

    /// The error of a cell in the latest row.
    pub(super) fn cell_error(
        &self,
        record: &ByteRecord,
        column: &str,
        cell: &[u8],
        expected: String,
    ) -> Error {
        let in_units = if let Rows::Joined(joined) = &self.rows {
            joined.place_in_units(column)
        } else {
            None
        };
        let (name, line) = in_units.unwrap_or_else(|| (&self.name, self.line(record)));
        let (name, column, found) = (name.to_owned(), column.to_owned(), quoted(cell));
        if self.has_rows() {
            return Error::InvalidValue { table: name, row: line, column, found, expected };
        }
        Error::InvalidCell { file: name, line, column, found, expected }
    }

    /// The header for an error message, shortened.
    pub(super) fn names(&self) -> String {
        const SHOWN: usize = 12;
        let mut names: Vec<String> = self.header.iter().take(SHOWN).map(quoted).collect();
        if self.header.len() > SHOWN {
            names.push(format!("... ({} columns in all)", self.header.len()));
        }
        let hint = match self.header.get(0) {
            Some(only) if self.header.len() == 1 && only.contains(&b';') => {
                "; separated by semicolons? the schema's 'table' has another delimiter"
            }
            Some(only) if self.header.len() == 1 && only.contains(&b'\t') => {
                "; separated by tabs? the schema's 'table' has another delimiter"
            }
            _ if self.header.as_slice().contains(&b'\n') => "; is a quote not closed?",
            _ => "",
        };
        format!("columns {}{hint}", names.join(", "))
    }
}
