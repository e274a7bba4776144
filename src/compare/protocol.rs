//! Reads and checks the protocol of a comparison, a TOML file. Unknown keys are refused. Errors name the file, the line
//! and the expected value.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::data::read_text;
use crate::domain::Schema;
use crate::error::{Error, ErrorKind, Result};
use crate::evaluation::{EvaluationSettings, Measure, RulesSource};
use crate::experiment::{Split, Spoil};
use crate::mechanism;
use crate::privacy::{Delta, Epsilon, NeighboringRelation};
use crate::query::WorkloadSource;
use crate::report::comparison::Comparison;
use crate::synthesis::{Job, PublicFile, PublicTable};
use serde::de::{Deserializer, Error as _, IntoDeserializer};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The data sets, mechanisms, budgets and seeds to run. Keys are documented in `docs/guide/compare.md`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Protocol {
    pub(super) title: Option<String>,
    #[serde(deserialize_with = "delta")]
    delta: f64,
    #[serde(deserialize_with = "epsilons")]
    pub(super) epsilons: Vec<f64>,
    #[serde(deserialize_with = "distinct")]
    pub(super) seeds: Vec<u64>,
    #[serde(deserialize_with = "known")]
    pub(super) mechanisms: Vec<String>,
    #[serde(default, deserialize_with = "relation")]
    neighbors: NeighboringRelation,
    #[serde(default = "all_three_way")]
    workload: String,
    max_cells: Option<u64>,
    iterations: Option<u32>,
    size_limit_mib: Option<f64>,
    #[serde(default)]
    measures: Vec<Measure>,
    #[serde(default = "three")]
    k: u32,
    draws: Option<u32>,
    /// Parameters of mechanisms, by name; `_` and `-` are equivalent.
    #[serde(default)]
    tuning: BTreeMap<String, Map<String, Value>>,
    pub(super) data: Vec<DataSet>,
    /// The folder of the file, and the folder named by `JOINTLY_DATA`.
    #[serde(skip)]
    folders: Vec<PathBuf>,
    /// The file, for messages.
    #[serde(skip)]
    file: String,
}

/// A private table with its public tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DataSet {
    pub(super) name: String,
    #[serde(default)]
    folder: PathBuf,
    schema: PathBuf,
    private: PathBuf,
    #[serde(default)]
    public: Vec<PathBuf>,
    pub(super) split: Option<Split>,
    spoil: Option<Spoil>,
    /// Patterns of attributes to exclude, and of exceptions to include anyway.
    #[serde(default)]
    drop: Vec<String>,
    #[serde(default)]
    keep: Vec<String>,
    workload: Option<String>,
    max_cells: Option<u64>,
    rules: Option<PathBuf>,
    /// The column of the survey weight: releases, and what they are compared with, are then of the population.
    weight: Option<String>,
    /// Whether mechanisms see the weight. Otherwise they run on the records as they are, and only totals and errors are weighted.
    #[serde(default = "yes")]
    weight_in_runs: bool,
    /// Attributes of the tables whose totals hold in every release. Their counts are computed from the weighted private table, to
    /// stand for published ones.
    #[serde(default)]
    totals: Vec<Vec<String>>,
    /// Grouping attributes of the group score, outermost first. They are also the groups of `ide`.
    #[serde(default)]
    groups: Vec<String>,
    /// Attributes of which a classifier is trained on the synthetic records.
    #[serde(default)]
    predict: Vec<String>,
    mechanisms: Option<Vec<String>>,
    #[serde(default)]
    tuning: BTreeMap<String, Map<String, Value>>,
}

/// What the runs of a data set share.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct DataSetRuns {
    /// The job, without mechanism, epsilon and seed.
    pub(super) job: Job,
    pub(super) split: Option<Split>,
    #[serde(default)]
    pub(super) spoil: Option<Spoil>,
    /// Names of the included attributes.
    pub(super) attributes: Vec<String>,
    /// Attributes of the tables that are known of the population.
    #[serde(default)]
    pub(super) totals: Vec<Vec<String>>,
    /// What to measure, on the workload of the job.
    pub(super) evaluation: EvaluationSettings,
}

