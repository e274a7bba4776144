//! Rows of text, plain or gzip, with the lines on which they start.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Chain, Cursor, Read};
use std::path::Path;
use std::rc::Rc;

use csv::{ByteRecord, Trim};
use flate2::bufread::MultiGzDecoder;

#[cfg(feature = "arrow")]
use arrow_array::ArrayRef;

#[cfg(feature = "arrow")]
use crate::data::arrow::{ArrowRows, check_readable};
#[cfg(feature = "parquet")]
use crate::data::parquet;
use crate::data::standard_input::{Input, name_of};
use crate::data::transcode::Utf8Reader;
use crate::domain::{Encoding, TableFormat};
use crate::error::{Error, Result};
use jointly_privacy::files::encoding;

/// What a cell in another encoding should be.
pub(super) const DECODABLE: &str =
    "text in UTF-8, or in UTF-16 with a byte-order mark (or is the table in latin-1?)";

/// Bytes read at a time.
const BUFFER: usize = 1 << 17;

/// Longest row read, in bytes.
const LONGEST_ROW: usize = 16 << 20;

/// The first bytes of a Parquet file.
pub(super) const PARQUET: &[u8; 4] = b"PAR1";

/// An opened file of text, with the bytes that were read to detect its form.
pub(super) type Opened = Chain<Cursor<Vec<u8>>, Input>;

/// Opens a file of text.
///
/// # Errors
/// A file that cannot be read, or one of Parquet.
pub(super) fn open_text(path: &Path) -> Result<Opened> {
    match open(path)? {
        Opening::Text(source) => Ok(source),
        Opening::Parquet(_) => {
            let place = path.display().to_string();
            Err(Error::invalid_specification(place, "a Parquet file", "CSV, plain or gzip"))
        }
    }
}

/// What a file is, by its first bytes.
enum Opening {
    /// Text, plain or gzip.
    Text(Opened),
    /// Parquet, after its first bytes.
    #[cfg_attr(not(feature = "parquet"), expect(dead_code, reason = "it is refused unread"))]
    Parquet(std::fs::File),
}

/// Opens a file, and detects its form.
fn open(path: &Path) -> Result<Opening> {
    let failed = |source| Error::Io { action: "read", path: path.into(), source };
    let mut input = Input::open(path).map_err(failed)?;
    let mut start = Vec::with_capacity(PARQUET.len());
    input.by_ref().take(PARQUET.len() as u64).read_to_end(&mut start).map_err(failed)?;
    match input {
        Input::File(file) if start == PARQUET => Ok(Opening::Parquet(file)),
        Input::StandardInput(_) if start == PARQUET => {
            let expected = "CSV, plain or gzip: Parquet is read from a file";
            Err(Error::invalid_specification(name_of(path), "a Parquet file", expected))
        }
        input => Ok(Opening::Text(Cursor::new(start).chain(input))),
    }
}

/// The text of a cell for an error message, shortened.
pub(crate) fn quoted(cell: &[u8]) -> String {
    const LONGEST: usize = 40;
    if cell.is_empty() {
        return "nothing".into();
    }
    let Some(text) = text(cell) else {
        let text = cell.escape_ascii().to_string();
        let end = text.len().min(LONGEST);
        let more = if end < text.len() { "..." } else { "" };
        return format!("'{}{more}' (undecodable bytes, not UTF-8)", &text[..end]);
    };
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("'{}...'", text[..end].escape_debug()),
        None => format!("'{}'", text.escape_debug()),
    }
}

/// Whether the bytes are text: what cannot be decoded is not.
pub(super) fn text(cell: &[u8]) -> Option<&str> {
    std::str::from_utf8(cell).ok()
}

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
}

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
}

impl RawTable<Opened> {
    /// Opens a file, CSV or Parquet (detected by content). `missing`: the text of a null in Parquet.
    ///
    /// # Errors
    /// As [`RawTable::open`]; a Parquet file, where this program was built without it.
    pub(super) fn of_file(path: &Path, format: &TableFormat, missing: &str) -> Result<Self> {
        let name = name_of(path);
        match open(path)? {
            Opening::Text(source) => Self::open(source, &name, format),
            #[cfg(feature = "parquet")]
            Opening::Parquet(file) => {
                let (schema, batches) = parquet::batches(path, file)?;
                Self::of_rows(&name, ArrowRows::new(&schema, batches, missing, format.trim))
            }
            #[cfg(not(feature = "parquet"))]
            Opening::Parquet(_) => {
                let _ = missing; // Only Parquet has nulls.
                let expected =
                    "CSV, or a program built with Parquet: cargo build --features parquet";
                Err(Error::invalid_specification(name, "a Parquet file", expected))
            }
        }
    }
}

