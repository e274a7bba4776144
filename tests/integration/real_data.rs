//! Every real table at hand reads without error. The tables are not part of the repository.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jointly::data::{Projectable, read_csv};
use jointly::domain::{Clique, Schema};

/// The folder of real tables; `None`, said loudly, where it is missing.
fn data_folder() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("JOINTLY_DATA")
        .map_or_else(|| manifest.join("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!(
        "SKIPPED: no folder {}, set JOINTLY_DATA to test real tables",
        folder.display()
    );
    None
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap());
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

#[test]
fn every_real_table_reads_and_its_sizes_are_those_of_its_domain_file() {
    let Some(folder) = data_folder() else { return };
    let mut read = 0;
    for set in names(&folder) {
        let folder = folder.join(&set);
        let domain_file = folder.join("domain.json");
        if !domain_file.is_file() {
            continue;
        }
        let schema_file = folder.join("schema.json");
        let used = if schema_file.is_file() {
            schema_file
        } else {
            domain_file.clone()
        };
        let schema = Schema::read(&used).unwrap();
        let text = std::fs::read_to_string(&domain_file).unwrap();
        let sizes: BTreeMap<String, u32> = serde_json::from_str(&text).unwrap();
        let domain = schema.domain();
        assert_eq!(domain.len(), sizes.len(), "{set}");
        for attribute in domain.attributes() {
            assert_eq!(
                sizes[&attribute.name], attribute.cardinality,
                "{set} {}",
                attribute.name
            );
        }
        for name in names(&folder) {
            let table = name.ends_with(".csv") || name.ends_with(".csv.gz");
            if !table || name.contains("Dictionary") {
                continue;
            }
            let data = read_csv(&folder.join(&name), &schema).unwrap();
            let ones = data.project(&Clique::new([0])).unwrap();
            assert_eq!(
                ones.iter().sum::<u32>() as usize,
                data.records(),
                "{set}/{name}"
            );
            read += 1;
        }
    }
    assert!(
        read > 20,
        "only {read} tables were found in {}",
        folder.display()
    );
}