impl Protocol {
    /// Reads a protocol and checks everything that can be checked without data.
    ///
    /// # Errors
    /// A file that cannot be read or is no protocol, with its line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        let mut protocol: Self = toml::from_str(&text).map_err(|error| {
            let line = error.span().map_or(1, |span| 1 + text[..span.start].matches('\n').count());
            let place = format!("{}, line {line}", path.display());
            let message = error.message().replace('\n', ", ");
            let form = "a protocol as in docs/guide/compare.md";
            match message.split_once(", expected ") {
                Some((found, expected)) => {
                    let expected = format!("{}, in {form}", plain(expected));
                    Error::invalid_specification(place, found, expected)
                }
                None => Error::invalid_specification(place, message, form),
            }
        })?;
        let here = path.parent().map_or_else(PathBuf::new, Path::to_path_buf);
        protocol.folders = vec![here];
        protocol.folders.extend(std::env::var_os("JOINTLY_DATA").map(PathBuf::from));
        protocol.file = path.display().to_string();
        protocol.check(&protocol.file)?;
        Ok(protocol)
    }

    fn check(&self, place: &str) -> Result<()> {
        let wrong = |at: &str, found: String, expected: &str| {
            Err(Error::invalid_specification(format!("{place}, {at}"), found, expected))
        };
        if self.data.is_empty() {
            return wrong("data", "no data set".into(), "at least one [[data]]");
        }
        if self.k == 0 || self.draws == Some(0) {
            return wrong("k and draws", "0".into(), "at least 1");
        }
        for (i, set) in self.data.iter().enumerate() {
            let at = format!("data set '{}'", set.name);
            if set.name.is_empty() || self.data[..i].iter().any(|other| other.name == set.name) {
                return wrong(&at, "a name that is empty or taken".into(), "distinct names");
            }
            if set.split.is_some() && !set.public.is_empty() {
                return wrong(&at, "both 'split' and 'public'".into(), "one of the two");
            }
            if set.weight.is_some() && (set.split.is_some() || set.spoil.is_some()) {
                let expected = "whole files of public tables, as they are";
                return wrong(&at, "'weight' with 'split' or 'spoil'".into(), expected);
            }
            if set.weight.is_none() && !set.totals.is_empty() {
                let expected = "'weight', as totals are of the weighted private table";
                return wrong(&at, "'totals' alone".into(), expected);
            }
            if set.weight.is_none() && !set.weight_in_runs {
                let expected = "'weight', the column that runs do not see";
                return wrong(&at, "'weight_in_runs' alone".into(), expected);
            }
            if let Some(spoil) = &set.spoil {
                if set.split.is_none() && set.public.is_empty() {
                    return wrong(
                        &at,
                        "'spoil' without a public table".into(),
                        "'public' or 'split'",
                    );
                }
                spoil.check(&format!("{place}, {at}"))?;
            }
            for name in self.mechanisms(set) {
                let parameters = self.parameters(set, name)?;
                if let Err(error) = mechanism::find(name)?.build(&parameters) {
                    let message = format!("{place}, {at}: {error}");
                    return Err(Error::comparison(ErrorKind::Input, message));
                }
            }
        }
        Ok(())
    }

    /// The mechanisms to run on a data set.
    pub(super) fn mechanisms<'a>(&'a self, set: &'a DataSet) -> &'a [String] {
        set.mechanisms.as_ref().unwrap_or(&self.mechanisms)
    }

    /// The names of all mechanisms, in the protocol's order.
    pub(super) fn mechanism_names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.mechanisms.iter().map(String::as_str).collect();
        for name in self.data.iter().flat_map(|set| self.mechanisms(set)) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The parameters of a mechanism on a data set: its own settings, and the common settings that it supports.
    pub(super) fn parameters(&self, set: &DataSet, name: &str) -> Result<Map<String, Value>> {
        let given = set.tuning.get(name).or_else(|| self.tuning.get(name));
        let given = given.into_iter().flatten();
        let given: Map<String, Value> =
            given.map(|(key, value)| (key.replace('_', "-"), value.clone())).collect();
        let has = mechanism::find(name)?.defaults()?;
        let shared = [
            ("iterations", self.iterations.map(Value::from)),
            ("size-limit-mib", self.size_limit_mib.map(Value::from)),
            ("groups", Some(Value::from(set.groups.clone()))),
        ];
        let shared = shared.into_iter().filter_map(|(key, value)| Some((key, value?)));
        let mut all: Map<String, Value> = shared
            .filter(|(key, _)| has.contains_key(*key))
            .map(|(key, value)| (key.to_owned(), value))
            .collect();
        all.extend(given);
        Ok(all)
    }

    /// The settings shown on the page.
    pub(super) fn comparison(&self) -> Comparison<'_> {
        Comparison {
            title: self.title.as_deref(),
            delta: self.delta,
            epsilons: &self.epsilons,
            data: self.data.iter().map(|set| set.name.as_str()).collect(),
            mechanisms: self.mechanism_names(),
        }
    }

    /// Finds the files of a data set and the included attributes.
    pub(super) fn shared(&self, set: &DataSet) -> Result<DataSetRuns> {
        let find = |file: &PathBuf| self.find(&set.folder.join(file));
        let schema = find(&set.schema)?;
        let workload = set.workload.as_ref().unwrap_or(&self.workload);
        let source = WorkloadSource { name: workload.clone(), max_cells: None };
        // A misspelled name is refused as such, not as a file that is missing.
        let is_named = workload.starts_with("all-") && workload.ends_with("-way");
        let workload = if is_named || source.is_built_in() {
            workload.clone()
        } else {
            self.find(Path::new(workload))?.display().to_string()
        };
        let whole = Schema::read(&schema)?;
        let attributes = set.attributes(&whole)?;
        if let Some(split) = &set.split {
            let place = format!("{}, data set '{}'", self.file, set.name);
            split.check(&whole.select(&attributes)?.domain(), &place)?;
        }
        let spoiled = set.spoil.as_ref().map_or(&[][..], Spoil::names);
        let named =
            [("groups", &set.groups[..]), ("predict", &set.predict[..]), ("spoil", spoiled)];
        let totals = set.totals.iter().map(|names| ("totals", &names[..]));
        for (key, names) in named.into_iter().chain(totals) {
            if let Some(unknown) = names.iter().find(|name| !attributes.contains(name)) {
                let place = format!("{}, data set '{}', {key}", self.file, set.name);
                let expected = "attributes that take part";
                let found = format!("'{unknown}'");
                return Err(Error::invalid_specification(place, found, expected));
            }
        }
        let public = |file| -> Result<PublicTable> {
            let path = find(file)?;
            Ok(PublicFile { name: PublicFile::stem(&path), path }.into())
        };
        let max_cells = set.max_cells.or(self.max_cells);
        let job = Job {
            private: find(&set.private)?.into(),
            public: set.public.iter().map(public).collect::<Result<_>>()?,
            schema: schema.into(),
            workload: workload.clone(),
            max_cells,
            delta: Some(self.delta),
            neighbors: self.neighbors,
            weight: set.weight.clone().filter(|_| set.weight_in_runs),
            ..Job::default()
        };
        let runs = DataSetRuns {
            job,
            totals: set.totals.clone(),
            split: set.split.clone(),
            spoil: set.spoil.clone(),
            evaluation: EvaluationSettings {
                workload,
                max_cells,
                worst: 0,
                measures: self.measures.clone(),
                k: self.k,
                draws: self.draws,
                rules: set.rules.as_ref().map(find).transpose()?.map(RulesSource::File),
                groups: set.groups.clone(),
                predict: set.predict.clone(),
                weight: set.weight.clone(),
                ..EvaluationSettings::default()
            },
            attributes,
        };
        if set.weight.is_some() {
            // What cannot be weighted is refused before any run.
            runs.evaluation.under(&whole.select(&runs.attributes)?)?;
        }
        Ok(runs)
    }

    /// A file next to the protocol, or otherwise below the folder that `JOINTLY_DATA` names.
    fn find(&self, file: &Path) -> Result<PathBuf> {
        let places: Vec<PathBuf> = self.folders.iter().map(|folder| folder.join(file)).collect();
        if let Some(found) = places.iter().find(|place| place.is_file()) {
            return Ok(found.clone());
        }
        let places: Vec<String> = places.iter().map(|place| place.display().to_string()).collect();
        let source = std::io::Error::new(
            std::io::ErrorKind::NotFound,
            format!("no such file at {} (JOINTLY_DATA can name the folder)", places.join(" or ")),
        );
        Err(Error::Io { action: "read", path: file.into(), source })
    }
}

