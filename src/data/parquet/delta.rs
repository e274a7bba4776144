//! Texts as differences of lengths: their encodings state inside a page how many values it has, for which the library
//! allocates before it looks for them.
//!
//! Format: <https://parquet.apache.org/docs/file-format/data-pages/encodings/>.

use std::sync::Arc;

use parquet::basic::Encoding;
use parquet::column::page::{Page, PageReader};
use parquet::file::metadata::ColumnChunkMetaData;
use parquet::file::reader::{ChunkReader, Length};
use parquet::file::serialized_reader::SerializedPageReader;

/// A source that is borrowed.
struct BorrowedSource<'s, S>(&'s S);

impl<S: ChunkReader> Length for BorrowedSource<'_, S> {
    fn len(&self) -> u64 {
        self.0.len()
    }
}

impl<S: ChunkReader> ChunkReader for BorrowedSource<'_, S> {
    type T = S::T;

    fn get_read(&self, start: u64) -> parquet::errors::Result<Self::T> {
        self.0.get_read(start)
    }

    fn get_bytes(&self, start: u64, length: usize) -> parquet::errors::Result<bytes::Bytes> {
        self.0.get_bytes(start, length)
    }
}

/// Compares the numbers of values inside the pages of a column with those of their headers. The pages themselves have been
/// checked, and are decompressed here.
///
/// # Errors
/// A page that holds another number of values than it has room for, or one that cannot be read.
pub(super) fn check_lengths<S: ChunkReader>(
    source: &S,
    column: &ColumnChunkMetaData,
) -> Result<(), String> {
    let (description, source) = (column.column_descr(), Arc::new(BorrowedSource(source)));
    let levels = [description.max_rep_level() > 0, description.max_def_level() > 0];
    let pages = SerializedPageReader::new(source, column, 0, None);
    let mut pages = pages.map_err(|error| error.to_string())?;
    while let Some(page) = pages.get_next_page().map_err(|error| error.to_string())? {
        let encoding = page.encoding();
        let lists = match encoding {
            Encoding::DELTA_LENGTH_BYTE_ARRAY => 1,
            // Lengths of what is shared with the text before, then of what is not.
            Encoding::DELTA_BYTE_ARRAY => 2,
            _ => 0,
        };
        let whole = |mut rest: &[u8]| {
            // A page of nulls alone may have no lists.
            let is_empty = rest.is_empty();
            is_empty || (0..lists).all(|_| lengths(&mut rest, page.num_values()).is_some())
        };
        let is_whole = lists == 0 || values(&page, levels).is_some_and(whole);
        if !is_whole {
            return Err(format!("a page of {encoding} without its {} values", page.num_values()));
        }
    }
    Ok(())
}

/// The part of a page after the levels of nesting and of nulls. `levels`: which of the two the column has.
fn values(page: &Page, levels: [bool; 2]) -> Option<&[u8]> {
    match page {
        Page::DataPage { buf, .. } => {
            let mut rest = &buf[..];
            for _ in levels.iter().filter(|has| **has) {
                let (length, after) = rest.split_first_chunk()?;
                rest = after.get(u32::from_le_bytes(*length) as usize..)?;
            }
            Some(rest)
        }
        Page::DataPageV2 { buf, def_levels_byte_len, rep_levels_byte_len, .. } => {
            buf.get(*def_levels_byte_len as usize + *rep_levels_byte_len as usize..)
        }
        Page::DictionaryPage { .. } => Some(&[]),
    }
}

/// Goes past one list of numbers in `DELTA_BINARY_PACKED`, of at most `most` numbers; `None` if the bytes are not such a list.
fn lengths(rest: &mut &[u8], most: u32) -> Option<()> {
    let block = varint(rest)?;
    let parts = varint(rest)?;
    let numbers = varint(rest).filter(|numbers| *numbers <= most.into())?;
    varint(rest)?;
    let in_part = block.checked_div(parts)?;
    let mut left = numbers.saturating_sub(1);
    while left > 0 {
        varint(rest)?;
        let widths = take(rest, parts)?;
        for width in widths {
            // The widths of parts that are not needed say nothing.
            if left > 0 {
                take(rest, in_part.checked_mul(u64::from(*width))? / 8)?;
                left = left.saturating_sub(in_part);
            }
        }
        if in_part == 0 {
            return None;
        }
    }
    Some(())
}

fn take<'b>(rest: &mut &'b [u8], length: u64) -> Option<&'b [u8]> {
    let (taken, after) = rest.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some(taken)
}

/// A number in base 128, the lowest digits first.
fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..u64::BITS).step_by(7) {
        let (byte, after) = rest.split_first()?;
        *rest = after;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests;
