use super::PartialTable;
use crate::data::{Dataset, Labels};
use crate::domain::Schema;

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 100], "na": true},
    {"name": "job", "kind": "categorical", "codes": ["cook, chef", "nurse"]}
]}"#;

fn schema() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").unwrap()
}

fn read(text: &str, keep: &[&str]) -> crate::Result<PartialTable> {
    read_under(&schema(), text, keep)
}

fn read_under(schema: &Schema, text: &str, keep: &[&str]) -> crate::Result<PartialTable> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("partial.csv");
    std::fs::write(&path, text).unwrap();
    let keep: Vec<String> = keep.iter().map(|name| (*name).to_owned()).collect();
    PartialTable::read(&path, schema, &keep, None)
}

#[test]
fn rows_keep_their_texts_and_their_order() {
    let text = "id,age,note\n7,30.25,\"a \"\"b\"\"\"\n8,NA,\n";
    let table = read(text, &["id", "note"]).unwrap();
    assert_eq!(table.known().row(0), [1]);
    assert_eq!(table.known().row(1), [3]);
    let more = schema().select(&["sex", "job"]).unwrap().domain();
    let more = Dataset::from_rows(more, &[[1, 0], [0, 1]]).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("out.csv");
    table.write_with(&more, &schema(), &path, Labels::Codes, 1).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let expected = "id,age,note,sex,job\n7,30.25,\"a \"\"b\"\"\",m,\"cook, chef\"\n8,NA,,f,nurse\n";
    assert_eq!(text, expected);
    // Compressed, the same.
    let gzip = folder.path().join("out.csv.gz");
    table.write_with(&more, &schema(), &gzip, Labels::Codes, 1).unwrap();
    assert_eq!(&std::fs::read(&gzip).unwrap()[..2], [0x1f, 0x8b]);
    // Other numbers of records, and columns that are there.
    assert!(table.write_with(&more.take(&[0]), &schema(), &path, Labels::Codes, 1).is_err());
    let age = schema().select(&["age"]).unwrap().domain();
    let age = Dataset::from_rows(age, &[[1], [1]]).unwrap();
    assert!(table.write_with(&age, &schema(), &path, Labels::Codes, 1).is_err());
}

#[test]
fn errors_name_line_and_column() {
    for (text, message) in [
        ("age\n", "without records"),
        (",\n1,2\n", "no attribute of the schema"),
        ("age,job\n30,\"cook, chef\"\n30,cook\n", "line 3, column 'job'"),
        ("age\n30\n200\n", "line 3, column 'age'"),
    ] {
        let error = read(text, &[]).unwrap_err().to_string();
        assert!(error.contains(message), "{error}");
    }
    let table = read("job,age\n\n\"cook, chef\",30\nnurse,31\n", &[]).unwrap();
    let error = table.contradiction(1, "age", "another").to_string();
    assert!(error.contains("line 4, column 'age'") && error.contains("'31'"), "{error}");
}

#[test]
fn a_column_that_nobody_knows_is_refused_with_the_nearest_name() {
    let error = |text: &str, keep: &[&str]| read(text, keep).unwrap_err().to_string();
    let found = error("agee,job\n30,nurse\n", &[]);
    assert!(found.contains("line 1") && found.contains("'agee' (did you mean 'age'?)"), "{found}");
    // A name that the table has too is not meant.
    let found = error("age,agee\n30,31\n", &[]);
    assert!(found.contains("unknown column 'agee', expected columns of the schema"), "{found}");
    assert!(error("id,age\n1,30\n", &["note"]).contains("no column 'note'"));
    assert!(error("id,age\n1,30\n", &["ID"]).contains("no column 'ID'"));
    // Columns of other roles are known; those without a name cannot be misspelled.
    let text =
        SCHEMA.replace("\"columns\": [", "\"columns\": [{\"name\": \"id\", \"role\": \"id\"},");
    let schema = Schema::from_json(&text, "schema.json").unwrap();
    assert!(read_under(&schema, "id,,age\n1,x,30\n", &[]).is_ok());
}

#[test]
fn a_value_beyond_the_bins_is_refused_even_where_the_schema_clamps() {
    let text = SCHEMA.replace("\"na\": true}", "\"na\": true, \"outside\": \"clamp\"}");
    let schema = Schema::from_json(&text, "schema.json").unwrap();
    assert!(
        crate::data::read_csv_from(
            &b"age\n999\n"[..],
            "t.csv",
            &schema,
            crate::data::AbsentColumns::LeaveOut
        )
        .is_ok()
    );
    for (value, is_there) in [("99", true), ("NA", true), ("999", false), ("-1", false)] {
        let read = read_under(&schema, &format!("job,age\nnurse,5\nnurse,{value}\n"), &[]);
        let error = read.err().map(|error| error.to_string());
        assert_eq!(error.is_none(), is_there, "{value}: {error:?}");
        let expected =
            format!("line 3, column 'age': found '{value}', expected a number from 0 to below 100");
        assert!(error.is_none_or(|error| error.contains(&expected)), "{value}");
    }
}

/// What was given keeps its values, and has the type of the schema or the one that its texts allow.
#[cfg(feature = "arrow")]
#[test]
fn as_a_batch_columns_have_types_and_lose_nothing() {
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};
    use arrow_schema::DataType;
    let text =
        "id,code,rate,age,seen,word\n7,007,0.5,30.25,02.03.2024,\n-8,008,12,NA,31.12.1999,1e3\n";
    let seen = r#", {"name": "seen", "kind": "date", "edges": ["1990-01-01", "2030-01-01"], "notation": "DD.MM.YYYY"}]}"#;
    let schema = Schema::from_json(&SCHEMA.replace("\n]}", seen), "schema.json").unwrap();
    let table = read_under(&schema, text, &["id", "code", "rate", "word"]).unwrap();
    let more = schema.select(&["sex", "job"]).unwrap().domain();
    let more = Dataset::from_rows(more, &[[1, 0], [0, 1]]).unwrap();
    let batch = table.record_batch(&more, &schema, Labels::Codes, 1).unwrap();
    let kinds: Vec<DataType> =
        batch.schema().fields().iter().map(|f| f.data_type().clone()).collect();
    let (whole, number, text) = (DataType::Int64, DataType::Float64, DataType::Utf8);
    let day = DataType::Date32;
    assert_eq!(
        kinds,
        [whole, text.clone(), number.clone(), number, day, text.clone(), text.clone(), text]
    );
    assert_eq!(batch.column(0).as_primitive::<Int64Type>().values(), &[7, -8]);
    assert_eq!(batch.column(1).as_string::<i32>().value(0), "007");
    let age = batch.column(3).as_primitive::<Float64Type>();
    assert!(age.value(0).to_bits() == 30.25_f64.to_bits() && age.is_null(1));
    let days = batch.column(4).as_primitive::<arrow_array::types::Date32Type>();
    assert_eq!(days.value(1), 10_956);
    assert!(batch.column(5).is_null(0) && batch.column(5).as_string::<i32>().value(1) == "1e3");
    // A table in memory is read as a file is.
    let columns = crate::data::arrow::ArrowTable::new("t", batch.schema(), vec![batch.clone()]);
    let keep = ["id", "code", "rate", "word"].map(str::to_owned);
    let again = PartialTable::read_arrow((&columns).into(), &schema, &keep, None).unwrap();
    assert_eq!(again.known().records(), 2);
    assert!(again.record_batch(&more, &schema, Labels::Codes, 1).is_err(), "sex is there twice");
}
