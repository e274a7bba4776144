//! Damaged Parquet and Arrow files: errors that name the file, whatever the libraries make of them.
//!
//! `JOINTLY_DAMAGED_FILES` is the number of files, 2000 if it is not set; 100000 take some minutes.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{BrotliLevel, Compression, Encoding, GzipLevel, ZstdLevel};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties, WriterVersion};
use arrow_array::types::{ArrowPrimitiveType, Float16Type, Int8Type, Int32Type};
use arrow_array::{
    ArrayRef, BooleanArray, Date32Array, Date64Array, Decimal128Array, Decimal256Array,
    DictionaryArray, Float16Array, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, LargeStringArray, ListArray, NullArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray, TimestampMillisecondArray, TimestampNanosecondArray,
    TimestampSecondArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};
use jointly::data::{Labels, write_csv_file};
use jointly::demo::{Generator, schema};
use jointly::rand::rngs::ChaCha20Rng;
use jointly::rand::{Rng, RngExt, SeedableRng};

use crate::cli::{Bench, stderr};
use crate::corpus::readers;

/// Rows of each file, in two row groups.
const ROWS: usize = 40;

/// A column of every type that can be read, and one that cannot.
#[expect(clippy::too_many_lines, reason = "one line or more for each type")]
fn batch() -> RecordBatch {
    type Half = <Float16Type as ArrowPrimitiveType>::Native;
    let at = || 0..ROWS;
    let small = |row: usize| i8::try_from(row % 5).unwrap();
    let day = |row: usize| i64::try_from(18_000 + 7 * row).unwrap();
    let text = |row: usize| ["full time", "none", "part time", "self-employed", "x"][row % 5];
    let some_text = |row: usize| (row % 7 != 3).then(|| text(row));
    let columns: Vec<(&str, ArrayRef)> = vec![
        (
            "home",
            Arc::new(Int32Array::from_iter_values(at().map(|row| i32::try_from(row / 2).unwrap()))),
        ),
        ("sex", Arc::new(StringArray::from_iter_values(at().map(|row| ["f", "m"][row % 2])))),
        (
            "age",
            Arc::new(
                at().map(|row| (row % 9 != 0).then(|| 11 * small(row))).collect::<Int8Array>(),
            ),
        ),
        ("size", Arc::new(UInt64Array::from_iter_values(at().map(|row| row as u64 % 4)))),
        ("nothing", Arc::new(NullArray::new(ROWS))),
        (
            "flag",
            Arc::new(
                at().map(|row| (row % 4 != 0).then_some(row % 3 == 0)).collect::<BooleanArray>(),
            ),
        ),
        (
            "half",
            Arc::new(Float16Array::from_iter_values(
                at().map(|row| Half::from_f32(row as f32 / 2.0)),
            )),
        ),
        ("single", Arc::new(Float32Array::from_iter_values(at().map(|row| row as f32 / 3.0)))),
        ("double", Arc::new(Float64Array::from_iter_values(at().map(|row| (row as f64).sin())))),
        (
            "short",
            Arc::new(Int16Array::from_iter_values(at().map(|row| i16::from(small(row)) * 300))),
        ),
        ("long", Arc::new(Int64Array::from_iter_values(at().map(|row| day(row).pow(3))))),
        (
            "byte",
            Arc::new(UInt8Array::from_iter_values(at().map(|row| u8::try_from(row).unwrap()))),
        ),
        (
            "word",
            Arc::new(UInt16Array::from_iter_values(
                at().map(|row| u16::try_from(row * 9).unwrap()),
            )),
        ),
        (
            "wide",
            Arc::new(UInt32Array::from_iter_values(
                at().map(|row| u32::try_from(row * row).unwrap()),
            )),
        ),
        ("text", Arc::new(at().map(some_text).collect::<LargeStringArray>())),
        (
            "view",
            Arc::new(StringViewArray::from_iter_values(
                at().map(|row| format!("{} {row}", text(row))),
            )),
        ),
        (
            "key",
            Arc::new(
                at().map(|row| (row % 6 != 1).then(|| text(row)))
                    .collect::<DictionaryArray<Int8Type>>(),
            ),
        ),
        (
            "day",
            Arc::new(Date32Array::from_iter_values(
                at().map(|row| i32::try_from(day(row)).unwrap()),
            )),
        ),
        ("day64", Arc::new(Date64Array::from_iter_values(at().map(|row| day(row) * 86_400_000)))),
        (
            "seconds",
            Arc::new(TimestampSecondArray::from_iter_values(at().map(|row| day(row) * 86_400))),
        ),
        (
            "millis",
            Arc::new(TimestampMillisecondArray::from_iter_values(
                at().map(|row| day(row) * 86_400_000),
            )),
        ),
        (
            "micros",
            Arc::new(TimestampMicrosecondArray::from_iter_values(
                at().map(|row| day(row) * 86_400_000_000),
            )),
        ),
        (
            "nanos",
            Arc::new(TimestampNanosecondArray::from_iter_values(
                at().map(|row| day(row) * 86_400_000_000_000),
            )),
        ),
        (
            "money",
            Arc::new(
                Decimal128Array::from_iter_values(at().map(|row| 1_050 * i128::from(day(row))))
                    .with_precision_and_scale(12, 2)
                    .unwrap(),
            ),
        ),
        (
            "much",
            Arc::new(
                Decimal256Array::from_iter_values(at().map(|row| i128::from(day(row)).into()))
                    .with_precision_and_scale(50, 3)
                    .unwrap(),
            ),
        ),
        (
            "list",
            Arc::new(ListArray::from_iter_primitive::<Int32Type, _, _>(
                at().map(|row| (row % 3 != 0).then(|| vec![Some(1); row % 4])),
            )),
        ),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn written(properties: WriterProperties) -> Vec<u8> {
    let batch = batch();
    let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties)).unwrap();
    writer.write(&batch.slice(0, ROWS / 2)).unwrap();
    writer.flush().unwrap();
    writer.write(&batch.slice(ROWS / 2, ROWS / 2)).unwrap();
    writer.into_inner().unwrap()
}

