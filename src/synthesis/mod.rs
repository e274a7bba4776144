//! A complete synthesis job as a value: tables, budget, mechanism and outputs. The command line and bindings for other
//! languages fill it in and run it.

mod claims;
mod completed;
mod compressed;
mod counting;
mod described;
mod drawn;
mod engine;
mod files;
mod job;
mod linked;
mod made;
mod population;
mod replicates;
mod source;
mod spending;
mod tables;
mod unit;
mod warnings;

use crate::data::{Dataset, tidy_measurements, write_text};
use crate::domain::Schema;
use crate::error::{Error, ErrorKind, Result};
use crate::mechanism::{Mechanism, PublicTables, Release, Task};
use crate::model::ModelFile;
use crate::observe::{Event, Notice, Observer};
use crate::privacy::{Checkpoint, Curator, LedgerFile, PrivateTable};
use crate::report::Report;

use claims::Claims;
pub use completed::GivenRows;
pub use counting::{CountJob, merge_counts};
use drawn::Drawn;
pub use engine::{DEFAULT_ENGINE, QueriedTable};
use files::check_outputs;
pub use files::{
    Existing, NamedFile, ReservedOutputs, check_files, check_public_files, is_same_file,
    reserve_files,
};
use job::ResolvedJob;
pub use job::{DEFAULT_MECHANISM, Job};
use replicates::ReplicateSource;
pub use replicates::{posterior_path, replicate_path};
pub use source::{GivenSource, PrivateSource, SchemaSource, TableSource};
pub use spending::{Bought, Spending};
pub use tables::{PublicFile, PublicTable, Tables, without_groups};
pub use warnings::warn_of_budget;

/// A finished run.
#[derive(Clone, Debug)]
pub struct Synthesized {
    /// The schema, the public tables and the workload, with rare values merged if the job asks for it.
    pub tables: Tables,
    /// The release.
    pub release: Release,
    /// The synthetic table. Where records come as units, it has the number of records of the unit as its last attribute.
    pub rows: Dataset,
    /// The schema of the synthetic table: that of the tables, but for a survey weight.
    pub written: Schema,
    /// The number of each record's unit, from 0, if records come as units ([`Units::linked`](crate::data::Units::linked)):
    /// the records of a unit are one after another.
    pub units: Option<Vec<u32>>,
    /// The seed of the values inside bins of the synthetic table.
    pub value_seed: u64,
    /// What was spent before the mechanism began.
    pub earlier: Option<LedgerFile>,
}

/// What a job leaves after all that costs privacy.
struct Spent {
    tables: Tables,
    drawn: Drawn,
    /// What was spent before the mechanism began.
    earlier: Option<LedgerFile>,
    /// Held until the last file is written.
    _reserved: ReservedOutputs,
    claims: Option<Claims>,
}

impl Job {
    /// Reads the tables, runs the mechanism, draws records, measures their errors if asked to, and writes the files, the
    /// replicates last. All possible checks run before any budget is spent.
    ///
    /// # Errors
    /// A job that contradicts itself, a file that cannot be read or written, or a failure of the mechanism. The ledger
    /// file, if requested, or the checkpoint records what a failed run has spent.
    pub fn run(&self, observer: &mut dyn Observer) -> Result<Synthesized> {
        let job = self.resolve()?;
        let Spent { tables, drawn, earlier, mut claims, _reserved } = job.spend(observer)?;
        let written = job.write(&tables, &drawn).and_then(|()| {
            let Tables { schema, workload, public, .. } = &tables;
            let (rows, earlier) = (&drawn.rows, earlier.as_ref());
            let from = ReplicateSource { rows, schema, workload, public, earlier };
            job.write_replicates(&from, observer)?;
            claims.as_mut().map_or(Ok(()), Claims::seal)
        });
        let Drawn { release, rows, units, schema, value_seed, .. } = drawn;
        written.inspect_err(|_| {
            let spent = release.ledger.spent();
            observer.event(&Event::Notice(Notice::OutputsMissing { spent }));
        })?;
        Ok(Synthesized { tables, release, rows, written: schema, units, value_seed, earlier })
    }

    /// Reads the tables, runs the mechanism and draws the records, the first part of [`run`](Self::run). Of the outputs, it
    /// writes the ledger only.
    ///
    /// # Errors
    /// As [`run`](Self::run).
    pub fn fit(&self, observer: &mut dyn Observer) -> Result<Synthesized> {
        let Spent { tables, drawn, earlier, mut claims, .. } = self.resolve()?.spend(observer)?;
        claims.as_mut().map_or(Ok(()), Claims::seal)?;
        let Drawn { release, rows, units, schema, value_seed, .. } = drawn;
        Ok(Synthesized { tables, release, rows, written: schema, units, value_seed, earlier })
    }

