//! The schema as JSON: `schema.json`, `domain.json`, and back.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::date::{days, written};
use super::filled::filled;
use super::groups::RawGroup;
use super::member_rules::{MemberRule, MemberRules, UnlikelyMembers};
use super::piece::{Outside, Piece};
use super::rules::{Dependency, Rules, Unlikely, ValueSet};
use super::{Bins, Kind, MAX_CARDINALITY, Notation, Role, Schema, SchemaColumn, TableFormat};
use crate::error::{Error, Result};

/// The JSON object before it is checked.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSchema {
    /// The JSON Schema of this file, for editors.
    #[serde(rename = "$schema", default, skip_serializing)]
    _json_schema: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dataset: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    table: Option<TableFormat>,
    #[serde(default)]
    na_token: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    columns: Vec<RawColumn>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forbidden: Vec<BTreeMap<String, ValueSet>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    functional_dependencies: Vec<Dependency>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    forbidden_members: Vec<MemberRule>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unlikely: Vec<Unlikely>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unlikely_members: Vec<UnlikelyMembers>,
}

#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawColumn {
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    note: Option<String>,
    #[serde(default)]
    role: Role,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    kind: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    na: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    codes: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    other: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<RawGroup>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    edges: Option<Vec<Value>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    integer: Option<bool>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    outside: Option<Outside>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    draw: Option<Vec<Vec<Value>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    notation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    size: Option<u32>,
}

/// The members of a JSON object in the file's order, repeats included.
struct Members(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Members {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> std::result::Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Members;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Members, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Schema {
    /// Reads the text of a `schema.json` or a `domain.json`; `place` names it in errors.
    ///
    /// # Errors
    /// Text that is not JSON or is neither of the two, and everything [`Schema::new`] refuses.
    pub fn from_json(text: &str, place: &str) -> Result<Self> {
        const EXPECTED: &str = "a schema {\"columns\": [...]} or a domain {\"name\": size, ...}";
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let wrong = |error: serde_json::Error| Error::wrong_json(place, &error, true, EXPECTED);
        let Members(members) = serde_json::from_str(text).map_err(wrong)?;
        if members.iter().any(|(name, value)| name == "columns" && !value.is_number()) {
            let raw: RawSchema = serde_json::from_str(text).map_err(wrong)?;
            return raw.check(place);
        }
        if members.is_empty() {
            return Err(Error::invalid_specification(place, "an empty object", EXPECTED));
        }
        let columns = members.into_iter().map(|(name, value)| sized(place, name, &value));
        Self::checked(place, Vec::new(), columns.collect::<Result<_>>()?, Rules::default())
    }

    /// The schema as the text of a `schema.json`, indented.
    ///
    /// # Errors
    /// None in practice: the serializer's own.
    pub fn to_json(&self) -> Result<String> {
        let wrong = |e: serde_json::Error| {
            Error::invalid_specification("schema", e.to_string(), "a writable schema")
        };
        let mut raw = RawSchema::from(self.clone());
        // There may be hundreds of them: a line for each.
        let lists = [
            ("unlikely", lines(&std::mem::take(&mut raw.unlikely)).map_err(wrong)?),
            ("unlikely_members", lines(&std::mem::take(&mut raw.unlikely_members)).map_err(wrong)?),
        ];
        let mut text = filled(&serde_json::to_string_pretty(&raw).map_err(wrong)?);
        for (name, lines) in lists.iter().filter(|(_, lines)| !lines.is_empty()) {
            text.truncate(text.trim_end_matches(['}', '\n']).len());
            // Writing to a string cannot fail.
            _ = write!(text, ",\n  \"{name}\": [\n    {}\n  ]\n}}", lines.join(",\n    "));
        }
        Ok(text)
    }
}

/// Each member of a list as JSON in one line.
fn lines<T: Serialize>(list: &[T]) -> serde_json::Result<Vec<String>> {
    list.iter().map(serde_json::to_string).collect()
}

/// A member `"name": size` of a `domain.json`.
fn sized(place: &str, name: String, value: &Value) -> Result<SchemaColumn> {
    let size = value.as_u64().and_then(|size| u32::try_from(size).ok());
    match size {
        Some(size) => Ok(SchemaColumn::attribute(name, Kind::Coded { size })),
        None => Err(Error::invalid_specification(
            format!("{place}, attribute '{name}'"),
            format!("size {}", shortened(&value.to_string())),
            format!("a whole number from 1 to {MAX_CARDINALITY}"),
        )),
    }
}

pub(super) fn shortened(text: &str) -> String {
    const LONGEST: usize = 40;
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.into(),
    }
}

impl RawSchema {
    fn check(self, place: &str) -> Result<Schema> {
        let columns: Vec<SchemaColumn> =
            self.columns.into_iter().map(|c| c.check(place)).collect::<Result<_>>()?;
        let missing = std::iter::once(self.na_token).chain(self.missing).collect();
        let rules = Rules {
            forbidden: self.forbidden,
            functional_dependencies: self.functional_dependencies,
            unlikely: self.unlikely,
            members: MemberRules {
                forbidden: self.forbidden_members,
                unlikely: self.unlikely_members,
            },
        };
        let columns = rules.cutting(columns);
        let mut schema = Schema::checked(place, missing, columns, rules)?;
        schema.table = self.table.unwrap_or_default();
        schema.table.check(&format!("{place}, 'table'"))?;
        schema.dataset = self.dataset;
        schema.note = self.note;
        Ok(schema)
    }
}

/// The text of a code, which may be written as a JSON number.
pub(super) fn code_text(at: &str, value: &Value) -> Result<String> {
    match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) => Ok(number.to_string()),
        _ => Err(Error::invalid_specification(
            at,
            format!("code {}", shortened(&value.to_string())),
            "a text or number",
        )),
    }
}

