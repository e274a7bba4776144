//! The Thrift compact protocol, in which Parquet writes its footer and the headers of its pages, walked through without
//! building anything: every length is compared with the bytes that are there.
//!
//! Format: <https://github.com/apache/thrift/blob/master/doc/specs/thrift-compact-protocol.md>.

/// Structs, lists and maps inside one another, at most. Those of Parquet have 6 levels.
const DEEPEST: usize = 32;

/// What a walk meets, in the order of the bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part {
    /// A whole number.
    Number(i64),
    /// A field that is true or false.
    Truth(bool),
    /// The start of a list, and the number of its elements.
    List(u64),
    /// The start of a struct that is an element of a list.
    Element,
    /// Anything else.
    Other,
}

/// Why a walk stopped.
#[derive(Debug, PartialEq)]
pub(super) enum Stop {
    /// The bytes end too early.
    Short,
    /// They are not what Parquet writes.
    Wrong(String),
}

/// Called with each value and with the numbers of the fields that lead to it; an element of a list has those of the list. An
/// error stops the walk.
pub(super) type Visit<'v> = &'v mut dyn FnMut(&[i16], Part) -> Result<(), String>;

/// Walks through a struct and returns its length in bytes.
///
/// # Errors
/// Bytes that end too early or do not follow the protocol, or the error of `visit`.
pub(super) fn walk(bytes: &[u8], visit: Visit<'_>) -> Result<usize, Stop> {
    let mut walk = Walk { bytes, at: 0, path: Vec::with_capacity(DEEPEST), depth: 0, visit };
    walk.fields()?;
    Ok(walk.at)
}

struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Numbers of the fields that lead here.
    path: Vec<i16>,
    depth: usize,
    visit: Visit<'a>,
}

impl Walk<'_> {
    /// The fields of a struct, up to its end.
    fn fields(&mut self) -> Result<(), Stop> {
        self.deeper(|walk| {
            let mut last = 0_i16;
            loop {
                let header = walk.byte()?;
                let kind = header & 0x0f;
                if kind == 0 {
                    return Ok(());
                }
                let id = match header >> 4 {
                    0 => i16::try_from(zigzag(walk.varint()?)).ok(),
                    step => last.checked_add(i16::from(step)),
                };
                last = id.ok_or_else(|| wrong("the number of a field is too large"))?;
                walk.path.push(last);
                walk.value(kind, false)?;
                walk.path.pop();
            }
        })
    }

    /// A value of a type. `in_list`: whether it is an element of a list.
    fn value(&mut self, kind: u8, in_list: bool) -> Result<(), Stop> {
        match kind {
            // In a field, the type is the value. Parquet has no list of them in what is walked here.
            1 | 2 if !in_list => self.see(Part::Truth(kind == 1)),
            3 => {
                self.take(1)?;
                self.see(Part::Other)
            }
            4..=6 => {
                let number = zigzag(self.varint()?);
                self.see(Part::Number(number))
            }
            7 => {
                self.take(8)?;
                self.see(Part::Other)
            }
            8 => {
                let length = self.varint()?;
                self.take(length)?;
                self.see(Part::Other)
            }
            9 | 10 => self.list(),
            11 => self.map(),
            12 => {
                self.see(if in_list { Part::Element } else { Part::Other })?;
                self.fields()
            }
            _ => Err(wrong(&format!("a value of the unknown type {kind}"))),
        }
    }

    fn list(&mut self) -> Result<(), Stop> {
        let header = self.byte()?;
        let size = match header >> 4 {
            15 => self.varint()?,
            size => u64::from(size),
        };
        self.has_room(size)?;
        self.see(Part::List(size))?;
        self.deeper(|walk| (0..size).try_for_each(|_| walk.value(header & 0x0f, true)))
    }

    fn map(&mut self) -> Result<(), Stop> {
        let size = self.varint()?;
        self.has_room(size)?;
        self.see(Part::Other)?;
        if size == 0 {
            return Ok(());
        }
        let kinds = self.byte()?;
        self.deeper(|walk| {
            (0..size).try_for_each(|_| {
                walk.value(kinds >> 4, true)?;
                walk.value(kinds & 0x0f, true)
            })
        })
    }

    fn deeper(&mut self, inside: impl FnOnce(&mut Self) -> Result<(), Stop>) -> Result<(), Stop> {
        if self.depth == DEEPEST {
            return Err(wrong("structs and lists lie too deep inside one another"));
        }
        self.depth += 1;
        inside(self)?;
        self.depth -= 1;
        Ok(())
    }

    fn see(&mut self, seen: Part) -> Result<(), Stop> {
        (self.visit)(&self.path, seen).map_err(Stop::Wrong)
    }

    fn byte(&mut self) -> Result<u8, Stop> {
        let byte = *self.bytes.get(self.at).ok_or(Stop::Short)?;
        self.at += 1;
        Ok(byte)
    }

    fn take(&mut self, length: u64) -> Result<(), Stop> {
        self.has_room(length)?;
        self.at += usize::try_from(length).map_err(|_| Stop::Short)?;
        Ok(())
    }

    /// An element takes at least one byte.
    fn has_room(&self, elements: u64) -> Result<(), Stop> {
        if elements > (self.bytes.len() - self.at) as u64 { Err(Stop::Short) } else { Ok(()) }
    }

    /// A number in base 128, the lowest digits first.
    fn varint(&mut self) -> Result<u64, Stop> {
        let mut number = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(wrong("a number of more than 64 bits"))
    }
}

fn wrong(reason: &str) -> Stop {
    Stop::Wrong(reason.to_owned())
}

/// A signed number: 0, -1, 1, -2, ... are written as 0, 1, 2, 3, ...
fn zigzag(number: u64) -> i64 {
    (number >> 1).cast_signed() ^ -(number & 1).cast_signed()
}

#[cfg(test)]
mod tests;
