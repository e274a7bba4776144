//! The values of an Arrow array as the text that a CSV file would have.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Date32Type, Date64Type, Decimal128Type, Decimal256Type, Float16Type, Float32Type, Float64Type,
    Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType,
    TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};

use crate::domain::written;

/// Whole floating-point numbers up to this one are written as integers, `1.0` as `1`.
pub(super) const EXACT: u64 = 1 << 53;

/// Whether values of this type can be read: integers, numbers, booleans, text, dates, times without a zone, and
/// dictionaries of them.
pub(super) fn is_readable(kind: &DataType) -> bool {
    match kind {
        DataType::Null
        | DataType::Boolean
        | DataType::Float16
        | DataType::Float32
        | DataType::Float64
        | DataType::Utf8
        | DataType::LargeUtf8
        | DataType::Utf8View
        | DataType::Date32
        | DataType::Date64
        | DataType::Decimal128(..)
        | DataType::Decimal256(..)
        | DataType::Timestamp(_, None) => true,
        DataType::Dictionary(_, values) => {
            is_readable(values) && !matches!(**values, DataType::Dictionary(..))
        }
        other => other.is_integer(),
    }
}

/// Writes the text of a value; `None` for a null and for NaN. Whole numbers are written without a point, whatever their
/// type, and dates as `YYYY-MM-DD`.
///
/// `array`: of a readable type, and no dictionary. `row`: inside it.
pub(super) fn cell<'a>(array: &'a ArrayRef, row: usize, drawn: &'a mut String) -> Option<&'a str> {
    if array.is_null(row) {
        return None;
    }
    drawn.clear();
    macro_rules! shown {
        ($kind:ty) => {
            // Writing to a string cannot fail.
            _ = write!(drawn, "{}", array.as_primitive::<$kind>().value(row))
        };
    }
    macro_rules! day {
        ($kind:ty, $per_day:expr) => {{
            let days = array.as_primitive::<$kind>().value(row).div_euclid($per_day);
            drawn.push_str(&day_text(days.into()));
        }};
    }
    match array.data_type() {
        DataType::Utf8 => return Some(array.as_string::<i32>().value(row)),
        DataType::LargeUtf8 => return Some(array.as_string::<i64>().value(row)),
        DataType::Utf8View => return Some(array.as_string_view().value(row)),
        DataType::Boolean => drawn.push_str(if array.as_boolean().value(row) { "1" } else { "0" }),
        DataType::Int8 => shown!(Int8Type),
        DataType::Int16 => shown!(Int16Type),
        DataType::Int32 => shown!(Int32Type),
        DataType::Int64 => shown!(Int64Type),
        DataType::UInt8 => shown!(UInt8Type),
        DataType::UInt16 => shown!(UInt16Type),
        DataType::UInt32 => shown!(UInt32Type),
        DataType::UInt64 => shown!(UInt64Type),
        DataType::Float16 => {
            let value = array.as_primitive::<Float16Type>().value(row);
            return number(f64::from(value), &value, drawn);
        }
        DataType::Float32 => {
            let value = array.as_primitive::<Float32Type>().value(row);
            return number(f64::from(value), &value, drawn);
        }
        DataType::Float64 => {
            let value = array.as_primitive::<Float64Type>().value(row);
            return number(value, &value, drawn);
        }
        DataType::Decimal128(_, scale) => {
            decimal(&array.as_primitive::<Decimal128Type>().value(row).to_string(), *scale, drawn);
        }
        DataType::Decimal256(_, scale) => {
            decimal(&array.as_primitive::<Decimal256Type>().value(row).to_string(), *scale, drawn);
        }
        DataType::Date32 => day!(Date32Type, 1),
        DataType::Date64 => day!(Date64Type, 86_400_000),
        DataType::Timestamp(TimeUnit::Second, None) => day!(TimestampSecondType, 86_400),
        DataType::Timestamp(TimeUnit::Millisecond, None) => {
            day!(TimestampMillisecondType, 86_400_000);
        }
        DataType::Timestamp(TimeUnit::Microsecond, None) => {
            day!(TimestampMicrosecondType, 86_400_000_000);
        }
        DataType::Timestamp(TimeUnit::Nanosecond, None) => {
            day!(TimestampNanosecondType, 86_400_000_000_000);
        }
        _ => return None,
    }
    Some(drawn)
}

/// Days of the years 0 to 9999, the only ones with four digits.
const YEARS: std::ops::Range<i32> = -719_528..2_932_897;

/// The text of a day, counted from 1970.
pub(super) fn day_text(day: i64) -> String {
    match i32::try_from(day).ok().filter(|day| YEARS.contains(day)) {
        Some(day) => written(day),
        None => format!("day {day} since 1970"),
    }
}

/// A number: `value`, shown as the shortest text of its own type unless it is whole. Not a number is missing.
fn number<'a>(
    value: f64,
    shown: &impl std::fmt::Display,
    drawn: &'a mut String,
) -> Option<&'a str> {
    if value.is_nan() {
        return None;
    }
    if value.fract() == 0.0 && value.abs() <= EXACT as f64 {
        #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
        let whole = value as i64;
        _ = write!(drawn, "{whole}");
    } else {
        _ = write!(drawn, "{shown}");
    }
    Some(drawn)
}

/// Writes a whole number divided by `10^scale`, without zeros at the end of a fraction. A damaged file may have more digits than its
/// precision says, and any scale.
pub(super) fn decimal(number: &str, scale: i8, text: &mut String) {
    let (sign, digits) = number.strip_prefix('-').map_or(("", number), |digits| ("-", digits));
    let places = usize::from(scale.unsigned_abs());
    if scale <= 0 {
        let zeros = if digits == "0" { 0 } else { places };
        _ = write!(text, "{number}{:0<zeros$}", "");
        return;
    }
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(places));
    _ = write!(text, "{sign}{whole:0>1}.{fraction:0>places$}");
    let kept = text.trim_end_matches('0').trim_end_matches('.').len();
    text.truncate(kept);
}
