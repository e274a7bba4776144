//! The error type.

use std::fmt;

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Everything that can go wrong, with the facts in fields.
///
/// Messages are lower case, without a full stop, and say what was found and what was expected.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
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
    /// An object that does not say what it must, such as a domain or a table.
    #[error("{place}: {found}, expected {expected}")]
    InvalidSpecification {
        /// The file or object, and the place in it.
        place: String,
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
    /// Evidence or potentials that leave no possible record.
    #[error("the model gives every record probability zero: {reason}")]
    EmptyModel {
        /// What led there.
        reason: String,
    },
    /// [`Checks`](crate::Checks) ended a long computation.
    #[error("interrupted")]
    Interrupted,
}

/// A value that was found where another one was expected.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fact {
    /// A whole number.
    Count(u64),
    /// A number.
    Number(f64),
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

impl Error {
    /// An [`Error::InvalidParameter`].
    pub fn invalid_parameter(
        name: &'static str,
        found: impl Into<Fact>,
        expected: &'static str,
    ) -> Self {
        Self::InvalidParameter { name, found: found.into(), expected }
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

    /// An error about a value that came from a file, with the file's name: a parameter out of range is then a file that
    /// does not say what it must.
    #[must_use]
    pub fn in_file(self, file: &str) -> Self {
        let at = |what: &str| format!("{file}, {what}");
        match self {
            Self::InvalidParameter { name, found, expected } => {
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
}
