//! Arrow files, also called Feather of version 2: record batches as they are in memory, one after another, and a footer that says
//! where they are.
//!
//! Format: <https://arrow.apache.org/docs/format/Columnar.html#ipc-file-format>.

mod sizes;

use std::io::{Cursor, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::{FileDecoder, read_footer_length};
use arrow_ipc::{Block, Endianness, convert, root_as_footer};
use arrow_schema::{ArrowError, SchemaRef};

use crate::data::arrow::Batches;
use crate::data::contained::BinaryFile;
use crate::data::raw_table::Binary;
use crate::error::Result;
use sizes::check_message;

/// Bytes before the first batch.
const HEAD: u64 = 8;

/// Bytes after the footer: its length, and `ARROW1`.
const TAIL: usize = 10;

/// The columns and the batches of a file.
pub(super) fn batches(path: &Path, file: Binary) -> Result<(SchemaRef, Batches)> {
    let source: Box<dyn Source> = match file {
        Binary::File(file) => Box::new(file),
        Binary::Pipe(bytes) => Box::new(Cursor::new(bytes)),
    };
    let file = BinaryFile { path, form: "Arrow" };
    let reader = file.reading(|| Reader::open(source))?;
    Ok((Arc::clone(&reader.schema), file.batches(reader)))
}

/// Bytes in any order.
trait Source: Read + Seek {}

impl<S: Read + Seek> Source for S {}

/// The batches of a file, of which one is held at a time.
struct Reader {
    source: Box<dyn Source>,
    /// Bytes of the file.
    length: u64,
    schema: SchemaRef,
    decoder: FileDecoder,
    /// Where the batches are.
    blocks: std::vec::IntoIter<Block>,
}

impl Reader {
    /// Reads the footer and the dictionaries.
    ///
    /// # Errors
    /// Why the file cannot be read.
    fn open(mut source: Box<dyn Source>) -> std::result::Result<Self, String> {
        let failed = |error: std::io::Error| error.to_string();
        let length = source.seek(SeekFrom::End(0)).map_err(failed)?;
        let short = "it is cut short: no footer at its end";
        let before_tail = length.checked_sub(TAIL as u64).ok_or(short)?;
        let tail: [u8; TAIL] =
            bytes(&mut source, before_tail, TAIL as u64)?.try_into().map_err(|_| short)?;
        let size = read_footer_length(tail).map_err(|_| short)? as u64;
        let start = before_tail.checked_sub(size).filter(|start| *start >= HEAD);
        let start = start.ok_or_else(|| format!("a footer of {size} bytes in a shorter file"))?;
        let footer = bytes(&mut source, start, size)?;
        let footer = root_as_footer(&footer).map_err(|error| error.to_string())?;
        let columns = footer.schema().ok_or("a footer without columns")?;
        if columns.endianness() != Endianness::Little {
            return Err("numbers with the highest byte first".into());
        }
        let schema = Arc::new(convert::fb_to_schema(columns));
        // Not always aligned as this machine likes it.
        let decoder = FileDecoder::new(Arc::clone(&schema), footer.version());
        let decoder = decoder.with_require_alignment(false);
        let blocks = footer.recordBatches().into_iter().flatten().copied();
        let blocks = blocks.collect::<Vec<_>>().into_iter();
        let mut reader = Self { source, length, schema, decoder, blocks };
        for block in footer.dictionaries().into_iter().flatten() {
            let bytes = reader.block(block)?;
            reader.decoder.read_dictionary(block, &bytes).map_err(described)?;
        }
        Ok(reader)
    }

    /// The bytes of a message and of what belongs to it, if its sizes can be those of this file.
    fn block(&mut self, block: &Block) -> std::result::Result<Buffer, String> {
        let outside = || "a batch outside the file".to_owned();
        let start = u64::try_from(block.offset()).map_err(|_| outside())?;
        let head = u64::try_from(block.metaDataLength()).map_err(|_| outside())?;
        let body = u64::try_from(block.bodyLength()).map_err(|_| outside())?;
        let size = head.checked_add(body).ok_or_else(outside)?;
        if start.checked_add(size).is_none_or(|end| end > self.length) {
            return Err(outside());
        }
        let bytes = bytes(&mut self.source, start, size)?;
        let (message, body) = bytes.split_at(usize::try_from(head).map_err(|_| outside())?);
        check_message(message, body)?;
        Ok(Buffer::from(bytes))
    }
}

impl Iterator for Reader {
    type Item = std::result::Result<RecordBatch, String>;

    fn next(&mut self) -> Option<Self::Item> {
        let block = self.blocks.next()?;
        let batch = self.block(&block).and_then(|bytes| {
            let batch = self.decoder.read_record_batch(&block, &bytes).map_err(described)?;
            batch.ok_or_else(|| "a batch that is none".to_owned())
        });
        Some(batch)
    }
}

/// Some bytes of a source, which lie inside it.
fn bytes(source: &mut dyn Source, start: u64, size: u64) -> std::result::Result<Vec<u8>, String> {
    let mut found = Vec::new();
    source.seek(SeekFrom::Start(start)).map_err(|error| error.to_string())?;
    source.take(size).read_to_end(&mut found).map_err(|error| error.to_string())?;
    if found.len() as u64 == size { Ok(found) } else { Err("it is cut short".into()) }
}

#[expect(clippy::needless_pass_by_value, reason = "an argument of `map_err`")]
fn described(error: ArrowError) -> String {
    error.to_string()
}
