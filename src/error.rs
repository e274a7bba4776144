//! The one error type of the library.

mod kind;
mod output;

use std::path::PathBuf;

pub use jointly_pgm::{Error as CommonError, Fact};
pub use jointly_privacy::{CheckpointFault, DestinationFault, Error as PrivacyError};
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
    /// The privacy path refuses: a budget, a charge, a checkpoint.
    #[error(transparent)]
    Privacy(PrivacyError),
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
    /// A page could not be made from its template.
    #[error("cannot make the page: {reason}")]
    Page {
        /// What the template engine says.
        reason: String,
    },
    /// A comparison whose results are those of another one, or one of whose runs failed.
    #[error("{message}")]
    Comparison {
        /// What kind of failure it is.
        kind: ErrorKind,
        /// Which run, and why.
        message: String,
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

/// What other parts report too is here what it is there.
impl From<PrivacyError> for Error {
    fn from(error: PrivacyError) -> Self {
        match error {
            PrivacyError::Common(error) => Self::Common(error),
            PrivacyError::Io { action, path, source } => Self::Io { action, path, source },
            PrivacyError::Output { path, fault } => {
                Self::Output { name: "output", path, fault: fault.into() }
            }
            PrivacyError::InvalidText { file, line, found, expected } => {
                Self::InvalidRow { file, line, found, expected }
            }
            other => Self::Privacy(other),
        }
    }
}

impl Error {
    /// The error of JSON that is not of the expected form. `place`: the file, or a part of it; without `positions` the parser
    /// saw only that part, so that its line and column say nothing.
    pub(crate) fn wrong_json(
        place: &str,
        error: &serde_json::Error,
        positions: bool,
        form: &str,
    ) -> Self {
        PrivacyError::wrong_json(place, error, positions, form).into()
    }

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

    /// An [`Error::Comparison`].
    pub(crate) fn comparison(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Comparison { kind, message: message.into() }
    }

    /// A [`PrivacyError::InvalidBudget`].
    pub fn invalid_budget(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        PrivacyError::invalid_budget(name, found, expected).into()
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
            Self::Privacy(error) => error.in_file(file).into(),
            other => other,
        }
    }
}
