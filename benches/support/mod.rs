//! Shared by the benches: the reference cases, tables and potentials with fixed seeds, and the clocks.

use std::collections::BTreeMap;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jointly::data::{Column, Dataset, Projectable, read_csv};
use jointly::domain::{Bins, Clique, Domain, Kind, Schema, SchemaColumn};
use jointly::measurement::{Measurement, Provenance};
use jointly::table::{CliqueLayout, Potentials};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};

/// Any failure in a bench.
pub(crate) type Failure = Box<dyn Error>;

/// A set of measured cliques of the reference file.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    /// As in `adult15-tree`.
    pub(crate) name: String,
    /// The attributes.
    pub(crate) domain: Domain,
    /// The measured cliques.
    pub(crate) cliques: Vec<Clique>,
}

#[derive(serde::Deserialize)]
struct Family {
    domain: InOrder,
    cases: BTreeMap<String, CliqueList>,
}

#[derive(serde::Deserialize)]
struct CliqueList {
    cliques: Vec<Vec<String>>,
}

/// Names and cardinalities in the order of the file, which a map would lose.
struct InOrder(Vec<(String, u32)>);

impl<'de> Deserialize<'de> for InOrder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;
        impl<'de> Visitor<'de> for Entries {
            type Value = InOrder;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a map from attributes to numbers of values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<InOrder, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(InOrder(entries))
            }
        }
        deserializer.deserialize_map(Entries)
    }
}

impl Case {
    /// Layout of its potentials and marginals.
    pub(crate) fn layout(&self) -> jointly::Result<Arc<CliqueLayout>> {
        Ok(CliqueLayout::new(&self.domain, self.cliques.iter().cloned())?)
    }
}

/// All cases of `engine-cases.json`, or `None`, with a message, if the file is missing.
pub(crate) fn engine_cases() -> Result<Option<Vec<Case>>, Failure> {
    let Some(folder) = folder("JOINTLY_REFERENCE", "../shared/reference") else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(folder.join("engine-cases.json"))?;
    let families: BTreeMap<String, Family> = serde_json::from_str(&text)?;
    let mut cases = Vec::new();
    for (family, Family { domain, cases: lists }) in families {
        let domain = Domain::new(domain.0)?;
        for (name, CliqueList { cliques }) in lists {
            // `ii_tree` is the tree: the numeral is only for sorting.
            let name = name.split_once('_').map_or(&*name, |(_, name)| name).replace("MB", "MiB");
            let cliques = cliques.iter().map(|c| domain.clique(c)).collect::<Result<_, _>>()?;
            cases.push(Case { name: format!("{family}-{name}"), domain: domain.clone(), cliques });
        }
    }
    Ok(Some(cases))
}

/// The private Adult of the JAM-PGM paper, or `None`, with a message, if it is missing.
pub(crate) fn adult() -> Result<Option<Dataset>, Failure> {
    let Some(root) = folder("JOINTLY_DATA", "../shared/data") else { return Ok(None) };
    let schema = Schema::read(&root.join("jam-adult/domain.json"))?;
    Ok(Some(read_csv(&root.join("jam-adult/priv.csv.gz"), &schema)?))
}

/// The schema of the 2018 census records, 195 attributes; without the flags that tell which values were filled in, 119.
pub(crate) fn census_2018(root: &Path, with_flags: bool) -> Result<Schema, Failure> {
    let schema = Schema::read(&root.join("acs2018-person/schema.json"))?;
    let is_flag = |n: &str| n.starts_with('F') && n.ends_with(['P', 'C']);
    let kept = |n: &String| with_flags || !is_flag(n) || ["FOD1P", "FOD2P"].contains(&n.as_str());
    let names = schema.attributes().map(|attribute| attribute.name.clone()).filter(kept);
    Ok(schema.select(&names.collect::<Vec<_>>())?)
}

/// The folder that a variable names, or its usual place; `None`, with a message, if there is none.
#[expect(clippy::print_stdout, reason = "a bench says what it skips")]
pub(crate) fn folder(variable: &str, usual: &str) -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join(usual);
    let folder = std::env::var_os(variable).map_or_else(usual, PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    println!("SKIPPED: no folder {} (set {variable})", folder.display());
    None
}

