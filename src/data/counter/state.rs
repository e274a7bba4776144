//! What a counter has counted, as bytes.
//!
//! The bytes are, in this order: eight letters and the version (32 bits, little-endian); the digest of the plan; then
//! numbers in base 128, the least significant digit first, each byte but the last of a number with its top bit set: the
//! number of records; for each attribute and each structural zero the rows that did not fit, and where there are any, the
//! length and the bytes of an example; and for the cells of all tables in turn, the number of zeros before the next cell
//! that is not zero, and its count, and at last the number of zeros at the end. A SHA-256 digest of all that closes the
//! state.

use sha2::{Digest, Sha256};

use super::misfits::{Kind, Misfits};
use super::plan::VERSION;
use super::{CountPlan, Counter};
use crate::error::{Error, Result};

const LETTERS: &[u8; 8] = b"jointlyC";
const DIGEST: usize = 32;
/// Longest example of a row that does not fit, in bytes: the longest that this program writes is far shorter.
const LONGEST_EXAMPLE: u64 = 1 << 16;

impl Counter {
    /// What was counted so far, to be merged into another counter of the same plan. **Private** where the table is.
    ///
    /// # Errors
    /// None in practice.
    pub fn state(&mut self) -> Result<Vec<u8>> {
        self.count_waiting()?;
        let mut bytes = LETTERS.to_vec();
        bytes.extend(VERSION.to_le_bytes());
        bytes.extend(self.plan.digest());
        push(&mut bytes, self.records);
        for kind in &self.misfits.kinds {
            push(&mut bytes, kind.rows);
            if kind.rows > 0 {
                push(&mut bytes, kind.example.len() as u64);
                bytes.extend(kind.example.as_bytes());
            }
        }
        let mut zeros = 0;
        for count in self.tables.iter().flatten() {
            if *count == 0 {
                zeros += 1;
            } else {
                push(&mut bytes, zeros);
                push(&mut bytes, *count);
                zeros = 0;
            }
        }
        push(&mut bytes, zeros);
        let digest = Sha256::digest(&bytes);
        bytes.extend(digest);
        Ok(bytes)
    }

    /// The counter that wrote a state.
    pub(super) fn of_state(plan: &CountPlan, state: &[u8]) -> Result<Self> {
        let refused = |found: &str| {
            let expected = "the state of a counter of this plan";
            Error::invalid_specification("state of a counter", found, expected)
        };
        let head = LETTERS.len() + VERSION.to_le_bytes().len();
        let Some((content, digest)) = state.split_last_chunk::<DIGEST>() else {
            return Err(refused("too few bytes"));
        };
        let rest = content.strip_prefix(LETTERS).ok_or_else(|| refused("other bytes"))?;
        if rest.strip_prefix(&VERSION.to_le_bytes()).is_none() {
            return Err(refused("another version"));
        }
        if Sha256::digest(content).as_slice() != digest {
            return Err(refused("damaged bytes"));
        }
        let Some((own, rest)) = content[head..].split_first_chunk::<DIGEST>() else {
            return Err(refused("too few bytes"));
        };
        if *own != plan.digest() {
            return Err(refused("a state of another plan: another schema, cliques or version"));
        }
        let mut bytes = Bytes(rest);
        bytes.counter(plan).ok_or_else(|| refused("contradictory bytes"))
    }
}

/// Appends a number in base 128.
fn push(bytes: &mut Vec<u8>, mut number: u64) {
    loop {
        let digit = number.to_le_bytes()[0] & 0x7f;
        number >>= 7;
        if number == 0 {
            bytes.push(digit);
            return;
        }
        bytes.push(digit | 0x80);
    }
}

/// Bytes still to be read. Every reading is `None` where they are not as they should be.
struct Bytes<'b>(&'b [u8]);

impl Bytes<'_> {
    fn number(&mut self) -> Option<u64> {
        let mut number = 0_u64;
        for place in 0..10 {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let digit = u64::from(byte & 0x7f);
            let shifted = digit << (7 * place);
            if shifted >> (7 * place) != digit {
                return None;
            }
            number |= shifted;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    fn text(&mut self) -> Option<String> {
        let length = self.number().filter(|length| *length <= LONGEST_EXAMPLE)?;
        let (text, rest) = self.0.split_at_checked(usize::try_from(length).ok()?)?;
        self.0 = rest;
        Some(std::str::from_utf8(text).ok()?.to_owned())
    }

    fn counter(&mut self, plan: &CountPlan) -> Option<Counter> {
        let mut counter = plan.counter();
        counter.records = self.number()?;
        counter.misfits = self.misfits(&counter.misfits)?;
        let mut zeros = self.number()?;
        for table in &mut counter.tables {
            let mut sum = 0_u64;
            for cell in table {
                if zeros > 0 {
                    zeros -= 1;
                    continue;
                }
                *cell = self.number().filter(|count| *count > 0)?;
                sum = sum.checked_add(*cell)?;
                zeros = self.number()?;
            }
            if sum != counter.records {
                return None;
            }
        }
        (zeros == 0 && self.0.is_empty()).then_some(counter)
    }

    fn misfits(&mut self, empty: &Misfits) -> Option<Misfits> {
        let mut misfits = empty.clone();
        for kind in &mut misfits.kinds {
            let rows = self.number()?;
            let example = if rows > 0 { self.text()? } else { String::new() };
            *kind = Kind { rows, example };
        }
        Some(misfits)
    }
}