    /// Replicates of the released table of a finished run, in order: the same mechanism once more, on the released records. They
    /// cost no privacy, and are those of a job with this number of [`tables`](Self::tables).
    ///
    /// `each`: gets their numbers, from 1, their records, and the seed of the values inside bins.
    ///
    /// # Errors
    /// A number that is not from 2 to 1000, a mechanism that spends nothing, weighted records or records in units, and whatever
    /// `each` returns.
    pub fn replicates(
        &self,
        done: &Synthesized,
        number: u32,
        each: &mut dyn FnMut(u32, Dataset, u64) -> Result<()>,
        observer: &mut dyn Observer,
    ) -> Result<()> {
        let job = Self { tables: Some(number.into()), ..self.clone() };
        let job = job.resolve()?;
        job.check_linked()?;
        job.check_population()?;
        job.check_replicates()?;
        let Synthesized { tables: Tables { schema, workload, public, .. }, rows, earlier, .. } =
            done;
        let from = ReplicateSource { rows, schema, workload, public, earlier: earlier.as_ref() };
        job.draw_replicates(&from, observer, each)
    }

    /// The page about a finished run and its released records, or about as many others as `records`. The private records are
    /// not looked at.
    ///
    /// # Errors
    /// A page that cannot be made, or weighted records in another number than those released.
    pub fn page(&self, done: &Synthesized, records: usize) -> Result<String> {
        let Synthesized { tables, release, rows, written, .. } = done;
        let job = self.resolve()?;
        if records == rows.records() {
            return Report::new(&job.content(tables, release, (rows, written))?)?.to_html();
        }
        let (rows, written) = job.others(tables, release, records)?;
        Report::new(&job.content(tables, release, (&rows, &written))?)?.to_html()
    }

    /// The ledger file of a finished run, as [`fit`](Self::fit) writes it.
    ///
    /// # Errors
    /// None in practice.
    pub fn ledger_file(&self, tables: &Tables, release: &Release) -> Result<LedgerFile> {
        self.resolve()?.ledger_of(tables, release)
    }
}

