//! Rules about several members of a unit, such as the persons of a household.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::json::number;
use super::rules::{Combination, Rules, ValueSet, attribute, codes_of};
use super::{Kind, NumberRange, Outside, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::privacy::Members;

/// Values that some members of a unit do not have together, as written.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberRule {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    first: Option<BTreeMap<String, ValueSet>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    later: Option<BTreeMap<String, ValueSet>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    one: Option<BTreeMap<String, ValueSet>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    another: Option<BTreeMap<String, ValueSet>>,
    /// In which the number of `first` or `one`, minus that of the other member, lies.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    difference: BTreeMap<String, Between>,
}

/// What members of public units do not have together, though they could.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UnlikelyMembers {
    values: MemberRule,
    /// How many public units would have it if the values were independent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expected: Option<f64>,
}

/// A range of differences, of which an end may be open.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Between {
    #[serde(default, serialize_with = "plain", skip_serializing_if = "Option::is_none")]
    from: Option<f64>,
    #[serde(default, serialize_with = "plain", skip_serializing_if = "Option::is_none")]
    below: Option<f64>,
}

/// Whole numbers as such.
#[expect(clippy::ref_option, reason = "serde passes a reference")]
fn plain<S: Serializer>(end: &Option<f64>, serializer: S) -> std::result::Result<S::Ok, S::Error> {
    end.and_then(number).serialize(serializer)
}

/// Which members of a unit a rule is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The first one.
    First,
    /// Each but the first.
    Later,
    /// The first with each other one.
    FirstAndLater,
    /// Each with each other one.
    OneAndAnother,
}

impl Who {
    /// The places of the members, from 1, in units of up to `most`: all choices, of one member or of two.
    pub(crate) fn places(self, most: u32) -> Vec<Vec<u32>> {
        match self {
            Self::First => vec![vec![1]],
            Self::Later => (2..=most).map(|later| vec![later]).collect(),
            Self::FirstAndLater => (2..=most).map(|later| vec![1, later]).collect(),
            Self::OneAndAnother => {
                let others = |one: u32| (1..=most).filter(move |other| *other != one);
                (1..=most).flat_map(|one| others(one).map(move |other| vec![one, other])).collect()
            }
        }
    }
}

/// The difference of the numbers of two members in a column, that of the first one named minus that of the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Difference {
    /// The column.
    pub(crate) column: String,
    range: NumberRange,
}

impl Difference {
    /// Differences from a number, which counts, to below another.
    pub(crate) fn new(column: impl Into<String>, from: f64, below: f64) -> Self {
        Self { column: column.into(), range: NumberRange { from, below } }
    }

    /// The difference and its range.
    pub(crate) fn in_words(&self) -> String {
        let NumberRange { from, below } = self.range;
        let ends = [(from, "from"), (below, "below")].into_iter();
        let ends = ends.filter(|(end, _)| end.is_finite());
        let ends: Vec<String> = ends.map(|(end, word)| format!("{word} {end}")).collect();
        format!("with a difference of {} {}", self.column, ends.join(" to "))
    }

    /// Whether it is in the range for these numbers.
    pub(crate) fn has(&self, first: f64, second: f64) -> bool {
        (self.range.from..self.range.below).contains(&(first - second))
    }

    /// Whether it is in the range for all numbers that two codes stand for. A missing number has no difference.
    pub(crate) fn always_has(&self, column: &SchemaColumn, first: u32, second: u32) -> bool {
        let Some((first, second)) = numbers_of(column, first).zip(numbers_of(column, second))
        else {
            return false;
        };
        let (lowest, highest) = (first.0 - second.1, first.1 - second.0);
        // Of whole numbers the highest difference occurs; that of real numbers is never reached.
        let is_below = match &column.kind {
            Some(Kind::Numeric(bins)) if !bins.is_integer() => highest <= self.range.below,
            _ => highest < self.range.below,
        };
        self.range.from <= lowest && is_below
    }
}

/// The lowest and the highest number that a code stands for; of real numbers, the end that they stay below.
pub(crate) fn numbers_of(column: &SchemaColumn, code: u32) -> Option<(f64, f64)> {
    if column.na_code() == Some(code) {
        return None;
    }
    match &column.kind {
        Some(Kind::Numeric(bins) | Kind::Date(bins)) => {
            let at = code as usize;
            let (low, high) = (*bins.edges().get(at)?, *bins.edges().get(at + 1)?);
            let (low, high) =
                if bins.is_integer() { (low.ceil(), high.ceil() - 1.0) } else { (low, high) };
            // Numbers beyond the ends count in the outer bins.
            let is_open = bins.outside() == Outside::Clamp;
            let low = if is_open && code == 0 { f64::NEG_INFINITY } else { low };
            let high = if is_open && code + 1 == bins.count() { f64::INFINITY } else { high };
            Some((low, high))
        }
        Some(Kind::Coded { .. }) => Some((f64::from(code), f64::from(code))),
        _ => None,
    }
}

