//! Failures of a command: a message and an exit code that scripts can rely on.

use std::process::ExitCode;

use clap::{Command, CommandFactory};
use jointly::{CommonError, Contradiction, Error, ErrorKind, OutputFault, PrivacyError};

use super::args::Arguments;

/// A failed command.
#[derive(Clone, Debug)]
pub(super) struct Failure {
    pub(super) kind: ErrorKind,
    pub(super) message: String,
}

/// The result of a command.
pub(super) type Outcome<T = ()> = Result<T, Failure>;

impl Failure {
    /// A failure due to incompatible flags.
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Usage, message: message.into() }
    }

    /// An internal error.
    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Internal, message: message.into() }
    }

    /// The exit code in the system's type.
    pub(super) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.kind.code())
    }
}

/// The flag of a parameter as the library names it: `measure share` is `--measure-share`.
fn flag(parameter: &str) -> Option<String> {
    let name = parameter.replace(' ', "-");
    let command = Arguments::command();
    let has = |command: &Command| command.get_arguments().any(|arg| arg.get_long() == Some(&name));
    command.get_subcommands().any(has).then(|| format!("--{name}"))
}

/// A text of the library with the settings that it names in backticks written as flags: `` `max_cells` `` becomes `--max-cells`.
pub(super) fn with_typed_names(text: &str) -> String {
    let mut parts = text.split('`');
    let mut typed = parts.next().unwrap_or_default().to_owned();
    let mut rest = parts.peekable();
    while let Some(part) = rest.next() {
        let named = flag(&part.replace('_', "-")).filter(|_| rest.peek().is_some());
        let Some(named) = named else {
            typed = typed + "`" + part;
            continue;
        };
        typed += &named;
        typed += rest.next().unwrap_or_default();
    }
    typed
}

/// What the library calls the parts of a job, and what they are on the command line.
const TYPED: [(&str, &str); 50] = [
    ("private table", "--private"),
    ("private table elsewhere", "--private-table"),
    ("units of a private table elsewhere", "--unit with --private-table"),
    ("part", "--part"),
    ("schema", "--schema"),
    ("public table", "--public"),
    ("a public table", "a --public table"),
    ("earlier ledger", "--ledger-from"),
    ("workload", "--workload"),
    ("most cells of a clique", "--max-cells"),
    ("synthetic table", "--out"),
    ("a synthetic table that is no file", "an --out that is no file"),
    ("table of units", "--units-out"),
    ("a table of units", "--units-out"),
    ("model", "--model"),
    ("measurements", "--measurements"),
    ("ledger", "--ledger"),
    ("fitted tables", "--fitted"),
    ("report", "--report"),
    ("report as JSON", "--report, as JSON"),
    ("replicates", "--tables"),
    ("replicate", "--tables"),
    ("checkpoint", "--checkpoint"),
    ("columns of units", "--unit-columns"),
    ("columns of members", "--members"),
    ("members", "--members"),
    ("order", "--order"),
    ("keeping rows by hash", "--keep hash"),
    ("a survey weight", "--weight"),
    ("totals", "--totals"),
    ("weighted records", "--emit weighted"),
    ("an error share", "--error-share"),
    ("intervals for a population", "--population"),
    ("unit", "--unit"),
    ("units", "--unit"),
    ("unit columns", "--unit-columns"),
    ("max records", "--max-records"),
    ("keep hash", "--keep hash"),
    ("per unit", "--per-unit"),
    ("counting", "--counted"),
    ("merging", "--compress"),
    ("a budget with delta, for merging", "a budget with delta for --compress"),
    ("labels as text", "--labels text"),
    ("number of rows", "--rows"),
    ("rows to complete", "--complete"),
    ("columns to keep", "--keep-columns"),
    ("a population", "--weight, --totals or --invariants"),
    ("a way to draw", "--draw"),
    ("epsilon and delta together", "--epsilon and --delta together"),
    ("replace-one neighbors", "--neighbors replace-one"),
];

fn typed(name: &'static str) -> &'static str {
    TYPED.iter().find(|(own, _)| *own == name).map_or(name, |(_, flag)| flag)
}

/// The error with flags in place of the library's names.
fn with_flags(error: Error) -> Error {
    match error {
        Error::Output { name, path, fault } => {
            let fault = match fault {
                OutputFault::IsFileOf(other) => OutputFault::IsFileOf(typed(other)),
                OutputFault::AmongFilesOf(other) => OutputFault::AmongFilesOf(typed(other)),
                OutputFault::IsStandardOutputOf(other) => {
                    OutputFault::IsStandardOutputOf(typed(other))
                }
                other => other,
            };
            Error::Output { name: typed(name), path, fault }
        }
        Error::Contradiction(Contradiction::Together { first, second, why }) => {
            let (first, second) = (typed(first), typed(second));
            Contradiction::Together { first, second, why }.into()
        }
        Error::Contradiction(Contradiction::Missing { what, mechanism }) => {
            Contradiction::Missing { what: typed(what), mechanism }.into()
        }
        Error::Contradiction(Contradiction::Unused { what, mechanism }) => {
            let known = TYPED.iter().find(|(own, _)| *own == what);
            let known = known.map(|(_, typed)| (*typed).to_owned());
            let what = known.or_else(|| flag(&what)).unwrap_or(what);
            Contradiction::Unused { what, mechanism }.into()
        }
        Error::Common(CommonError::UnknownAttribute { name, place, known }) => {
            let place = with_typed_names(&place);
            CommonError::UnknownAttribute { name, place, known }.into()
        }
        Error::Common(CommonError::DuplicateAttribute { name, place }) => {
            let place = with_typed_names(&place);
            CommonError::DuplicateAttribute { name, place }.into()
        }
        other => other,
    }
}

impl From<CommonError> for Failure {
    fn from(error: CommonError) -> Self {
        Error::from(error).into()
    }
}

impl From<PrivacyError> for Failure {
    fn from(error: PrivacyError) -> Self {
        Error::from(error).into()
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let error = with_flags(error);
        let kind = error.kind();
        let flag = match &error {
            Error::Common(CommonError::InvalidParameter { name, .. })
            | Error::Privacy(PrivacyError::InvalidBudget { name, .. }) => flag(name),
            Error::WrongForm { name, .. } => flag(name),
            _ => None,
        };
        let message = match (flag, &error) {
            (Some(flag), _) => {
                let text = error.to_string();
                let rest = text.split_once(" is ").map_or(text.as_str(), |(_, rest)| rest);
                format!("{flag} is {rest}")
            }
            (None, Error::Contradiction(Contradiction::Needs { what, needed })) => {
                format!("{} needs {}", typed(what), with_typed_names(needed))
            }
            (None, _) => error.to_string(),
        };
        let hint = match &error {
            Error::Output { fault: OutputFault::Exists, .. } => "; --overwrite replaces it",
            _ => "",
        };
        Self { kind, message: message + hint }
    }
}
