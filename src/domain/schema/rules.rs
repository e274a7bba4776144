//! Records that a schema says not to be: forbidden combinations, functional dependencies, and unlikely combinations.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use super::date::{date_of, days};
use super::member_rules::MemberRules;
use super::{Kind, NumberRange, SchemaColumn};
use crate::error::{Error, Result};

/// The rules of a schema, as written. Values are written as in the table; see `docs/guide/schema.md`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Rules {
    /// Each forbids the records whose values lie in all of its sets.
    pub(super) forbidden: Vec<BTreeMap<String, ValueSet>>,
    pub(super) functional_dependencies: Vec<Dependency>,
    pub(super) unlikely: Vec<Unlikely>,
    /// About several members of a unit.
    pub(super) members: MemberRules,
}

/// A combination that public records do not have, though they could have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unlikely {
    values: BTreeMap<String, ValueSet>,
    /// How many public records would have it if its attributes were independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<f64>,
}

/// One attribute decides another: every value of `from` that `map` lists occurs with the listed values of `to` only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Dependency {
    from: String,
    to: String,
    map: BTreeMap<String, ValueSet>,
}

/// One value or several; a range of numbers is `{"from": a, "below": b}`, and all others than some are `{"not": [...]}`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "no value and no list of values")]
pub(super) enum ValueSet {
    Others(Others),
    Several(Vec<OneValue>),
    One(OneValue),
}

