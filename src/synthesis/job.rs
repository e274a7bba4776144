//! The job as a value, for people, files and programs.

use std::ops::Deref;
use std::path::PathBuf;

use serde::de::{Error as _, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::data::{Keep, Labels, check_counted, check_form};
use crate::error::{Contradiction, Error, Result};
use crate::mechanism::{self, Entry, Mechanism};
use crate::model::Drawing;
use crate::privacy::{Budget, NeighboringRelation, NoiseSeed, PrivacyUnit};
use crate::query::WorkloadSource;
use crate::settings::{self, Form, parameter_words, settings, split};
use crate::survey::Emission;
use crate::synthesis::{
    DEFAULT_ENGINE, Existing, GivenSource, PrivateSource, PublicFile, PublicTable, QueriedTable,
    SchemaSource,
};

/// The share of the budget that measures errors when none is specified.
const ERROR_SHARE: f64 = 0.05;

/// The mechanism to use when none is specified.
pub const DEFAULT_MECHANISM: &str = "anchor-pgm";

settings! {
    /// A job that creates a synthetic table, with all its settings.
    ///
    /// The command line, files of flags, Python and the report of a run all hold this value. As JSON or TOML, a setting is a
    /// member named in kebab case, and so is a parameter of the mechanism. A new setting is one entry here; only the step
    /// that it changes has to know it.
    ///
    /// ```no_run
    /// use jointly::{Job, observe::Silent};
    /// let mut job = Job::new("pa.csv", "schema.json", 1.0, 1e-9);
    /// job.public.push("ohio.csv".parse()?);
    /// job.out = Some("synthetic.csv".into());
    /// job.ledger = Some("ledger.json".into());
    /// let done = job.run(&mut Silent)?;
    /// assert!(done.release.is_private);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    #[derive(Clone, Debug, Serialize, Deserialize)]
    #[serde(default, rename_all = "kebab-case")]
    pub struct Job {
        /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input; or what count and merge have counted of it.
        private: PrivateSource = PrivateSource::default(), Tables, Form::File, "FILE";
        /// The private table where another program reads it: a query in SQL, or the place of a table; instead of --private.
        ///
        /// It is counted there, and never held: `docs/guide/large-tables.md`. Not with `--compress`.
        private_table: Option<String> = None, Tables, Form::Query, "SQL|PLACE";
        /// The program that counts --private-table, and its arguments.
        engine: String = DEFAULT_ENGINE.to_owned(), Tables, Form::Program, "COMMAND";
        /// A public table; the ledger calls it NAME [default: its file name]; repeatable.
        ///
        /// The name is by default the file's without `.csv` and `.gz`; it appears in ledger and report.
        public: Vec<PublicTable> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// The schema: schema.json or domain.json.
        ///
        /// Of integer-coded tables, `domain.json`. `docs/guide/schema.md`
        schema: SchemaSource = SchemaSource::default(), Tables, Form::File, "FILE";
        /// Workload of marginals: all-K-way (for instance all-3-way), all-K-way:N@SEED for N of these drawn at random, or a
        /// file of cliques.
        ///
        /// A sample is of the cliques within `--max-cells`. A file has one clique per line, with names separated by commas, or
        /// is JSON.
        workload: String = WorkloadSource::default().name, Tables, Form::FileOrName, "all-K-way|FILE";
        /// Leave out cliques of the workload with more than N cells.
        max_cells: Option<u64> = None, Tables, Form::Whole, "N";
        /// Column with the survey weight of each record: the release is then of the population that the records stand for, not
        /// of the records.
        ///
        /// The weight is counted in bins, of the schema or else of the public tables' files: `docs/guide/surveys.md`. Not with
        /// `--unit-columns`, `--compress` or `--tables`.
        weight: Option<String> = None, Tables, Form::Text, "COLUMN";
        /// A table of counts that is public, such as a published one: it holds in the release; the ledger calls it NAME
        /// [default: its file name]; repeatable.
        ///
        /// CSV with a column of counts and columns of the schema; the sum is the population. Free, so it must not come from the
        /// private table: `docs/guide/surveys.md`. Not with `--unit-columns`, `--compress` or `--tables`; with `--error-share` only
        /// together with `--weight`.
        totals: Vec<PublicFile> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// A table of counts, as of `--totals`, that was taken from the private records and is released as it is: the
        /// guarantee then holds only among tables that share it; repeatable.
        ///
        /// Ledger and report say so first. `docs/guide/surveys.md`
        invariants: Vec<PublicFile> = Vec::new(), Tables, Form::NamedFiles, "[NAME=]FILE";
        /// Count the private table block by block instead of holding its rows, so that memory does not grow with them; the
        /// result is the same.
        ///
        /// Not with units of several records, nor with `--compress`; and nobody is warned of a public table that is the
        /// private one, as only records would show it: `docs/guide/large-tables.md`
        counted: bool = false, Tables, Form::Switch, "";
        /// The mechanism.
        ///
        /// Which to choose, and the parameters of each: `docs/guide/mechanisms.md`
        mechanism: String = DEFAULT_MECHANISM.to_owned(), Tables, Form::Mechanism, "NAME";
        /// Privacy budget: epsilon, above 0; required by every mechanism except public-only.
        #[serde(deserialize_with = "number")]
        epsilon: Option<f64> = None, Privacy, Form::Number, "E";
        /// Privacy budget: delta, between 0 and 1, far below 1 / number of records; required with epsilon, except for
        /// Laplace noise.
        ///
        /// Without it, epsilon is pure, for `ide --noise laplace`.
        #[serde(deserialize_with = "number")]
        delta: Option<f64> = None, Privacy, Form::Number, "D";
        /// Share of the budget that measures the errors of the synthetic table; 0 for none [default: 0.05; none with totals alone].
        ///
        /// It is set aside before the run: `docs/guide/error-bars.md`. Totals alone are `--totals` and `--invariants` without
        /// `--weight`.
        #[serde(deserialize_with = "number")]
        error_share: Option<f64> = None, Privacy, Form::Number, "SHARE";
        /// Share of the budget that finds rare values, such as 0.1, to merge them for the fit [default: none].
        ///
        /// Not with pure epsilon: `docs/guide/release.md`
        #[serde(deserialize_with = "number")]
        compress: Option<f64> = None, Privacy, Form::Number, "SHARE";
        /// Neighboring relation: which pairs of tables must be indistinguishable.
        ///
        /// With add-remove-one, the number of records is private too.
        neighbors: NeighboringRelation = NeighboringRelation::ReplaceOne, Privacy, Form::Choice(NeighboringRelation::NAMES), "RELATION";
        /// Column that identifies the unit of each record, such as a household; needs add-remove-one neighbors.
        ///
        /// A unit is then what differs between neighboring tables: `docs/guide/mechanisms.md`
        unit: Option<String> = None, Privacy, Form::Text, "COLUMN", needs "max_records";
        /// Maximum number of records per unit; the others are dropped.
        ///
        /// From 1 to 32.
        max_records: Option<u32> = None, Privacy, Form::Count, "K", needs "unit";
        /// Which K records of a unit count.
        ///
        /// By hash, the order of the rows does not matter, so that counts made elsewhere are the same: `docs/guide/large-tables.md`
        keep: Keep = Keep::First, Privacy, Form::Choice(Keep::NAMES), "WHICH", needs "unit";
        /// Columns, separated by commas, that all records of a unit share, such as a household's income: the synthetic records
        /// then come as units, with the unit's column, and agree on these columns.
        ///
        /// `docs/guide/households.md`. Not with `--tables`.
        unit_columns: Vec<String> = Vec::new(), Privacy, Form::Names, "NAME,...", needs "unit";
        /// Columns of each member of a unit, separated by commas, such as age and sex: a unit is then one record, with its
        /// members in order, so that they belong together.
        ///
        /// The synthetic table has the unit's column, `--unit-columns`, `--order` and these columns; others are left out:
        /// `docs/guide/households.md#members-that-belong-together`. Not with `--tables`, `--compress`, `--counted`, `--private-table`, `--keep hash`, `--weight` or `--totals`.
        members: Vec<String> = Vec::new(), Privacy, Form::Names, "NAME,...", needs "order";
        /// Column of numbers by which the members of a unit are ordered, such as 1 for the reference person.
        ///
        /// It must be none of the other columns. Synthetic members are numbered from 1.
        order: Option<String> = None, Privacy, Form::Text, "COLUMN", needs "members";
        /// Ledger written by another command; its cost counts against the budget of this run.
        ///
        /// Of a command on the same records: [below](#several-commands-on-the-same-records).
        ledger_from: Option<PathBuf> = None, Privacy, Form::File, "FILE";
        /// Seed for a reproducible run; the result is then NOT private.
        ///
        /// For tests: on one machine, the same seed and inputs give the same bytes, on one thread or many. Anyone who knows the
        /// seed can remove the noise; a warning is printed, and ledger and report are marked `NOT PRIVATE`. Without it, noise
        /// and records come from the system's generator.
        seed: Option<u64> = None, Privacy, Form::Whole, "S";
        /// Number of records to draw [default: the number that the model represents].
        ///
        /// A table of more than 8 GiB in memory is refused before anything is spent; `sample` draws any number. With `--members`, a
        /// record is a unit.
        rows: Option<u64> = None, Output, Form::Whole, "N";
        /// What the records of a weighted release are.
        ///
        /// With `--weight`, `--totals` or `--invariants`.
        emit: Emission = Emission::Population, Output, Form::Choice(Emission::NAMES), "WHAT";
        /// Released rows to complete, instead of drawing records: a table with some of the columns, whose rows get the others, drawn
        /// given theirs.
        ///
        /// For instance the households of an earlier run with `--members`: `docs/guide/households.md#the-other-columns`. Not with `--rows`,
        /// `--tables`, `--compress`, `--unit-columns`, `--weight` or `--totals`.
        complete: Option<GivenSource> = None, Output, Form::File, "FILE";
        /// Columns of --complete to keep that the schema does not know, separated by commas.
        ///
        /// Those that it calls identifiers, and that of `--unit`, are kept in any case.
        keep_columns: Vec<String> = Vec::new(), Output, Form::Names, "NAME,...", needs "complete";
        /// How to draw records.
        ///
        /// As of [`sample`](#sample).
        draw: Drawing = Drawing::Refined, Output, Form::Choice(Drawing::NAMES), "HOW";
        /// How to write categorical values.
        ///
        /// No command reads a table of labels under its schema, so not with `--tables`; `sample --labels codes` draws one that
        /// can be read from the model.
        labels: Labels = Labels::Codes, Output, Form::Choice(Labels::NAMES), "HOW";
        /// Number of replicates: tables that the same run makes of the released table, for combine; they cost no privacy, and
        /// about M times the time [default: none].
        ///
        /// From 2 to 1000, in `NAME.replicate-1.csv` ... beside the table, which must be a file: `docs/guide/several-tables.md`. Not
        /// with `--rows`.
        tables: Option<u64> = None, Output, Form::Whole, "M";
        /// Output file for the synthetic table: CSV, compressed with gzip if the name ends in .gz.
        ///
        /// Parquet if it ends in `.parquet`, an Arrow file if it ends in `.arrow` or `.feather`.
        out: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for the units alone: a row for each, with the columns of --unit-columns and its number of rows; --out then lacks
        /// these columns.
        ///
        /// The first column of both tables says which rows belong to which unit: `docs/guide/households.md`
        units_out: Option<PathBuf> = None, Output, Form::File, "FILE", needs "unit-columns";
        /// Output file for the model, for drawing more records later.
        ///
        /// For `sample`, `ask` and `combine`: `docs/guide/model-file.md`
        model: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for all that was measured, with its noise, as one table: CSV with a row for each cell.
        ///
        /// For pandas, R and Excel: the measurement, its attributes and their values, count, standard deviation of the noise, and
        /// source. Plain CSV, whatever its name ends in. Tables of what units are made of, with `--members`, are not among them.
        measurements: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for the ledger: every privacy cost, as JSON [default: OUT.ledger.json].
        ///
        /// The program writes it whether it is named or not, the library only where it is:
        /// [the ledger file](#the-ledger-file).
        ledger: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Output file for a one-page HTML report; its content as JSON goes into a .json file beside it.
        ///
        /// It needs no network. The JSON file is written if the name ends in `.html`.
        report: Option<PathBuf> = None, Output, Form::File, "FILE";
        /// Folder for the state after each round; an interrupted run resumes from it.
        ///
        /// It pays for no round twice: `docs/guide/checkpoints.md`
        checkpoint: Option<PathBuf> = None, Output, Form::File, "DIR";
    }
    and {
        /// The mechanism's parameters by name. Parameters not listed have their defaults.
        #[serde(flatten)]
        parameters: Map<String, Value>;
        /// What happens to output files that exist already. A run that resumes from its checkpoint replaces its own in
        /// any case. It is not part of what a file says of the job.
        #[serde(skip)]
        existing: Existing;
    }
}

/// A number, or the text of one: JSON has no infinite ones, which are refused with the range that is expected.
fn number<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Option<f64>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "invalid type: no number, expected a number")]
    enum Number {
        Number(f64),
        Text(String),
    }
    match Option::<Number>::deserialize(deserializer)? {
        None => Ok(None),
        Some(Number::Number(number)) => Ok(Some(number)),
        Some(Number::Text(text)) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(D::Error::invalid_value(Unexpected::Str(&text), &"a number")),
        },
    }
}

