//! Failures of a command: a message and an exit code that scripts can rely on.

use std::io::ErrorKind;
use std::process::ExitCode;

use jointly::{Error, OutputFault};

/// Why a command failed. The numbers are the exit codes, documented in `docs/guide/command-line.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// A file could not be read or written, or an internal error occurred.
    Internal = 1,
    /// Flags that are missing, unknown or contradictory.
    Usage = 2,
    /// A table, schema, workload or model that is not valid.
    Input = 3,
    /// A privacy budget or parameter out of range, or an insufficient budget.
    Privacy = 4,
    /// A checkpoint that cannot be resumed.
    Checkpoint = 5,
    /// Ctrl-C, or a request of the system to end.
    Interrupted = 130,
}

impl Reason {
    /// The name in the JSON log.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Input => "input",
            Self::Privacy => "privacy",
            Self::Checkpoint => "checkpoint",
            Self::Interrupted => "interrupted",
        }
    }

    /// The exit code.
    pub(super) const fn code(self) -> u8 {
        self as u8
    }
}

/// A failed command.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) reason: Reason,
    pub(super) message: String,
}

/// The result of a command.
pub(super) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure due to incompatible flags.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { reason: Reason::Usage, message: message.into() }
    }

    /// An internal error.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { reason: Reason::Internal, message: message.into() }
    }

    /// The exit code in the system's type.
    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.reason.code())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let reason = match &error {
            Error::InvalidParameter { .. }
            | Error::BudgetExceeded { .. }
            | Error::Parameters { .. }
            | Error::SizeLimit { .. }
            | Error::NoCandidates { .. } => Reason::Privacy,
            Error::Contradiction(_)
            | Error::Output {
                fault: OutputFault::IsFileOf(_) | OutputFault::IsStandardOutputOf(_),
                ..
            } => Reason::Usage,
            Error::UnknownAttribute { .. }
            | Error::DuplicateAttribute { .. }
            | Error::InvalidSpecification { .. }
            | Error::InvalidCell { .. }
            | Error::InvalidRow { .. }
            | Error::ShapeMismatch { .. }
            | Error::TooLarge { .. } => Reason::Input,
            Error::Checkpoint { .. } => Reason::Checkpoint,
            // A truncated or damaged gzip file counts as wrong input.
            Error::Io { action: "read", source, .. }
                if matches!(
                    source.kind(),
                    ErrorKind::InvalidData | ErrorKind::InvalidInput | ErrorKind::UnexpectedEof
                ) =>
            {
                Reason::Input
            }
            _ => Reason::Internal,
        };
        Self { reason, message: error.to_string() }
    }
}
