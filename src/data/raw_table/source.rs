//! The bytes of a table of text.

use std::cell::Cell;
use std::io::{self, BufRead, BufReader, Read};
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use crate::data::transcode::Utf8Reader;
use crate::domain::Encoding;

/// Bytes read at a time.
pub(super) const BUFFER: usize = 1 << 17;

/// Bytes of a plain or gzip source, in UTF-8; adds a line end to a last line without one.
pub(in crate::data) struct Source<R> {
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
    pub(in crate::data) fn open(
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
