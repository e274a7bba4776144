//! The same table as CSV, as Parquet and as an Arrow file gives the same bytes, by every command that reads one.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use arrow_array::RecordBatchReader as _;
use arrow_ipc::writer::FileWriter;
use jointly::data::{AbsentColumns, Labels, read_csv, read_csv_from, write_csv_file};
use jointly::demo::{Generator, schema};

use crate::cli::Bench;

/// A bench with two tables of the demonstration, each as CSV, as Parquet and as an Arrow file.
fn bench() -> Bench {
    let bench = Bench::new();
    let schema = schema().unwrap();
    bench.write("schema.json", &schema.to_json().unwrap());
    for (name, records, seed) in [("private", 700, 1), ("public", 500, 2)] {
        let table = Generator { records, seed, drift: 0.1 }.generate().unwrap();
        for form in ["csv", "parquet"] {
            let path = bench.path(&format!("{name}.{form}"));
            write_csv_file(&path, &table, &schema, Labels::Codes, seed).unwrap();
            assert_eq!(read_csv(&path, &schema).unwrap(), table, "{name}.{form}");
        }
        let arrow = bench.path(&format!("{name}.arrow"));
        as_arrow(&bench.path(&format!("{name}.parquet")), &arrow);
        assert_eq!(read_csv(&arrow, &schema).unwrap(), table, "{name}.arrow");
    }
    assert!(fs::read(bench.path("private.parquet")).unwrap().starts_with(b"PAR1"));
    bench
}

/// Writes the table of a Parquet file as an Arrow file.
fn as_arrow(parquet: &Path, arrow: &Path) {
    let file = fs::File::open(parquet).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let out = fs::File::create(arrow).unwrap();
    let mut writer = FileWriter::try_new(out, &reader.schema()).unwrap();
    reader.for_each(|batch| writer.write(&batch.unwrap()).unwrap());
    writer.finish().unwrap();
}

/// Runs a command on the tables in one form, and returns what it says.
fn said(bench: &Bench, command: &str, form: &str) -> String {
    let command = command.replace("FORM", form);
    bench.succeed(&command).replace(&format!(".{form}"), "")
}

#[test]
fn every_command_takes_parquet_and_arrow_as_it_takes_csv() {
    let bench = bench();
    let tables = "--private private.FORM --schema schema.json";
    let commands = [
        format!(
            "synth {tables} --public near=public.FORM --epsilon 1 --delta 1e-6 --seed 3 --mechanism jam-pgm \
                 --workload all-2-way --rounds 4 --out - --ledger FORM.ledger.json"
        ),
        format!(
            "synth {tables} --epsilon 1 --delta 1e-6 --seed 3 --mechanism independent --out - \
                 --ledger FORM.ledger.json"
        ),
        format!(
            "synth {tables} --epsilon 1 --delta 1e-6 --seed 3 --mechanism mst --counted --out - \
                 --ledger FORM.ledger.json"
        ),
        format!("evaluate {tables} --synthetic public.FORM --workload all-2-way --json"),
        format!(
            "trust {tables} --public near=public.FORM --epsilon 1 --delta 1e-6 --seed 2 --workload all-1-way --json"
        ),
        "schema --public public.FORM --out -".to_owned(),
    ];
    for command in commands {
        let csv = said(&bench, &command, "csv");
        assert!(csv.len() > 100, "{command}: {csv}");
        for form in ["parquet", "arrow"] {
            assert_eq!(said(&bench, &command, form), csv, "{form}: {command}");
        }
    }
}

#[test]
fn output_has_the_form_of_its_name() {
    let bench = bench();
    let synth = "synth --private private.csv --schema schema.json --epsilon 1 --delta 1e-6 --seed 3 \
                 --mechanism independent --out out.FORM";
    let schema = schema().unwrap();
    let mut read = Vec::new();
    for form in ["csv", "parquet", "arrow", "feather"] {
        said(&bench, synth, form);
        read.push(read_csv(&bench.path(&format!("out.{form}")), &schema).unwrap());
    }
    assert!(read.iter().all(|table| *table == read[0]));
    assert!(fs::read(bench.path("out.feather")).unwrap().starts_with(b"ARROW1"));
    let numbers = |form: &str| {
        let path = bench.path(&format!("out.{form}"));
        let read = jointly::data::WholeTable::read(&path, &schema, None).unwrap();
        format!("{:?}", read.numbers.unwrap().columns())
    };
    for form in ["parquet", "arrow", "feather"] {
        assert_eq!(numbers(form), numbers("csv"), "{form}");
    }
    // A folder of both forms is one table.
    fs::create_dir(bench.path("parts")).unwrap();
    for form in ["parquet", "arrow"] {
        fs::copy(bench.path(&format!("out.{form}")), bench.path(&format!("parts/part.{form}")))
            .unwrap();
    }
    assert_eq!(read_csv(&bench.path("parts"), &schema).unwrap().records(), 2 * read[0].records());
}