impl ResolvedJob<'_> {
    /// Everything that costs privacy, and the ledger file.
    fn spend(&self, observer: &mut dyn Observer) -> Result<Spent> {
        let mechanism = self.check()?;
        if self.entry.public_tables == PublicTables::Unused && !self.public.is_empty() {
            let mechanism = mechanism.name();
            observer.event(&Event::Notice(Notice::PublicTablesUnused { mechanism }));
        }
        self.create_checkpoint()?;
        let (reserved, mut claims) = self.reserve()?;
        let checkpoint = self.open_checkpoint()?;
        let (given, private) = Tables::read(self, &*mechanism, observer)?;
        self.warn(&given, &private, observer);
        let earlier = self.ledger_from.as_deref().map(LedgerFile::read).transpose()?;
        let mut curator = self.curator(&private, earlier.as_ref(), checkpoint)?;
        drop(private);
        let before = curator.spent();
        let failed = |error: &Error, curator: &Curator<'_>, observer: &mut dyn Observer| {
            // A checkpoint that is refused now will be refused again: its error says all that there is to say.
            let is_refused = self.checkpoint.is_some() && error.kind() == ErrorKind::Checkpoint;
            if curator.spent() > before && !is_refused {
                self.failed(curator, observer);
            }
        };
        // The paid steps, one after another: merging, rounds, errors.
        let merged = self
            .compressed(&*mechanism, &given, &mut curator, observer)
            .inspect_err(|error| failed(error, &curator, observer))?;
        let is_merged = merged.is_some();
        let mut tables = merged.unwrap_or(given);
        // What replicates are made with has been spent for merging too.
        let earlier = if is_merged { Some(self.ledger_so_far(&curator)) } else { earlier };
        let drawn = self
            .release(&*mechanism, &mut tables, &mut curator, is_merged, observer)
            .inspect_err(|error| failed(error, &curator, observer))?;
        drop(curator);
        claims.as_mut().map_or(Ok(()), Claims::begin)?;
        if let Some(budget) = self.budget.filter(|_| !self.unit.relation().has_public_total()) {
            warnings::warn_of_delta(budget, drawn.sampled as u64, observer);
        }
        if let Some(path) = &self.ledger {
            let written =
                self.ledger_of(&tables, &drawn.release).and_then(|file| Ok(file.write(path)?));
            written.inspect_err(|_| {
                let spent = drawn.release.ledger.spent();
                observer.event(&Event::Notice(Notice::OutputsMissing { spent }));
            })?;
        }
        Ok(Spent { tables, drawn, earlier, _reserved: reserved, claims })
    }

    /// Warns of an earlier ledger that is about to be replaced, of a budget that gives almost no protection, and of public
    /// tables that are the private one.
    fn warn(&self, tables: &Tables, private: &PrivateTable, observer: &mut dyn Observer) {
        let earlier = self.ledger.as_deref().filter(|_| self.checkpoint.is_none());
        // Not a pipe, whose other end may never write.
        let earlier = earlier.filter(|path| path.metadata().is_ok_and(|there| there.is_file()));
        let earlier = earlier.and_then(|path| Some((path, LedgerFile::read(path).ok()?)));
        if let Some((path, file)) = earlier.filter(|(_, file)| file.private) {
            let (ledger, spent) = (path.to_owned(), file.ledger.spent());
            observer.event(&Event::Notice(Notice::LedgerReplaced { ledger, spent }));
        }
        if let Some(budget) = self.budget {
            warn_of_budget(budget, private.records(), observer);
        }
        warnings::warn_of_same_rows(private, &tables.public, observer);
    }

    /// A curator of the private records, whose budget an earlier ledger counts against.
    fn curator(
        &self,
        private: &PrivateTable,
        earlier: Option<&LedgerFile>,
        checkpoint: Option<Checkpoint>,
    ) -> Result<Curator<'static>> {
        let curator = private.curator(self.budget, self.noise_seed(), earlier);
        let curator = curator.map_err(|error| error.in_file_of(self.ledger_from.as_deref()))?;
        let curator = match &self.ledger {
            Some(path) => curator.with_ledger_at(path, &self.mechanism, self.budget),
            None => curator,
        };
        let mut curator = curator;
        curator.condition_on(self.invariants.iter().map(|file| file.name.clone()));
        Ok(match checkpoint {
            Some(checkpoint) => curator.with_checkpoint(checkpoint),
            None => curator,
        })
    }

    /// The run of the mechanism, the drawing and the measuring of errors.
    fn release(
        &self,
        mechanism: &dyn Mechanism,
        tables: &mut Tables,
        curator: &mut Curator<'_>,
        merged: bool,
        observer: &mut dyn Observer,
    ) -> Result<Drawn> {
        if let Some(share) = self.error_share {
            curator.set_aside(share)?;
        }
        let task = Task::new(&tables.workload, &tables.public);
        let mut release = mechanism.run(curator, &task, observer)?;
        release.unlikely = tables.without_contradicted(&release, observer)?;
        self.draw(release, tables, curator, merged, observer)
    }

    /// What was spent so far.
    fn ledger_so_far(&self, curator: &Curator<'_>) -> LedgerFile {
        LedgerFile::new(&self.mechanism, self.budget, curator)
    }

    /// Reports what a failed run has spent, and writes it for a later run.
    ///
    /// With a checkpoint it reports nothing else. A round missing from the checkpoint will be drawn again, so its
    /// draws, such as the selected marginal, must stay hidden.
    fn failed(&self, curator: &Curator<'_>, observer: &mut dyn Observer) {
        if let Some(folder) = &self.checkpoint {
            observer.event(&Event::Notice(Notice::SpentInCheckpoint { folder: folder.clone() }));
            return;
        }
        let (spent, limit) = (curator.spent(), curator.whole_ledger().limit());
        let file = self.ledger_so_far(curator);
        let ledger = self.ledger.clone().filter(|path| file.write(path).is_ok());
        observer.event(&Event::Notice(Notice::SpentBeforeFailure { spent, limit, ledger }));
    }

    /// Writes the requested files but the ledger, which is written before.
    fn write(&self, tables: &Tables, drawn: &Drawn) -> Result<()> {
        let Drawn { release, rows, units, schema, value_seed, .. } = drawn;
        if let Some(path) = &self.model {
            let file = tables.model_file(release);
            ModelFile { linked: self.linked().cloned(), ..file }.write(path)?;
        }
        if let Some(path) = &self.measurements {
            write_text(path, &tidy_measurements(&release.measurements, &tables.schema)?)?;
        }
        if let Some(path) = &self.out {
            match &tables.completed {
                Some(given) => self.write_completed(path, given, rows, schema, *value_seed)?,
                None => self.write_table(path, rows, units.as_deref(), schema, *value_seed)?,
            }
        }
        if let Some(path) = &self.report {
            let content = self.content(tables, release, (rows, schema))?;
            let report = Report::new(&content)?;
            write_text(path, &report.to_html()?)?;
            if let Some(path) = self.report_json() {
                write_text(&path, &report.to_json()?)?;
            }
        }
        Ok(())
    }
}
