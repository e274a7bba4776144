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

#[test]
fn every_release_of_the_curator_is_paid_for_in_the_function_that_draws_it() {
    let measure =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/privacy/src/curator/measure.rs");
    let text = code(&measure);
    assert_eq!(
        text.matches("self.pay(").count(),
        11,
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
