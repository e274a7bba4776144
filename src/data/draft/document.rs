//! Documents that describe the columns of a table.

mod conditions;
mod ddi;
mod dpsynth;
mod frictionless;
mod pums;
mod range;
mod sdnist;

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use serde_json::Value;

pub(super) use crate::data::draft::document::conditions::Condition;
use crate::data::draft::document::range::Range;
use crate::domain::{Kind, MAX_CARDINALITY, Role, SchemaColumn};
use crate::error::{Error, Result};

/// The format of a document that describes a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DocumentKind {
    /// The data dictionary of the Census Bureau's PUMS files: CSV with rows `NAME,…` and `VAL,…`.
    Pums,
    /// `data_dictionary.json` of NIST's SDNist, or the schema of one of its targets.
    Sdnist,
    /// A Frictionless Table Schema, version 1 or 2, or a Data Package with one table.
    Frictionless,
    /// The `domain.yaml` of dpsynth.
    Dpsynth,
    /// A DDI codebook, version 2: XML, as IPUMS, Dataverse and ICPSR have it.
    Ddi,
}

impl DocumentKind {
    /// All formats.
    pub const ALL: [Self; 5] =
        [Self::Pums, Self::Sdnist, Self::Frictionless, Self::Dpsynth, Self::Ddi];

    /// The name in `--from NAME:FILE`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Pums => "pums",
            Self::Sdnist => "sdnist",
            Self::Frictionless => "frictionless",
            Self::Dpsynth => "dpsynth",
            Self::Ddi => "ddi",
        }
    }
}

/// A document that describes a table: it costs no privacy.
///
/// ```
/// use jointly::data::{Document, DocumentKind};
/// let document: Document = "frictionless:tableschema.json".parse()?;
/// assert_eq!((document.kind, document.path.to_str()), (DocumentKind::Frictionless, Some("tableschema.json")));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its format.
    pub kind: DocumentKind,
    /// Its file.
    pub path: PathBuf,
}

impl FromStr for Document {
    type Err = Error;

    /// Reads `KIND:FILE`.
    fn from_str(text: &str) -> Result<Self> {
        let known = |name: &str| DocumentKind::ALL.into_iter().find(|kind| kind.name() == name);
        let read = text.split_once(':').filter(|(_, path)| !path.is_empty());
        let read = read.and_then(|(name, path)| Some((known(name)?, PathBuf::from(path))));
        let (kind, path) = read.ok_or_else(|| {
            let kinds = DocumentKind::ALL.map(DocumentKind::name).join(", ");
            let expected = format!("KIND:FILE with one of the kinds {kinds}");
            Error::invalid_specification("document", format!("'{}'", text.escape_debug()), expected)
        })?;
        Ok(Self { kind, path })
    }
}

impl fmt::Display for Document {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.kind.name(), self.path.display())
    }
}

/// What a document says about a table.
#[derive(Default)]
pub(super) struct DescribedTable {
    pub(super) columns: Vec<DescribedColumn>,
    /// Texts of missing values, the one to write first.
    pub(super) missing: Vec<String>,
}

/// What it says about one column.
pub(super) struct DescribedColumn {
    pub(super) column: SchemaColumn,
    /// What a person should look at.
    pub(super) remarks: Vec<String>,
    /// Whether values are listed or bounded. Otherwise the column needs public rows.
    pub(super) is_bounded: bool,
    /// When the column has no value, in words.
    not_applicable: Option<String>,
}

impl Document {
    /// The columns, in the document's order.
    pub(super) fn read(&self) -> Result<DescribedTable> {
        let path = &*self.path;
        match self.kind {
            DocumentKind::Pums => {
                Ok(DescribedTable { columns: pums::read(path)?, missing: Vec::new() })
            }
            DocumentKind::Sdnist => sdnist::read(path),
            DocumentKind::Frictionless => frictionless::read(path),
            DocumentKind::Dpsynth => dpsynth::read(path),
            DocumentKind::Ddi => ddi::read(path),
        }
    }
}

impl DescribedTable {
    /// The ages at which columns have no value.
    pub(super) fn conditions(&self) -> Vec<Condition> {
        conditions::conditions(&self.columns)
    }
}

/// The values of a column, as a document has them.
enum Values {
    /// Codes, with labels where they have some, and the catch-all code.
    Codes(Vec<(String, Option<String>)>, Option<usize>),
    Range(Range),
    /// No list and no range: the reason.
    Unknown(&'static str),
}

impl DescribedColumn {
    fn new(name: &str, description: Option<&str>, missing: bool, values: Values) -> Result<Self> {
        let mut remarks = Vec::new();
        let mut is_bounded = true;
        let kind = match values {
            Values::Codes(codes, _) if codes.len() as u64 > u64::from(MAX_CARDINALITY) => {
                is_bounded = false;
                remarks.push("too many codes: left out".to_owned());
                None
            }
            Values::Codes(mut codes, other) => {
                let catch_all = other.and_then(|at| codes.get(at)).map(|(code, _)| code.clone());
                let mut seen = std::collections::BTreeSet::new();
                codes.retain(|(code, _)| seen.insert(code.clone()));
                let place = |code: String| codes.iter().position(|(own, _)| *own == code);
                let other = catch_all.and_then(place).and_then(|at| u32::try_from(at).ok());
                let labels = codes.iter().any(|(_, label)| label.is_some()).then(|| {
                    let label = |(code, label): &(String, Option<String>)| {
                        label.clone().unwrap_or_else(|| code.clone())
                    };
                    codes.iter().map(label).collect()
                });
                let codes = codes.into_iter().map(|(code, _)| code).collect();
                Some(Kind::Categorical { codes, labels, other, groups: Vec::new() })
            }
            Values::Range(range) => Some(Kind::Numeric(range.bins(name)?)),
            Values::Unknown(reason) => {
                is_bounded = false;
                remarks.push(format!(
                    "{reason}: left out; with public rows (`public`) it is drafted from them"
                ));
                None
            }
        };
        let role = if kind.is_some() { Role::Attribute } else { Role::Id };
        let column = SchemaColumn {
            name: name.to_owned(),
            description: description.map(str::trim).filter(|text| !text.is_empty()).map(Into::into),
            note: None,
            role,
            na: missing && kind.is_some(),
            kind,
        };
        Ok(Self { column, remarks, is_bounded, not_applicable: None })
    }
}

/// The text of a code that is written as a JSON value: a string, a number or a truth value.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(truth) => Some(truth.to_string()),
        _ => None,
    }
}

/// The error of a document of another form.
fn wrong(path: &Path, at: &str, found: impl Into<String>, expected: &str) -> Error {
    let place = path.display();
    let place = if at.is_empty() { place.to_string() } else { format!("{place}, {at}") };
    Error::invalid_specification(place, found.into(), expected)
}

#[cfg(test)]
mod tests;
