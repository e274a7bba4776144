use std::sync::Arc;

use arrow_array::types::{Int16Type, Int32Type, UInt8Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int32Array, Int64Array, LargeStringArray, NullArray,
    StringArray, StringViewArray, TimestampMicrosecondArray, TimestampSecondArray, UInt64Array,
};

use super::{ColumnCoder, UNFIT, text_at};
use crate::data::Encoder;
use crate::domain::Schema;

const SCHEMA: &str = r#"{"na_token": "NA", "missing": ["-9", "199.5", "1969-12-31"], "columns": [
    {"name": "few", "kind": "categorical", "codes": ["1", "2", "full time"], "na": true},
    {"name": "long", "kind": "categorical", "codes": ["none at all", "17", "2020-02-29"], "other": "none at all"},
    {"name": "whole", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": true, "na": true},
    {"name": "real", "kind": "numeric", "edges": [-8, 0.1, 10.5, 99.5, 199], "integer": false, "na": true},
    {"name": "day", "kind": "date", "edges": ["1970-01-01", "2020-01-01", "2022-01-01"], "na": true},
    {"name": "kids", "kind": "coded", "size": 4}
]}"#;

/// Arrays of every readable type, with values that fit some columns and none.
fn arrays() -> Vec<ArrayRef> {
    let whole = [0, 1, 2, 3, 17, 18, -9, 99, 100, 18_321, -1, 2, 18];
    let real = [
        0.1,
        1.0,
        -0.0,
        10.5,
        199.5,
        99.5,
        1e300,
        -9.0,
        f64::NAN,
        f64::INFINITY,
        2.0,
        9e15,
        1.8e19,
    ];
    let texts =
        ["1", " 2 ", "full time", "-9", "199.5", "NA", "", "2020-02-29", "1e1", "none at all", "2"];
    let some = |row: usize| row % 5 != 3;
    let large = || whole.iter().map(|x| i64::from(*x)).chain([i64::MAX, i64::MIN, 1 << 60]);
    let with_nulls: Int64Array =
        large().enumerate().map(|(row, x)| some(row).then_some(x)).collect();
    let reals_with_nulls: Float64Array =
        real.iter().enumerate().map(|(row, x)| some(row).then_some(*x)).collect();
    let texts_with_nulls: StringArray =
        texts.iter().enumerate().map(|(row, x)| some(row).then_some(*x)).collect();
    let small: Vec<i8> = vec![0, 1, 2, -9, 99, 100];
    let seconds = || [0, -1, 86_399, 3 * 86_400, 1_582_934_400, i64::MAX, i64::MIN];
    let keyed: DictionaryArray<Int32Type> = texts_with_nulls.iter().collect();
    let keyed_without_nulls: DictionaryArray<Int32Type> = texts.into_iter().collect();
    let other_keys: DictionaryArray<Int16Type> = texts.into_iter().map(Some).collect();
    let numbers = DictionaryArray::<UInt8Type>::new(
        vec![2, 0, 1, 1, 3].into(),
        Arc::new(Int64Array::from(vec![Some(2), Some(-9), None, Some(18)])),
    );
    let no_values = DictionaryArray::<Int32Type>::new(
        Int32Array::from(vec![None, None]),
        Arc::new(StringArray::from(Vec::<&str>::new())),
    );
    vec![
        Arc::new(Int8Array::from(small)),
        Arc::new(large().collect::<Int64Array>()),
        Arc::new(with_nulls),
        Arc::new(UInt64Array::from(vec![0, 2, 18, u64::MAX, 1 << 63])),
        Arc::new(Float64Array::from(real.to_vec())),
        Arc::new(reals_with_nulls),
        Arc::new(Float32Array::from(vec![0.1, 1.0, 10.5, 199.5, -9.0, f32::NAN, 16_777_217.0])),
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), None])),
        Arc::new(StringArray::from(texts.to_vec())),
        Arc::new(LargeStringArray::from(texts.to_vec())),
        Arc::new(StringViewArray::from(texts.to_vec())),
        Arc::new(texts_with_nulls),
        Arc::new(keyed),
        Arc::new(keyed_without_nulls),
        Arc::new(other_keys),
        Arc::new(numbers),
        Arc::new(no_values),
        Arc::new(Date32Array::from(vec![Some(0), Some(3), Some(18_321), None, Some(i32::MAX)])),
        Arc::new(Date64Array::from(vec![0, -1, 259_200_000, i64::MIN])),
        Arc::new(TimestampSecondArray::from(seconds().to_vec())),
        Arc::new(TimestampMicrosecondArray::from(seconds().to_vec())),
        Arc::new(
            Decimal128Array::from(vec![100, 200, 10_550, 19_950])
                .with_precision_and_scale(20, 2)
                .unwrap(),
        ),
        Arc::new(NullArray::new(3)),
    ]
}

