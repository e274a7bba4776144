//! Tables in memory: values to codes and back.

#![expect(clippy::cast_possible_truncation, reason = "days of this century")]

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, Decimal128Array, DictionaryArray,
    Float32Array, Float64Array, Int8Array, Int64Array, ListArray, NullArray, RecordBatch,
    StringArray, StringViewArray, TimestampMicrosecondArray, UInt64Array,
    types::{Int8Type, Int32Type},
};
use arrow_schema::{DataType, Field, Schema as ArrowSchema};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::cells::decimal;
use super::{ArrowStream, ArrowTable, to_record_batch};
use crate::data::{AbsentColumns, Dataset, Labels, Units, read_csv_from, write_csv};
use crate::demo::{Generator, schema as demo_schema};
use crate::domain::Schema;

const SCHEMA: &str = r#"{"na_token": "NA", "missing": ["-9"], "columns": [
    {"name": "sex", "kind": "categorical", "codes": ["1", "2"], "na": true},
    {"name": "job", "kind": "categorical", "codes": ["none", "full time"], "other": "none"},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "integer": true, "na": true},
    {"name": "pay", "kind": "numeric", "edges": [0, 10.5, 100], "integer": false},
    {"name": "day", "kind": "date", "edges": ["2020-01-01", "2021-01-01", "2022-01-01"]},
    {"name": "kids", "kind": "coded", "size": 4}
]}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

/// A table of one batch.
fn table(columns: Vec<(&str, ArrayRef)>) -> ArrowTable {
    let fields: Vec<Field> = columns
        .iter()
        .map(|(name, array)| Field::new(*name, array.data_type().clone(), true))
        .collect();
    let arrow = Arc::new(ArrowSchema::new(fields));
    let arrays = columns.into_iter().map(|(_, array)| array).collect();
    let batch = RecordBatch::try_new(Arc::clone(&arrow), arrays).unwrap();
    ArrowTable::new("frame", arrow, vec![batch])
}

/// All columns, each with one value of its own kind twice.
fn whole() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("sex", Arc::new(Int64Array::from(vec![2, 1]))),
        ("job", Arc::new(StringArray::from(vec!["full time", "none"]))),
        ("age", Arc::new(Int8Array::from(vec![30, 70]))),
        ("pay", Arc::new(Float64Array::from(vec![10.5, 3.25]))),
        ("day", Arc::new(Date32Array::from(vec![18_400, 18_800]))),
        ("kids", Arc::new(UInt64Array::from(vec![3, 0]))),
        ("left out", Arc::new(StringArray::from(vec!["x", "y"]))),
    ]
}

fn with(name: &'static str, array: ArrayRef) -> ArrowTable {
    let mut columns = whole();
    columns.iter_mut().find(|(own, _)| *own == name).unwrap().1 = array;
    table(columns)
}

fn codes(name: &'static str, array: ArrayRef) -> Vec<u32> {
    let data = with(name, array).read(&schema()).unwrap();
    let at = data.domain().position(name).unwrap();
    data.column(at).unwrap().iter().collect()
}

fn error(name: &'static str, array: ArrayRef) -> String {
    with(name, array).read(&schema()).unwrap_err().to_string()
}

#[test]
fn numbers_match_codes_by_value_and_nulls_are_missing() {
    let expected = vec![1, 2];
    let nan = f64::NAN;
    assert_eq!(codes("sex", Arc::new(Float64Array::from(vec![2.0, nan]))), expected);
    assert_eq!(codes("sex", Arc::new(Float64Array::from(vec![Some(2.0), None]))), expected);
    assert_eq!(codes("sex", Arc::new(Float32Array::from(vec![Some(2.0), None]))), expected);
    assert_eq!(codes("sex", Arc::new(Int8Array::from(vec![Some(2), None]))), expected);
    assert_eq!(codes("sex", Arc::new(Int64Array::from(vec![2, -9]))), expected);
    assert_eq!(codes("sex", Arc::new(StringArray::from(vec![Some("2"), None]))), expected);
    assert_eq!(codes("sex", Arc::new(StringViewArray::from(vec!["2", "NA"]))), expected);
    let decimals =
        Decimal128Array::from(vec![Some(200), None]).with_precision_and_scale(5, 2).unwrap();
    assert_eq!(codes("sex", Arc::new(decimals)), expected);
    assert_eq!(codes("sex", Arc::new(NullArray::new(2))), [2, 2]);
    assert_eq!(codes("kids", Arc::new(BooleanArray::from(vec![true, false]))), [1, 0]);
    assert_eq!(codes("kids", Arc::new(Float64Array::from(vec![-0.0, 3.0]))), [0, 3]);
    let found = error("sex", Arc::new(Float64Array::from(vec![2.0, 1.5])));
    assert_eq!(
        found,
        "frame, row 2, column 'sex': found '1.5', expected one of '1', '2', or 'NA' (missing)"
    );
    assert!(
        error("kids", Arc::new(Int64Array::from(vec![Some(1), None])))
            .contains("row 2, column 'kids'")
    );
}

