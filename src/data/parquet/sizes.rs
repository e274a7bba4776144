//! The sizes that a Parquet file states, compared with the bytes that it has: its libraries allocate what it states, and
//! a failing allocation ends the program.

use std::io::{self, Read};
use std::ops::Range;
use std::sync::Arc;

use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions};
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaDataReader};
use parquet::file::reader::ChunkReader;

use super::delta::check_lengths;
use super::thrift::{Part, Stop, walk};

/// Bytes after the footer: its length in four bytes, and `PAR1`.
const TAIL: u64 = 8;

/// Most row groups of a file; the library numbers them in 16 bits.
const ROW_GROUPS: u64 = i16::MAX as u64;

/// Groups of columns inside one another, at most: the library descends into them recursively.
const NESTED: usize = 64;

/// `DELTA_LENGTH_BYTE_ARRAY`.
const DELTA_LENGTH: i64 = 6;

/// `DELTA_BYTE_ARRAY`.
const DELTA_TEXT: i64 = 7;

/// Bytes in which the header of most pages lies.
const HEADER: u64 = 1 << 12;

/// Bytes that are decompressed at once.
const PIECE: usize = 1 << 16;

/// Bytes beyond a page's own for which content is allowed, so that small pages are never refused.
const SLACK: u64 = 64;

/// The footer of a file, if the sizes in it and in the headers of all pages can be those of this file.
///
/// # Errors
/// Why they cannot, or why the footer cannot be read.
pub(super) fn checked_metadata<S: ChunkReader>(source: &S) -> Result<ArrowReaderMetadata, String> {
    let footer = footer(source)?;
    check_footer(&footer)?;
    let failed = |error: ParquetError| error.to_string();
    let metadata = ParquetMetaDataReader::decode_metadata(&footer).map_err(failed)?;
    for (number, group) in metadata.row_groups().iter().enumerate() {
        for column in group.columns() {
            check_pages(source, column).map_err(|reason| {
                format!(
                    "{reason}, in column '{}' of row group {number}",
                    column.column_path().string()
                )
            })?;
        }
    }
    ArrowReaderMetadata::try_new(Arc::new(metadata), ArrowReaderOptions::default()).map_err(failed)
}

fn footer<S: ChunkReader>(source: &S) -> Result<Vec<u8>, String> {
    let short = "it is cut short, or is no Parquet file: no footer at its end";
    let before_tail = source.len().checked_sub(TAIL).ok_or(short)?;
    let tail = bytes(source, before_tail..source.len())?;
    let (length, mark) = tail.split_first_chunk().ok_or(short)?;
    match mark {
        b"PAR1" => {}
        b"PARE" => return Err("its footer is encrypted".into()),
        _ => return Err(short.into()),
    }
    let length = u64::from(u32::from_le_bytes(*length));
    let start = before_tail.checked_sub(length);
    let start = start.ok_or_else(|| format!("a footer of {length} bytes in a shorter file"))?;
    bytes(source, start..before_tail)
}

/// The bytes of a part of a file, which lies inside it.
fn bytes<S: ChunkReader>(source: &S, part: Range<u64>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let reader = source.get_read(part.start).map_err(|error| error.to_string())?;
    let read = reader.take(part.end - part.start).read_to_end(&mut bytes);
    read.map_err(|error| error.to_string())?;
    Ok(bytes)
}

/// Compares the lengths in a footer with its own, the children of columns with the columns, and their depth with what a
/// stack holds.
fn check_footer(footer: &[u8]) -> Result<(), String> {
    // Numbers of fields: 2 is the list of columns, whose field 5 is the number of children; 4 is the list of row groups.
    const COLUMNS: &[i16] = &[2];
    const CHILDREN: &[i16] = &[2, 5];
    let mut columns_left = 0_u64;
    // Children that are still to come, of each group around the current column.
    let mut around: Vec<u64> = Vec::new();
    let visit = &mut |path: &[i16], seen: Part| match (path, seen) {
        ([2 | 4 | 5 | 7], Part::Number(_) | Part::Truth(_) | Part::Other) => {
            Err("a list in the footer is no list".to_owned())
        }
        (COLUMNS, Part::List(columns)) => {
            columns_left = columns;
            around.clear();
            Ok(())
        }
        (COLUMNS, Part::Element) => {
            columns_left = columns_left.saturating_sub(1);
            while around.last() == Some(&0) {
                around.pop();
            }
            if let Some(left) = around.last_mut() {
                *left -= 1;
            }
            Ok(())
        }
        (CHILDREN, Part::Number(children)) => {
            let children = u64::try_from(children).unwrap_or(u64::MAX);
            if children > columns_left {
                return Err(format!("{children} columns in a group, but {columns_left} follow it"));
            }
            around.push(children);
            if around.len() > NESTED {
                return Err(format!("more than {NESTED} groups of columns inside one another"));
            }
            Ok(())
        }
        (CHILDREN, _) => Err("a number of columns is no number".to_owned()),
        ([4], Part::List(groups)) if groups > ROW_GROUPS => {
            Err(format!("{groups} row groups, but a file has at most {ROW_GROUPS}"))
        }
        _ => Ok(()),
    };
    match walk(footer, visit) {
        Ok(_) => Ok(()),
        Err(Stop::Short) => Err("its footer states more than it holds".into()),
        Err(Stop::Wrong(reason)) => Err(format!("its footer is damaged: {reason}")),
    }
}

