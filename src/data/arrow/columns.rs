//! Whole columns of record batches to codes.
//!
//! The code of a value is that of its text ([`cell`]), so that a table in Parquet or in memory is coded as the same table in
//! CSV. But a text is written and looked up only once for most values: a dictionary's values once each, whole numbers and
//! days once as long as a small table remembers them; and numbers in bins need no text at all.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Float16Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, StringViewArray};
use arrow_schema::{DataType, TimeUnit};
use csv::ByteRecord;

use super::cells::{EXACT, cell, day_text};
use crate::data::csv::{Misfit, is_forbidden};
use crate::data::{Column, Encoder};
use crate::domain::{Domain, Schema};

/// In place of the code of a value that does not fit its column.
const UNFIT: u32 = u32::MAX;

/// The attributes of a schema in record batches: how their arrays are coded.
#[derive(Clone, Debug)]
pub(crate) struct ArrayCoder {
    domain: Domain,
    columns: Vec<(ColumnCoder, Vec<u32>)>,
    missing: Vec<u8>,
    trim: bool,
}

impl ArrayCoder {
    /// `schema`: of the attributes that are there. `whole`: the schema that says how values are written.
    pub(crate) fn new(schema: &Schema, whole: &Schema) -> Self {
        let (missing, trim) = (whole.na_token().as_bytes().to_vec(), whole.table().trim);
        let encoders = schema.attributes().filter_map(|column| Encoder::new(column, whole));
        let coder = |encoder: Encoder| ColumnCoder::new(encoder.of_values(), &missing, trim);
        let columns = encoders.map(|encoder| (coder(encoder), Vec::new())).collect();
        Self { domain: schema.domain(), columns, missing, trim }
    }

    /// Codes rows, of which `arrays` has one column for each attribute. Returns those that do not fit, in order.
    pub(crate) fn code<'a>(
        &mut self,
        arrays: impl IntoIterator<Item = &'a ArrayRef>,
        rows: usize,
    ) -> Vec<(usize, Misfit)> {
        for ((coder, codes), array) in self.columns.iter_mut().zip(arrays) {
            codes.clear();
            coder.append(array, codes);
        }
        let has_unfit = self.columns.iter().any(|(_, codes)| codes.contains(&UNFIT));
        if !has_unfit && self.domain.structural_zeros().is_empty() {
            return Vec::new();
        }
        let misfit = |row: usize| {
            let code = |a: usize| self.columns[a].1[row];
            let cell = (0..self.columns.len()).find(|a| code(*a) == UNFIT).map(Misfit::Cell);
            cell.or_else(|| is_forbidden(&self.domain, code))
        };
        (0..rows).filter_map(|row| Some((row, misfit(row)?))).collect()
    }

    /// Appends the rows that were coded last to columns, except those that do not fit.
    pub(crate) fn append_to(&mut self, columns: &mut [Column], unfit: &[(usize, Misfit)]) {
        for ((_, codes), column) in self.columns.iter_mut().zip(columns) {
            let mut from = 0;
            for (row, _) in unfit {
                column.extend(&codes[from..*row]);
                from = row + 1;
            }
            column.extend(&codes[from..]);
        }
    }

    /// The codes of the rows that were coded last, of each attribute.
    pub(super) fn codes(&self) -> impl Iterator<Item = &[u32]> {
        self.columns.iter().map(|(_, codes)| codes.as_slice())
    }

    /// A row as text.
    pub(crate) fn record<'a>(
        &self,
        arrays: impl IntoIterator<Item = &'a ArrayRef>,
        row: usize,
    ) -> ByteRecord {
        let mut record = ByteRecord::new();
        let mut drawn = String::new();
        for array in arrays {
            let text = text_at(array, row, &mut drawn);
            let text = text.map(|text| if self.trim { text.trim() } else { text });
            record.push_field(text.map_or(&self.missing, str::as_bytes));
        }
        record
    }
}

/// The text of a value, in a dictionary or not.
pub(super) fn text_at<'a>(
    array: &'a ArrayRef,
    row: usize,
    drawn: &'a mut String,
) -> Option<&'a str> {
    if !matches!(array.data_type(), DataType::Dictionary(..)) {
        return cell(array, row, drawn);
    }
    let values = array.as_any_dictionary().values();
    if array.is_null(row) || values.is_empty() {
        return None;
    }
    let one = array.slice(row, 1);
    let key = one.as_any_dictionary().normalized_keys().first().copied()?;
    cell(values, key, drawn)
}

/// Values that are remembered, a power of two.
const REMEMBERED: usize = 1 << 10;

/// Views that are remembered, a power of two.
const VIEWS: usize = 1 << 8;

/// What is no view: of a text of 4 GiB.
const NO_VIEW: u128 = u128::MAX;

/// Bytes of a text that is in its view.
const INLINE: usize = 12;

