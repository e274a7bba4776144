//! The one error type of the library.

use std::path::PathBuf;

use crate::privacy::Cost;

/// Result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, with the facts in fields.
///
/// Messages are lower case, without a full stop, and say what was found and what was expected. A message that
/// quotes an input file is meant for the operator who holds that file; it is never part of a release.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter is outside its range.
    #[error("{name} is {found}, expected {expected}")]
    InvalidParameter {
        /// The parameter as the caller knows it.
        name: &'static str,
        /// The value found.
        found: String,
        /// The range or form expected.
        expected: &'static str,
    },
    /// A name that is not an attribute of the domain.
    #[error("unknown attribute '{name}' in {place}, expected one of: {known}")]
    UnknownAttribute {
        /// The name found.
        name: String,
        /// Where it was found (a workload, a column list, ...).
        place: String,
        /// The attributes that exist, shortened when there are many.
        known: String,
    },
    /// The same attribute twice.
    #[error("attribute '{name}' occurs twice in {place}")]
    DuplicateAttribute {
        /// The repeated name.
        name: String,
        /// Where it was found.
        place: String,
    },
    /// A schema, domain, workload or model that does not say what it must.
    #[error("{place}: {found}, expected {expected}")]
    InvalidSpecification {
        /// The file or object, and the place in it.
        place: String,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A cell of an input table that does not fit its schema.
    #[error("{file}, line {line}, column '{column}': found {found}, expected {expected}")]
    InvalidCell {
        /// The file, or another name of the source.
        file: String,
        /// Line in the file, counted from 1 (the header is line 1).
        line: u64,
        /// Column name.
        column: String,
        /// The text found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A row or header of an input table that cannot be read.
    #[error("{file}, line {line}: found {found}, expected {expected}")]
    InvalidRow {
        /// The file, or another name of the source.
        file: String,
        /// Line in the file, counted from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
    /// A table of values whose size is not that of its clique.
    #[error("table over {clique} has {found} cells, expected {expected}")]
    ShapeMismatch {
        /// The clique.
        clique: String,
        /// Cells expected.
        expected: usize,
        /// Cells found.
        found: usize,
    },
    /// Something would be larger than a limit allows.
    #[error("{what} would take {needed}, the limit is {limit}")]
    TooLarge {
        /// The object.
        what: String,
        /// Its size.
        needed: String,
        /// The limit.
        limit: String,
    },
    /// A charge that would overrun the privacy budget; nothing was spent.
    #[error("a charge of {asked} for {purpose} exceeds the remaining budget of {remaining}")]
    BudgetExceeded {
        /// What the charge was for.
        purpose: String,
        /// What was asked for.
        asked: Cost,
        /// What is left.
        remaining: Cost,
    },
    /// No candidate can be selected.
    #[error(
        "no candidate to select in round {round}: no clique fits a model of {limit_mib:.3} MiB"
    )]
    NoCandidates {
        /// The round, counted from 1.
        round: u32,
        /// The size limit of that round, in MiB.
        limit_mib: f64,
    },
    /// A size limit below the smallest model, that of independent attributes and structural zeros.
    #[error(
        "the size limit is a model of {limit_mib} MiB, and independent attributes with their structural zeros take {needed_mib:.6} MiB"
    )]
    SizeLimit {
        /// The limit, in MiB.
        limit_mib: f64,
        /// What the smallest model takes, in MiB.
        needed_mib: f64,
    },
    /// Evidence or potentials that leave no possible record.
    #[error("the model gives every record probability zero: {reason}")]
    EmptyModel {
        /// What led there.
        reason: String,
    },
    /// A job that contradicts itself or lacks something.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// Parameters of a mechanism that are not of their form.
    #[error("parameters of {mechanism}: {reason}")]
    Parameters {
        /// The mechanism.
        mechanism: &'static str,
        /// The parameter and what is wrong with it.
        reason: String,
    },
    /// An output file that cannot be written, found before anything was spent.
    #[error("{name} {}{fault}", path.display())]
    Output {
        /// The name under which the user knows the file, such as `--out`.
        name: &'static str,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: OutputFault,
    },
    /// A checkpoint that cannot be continued.
    #[error("checkpoint {path}: {reason}")]
    Checkpoint {
        /// The checkpoint's file or folder.
        path: PathBuf,
        /// Why it is refused.
        reason: String,
    },
    /// A page could not be made from its template.
    #[error("cannot make the page: {reason}")]
    Page {
        /// What the template engine says.
        reason: String,
    },
    /// The system's random generator failed.
    #[error("the system's random generator failed: {reason}")]
    Entropy {
        /// Its message.
        reason: String,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// `read`, `write`, `create`, ...
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

/// What makes a job contradict itself.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// A parameter or a file that the mechanism makes no use of.
    #[error("{what} is of no use with mechanism {mechanism}")]
    Unused {
        /// The parameter or file, as the user knows it.
        what: String,
        /// The mechanism.
        mechanism: &'static str,
    },
    /// Something without which the mechanism has no run.
    #[error("mechanism {mechanism} needs {what}")]
    Missing {
        /// What is missing.
        what: &'static str,
        /// The mechanism.
        mechanism: &'static str,
    },
    /// Two things that exclude one another.
    #[error("{first} cannot go with {second}: {why}")]
    Together {
        /// The first.
        first: &'static str,
        /// The second.
        second: &'static str,
        /// Why.
        why: &'static str,
    },
    /// Two public tables of the same name.
    #[error("two public tables are named '{name}', expected distinct names (NAME=FILE)")]
    SameName {
        /// The name.
        name: String,
    },
    /// A public table that is not named as it should be.
    #[error("public table '{text}', expected [NAME=]FILE")]
    PublicFile {
        /// What was found.
        text: String,
    },
}

/// What is wrong with an output file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutputFault {
    /// It is a folder.
    #[error(" is a folder, expected a file")]
    IsFolder,
    /// It is neither a file nor a folder.
    #[error(" is a device or pipe, expected an ordinary file")]
    IsNotOrdinary,
    /// It is an input or another output, of this name.
    #[error(" is the file of {0}, expected another file")]
    IsFileOf(&'static str),
    /// Its folder takes no new files.
    #[error(": cannot write into folder {}: {source}", folder.display())]
    FolderNotWritable {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: std::io::Error,
    },
}

impl Error {
    /// An [`Error::InvalidParameter`].
    #[expect(
        clippy::needless_pass_by_value,
        reason = "callers pass numbers, texts and references alike"
    )]
    pub fn invalid_parameter(
        name: &'static str,
        found: impl ToString,
        expected: &'static str,
    ) -> Self {
        Self::InvalidParameter { name, found: found.to_string(), expected }
    }

    /// An [`Error::InvalidSpecification`].
    pub fn invalid_specification(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self::InvalidSpecification {
            place: place.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}
