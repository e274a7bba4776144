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
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let mut looked_at = 0;
    for path in files {
        let text = code(&path);
        // The run's driver passes sealed values on, and keeps the checkpoint's files in another module.
        if !text.contains("Sensitive<") && !text.contains(".marginals(cliques)?.map(") {
            continue;
        }
        looked_at += 1;
        for door in doors {
            assert!(!text.contains(door), "{}: {door} beside sealed values", path.display());
        }
    }
    assert!(looked_at >= 8, "only {looked_at} files compute with sealed values");
}

#[test]
fn only_the_privacy_path_opens_a_sealed_value() {
    let mut files = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    let opened = ["Sensitive::new(", "Sensitive(", ".open(&paid)", "Paid {"];
    for path in
        files.iter().filter(|path| !path.components().any(|part| part.as_os_str() == "privacy"))
    {
        let text = code(path);
        for word in opened {
            assert!(!text.contains(word), "{}: {word}", path.display());
        }
    }
    // The values of a column that its schema does not list are sealed where they are read.
    for path in &files {
        let text = code(path);
        let is_sealing = path.ends_with("privacy/unit.rs");
        assert!(is_sealing || !text.contains("UnlistedValues::read("), "{}", path.display());
    }
    // Every release of the curator is paid for in the function that draws it.
    let measure = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/privacy/curator/measure.rs");
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
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut files);
    // The table that a curator holds is a field of the privacy path: `data.project`, `data.records`.
    for path in files {
        let text = code(&path);
        let is_inside = path.components().any(|part| part.as_os_str() == "curator")
            || path.ends_with("curator.rs");
        assert!(is_inside || !text.contains("paid.data"), "{}", path.display());
    }
}
