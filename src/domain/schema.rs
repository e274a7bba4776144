//! The schema: how the text of a table becomes codes `0..k`, column by column.

mod changed;
mod cut;
mod date;
mod filled;
mod format;
mod groups;
mod json;
mod member_rules;
mod notation;
mod numeric;
mod of_units;
mod piece;
mod rules;
mod sdv;

use std::collections::BTreeSet;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::domain::{Domain, StructuralZero};
use crate::error::{CommonError, Error, Result};
use crate::privacy::files::read_text;

pub(crate) use member_rules::{
    Difference, MemberCombination, UnlikelyMemberCombination, Who, numbers_of,
};
use rules::Rules;
pub use rules::{Combination, UnlikelyCombination};

pub(crate) use cut::NumberRange;
pub(crate) use date::{calendar, date_of, days, days_of, written};
pub use format::{Encoding, TableFormat};
pub(crate) use groups::texts;
pub use groups::{Group, GroupValue};
pub use notation::Notation;
pub use numeric::Bins;
pub(crate) use of_units::UnitColumns;
pub use piece::{Outside, Piece};

/// Largest number of values of one attribute, 2²⁴: a larger one is an identifier or a number without bins.
pub const MAX_CARDINALITY: u32 = 1 << 24;

/// Most cells of a model of the forbidden combinations alone, half a MiB: fits leave most of the size limit to what is measured.
/// Combinations beyond that are left to draws. Of 10⁴, 2¹⁶ and 2²⁰, on the 1,014 combinations of Pennsylvania that no row has, it gave
/// the lowest error with `mst`.
const FITTED_CELLS: u64 = 1 << 16;

/// The role of a column. Only [`Role::Attribute`] columns are part of the [`Domain`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// A value to be modeled.
    #[default]
    Attribute,
    /// Identifies a record, household, ...
    Id,
    /// A survey weight.
    Weight,
    /// The same in every record.
    Constant,
    /// A code whose values differ between states, so that tables of two states do not share them.
    StateSpecific,
    /// A function of other columns.
    Derived,
}

/// How the text of a cell becomes a code.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// Byte-exact text: the code is the position in `codes`.
    Categorical {
        /// The raw texts, distinct.
        codes: Vec<String>,
        /// The meaning of each raw text, parallel to `codes`.
        labels: Option<Vec<String>>,
        /// Position of the declared catch-all code, which takes unknown texts.
        other: Option<u32>,
        /// Codes that stand for several texts each.
        groups: Vec<Group>,
    },
    /// A number: the code is the bin `[e_i, e_{i+1})` that holds it.
    Numeric(Bins),
    /// A date `YYYY-MM-DD`, a time after it is dropped: the code is the bin that holds it. The bins are those of the
    /// days since 1970-01-01.
    Date(Bins),
    /// Text that already is a code: an integer in `0..size`.
    Coded {
        /// Number of values.
        size: u32,
    },
}

/// One column of a [`Schema`].
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaColumn {
    /// Name in the header of the table.
    pub name: String,
    /// Meaning, for readers.
    pub description: Option<String>,
    /// Why a draft has the column as it is, for the person who checks it.
    pub note: Option<String>,
    /// Its role.
    pub role: Role,
    /// How it is coded. Always present for an attribute, and ignored for other roles.
    pub kind: Option<Kind>,
    /// Whether the missing token is allowed; it takes the last code.
    pub na: bool,
}

impl SchemaColumn {
    /// An attribute without missing values.
    pub fn attribute(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            description: None,
            note: None,
            role: Role::Attribute,
            kind: Some(kind),
            na: false,
        }
    }

    /// A column that is not modeled.
    pub fn ignored(name: impl Into<String>, role: Role) -> Self {
        Self { name: name.into(), description: None, note: None, role, kind: None, na: false }
    }

    /// Number of codes, including the missing one; 0 if the column is not coded.
    pub fn cardinality(&self) -> u32 {
        let values = match &self.kind {
            None => return 0,
            Some(Kind::Categorical { codes, .. }) => u32::try_from(codes.len()).unwrap_or(u32::MAX),
            Some(Kind::Numeric(bins) | Kind::Date(bins)) => bins.count(),
            Some(Kind::Coded { size }) => *size,
        };
        values.saturating_add(u32::from(self.na))
    }

    /// Whether it has bins of numbers or dates.
    pub(crate) fn has_bins(&self) -> bool {
        matches!(self.kind, Some(Kind::Numeric(_) | Kind::Date(_)))
    }

    /// A value for readers: a category with its label where it has one, the ends of a bin, or `missing`.
    pub fn value_name(&self, code: u32) -> String {
        let at = code as usize;
        let bin = |bins: &Bins, number: &dyn Fn(f64) -> String| match bins.edges().get(at..at + 2) {
            Some([low, high]) if bins.is_integer() && high - low <= 1.0 => number(*low),
            Some([low, high]) if bins.is_integer() => {
                format!("{} to {}", number(*low), number(high - 1.0))
            }
            Some([low, high]) => format!("{} to < {}", number(*low), number(*high)),
            _ => "missing".into(),
        };
        match &self.kind {
            Some(Kind::Categorical { codes, labels, .. }) => {
                match (codes.get(at), labels.as_ref().and_then(|labels| labels.get(at))) {
                    (Some(code), Some(label)) if label != code => format!("{code} ({label})"),
                    (Some(code), _) => code.clone(),
                    (None, _) => "missing".into(),
                }
            }
            Some(Kind::Numeric(bins)) => bin(bins, &|x| {
                let time = bins.notation().filter(|notation| notation.is_time());
                time.map_or_else(|| x.to_string(), |time| time.written(&x.to_string()))
            }),
            Some(Kind::Date(bins)) => bin(bins, &date_of),
            Some(Kind::Coded { size }) if code >= *size => "missing".into(),
            _ => code.to_string(),
        }
    }

    /// The code of the missing token, the last one; `None` if missing is not allowed.
    pub fn na_code(&self) -> Option<u32> {
        (self.na && self.kind.is_some()).then(|| self.cardinality() - 1)
    }
}