/// The codes of one column, batch by batch.
#[derive(Clone, Debug)]
struct ColumnCoder {
    encoder: Encoder,
    /// The code of a null.
    null: u32,
    /// Whether blanks around texts are dropped.
    trim: bool,
    /// Whole numbers or days with their codes, each at the place that its hash says.
    remembered: Box<[(i64, u32)]>,
    /// Whether these are days.
    remembers_days: bool,
    /// Views of texts with their codes, each at the place that its hash says.
    views: Box<[(u128, u32)]>,
    /// Whether one of them has the place of its text.
    has_places: bool,
    /// The values of the latest dictionary, and their codes.
    dictionary: Option<(ArrayRef, Vec<u32>)>,
}

impl ColumnCoder {
    /// `encoder`: of values. `missing`: the text of nulls. `trim`: whether blanks around texts are dropped.
    fn new(encoder: Encoder, missing: &[u8], trim: bool) -> Self {
        let null = encoder.encode(missing).unwrap_or(UNFIT);
        Self {
            encoder,
            null,
            trim,
            remembered: Box::default(),
            remembers_days: false,
            views: Box::default(),
            has_places: false,
            dictionary: None,
        }
    }

    /// Appends the codes of an array of a readable type, [`UNFIT`] for what does not fit the column.
    fn append(&mut self, array: &ArrayRef, codes: &mut Vec<u32>) {
        if let DataType::Dictionary(..) = array.data_type() {
            return self.append_dictionary(array, codes);
        }
        let is_day = array.data_type().is_temporal();
        if self.remembers_days != is_day {
            self.remembers_days = is_day;
            self.remembered = Box::default();
        }
        macro_rules! each {
            ($values:expr, $code:expr) => {{
                let values = $values;
                if array.null_count() == 0 {
                    codes.extend((0..array.len()).map(|row| $code(values.value(row))));
                } else {
                    codes.extend((0..array.len()).map(|row| match values.is_null(row) {
                        true => self.null,
                        false => $code(values.value(row)),
                    }));
                }
            }};
        }
        macro_rules! whole {
            ($kind:ty) => {
                each!(array.as_primitive::<$kind>(), |value| self.whole(i64::from(value)))
            };
        }
        macro_rules! days {
            ($kind:ty, $per_day:expr) => {
                each!(array.as_primitive::<$kind>(), |value: i64| self
                    .day(value.div_euclid($per_day)))
            };
        }
        match array.data_type() {
            DataType::Utf8 => each!(array.as_string::<i32>(), |text| self.text(text)),
            DataType::LargeUtf8 => each!(array.as_string::<i64>(), |text| self.text(text)),
            DataType::Utf8View => self.append_views(array.as_string_view(), codes),
            DataType::Boolean => each!(array.as_boolean(), |value| self.whole(i64::from(value))),
            DataType::Int8 => whole!(Int8Type),
            DataType::Int16 => whole!(Int16Type),
            DataType::Int32 => whole!(Int32Type),
            DataType::Int64 => whole!(Int64Type),
            DataType::UInt8 => whole!(UInt8Type),
            DataType::UInt16 => whole!(UInt16Type),
            DataType::UInt32 => whole!(UInt32Type),
            DataType::UInt64 => {
                each!(
                    array.as_primitive::<UInt64Type>(),
                    |value: u64| match i64::try_from(value) {
                        Ok(value) => self.whole(value),
                        Err(_) => self.text(&value.to_string()),
                    }
                );
            }
            DataType::Float16 => {
                each!(array.as_primitive::<Float16Type>(), |value| {
                    self.number(f64::from(value), &value, false)
                });
            }
            DataType::Float32 => {
                each!(array.as_primitive::<Float32Type>(), |value| {
                    self.number(f64::from(value), &value, false)
                });
            }
            DataType::Float64 => {
                each!(array.as_primitive::<Float64Type>(), |value| self
                    .number(value, &value, true));
            }
            DataType::Date32 => {
                each!(array.as_primitive::<Date32Type>(), |day| self.day(i64::from(day)));
            }
            DataType::Date64 => days!(Date64Type, 86_400_000),
            DataType::Timestamp(TimeUnit::Second, None) => days!(TimestampSecondType, 86_400),
            DataType::Timestamp(TimeUnit::Millisecond, None) => {
                days!(TimestampMillisecondType, 86_400_000);
            }
            DataType::Timestamp(TimeUnit::Microsecond, None) => {
                days!(TimestampMicrosecondType, 86_400_000_000);
            }
            DataType::Timestamp(TimeUnit::Nanosecond, None) => {
                days!(TimestampNanosecondType, 86_400_000_000_000);
            }
            _ => self.append_texts(array, codes),
        }
    }

