//! Counting the parts of a private table one by one, for a job that runs on the counts.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::{CountPlan, CountedParts, Keep, Units, read_text};
use crate::domain::Schema;
use crate::error::{Contradiction, Result};
use crate::observe::{Observer, SharedObserver};
use crate::privacy::NeighboringRelation;
use crate::query::WorkloadSource;
use crate::settings::{self, Form, settings};
use crate::synthesis::{
    DEFAULT_ENGINE, DEFAULT_MECHANISM, Existing, Job, NamedFile, PublicFile, PublicTable,
    QueriedTable, SchemaSource, Tables, reserve_files,
};

settings! {
    /// Exact counts of some parts of a private table: all that a [`Job`] with the same settings needs to know of it.
    ///
    /// Each part may be counted on another machine. What is counted follows from the settings, the schema and the public tables
    /// alone, so all parts must be given the same ones. [`merge_counts`] adds them up, and [`Job::private`] takes the result.
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    pub struct CountJob {
        /// A part of the private table: CSV, plain or gzip; repeatable.
        ///
        /// The name is by default the file's without `.csv` and `.gz`; it tells parts apart.
        part: Vec<PublicFile> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// The private table where another program reads it, as for synth; instead of parts.
        private_table: Option<String> = None, Tables, Form::Query, "SQL|PLACE";
        /// The program that counts --private-table, as for synth.
        engine: String = DEFAULT_ENGINE.to_owned(), Tables, Form::Program, "COMMAND";
        /// File with all parts of the table, one [NAME=]FILE or name on each line, so that a missing one is noticed [default:
        /// the parts given are the table].
        of: Option<PathBuf> = None, Tables, Form::File, "FILE";
        /// The schema: schema.json or domain.json.
        schema: SchemaSource = SchemaSource::default(), Tables, Form::File, "FILE";
        /// Workload of marginals, as for synth: all-K-way, all-K-way:N@SEED, or a file of cliques.
        workload: String = WorkloadSource::default().name, Tables, Form::FileOrName, "all-K-way|FILE";
        /// Leave out cliques of the workload with more than N cells.
        max_cells: Option<u64> = None, Tables, Form::Whole, "N";
        /// Column with the survey weight of each record, as for synth.
        weight: Option<String> = None, Tables, Form::Text, "COLUMN";
        /// A public table, as for synth: only the bins of a survey weight may follow from it; repeatable.
        public: Vec<PublicTable> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// Column that identifies the unit of each record, as for synth: then the table is one file.
        unit: Option<String> = None, Privacy, Form::Text, "COLUMN", needs "max_records";
        /// Maximum number of records per unit, as for synth.
        max_records: Option<u32> = None, Privacy, Form::Count, "K", needs "unit";
        /// Which K records of a unit count, as for synth.
        keep: Keep = Keep::First, Privacy, Form::Choice(Keep::NAMES), "WHICH", needs "unit";
        /// Columns, separated by commas, that all records of a unit share, as for synth.
        unit_columns: Vec<String> = Vec::new(), Privacy, Form::Names, "NAME,...", needs "unit";
        /// The parts are of a public table: anybody may read the counts, and --public takes them in its place.
        as_public: bool = false, Tables, Form::Switch, "";
        /// The mechanism, which decides what must be counted.
        mechanism: String = DEFAULT_MECHANISM.to_owned(), Tables, Form::Mechanism, "NAME";
        /// Output file for the counts: exact and private, for merge and synth alone.
        ///
        /// On Unix, only its owner may read it, unless the table is public.
        out: Option<PathBuf> = None, Output, Form::File, "FILE";
    }
    and {
        /// The mechanism's parameters by name. Parameters not listed have their defaults.
        #[serde(flatten)]
        parameters: Map<String, Value>;
        /// What happens to an output file that exists already.
        #[serde(skip)]
        existing: Existing;
    }
}

impl CountJob {
    /// Settings from their JSON, where members that are missing have their defaults.
    ///
    /// # Errors
    /// A member of another form.
    pub fn from_settings(settings: Value) -> Result<Self> {
        settings::read(settings, Self::SETTINGS, "count")
    }

    /// What is counted. It reads the schema and public tables alone.
    ///
    /// # Errors
    /// As the same settings of a [`Job`].
    pub fn plan(&self, observer: &mut dyn Observer) -> Result<CountPlan> {
        Ok(self.planned(observer)?.0)
    }

    /// The private table, where another program reads it.
    fn elsewhere(&self) -> Result<Option<QueriedTable>> {
        let Some(table) = &self.private_table else { return Ok(None) };
        if !self.part.is_empty() || self.of.is_some() {
            let (first, second) = ("part", "private table elsewhere");
            return Err(
                Contradiction::Together { first, second, why: "a table has one place" }.into()
            );
        }
        Ok(Some(QueriedTable { table: table.clone(), engine: self.engine.clone() }))
    }

    /// What is counted, and the schema of the file.
    fn planned(&self, observer: &mut dyn Observer) -> Result<(CountPlan, Schema)> {
        let job = self.job();
        let job = job.resolve()?;
        let mechanism = job.entry.build(&job.parameters)?;
        Tables::count_plan(&job, mechanism.as_ref(), observer)
    }

    /// The units of several records, of which only some are counted.
    ///
    /// # Errors
    /// As [`Job::privacy_unit`].
    pub fn units(&self) -> Result<Option<Units>> {
        Ok(self.job().privacy_unit()?.units().cloned())
    }