/// Valid files: every compression that is read, with both forms of pages, with dictionaries and without, and the file
/// that this program writes.
fn files() -> Vec<(String, Vec<u8>)> {
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(GzipLevel::default()),
        Compression::LZ4,
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
        Compression::BROTLI(BrotliLevel::default()),
    ];
    let mut files = Vec::new();
    for compression in compressions {
        for version in [WriterVersion::PARQUET_1_0, WriterVersion::PARQUET_2_0] {
            for has_dictionary in [true, false] {
                let form = WriterProperties::builder().set_compression(compression);
                let form = form.set_writer_version(version).set_dictionary_enabled(has_dictionary);
                let name = format!("{compression}, {version:?}, dictionary {has_dictionary}");
                files.push((name, written(form.build())));
            }
        }
    }
    for (encoding, columns) in [
        (Encoding::DELTA_LENGTH_BYTE_ARRAY, ["sex", "text", "view"]),
        (Encoding::DELTA_BYTE_ARRAY, ["sex", "text", "view"]),
        (Encoding::BYTE_STREAM_SPLIT, ["single", "double", "half"]),
    ] {
        let form = WriterProperties::builder().set_dictionary_enabled(false);
        let form = columns
            .iter()
            .fold(form, |form, column| form.set_column_encoding((*column).into(), encoding));
        files.push((encoding.to_string(), written(form.build())));
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    let table = Generator { records: 50, seed: 1, drift: 0.1 }.generate().unwrap();
    write_csv_file(&path, &table, &schema().unwrap(), Labels::Codes, 1).unwrap();
    files.push(("of this program".into(), std::fs::read(&path).unwrap()));
    files
}

/// Valid Arrow files: plain and in both compressions, with two batches.
fn arrow_files() -> Vec<(String, Vec<u8>)> {
    let batch = batch();
    let written = |compression: Option<CompressionType>| {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch.slice(0, ROWS / 2)).unwrap();
        writer.write(&batch.slice(ROWS / 2, ROWS / 2)).unwrap();
        writer.into_inner().unwrap()
    };
    let compressions = [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)];
    compressions.map(|form| (format!("Arrow, {form:?}"), written(form))).to_vec()
}

const KINDS: [&str; 7] = [
    "bits flipped",
    "cut short",
    "overwritten by zeros",
    "overwritten by ones",
    "overwritten at random",
    "bytes inserted",
    "bytes removed",
];

/// Bytes after the footer: its length, and the letters of the form.
fn mark(bytes: &[u8]) -> usize {
    if bytes.starts_with(b"ARROW1") { 10 } else { 8 }
}

/// A place in a file, in half of the cases in its footer.
fn place(bytes: &[u8], rng: &mut ChaCha20Rng) -> usize {
    let mark = mark(bytes);
    let tail = &bytes[bytes.len().saturating_sub(mark)..];
    let tail = tail.first_chunk().map_or(0, |tail| u32::from_le_bytes(*tail) as usize + mark);
    let start = if rng.random_range(0..2) == 0 { bytes.len().saturating_sub(tail) } else { 0 };
    rng.random_range(start.min(bytes.len() - 1)..bytes.len())
}