    /// Codes texts by their views, each once as long as a small table remembers it. The view of a text of up to twelve bytes has
    /// the text in it. That of a longer one has its place, which is another text in other buffers.
    fn append_views(&mut self, array: &StringViewArray, codes: &mut Vec<u32>) {
        if self.views.is_empty() || self.has_places {
            self.views = vec![(NO_VIEW, UNFIT); VIEWS].into();
            self.has_places = false;
        }
        let has_nulls = array.null_count() > 0;
        codes.extend(array.views().iter().enumerate().map(|(row, view)| {
            if has_nulls && array.is_null(row) {
                return self.null;
            }
            let place = view_slot(*view);
            if self.views[place].0 != *view {
                let code = self.text(array.value(row));
                self.views[place] = (*view, code);
                self.has_places |= array.value(row).len() > INLINE;
            }
            self.views[place].1
        }));
    }

    /// Codes values by their texts, one by one.
    fn append_texts(&mut self, array: &ArrayRef, codes: &mut Vec<u32>) {
        let mut drawn = String::new();
        for row in 0..array.len() {
            codes.push(match cell(array, row, &mut drawn) {
                Some(text) => self.text(text),
                None => self.null,
            });
        }
    }

    /// Codes each value of a dictionary once.
    fn append_dictionary(&mut self, array: &ArrayRef, codes: &mut Vec<u32>) {
        let dictionary = array.as_any_dictionary();
        let values = dictionary.values();
        let coded = match self.dictionary.take() {
            Some((latest, coded)) if Arc::ptr_eq(&latest, values) => coded,
            _ => {
                let mut coded = Vec::with_capacity(values.len());
                self.append(values, &mut coded);
                coded
            }
        };
        let code = |key: usize| coded.get(key).copied().unwrap_or(UNFIT);
        if values.is_empty() {
            // Nulls alone.
            codes.extend(std::iter::repeat_n(self.null, array.len()));
        } else if let Some(keys) = array.as_dictionary_opt::<Int32Type>()
            && array.null_count() == 0
        {
            let keys = keys.keys().values().iter();
            codes.extend(keys.map(|key| usize::try_from(*key).map_or(UNFIT, code)));
        } else {
            let keys = dictionary.normalized_keys();
            let code = |(row, key)| if array.is_null(row) { self.null } else { code(key) };
            codes.extend((0..).zip(keys).map(code));
        }
        self.dictionary = Some((Arc::clone(values), coded));
    }

    /// The code of a text.
    fn text(&self, text: &str) -> u32 {
        let text = if self.trim { text.trim() } else { text };
        self.encoder.encode(text.as_bytes()).unwrap_or(UNFIT)
    }

    /// The code of a whole number.
    fn whole(&mut self, value: i64) -> u32 {
        if value.unsigned_abs() <= EXACT
            && let Some(bins) = self.encoder.bins_of(value as f64)
        {
            return bins.code(value as f64).unwrap_or(UNFIT);
        }
        self.remembered(value, |coder| coder.text(&value.to_string()))
    }

    /// The code of a number. `shown`: the same number in its own type. `is_exact`: whether that type is `f64`.
    fn number(&mut self, value: f64, shown: &impl std::fmt::Display, is_exact: bool) -> u32 {
        if value.is_nan() {
            return self.null;
        }
        if value.fract() == 0.0 && value.abs() <= EXACT as f64 {
            #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
            return self.whole(value as i64);
        }
        if is_exact && let Some(bins) = self.encoder.bins_of(value) {
            return bins.code(value).unwrap_or(UNFIT);
        }
        self.text(&shown.to_string())
    }

    /// The code of a day, counted from 1970.
    fn day(&mut self, day: i64) -> u32 {
        self.remembered(day, |coder| coder.text(&day_text(day)))
    }

    /// The code of a value that may have been seen before.
    fn remembered(&mut self, value: i64, code: impl FnOnce(&Self) -> u32) -> u32 {
        if self.remembered.is_empty() {
            // Every place has a value that belongs elsewhere.
            let of_another = |place| i64::from(place == slot(0));
            self.remembered = (0..REMEMBERED).map(|place| (of_another(place), UNFIT)).collect();
        }
        let place = slot(value);
        if self.remembered[place].0 == value {
            return self.remembered[place].1;
        }
        let code = code(self);
        self.remembered[place] = (value, code);
        code
    }
}

/// The place of a value among those that are remembered (multiplicative hashing).
#[expect(clippy::cast_possible_truncation, reason = "the shift leaves ten bits")]
fn slot(value: i64) -> usize {
    let hash = value.cast_unsigned().wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> (u64::BITS - REMEMBERED.trailing_zeros())) as usize
}

/// The place of a view, likewise.
#[expect(
    clippy::cast_possible_truncation,
    reason = "both halves are mixed, and the shift leaves eight bits"
)]
fn view_slot(view: u128) -> usize {
    let halves = (view as u64).rotate_left(29) ^ (view >> u64::BITS) as u64;
    let hash = halves.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (hash >> (u64::BITS - VIEWS.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests;