/// Number of cells in the first row of a file, or of columns in Parquet.
///
/// # Errors
/// An empty or unreadable file.
pub(super) fn columns_of(path: &Path, format: &TableFormat) -> Result<usize> {
    match open(path)? {
        Opening::Text(source) => {
            let name = name_of(path);
            Ok(RawTable::first_row(source, &name, format)?.1.len())
        }
        Opening::Parquet(_) => Ok(RawTable::of_file(path, format, "")?.header.len()),
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
        let (positions, first) = (HashMap::new(), None);
        let rows = Rows::Batches(Box::new(rows));
        Self { name: name.into(), rows, header: header.clone(), positions, first, delimiter: ',' }
            .with_header(header)
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
        let (header, positions) = (ByteRecord::new(), HashMap::new());
        let (first, delimiter) = (None, format.delimiter);
        let rows = Rows::Lines { reader: Box::new(reader), crlf, left };
        let mut table = Self { name: name.into(), rows, header, positions, first, delimiter };
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
        match self.first.take() {
            Some(first) => *record = first,
            None if !self.read(record)? => return Ok(false),
            None => {}
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

    fn read(&mut self, record: &mut ByteRecord) -> Result<bool> {
        let (reader, left) = match &mut self.rows {
            Rows::Lines { reader, left, .. } => (reader, left),
            #[cfg(feature = "arrow")]
            Rows::Batches(rows) => return rows.read(record),
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
        match &mut self.rows {
            Rows::Lines { .. } => Ok(None),
            Rows::Batches(rows) => rows.slice(most),
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
            Rows::Lines { .. } => 0,
            Rows::Batches(rows) => rows.row(),
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
        };
        let line_feeds = |cell: &[u8]| cell.split(|byte| *byte == b'\n').count() as u64 - 1;
        let inside = line_feeds(record.as_slice());
        let after = reader.position().line();
        let began = record.position().map_or(1, csv::Position::line);
        after.saturating_sub(inside + u64::from(!crlf.get())).max(began)
    }

    /// Whether rows are numbered, as they have no lines.
    pub(super) fn has_rows(&self) -> bool {
        !matches!(self.rows, Rows::Lines { .. })
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
        if self.has_rows() {
            let place = format!("{}, row {line}", self.name);
            return Error::invalid_specification(place, found, expected);
        }
        Error::InvalidRow { file: self.name.clone(), line, found, expected: expected.into() }
    }

    /// The error of a cell in the latest row.
    pub(super) fn cell_error(
        &self,
        record: &ByteRecord,
        column: &str,
        cell: &[u8],
        expected: String,
    ) -> Error {
        let (line, column, found) = (self.line(record), column.to_owned(), quoted(cell));
        if self.has_rows() {
            let table = self.name.clone();
            return Error::InvalidValue { table, row: line, column, found, expected };
        }
        Error::InvalidCell { file: self.name.clone(), line, column, found, expected }
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

/// Bytes of a plain or gzip source, in UTF-8; adds a line end to a last line without one.
pub(super) struct Source<R> {
    bytes: Bytes<R>,
    last: u8,
    /// Whether the first line ends in CR LF; `None` until it has ended.
    first_end: Option<bool>,
    crlf: Rc<Cell<bool>>,
    left: Rc<Cell<usize>>,
}

enum Bytes<R> {
    Plain(Utf8Reader<BufReader<R>>),
    Gzip(Utf8Reader<BufReader<MultiGzDecoder<BufReader<R>>>>),
}

impl<R: Read> Source<R> {
    /// Opens a source and detects its form by content; `crlf` is set when the first line ends in CR LF.
    ///
    /// Reading fails after `left` bytes, which is reset for each row, so that an unclosed quote does not fill the
    /// memory.
    pub(super) fn open(
        source: R,
        encoding: Encoding,
        crlf: Rc<Cell<bool>>,
        left: Rc<Cell<usize>>,
    ) -> io::Result<Self> {
        let mut buffered = BufReader::with_capacity(BUFFER, source);
        let gzip = buffered.fill_buf()?.starts_with(&[0x1f, 0x8b]);
        let bytes = if gzip {
            let buffered = BufReader::with_capacity(BUFFER, MultiGzDecoder::new(buffered));
            Bytes::Gzip(Utf8Reader::open(buffered, encoding).map_err(damaged)?)
        } else {
            Bytes::Plain(Utf8Reader::open(buffered, encoding)?)
        };
        Ok(Self { bytes, last: b'\n', first_end: None, crlf, left })
    }
}

/// The error of gzip data that cannot be unpacked.
#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn damaged(error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("the gzip data are cut short or damaged ({error})"))
}

impl<R: Read> Read for Source<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left.get() == 0 {
            return Err(io::Error::from(io::ErrorKind::InvalidData));
        }
        let read = match &mut self.bytes {
            Bytes::Plain(source) => source.read(buffer)?,
            Bytes::Gzip(source) => source.read(buffer).map_err(damaged)?,
        };
        if read == 0 && !matches!(self.last, b'\n' | b'\r') && !buffer.is_empty() {
            self.last = if self.crlf.get() { b'\r' } else { b'\n' };
            buffer[0] = self.last;
            return Ok(1);
        }
        if self.first_end.is_none()
            && let Some(end) = buffer[..read].iter().position(|byte| *byte == b'\n')
        {
            let before = if end == 0 { self.last } else { buffer[end - 1] };
            self.first_end = Some(before == b'\r');
            self.crlf.set(before == b'\r');
        }
        if let Some(last) = buffer[..read].last() {
            self.last = *last;
        }
        self.left.set(self.left.get().saturating_sub(read));
        Ok(read)
    }
}