impl Job {
    /// A job with the default mechanism, all three-way marginals as the workload, and neighbors that differ by
    /// replacing a record.
    pub fn new(
        private: impl Into<PrivateSource>,
        schema: impl Into<SchemaSource>,
        epsilon: f64,
        delta: f64,
    ) -> Self {
        Self {
            private: private.into(),
            schema: schema.into(),
            epsilon: Some(epsilon),
            delta: Some(delta),
            ..Self::default()
        }
    }

    /// A job from its JSON, where members that are missing have their defaults.
    ///
    /// ```
    /// let job = jointly::Job::from_settings(serde_json::json!({"epsilon": 1.0, "delta": 1e-9, "rounds": 5}))?;
    /// assert_eq!((job.epsilon, &job.parameters["rounds"]), (Some(1.0), &5.into()));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    ///
    /// # Errors
    /// A member of another form.
    pub fn from_settings(settings: Value) -> Result<Self> {
        settings::read(settings, Self::SETTINGS, "job")
    }

    /// The settings that differ from their defaults, the mechanism and the workload, as JSON. `None` for what no file can hold:
    /// tables in memory, and paths that are not UTF-8.
    pub fn to_settings(&self) -> Option<Map<String, Value>> {
        let public = self.public.iter().map(|table| table.source.file());
        let files = [self.private.file(), self.schema.file()].into_iter().chain(public);
        if files.into_iter().any(|file| file.is_none()) {
            return None;
        }
        let members = |job: &Self| match serde_json::to_value(job) {
            Ok(Value::Object(members)) => Some(members),
            _ => None,
        };
        let (mut own, default) = (members(self)?, members(&Self::default())?);
        let is_named = |name: &str| ["mechanism", "workload"].contains(&name);
        own.retain(|name, value| is_named(name) || default.get(name) != Some(value));
        Some(own)
    }