#[test]
fn the_code_of_a_value_is_that_of_its_text() {
    let (mut fitting, mut unfitting) = (0, 0);
    for trim in [false, true] {
        let schema = Schema::from_json(SCHEMA, "schema.json").unwrap();
        for column in schema.attributes() {
            let encoder = Encoder::new(column, &schema).unwrap().of_values();
            // One coder for all arrays: what it remembers must not matter.
            let mut coder = ColumnCoder::new(encoder.clone(), b"NA", trim);
            for array in arrays().iter().chain(&arrays()) {
                // Parts of an array too, which begin elsewhere.
                for part in [array.clone(), array.slice(1, array.len() - 1)] {
                    let expected: Vec<u32> = (0..part.len())
                        .map(|row| {
                            let mut drawn = String::new();
                            let text = text_at(&part, row, &mut drawn).unwrap_or("NA");
                            let text = if trim { text.trim() } else { text };
                            encoder.encode(text.as_bytes()).unwrap_or(UNFIT)
                        })
                        .collect();
                    let mut codes = Vec::new();
                    coder.append(&part, &mut codes);
                    let kind = part.data_type();
                    assert_eq!(codes, expected, "{} of {kind}: {part:?}", column.name);
                    unfitting += codes.iter().filter(|code| **code == UNFIT).count();
                    fitting += codes.iter().filter(|code| **code != UNFIT).count();
                }
            }
        }
    }
    assert!(fitting > 500 && unfitting > 500, "{fitting} {unfitting}");
}

#[test]
fn values_that_share_a_place_in_memory_keep_their_codes() {
    let codes: Vec<String> = (0..60_000).map(|code| format!("\"{code}\"")).collect();
    let text = format!(
        r#"{{"columns": [{{"name": "a", "kind": "categorical", "codes": [{}]}}]}}"#,
        codes.join(",")
    );
    let schema = Schema::from_json(&text, "schema.json").unwrap();
    let column = schema.attributes().next().unwrap();
    let mut coder =
        ColumnCoder::new(Encoder::new(column, &schema).unwrap().of_values(), b"", false);
    let values: Vec<i64> = (0..200_000).map(|i| (i * 7_919) % 61_000 - 500).collect();
    let numbers: ArrayRef = Arc::new(Int64Array::from(values.clone()));
    let texts: ArrayRef =
        Arc::new(values.iter().map(|value| Some(value.to_string())).collect::<StringViewArray>());
    for array in [numbers, texts] {
        let mut codes = Vec::new();
        coder.append(&array, &mut codes);
        for (value, code) in values.iter().zip(codes) {
            let expected = u32::try_from(*value).ok().filter(|code| *code < 60_000);
            assert_eq!(code, expected.unwrap_or(UNFIT));
        }
    }
}

#[test]
fn a_place_of_a_text_is_remembered_for_its_own_buffers_only() {
    let text = r#"{"na_token": "NA", "columns": [
        {"name": "job", "kind": "categorical", "codes": ["self-employed A", "self-employed B", "none"], "na": true}]}"#;
    let schema = Schema::from_json(text, "schema.json").unwrap();
    let encoder = Encoder::new(schema.attributes().next().unwrap(), &schema).unwrap();
    let mut coder = ColumnCoder::new(encoder.of_values(), b"NA", false);
    let mut coded = |texts: Vec<Option<&str>>| {
        let array: ArrayRef = Arc::new(StringViewArray::from(texts));
        let mut codes = Vec::new();
        coder.append(&array, &mut codes);
        codes
    };
    // Texts of the same length and beginning, at the same place of their buffers.
    let (a, b) = ("self-employed A", "self-employed B");
    assert_eq!(coded(vec![Some(a), Some("none"), Some(a)]), [0, 2, 0]);
    assert_eq!(coded(vec![Some(b), Some("none"), Some(a), None]), [1, 2, 0, 3]);
    assert_eq!(coded(vec![Some("none"), Some("other")]), [2, UNFIT]);
    assert_eq!(coded(vec![Some(a), Some(b)]), [0, 1]);
}