/// The file with damage of one kind at one to three places.
fn damaged(file: &[u8], kind: usize, rng: &mut ChaCha20Rng) -> Vec<u8> {
    let (mut bytes, mark) = (file.to_vec(), mark(file));
    for _ in 0..rng.random_range(1..=3) {
        let at = place(&bytes, rng);
        let length = rng.random_range(1..=16).min(bytes.len() - at);
        match kind {
            0 => bytes[at] ^= 1 << rng.random_range(0..8),
            // With the footer's own length and mark after it, in half of the cases, so that a footer is found.
            1 if rng.random_range(0..2) == 0 => {
                drop(bytes.drain(at..bytes.len().max(at + mark) - mark));
            }
            1 => bytes.truncate(at.max(mark)),
            2 => bytes[at..at + length].fill(0),
            3 => bytes[at..at + length].fill(0xff),
            4 => bytes[at..at + length].iter_mut().for_each(|byte| *byte = rng.random()),
            5 => {
                let more: Vec<u8> = (0..length).map(|_| rng.random()).collect();
                drop(bytes.splice(at..at, more));
            }
            _ => drop(bytes.drain(at..(at + length).min(bytes.len().max(at + mark) - mark))),
        }
    }
    bytes
}

#[test]
fn damaged_files_are_errors_that_name_the_file() {
    let most = std::env::var("JOINTLY_DAMAGED_FILES").map_or(2000, |n| n.parse().unwrap());
    for files in [files(), arrow_files()] {
        for (kind, [refused, readable, contained]) in damage_files(&files, most) {
            println!(
                "{kind}: {refused} refused, {contained} of them by a panic; {readable} readable"
            );
        }
    }
}

/// Reads files with damage of each kind. By kind: files that some reader refuses, files that all still read, and panics that were
/// contained.
fn damage_files(files: &[(String, Vec<u8>)], most: u64) -> BTreeMap<&'static str, [u64; 3]> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    let mut counts: BTreeMap<&str, [u64; 3]> = BTreeMap::new();
    let mut escaped = Vec::new();
    for seed in 0..most {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let (name, file) = &files[rng.next_u32() as usize % files.len()];
        let kind = rng.random_range(0..KINDS.len());
        std::fs::write(&path, damaged(file, kind, &mut rng)).unwrap();
        let Ok(read) = catch_unwind(AssertUnwindSafe(|| readers::read_binary(&path))) else {
            escaped.push(format!("seed {seed}: {name}, {}", KINDS[kind]));
            continue;
        };
        let errors: Vec<String> =
            read.into_iter().filter_map(|read| Some(read.err()?.to_string())).collect();
        assert!(errors.iter().all(|error| error.contains("/damaged")), "{seed}: {errors:?}");
        let count = counts.entry(KINDS[kind]).or_default();
        count[usize::from(!errors.iter().any(|error| error.contains("cut short, damaged")))] += 1;
        count[2] += u64::from(errors.iter().any(|error| error.contains("cannot be decoded")));
    }
    assert_eq!(escaped, [""; 0]);
    assert!(counts.len() == KINDS.len() && counts.values().all(|[refused, ..]| *refused > 0));
    counts
}

#[test]
fn the_files_that_are_damaged_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("t.parquet");
    for (name, bytes) in files()[..31].iter().chain(&arrow_files()) {
        std::fs::write(&path, bytes).unwrap();
        for (reader, read) in readers::read_binary(&path).into_iter().enumerate() {
            assert!(read.is_ok(), "{name}, reader {reader}: {read:?}");
        }
    }
}

/// Damage of a file at which the libraries panic: the first `most` such files.
fn panicking(file: &[u8], most: usize) -> Vec<Vec<u8>> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("probe.parquet");
    let tried = (0..20_000).map(|seed| {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let kind = rng.random_range(0..KINDS.len());
        damaged(file, kind, &mut rng)
    });
    let panics = |bytes: &Vec<u8>| {
        std::fs::write(&path, bytes).unwrap();
        let mut read = readers::read_binary(&path).into_iter();
        read.any(|read| read.is_err_and(|error| error.to_string().contains("cannot be decoded")))
    };
    tried.filter(panics).take(most).collect()
}

fn in_corpus(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder)
}