/// Compares the pages of a column with the bytes of the column, and these with the file.
fn check_pages<S: ChunkReader>(source: &S, column: &ColumnChunkMetaData) -> Result<(), String> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let end = start.checked_add(column.compressed_size());
    let (start, end) = (u64::try_from(start), end.and_then(|end| u64::try_from(end).ok()));
    let (Ok(mut at), Some(end)) = (start, end) else {
        return Err("a place outside the file".into());
    };
    if !(at..=source.len()).contains(&end) {
        return Err(format!("bytes {at} to {end} of a file of {}", source.len()));
    }
    let mut has_lengths = false;
    while at < end {
        let (length, page) = page(source, at..end)?;
        has_lengths |= [DELTA_LENGTH, DELTA_TEXT].contains(&page.encoding);
        at += length;
        let size = u64::try_from(page.compressed).ok().filter(|size| *size <= end - at);
        let Some(size) = size else {
            return Err(format!("a page of {} bytes where {} are left", page.compressed, end - at));
        };
        page.check(size, column.compression())?;
        if matches!(column.compression(), Compression::BROTLI(_)) && !page.is_plain {
            page.check_brotli(&bytes(source, at..at + size)?)?;
        }
        at += size;
    }
    if has_lengths { check_lengths(source, column) } else { Ok(()) }
}

/// What the header of a page states.
#[derive(Default)]
struct Page {
    uncompressed: i64,
    compressed: i64,
    /// Values of a dictionary.
    distinct: i64,
    /// The number of the values' encoding.
    encoding: i64,
    /// Bytes before the values that are not compressed.
    levels: u64,
    /// Whether nothing in it is compressed, whatever its column says.
    is_plain: bool,
}

/// A page of a column, and the length of its header.
fn page<S: ChunkReader>(source: &S, column: Range<u64>) -> Result<(u64, Page), String> {
    let mut read = HEADER;
    loop {
        let part = column.start..column.end.min(column.start.saturating_add(read));
        let is_all = part.end == column.end;
        let mut page = Page::default();
        let visit = &mut |path: &[i16], seen: Part| {
            match (path, seen) {
                ([2], Part::Number(size)) => page.uncompressed = size,
                ([3], Part::Number(size)) => page.compressed = size,
                ([7, 1], Part::Number(values)) => page.distinct = values,
                ([5, 2] | [8, 4], Part::Number(encoding)) => page.encoding = encoding,
                ([8, 5 | 6], Part::Number(size)) => {
                    page.levels = page.levels.saturating_add(u64::try_from(size).unwrap_or(0));
                }
                ([8, 7], Part::Truth(is_compressed)) => page.is_plain = !is_compressed,
                ([1..=3] | [7, 1] | [5, 2] | [8, 4..=6], _) if !matches!(seen, Part::Number(_)) => {
                    return Err("a size is no number".into());
                }
                _ => {}
            }
            Ok(())
        };
        match walk(&bytes(source, part)?, visit) {
            Ok(length) => return Ok((length as u64, page)),
            Err(Stop::Short) if !is_all => read *= 16,
            Err(Stop::Short) => return Err("a page without an end".into()),
            Err(Stop::Wrong(reason)) => return Err(format!("a damaged page: {reason}")),
        }
    }
}

impl Page {
    /// Compares the size of its content with the bytes that it takes in the file.
    fn check(&self, size: u64, compression: Compression) -> Result<(), String> {
        // Bytes that one byte can stand for: a copy of 64 in 3, a length in units of 255, a copy of 258 in 2 bits, a block
        // of 128 KiB in 4 bytes.
        let most = match compression {
            Compression::SNAPPY => Some(22),
            Compression::LZ4 | Compression::LZ4_RAW => Some(255),
            Compression::GZIP(_) => Some(1032),
            // Brotli has no such number: 16 MiB in a few bytes. What a page has in it is looked at before it is read.
            Compression::ZSTD(_) | Compression::BROTLI(_) => Some(1 << 15),
            // Nothing is allocated for a copy, nor for what cannot be read.
            Compression::UNCOMPRESSED | Compression::LZO => None,
        };
        let content = u64::try_from(self.uncompressed).unwrap_or(u64::MAX);
        if most.is_some_and(|most| content > size.saturating_add(SLACK).saturating_mul(most)) {
            return Err(format!("a page of {size} bytes with {} in it", self.uncompressed));
        }
        // A value takes at least one byte, of those that are there if the page is not compressed.
        let bytes = if compression == Compression::UNCOMPRESSED { size } else { content };
        if self.distinct > 0 && self.distinct.cast_unsigned() > bytes {
            return Err(format!("a dictionary of {} values in {bytes} bytes", self.distinct));
        }
        Ok(())
    }

    /// Decompresses the page piece by piece, and keeps nothing of it: the library would go on whatever size the page states.
    fn check_brotli(&self, page: &[u8]) -> Result<(), String> {
        let levels = usize::try_from(self.levels).unwrap_or(usize::MAX);
        let compressed =
            page.get(levels..).ok_or("a page of levels that is shorter than they are")?;
        let content = u64::try_from(self.uncompressed).unwrap_or(0).saturating_sub(self.levels);
        if content == 0 {
            return Ok(());
        }
        let reader = brotli::Decompressor::new(compressed, PIECE);
        let found = io::copy(&mut reader.take(content.saturating_add(1)), &mut io::sink());
        match found {
            Ok(found) if found == content => Ok(()),
            Ok(found) if found < content => {
                Err(format!("a page with {found} bytes in it instead of {content}"))
            }
            Ok(_) => Err(format!("a page with more than {content} bytes in it")),
            Err(error) => Err(format!("a page that is no Brotli ({error})")),
        }
    }
}

#[cfg(test)]
mod tests;
