//! A complete synthesis job as a value: tables, budget, mechanism and outputs. The command line and bindings for other
//! languages fill it in and run it.

mod claims;
mod compressed;
mod described;
mod drawn;
mod files;
mod linked;
mod made;
mod replicates;
mod source;
mod tables;
mod warnings;

use std::path::PathBuf;

use serde_json::{Map, Value};

use crate::data::{Dataset, Labels, Projectable, check_form, write_text};
use crate::error::{Contradiction, Result};
use crate::mechanism::{self, CheckpointFolder, Entry, Mechanism, PublicTables, Release, Task};
use crate::model::{Drawing, ModelFile};
use crate::observe::{Event, Notice, Observer};
use crate::privacy::{Budget, Curator, LedgerFile, NoiseSeed, PrivacyUnit, Rho};
use crate::query::WorkloadSource;
use crate::report::Report;

use claims::Claims;
use drawn::Drawn;
use files::check_outputs;
pub use files::{
    Existing, NamedFile, Reserved, check_files, check_public_files, is_same_file, reserve_files,
};
use replicates::Released;
pub use replicates::replicate_path;
pub use source::{SchemaSource, TableSource};
pub use tables::{PrivateTable, PublicFile, PublicTable, Tables, without_groups};
pub use warnings::warn_of_budget;

/// The mechanism to use when none is specified.
pub const DEFAULT_MECHANISM: &str = "anchor-pgm";

/// A job that creates a synthetic table, with all its settings.
///
/// ```no_run
/// use jointly::{Budget, Synthesis, observe::Silent};
/// let mut job = Synthesis::new("pa.csv", "schema.json", Budget::approximate(1.0, 1e-9)?);
/// job.public.push("ohio.csv".parse()?);
/// job.outputs.table = Some("synthetic.csv".into());
/// job.outputs.ledger = Some("ledger.json".into());
/// let done = job.run(&mut Silent)?;
/// assert!(done.release.is_private);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Synthesis {
    /// The private table.
    pub private: TableSource,
    /// Public tables, with their names.
    pub public: Vec<PublicTable>,
    /// The columns, and how they are coded.
    pub schema: SchemaSource,
    /// The marginals that the synthetic table should preserve.
    pub workload: WorkloadSource,
    /// Name of the mechanism, as in the catalogue.
    pub mechanism: String,
    /// The mechanism's parameters by name. Parameters not listed have their defaults.
    pub parameters: Map<String, Value>,
    /// `None`: nothing may be spent.
    pub budget: Option<Budget>,
    /// The share of the budget that measures the errors of the synthetic table, such as 0.05; `None`: they are not
    /// measured. It is set aside before the run.
    pub error_share: Option<f64>,
    /// The share of the budget that finds rare values, such as 0.1, to merge them before the mechanism runs
    /// ([`crate::compression`]); `None`: all values stay apart.
    pub compress: Option<f64>,
    /// Whether the private table is counted block by block, so that memory does not grow with its records. The release is
    /// the same. Not with units of several records, nor with [`compress`](Self::compress); and nobody is warned of a public
    /// table that is the private one, as only records would show it.
    pub counted: bool,
    /// What differs between neighboring tables.
    pub unit: PrivacyUnit,
    /// A fixed seed for noise and records; the result is then **not private**. `None`: the system's generator.
    pub seed: Option<u64>,
    /// Number of records to draw; `None`: the number that the model represents.
    pub rows: Option<usize>,
    /// How to draw records.
    pub drawing: Drawing,
    /// How the synthetic table writes categorical values. With [`Labels::Text`] it cannot be read under its schema, so not
    /// with replicates.
    pub labels: Labels,
    /// Number of replicates: tables that the same mechanism makes of the released table, at no privacy cost, for intervals
    /// and tests ([`crate::combine`]). They are written beside the synthetic table ([`replicate_path`]). 0: none.
    pub replicates: u32,
    /// A ledger whose entries count against the budget.
    pub ledger_from: Option<PathBuf>,
    /// Folder for the state after each round. An interrupted run resumes from it.
    pub checkpoint: Option<PathBuf>,
    /// Files to write.
    pub outputs: Outputs,
    /// What happens to output files that exist already. A run that resumes from its checkpoint replaces its own in any case.
    pub existing: Existing,
}

