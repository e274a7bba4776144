//! The one error type of the library.

mod kind;
mod output;

use std::fmt;
use std::path::PathBuf;

use crate::privacy::{Cost, NeighboringRelation, Ratio, Rho};

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
    /// A parameter is outside its range.
    #[error("{name} is {found}, expected {expected}")]
    InvalidParameter {
        /// The parameter as the caller knows it.
        name: &'static str,
        /// The value found.
        found: Fact,
        /// The range or form expected.
        expected: &'static str,
    },
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
    #[error(
        "{what} would take {} {unit}, the limit is {} {unit}",
        size(*needed),
        size(Some(*limit))
    )]
    TooLarge {
        /// The object.
        what: String,
        /// Its size; `None` where it is more than the limit and was not counted.
        needed: Option<f64>,
        /// The limit.
        limit: f64,
        /// What both are counted in.
        unit: &'static str,
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
    /// The observer stopped the run ([`Observer::check`](crate::observe::Observer::check)). What was paid stays paid: the
    /// ledger or the checkpoint records it, and a run with a checkpoint resumes without paying for a round twice.
    #[error("interrupted")]
    Interrupted,
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

/// A value that was found where another one was expected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
    /// A budget of ρ-zCDP.
    Rho(Rho),
    /// A relation between neighboring tables.
    Relation(NeighboringRelation),
    /// A word or a text.
    Text(String),
}

impl fmt::Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count(count) => count.fmt(f),
            Self::Number(number) if *number != 0.0 && !(1e-4..1e15).contains(&number.abs()) => {
                write!(f, "{number:e}")
            }
            Self::Number(number) => number.fmt(f),
            Self::Rho(rho) => rho.fmt(f),
            Self::Relation(relation) => relation.fmt(f),
            Self::Text(text) => f.write_str(text),
        }
    }
}

macro_rules! fact {
    ($($from:ty => |$value:ident| $fact:expr),* $(,)?) => {
        $(impl From<$from> for Fact {
            fn from($value: $from) -> Self {
                $fact
            }
        })*
    };
}

fact! {
    i32 => |number| Self::Number(number.into()),
    u32 => |count| Self::Count(count.into()),
    u64 => |count| Self::Count(count),
    usize => |count| Self::Count(count as u64),
    f64 => |number| Self::Number(number),
    Rho => |rho| Self::Rho(rho),
    NeighboringRelation => |relation| Self::Relation(relation),
    Ratio => |ratio| Self::Text(ratio.to_string()),
    String => |text| Self::Text(text),
    &String => |text| Self::Text(text.clone()),
    &str => |text| Self::Text(text.to_owned()),
}

/// A size for readers.
fn size(size: Option<f64>) -> String {
    match size {
        None => "more".to_owned(),
        Some(size) if size >= 1e15 => format!("10^{:.1}", size.log10()),
        Some(size) if size >= 100.0 => format!("{size:.0}"),
        Some(size) => size.to_string(),
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
    /// An [`Error::InvalidParameter`].
    pub fn invalid_parameter(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        Self::InvalidParameter { name, found: found.into(), expected }
    }

    /// An [`Error::InvalidBudget`].
    pub fn invalid_budget(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        Self::InvalidBudget { name, found: found.into(), expected }
    }

    /// An error about a value that came from a file, with the file's name: a parameter out of range is then wrong
    /// input.
    pub(crate) fn in_file(self, file: &str) -> Self {
        let at = |what: &str| format!("{file}, {what}");
        match self {
            Self::InvalidParameter { name, found, expected }
            | Self::InvalidBudget { name, found, expected } => {
                Self::invalid_specification(at(name), found.to_string(), expected)
            }
            Self::InvalidSpecification { place, found, expected } if !place.starts_with(file) => {
                Self::invalid_specification(at(&place), found, expected)
            }
            Self::UnknownAttribute { name, place, known } if !place.starts_with(file) => {
                Self::UnknownAttribute { name, place: at(&place), known }
            }
            Self::DuplicateAttribute { name, place } if !place.starts_with(file) => {
                Self::DuplicateAttribute { name, place: at(&place) }
            }
            Self::ShapeMismatch { clique, expected, found } => Self::invalid_specification(
                at(&format!("table over {clique}")),
                format!("{found} cells"),
                expected.to_string(),
            ),
            Self::EmptyModel { reason } => Self::invalid_specification(
                file,
                format!("a model that gives every record probability zero ({reason})"),
                "at least one possible record",
            ),
            other => other,
        }
    }

    /// An [`Error::TooLarge`].
    pub fn too_large(
        what: impl Into<String>,
        needed: Option<f64>,
        limit: f64,
        unit: &'static str,
    ) -> Self {
        Self::TooLarge { what: what.into(), needed, limit, unit }
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
