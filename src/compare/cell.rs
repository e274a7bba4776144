//! The runs of a comparison, in order, with digests that show whether a finished run still matches the protocol.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compare::Selection;
use crate::error::{Error, ErrorKind, Fact, Result};
use crate::evaluation::RulesSource;
use crate::mechanism::{self, PublicTables};
use crate::report::comparison::Key;
use crate::synthesis::PublicTable;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::protocol::{DataSet, DataSetRuns, Protocol};

/// The subject of one run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub(super) enum Subject {
    /// The job's mechanism.
    Mechanism,
    /// A public table by position, used directly without any mechanism.
    PublicTable(usize),
    /// The product of the real table's one-way marginals: the error of ignoring all dependence.
    OneWay,
}

/// One run, with all the information that its process needs, which gets it as JSON.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub struct Cell {
    /// The line of the results.
    pub key: Key,
    /// A digest of everything that affects the result.
    pub(super) digest: String,
    pub(super) subject: Subject,
    /// What is shared with the other runs of the data set, except that its job has this run's mechanism, epsilon and seed.
    pub(super) shared: DataSetRuns,
}

/// The runs of a protocol that are selected, in the order of the seeds.
pub(super) fn cells(protocol: &Protocol, only: &Selection) -> Result<Vec<Cell>> {
    check(protocol, only)?;
    let mut digests = Digests::default();
    let mut cells = Vec::new();
    let asked = |set: &&DataSet| only.data.is_empty() || only.data.contains(&set.name);
    for set in protocol.data.iter().filter(asked) {
        let shared = protocol.shared(set)?;
        for (subject, key) in subjects(protocol, set, &shared, only)? {
            let mut shared = shared.clone();
            if subject == Subject::Mechanism {
                shared.job.mechanism.clone_from(&key.mechanism);
                shared.job.parameters = protocol.parameters(set, &key.mechanism)?;
                (shared.job.epsilon, shared.job.seed) = (key.epsilon, key.seed);
            }
            let mut cell = Cell { key, digest: String::new(), subject, shared };
            cell.digest = digests.of_cell(&cell)?;
            cells.push(cell);
        }
    }
    // Run the first seed of everything first, so that an interrupted comparison has useful results.
    cells.sort_by_key(|cell| protocol.seeds.iter().position(|s| Some(*s) == cell.key.seed));
    Ok(cells)
}

/// The subjects to run on a data set and their keys: first the baselines, then the mechanisms.
fn subjects(
    protocol: &Protocol,
    set: &DataSet,
    shared: &DataSetRuns,
    only: &Selection,
) -> Result<Vec<(Subject, Key)>> {
    let key = |mechanism: &str, epsilon, seed| Key {
        data: set.name.clone(),
        mechanism: mechanism.to_owned(),
        epsilon,
        seed,
    };
    let mut subjects = vec![(Subject::OneWay, key("true one-way marginals", None, None))];
    let mut public: Vec<String> =
        shared.job.public.iter().map(|table| table.name.clone()).collect();
    public.extend(shared.split.as_ref().map(|_| "part".to_owned()));
    for (table, name) in public.iter().enumerate() {
        let name = format!("public table {name}");
        subjects.push((Subject::PublicTable(table), key(&name, None, None)));
    }
    for mechanism in protocol.mechanisms(set) {
        if !(only.mechanism.is_empty() || only.mechanism.contains(mechanism)) {
            continue;
        }
        // If nothing is spent, epsilon does not matter.
        let epsilons: Vec<Option<f64>> = if mechanism::find(mechanism)?.spends {
            let asked = protocol.epsilons.iter().filter(|e| is_asked(only, **e));
            asked.copied().map(Some).collect()
        } else {
            vec![None]
        };
        let asked = |seed: &&u64| only.seed.is_empty() || only.seed.contains(seed);
        for seed in protocol.seeds.iter().filter(asked) {
            let key = |epsilon: &Option<f64>| key(mechanism, *epsilon, Some(*seed));
            subjects.extend(epsilons.iter().map(|epsilon| (Subject::Mechanism, key(epsilon))));
        }
    }
    Ok(subjects)
}

fn is_asked(only: &Selection, epsilon: f64) -> bool {
    only.epsilon.is_empty() || only.epsilon.iter().any(|asked| asked.total_cmp(&epsilon).is_eq())
}

