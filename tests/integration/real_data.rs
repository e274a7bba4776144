//! Every real table at hand reads without error. The tables are not part of the repository.

#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "helpers of tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use jointly::data::{
    Document, DocumentKind, Hints, Projectable, draft, draft_from_document, draft_from_public,
    read_csv,
};
use jointly::domain::{Clique, Schema, TableFormat};

/// The folder of real tables; `None`, said loudly, where it is missing.
fn data_folder() -> Option<PathBuf> {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = std::env::var_os("JOINTLY_DATA")
        .map_or_else(|| manifest.join("../shared/data"), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("SKIPPED: no folder {}, set JOINTLY_DATA to test real tables", folder.display());
    None
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
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
        let used = if schema_file.is_file() { schema_file } else { domain_file.clone() };
        let schema = Schema::read(&used).unwrap();
        let text = std::fs::read_to_string(&domain_file).unwrap();
        let sizes: BTreeMap<String, u32> = serde_json::from_str(&text).unwrap();
        let domain = schema.domain();
        assert_eq!(domain.len(), sizes.len(), "{set}");
        for attribute in domain.attributes() {
            assert_eq!(sizes[&attribute.name], attribute.cardinality, "{set} {}", attribute.name);
        }
        for name in names(&folder) {
            let table = name.trim_end_matches(".gz").rsplit('.').next() == Some("csv");
            if !table || name.contains("Dictionary") {
                continue;
            }
            let data = read_csv(&folder.join(&name), &schema).unwrap();
            let ones = data.project(&Clique::new([0])).unwrap();
            assert_eq!(ones.iter().sum::<u32>() as usize, data.records(), "{set}/{name}");
            read += 1;
        }
    }
    assert!(read > 20, "only {read} tables were found in {}", folder.display());
}

fn pums(path: &Path) -> Document {
    Document { kind: DocumentKind::Pums, path: path.into() }
}

#[test]
fn the_dictionary_of_nist_reads_its_excerpts() {
    let Some(folder) = data_folder().map(|folder| folder.join("nist-acs")) else { return };
    let document =
        Document { kind: DocumentKind::Sdnist, path: folder.join("data_dictionary.json") };
    let drafted = draft_from_document(&document).unwrap().schema;
    let named = ["SEX", "MSP", "HISP", "RAC1P", "NOC", "NPF", "OWN_RENT", "AGEP", "DVET", "DEAR"];
    let schema = drafted.select(&named).unwrap();
    for table in ["ma2018.csv", "ma2019.csv", "tx2018.csv", "tx2019.csv"] {
        assert!(read_csv(&folder.join(table), &schema).unwrap().records() > 7_000, "{table}");
    }
    // With rows, all columns: those that the dictionary does not list are drafted.
    let rows = folder.join("ma2018.csv");
    let with_rows =
        draft(&document, &[&rows], &TableFormat::default(), &Hints::default()).unwrap().schema;
    assert!(with_rows.domain().len() >= 22 && read_csv(&rows, &with_rows).is_ok());
    assert_eq!(with_rows.na_token(), "N");
}

#[test]
fn schemas_drafted_from_real_dictionaries_and_rows_read_those_rows() {
    let Some(folder) = data_folder() else { return };
    let acs = folder.join("acs2018-person");
    let dictionary = acs.join("PUMS_Data_Dictionary_2018.csv.gz");
    let wyoming = acs.join("wy.csv.gz");
    let drafted = draft_from_document(&pums(&dictionary)).unwrap().schema;
    assert!(drafted.domain().len() > 150);
    let schema = draft(&pums(&dictionary), &[&wyoming], &TableFormat::default(), &Hints::default())
        .unwrap()
        .schema;
    assert!(schema.domain().len() > 180, "{}", schema.domain().len());
    for schema in [
        schema,
        draft_from_public(&[&wyoming], &TableFormat::default(), &Hints::default()).unwrap().schema,
    ] {
        assert_eq!(read_csv(&wyoming, &schema).unwrap().records(), 5740);
    }
    let joined = folder.join("acs2024-person-household");
    let tables = [joined.join("vt.csv.gz"), joined.join("sd.csv.gz")];
    let tables: Vec<&Path> = tables.iter().map(PathBuf::as_path).collect();
    let dictionary = joined.join("PUMS_Data_Dictionary_2021_subset.csv.gz");
    let schema = draft(&pums(&dictionary), &tables, &TableFormat::default(), &Hints::default())
        .unwrap()
        .schema;
    for path in &tables {
        assert!(read_csv(path, &schema).unwrap().records() > 6000);
    }
    // A transport code is "01" in this dictionary and 1 in the rows: one code, not two.
    assert_eq!(schema.column("JWTRNS").unwrap().cardinality(), 13);
}