#[test]
fn decimals_are_written_in_full_whatever_their_scale() {
    let text = |number: &str, scale| {
        let mut text = String::new();
        decimal(number, scale, &mut text);
        text
    };
    assert_eq!([text("200", 2), text("205", 2), text("-5", 1)], ["2", "2.05", "-0.5"]);
    assert_eq!([text("0", 3), text("7", 5), text("1200", 0)], ["0", "0.00007", "1200"]);
    assert_eq!([text("12", -2), text("-1", -3), text("0", -4)], ["1200", "-1000", "0"]);
    assert_eq!(text("1234567", 127).len(), 129);
}

#[test]
fn dictionaries_are_read_by_their_values() {
    let words: DictionaryArray<Int8Type> = vec![Some("2"), None].into_iter().collect();
    assert_eq!(codes("sex", Arc::new(words)), [1, 2]);
    let nothing: DictionaryArray<Int32Type> = vec![None::<&str>, None].into_iter().collect();
    assert_eq!(codes("sex", Arc::new(nothing)), [2, 2]);
    let keys = Int8Array::from(vec![1, 0]);
    let numbers = DictionaryArray::new(keys, Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef);
    assert_eq!(codes("sex", Arc::new(numbers)), [1, 0]);
    // A value that no row has is not looked at.
    let keys = Int8Array::from(vec![1, 1]);
    let numbers = DictionaryArray::new(keys, Arc::new(Int64Array::from(vec![77, 2])) as ArrayRef);
    assert_eq!(codes("sex", Arc::new(numbers)), [1, 1]);
    let other = vec!["elsewhere", "full time"];
    assert_eq!(codes("job", Arc::new(StringArray::from(other))), [0, 1]);
}

#[test]
fn bins_take_numbers_and_dates_of_every_type() {
    assert_eq!(codes("age", Arc::new(Float64Array::from(vec![Some(17.9), None]))), [0, 3]);
    assert_eq!(codes("age", Arc::new(StringArray::from(vec!["17", "65"]))), [0, 2]);
    assert_eq!(codes("pay", Arc::new(Float32Array::from(vec![10.49, 10.5]))), [0, 1]);
    assert_eq!(codes("pay", Arc::new(Int64Array::from(vec![10, 11]))), [0, 1]);
    let days = [18_627_i64, 18_628];
    let seconds = |per_day: i64| days.map(|day| day * per_day + per_day - 1).to_vec();
    assert_eq!(
        codes("day", Arc::new(Date32Array::from(days.map(|day| day as i32).to_vec()))),
        [0, 1]
    );
    assert_eq!(codes("day", Arc::new(Date64Array::from(seconds(86_400_000)))), [0, 1]);
    let times = TimestampMicrosecondArray::from(seconds(86_400_000_000));
    assert_eq!(codes("day", Arc::new(times)), [0, 1]);
    assert_eq!(
        codes("day", Arc::new(StringArray::from(vec!["2020-12-31", "2021-01-01 09:00"]))),
        [0, 1]
    );
    let found = error("age", Arc::new(Float64Array::from(vec![30.0, f64::INFINITY])));
    assert!(
        found.starts_with("frame, row 2, column 'age': found 'inf', expected a number"),
        "{found}"
    );
    let zoned = TimestampMicrosecondArray::from(vec![1, 2]).with_timezone("UTC");
    assert!(error("day", Arc::new(zoned)).contains("column 'day' of type Timestamp"));
    assert!(
        error("day", Arc::new(Date64Array::from(vec![i64::MAX, 0])))
            .contains("row 1, column 'day'")
    );
}

#[test]
fn errors_name_the_table_and_what_it_lacks() {
    let lists: ListArray =
        ListArray::from_iter_primitive::<Int32Type, _, _>(vec![Some(vec![Some(1)]), None]);
    let found = error("kids", Arc::new(lists));
    let expected = "frame: column 'kids' of type List(Int32), expected numbers, text,";
    assert!(found.starts_with(expected), "{found}");
    let empty = table(whole().into_iter().map(|(name, array)| (name, array.slice(0, 0))).collect());
    assert!(
        empty.read(&schema()).is_err()
            && ArrowStream::from(&empty).read_or_empty(&schema()).unwrap().records() == 0
    );
    let mut twice = whole();
    twice.push(("sex", Arc::new(Int64Array::from(vec![1, 1]))));
    assert!(table(twice).read(&schema()).unwrap_err().to_string().contains("'sex' twice"));
    let less = table(whole().into_iter().filter(|(name, _)| *name != "sex").collect());
    assert!(less.read(&schema()).is_err());
    assert_eq!(less.read_public(&schema()).unwrap().domain().len(), 5);
}

