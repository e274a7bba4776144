//! What kind of failure an error is.

use std::io::ErrorKind as Io;

use super::{CommonError, Error, OutputFault, PrivacyError};

/// What kind of failure an error is: the exit code of the command line, and the exception in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A file that could not be read or written, or an internal error.
    Internal,
    /// Parameters that are unknown, contradictory or out of range, whatever the tables hold.
    Usage,
    /// A file or a table that is not valid, or a request for what it does not have or allow.
    Input,
    /// A privacy budget that is out of range, too small for what it must pay for, or used up.
    Privacy,
    /// A checkpoint that cannot be resumed.
    Checkpoint,
    /// The run was stopped.
    Interrupted,
}

impl Error {
    /// The kind of failure.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Privacy(
                PrivacyError::InvalidBudget { .. }
                | PrivacyError::BudgetExceeded { .. }
                | PrivacyError::BudgetUsedUp { .. },
            ) => ErrorKind::Privacy,
            Self::Privacy(PrivacyError::Checkpoint { .. }) => ErrorKind::Checkpoint,
            Self::Common(CommonError::InvalidParameter { .. })
            | Self::WrongForm { .. }
            | Self::Contradiction(_)
            | Self::Output {
                fault:
                    OutputFault::IsFileOf(_)
                    | OutputFault::AmongFilesOf(_)
                    | OutputFault::IsStandardOutputOf(_)
                    | OutputFault::Exists
                    | OutputFault::BesideReplicate(_),
                ..
            } => ErrorKind::Usage,
            Self::Common(CommonError::Interrupted) => ErrorKind::Interrupted,
            Self::Common(_)
            | Self::InvalidCell { .. }
            | Self::InvalidValue { .. }
            | Self::InvalidRow { .. }
            | Self::SizeLimit { .. }
            | Self::NoCandidates { .. } => ErrorKind::Input,
            // Damaged data in a file, such as a truncated gzip file, count as wrong input.
            Self::Io { action: "read", source, .. }
                if matches!(
                    source.kind(),
                    Io::InvalidData | Io::InvalidInput | Io::UnexpectedEof
                ) =>
            {
                ErrorKind::Input
            }
            _ => ErrorKind::Internal,
        }
    }
}