/// Standard normal potentials.
pub(crate) fn random_potentials(layout: &Arc<CliqueLayout>, seed: u64) -> Potentials {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut theta = Potentials::zeros(layout);
    theta.values_mut().iter_mut().for_each(|x| *x = StandardNormal.sample(&mut rng));
    theta
}

/// Independent columns in which small codes are frequent: the code is `k u²` for a uniform `u`.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a code is between 0 and its cardinality"
)]
pub(crate) fn skewed_table(domain: &Domain, records: usize, seed: u64) -> jointly::Result<Dataset> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let columns = (0..domain.len()).map(|attribute| {
        let k = domain.cardinality(attribute);
        let codes = (0..records).map(|_| {
            let u: f64 = rng.random();
            (k as f64 * u * u) as u32
        });
        Column::from_codes(codes, k)
    });
    let columns = columns.collect::<Result<Vec<_>, jointly::CommonError>>()?;
    Ok(Dataset::new(domain.clone(), columns)?)
}

/// The marginals of a table with Gaussian noise.
pub(crate) fn noisy_marginals(
    table: &Dataset,
    cliques: &[Clique],
    stddev: f64,
    seed: u64,
) -> jointly::Result<Vec<Measurement>> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut noisy = |count: &u32| {
        let noise: f64 = StandardNormal.sample(&mut rng);
        f64::from(*count) + stddev * noise
    };
    let counts = table.project_many(cliques)?;
    let measured = cliques.iter().zip(counts).map(|(clique, counts)| Measurement {
        clique: clique.clone(),
        cell: None,
        values: counts.iter().map(&mut noisy).collect(),
        stddev,
        provenance: Provenance::Private,
    });
    Ok(measured.collect())
}

/// CPU seconds of all threads of this process so far, as the system reports them; 0 if it does not.
pub(crate) fn cpu_seconds() -> f64 {
    let Ok(threads) = std::fs::read_dir("/proc/self/task") else { return 0.0 };
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    1e-9 * nanoseconds.sum::<f64>()
}

/// A table that is a population, with its schema.
pub(crate) type Population = (Schema, Dataset);

/// Eight columns of the private Adult of the JAM-PGM paper.
pub(crate) fn adult_population(root: &Path) -> Result<Population, Failure> {
    let names = [
        "age",
        "workclass",
        "education-num",
        "marital-status",
        "relationship",
        "race",
        "sex",
        "income>50K",
    ];
    let old = Schema::read(&root.join("jam-adult/domain.json"))?;
    // Numbers of codes are the codes.
    let column = |name: &&str| -> Result<SchemaColumn, Failure> {
        let size = old.column(name).ok_or("no such column")?.cardinality();
        let edges = (0..=size).map(f64::from).collect();
        Ok(if ["age", "education-num"].contains(name) {
            SchemaColumn::attribute(*name, Kind::Numeric(Bins::new(edges, Some(true), name)?))
        } else {
            SchemaColumn::attribute(*name, Kind::Coded { size })
        })
    };
    let schema = Schema::new("", names.iter().map(column).collect::<Result<_, _>>()?)?;
    let table = read_csv(&root.join("jam-adult/priv.csv.gz"), &schema)?;
    Ok((schema, table))
}

/// Eight columns of a state of the ACS of 2024.
pub(crate) fn acs_population(root: &Path, state: &str) -> Result<Population, Failure> {
    let folder = root.join("acs2024-person-household");
    let names = ["AGEP", "SEX", "RAC1P", "NATIVITY", "MAR", "HICOV", "DIS", "PUBCOV"];
    let schema = Schema::read(&folder.join("schema.json"))?.select(&names)?;
    let table = read_csv(&folder.join(format!("{state}.csv.gz")), &schema)?;
    Ok((schema, table))
}

/// Records drawn at random from a table, with replacement.
pub(crate) fn resampled(table: &Dataset, records: usize, seed: u64) -> Result<Dataset, Failure> {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let chosen: Vec<usize> = (0..records).map(|_| rng.random_range(0..table.records())).collect();
    let rows: Vec<Vec<u32>> = chosen.iter().map(|record| table.row(*record)).collect();
    Ok(Dataset::from_rows(Projectable::domain(table).clone(), &rows)?)
}