/// Small files for the fuzzer to start from, of the columns that its reader knows and one of each kind of decoding, and
/// some at which the libraries panic.
fn write_corpus() {
    let names = ["home", "sex", "age", "size", "text", "day", "money"];
    let batch = batch();
    let columns = names.iter().map(|name| batch.schema().index_of(name).unwrap());
    let batch = batch.project(&columns.collect::<Vec<_>>()).unwrap().slice(0, 12);
    let zstd = Compression::ZSTD(ZstdLevel::default());
    let delta = Encoding::DELTA_BYTE_ARRAY;
    let forms = [
        ("dictionary-snappy", Compression::SNAPPY, WriterVersion::PARQUET_1_0, None),
        ("dictionary-zstd", zstd, WriterVersion::PARQUET_2_0, None),
        ("delta-lz4", Compression::LZ4_RAW, WriterVersion::PARQUET_2_0, Some(delta)),
        ("delta-plain", Compression::UNCOMPRESSED, WriterVersion::PARQUET_1_0, Some(delta)),
    ];
    let save = |folder: &str, name: &str, file: &[u8]| {
        let place = in_corpus(folder);
        std::fs::create_dir_all(&place).unwrap();
        std::fs::write(place.join(format!("{name}.{folder}")), file).unwrap();
        for (number, bytes) in panicking(file, 2).into_iter().enumerate() {
            let name = format!("damaged-{name}-{number}.{folder}");
            std::fs::write(place.join(name), bytes).unwrap();
        }
    };
    for (name, compression, version, encoding) in forms {
        let form = WriterProperties::builder().set_compression(compression);
        let form = form.set_writer_version(version).set_statistics_enabled(EnabledStatistics::None);
        let form = form.set_dictionary_enabled(encoding.is_none());
        let form = encoding
            .iter()
            .fold(form, |form, encoding| form.set_column_encoding("text".into(), *encoding));
        let mut writer =
            ArrowWriter::try_new(Vec::new(), batch.schema(), Some(form.build())).unwrap();
        writer.write(&batch).unwrap();
        save("parquet", name, &writer.into_inner().unwrap());
    }
    for (name, compression) in [("plain", None), ("zstd", Some(CompressionType::ZSTD))] {
        let options = IpcWriteOptions::default().try_with_compression(compression).unwrap();
        let mut writer =
            FileWriter::try_new_with_options(Vec::new(), &batch.schema(), options).unwrap();
        writer.write(&batch).unwrap();
        save("arrow", name, &writer.into_inner().unwrap());
    }
}

/// `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_corpus_has_files_that_are_read_and_files_at_which_the_libraries_panic() {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        write_corpus();
    }
    let (mut whole, mut damaged) = (0, 0);
    let files = ["parquet", "arrow"].map(|folder| std::fs::read_dir(in_corpus(folder)).unwrap());
    for entry in files.into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let errors: Vec<String> = readers::read_binary(&path)
            .into_iter()
            .filter_map(|read| Some(read.err()?.to_string()))
            .collect();
        if name.starts_with("damaged-") {
            assert!(errors.iter().any(|error| error.contains("cannot be decoded")), "{name}");
            assert!(errors.iter().all(|error| error.contains(&name)), "{errors:?}");
            damaged += 1;
        } else {
            assert_eq!(errors, [""; 0], "{name}");
            whole += 1;
        }
    }
    assert!(whole >= 6 && damaged >= 2, "{whole} and {damaged}");
}

#[test]
fn no_command_panics_on_a_damaged_file() {
    let bench = Bench::new();
    let schema = schema().unwrap();
    bench.write("schema.json", &schema.to_json().unwrap());
    let table = Generator { records: 60, seed: 2, drift: 0.1 }.generate().unwrap();
    write_csv_file(&bench.path("whole.csv"), &table, &schema, Labels::Codes, 1).unwrap();
    let budget = "--schema schema.json --epsilon 1 --delta 1e-6 --seed 3";
    let commands = [
        "schema --public damaged.parquet --out -".to_owned(),
        format!("synth --private damaged.parquet {budget} --mechanism independent --out o.csv"),
        format!("synth --private damaged.parquet {budget} --mechanism mst --counted --out o.csv"),
        format!(
            "synth --private whole.csv --public near=damaged.parquet {budget} --mechanism jam-pgm \
             --workload all-2-way --out o.csv"
        ),
        format!(
            "trust --private whole.csv --public near=damaged.parquet {budget} --workload all-1-way"
        ),
        "evaluate --private whole.csv --synthetic damaged.parquet --schema schema.json".to_owned(),
        "evaluate --private damaged.parquet --synthetic whole.csv --schema schema.json".to_owned(),
    ];
    let damaged = panicking(&files().pop().unwrap().1, 2);
    assert_eq!(damaged.len(), 2, "too few files at which the libraries panic");
    for bytes in damaged {
        std::fs::write(bench.path("damaged.parquet"), bytes).unwrap();
        for command in &commands {
            let output = bench.run(command);
            let said = stderr(&output);
            assert!(
                output.status.code().is_some_and(|code| (1..=3).contains(&code)),
                "{command}: {said}"
            );
            assert!(
                said.contains("error: ") && said.contains("damaged.parquet"),
                "{command}: {said}"
            );
            assert!(
                said.contains("cannot be decoded") && !said.contains("panicked"),
                "{command}: {said}"
            );
        }
    }
}
