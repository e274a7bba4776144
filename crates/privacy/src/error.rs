//! The error type.

use std::io;
use std::path::{Path, PathBuf};

use crate::{Cost, NeighboringRelation, Ratio, Rho};

pub use jointly_pgm::{Error as CommonError, Fact};

/// Result with this crate's [`Error`].
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Everything that can go wrong, with the facts in fields.
///
/// Messages are lower case, without a full stop, and say what was found and what was expected. None depends on private
/// records.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What the engine reports too: a value out of range, an unknown name, a table of another shape, a run that was
    /// stopped.
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
    /// A checkpoint that cannot be continued.
    #[error("checkpoint {path}: {fault}")]
    Checkpoint {
        /// The checkpoint's file or folder.
        path: PathBuf,
        /// Why it is refused.
        fault: CheckpointFault,
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
        source: io::Error,
    },
    /// A file that leads to nothing that can be written.
    #[error("output {}{fault}", path.display())]
    Output {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        fault: DestinationFault,
    },
    /// A file that is no text.
    #[error("{file}, line {line}: found {found}, expected {expected}")]
    InvalidText {
        /// The file.
        file: String,
        /// Line in the file, counted from 1.
        line: u64,
        /// What was found.
        found: String,
        /// What was expected.
        expected: String,
    },
}

/// Why a path cannot be written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DestinationFault {
    /// It is a folder.
    #[error(" is a folder, expected a file")]
    IsFolder,
    /// It is neither a file nor anything that bytes can be sent to.
    #[error(" is a socket or a block device, expected a file, a pipe or a character device")]
    IsNotWritten,
    /// It cannot be reached or opened.
    #[error(" cannot be written: {0}")]
    Unreachable(io::Error),
    /// Its folder takes no new files.
    #[error(": cannot write into folder {}: {source}", folder.display())]
    FolderNotWritable {
        /// The folder.
        folder: PathBuf,
        /// The system's error.
        source: io::Error,
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
    /// The next step that it holds is not the one that this run comes to.
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

impl Error {
    /// A [`CommonError::InvalidParameter`].
    pub(crate) fn invalid_parameter(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        CommonError::invalid_parameter(name, found, expected).into()
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
    pub(crate) fn too_large(
        what: impl Into<String>,
        needed: Option<f64>,
        limit: f64,
        unit: &'static str,
    ) -> Self {
        CommonError::too_large(what, needed, limit, unit).into()
    }

    /// An error about a value that came from a file, with the file's name: a budget out of range is then wrong input.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        match self {
            Self::Common(error) => Self::Common(error.in_file(file)),
            Self::InvalidBudget { name, found, expected } => {
                let at = format!("{file}, {name}");
                Self::invalid_specification(at, found.to_string(), expected)
            }
            other => other,
        }
    }

    /// The same error about the contents of a file, if there is one.
    #[must_use]
    pub fn in_file_of(self, file: Option<&Path>) -> Self {
        match file {
            Some(file) => self.in_file(&file.display().to_string()),
            None => self,
        }
    }

    /// A [`CommonError::InvalidSpecification`].
    pub(crate) fn invalid_specification(
        place: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        CommonError::invalid_specification(place, found, expected).into()
    }
}