impl RawColumn {
    fn check(self, place: &str) -> Result<SchemaColumn> {
        let at = format!("{place}, column '{}'", self.name);
        let missing = |member: &str, expected: &str| {
            Error::invalid_specification(at.clone(), format!("no '{member}'"), expected)
        };
        let kind = match self.kind.as_deref() {
            _ if !matches!(self.role, Role::Attribute | Role::Weight) => None,
            None => None,
            Some("categorical") => {
                let codes = self.codes.ok_or_else(|| missing("codes", "a list of codes"))?;
                let codes: Vec<String> =
                    codes.iter().map(|c| code_text(&at, c)).collect::<Result<_>>()?;
                let other = self.other.map(|o| code_text(&at, &o)).transpose()?;
                let other = match other {
                    None => None,
                    Some(other) => {
                        let position = codes.iter().position(|c| *c == other);
                        let position = position.and_then(|p| u32::try_from(p).ok());
                        Some(position.ok_or_else(|| {
                            let found = format!("'other' code '{other}' that is not in 'codes'");
                            Error::invalid_specification(at.clone(), found, "one of the codes")
                        })?)
                    }
                };
                let groups = self.groups.into_iter().flatten();
                let groups = groups.map(|group| group.check(&at, &codes)).collect::<Result<_>>()?;
                Some(Kind::Categorical { codes, labels: self.labels, other, groups })
            }
            Some(form @ ("numeric" | "date")) => {
                let is_date = form == "date";
                let expected = if is_date { "increasing dates" } else { "increasing numbers" };
                let edges = self.edges.ok_or_else(|| missing("edges", expected))?;
                let whole = if is_date { Some(true) } else { self.integer };
                let bins = Bins::new(values(&edges, is_date, &at)?, whole, &at)?;
                let bins = drawn(bins, self.outside, self.draw, is_date, &at)?;
                let notation = self.notation.map(|text| Notation::new(&text, &at)).transpose()?;
                if let Some(other) = notation.as_ref().filter(|own| own.is_date() != is_date) {
                    let place = format!("{at}, 'notation'");
                    let expected = if is_date { "that of a date" } else { "that of a number" };
                    let found = format!("'{}'", other.text());
                    return Err(Error::invalid_specification(place, found, expected));
                }
                if notation.as_ref().is_some_and(Notation::is_time) && !bins.is_integer() {
                    let place = format!("{at}, 'notation'");
                    let expected = "edges of whole numbers: times are minutes or seconds";
                    return Err(Error::invalid_specification(
                        place,
                        "a time of fractions",
                        expected,
                    ));
                }
                let bins = bins.with_notation(notation);
                Some(if is_date { Kind::Date(bins) } else { Kind::Numeric(bins) })
            }
            Some("coded") => {
                let size = self.size.ok_or_else(|| missing("size", "a number of values"))?;
                Some(Kind::Coded { size })
            }
            Some(unknown) => {
                return Err(Error::invalid_specification(
                    at,
                    format!("kind '{}'", shortened(unknown)),
                    "'categorical', 'numeric', 'date' or 'coded'",
                ));
            }
        };
        let na = self.na.unwrap_or(false) && kind.is_some();
        Ok(SchemaColumn {
            name: self.name,
            description: self.description,
            note: self.note,
            role: self.role,
            kind,
            na,
        })
    }
}

impl TryFrom<RawSchema> for Schema {
    type Error = Error;
    fn try_from(raw: RawSchema) -> Result<Self> {
        raw.check("schema")
    }
}

