//! Everything that reads a file from a stranger, as functions of bytes: what is read is then used. The fuzz targets and
//! the corpus test share them. They must not panic, and must not allocate much more than the bytes they are given.

use std::fs;
use std::path::Path;

use jointly::data::{
    AbsentColumns, Dataset, Projectable, Units, read_csv_from, read_units_csv_from,
};
use jointly::domain::{Clique, Domain, Schema};
use jointly::evaluation::EditRules;
use jointly::mechanism::{Independent, Mechanism, Task};
use jointly::model::{Drawing, ModelFile, ModelLimits};
use jointly::observe::Silent;
use jointly::privacy::{Budget, Checkpoint, Curator, LedgerFile, NeighboringRelation, NoiseSeed};
use jointly::query::Workload;
use jointly::rand::SeedableRng;
use jointly::rand::rngs::ChaCha20Rng;

/// A reader by the name of its folder in the corpus.
pub(crate) type Reader = fn(&[u8]);

/// All readers.
pub(crate) const READERS: &[(&str, Reader)] = &[
    ("csv", csv),
    ("schema", schema),
    ("workload", workload),
    ("rules", rules),
    ("model", model),
    ("ledger", ledger),
    ("checkpoint", checkpoint),
    #[cfg(feature = "parquet")]
    ("parquet", binary),
    #[cfg(feature = "parquet")]
    ("arrow", binary),
];

const SCHEMA: &str = r#"{"na_token": "NA", "columns": [
    {"name": "sex", "kind": "categorical", "codes": ["f", "m"]},
    {"name": "age", "kind": "numeric", "edges": [0, 18, 65, 120], "na": true},
    {"name": "size", "kind": "coded", "size": 5}],
    "forbidden": [{"sex": "m", "size": 4}]}"#;

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}

fn known() -> Schema {
    Schema::from_json(SCHEMA, "schema.json").expect("a valid schema")
}

/// A table of text, also in gzip.
pub(crate) fn csv(bytes: &[u8]) {
    let schema = known();
    if let Ok(table) = read_csv_from(bytes, "t.csv", &schema, AbsentColumns::LeaveOut) {
        let all = Clique::new(0..table.domain().len());
        let counts = table.project(&all).expect("a small table");
        assert_eq!(counts.iter().map(|n| u64::from(*n)).sum::<u64>(), table.records() as u64);
    }
    let units = Units::new("home", 2).expect("valid");
    _ = read_units_csv_from(bytes, "t.csv", &schema, &units);
}

/// `schema.json` and `domain.json`.
pub(crate) fn schema(bytes: &[u8]) {
    let Some(schema) = text(bytes).and_then(|text| Schema::from_json(text, "s.json").ok()) else {
        return;
    };
    let written = schema.to_json().expect("a schema can be written");
    let again = Schema::from_json(&written, "again").expect("what is written can be read");
    assert_eq!(schema, again);
    let names: Vec<&str> = schema.attributes().map(|column| column.name.as_str()).collect();
    schema.select(&names[..1]).expect("an attribute of the schema");
    _ = read_csv_from(bytes, "t.csv", &schema, AbsentColumns::LeaveOut);
}

/// A list of cliques.
pub(crate) fn workload(bytes: &[u8]) {
    let domain = Domain::new([("a", 2), ("b", 3), ("c", 4), ("d e", 5)]).expect("valid");
    let Some(text) = text(bytes) else { return };
    if let Ok(workload) = Workload::from_text(text, "w.txt", &domain) {
        assert!(!workload.downward_closure().is_empty());
        assert!(workload.cliques().iter().all(|clique| domain.cells(clique).is_some()));
        _ = workload.restrict(&domain, 6);
    }
}

/// Edit rules.
pub(crate) fn rules(bytes: &[u8]) {
    let schema = known();
    let Some(rules) =
        text(bytes).and_then(|text| EditRules::from_json(text, "r.json", &schema).ok())
    else {
        return;
    };
    let table = Dataset::from_rows(schema.domain(), &[[0, 1, 2], [1, 3, 0]]).expect("valid");
    // A range that cuts a bin needs the numbers of a table.
    if let Ok(found) = rules.violations(&table) {
        assert!(found.violating <= 2);
    }
}

/// A model, from which records are then drawn.
pub(crate) fn model(bytes: &[u8]) {
    let limits = ModelLimits { file_bytes: 1 << 16, model_mib: 4.0 };
    let Some(text) = text(bytes) else { return };
    let is_whole = ModelFile::from_json(text, "m.json", limits).is_ok();
    // As from a stranger who knows how digests are made: otherwise every change ends at the digest.
    let Ok(text) = ModelFile::with_digest(text, "m.json") else { return };
    let read = ModelFile::from_json(&text, "m.json", limits);
    assert!(read.is_ok() || !is_whole);
    let Ok(file) = read else { return };
    for drawing in [Drawing::Refined, Drawing::Independent] {
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        if let Ok(rows) = file.model.rows(10, drawing, &file.refinement(), &mut rng) {
            assert_eq!(rows.records(), 10);
        }
    }
}