/// Refuses a selection that is not in the protocol.
fn check(protocol: &Protocol, only: &Selection) -> Result<()> {
    fn refused(what: &'static str, found: impl Into<Fact>) -> Result<()> {
        Err(Error::invalid_parameter(what, found, "one that the protocol has"))
    }
    if let Some(name) = only.data.iter().find(|n| protocol.data.iter().all(|set| set.name != **n)) {
        return refused("data", name.as_str());
    }
    let has = |name| protocol.data.iter().any(|set| protocol.mechanisms(set).contains(name));
    if let Some(name) = only.mechanism.iter().find(|name| !has(name)) {
        return refused("mechanism", name.as_str());
    }
    let has = |asked: &f64| protocol.epsilons.iter().any(|e| e.total_cmp(asked).is_eq());
    if let Some(epsilon) = only.epsilon.iter().find(|epsilon| !has(epsilon)) {
        return refused("epsilon", *epsilon);
    }
    if let Some(seed) = only.seed.iter().find(|seed| !protocol.seeds.contains(seed)) {
        return refused("seed", *seed);
    }
    Ok(())
}

/// Digests of files, each read once.
#[derive(Default)]
struct Digests(BTreeMap<PathBuf, String>);

impl Digests {
    /// A digest of everything that affects a run's result: the contents of its files, not their paths, and its
    /// parameters. Public tables count only if they are used, so that data sets can share runs without them.
    fn of_cell(&mut self, cell: &Cell) -> Result<String> {
        let (shared, job) = (&cell.shared, &cell.shared.job);
        let uses_public =
            || -> Result<bool> { Ok(job.entry()?.public_tables != PublicTables::Unused) };
        let (public, spoil): (&[PublicTable], _) = match &cell.subject {
            // The bins of a survey weight may come from public tables.
            Subject::Mechanism if uses_public()? || job.weight.is_some() => {
                (&job.public, &shared.spoil)
            }
            Subject::PublicTable(table) => {
                (job.public.get(*table..=*table).unwrap_or_default(), &shared.spoil)
            }
            _ => (&[], &None),
        };
        let tables = [job.schema.file(), job.private.file()].into_iter();
        let tables = tables.chain(public.iter().map(|table| table.source.file()));
        let mut files: Vec<&Path> = tables.flatten().collect();
        let asked = &shared.evaluation;
        if let Some(RulesSource::File(rules)) = &asked.rules {
            files.push(rules);
        }
        let mut contents = Vec::new();
        for file in files {
            contents.push(self.of_file(file)?);
        }
        let workload = match asked.workload.as_str() {
            name if name.starts_with("all-") => name.to_owned(),
            file => self.of_file(Path::new(file))?,
        };
        let names: Vec<&str> = public.iter().map(|table| &*table.name).collect();
        let subject = match &cell.subject {
            Subject::Mechanism => {
                let (name, parameters) = (&job.mechanism, &job.parameters);
                json!({"Mechanism": {"name": name, "parameters": parameters}})
            }
            other => json!(other),
        };
        let measures = (&asked.measures, asked.k, asked.draws);
        let parts = (
            (env!("CARGO_PKG_VERSION"), contents, names, &shared.split, &shared.attributes),
            (workload, asked.max_cells, measures, subject, cell.key.epsilon, cell.key.seed),
            (job.delta, job.neighbors, &asked.groups),
        );
        let failed =
            |error| Error::comparison(ErrorKind::Internal, format!("cannot write JSON: {error}"));
        let mut text = serde_json::to_string(&parts).map_err(failed)?;
        // Runs without it keep the digest that they had before there was any.
        if let Some(spoil) = spoil {
            text += &serde_json::to_string(spoil).map_err(failed)?;
        }
        if !asked.predict.is_empty() {
            text += &serde_json::to_string(&asked.predict).map_err(failed)?;
        }
        if let Some(weight) = &asked.weight {
            text += &serde_json::to_string(&(weight, &shared.totals)).map_err(failed)?;
            if job.weight.is_none() {
                text += "runs without it";
            }
        }
        let mut digest = hex(&Sha256::digest(text.as_bytes()));
        digest.truncate(16);
        Ok(digest)
    }

    fn of_file(&mut self, path: &Path) -> Result<String> {
        if let Some(known) = self.0.get(path) {
            return Ok(known.clone());
        }
        let failed = |source| Error::Io { action: "read", path: path.into(), source };
        let digest = hex(&Sha256::digest(fs::read(path).map_err(failed)?));
        self.0.insert(path.into(), digest.clone());
        Ok(digest)
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        _ = write!(text, "{byte:02x}");
        text
    })
}