/// All values but these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Others {
    not: Vec<OneValue>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub(super) enum OneValue {
    Range(Range),
    Text(Value),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Range {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    from: Option<End>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    below: Option<End>,
}

/// An end of a range.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, expecting = "no number and no date")]
pub(super) enum End {
    Number(#[serde(serialize_with = "plain")] f64),
    Date(String),
}

/// Whole numbers as such.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn plain<S: Serializer>(end: &f64, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    super::json::number(*end).serialize(serializer)
}

impl End {
    fn of(value: f64, is_date: bool) -> Self {
        if is_date { Self::Date(date_of(value)) } else { Self::Number(value) }
    }

    /// The number, or the day of a date; not a number for other text.
    fn value(&self) -> f64 {
        match self {
            Self::Number(number) => *number,
            Self::Date(text) => days(text).map_or(f64::NAN, f64::from),
        }
    }
}

/// A set of codes for each of some attributes, by name.
pub type Combination = Vec<(String, Vec<u32>)>;

/// A combination that public records do not have, though they could have: it is left out of drawn records, unless what was
/// measured contradicts it.
#[derive(Clone, Debug, PartialEq)]
pub struct UnlikelyCombination {
    /// Its values.
    pub codes: Combination,
    /// How many public records would have it if its attributes were independent, where there are any.
    pub expected: Option<f64>,
}

impl Rules {
    /// The same rules with those about members.
    pub(super) fn with_members(self, members: MemberRules) -> Self {
        Self { members, ..self }
    }

    /// The same rules with more forbidden combinations.
    pub(super) fn with_forbidden(
        mut self,
        columns: &[SchemaColumn],
        found: Vec<Combination>,
    ) -> Result<Self> {
        for codes in found {
            let values = codes.into_iter().map(|(name, codes)| {
                let values =
                    ValueSet::of(attribute("forbidden combinations", columns, &name)?, &codes);
                Ok((name, values))
            });
            self.forbidden.push(values.collect::<Result<_>>()?);
        }
        Ok(self)
    }

    /// The same rules with more unlikely combinations.
    pub(super) fn with_unlikely(
        mut self,
        columns: &[SchemaColumn],
        found: Vec<UnlikelyCombination>,
    ) -> Result<Self> {
        for UnlikelyCombination { codes, expected } in found {
            let values = codes.into_iter().map(|(name, codes)| {
                let values =
                    ValueSet::of(attribute("unlikely combinations", columns, &name)?, &codes);
                Ok((name, values))
            });
            let expected = expected.map(|expected| (10.0 * expected).round() / 10.0);
            self.unlikely.push(Unlikely { values: values.collect::<Result<_>>()?, expected });
        }
        Ok(self)
    }

    /// The rules without some unlikely combinations: those for which `kept` is false.
    pub(super) fn keeping(mut self, kept: &[bool]) -> Self {
        let mut kept = kept.iter();
        self.unlikely.retain(|_| kept.next().is_none_or(|kept| *kept));
        self
    }

    /// The rules without the unlikely combinations that these columns do not have, such as those of merged values.
    pub(super) fn known_to(mut self, columns: &[SchemaColumn], na_token: &str) -> Self {
        self.unlikely.retain(|rule| codes_of("", &rule.values, columns, na_token).is_ok());
        self.members = self.members.known_to(columns, na_token);
        self
    }

    /// The columns, with bins cut where a rule's numbers begin and end inside them.
    pub(super) fn cutting(&self, mut columns: Vec<SchemaColumn>) -> Vec<SchemaColumn> {
        let forbidden = self.forbidden.iter().chain(self.unlikely.iter().map(|rule| &rule.values));
        let dependent = self.functional_dependencies.iter();
        let dependent =
            dependent.flat_map(|rule| rule.map.values().map(|values| (&rule.to, values)));
        let mut ends: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
        let of_members = self.members.values();
        for (name, values) in forbidden.flatten().chain(dependent).chain(of_members) {
            if let Some(column) = columns.iter().find(|column| column.name == *name) {
                ends.entry(name).or_default().extend(values.ends(column));
            }
        }
        for column in &mut columns {
            let ends = ends.get(&column.name).map_or(&[][..], Vec::as_slice);
            if let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &mut column.kind {
                *bins = bins.cut_at(ends);
            }
        }
        columns
    }

    /// The rules whose attributes are all kept. A rule that lacks one does not restrict the others.
    pub(super) fn among(&self, kept: impl Fn(&str) -> bool + Copy) -> Self {
        let forbidden = self.forbidden.iter().filter(|rule| rule.keys().all(|name| kept(name)));
        let dependencies =
            self.functional_dependencies.iter().filter(|rule| kept(&rule.from) && kept(&rule.to));
        let is_kept = |rule: &&Unlikely| rule.values.keys().all(|name| kept(name));
        Self {
            forbidden: forbidden.cloned().collect(),
            functional_dependencies: dependencies.cloned().collect(),
            unlikely: self.unlikely.iter().filter(is_kept).cloned().collect(),
            members: self.members.among(kept),
        }
    }

    /// The unlikely combinations in codes.
    pub(super) fn unlikely(
        &self,
        place: &str,
        columns: &[SchemaColumn],
        na_token: &str,
    ) -> Result<Vec<Combination>> {
        let rules = (1..).zip(&self.unlikely);
        let codes = |(number, rule): (usize, &Unlikely)| {
            let at = format!("{place}, unlikely combination {number}");
            codes_of(&at, &rule.values, columns, na_token)
        };
        rules.map(codes).collect()
    }

    /// The forbidden combinations in codes.
    pub(super) fn combinations(
        &self,
        place: &str,
        columns: &[SchemaColumn],
        na_token: &str,
    ) -> Result<Vec<Combination>> {
        let mut combinations = Vec::new();
        for (number, rule) in (1..).zip(&self.forbidden) {
            let at = format!("{place}, forbidden combination {number}");
            combinations.push(codes_of(&at, rule, columns, na_token)?);
        }
        for (number, rule) in (1..).zip(&self.functional_dependencies) {
            let at = format!("{place}, functional dependency {number}");
            let from = attribute(&at, columns, &rule.from)?;
            let to = attribute(&at, columns, &rule.to)?;
            for (value, allowed) in &rule.map {
                let given = code(&at, from, &Value::String(value.clone()), na_token)?;
                let allowed = allowed.codes(&at, to, na_token)?;
                let others = (0..to.cardinality()).filter(|c| !allowed.contains(c)).collect();
                combinations
                    .push(vec![(rule.from.clone(), vec![given]), (rule.to.clone(), others)]);
            }
        }
        Ok(combinations)
    }
}

/// A combination in codes.
pub(super) fn codes_of(
    at: &str,
    rule: &BTreeMap<String, ValueSet>,
    columns: &[SchemaColumn],
    na_token: &str,
) -> Result<Combination> {
    if rule.is_empty() {
        return Err(Error::invalid_specification(at, "no attribute", "at least one"));
    }
    let codes = |(name, values): (&String, &ValueSet)| {
        let column = attribute(at, columns, name)?;
        Ok((name.clone(), values.codes(at, column, na_token)?))
    };
    rule.iter().map(codes).collect()
}

impl ValueSet {
    /// The values of some codes, in increasing order: numbers and dates as ranges, or what is left out where that is shorter.
    pub(super) fn of(column: &SchemaColumn, codes: &[u32]) -> Self {
        let listed = Self::listed(column, codes);
        let left: Vec<u32> =
            (0..column.cardinality()).filter(|code| !codes.contains(code)).collect();
        match (Self::listed(column, &left), &listed) {
            (Self::Several(not), Self::Several(values))
                if !not.is_empty() && 2 * not.len() < values.len() =>
            {
                Self::Others(Others { not })
            }
            _ => listed,
        }
    }

    /// The values of some codes, in increasing order: numbers and dates as ranges.
    fn listed(column: &SchemaColumn, codes: &[u32]) -> Self {
        let mut values = Vec::new();
        let mut rest = codes;
        while let Some(first) = rest.first() {
            let own = match &column.kind {
                Some(Kind::Numeric(bins) | Kind::Date(bins)) if *first < bins.count() => {
                    let run = (*first..bins.count()).zip(rest).take_while(|(a, b)| a == *b).count();
                    let ends = [*first as usize, *first as usize + run].map(|at| bins.edges()[at]);
                    let is_date = matches!(column.kind, Some(Kind::Date(_)));
                    let [from, below] = ends.map(|end| Some(End::of(end, is_date)));
                    rest = &rest[run..];
                    OneValue::Range(Range { from, below })
                }
                kind => {
                    rest = &rest[1..];
                    OneValue::Text(match kind {
                        Some(Kind::Categorical { codes, .. }) => codes
                            .get(*first as usize)
                            .map_or(Value::Null, |text| text.clone().into()),
                        Some(Kind::Coded { size }) if first < size => Value::from(*first),
                        _ => Value::Null,
                    })
                }
            };
            values.push(own);
        }
        if let [OneValue::Range(_)] = *values {
            Self::One(values.remove(0))
        } else {
            Self::Several(values)
        }
    }

    /// What is written: the values, or those that are left out.
    fn members(&self) -> &[OneValue] {
        match self {
            Self::Several(values) | Self::Others(Others { not: values }) => values.as_slice(),
            Self::One(value) => std::slice::from_ref(value),
        }
    }

    /// The numbers at which the set begins and ends in a column of numbers or dates. A single whole number ends at the next one; of
    /// real numbers it stands for its whole bin.
    fn ends(&self, column: &SchemaColumn) -> Vec<f64> {
        let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &column.kind else {
            return Vec::new();
        };
        let range = |value: &OneValue| match value {
            OneValue::Range(Range { from, below }) => {
                let end = |end: &Option<End>, open: f64| end.as_ref().map_or(open, End::value);
                let from = end(from, f64::NEG_INFINITY);
                Some(NumberRange { from, below: end(below, f64::INFINITY) })
            }
            OneValue::Text(value) if bins.is_integer() => {
                let text = match value {
                    Value::String(text) => text.trim().to_owned(),
                    Value::Number(number) => number.to_string(),
                    _ => return None,
                };
                let number = match &column.kind {
                    Some(Kind::Date(_)) => f64::from(days(&text)?),
                    _ => text.parse().ok()?,
                };
                Some(NumberRange { from: number, below: number + 1.0 })
            }
            OneValue::Text(_) => None,
        };
        let ranges = NumberRange::joined(self.members().iter().filter_map(range).collect());
        let ends = ranges.iter().flat_map(|range| [range.from, range.below]);
        ends.filter(|end| end.is_finite()).collect()
    }

    fn codes(&self, at: &str, column: &SchemaColumn, na_token: &str) -> Result<Vec<u32>> {
        let mut codes = Vec::new();
        for value in self.members() {
            match value {
                OneValue::Range(range) => codes.extend(range.codes(at, column)?),
                OneValue::Text(value) => codes.push(code(at, column, value, na_token)?),
            }
        }
        if let Self::Others(_) = self {
            codes = (0..column.cardinality()).filter(|code| !codes.contains(code)).collect();
        }
        Ok(codes)
    }
}

impl Range {
    /// The values in the range, which must not cut a bin.
    fn codes(&self, at: &str, column: &SchemaColumn) -> Result<Vec<u32>> {
        let ends = [&self.from, &self.below].map(|end| end.as_ref().map(End::value));
        let [low, high] = [ends[0].unwrap_or(f64::NEG_INFINITY), ends[1].unwrap_or(f64::INFINITY)];
        let wrong = |found: String, expected: String| {
            Err(Error::invalid_specification(
                format!("{at}, attribute '{}'", column.name),
                found,
                expected,
            ))
        };
        match &column.kind {
            Some(Kind::Numeric(bins) | Kind::Date(bins)) => {
                let edges = bins.edges();
                // Whole numbers from 15 and from 14.5 are the same.
                let rounded = |x: f64| if bins.is_integer() { x.ceil() } else { x };
                if let Some(cut) = ends.into_iter().flatten().find(|end| {
                    let is_edge =
                        |edge: &f64| (rounded(*edge) - rounded(*end)).abs() < f64::EPSILON;
                    !edges.iter().any(is_edge)
                }) {
                    let (first, last) = (edges[0], edges[edges.len() - 1]);
                    let some = &edges[..edges.len().min(8)];
                    let expected =
                        format!("edges of its bins, from {first} to {last}, such as {some:?}");
                    return wrong(format!("a range that ends at {cut}"), expected);
                }
                let (low, high) = (rounded(low), rounded(high));
                let inside = |e: &[f64]| rounded(e[0]) >= low && rounded(e[1]) <= high;
                let bins = (0..bins.count()).zip(edges.windows(2));
                Ok(bins.filter(|(_, e)| inside(e)).map(|(code, _)| code).collect())
            }
            Some(Kind::Coded { size }) => {
                let inside = |code: f64| code >= low && code + 1.0 <= high;
                Ok((0..*size).filter(|code| inside(f64::from(*code))).collect())
            }
            _ => wrong("a range".into(), "values: it is not a number".into()),
        }
    }
}

pub(super) fn attribute<'c>(
    at: &str,
    columns: &'c [SchemaColumn],
    name: &str,
) -> Result<&'c SchemaColumn> {
    let column = columns.iter().find(|c| c.name == name && c.role == super::Role::Attribute);
    column.ok_or_else(|| {
        Error::invalid_specification(
            at,
            format!("'{name}', which is no attribute"),
            "names of columns with the role 'attribute'",
        )
    })
}

/// The code of a value, written as in the table; null is a missing value.
fn code(at: &str, column: &SchemaColumn, value: &Value, na_token: &str) -> Result<u32> {
    let text = match value {
        Value::Null => Some(na_token.to_owned()),
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    };
    let found = text.as_deref().and_then(|text| {
        if text == na_token && column.na {
            return column.na_code();
        }
        match &column.kind {
            Some(Kind::Categorical { codes, .. }) => {
                codes.iter().position(|c| c == text).and_then(|p| u32::try_from(p).ok())
            }
            Some(Kind::Numeric(bins)) => text.trim().parse().ok().and_then(|x| bins.find(x)),
            Some(Kind::Date(bins)) => days(text.trim()).and_then(|day| bins.find(day.into())),
            Some(Kind::Coded { size }) => text.trim().parse().ok().filter(|code| code < size),
            None => None,
        }
    });
    found.ok_or_else(|| {
        Error::invalid_specification(
            format!("{at}, attribute '{}'", column.name),
            format!("value {}", super::json::shortened(&value.to_string())),
            "a value as in the table, null for a missing one, {\"from\": a, \"below\": b}, or {\"not\": [...]} alone",
        )
    })
}