fn records() -> Dataset {
    let domain = Domain::new([("a", 2), ("b", 3)]).expect("valid");
    Dataset::from_rows(domain, &[[0, 0], [1, 2], [1, 1], [0, 2]]).expect("valid")
}

/// A ledger, which a new run then counts against its budget.
pub(crate) fn ledger(bytes: &[u8]) {
    let Some(file) = text(bytes).and_then(|text| LedgerFile::from_json(text, "l.json").ok()) else {
        return;
    };
    let (records, budget) = (records(), Budget::approximate(2.0, 1e-6).expect("valid"));
    let relation = file.neighbors;
    let curator = budget.curator(&records, relation, NoiseSeed::Fixed(1));
    let mut curator = curator.expect("a curator");
    if curator.charge_earlier(&file).is_ok() {
        assert!(curator.spent() <= budget.rho());
    }
}

/// Writes bytes to a file of a new folder, in memory where there is a file system for it.
fn in_file<T>(name: &str, bytes: &[u8], read: impl FnOnce(&Path) -> T) -> T {
    let fast = Path::new("/dev/shm");
    let place = if fast.is_dir() { fast.to_owned() } else { std::env::temp_dir() };
    let thread = format!("{:?}", std::thread::current().id());
    let thread = thread.replace(|c: char| !c.is_ascii_digit(), "");
    let folder = place.join(format!("jointly-readers-{}-{thread}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join(name);
    fs::write(&file, bytes).expect("written");
    let done = read(&file);
    fs::remove_dir_all(&folder).expect("removed");
    done
}

/// A table in a Parquet or Arrow file, by every way of reading one.
#[cfg(feature = "parquet")]
pub(crate) fn binary(bytes: &[u8]) {
    _ = in_file("t.binary", bytes, read_binary);
}

/// What a reader says of a Parquet or Arrow file.
#[cfg(feature = "parquet")]
pub(crate) fn read_binary(file: &Path) -> Vec<jointly::Result<()>> {
    use jointly::data::{
        CountPlan, PartialTable, WholeTable, draft_from_public, read_csv, read_public_csv,
        read_units_csv,
    };
    use jointly::observe::Unstoppable;
    let schema = known();
    let plan = CountPlan::new(&schema, &[Clique::new(0..2)]).expect("a small plan");
    let (counted, read) = (plan.count_file(file, &Unstoppable), read_csv(file, &schema));
    if let (Ok(counted), Ok(read)) = (&counted, &read) {
        assert_eq!(counted.records(), read.records() as u64);
    }
    let drafted = draft_from_public(&[file], schema.table(), &jointly::data::Hints::default());
    // Under a schema that knows all of its columns.
    let partial =
        drafted.as_ref().ok().map(|draft| PartialTable::read(file, &draft.schema, &[], None));
    let all = [
        counted.map(drop),
        read.map(drop),
        read_public_csv(file, &schema).map(drop),
        read_units_csv(file, &schema, &Units::new("home", 2).expect("valid")).map(drop),
        WholeTable::read(file, &schema, None).map(drop),
        drafted.map(drop),
    ];
    all.into_iter().chain(partial.map(|read| read.map(drop))).collect()
}

/// A checkpoint of the run below, which then resumes from it.
pub(crate) fn checkpoint(bytes: &[u8]) {
    let resumed = in_file("checkpoint.json", bytes, |file| resume(file.parent()?));
    if let Some(spent) = resumed {
        assert!(spent <= 1 << 36);
    }
}

/// The run whose checkpoints are read: what it has spent, in units of ρ, or nothing if the checkpoint is refused.
pub(crate) fn resume(folder: &Path) -> Option<u64> {
    let records = records();
    let workload = Workload::all_k_way(records.domain(), 2).expect("valid");
    let task = Task::new(&workload, &[]);
    let limit = jointly::privacy::Rho::from_units(1 << 36);
    let relation = NeighboringRelation::AddRemoveOne;
    let curator = Curator::new(&records, relation, limit, NoiseSeed::Fixed(1)).expect("a curator");
    let mut curator = curator.with_checkpoint(Checkpoint::open(folder, "table").ok()?);
    let mechanism = Independent { iterations: 5, ..Independent::default() };
    let release = mechanism.run(&mut curator, &task, &mut Silent).ok()?;
    Some(release.ledger.spent().units())
}