#[test]
fn damage_is_wrong_input() {
    let bench = bench();
    let bytes = fs::read(bench.path("private.parquet")).unwrap();
    for (name, damaged) in [("short", &bytes[..bytes.len() / 2]), ("start", &b"PAR1"[..])] {
        let path = bench.path(&format!("{name}.parquet"));
        fs::write(&path, damaged).unwrap();
        let error = read_csv(&path, &schema().unwrap()).unwrap_err();
        assert!(error.to_string().starts_with("cannot read "), "{error}");
    }
    let bytes = fs::read(bench.path("private.arrow")).unwrap();
    for (name, damaged) in [("short", &bytes[..bytes.len() / 2]), ("start", &bytes[..8])] {
        let path = bench.path(&format!("{name}.arrow"));
        fs::write(&path, damaged).unwrap();
        let error = read_csv(&path, &schema().unwrap()).unwrap_err().to_string();
        assert!(error.starts_with("cannot read ") && error.contains("Arrow file"), "{error}");
    }
    for (start, said) in [
        (&b"FEA1\0\0\0\0\x01\x02"[..], "a Feather file of version 1"),
        (b"\xff\xff\xff\xff\xe0\0\0\0", "an Arrow stream, which is no Arrow file"),
    ] {
        fs::write(bench.path("other.arrow"), start).unwrap();
        let error = read_csv(&bench.path("other.arrow"), &schema().unwrap()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
    }
    // A CSV file may begin with the letters, as long as they are not the first four bytes.
    let table = read_csv_from(
        &b"PAR\n0\n"[..],
        "t.csv",
        &jointly::Schema::from_json(r#"{"PAR": 1}"#, "domain.json").unwrap(),
        AbsentColumns::Refuse,
    );
    assert_eq!(table.unwrap().records(), 1);
}

#[test]
fn completed_rows_are_the_same_in_every_form() {
    let bench = bench();
    let schema = schema().unwrap();
    let private = read_csv(&bench.path("private.csv"), &schema).unwrap();
    let given = private.select(&[0, 1, 2]).unwrap();
    write_csv_file(&bench.path("rows.csv"), &given, &schema, Labels::Codes, 3).unwrap();
    let numbered = |text: String| {
        let rows = text.lines().enumerate().map(|(line, row)| match line {
            0 => format!("number,{row}\n"),
            line => format!("{line},{row}\n"),
        });
        rows.collect::<String>()
    };
    bench.write("rows.csv", &numbered(bench.read("rows.csv")));
    let synth = "synth --private private.csv --schema schema.json --mechanism mst --workload all-2-way --epsilon 1 --delta 1e-6 \
                 --seed 4 --error-share 0 --keep-columns number --complete";
    for form in ["csv", "parquet", "feather"] {
        bench.succeed(&format!("{synth} rows.csv --out full.{form} --model model.json"));
        let found = read_csv(&bench.path(&format!("full.{form}")), &schema).unwrap();
        assert_eq!(found, read_csv(&bench.path("full.csv"), &schema).unwrap(), "{form}");
        bench.succeed(&format!(
            "sample --model model.json --complete rows.csv --keep number --seed 4 --out drawn.{form}"
        ));
        let drawn = read_csv(&bench.path(&format!("drawn.{form}")), &schema).unwrap();
        assert_eq!(drawn, read_csv(&bench.path("drawn.csv"), &schema).unwrap(), "{form}");
    }
    // What was given stays, its numbers too, and can be given again.
    let file = fs::File::open(bench.path("full.parquet")).unwrap();
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap().build().unwrap();
    let number = reader.schema().field(0).clone();
    assert_eq!((&**number.name(), number.data_type()), ("number", &arrow_schema::DataType::Int64));
    let columns = "sample --model model.json --complete full.parquet --keep number --out again.csv";
    bench.fail(columns, 3, "at least one attribute");
}