/// The columns of a table, and how each is coded.
///
/// Read from `schema.json` (columns with roles, codes, edges) or from a `domain.json` as the field uses it (`{"name":
/// size}` for integer-coded tables); the content shows which of the two it is.
///
/// ```
/// use jointly::domain::Schema;
/// let schema = Schema::from_json(r#"{"sex": 2, "age": 85}"#, "domain.json")?;
/// assert_eq!(schema.domain().cardinality(1), 85);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "json::RawSchema", into = "json::RawSchema")]
pub struct Schema {
    dataset: Option<String>,
    note: Option<String>,
    table: TableFormat,
    na_token: String,
    missing: Vec<String>,
    columns: Vec<SchemaColumn>,
    rules: Rules,
    domain: Domain,
    unlikely: Vec<Combination>,
    /// The same as one table for each clique.
    avoided: Vec<StructuralZero>,
}

impl Schema {
    /// Checks the columns. `na_token` is the text of a missing value, empty by default.
    ///
    /// # Errors
    /// A column name twice, no attribute, an attribute that is not coded, no or too many codes ([`MAX_CARDINALITY`]), a
    /// code twice, labels that do not match the codes in number, or a missing token that is also a value.
    pub fn new(na_token: impl Into<String>, columns: Vec<SchemaColumn>) -> Result<Self> {
        Self::checked("schema", vec![na_token.into()], columns, Rules::default())
    }

    fn checked(
        place: &str,
        mut missing: Vec<String>,
        columns: Vec<SchemaColumn>,
        rules: Rules,
    ) -> Result<Self> {
        let mut names = BTreeSet::new();
        for column in &columns {
            if !names.insert(column.name.as_str()) {
                return Err(CommonError::DuplicateAttribute {
                    name: column.name.clone(),
                    place: place.into(),
                }
                .into());
            }
            check_column(place, &missing, column)?;
        }
        let attributes = || columns.iter().filter(|c| c.role == Role::Attribute);
        if attributes().next().is_none() {
            return Err(Error::invalid_specification(
                place,
                "no column with the role 'attribute'",
                "at least one",
            ));
        }
        let na_token = if missing.is_empty() { String::new() } else { missing.remove(0) };
        let domain = Domain::new(attributes().map(|c| (c.name.clone(), c.cardinality())))?
            .forbid(rules.combinations(place, &columns, &na_token)?)?
            .with_fits_within(FITTED_CELLS);
        let unlikely = rules.unlikely(place, &columns, &na_token)?;
        rules.members.resolved(place, &columns, &na_token)?;
        let avoided = StructuralZero::of(&domain, unlikely.iter().cloned())?;
        let table = TableFormat::default();
        let (dataset, note) = (None, None);
        let read = Self {
            dataset,
            note,
            table,
            na_token,
            missing,
            columns,
            rules,
            domain,
            unlikely,
            avoided,
        };
        Ok(read)
    }

    /// The same schema for tables that are written in another form.
    ///
    /// # Errors
    /// As [`TableFormat::check`].
    pub fn with_table(mut self, table: TableFormat) -> Result<Self> {
        table.check("schema, 'table'")?;
        self.table = table;
        Ok(self)
    }

    /// The same schema with more texts that are read as missing values, besides the missing token.
    ///
    /// # Errors
    /// A text that is also a value of a column that may be missing.
    pub fn with_missing(mut self, missing: Vec<String>) -> Result<Self> {
        for column in &self.columns {
            check_column("schema", &missing, column)?;
        }
        self.missing = missing;
        Ok(self)
    }