    /// The command line of this job, with the names of files and without their folders; empty where
    /// [`to_settings`](Self::to_settings) is `None`.
    pub(super) fn command(&self) -> String {
        let Some(own) = self.to_settings() else { return String::new() };
        let (own, parameters) = split(&own, Self::SETTINGS);
        let words = Self::SETTINGS.iter().flat_map(|setting| {
            let given =
                own.get(&setting.name()).map_or_else(Vec::new, |value| setting.words(value));
            let of_mechanism = parameters.iter().filter(|_| setting.form == Form::Mechanism);
            given
                .into_iter()
                .chain(of_mechanism.flat_map(|(name, value)| parameter_words(name, value)))
        });
        ["jointly".to_owned(), "synth".to_owned()]
            .into_iter()
            .chain(words)
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// The catalogue's entry of the mechanism.
    ///
    /// # Errors
    /// A name that is not in the catalogue.
    pub fn entry(&self) -> Result<&'static Entry> {
        mechanism::find(&self.mechanism)
    }

    /// The budget; `None`: nothing may be spent.
    ///
    /// # Errors
    /// ε or δ out of range, or one without the other where the noise is not Laplace noise.
    pub fn budget(&self) -> Result<Option<Budget>> {
        let is_laplace = self.parameters.get("noise").and_then(Value::as_str) == Some("laplace");
        match (self.epsilon, self.delta) {
            (Some(epsilon), Some(delta)) => Ok(Some(Budget::approximate(epsilon, delta)?)),
            (Some(epsilon), None) if is_laplace => Ok(Some(Budget::pure(epsilon)?)),
            (None, None) if !self.entry()?.spends => Ok(None),
            _ => {
                let (what, mechanism) = ("epsilon and delta together", self.entry()?.name);
                Err(Contradiction::Missing { what, mechanism }.into())
            }
        }
    }

