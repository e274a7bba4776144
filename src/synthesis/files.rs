//! The files of a job, checked before any budget is spent.

use std::fs;
use std::path::{Path, PathBuf};

use crate::data::{
    Destination, Keep, OutputLock, is_standard_input, known_files_of, would_be_read,
};
use crate::error::{Contradiction, DestinationFault, Error, OutputFault, Result};
use crate::mechanism::PublicTables;
use crate::privacy::Checkpoint;
use crate::query::WorkloadSource;
use crate::synthesis::GivenSource;
use crate::synthesis::job::ResolvedJob;

/// A file and what it is to the job, such as `ledger`; the command line passes its flags.
pub type NamedFile<'a> = (&'static str, &'a Path);

/// What happens to an output file that exists already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// The job is refused, and the file stays as it is.
    #[default]
    Refused,
    /// The file is replaced.
    Replaced,
}

/// The outputs of a job, locked: while this value lives, no other job writes them.
#[derive(Debug)]
#[must_use = "the outputs are locked while this value lives"]
pub struct ReservedOutputs {
    _locks: Vec<OutputLock>,
}

/// Checks that every output can be written: its folder exists and accepts new files, and the output is not a folder, an
/// input, another output or, unless it may be replaced, a file that exists. Only one input may be standard input, and one
/// output standard output, which are named `-`.
///
/// # Errors
/// Two inputs named `-`, or an output that fails one of these checks.
pub fn check_files(
    inputs: &[NamedFile<'_>],
    outputs: &[NamedFile<'_>],
    existing: Existing,
) -> Result<()> {
    check_outputs(inputs, outputs, &|_| existing == Existing::Replaced)
}

/// Does what [`check_files`] does, and locks the outputs. A command calls this before it spends or writes anything, and
/// keeps the result until its last output is written.
///
/// # Errors
/// As [`check_files`], and an output that another job has locked.
pub fn reserve_files(
    inputs: &[NamedFile<'_>],
    outputs: &[NamedFile<'_>],
    existing: Existing,
) -> Result<ReservedOutputs> {
    check_files(inputs, outputs, existing)?;
    let reserved = ReservedOutputs::of(outputs)?;
    // Another job may have written them before they were locked.
    check_files(inputs, outputs, existing)?;
    Ok(reserved)
}

impl ReservedOutputs {
    pub(super) fn of(outputs: &[NamedFile<'_>]) -> Result<Self> {
        let locks = outputs.iter().map(|(name, path)| OutputLock::of(name, path));
        let locks = locks.filter_map(Result::transpose).collect::<Result<_>>()?;
        Ok(Self { _locks: locks })
    }
}

/// As [`check_files`]. `may_replace`: whether the run may replace a file that exists, by its path without links.
pub(super) fn check_outputs(
    inputs: &[NamedFile<'_>],
    outputs: &[NamedFile<'_>],
    may_replace: &dyn Fn(&Path) -> bool,
) -> Result<()> {
    let mut taken: Vec<(&str, PathBuf)> = Vec::new();
    let mut of_standard_input = inputs.iter().filter(|(_, path)| is_standard_input(path));
    if let (Some((first, _)), Some((second, _))) =
        (of_standard_input.next(), of_standard_input.next())
    {
        let why = "both are standard input (-), which is one table";
        return Err(Contradiction::Together { first, second, why }.into());
    }
    for (name, path) in inputs.iter().filter(|(_, path)| !is_standard_input(path)) {
        for file in known_files_of(path) {
            taken.extend(fs::canonicalize(file).ok().map(|file| (*name, file)));
        }
    }
    for (name, path) in outputs {
        let refused = |fault| Error::Output { name, path: path.to_path_buf(), fault };
        let unwritable = |fault: DestinationFault| refused(fault.into());
        let destination = Destination::of(path).map_err(unwritable)?;
        let Some(place) = destination.probe().map_err(unwritable)? else { continue };
        if let Some((other, _)) = taken.iter().find(|(_, used)| *used == place) {
            return Err(refused(match destination {
                Destination::StandardOutput => OutputFault::IsStandardOutputOf(other),
                _ => OutputFault::IsFileOf(other),
            }));
        }
        if let Some((other, _)) = inputs.iter().find(|(_, input)| would_be_read(input, &place)) {
            return Err(refused(OutputFault::AmongFilesOf(other)));
        }
        if let Destination::File { file, .. } = &destination
            && file.exists()
            && !may_replace(file)
        {
            return Err(refused(OutputFault::Exists));
        }
        taken.push((name, place));
    }
    Ok(())
}

/// Refuses a public table that is the file of the private one, by whatever path, or has a file of it.
///
/// # Errors
/// Two paths of one file.
pub fn check_public_files<'a>(
    private: &Path,
    public: impl IntoIterator<Item = &'a Path>,
) -> Result<()> {
    let private = known_files_of(private);
    for path in public {
        let own = known_files_of(path);
        if own.iter().any(|file| private.iter().any(|other| is_same_file(other, file))) {
            let path = path.to_path_buf();
            return Err(Contradiction::PrivateAsPublic { path }.into());
        }
    }
    Ok(())
}

/// Whether two paths lead to one existing file, through links of either kind, or are both standard input.
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    if is_standard_input(one) || is_standard_input(other) {
        return one == other;
    }
    #[cfg(unix)]
    if let (Ok(one), Ok(other)) = (fs::metadata(one), fs::metadata(other)) {
        use std::os::unix::fs::MetadataExt;
        return (one.dev(), one.ino()) == (other.dev(), other.ino());
    }
    fs::canonicalize(one).is_ok_and(|one| fs::canonicalize(other).is_ok_and(|other| one == other))
}

impl ResolvedJob<'_> {
    /// Input files, with what they are to the job.
    pub(super) fn inputs(&self) -> Vec<NamedFile<'_>> {
        let mut inputs = Vec::new();
        inputs.extend(self.private().file().map(|path| ("private table", path)));
        inputs.extend(self.schema.file().map(|path| ("schema", path)));
        let public = self.public.iter().filter_map(|table| table.source.file());
        inputs.extend(public.map(|path| ("public table", path)));
        inputs.extend(self.ledger_from.iter().map(|path| ("earlier ledger", &**path)));
        inputs.extend(self.workload.file().map(|path| ("workload", path)));
        inputs.extend(self.known_tables().map(|file| ("totals", &*file.path)));
        inputs.extend(self.completed_file().map(|path| ("rows to complete", path)));
        inputs
    }

    /// The file of the rows to complete, if they are in one.
    fn completed_file(&self) -> Option<&Path> {
        self.complete.as_ref().and_then(GivenSource::file)
    }

    /// Output files but replicates, with what they are to the job.
    pub(super) fn named_outputs(&self) -> Vec<(&'static str, PathBuf)> {
        let all = [
            ("synthetic table", self.out.clone()),
            ("table of units", self.units_out.clone()),
            ("model", self.model.clone()),
            ("measurements", self.measurements.clone()),
            ("ledger", self.ledger.clone()),
            ("report", self.report.clone()),
            ("report as JSON", self.report_json()),
        ];
        all.into_iter().filter_map(|(name, path)| Some((name, path?))).collect()
    }

    /// Refuses a job that lacks something its mechanism needs, or requests something the mechanism does not support.
    pub(super) fn check_needs(&self) -> Result<()> {
        let entry = self.entry;
        let mechanism = entry.name;
        let unused = |what: &str| Contradiction::Unused { what: what.to_owned(), mechanism };
        if entry.spends && self.budget.is_none() {
            return Err(Contradiction::Missing { what: "a budget", mechanism }.into());
        }
        if entry.public_tables == PublicTables::Needed && self.public.is_empty() {
            return Err(Contradiction::Missing { what: "a public table", mechanism }.into());
        }
        if !entry.uses_workload && self.workload.name != WorkloadSource::default().name {
            return Err(unused("workload").into());
        }
        if !entry.uses_workload && self.workload.max_cells.is_some() {
            return Err(unused("most cells of a clique").into());
        }
        if self.ledger_from.is_some() && !entry.spends {
            return Err(unused("earlier ledger").into());
        }
        if self.checkpoint.is_some() && !entry.resumes {
            return Err(unused("checkpoint").into());
        }
        let is_standard_input = |(_, path): &NamedFile<'_>| is_standard_input(path);
        if self.checkpoint.is_some() && self.inputs().iter().any(is_standard_input) {
            let (first, second) = ("checkpoint", "a table from standard input (-)");
            let why = "the run that resumes reads its tables again";
            return Err(Contradiction::Together { first, second, why }.into());
        }
        if let Some(private) = self.private().file() {
            let public = self.public.iter().filter_map(|table| table.source.file());
            let known = self.known_tables().map(|file| &*file.path);
            let completed = self.completed_file();
            check_public_files(private, public.chain(known).chain(completed))?;
        }
        for (i, table) in self.public.iter().enumerate() {
            if self.public[..i].iter().any(|earlier| earlier.name == table.name) {
                return Err(Contradiction::SameName { name: table.name.clone() }.into());
            }
        }
        Ok(())
    }

    /// Creates and tests the folder of the checkpoint.
    pub(super) fn create_checkpoint(&self) -> Result<()> {
        let Some(folder) = &self.checkpoint else { return Ok(()) };
        let failed = |source| Error::Io { action: "create", path: folder.clone(), source };
        fs::create_dir_all(folder).map_err(failed)?;
        check_files(&[], &[("checkpoint", &folder.join("state"))], Existing::Replaced)
    }

    /// Opens the checkpoint. The private table is identified by [`PrivateSource::label`], never by its records.
    ///
    /// [`PrivateSource::label`]: super::PrivateSource::label
    pub(super) fn open_checkpoint(&self) -> Result<Option<Checkpoint>> {
        let Some(folder) = &self.checkpoint else { return Ok(None) };
        let checkpoint = Checkpoint::open(folder, &self.private().label()?)?;
        let checkpoint = checkpoint.with_input("schema", &self.schema.text()?);
        let Some(units) = self.unit.units() else { return Ok(Some(checkpoint)) };
        let columns = [&[units.column().to_owned()], units.agree().unwrap_or_default()];
        let by_hash = if units.keep() == Keep::Hash { "\nkept by hash" } else { "" };
        let members = units.members().map_or_else(String::new, |members| {
            format!("\nmembers {:?} by {:?}", members.columns(), members.order())
        });
        let unit = columns.concat().join("\n") + by_hash + &members;
        Ok(Some(checkpoint.with_input("unit of privacy", &unit)))
    }
}
