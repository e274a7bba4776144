//! Doors through which a sealed value could leave, and which no type closes. `Sensitive::map` takes a closure that can
//! neither change what it captures nor write to a cell; this test looks for the rest in the source: locks, atomics,
//! files, printing and panics in the files that compute with sealed values.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::{Path, PathBuf};

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test(&path) {
            found.push(path);
        }
    }
}

/// The sources of the library and of the privacy path.
fn all_sources(found: &mut Vec<PathBuf>) {
    for part in ["src", "crates/privacy/src"] {
        sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join(part), found);
    }
}

/// Whether a file holds the tests of a module, beside it: `tests.rs`, or a part of it in `tests/`.
fn is_test(path: &Path) -> bool {
    let in_folder = path.parent().is_some_and(|folder| folder.ends_with("tests"));
    in_folder || path.file_stem().is_some_and(|stem| stem.to_string_lossy().ends_with("tests"))
}

/// The file without comments and strings, roughly: enough to find names.
fn code(path: &Path) -> String {
    let text = fs::read_to_string(path).unwrap();
    text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join("\n")
}

#[test]
fn files_that_compute_with_sealed_values_open_no_other_door() {
    let doors = [
        "Mutex",
        "RwLock",
        "OnceLock",
        "OnceCell",
        "LazyLock",
        "Atomic",
        "thread_local",
        "static mut",
        "std::fs",
        "std::net",
        "std::env",
        "File::",
        "println!",
        "eprintln!",
        "print!",
        "dbg!",
        "panic!",
        "todo!",
        "unreachable!",
        ".unwrap()",
        ".expect(",
        "process::",
        "mpsc",
        "transmute",
        "log::",
    ];
    let mut files = Vec::new();
    all_sources(&mut files);
    let mut looked_at = 0;
    for path in files {
        let text = code(&path);
        let computes = ["Sensitive<", " Score for ", " Statistic for "];
        if !computes.iter().any(|word| text.contains(word)) {
            continue;
        }
        looked_at += 1;
        for door in doors {
            assert!(!text.contains(door), "{}: {door} beside sealed values", path.display());
        }
    }
    assert!(looked_at >= 8, "only {looked_at} files compute with sealed values");
}

/// That nobody else opens one, the compiler sees to: the field and the function are private to `crates/privacy`.
#[test]
fn values_are_sealed_where_they_are_read_or_counted() {
    let mut files = Vec::new();
    all_sources(&mut files);
    let mut sealing = 0;
    for path in &files {
        let text = code(path);
        let seals = ["Sensitive::new", "Sensitive::beside", "unlisted::read("]
            .iter()
            .any(|word| text.contains(word));
        let may = ["curator.rs", "data/private.rs"].iter().any(|place| path.ends_with(place));
        assert!(may || !seals, "{}", path.display());
        sealing += usize::from(seals);
    }
    assert_eq!(sealing, 2);
}

/// Records that are not sealed come from these functions. Above the readers, these places alone call them, and only for
/// tables that are public, released, or measured for their holder alone, which every such result says of itself.
#[test]
fn above_the_readers_nobody_reads_the_rows_of_a_private_table() {
    let readers = [
        "read_csv(",
        "read_csv_or_empty(",
        "read_csv_from(",
        "read_units_csv(",
        "read_units_csv_from(",
        "count_file(",
        "count_file_or_empty(",
        "read_units(",
        "read_or_empty(",
        "read_whole(",
        "read_weighted(",
        "WholeTable::read(",
        "read_together(",
        "together_of_arrow(",
        "unlisted::read(",
        "read_public_csv(",
        "read_public_units_csv(",
        "read_public_numbers(",
        "read_public_points(",
        "read_public(",
    ];
    let known = [
        ("src/cli/combine.rs", 3),         // the released table and its replicates
        ("src/cli/mixture.rs", 2),         // the public table, and an exact answer: NOT PRIVATE
        ("src/compare/one_run.rs", 3),     // public tables
        ("src/cli/thresholds.rs", 2),      // public numbers, public points
        ("src/cli/trust.rs", 1),           // public tables
        ("src/cli/tune.rs", 2),            // public tables, one in place of the private one
        ("src/fit/job.rs", 1),             // public records
        ("src/evaluation/measures.rs", 6), // exact measures: NOT PRIVATE
        ("src/synthesis/source.rs", 2),    // public tables
        ("python/src/incoming.rs", 3),     // public tables
        ("python/src/tables.rs", 3),       // released tables, and those of exact measures
        ("python/src/thresholds.rs", 4),   // public numbers, public points
    ];
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    ["src", "python/src"].iter().for_each(|part| sources(&root.join(part), &mut files));
    let mut found = Vec::new();
    for path in files.iter().filter(|path| !path.starts_with(root.join("src/data"))) {
        let text = code(path);
        let reads: usize = readers.iter().map(|reader| text.matches(reader).count()).sum();
        if reads > 0 {
            let path = path.strip_prefix(root).unwrap();
            found.push((path.to_string_lossy().into_owned(), reads));
        }
    }
    found.sort();
    let mut known: Vec<(String, usize)> = known.map(|(path, n)| (path.to_owned(), n)).into();
    known.sort();
    assert_eq!(found, known, "rows are read here: is the result marked NOT PRIVATE?");
}

#[test]
fn every_release_of_the_curator_is_paid_for_in_the_function_that_draws_it() {
    let measure =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/privacy/src/curator/measure.rs");
    let text = code(&measure);
    assert_eq!(
        text.matches("self.pay(").count(),
        12,
        "a new access needs a law in tests/audit/laws.rs"
    );
}

#[test]
fn nothing_but_the_curator_reads_the_private_table_of_a_run() {
    let mut files = Vec::new();
    all_sources(&mut files);
    // The table that a curator holds is a field of the privacy path: `data.project`, `data.records`.
    for path in files {
        let text = code(&path);
        let is_inside = path.components().any(|part| part.as_os_str() == "curator")
            || path.ends_with("curator.rs");
        assert!(is_inside || !text.contains("paid.data"), "{}", path.display());
    }
}