    /// Checks everything that can be checked without reading a table, and returns the mechanism.
    ///
    /// # Errors
    /// An unknown mechanism or parameter, a parameter out of range, a missing budget or table, or files that collide or
    /// cannot be written.
    pub fn check(&self) -> Result<Box<dyn Mechanism>> {
        self.resolve()?.check()
    }

    /// The job with what follows from its settings.
    pub(super) fn resolve(&self) -> Result<ResolvedJob<'_>> {
        let entry = self.entry()?;
        let private = self.source()?;
        let workload = WorkloadSource { name: self.workload.clone(), max_cells: self.max_cells };
        workload.check()?;
        let (budget, unit) = (self.budget()?, self.privacy_unit()?);
        let error_share = self.share_of_errors(budget);
        Ok(ResolvedJob { job: self, private, entry, budget, unit, workload, error_share })
    }

    /// The private table, wherever it is.
    fn source(&self) -> Result<PrivateSource> {
        let Some(table) = &self.private_table else { return Ok(self.private.clone()) };
        if self.private.file().is_none_or(|file| !file.as_os_str().is_empty()) {
            let (first, second) = ("private table", "private table elsewhere");
            return Err(Contradiction::Together { first, second, why: "a run has one" }.into());
        }
        let (table, engine) = (table.clone(), self.engine.clone());
        Ok(PrivateSource::Queried(QueriedTable { table, engine }))
    }

    /// The share of the budget that measures errors, if they are measured. Without weights, the private records do not show how
    /// far a table of the population is off.
    fn share_of_errors(&self, budget: Option<Budget>) -> Option<f64> {
        let has_totals = !self.totals.is_empty() || !self.invariants.is_empty();
        let default = budget.filter(|_| self.weight.is_some() || !has_totals).map(|_| ERROR_SHARE);
        self.error_share.or(default).filter(|share| *share != 0.0)
    }
}