#[test]
fn the_first_rows_of_a_unit_count_across_batches() {
    let homes: ArrayRef = Arc::new(Int64Array::from(vec![7, 7, 8, 7, 8]));
    let kids: ArrayRef = Arc::new(Int64Array::from(vec![0, 1, 2, 3, 3]));
    let one = table(vec![("home", homes), ("kids", kids)]);
    let batch = &one.batches[0];
    let parts = vec![batch.slice(0, 1), batch.slice(1, 0), batch.slice(1, 3), batch.slice(4, 1)];
    let table = ArrowTable::new("frame", batch.schema(), parts);
    let schema = Schema::from_json(r#"{"kids": 4}"#, "domain.json").unwrap();
    let read =
        ArrowStream::from(&table).read_units(&schema, &Units::new("home", 2).unwrap()).unwrap();
    assert_eq!(read.column(0).unwrap().iter().collect::<Vec<_>>(), [0, 1, 2, 3]);
    assert!(
        ArrowStream::from(&table).read_units(&schema, &Units::new("kids", 2).unwrap()).is_err()
    );
    assert_eq!(table.rows(), 5);
}

fn csv_of(table: &Dataset, schema: &Schema, seed: u64) -> Vec<u8> {
    let mut out = Vec::new();
    write_csv(&mut out, table, schema, Labels::Codes, &mut ChaCha20Rng::seed_from_u64(seed))
        .unwrap();
    out
}

/// Values are drawn inside bins exactly as for CSV, so both forms hold the same numbers.
#[test]
fn arrow_and_csv_hold_the_same_values() {
    let schema = demo_schema().unwrap();
    let data = Generator { records: 500, seed: 3, drift: 0.2 }.generate().unwrap();
    let (csv, rng) = (csv_of(&data, &schema, 11), ChaCha20Rng::seed_from_u64(11));
    let batch = to_record_batch(&data, &schema, Labels::Codes, rng).unwrap();
    let table = ArrowTable::new("frame", batch.schema(), vec![batch]);
    assert_eq!(table.read(&schema).unwrap(), data);
    assert_eq!(read_csv_from(&csv[..], "t.csv", &schema, AbsentColumns::Refuse).unwrap(), data);
    let from_csv = crate::data::WholeTable::read_from(&csv[..], "t.csv", &schema, None).unwrap();
    let from_arrow = table.read_whole(&schema, None).unwrap();
    let numbers = [from_csv, from_arrow].map(|table| table.numbers.unwrap());
    for (a, b) in numbers[0].columns().iter().zip(numbers[1].columns()) {
        let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        assert_eq!((&a.name, bits(&a.values)), (&b.name, bits(&b.values)));
    }
}

#[test]
fn types_follow_the_schema_alone() {
    let schema = schema();
    let data =
        with("sex", Arc::new(Float64Array::from(vec![None, Some(1.0)]))).read(&schema).unwrap();
    let rng = || ChaCha20Rng::seed_from_u64(1);
    let batch = to_record_batch(&data, &schema, Labels::Codes, rng()).unwrap();
    let found: Vec<(String, DataType, bool)> = batch
        .schema()
        .fields()
        .iter()
        .map(|field| (field.name().clone(), field.data_type().clone(), field.is_nullable()))
        .collect();
    let expected = [
        ("sex", DataType::Int64, true),
        ("job", DataType::Utf8, false),
        ("age", DataType::Int64, true),
        ("pay", DataType::Float64, false),
        ("day", DataType::Date32, false),
        ("kids", DataType::Int64, false),
    ];
    assert_eq!(found, expected.map(|(name, kind, na)| (name.to_owned(), kind, na)));
    assert!(batch.column(0).is_null(0) && batch.column(0).is_valid(1));
    let again = ArrowTable::new("frame", batch.schema(), vec![batch]).read(&schema).unwrap();
    assert_eq!(again, data);
    let padded = SCHEMA.replace(r#"["1", "2"]"#, r#"["01", "02"]"#);
    let padded = Schema::from_json(&padded, "schema.json").unwrap();
    let batch = to_record_batch(&data, &padded, Labels::Codes, rng()).unwrap();
    assert_eq!(batch.column(0).data_type(), &DataType::Utf8);
}
