//! Schemas that differ from another one in some columns.

use std::collections::BTreeSet;

use super::rules::{Rules, UnlikelyCombination};
use crate::domain::{Bins, Kind, Role, Schema, SchemaColumn};
use crate::error::{CommonError, Error, Result};

impl Schema {
    /// The same schema with other kinds for some attributes: for each attribute in order, `None` keeps the present one.
    pub(crate) fn with_kinds(&self, place: &str, kinds: Vec<Option<Kind>>) -> Result<Self> {
        let mut columns = self.columns.clone();
        let attributes = columns.iter_mut().filter(|column| column.role == Role::Attribute);
        for (column, kind) in attributes.zip(kinds).filter_map(|(c, kind)| Some((c, kind?))) {
            column.kind = Some(kind);
        }
        self.with_columns(place, columns, self.rules.clone())
    }

    /// The same schema with one more attribute, the last one.
    ///
    /// # Errors
    /// A column of the same name, or an attribute that cannot be coded.
    pub(crate) fn with_attribute(&self, column: SchemaColumn) -> Result<Self> {
        let columns = self.columns.iter().cloned().chain([column]).collect();
        self.with_columns("schema", columns, self.rules.clone())
    }

    /// A schema for writing a table of these columns in the same form. It forbids nothing.
    ///
    /// # Errors
    /// As [`Schema::new`].
    pub(crate) fn for_writing(&self, columns: Vec<SchemaColumn>) -> Result<Self> {
        self.with_columns("schema", columns, Rules::default())
    }

    /// The same schema with other columns and rules, without the unlikely combinations of values that columns no longer have.
    pub(super) fn with_columns(
        &self,
        place: &str,
        columns: Vec<SchemaColumn>,
        rules: Rules,
    ) -> Result<Self> {
        let missing = std::iter::once(&self.na_token).chain(&self.missing).cloned().collect();
        let rules = rules.known_to(&columns, &self.na_token);
        let changed = Self::checked(place, missing, columns, rules)?;
        let (dataset, note) = (self.dataset.clone(), self.note.clone());
        Ok(Self { dataset, note, table: self.table.clone(), ..changed })
    }
}

impl Schema {
    /// The same schema without unlikely combinations.
    pub(crate) fn without_unlikely(&self) -> Result<Self> {
        self.keeping_unlikely(&vec![false; self.unlikely.len()])
    }

    /// The same schema with more unlikely combinations.
    ///
    /// # Errors
    /// A name that is no attribute, or a code that is none of its values.
    pub fn with_unlikely(&self, found: Vec<UnlikelyCombination>) -> Result<Self> {
        let rules = self.rules.clone().with_unlikely(&self.columns, found)?;
        self.with_columns("schema", self.columns.clone(), rules)
    }

    /// The same schema with some of its unlikely combinations: those, in order, for which `kept` is true.
    ///
    /// # Errors
    /// None in practice.
    pub(crate) fn keeping_unlikely(&self, kept: &[bool]) -> Result<Self> {
        self.with_columns("schema", self.columns.clone(), self.rules.clone().keeping(kept))
    }

    /// The same schema with a survey weight as one of its attributes, to be counted in bins.
    ///
    /// `name`: a column with the role `weight`, or an attribute. `bins`: those of a weight that has none in the schema.
    ///
    /// # Errors
    /// Another column, no bins, bins below 0, or what `bins` returns.
    pub fn with_weight(&self, name: &str, bins: impl FnOnce() -> Result<Bins>) -> Result<Self> {
        let place = format!("the survey weight, column '{name}'");
        let wrong = |found: &str, expected: &str| {
            Err(Error::invalid_specification(place.clone(), found, expected))
        };
        let mut columns = self.columns.clone();
        let Some(column) = columns.iter_mut().find(|column| column.name == name) else {
            return wrong("no such column in the schema", "a column with the role 'weight'");
        };
        if !matches!(column.role, Role::Weight | Role::Attribute) {
            return wrong("a column of another role", "the role 'weight'");
        }
        let kind = match column.kind.take() {
            Some(kind) => kind,
            None => Kind::Numeric(bins()?),
        };
        match &kind {
            Kind::Numeric(own) if own.edges()[0] >= 0.0 => {}
            Kind::Numeric(_) => return wrong("bins below 0", "edges of at least 0"),
            _ => return wrong("values that are no numbers", "the kind 'numeric'"),
        }
        (column.role, column.kind) = (Role::Attribute, Some(kind));
        self.with_columns(&place, columns, self.rules.clone())
    }
}

