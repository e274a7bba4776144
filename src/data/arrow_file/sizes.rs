//! The sizes that a message of an Arrow file states, compared with the bytes that it has: the library allocates what is stated,
//! and a failing allocation ends the program.

use arrow_ipc::{CompressionType, RecordBatch, root_as_message};

/// The first bytes of a message, before its length.
const CONTINUED: [u8; 4] = [0xff; 4];

/// Bytes of content, or rows, at most, as of a page of Parquet.
const MOST: u64 = i32::MAX as u64;

/// Bytes beyond a buffer's own for which content is allowed, so that small buffers are never refused.
const SLACK: u64 = 64;

/// Bytes before a compressed buffer: the size of its content.
const SIZE: usize = 8;

/// Checks a message and the buffers that belong to it.
///
/// # Errors
/// What cannot be.
pub(super) fn check_message(message: &[u8], body: &[u8]) -> Result<(), String> {
    let short = "a message that is cut short";
    let start = if message.starts_with(&CONTINUED) { 8 } else { 4 };
    let message = root_as_message(message.get(start..).ok_or(short)?);
    let message = message.map_err(|error| error.to_string())?;
    let batch = message
        .header_as_record_batch()
        .or_else(|| message.header_as_dictionary_batch().and_then(|batch| batch.data()));
    let batch = batch.ok_or("a message without a batch where one belongs")?;
    match u64::try_from(batch.length()) {
        Ok(rows) if rows <= MOST => check_buffers(batch, body),
        _ => Err(format!("a batch of {} rows, at most {MOST} are read", batch.length())),
    }
}

/// Compares the buffers of a batch with the bytes that are there.
fn check_buffers(batch: RecordBatch<'_>, body: &[u8]) -> Result<(), String> {
    // Bytes that one byte can stand for: a length in units of 255, a block of 128 KiB in 4 bytes.
    let most = match batch.compression().map(|compression| compression.codec()) {
        None => None,
        Some(CompressionType::LZ4_FRAME) => Some(255),
        Some(CompressionType::ZSTD) => Some(1 << 15),
        Some(other) => return Err(format!("the unknown compression {other:?}")),
    };
    for buffer in batch.buffers().into_iter().flatten() {
        let outside = || format!("a buffer of {} bytes outside its batch", buffer.length());
        let start = usize::try_from(buffer.offset()).map_err(|_| outside())?;
        let length = usize::try_from(buffer.length()).map_err(|_| outside())?;
        let end = start.checked_add(length).ok_or_else(outside)?;
        let own = body.get(start..end).ok_or_else(outside)?;
        let Some(most) = most.filter(|_| !own.is_empty()) else { continue };
        let (size, compressed) =
            own.split_first_chunk::<SIZE>().ok_or("a compressed buffer without its size")?;
        // -1: it is not compressed.
        let Ok(content) = u64::try_from(i64::from_le_bytes(*size)) else { continue };
        let possible = (compressed.len() as u64).saturating_add(SLACK).saturating_mul(most);
        if content > possible.min(MOST) {
            return Err(format!("a buffer of {} bytes with {content} in it", compressed.len()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
