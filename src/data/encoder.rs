//! Cells to codes, without an allocation per cell.

use crate::domain::{Bins, Group, Kind, Outside, Schema, SchemaColumn, date_of, days, texts};

/// Longest code that is looked up as one 64-bit word: seven bytes and its length.
const WORD: usize = 7;

/// How the cells of one column become codes.
#[derive(Clone, Debug)]
pub(crate) struct Encoder {
    lookup: Lookup,
    /// The texts of missing values, and their code.
    missing: Option<(Vec<Vec<u8>>, u32)>,
    /// The missing values that are written as numbers.
    #[cfg_attr(not(feature = "arrow"), expect(dead_code, reason = "text alone is read"))]
    missing_numbers: Vec<f64>,
}

#[derive(Clone, Debug)]
enum Lookup {
    /// Codes of at most seven bytes, in a hash table with open addressing.
    Words { slots: Vec<(u64, u32)>, shift: u32, other: Option<u32> },
    /// Longer codes, in a hash table with open addressing.
    Texts { slots: Vec<Option<(Box<[u8]>, u32)>>, shift: u32, other: Option<u32> },
    /// Numbers in bins.
    Bins(Bins),
    /// Dates in bins of days.
    Dates(Bins),
    /// Integers below a size.
    Below(u32),
}

/// The text as one word with its length, so that `"1"` and `"01"` differ.
fn word(text: &[u8]) -> u64 {
    text.iter().fold(text.len() as u64, |word, byte| (word << 8) | u64::from(*byte))
}

/// A number for a text of any length: of its length, and of eight bytes at its beginning, in its middle and at its end.
fn hash(text: &[u8]) -> u64 {
    let length = text.len();
    let Some(end) = text.last_chunk::<8>() else { return word(text) };
    let middle = text.get(length / 2 - 4..).and_then(<[u8]>::first_chunk::<8>).unwrap_or(end);
    let start = text.first_chunk::<8>().unwrap_or(end);
    let mixed = [start, middle, end].into_iter().fold(length as u64, |mixed, bytes| {
        (mixed.rotate_left(23) ^ u64::from_le_bytes(*bytes)).wrapping_mul(0x9E37_79B9_7F4A_7C15)
    });
    mixed ^ (mixed >> 32)
}

/// Slot of a word in a table of `2^(64 - shift)` slots (multiplicative hashing).
#[expect(clippy::cast_possible_truncation, reason = "the shift leaves fewer than 32 bits")]
fn slot(word: u64, shift: u32) -> usize {
    (word.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> shift) as usize
}

impl Encoder {
    /// The encoder of a column; `None` if the column is not coded.
    pub(crate) fn new(column: &SchemaColumn, schema: &Schema) -> Option<Self> {
        let lookup = match column.kind.as_ref()? {
            Kind::Categorical { codes, other, groups, .. } => {
                Lookup::of_codes(codes, groups, *other)
            }
            Kind::Numeric(bins) => Lookup::Bins(bins.clone()),
            Kind::Date(bins) => Lookup::Dates(bins.clone()),
            Kind::Coded { size } => Lookup::Below(*size),
        };
        let texts =
            || std::iter::once(schema.na_token()).chain(schema.missing().iter().map(|t| &**t));
        let tokens = || texts().map(|text| text.as_bytes().to_vec()).collect();
        let missing = column.na_code().map(|code| (tokens(), code));
        let missing_numbers = texts().filter_map(|text| number(text.as_bytes())).collect();
        Some(Self { lookup, missing, missing_numbers })
    }

    /// The same for tables that hold numbers and dates as such, whatever the column's notation is.
    pub(crate) fn of_values(mut self) -> Self {
        if let Lookup::Bins(bins) | Lookup::Dates(bins) = &mut self.lookup {
            *bins = bins.clone().with_notation(None);
        }
        self
    }

    /// The number of a cell in a column of numbers or dates, NaN if it is missing; `None` if it is neither, and in other
    /// columns. A date is its day.
    pub(crate) fn number(&self, cell: &[u8]) -> Option<f64> {
        if self.missing.as_ref().is_some_and(|(tokens, _)| tokens.iter().any(|t| t == cell)) {
            return Some(f64::NAN);
        }
        match &self.lookup {
            Lookup::Bins(bins) => number_of(cell, bins),
            Lookup::Dates(bins) => day_of(cell, bins),
            Lookup::Words { .. } | Lookup::Texts { .. } | Lookup::Below(_) => None,
        }
    }

    /// The bins of a column of numbers, if the code of this one follows from them as from its text. It does not where it stands
    /// for a missing value.
    #[cfg(feature = "arrow")]
    pub(crate) fn bins_of(&self, value: f64) -> Option<&Bins> {
        let Lookup::Bins(bins) = &self.lookup else { return None };
        let is_missing = self.missing.is_some() && self.missing_numbers.contains(&value);
        (value.is_finite() && !is_missing).then_some(bins)
    }

