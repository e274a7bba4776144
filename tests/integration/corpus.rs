//! Readers of files from strangers, on a corpus and its mutations. `fuzz/` runs the same readers for as long as wanted.

#![expect(clippy::expect_used, reason = "a failing helper fails its test")]

use std::fs;
use std::path::Path;

use jointly::rand::rngs::ChaCha20Rng;
use jointly::rand::{Rng, RngExt, SeedableRng};

#[path = "../readers.rs"]
pub(crate) mod readers;

/// Mutations of each file. The seeds are fixed: this is a regression test; the search is the fuzzer's.
const MUTATIONS: u64 = 2_000;

/// Numbers at which programs fail.
const EXTREME: [&str; 16] = [
    "0",
    "-0",
    "-1",
    "1",
    "255",
    "256",
    "65536",
    "4294967295",
    "4294967296",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "1e308",
    "-1e308",
    "1e400",
    "5e-324",
];

fn files(folder: &str) -> Vec<Vec<u8>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus").join(folder);
    let entries = fs::read_dir(folder).expect("a folder of the corpus");
    let mut paths: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths.iter().map(|path| fs::read(path).expect("a file of the corpus")).collect()
}

/// Words, numbers and single other bytes.
fn tokens(bytes: &[u8]) -> Vec<&[u8]> {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_.-+".contains(byte);
    let mut tokens = Vec::new();
    let mut rest = bytes;
    while let Some(first) = rest.first() {
        let length =
            if is_word(first) { rest.iter().take_while(|b| is_word(b)).count() } else { 1 };
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after;
    }
    tokens
}

/// The bytes after one to four changes.
fn mutated(bytes: &[u8], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.random_range(1..=4) {
        if bytes.is_empty() {
            return bytes;
        }
        let at = rng.random_range(0..bytes.len());
        bytes = match rng.random_range(0..7) {
            0 => {
                bytes[at] ^= 1 << rng.random_range(0..8);
                bytes
            }
            1 => bytes[..at].to_vec(),
            2 => bytes[at..].to_vec(),
            kind => {
                let mut tokens = tokens(&bytes);
                let (i, j) = (rng.random_range(0..tokens.len()), rng.random_range(0..tokens.len()));
                match kind {
                    3 => tokens.insert(i, tokens[j]),
                    4 => tokens.swap(i, j),
                    5 => drop(tokens.remove(i)),
                    _ => {
                        let numbers: Vec<usize> =
                            (0..tokens.len()).filter(|t| tokens[*t][0].is_ascii_digit()).collect();
                        if let Some(number) = numbers.get(i % numbers.len().max(1)) {
                            tokens[*number] =
                                EXTREME[rng.next_u32() as usize % EXTREME.len()].as_bytes();
                        }
                    }
                }
                tokens.concat()
            }
        };
    }
    bytes
}

#[test]
fn no_reader_panics_on_the_corpus_or_its_mutations() {
    for &(name, reader) in readers::READERS {
        let files = files(name);
        assert!(!files.is_empty(), "{name}");
        for (number, file) in (0..).zip(&files) {
            reader(file);
            let is_slow = ["arrow", "checkpoint", "parquet"].contains(&name);
            let mutations = if is_slow { MUTATIONS / 8 } else { MUTATIONS };
            for seed in 0..mutations {
                let mut rng = ChaCha20Rng::seed_from_u64(number << 32 | seed);
                reader(&mutated(file, &mut rng));
            }
        }
    }
}

/// The corpus must hold files that are read, or the test above shows little.
#[test]
fn the_models_in_the_corpus_are_read() {
    use jointly::model::{ModelFile, ModelLimits};
    for file in files("model") {
        let text = String::from_utf8(file).expect("text");
        ModelFile::from_json(&text, "m.json", ModelLimits::default()).expect("a model");
    }
}

/// As above. `UPDATE_GOLDEN=1` writes it anew.
#[test]
fn the_checkpoint_in_the_corpus_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoint.json");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        assert_eq!(readers::resume(folder.path()), Some(1 << 36));
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/checkpoint");
        fs::copy(&path, corpus.join("finished.json")).expect("copied");
    }
    fs::write(&path, &files("checkpoint")[0]).expect("written");
    assert_eq!(readers::resume(folder.path()), Some(1 << 36));
}

#[cfg(feature = "cli")]
#[test]
fn no_mutation_of_a_protocol_ends_in_a_panic() {
    let folder = tempfile::tempdir().expect("a folder");
    let base = files("protocol").swap_remove(0);
    for seed in 0..150 {
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let path = folder.path().join(format!("{seed}.toml"));
        fs::write(&path, mutated(&base, &mut rng)).expect("written");
        let output = std::process::Command::new(env!("CARGO_BIN_EXE_jointly"))
            .args(["compare", "--quiet", "--out", "results"])
            .arg(&path)
            .current_dir(folder.path())
            .env_remove("JOINTLY_DATA")
            .output()
            .expect("a process");
        let said = String::from_utf8_lossy(&output.stderr);
        // The tables do not exist: nothing succeeds.
        assert!(output.status.code().is_some_and(|code| (1..=3).contains(&code)), "{seed}: {said}");
        assert!(said.lines().any(|line| line.starts_with("error: ")), "{seed}: {said}");
        assert!(!said.contains("panicked"), "{seed}: {said}");
    }
}