impl From<Schema> for RawSchema {
    fn from(schema: Schema) -> Self {
        let Rules { forbidden, functional_dependencies, unlikely, members } = schema.rules;
        Self {
            _json_schema: None,
            dataset: schema.dataset,
            table: Some(schema.table).filter(|table| *table != TableFormat::default()),
            na_token: schema.na_token,
            missing: schema.missing,
            note: schema.note,
            columns: schema.columns.into_iter().map(RawColumn::from).collect(),
            forbidden,
            functional_dependencies,
            forbidden_members: members.forbidden,
            unlikely,
            unlikely_members: members.unlikely,
        }
    }
}

impl From<SchemaColumn> for RawColumn {
    fn from(column: SchemaColumn) -> Self {
        let mut raw = Self {
            name: column.name,
            description: column.description,
            note: column.note,
            role: column.role,
            na: column.kind.is_some().then_some(column.na),
            ..Self::default()
        };
        match column.kind {
            None => {}
            Some(Kind::Categorical { codes, labels, other, groups }) => {
                let written = groups.iter().map(|group| RawGroup::of(group, &codes));
                raw.groups = Some(written.collect()).filter(|groups: &Vec<_>| !groups.is_empty());
                raw.kind = Some("categorical".into());
                raw.other = other.and_then(|o| codes.get(o as usize).cloned()).map(Value::String);
                raw.codes = Some(codes.into_iter().map(Value::String).collect());
                raw.labels = labels;
            }
            Some(Kind::Numeric(bins)) => {
                raw.kind = Some("numeric".into());
                raw.integer = Some(bins.is_integer());
                raw.with_bins(&bins, number);
            }
            Some(Kind::Date(bins)) => {
                raw.kind = Some("date".into());
                raw.with_bins(&bins, date);
            }
            Some(Kind::Coded { size }) => {
                raw.kind = Some("coded".into());
                raw.size = Some(size);
            }
        }
        raw
    }
}

impl RawColumn {
    /// Takes the edges and pieces of bins, which are written by `value`.
    fn with_bins(&mut self, bins: &Bins, value: fn(f64) -> Option<Value>) {
        let outside = bins.outside();
        self.edges = Some(bins.edges().iter().filter_map(|edge| value(*edge)).collect());
        self.outside = Some(outside).filter(|outside| *outside != Outside::Refuse);
        self.notation = bins.notation().map(|notation| notation.text().to_owned());
        let piece = |piece: &Piece| {
            let ends = if piece.is_value() { 1 } else { 2 };
            let numbers = piece.numbers().into_iter().enumerate();
            numbers.filter_map(|(i, n)| if i < ends { value(n) } else { number(n) }).collect()
        };
        let pieces = bins.pieces().iter().map(piece).collect();
        self.draw = Some(pieces).filter(|pieces: &Vec<_>| !pieces.is_empty());
    }
}

/// Bins with what a column says of values outside and inside them.
fn drawn(
    bins: Bins,
    outside: Option<Outside>,
    draw: Option<Vec<Vec<Value>>>,
    is_date: bool,
    at: &str,
) -> Result<Bins> {
    let piece = |members: &Vec<Value>| {
        let ends = if !is_date {
            0
        } else if members.len() == 2 {
            1
        } else {
            2
        };
        let (ends, counts) = members.split_at(ends.min(members.len()));
        let mut numbers = values(ends, true, at)?;
        numbers.extend(values(counts, false, at)?);
        Piece::of_numbers(&numbers, at)
    };
    let pieces = draw.unwrap_or_default().iter().map(piece).collect::<Result<_>>()?;
    bins.with_outside(outside.unwrap_or_default()).with_pieces(pieces, at)
}

/// Numbers, or dates as days.
fn values(members: &[Value], is_date: bool, at: &str) -> Result<Vec<f64>> {
    let value = |member: &Value| match member {
        Value::String(text) if is_date => days(text).map(f64::from),
        Value::Number(number) if !is_date => number.as_f64(),
        _ => None,
    };
    let expected = if is_date { "a date 'YYYY-MM-DD'" } else { "a number" };
    let read = |member: &Value| {
        value(member).ok_or_else(|| {
            Error::invalid_specification(at, shortened(&member.to_string()), expected)
        })
    };
    members.iter().map(read).collect()
}

/// A day as JSON.
#[expect(clippy::cast_possible_truncation, reason = "days of dates with four digits for the year")]
fn date(day: f64) -> Option<Value> {
    day.is_finite().then(|| Value::String(written(day as i32)))
}

/// A finite number as JSON, without a point where it is whole.
pub(super) fn number(value: f64) -> Option<Value> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if value.fract() == 0.0 && value.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "whole and at most 2^53")]
        return Some(Number::from(value as i64).into());
    }
    Number::from_f64(value).map(Value::Number)
}
