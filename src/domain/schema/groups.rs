//! Codes that stand for several texts each.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::code_text;
use crate::error::{Error, Result};

/// A categorical code that stands for several texts: they are read as this code, and on decoding one of them is drawn.
/// The code's own text occurs in no table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Position of the code.
    pub code: u32,
    /// What it stands for, distinct texts.
    pub values: Vec<GroupValue>,
}

/// One of the texts of a [`Group`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupValue {
    /// The raw text.
    pub text: String,
    /// Its meaning, for readers.
    pub label: Option<String>,
    /// Its weight among the values of the group: the number of rows that it stands for.
    pub rows: u32,
}

impl Group {
    /// The value that holds row `row` of the group's [`rows`](Self::rows); `None` past the end.
    pub(crate) fn value_at(&self, row: u64) -> Option<&GroupValue> {
        let mut before = 0;
        self.values.iter().find(|value| {
            before += u64::from(value.rows);
            row < before
        })
    }

    /// Whether a value has a label.
    #[cfg(feature = "arrow")]
    pub(crate) fn has_labels(&self) -> bool {
        self.values.iter().any(|value| value.label.is_some())
    }

    /// The weights of all values together.
    pub(crate) fn rows(&self) -> u64 {
        self.values.iter().map(|value| u64::from(value.rows)).sum()
    }
}

/// The texts that a categorical column accepts, each with its code.
pub(crate) fn texts<'a>(
    codes: &'a [String],
    groups: &'a [Group],
) -> impl Iterator<Item = (&'a str, u32)> {
    let of_group = |code: u32| groups.iter().find(move |group| group.code == code);
    (0..).zip(codes).flat_map(move |(code, text)| {
        let group = of_group(code);
        let own = group.is_none().then_some(text.as_str());
        let values = group.into_iter().flat_map(|group| &group.values);
        own.into_iter().chain(values.map(|value| value.text.as_str())).map(move |text| (text, code))
    })
}

/// Checks the groups of a column. `at` names it in errors.
pub(super) fn check(
    at: &str,
    codes: &[String],
    other: Option<u32>,
    groups: &[Group],
) -> Result<()> {
    let wrong = |found: String, expected: &str| {
        Err(Error::invalid_specification(format!("{at}, 'groups'"), found, expected))
    };
    let mut seen = BTreeSet::new();
    for group in groups {
        let Some(name) = codes.get(group.code as usize) else {
            return wrong(format!("code at {}", group.code), "one of the codes");
        };
        if other == Some(group.code) {
            return wrong(
                format!("'{name}', the code of texts that are not listed"),
                "another code",
            );
        }
        if !seen.insert(group.code) {
            return wrong(format!("group '{name}' twice"), "each code once");
        }
        if group.rows() == 0 {
            return wrong(format!("group '{name}' without a row"), "values with rows");
        }
    }
    let mut seen = BTreeSet::new();
    match texts(codes, groups).find(|(text, _)| !seen.insert(*text)) {
        Some((twice, _)) => wrong(format!("'{twice}' twice"), "each value in one group or code"),
        None => Ok(()),
    }
}

/// A group as written in a schema.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGroup {
    code: Value,
    values: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    labels: Option<Vec<String>>,
    /// One row each by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    rows: Option<Vec<u32>>,
}

impl RawGroup {
    /// Reads the written form. `at` names the column in errors.
    ///
    /// # Errors
    /// A code that the column does not have, or labels or rows that are not as many as the values.
    pub(super) fn check(self, at: &str, codes: &[String]) -> Result<Group> {
        let at = format!("{at}, 'groups'");
        let name = code_text(&at, &self.code)?;
        let code = codes.iter().position(|code| *code == name);
        let wrong = |found: String, expected: &str| {
            Error::invalid_specification(at.clone(), format!("{found} of '{name}'"), expected)
        };
        let code = code.and_then(|at| u32::try_from(at).ok()).ok_or_else(|| {
            Error::invalid_specification(at.clone(), format!("code '{name}'"), "one of the codes")
        })?;
        let count = self.values.len();
        if let Some(labels) = self.labels.as_ref().filter(|labels| labels.len() != count) {
            return Err(wrong(format!("{} labels", labels.len()), "one for each value"));
        }
        if let Some(rows) = self.rows.as_ref().filter(|rows| rows.len() != count) {
            return Err(wrong(format!("{} rows", rows.len()), "a number for each value"));
        }
        let mut labels = self.labels.into_iter().flatten();
        let mut rows = self.rows.into_iter().flatten();
        let value = |text: &Value| {
            let text = code_text(&at, text)?;
            Ok(GroupValue { text, label: labels.next(), rows: rows.next().unwrap_or(1) })
        };
        Ok(Group { code, values: self.values.iter().map(value).collect::<Result<_>>()? })
    }

    /// The written form.
    pub(super) fn of(group: &Group, codes: &[String]) -> Self {
        let values = &group.values;
        let name = codes.get(group.code as usize).cloned().unwrap_or_default();
        let are_labeled = values.iter().any(|value| value.label.is_some());
        let label = |value: &GroupValue| value.label.clone().unwrap_or_else(|| value.text.clone());
        let are_even = values.iter().all(|value| value.rows == 1);
        Self {
            code: Value::String(name),
            values: values.iter().map(|value| Value::String(value.text.clone())).collect(),
            labels: are_labeled.then(|| values.iter().map(label).collect()),
            rows: (!are_even).then(|| values.iter().map(|value| value.rows).collect()),
        }
    }
}