    /// A job that runs on the counts.
    fn job(&self) -> Job {
        Job {
            schema: self.schema.clone(),
            workload: self.workload.clone(),
            max_cells: self.max_cells,
            weight: self.weight.clone(),
            public: self.public.clone(),
            unit: self.unit.clone(),
            max_records: self.max_records,
            keep: self.keep,
            unit_columns: self.unit_columns.clone(),
            mechanism: self.mechanism.clone(),
            parameters: self.parameters.clone(),
            // Any: what is counted does not depend on it.
            epsilon: Some(1.0),
            delta: Some(1e-9),
            neighbors: match self.unit {
                Some(_) => NeighboringRelation::AddRemoveOne,
                None => NeighboringRelation::ReplaceOne,
            },
            ..Job::default()
        }
    }

    /// Counts the parts, and writes the counts.
    ///
    /// # Errors
    /// No part or output, a part that is not among those of the table, a file that cannot be read or written, or a record that
    /// does not fit the schema; units and several parts, since a unit may have records in all of them.
    ///
    /// ```
    /// use jointly::{observe::Silent, synthesis::{CountJob, merge_counts}};
    /// let folder = tempfile::tempdir()?;
    /// let path = |name: &str| folder.path().join(name);
    /// std::fs::write(path("schema.json"), r#"{"sex": 2, "age": 3}"#)?;
    /// for (part, rows) in [("east", "0,1\n1,2\n"), ("west", "1,0\n")] {
    ///     std::fs::write(path(part), format!("sex,age\n{rows}"))?;
    /// }
    /// std::fs::write(path("parts.txt"), "east\nwest\n")?;
    /// let count = |part: &str| {
    ///     let part_of = path(part).display().to_string().parse()?;
    ///     let (of, out) = (Some(path("parts.txt")), Some(path(&format!("{part}.counts"))));
    ///     let schema = path("schema.json").into();
    ///     CountJob { part: vec![part_of], of, schema, workload: "all-2-way".into(), out, ..CountJob::default() }.run(&mut Silent)
    /// };
    /// count("east")?;
    /// count("west")?;
    /// merge_counts(&[path("east.counts"), path("west.counts")], &path("all.counts"), Default::default())?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run(&self, observer: &mut dyn Observer) -> Result<CountedParts> {
        let needs = |what, needed| Err(Contradiction::Needs { what, needed }.into());
        let Some(out) = &self.out else { return needs("count", "`out`, a file for the counts") };
        let elsewhere = self.elsewhere()?;
        if self.part.is_empty() && elsewhere.is_none() {
            return needs("count", "`part`, a file with rows of the private table");
        }
        let parts = self.part.iter().map(|part| ("part", &*part.path));
        let others = [("of", self.of.as_deref()), ("schema", self.schema.file())];
        let others = others.into_iter().filter_map(|(name, file)| Some((name, file?)));
        let inputs: Vec<NamedFile<'_>> = parts.chain(others).collect();
        let _reserved = reserve_files(&inputs, &[("out", out)], self.existing)?;
        let units = self.units()?;
        if units.is_some() && (self.part.len() > 1 || self.of.is_some()) {
            let (first, second) = ("units", "several parts");
            let why = "a unit may have records in all of them; DataFusion brings them together: `docs/guide/large-tables.md`";
            return Err(Contradiction::Together { first, second, why }.into());
        }
        if self.as_public && units.is_some() {
            let (first, second, why) = ("units", "a public table", "all of its rows count");
            return Err(Contradiction::Together { first, second, why }.into());
        }
        let all = self.of.as_deref().map(names).transpose()?;
        let (plan, of_files) = self.planned(observer)?;
        let parts: Vec<(String, PathBuf)> =
            self.part.iter().map(|part| (part.name.clone(), part.path.clone())).collect();
        if let Some(table) = elsewhere {
            return self.written(table.count(&plan, &self.job().privacy_unit()?)?, out);
        }
        let counted = match (units, parts.first()) {
            (Some(units), Some((name, path))) => {
                CountedParts::count_units(&plan, (name, path), &of_files, &units)?
            }
            _ => CountedParts::count(&plan, &parts, all, &SharedObserver::new(observer))?,
        };
        self.written(counted, out)
    }

    fn written(&self, counted: CountedParts, out: &Path) -> Result<CountedParts> {
        let mut counted = if self.as_public { counted.of_public_table()? } else { counted };
        counted.write(out)?;
        Ok(counted)
    }
}

/// The names in a list of parts.
fn names(path: &Path) -> Result<Vec<String>> {
    let text = read_text(path)?;
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.map(|line| Ok(line.parse::<PublicFile>()?.name)).collect()
}

/// Adds up the counts of different parts of a private table, and writes the sum.
///
/// # Errors
/// No file, a part that is in two of them, counts by different plans or of different tables, or a file that cannot be read
/// or written.
pub fn merge_counts(files: &[PathBuf], out: &Path, existing: Existing) -> Result<CountedParts> {
    let inputs: Vec<NamedFile<'_>> = files.iter().map(|file| ("counts", &**file)).collect();
    let _reserved = reserve_files(&inputs, &[("out", out)], existing)?;
    let Some((first, others)) = files.split_first() else {
        return Err(Contradiction::Needs { what: "merge", needed: "files of counts" }.into());
    };
    let mut merged = CountedParts::read(first)?;
    for file in others {
        merged.merge(&CountedParts::read(file)?, &file.display().to_string())?;
    }
    merged.write(out)?;
    Ok(merged)
}