/// The files that a run writes; those that are `None` are not written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outputs {
    /// The synthetic table: CSV, compressed with gzip if the name ends in `.gz`, or Parquet if it ends in `.parquet`.
    pub table: Option<PathBuf>,
    /// The model with its schema.
    pub model: Option<PathBuf>,
    /// The ledger: every privacy cost, as JSON.
    pub ledger: Option<PathBuf>,
    /// A one-page report, as HTML. If its name ends in `.html`, a file that ends in `.json` beside it says the same to
    /// programs.
    pub report: Option<PathBuf>,
}

impl Outputs {
    /// The report for programs.
    pub fn report_json(&self) -> Option<PathBuf> {
        let page = self.report.as_ref()?;
        page.extension().is_some_and(|end| end == "html").then(|| page.with_extension("json"))
    }
}

/// A finished run.
#[derive(Clone, Debug)]
pub struct Synthesized {
    /// The input tables, including the **private** rows, with rare values merged if the job says so.
    pub tables: Tables,
    /// The release.
    pub release: Release,
    /// The synthetic table. Where records come as units, it has the number of records of the unit as its last attribute.
    pub rows: Dataset,
    /// The number of each record's unit, from 0, if records come as units ([`Units::linked`](crate::data::Units::linked)):
    /// the records of a unit are one after another.
    pub units: Option<Vec<u32>>,
}

/// What a job leaves after all that costs privacy.
struct Spent {
    tables: Tables,
    drawn: Drawn,
    /// What was spent before the mechanism began.
    earlier: Option<LedgerFile>,
    /// Held until the last file is written.
    _reserved: Reserved,
    claims: Option<Claims>,
}

impl Synthesis {
    /// A job with the default mechanism, all three-way marginals as the workload, and neighbors that differ by
    /// replacing a record.
    pub fn new(
        private: impl Into<TableSource>,
        schema: impl Into<SchemaSource>,
        budget: Budget,
    ) -> Self {
        Self {
            private: private.into(),
            public: Vec::new(),
            schema: schema.into(),
            workload: WorkloadSource::default(),
            mechanism: DEFAULT_MECHANISM.to_owned(),
            parameters: Map::new(),
            budget: Some(budget),
            error_share: None,
            compress: None,
            counted: false,
            unit: PrivacyUnit::default(),
            seed: None,
            rows: None,
            drawing: Drawing::default(),
            labels: Labels::default(),
            replicates: 0,
            ledger_from: None,
            checkpoint: None,
            outputs: Outputs::default(),
            existing: Existing::default(),
        }
    }