impl Schema {
    /// The same schema with other bins for some numbers. `bins` makes those of a column from the present ones.
    pub(crate) fn with_bins<'n>(
        &self,
        place: &str,
        names: impl IntoIterator<Item = &'n str>,
        bins: impl Fn(&str, &Bins) -> Result<Bins>,
    ) -> Result<Self> {
        let mut columns = self.columns.clone();
        let mut seen = BTreeSet::new();
        for name in names {
            let column = columns.iter_mut().find(|column| column.name == name);
            let Some(column) = column.filter(|column| column.role == Role::Attribute) else {
                return Err(self.domain.unknown(name, place).into());
            };
            if !seen.insert(name) {
                return Err(CommonError::DuplicateAttribute {
                    name: name.into(),
                    place: place.into(),
                }
                .into());
            }
            let Some(Kind::Numeric(own)) = &column.kind else {
                let at = format!("{place}, column '{name}'");
                return Err(Error::invalid_specification(at, "no numbers", "the kind 'numeric'"));
            };
            column.kind = Some(Kind::Numeric(bins(name, own)?));
        }
        self.with_columns(place, columns, self.rules.clone())
    }
}

impl Schema {
    /// The same schema with other notes for some columns: those for which `note` has one.
    pub(crate) fn with_notes(
        &self,
        place: &str,
        note: impl Fn(&str) -> Option<String>,
    ) -> Result<Self> {
        let mut columns = self.columns.clone();
        for column in &mut columns {
            column.note = note(&column.name).or(column.note.take());
        }
        self.with_columns(place, columns, self.rules.clone())
    }

    /// A categorical attribute with a code for texts that are not listed.
    ///
    /// # Errors
    /// A name that is not an attribute, or an attribute without such a code.
    pub(crate) fn with_other(&self, name: &str) -> Result<&SchemaColumn> {
        let place = "columns to find categories of";
        let column = self.column(name).filter(|column| column.role == Role::Attribute);
        let column = column.ok_or_else(|| self.domain.unknown(name, place))?;
        let found = match &column.kind {
            Some(Kind::Categorical { other: Some(_), .. }) => return Ok(column),
            Some(Kind::Categorical { .. }) => "categories without 'other'",
            Some(Kind::Numeric(_)) => "numbers, whose bins `columns` finds",
            _ => "no categories",
        };
        let expected = "the kind 'categorical' with 'other', the code of texts that are not listed";
        Err(Error::invalid_specification(format!("{place}, '{name}'"), found, expected))
    }

    /// The same schema with more codes for an attribute, before that of texts that are not listed if it is the last one.
    ///
    /// # Errors
    /// As [`with_other`](Self::with_other), a code that it has already, or too many.
    pub(crate) fn with_codes<'t>(
        &self,
        name: &str,
        added: impl IntoIterator<Item = &'t str>,
    ) -> Result<Self> {
        self.with_other(name)?;
        let mut columns = self.columns.clone();
        let added: Vec<String> = added.into_iter().map(str::to_owned).collect();
        for column in columns.iter_mut().filter(|column| column.name == name) {
            let Some(Kind::Categorical { codes, labels, other: Some(other), .. }) =
                &mut column.kind
            else {
                continue;
            };
            let is_last = *other as usize + 1 == codes.len();
            let at = codes.len() - usize::from(is_last);
            if is_last {
                *other += u32::try_from(added.len()).unwrap_or(u32::MAX);
            }
            if let Some(labels) = labels {
                labels.splice(at..at, added.iter().cloned());
            }
            codes.splice(at..at, added.iter().cloned());
        }
        self.with_columns("schema with the categories found", columns, self.rules.clone())
    }
}