/// Values that some members of a unit do not have together, in codes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct MemberCombination {
    /// The members.
    pub(crate) who: Who,
    /// The values of each of them.
    pub(crate) codes: Vec<Combination>,
    /// Differences of their numbers, all of which are in their ranges.
    pub(crate) differences: Vec<Difference>,
}

/// What members of public units do not have together, though they could.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UnlikelyMemberCombination {
    /// What they do not have together.
    pub(crate) members: MemberCombination,
    /// How many public units would have it if the values were independent.
    pub(crate) expected: f64,
}

impl MemberRule {
    /// The columns whose values or numbers it names.
    fn names(&self) -> impl Iterator<Item = &String> {
        self.values().map(|(name, _)| name).chain(self.difference.keys())
    }

    /// The values that it names, with their columns.
    fn values(&self) -> impl Iterator<Item = (&String, &ValueSet)> {
        [&self.first, &self.later, &self.one, &self.another].into_iter().flatten().flatten()
    }

    /// The rule of a combination.
    fn of(columns: &[SchemaColumn], found: &MemberCombination) -> Result<Self> {
        let place = "rules about members";
        let values = |codes: &Combination| {
            let set = |(name, codes): &(String, Vec<u32>)| {
                Ok((name.clone(), ValueSet::of(attribute(place, columns, name)?, codes)))
            };
            codes.iter().map(set).collect::<Result<BTreeMap<String, ValueSet>>>().map(Some)
        };
        let own = |at: usize| found.codes.get(at).map_or(Ok(None), values);
        let rule = match found.who {
            Who::First => Self { first: own(0)?, ..Self::default() },
            Who::Later => Self { later: own(0)?, ..Self::default() },
            Who::FirstAndLater => Self { first: own(0)?, later: own(1)?, ..Self::default() },
            Who::OneAndAnother => Self { one: own(0)?, another: own(1)?, ..Self::default() },
        };
        let end = |end: f64| Some(end).filter(|end| end.is_finite());
        let difference = found.differences.iter().map(|difference| {
            let NumberRange { from, below } = difference.range;
            (difference.column.clone(), Between { from: end(from), below: end(below) })
        });
        Ok(Self { difference: difference.collect(), ..rule })
    }

    fn resolved(
        &self,
        at: &str,
        columns: &[SchemaColumn],
        na_token: &str,
    ) -> Result<MemberCombination> {
        let wrong = |found: &str, expected: &str| Error::invalid_specification(at, found, expected);
        let given = [
            ("first", &self.first),
            ("later", &self.later),
            ("one", &self.one),
            ("another", &self.another),
        ];
        let (who, sets) = match (&self.first, &self.later, &self.one, &self.another) {
            (Some(first), None, None, None) => (Who::First, vec![first]),
            (None, Some(later), None, None) => (Who::Later, vec![later]),
            (Some(first), Some(later), None, None) => (Who::FirstAndLater, vec![first, later]),
            (None, None, Some(one), Some(another)) => (Who::OneAndAnother, vec![one, another]),
            _ => {
                let given = given.iter().filter(|(_, set)| set.is_some());
                let given: Vec<String> = given.map(|(name, _)| format!("'{name}'")).collect();
                let found = if given.is_empty() { "none".to_owned() } else { given.join(" and ") };
                let expected = "'first', 'later', both of them, or 'one' and 'another'";
                return Err(wrong(&found, expected));
            }
        };
        if let (1, Some(name)) = (sets.len(), self.difference.keys().next()) {
            let found = format!("a difference of '{name}' of one member");
            return Err(wrong(&found, "two members: 'first' and 'later', or 'one' and 'another'"));
        }
        let says_nothing = sets.iter().all(|set| set.is_empty()) && self.difference.is_empty();
        if says_nothing || (sets.len() == 1 && sets[0].is_empty()) {
            return Err(wrong("no attribute", "at least one"));
        }
        let codes = sets.iter().map(|set| {
            if set.is_empty() { Ok(Vec::new()) } else { codes_of(at, set, columns, na_token) }
        });
        let codes = codes.collect::<Result<_>>()?;
        let difference = |(name, between): (&String, &Between)| {
            let column = attribute(at, columns, name)?;
            let place = format!("{at}, difference of '{name}'");
            if matches!(column.kind, None | Some(Kind::Categorical { .. })) {
                let expected = "a column of numbers or dates";
                return Err(Error::invalid_specification(place, "categories", expected));
            }
            let from = between.from.unwrap_or(f64::NEG_INFINITY);
            let below = between.below.unwrap_or(f64::INFINITY);
            let found = match (between.from, between.below) {
                (None, None) => "no end",
                _ if from >= below => "a range without numbers",
                _ => return Ok(Difference::new(name, from, below)),
            };
            Err(Error::invalid_specification(place, found, "{\"from\": a, \"below\": b}"))
        };
        let differences = self.difference.iter().map(difference).collect::<Result<_>>()?;
        Ok(MemberCombination { who, codes, differences })
    }
}

