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

impl ErrorKind {
    /// The exit code of the command line, documented in `docs/guide/command-line.md`.
    pub const fn code(self) -> u8 {
        match self {
            Self::Internal => 1,
            Self::Usage => 2,
            Self::Input => 3,
            Self::Privacy => 4,
            Self::Checkpoint => 5,
            Self::Interrupted => 130,
        }
    }

    /// The name in the command line's JSON log.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Input => "input",
            Self::Privacy => "privacy",
            Self::Checkpoint => "checkpoint",
            Self::Interrupted => "interrupted",
        }
    }

    /// The kind with an exit code.
    pub fn of_code(code: i32) -> Option<Self> {
        let all = [Self::Internal, Self::Usage, Self::Input, Self::Privacy, Self::Checkpoint];
        all.into_iter().find(|kind| i32::from(kind.code()) == code)
    }
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
            Self::Comparison { kind, .. } => *kind,
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