fn yes() -> bool {
    true
}

impl DataSet {
    fn attributes(&self, schema: &Schema) -> Result<Vec<String>> {
        let names: Vec<String> = schema.attributes().map(|column| column.name.clone()).collect();
        let matching = |pattern: &String| names.iter().any(|name| matches(pattern, name));
        if let Some(useless) = self.keep.iter().chain(&self.drop).find(|p| !matching(p)) {
            let place = format!("data set '{}'", self.name);
            return Err(schema.domain().unknown(useless, place).into());
        }
        let any = |patterns: &[String], name: &str| patterns.iter().any(|p| matches(p, name));
        let kept = |name: &String| !any(&self.drop, name) || any(&self.keep, name);
        let kept: Vec<String> = names.iter().filter(|name| kept(name)).cloned().collect();
        if kept.is_empty() {
            let place = format!("data set '{}', drop", self.name);
            let expected = "at least one attribute that stays";
            return Err(Error::invalid_specification(place, "all attributes", expected));
        }
        Ok(kept)
    }
}

/// The parser's words for types, in those of a reader.
fn plain(expected: &str) -> String {
    match expected {
        "u32" | "u64" | "usize" => "a whole number of at least 0".into(),
        "f64" => "a number".into(),
        "a sequence" => "a list".into(),
        other => other.into(),
    }
}