/// The rules about members of a schema, as written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct MemberRules {
    pub(super) forbidden: Vec<MemberRule>,
    pub(super) unlikely: Vec<UnlikelyMembers>,
}

impl MemberRules {
    fn rules(&self) -> impl Iterator<Item = &MemberRule> {
        self.forbidden.iter().chain(self.unlikely.iter().map(|rule| &rule.values))
    }

    /// The values that rules name, with their columns.
    pub(super) fn values(&self) -> impl Iterator<Item = (&String, &ValueSet)> {
        self.rules().flat_map(MemberRule::values)
    }

    /// The rules whose attributes are all kept.
    pub(super) fn among(&self, kept: impl Fn(&str) -> bool) -> Self {
        let is_kept = |rule: &MemberRule| rule.names().all(|name| kept(name));
        Self {
            forbidden: self.forbidden.iter().filter(|rule| is_kept(rule)).cloned().collect(),
            unlikely: self.unlikely.iter().filter(|rule| is_kept(&rule.values)).cloned().collect(),
        }
    }

    /// The rules without the unlikely ones that name values that these columns do not have.
    pub(super) fn known_to(mut self, columns: &[SchemaColumn], na_token: &str) -> Self {
        if !self.unlikely.is_empty() {
            let columns = of_one_member(columns);
            self.unlikely.retain(|rule| rule.values.resolved("", &columns, na_token).is_ok());
        }
        self
    }

    /// What is forbidden, and what is unlikely, in codes.
    pub(super) fn resolved(
        &self,
        place: &str,
        columns: &[SchemaColumn],
        na_token: &str,
    ) -> Result<[Vec<MemberCombination>; 2]> {
        if self.rules().next().is_none() {
            return Ok([Vec::new(), Vec::new()]);
        }
        let columns = &of_one_member(columns);
        let forbidden = (1..).zip(&self.forbidden).map(|(number, rule)| {
            let at = format!("{place}, forbidden combination {number} of members");
            rule.resolved(&at, columns, na_token)
        });
        let unlikely = (1..).zip(&self.unlikely).map(|(number, rule)| {
            let at = format!("{place}, unlikely combination {number} of members");
            rule.values.resolved(&at, columns, na_token)
        });
        Ok([forbidden.collect::<Result<_>>()?, unlikely.collect::<Result<_>>()?])
    }
}

impl Schema {
    /// The same schema with these unlikely combinations of members, and no others.
    ///
    /// # Errors
    /// A name that is no attribute.
    pub(crate) fn with_unlikely_members(
        &self,
        found: &[UnlikelyMemberCombination],
    ) -> Result<Self> {
        let mut rules: Rules = self.rules.clone();
        let written = |one: &UnlikelyMemberCombination| {
            let expected = Some((10.0 * one.expected).round() / 10.0);
            Ok(UnlikelyMembers { values: MemberRule::of(&self.columns, &one.members)?, expected })
        };
        rules.members.unlikely = found.iter().map(written).collect::<Result<_>>()?;
        self.with_columns("schema", self.columns.clone(), rules)
    }

    /// The same schema without what members of a unit cannot have together.
    ///
    /// # Errors
    /// None in practice.
    pub(crate) fn without_forbidden_members(&self) -> Result<Self> {
        let mut rules: Rules = self.rules.clone();
        rules.members.forbidden.clear();
        self.with_columns("schema", self.columns.clone(), rules)
    }

    /// Each thing that members of a unit cannot have together, as it is written, with the schema that forbids it alone.
    ///
    /// # Errors
    /// None in practice.
    pub(crate) fn each_of_forbidden_members(&self) -> Result<Vec<(String, Self)>> {
        let alone = |rule: &MemberRule| {
            let members = MemberRules { forbidden: vec![rule.clone()], ..MemberRules::default() };
            let rules = Rules::default().with_members(members);
            // A rule is written as JSON.
            let text = serde_json::to_string(rule).unwrap_or_default();
            Ok((text, self.with_columns("schema", self.columns.clone(), rules)?))
        };
        self.rules.members.forbidden.iter().map(alone).collect()
    }

    /// What members of a unit cannot have together, and what they are unlikely to have together.
    ///
    /// # Errors
    /// None in practice: the rules have been checked.
    pub(crate) fn of_members_together(&self) -> Result<[Vec<MemberCombination>; 2]> {
        self.rules.members.resolved("schema", &self.columns, &self.na_token)
    }
}

/// The columns, with those of the first member under their own names: the schema of units has them by place.
fn of_one_member(columns: &[SchemaColumn]) -> Vec<SchemaColumn> {
    let suffix = Members::name_of("", 1);
    let own = columns.iter().filter_map(|column| {
        let name = column.name.strip_suffix(&suffix)?.to_owned();
        let is_new = columns.iter().all(|other| other.name != name);
        is_new.then(|| SchemaColumn { name, ..column.clone() })
    });
    columns.iter().cloned().chain(own).collect()
}