    /// The code of a cell; `None` if the cell does not fit the column.
    pub(crate) fn encode(&self, cell: &[u8]) -> Option<u32> {
        if let Some((tokens, code)) = &self.missing
            && tokens.iter().any(|token| token == cell)
        {
            return Some(*code);
        }
        match &self.lookup {
            Lookup::Words { slots, shift, other } => {
                if cell.len() > WORD {
                    return other.filter(|_| is_text(cell));
                }
                let word = word(cell);
                let mut at = slot(word, *shift);
                loop {
                    match slots.get(at) {
                        Some((w, code)) if *w == word && *code != u32::MAX => return Some(*code),
                        Some((_, u32::MAX)) | None => return other.filter(|_| is_text(cell)),
                        Some(_) => at = (at + 1) & (slots.len() - 1),
                    }
                }
            }
            Lookup::Texts { slots, shift, other } => {
                let mut at = slot(hash(cell), *shift);
                loop {
                    match slots.get(at) {
                        Some(Some((text, code))) if **text == *cell => return Some(*code),
                        Some(Some(_)) => at = (at + 1) & (slots.len() - 1),
                        Some(None) | None => return other.filter(|_| is_text(cell)),
                    }
                }
            }
            Lookup::Bins(bins) => bins.code(number_of(cell, bins)?),
            Lookup::Dates(bins) => bins.code(day_of(cell, bins)?),
            Lookup::Below(size) => {
                let value = number(cell)?;
                let inside = value >= 0.0 && value < f64::from(*size) && value.fract() == 0.0;
                #[expect(clippy::cast_possible_truncation, reason = "whole and below a u32")]
                #[expect(clippy::cast_sign_loss, reason = "not negative")]
                inside.then_some(value as u32)
            }
        }
    }
}

impl Lookup {
    fn of_codes(codes: &[String], groups: &[Group], other: Option<u32>) -> Self {
        let numbered = || texts(codes, groups);
        // At most half full, so that a search ends soon.
        let size = (2 * numbered().count().max(1)).next_power_of_two();
        let shift = 64 - size.trailing_zeros();
        if numbered().any(|(text, _)| text.len() > WORD) {
            let mut slots = vec![None; size];
            for (text, code) in numbered() {
                let mut at = slot(hash(text.as_bytes()), shift);
                while slots[at].is_some() {
                    at = (at + 1) & (size - 1);
                }
                slots[at] = Some((text.as_bytes().into(), code));
            }
            return Self::Texts { slots, shift, other };
        }
        // u32::MAX marks a free slot.
        let mut slots = vec![(0, u32::MAX); size];
        for (text, code) in numbered() {
            let word = word(text.as_bytes());
            let mut at = slot(word, shift);
            while slots[at].1 != u32::MAX {
                at = (at + 1) & (size - 1);
            }
            slots[at] = (word, code);
        }
        Self::Words { slots, shift, other }
    }
}

/// Whether a cell can be decoded; the catch-all code takes no damaged text.
fn is_text(cell: &[u8]) -> bool {
    std::str::from_utf8(cell).is_ok()
}

/// The number of a cell in bins.
fn number_of(cell: &[u8], bins: &Bins) -> Option<f64> {
    match bins.notation() {
        None => number(cell),
        Some(notation) => notation.read(std::str::from_utf8(cell).ok()?).filter(|x| x.is_finite()),
    }
}

/// The day of a cell in bins of dates.
fn day_of(cell: &[u8], bins: &Bins) -> Option<f64> {
    let text = std::str::from_utf8(cell.trim_ascii()).ok()?;
    match bins.notation() {
        None => days(text).map(f64::from),
        Some(notation) => notation.read(text),
    }
}

/// A finite number, with spaces around it allowed.
pub(super) fn number(cell: &[u8]) -> Option<f64> {
    let cell = cell.trim_ascii();
    let (negative, digits) = match cell.split_first() {
        Some((b'-', digits)) => (true, digits),
        _ => (false, cell),
    };
    // Nearly every cell is a short integer, exact in f64.
    if (1..=15).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) {
        let value = digits.iter().fold(0_u64, |value, d| value * 10 + u64::from(d - b'0'));
        let value = value as f64;
        return Some(if negative { -value } else { value });
    }
    let value: f64 = std::str::from_utf8(cell).ok()?.parse().ok()?;
    value.is_finite().then_some(value)
}

/// The values that a column accepts, for an error message.
pub(super) fn expectation(column: &SchemaColumn, na_token: &str) -> String {
    const SHOWN: usize = 8;
    let mut text = match &column.kind {
        None => return "nothing".into(),
        Some(Kind::Categorical { codes, groups, .. }) => {
            let shown: Vec<String> =
                texts(codes, groups).take(SHOWN).map(|(text, _)| format!("'{text}'")).collect();
            let count = texts(codes, groups).count();
            let more =
                if count > SHOWN { format!(", ... ({count} codes in all)") } else { String::new() };
            format!("one of {}{more}", shown.join(", "))
        }
        Some(Kind::Numeric(bins)) => {
            let edges = bins.edges();
            match bins.outside() {
                Outside::Clamp => "a number".to_owned(),
                Outside::Refuse => {
                    format!("a number from {} to below {}", edges[0], edges[edges.len() - 1])
                }
            }
        }
        Some(Kind::Date(bins)) => match (bins.outside(), bins.edges()) {
            (Outside::Refuse, [first, .., end]) => {
                format!("a date from {} to before {}", date_of(*first), date_of(*end))
            }
            _ => "a date 'YYYY-MM-DD'".to_owned(),
        },
        Some(Kind::Coded { size }) => format!("an integer from 0 to {}", size - 1),
    };
    if let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &column.kind
        && let Some(notation) = bins.notation()
    {
        text = format!("{text}, written like '{}'", notation.text());
    }
    if column.na && na_token.is_empty() {
        text.push_str(", or nothing (missing)");
    } else if column.na {
        text = format!("{text}, or '{na_token}' (missing)");
    }
    text
}

#[cfg(test)]
mod tests;