    /// Reads the tables, runs the mechanism, draws records, measures their errors if asked to, and writes the files, the
    /// replicates last. All possible checks run before any budget is spent.
    ///
    /// # Errors
    /// A job that contradicts itself, a file that cannot be read or written, or a failure of the mechanism. The ledger
    /// file, if requested, or the checkpoint records what a failed run has spent.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Synthesized> {
        let Spent { tables, mut drawn, earlier, mut claims, _reserved } = self.spend(observer)?;
        let written = self.write(&tables, &mut drawn).and_then(|()| {
            let Tables { schema, workload, public, .. } = &tables;
            let (rows, earlier) = (&drawn.rows, earlier.as_ref());
            let from = Released { rows, schema, workload, public, earlier };
            self.write_replicates(&from, observer)?;
            claims.as_mut().map_or(Ok(()), Claims::seal)
        });
        let Drawn { release, rows, units, .. } = drawn;
        written.inspect_err(|_| {
            let spent = release.ledger.spent();
            observer.event(&Event::Notice(Notice::OutputsMissing { spent }));
        })?;
        Ok(Synthesized { tables, release, rows, units })
    }

    /// Reads the tables, runs the mechanism and draws the records, the first part of [`run`](Self::run). Of the outputs, it
    /// writes the ledger only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn fit(&self, observer: &mut dyn Observer) -> Result<Synthesized> {
        let Spent { tables, drawn, mut claims, .. } = self.spend(observer)?;
        claims.as_mut().map_or(Ok(()), Claims::seal)?;
        let Drawn { release, rows, units, .. } = drawn;
        Ok(Synthesized { tables, release, rows, units })
    }

    /// Everything that costs privacy, and the ledger file.
    fn spend(&self, observer: &mut dyn Observer) -> Result<Spent> {
        let mechanism = self.check()?;
        if self.entry()?.public_tables == PublicTables::Unused && !self.public.is_empty() {
            let mechanism = mechanism.name();
            observer.event(&Event::Notice(Notice::PublicTablesUnused { mechanism }));
        }
        let mut checkpoint = self.checkpoint_folder()?;
        let (reserved, mut claims) = self.reserve()?;
        let mut tables = Tables::read(self, &*mechanism, observer)?;
        self.warn(&tables, observer);
        let mut earlier = self.ledger_from.as_deref().map(LedgerFile::read).transpose()?;
        let before = earlier.as_ref().map_or(Rho::ZERO, |earlier| earlier.ledger.spent());
        let merged =
            self.compressed(&*mechanism, &tables, earlier.as_ref(), checkpoint.as_ref(), observer)?;
        let kept = merged.map(|merged| {
            (tables, earlier) = (merged.tables, Some(merged.earlier));
            checkpoint = merged.checkpoint;
            merged.kept
        });
        let (earlier_ref, folder) = (earlier.as_ref(), checkpoint.as_ref());
        let drawn = self.release(&*mechanism, &tables, (earlier_ref, before), folder, observer)?;
        drop(kept);
        claims.as_mut().map_or(Ok(()), Claims::begin)?;
        if let Some(budget) = self.budget.filter(|_| !self.unit.relation().has_public_total()) {
            warnings::warn_of_delta(budget, drawn.release.records(), observer);
        }
        if let Some(path) = &self.outputs.ledger {
            let written =
                self.ledger_file(&tables, &drawn.release).and_then(|file| file.write(path));
            written.inspect_err(|_| {
                let spent = drawn.release.ledger.spent();
                observer.event(&Event::Notice(Notice::OutputsMissing { spent }));
            })?;
        }
        Ok(Spent { tables, drawn, earlier, _reserved: reserved, claims })
    }

    /// Checks everything that can be checked without reading a table, and returns the mechanism.
    ///
    /// # Errors
    /// An unknown mechanism or parameter, a parameter out of range, a missing budget or table, or files that collide or
    /// cannot be written.
    pub fn check(&self) -> Result<Box<dyn Mechanism>> {
        let mechanism = self.entry()?.build(&self.parameters)?;
        self.check_needs()?;
        self.check_error_share()?;
        self.check_compression()?;
        self.check_counted()?;
        self.check_replicates()?;
        self.check_linked()?;
        self.check_output_files()?;
        self.outputs.table.as_deref().map_or(Ok(()), check_form)?;
        Ok(mechanism)
    }

    /// Refuses what needs the records of a table that is only counted.
    fn check_counted(&self) -> Result<()> {
        if !self.counted {
            return Ok(());
        }
        if self.compress.is_some() {
            let why = "records are coded anew after values were merged";
            return Err(
                Contradiction::Together { first: "counting", second: "merging", why }.into()
            );
        }
        self.unit.check_counted()
    }

    /// The catalogue's entry of the mechanism.
    ///
    /// # Errors
    /// A name that is not in the catalogue.
    pub fn entry(&self) -> Result<&'static Entry> {
        mechanism::find(&self.mechanism)
    }

    /// Warns of an earlier ledger that is about to be replaced, of a budget that gives almost no protection, and of public
    /// tables that are the private one.
    fn warn(&self, tables: &Tables, observer: &mut dyn Observer) {
        let earlier = self.outputs.ledger.as_deref().filter(|_| self.checkpoint.is_none());
        // Not a pipe, whose other end may never write.
        let earlier = earlier.filter(|path| path.metadata().is_ok_and(|there| there.is_file()));
        let earlier = earlier.and_then(|path| Some((path, LedgerFile::read(path).ok()?)));
        if let Some((path, file)) = earlier.filter(|(_, file)| file.private) {
            let (ledger, spent) = (path.to_owned(), file.ledger.spent());
            observer.event(&Event::Notice(Notice::LedgerReplaced { ledger, spent }));
        }
        if let Ok(entry) = self.entry()
            && entry.answers()
            && self.replicates > 0
        {
            let mechanism = entry.name;
            observer.event(&Event::Notice(Notice::ReplicatesCoverTooLittle { mechanism }));
        }
        let is_public = self.unit.relation().has_public_total();
        if let Some(budget) = self.budget {
            warn_of_budget(budget, is_public.then(|| tables.private.records()), observer);
        }
        warnings::warn_of_same_rows(tables, observer);
    }

    /// A curator of the private records, whose budget an earlier ledger counts against.
    fn curator<'a>(
        &self,
        data: &'a dyn Projectable,
        earlier: Option<&LedgerFile>,
    ) -> Result<Curator<'a>> {
        let (unit, seed) = (&self.unit, self.noise_seed());
        let curator = match self.budget {
            None => {
                Curator::new(data, unit.relation(), Rho::ZERO, seed)?.with_unit(unit.clone())?
            }
            Some(budget) => {
                let curator = budget.curator_following(data, unit, seed, earlier);
                curator.map_err(|error| match &self.ledger_from {
                    Some(path) => error.in_file(&path.display().to_string()),
                    None => error,
                })?
            }
        };
        Ok(match &self.outputs.ledger {
            Some(path) => curator.with_ledger_at(path, &self.mechanism, self.budget),
            None => curator,
        })
    }

    /// The run of the mechanism, the drawing and the measuring of errors.
    ///
    /// `earlier`: the ledger that comes first, and how much of it another job has spent.
    fn release(
        &self,
        mechanism: &dyn Mechanism,
        tables: &Tables,
        (earlier, before): (Option<&LedgerFile>, Rho),
        checkpoint: Option<&CheckpointFolder>,
        observer: &mut dyn Observer,
    ) -> Result<Drawn> {
        let data = tables.private.data();
        let mut curator = self.curator(data, earlier)?;
        let kept = self.prepare_errors(&mut curator, checkpoint)?;
        let task = Task { checkpoint, ..Task::new(&tables.workload, &tables.public) };
        let release = mechanism.run(&mut curator, &task, observer);
        let merged = tables.schema != tables.given && self.compress.is_some();
        let drawn = release.and_then(|release| self.draw(release, &mut curator, kept, merged));
        if drawn.is_err() && curator.spent() > before {
            self.failed(mechanism.name(), &curator, observer);
        }
        drawn
    }

    /// Reports what a failed run has spent, and writes it for a later run.
    ///
    /// With a checkpoint it reports nothing else. A round missing from the checkpoint will be drawn again, so its
    /// draws, such as the selected marginal, must stay hidden.
    fn failed(&self, command: &str, curator: &Curator<'_>, observer: &mut dyn Observer) {
        if let Some(folder) = &self.checkpoint {
            observer.event(&Event::Notice(Notice::SpentInCheckpoint { folder: folder.clone() }));
            return;
        }
        let (spent, limit) = (curator.spent(), curator.whole_ledger().limit());
        let file = LedgerFile::new(command, self.budget, curator);
        let ledger = self.outputs.ledger.clone().filter(|path| file.write(path).is_ok());
        observer.event(&Event::Notice(Notice::SpentBeforeFailure { spent, limit, ledger }));
    }

    /// Writes the requested files but the ledger, which is written before.
    fn write(&self, tables: &Tables, drawn: &mut Drawn) -> Result<()> {
        let Drawn { release, rows, units, rng } = drawn;
        if let Some(path) = &self.outputs.model {
            let file = release.model_file(tables.schema.clone());
            ModelFile { linked: self.linked().cloned(), ..file }.write(path)?;
        }
        if let Some(path) = &self.outputs.table {
            self.write_table(path, rows, units.as_deref(), &tables.schema, rng)?;
        }
        if let Some(path) = &self.outputs.report {
            let content = self.content(tables, release, rows)?;
            let report = Report::new(&content)?;
            write_text(path, &report.to_html()?)?;
            if let Some(path) = self.outputs.report_json() {
                write_text(&path, &report.to_json()?)?;
            }
        }
        Ok(())
    }

    /// The page about a finished run and its released records. The private records are not looked at.
    ///
    /// # Errors
    /// A page that cannot be made.
    pub fn report(&self, tables: &Tables, release: &Release, rows: &Dataset) -> Result<String> {
        Report::new(&self.content(tables, release, rows)?)?.to_html()
    }

    /// The ledger file of a finished run, as [`fit`](Self::fit) writes it.
    ///
    /// # Errors
    /// None in practice.
    pub fn ledger(&self, tables: &Tables, release: &Release) -> Result<LedgerFile> {
        self.ledger_file(tables, release)
    }

    fn noise_seed(&self) -> NoiseSeed {
        self.seed.map_or(NoiseSeed::System, NoiseSeed::Fixed)
    }
}
