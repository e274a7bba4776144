//! Tables in other encodings, as UTF-8.

use std::io::{self, BufRead, Read};

use encoding_rs::{DecoderResult, UTF_8, UTF_16BE, UTF_16LE, WINDOWS_1252};

use crate::domain::Encoding;

/// Bytes decoded at a time.
const BLOCK: usize = 1 << 15;

/// A byte that occurs in no text in UTF-8: it stands for input that cannot be decoded, so that the cell that holds it is
/// refused where it is read.
const UNDECODABLE: u8 = 0xff;

/// A source of bytes, as UTF-8 where its encoding is another one.
pub(super) struct Utf8Reader<R> {
    source: R,
    decoder: Option<encoding_rs::Decoder>,
    decoded: Vec<u8>,
    at: usize,
    ended: bool,
}

impl<R: BufRead> Utf8Reader<R> {
    /// Detects a byte-order mark; without one, the text has the encoding given.
    pub(super) fn open(mut source: R, encoding: Encoding) -> io::Result<Self> {
        let start = source.fill_buf()?;
        let marked = encoding_rs::Encoding::for_bom(start).map(|(encoding, _)| encoding);
        let used = marked.unwrap_or(match encoding {
            Encoding::Utf8 => UTF_8,
            Encoding::Latin1 => WINDOWS_1252,
        });
        let other = used == UTF_16LE || used == UTF_16BE || used == WINDOWS_1252;
        let decoder = other.then(|| used.new_decoder_with_bom_removal());
        Ok(Self { source, decoder, decoded: Vec::new(), at: 0, ended: false })
    }
}

impl<R: BufRead> Read for Utf8Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(decoder) = &mut self.decoder else { return self.source.read(buffer) };
        while self.at == self.decoded.len() && !self.ended {
            self.at = 0;
            self.decoded.resize(BLOCK, 0);
            let bytes = self.source.fill_buf()?;
            self.ended = bytes.is_empty();
            let (result, read, mut written) =
                decoder.decode_to_utf8_without_replacement(bytes, &mut self.decoded, self.ended);
            self.source.consume(read);
            if matches!(result, DecoderResult::Malformed(..)) {
                // The decoder resumes after it, also at the end of the input.
                self.ended = false;
                if let Some(free) = self.decoded.get_mut(written) {
                    *free = UNDECODABLE;
                    written += 1;
                }
            }
            self.decoded.truncate(written);
        }
        let ready = &self.decoded[self.at..];
        let length = ready.len().min(buffer.len());
        buffer[..length].copy_from_slice(&ready[..length]);
        self.at += length;
        Ok(length)
    }
}

#[cfg(test)]
mod tests;