/// A job with what follows from its settings.
#[derive(Debug)]
pub(super) struct ResolvedJob<'j> {
    job: &'j Job,
    private: PrivateSource,
    pub(super) entry: &'static Entry,
    /// `None`: nothing may be spent.
    pub(super) budget: Option<Budget>,
    /// What differs between neighboring tables.
    pub(super) unit: PrivacyUnit,
    /// The marginals that the synthetic table should preserve.
    pub(super) workload: WorkloadSource,
    /// The share of the budget that measures errors; `None`: they are not measured.
    pub(super) error_share: Option<f64>,
}

impl Deref for ResolvedJob<'_> {
    type Target = Job;

    fn deref(&self) -> &Job {
        self.job
    }
}

impl ResolvedJob<'_> {
    /// The private table.
    pub(super) fn private(&self) -> &PrivateSource {
        &self.private
    }

    /// As [`Job::check`].
    pub(super) fn check(&self) -> Result<Box<dyn Mechanism>> {
        let mechanism = self.entry.build(&self.parameters)?;
        self.check_needs()?;
        self.check_error_share()?;
        self.check_compression()?;
        self.check_counted()?;
        self.rows()?;
        self.check_replicates()?;
        self.check_replicate_files()?;
        self.check_linked()?;
        self.check_members()?;
        self.check_population()?;
        self.check_completed()?;
        self.check_output_files()?;
        self.out.as_deref().map_or(Ok(()), check_form)?;
        Ok(mechanism)
    }

    /// Whether the records of the private table are not held.
    pub(super) fn is_counted(&self) -> bool {
        self.counted || self.private().is_counts()
    }

    /// Refuses what needs the records of a table that is only counted.
    fn check_counted(&self) -> Result<()> {
        if !self.is_counted() {
            return Ok(());
        }
        if self.compress.is_some() {
            let why = "merging values changes the codes of the records";
            return Err(
                Contradiction::Together { first: "counting", second: "merging", why }.into()
            );
        }
        if self.private().is_counts() { Ok(()) } else { check_counted(&self.unit) }
    }

    /// Number of records to draw, if it was given.
    ///
    /// # Errors
    /// None, or more than 32 bits can count.
    pub(super) fn rows(&self) -> Result<Option<usize>> {
        let Some(rows) = self.job.rows else { return Ok(None) };
        let fits = u32::try_from(rows).ok().filter(|rows| *rows > 0);
        let refused = || Error::invalid_parameter("rows", rows, "from 1 to 4294967295");
        fits.map(|rows| Some(rows as usize)).ok_or_else(refused)
    }

    /// Number of replicates.
    pub(super) fn replicates(&self) -> u32 {
        self.tables.map_or(0, |tables| u32::try_from(tables).unwrap_or(u32::MAX))
    }

    /// The report for programs, beside a report whose name ends in `.html`.
    pub(super) fn report_json(&self) -> Option<PathBuf> {
        let page = self.report.as_ref()?;
        page.extension().is_some_and(|end| end == "html").then(|| page.with_extension("json"))
    }

    pub(super) fn noise_seed(&self) -> NoiseSeed {
        self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed)
    }
}

#[cfg(test)]
mod tests;
