//! The one error type of the library.

mod kind;
mod output;

use std::path::PathBuf;

use crate::privacy::{Cost, NeighboringRelation, Ratio, Rho};

pub use jointly_pgm::{Error as CommonError, Fact};
pub use kind::ErrorKind;
pub use output::OutputFault;

/// Result with the library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, with the facts in fields.
///
/// Messages are lower case, without a full stop, and say what was found and what was expected. A message that
/// quotes an input file is meant for the operator who holds that file; it is never part of a release.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What all parts report alike: a value out of range, an unknown name, a table of another shape, something too large,
    /// a run that was stopped.
    #[error(transparent)]
    Common(#[from] CommonError),
    /// A privacy budget, or a part of one, that is outside its range or too small for what it must pay for.
    #[error("{name} is {found}, expected {expected}")]
    InvalidBudget {
        /// The budget as the caller knows it.
        name: &'static str,
        /// The value found.
        found: Fact,
        /// The range expected.
        expected: &'static str,
    },
    /// An earlier ledger that leaves nothing to spend.
    #[error(
        "the earlier ledger has spent {spent} of this run's whole budget of {limit}: nothing is left, expected a larger budget"
    )]
    BudgetUsedUp {
        /// What the entries of the earlier ledger cost together.
        spent: Cost,
        /// The budget.
        limit: Cost,
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
    /// The same in a table that has rows and no lines: Arrow or Parquet.
    #[error("{table}, row {row}, column '{column}': found {found}, expected {expected}")]
    InvalidValue {
        /// The file, or another name of the table.
        table: String,
        /// Row, counted from 1.
        row: u64,
        /// Column name.
        column: String,
        /// The value found, as text.
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
    /// A job that contradicts itself or lacks something.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    /// A setting of a job or a parameter of a mechanism that is not of its form.
    #[error("{name} is {found}, expected {expected}")]
    WrongForm {
        /// The setting or the parameter.
        name: String,
        /// What was found, as JSON.
        found: String,
        /// What its form is.
        expected: String,
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
    #[error("checkpoint {path}: {fault}")]
    Checkpoint {
        /// The checkpoint's file or folder.
        path: PathBuf,
        /// Why it is refused.
        fault: CheckpointFault,
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

/// Why a checkpoint is refused.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CheckpointFault {
    /// It was made by a program of another version.
    #[error("version {found}, expected {expected}")]
    Version {
        /// The version found.
        found: u32,
        /// The version of this program.
        expected: u32,
    },
    /// It belongs to other inputs or parameters.
    #[error("it belongs to other inputs or parameters; these differ: {}", differ.join(", "))]
    OtherInputs {
        /// What differs, such as `schema` or `public table 'ohio'`.
        differ: Vec<String>,
    },
    /// It goes on with another step.
    #[error(
        "it has the step '{found}' where this run has '{expected}': the run was begun with other settings"
    )]
    OtherStep {
        /// The step found, such as `rounds`.
        found: String,
        /// The one expected.
        expected: String,
    },
    /// It holds the state of another kind of model.
    #[error("a model state '{found}', expected '{expected}'")]
    OtherState {
        /// The kind and version found.
        found: String,
        /// Those expected.
        expected: String,
    },
    /// It is damaged: not the form of a checkpoint.
    #[error("not readable, it was changed or damaged: {0}")]
    Unreadable(serde_json::Error),
    /// Its checksum is not that of its contents.
    #[error("its checksum does not match, it was changed or damaged")]
    Changed,
    /// Its parts do not fit the domain or each other.
    #[error("{0}")]
    Inconsistent(&'static str),
    /// Its ledger cannot be continued.
    #[error("{0}")]
    Ledger(Box<Error>),
    /// Another run is using it.
    #[error("another run is using it")]
    InUse,
}

impl From<Rho> for Fact {
    fn from(rho: Rho) -> Self {
        Self::Text(rho.to_string())
    }
}

impl From<NeighboringRelation> for Fact {
    fn from(relation: NeighboringRelation) -> Self {
        Self::Text(relation.to_string())
    }
}

impl From<Ratio> for Fact {
    fn from(ratio: Ratio) -> Self {
        Self::Text(ratio.to_string())
    }
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
    /// Something that says nothing without something else.
    #[error("{what} needs {needed}")]
    Needs {
        /// What was given.
        what: &'static str,
        /// What it needs, and why.
        needed: &'static str,
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
    /// The private table, given as a public one.
    #[error(
        "public table {} is the private table, expected a table that may be published",
        path.display()
    )]
    PrivateAsPublic {
        /// The path.
        path: PathBuf,
    },
    /// A public table that is not named as it should be.
    #[error("public table '{text}', expected [NAME=]FILE")]
    PublicFile {
        /// What was found.
        text: String,
    },
}

impl Error {
    /// A [`CommonError::InvalidParameter`].
    pub fn invalid_parameter(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        CommonError::invalid_parameter(name, found, expected).into()
    }

    /// An [`Error::WrongForm`].
    pub(crate) fn wrong_form(
        name: &str,
        found: &serde_json::Value,
        expected: impl Into<String>,
    ) -> Self {
        let (found, expected) = (found.to_string(), expected.into());
        Self::WrongForm { name: name.to_owned(), found, expected }
    }

    /// An [`Error::InvalidBudget`].
    pub fn invalid_budget(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        Self::InvalidBudget { name, found: found.into(), expected }
    }

    /// A [`CommonError::TooLarge`].
    pub fn too_large(
        what: impl Into<String>,
        needed: Option<f64>,
        limit: f64,
        unit: &'static str,
    ) -> Self {
        CommonError::too_large(what, needed, limit, unit).into()
    }

    /// A [`CommonError::InvalidSpecification`].
    pub fn invalid_specification(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        CommonError::invalid_specification(place, found, expected).into()
    }

    /// An error about a value that came from a file, with the file's name: a parameter out of range is then wrong
    /// input.
    pub(crate) fn in_file(self, file: &str) -> Self {
        match self {
            Self::Common(error) => Self::Common(error.in_file(file)),
            Self::InvalidBudget { name, found, expected } => {
                let at = format!("{file}, {name}");
                Self::invalid_specification(at, found.to_string(), expected)
            }
            other => other,
        }
    }
}