/// Whether a name matches a pattern, where `*` matches any text.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(rest, &name[at..]))
        }),
    }
}

fn delta<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<f64, D::Error> {
    let delta = f64::deserialize(deserializer)?;
    Delta::new(delta).map(|_| delta).map_err(D::Error::custom)
}

fn epsilons<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<f64>, D::Error> {
    let epsilons: Vec<f64> = distinct(deserializer)?;
    match epsilons.iter().find_map(|epsilon| Epsilon::of_budget(*epsilon).err()) {
        Some(error) => Err(D::Error::custom(error)),
        None => Ok(epsilons),
    }
}

/// Names of mechanisms, each once.
fn known<'de, D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Vec<String>, D::Error> {
    let names: Vec<String> = distinct(deserializer)?;
    match names.iter().find_map(|name| mechanism::find(name).err()) {
        Some(error) => Err(D::Error::custom(error)),
        None => Ok(names),
    }
}

/// A list of at least one member, each once.
fn distinct<'de, D: Deserializer<'de>, T>(deserializer: D) -> std::result::Result<Vec<T>, D::Error>
where
    T: Deserialize<'de> + PartialEq,
{
    let list = Vec::<T>::deserialize(deserializer)?;
    let repeated = (1..list.len()).any(|i| list[..i].contains(&list[i]));
    if list.is_empty() || repeated {
        let found = if repeated { "a member twice" } else { "an empty list" };
        return Err(D::Error::custom(format!("{found}, expected a list of different members")));
    }
    Ok(list)
}

/// A relation between single records.
fn relation<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<NeighboringRelation, D::Error> {
    let name = String::deserialize(deserializer)?;
    if NeighboringRelation::NAMES.iter().all(|(known, _)| name != *known) {
        return Err(D::Error::unknown_variant(&name, &["replace-one", "add-remove-one"]));
    }
    NeighboringRelation::deserialize(name.into_deserializer())
}

fn all_three_way() -> String {
    "all-3-way".into()
}

const fn three() -> u32 {
    3
}

#[cfg(test)]
mod tests;