    /// Reads a `schema.json` or `domain.json`.
    ///
    /// # Errors
    /// As [`Schema::from_json`], or the file cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let text = read_text(path)?;
        Self::from_json(&text, &path.display().to_string())
    }

    /// The attributes as a domain, in the schema's order.
    pub fn domain(&self) -> Domain {
        self.domain.clone()
    }

    /// Combinations that records of a model are drawn without, though private records may have them.
    pub fn unlikely(&self) -> &[Combination] {
        &self.unlikely
    }

    /// The unlikely combinations as one table for each clique.
    pub fn avoided(&self) -> &[StructuralZero] {
        &self.avoided
    }

    /// All columns, in order.
    pub fn columns(&self) -> &[SchemaColumn] {
        &self.columns
    }

    /// The attributes, in the domain's order.
    pub fn attributes(&self) -> impl Iterator<Item = &SchemaColumn> {
        self.columns.iter().filter(|c| c.role == Role::Attribute)
    }

    /// The column of a name.
    pub fn column(&self, name: &str) -> Option<&SchemaColumn> {
        self.columns.iter().find(|c| c.name == name)
    }

    /// How tables are written as text.
    pub fn table(&self) -> &TableFormat {
        &self.table
    }

    /// Texts that are read as missing values, besides the missing token.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }

    /// The text of a missing value, as it is written.
    pub fn na_token(&self) -> &str {
        &self.na_token
    }

    /// The same schema with these attributes only, in the schema's order. Keeps the forbidden combinations whose
    /// attributes are all among these.
    ///
    /// # Errors
    /// A name that is not an attribute, a name twice, or no name.
    pub fn select<S: AsRef<str>>(&self, names: &[S]) -> Result<Self> {
        let place = "the list of columns";
        let mut wanted = BTreeSet::new();
        for name in names {
            let name = name.as_ref();
            if self.domain.position(name).is_none() {
                return Err(self.domain.unknown(name, place).into());
            }
            if !wanted.insert(name) {
                return Err(CommonError::DuplicateAttribute {
                    name: name.into(),
                    place: place.into(),
                }
                .into());
            }
        }
        let columns =
            self.columns.iter().filter(|c| wanted.contains(c.name.as_str())).cloned().collect();
        let rules = self.rules.among(|name| wanted.contains(name));
        let missing = std::iter::once(&self.na_token).chain(&self.missing).cloned().collect();
        let mut selected = Self::checked(place, missing, columns, rules)?;
        selected.table.clone_from(&self.table);
        selected.dataset.clone_from(&self.dataset);
        selected.note.clone_from(&self.note);
        Ok(selected)
    }
}

/// Checks one column. `missing`: the texts of missing values.
fn check_column(place: &str, missing: &[String], column: &SchemaColumn) -> Result<()> {
    let at = format!("{place}, column '{}'", column.name);
    let wrong = |found: String, expected: &str| {
        Err(Error::invalid_specification(at.clone(), found, expected))
    };
    let Some(kind) = &column.kind else {
        if column.role == Role::Attribute {
            return wrong("no 'kind'".into(), "'categorical', 'numeric' or 'coded'");
        }
        return Ok(());
    };
    if column.cardinality() > MAX_CARDINALITY {
        return Err(Error::too_large(
            format!("{at} (an identifier?)"),
            Some(f64::from(column.cardinality())),
            f64::from(MAX_CARDINALITY),
            "codes",
        ));
    }
    check_kind(&at, kind)?;
    let is_value = |text: &&String| match kind {
        Kind::Categorical { codes, groups, .. } => {
            texts(codes, groups).any(|(accepted, _)| accepted == text.as_str())
        }
        Kind::Numeric(bins) => text.trim().parse().is_ok_and(|v| bins.find(v).is_some()),
        Kind::Date(bins) => {
            date::days(text.trim()).is_some_and(|day| bins.find(day.into()).is_some())
        }
        Kind::Coded { size } => {
            text.trim().parse::<f64>().is_ok_and(|v| v >= 0.0 && v < f64::from(*size))
        }
    };
    match missing.iter().find(is_value) {
        Some(token) if column.na => wrong(
            format!("the missing token '{token}' among the values"),
            "a token that is no value",
        ),
        _ => Ok(()),
    }
}

/// Checks how a column is coded.
fn check_kind(at: &str, kind: &Kind) -> Result<()> {
    let wrong = |found: String, expected: &str| {
        Err(Error::invalid_specification(at.to_owned(), found, expected))
    };
    match kind {
        Kind::Categorical { codes, labels, other, groups } => {
            if codes.is_empty() {
                return wrong("no code".into(), "at least one");
            }
            let mut seen = BTreeSet::new();
            if let Some(twice) = codes.iter().find(|c| !seen.insert(c.as_str())) {
                return wrong(format!("code '{twice}' twice"), "distinct codes");
            }
            if let Some(labels) = labels.as_ref().filter(|l| l.len() != codes.len()) {
                return wrong(
                    format!("{} labels for {} codes", labels.len(), codes.len()),
                    "one label for each code",
                );
            }
            if other.is_some_and(|o| o as usize >= codes.len()) {
                return wrong("an 'other' that is not a code".into(), "one of the codes");
            }
            groups::check(at, codes, *other, groups)
        }
        Kind::Date(bins) if !bins.is_integer() || !date::in_calendar(bins.edges()) => {
            wrong("edges that are no days".into(), "days of the years 0 to 9999")
        }
        Kind::Coded { size: 0 } => wrong("size 0".into(), "at least 1"),
        Kind::Numeric(_) | Kind::Date(_) | Kind::Coded { .. } => Ok(()),
    }
}

#[cfg(test)]
mod tests;
