//! A Frictionless Table Schema, version 1 or 2.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;

use super::range::Range;
use super::{DescribedColumn, DescribedTable, Values, text_of, wrong};
use crate::data::read_text;
use crate::error::{Error, Result};

const FORM: &str = "a Table Schema with 'fields', or a Data Package with 'resources'";

/// A schema, or a package of tables with one each.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TableSchema {
    fields: Option<Vec<Field>>,
    missing_values: Option<Vec<MissingValue>>,
    resources: Option<Vec<Resource>>,
}

#[derive(Deserialize)]
struct Resource {
    name: Option<String>,
    schema: Option<Box<TableSchema>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Field {
    name: String,
    title: Option<String>,
    description: Option<String>,
    #[serde(rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    constraints: Constraints,
    categories: Option<Vec<MissingValue>>,
    missing_values: Option<Vec<MissingValue>>,
    true_values: Option<Vec<String>>,
    false_values: Option<Vec<String>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Constraints {
    required: bool,
    #[serde(rename = "enum")]
    values: Option<Vec<Value>>,
    minimum: Option<Value>,
    maximum: Option<Value>,
    exclusive_minimum: Option<Value>,
    exclusive_maximum: Option<Value>,
}

/// A value, in version 2 perhaps with a label.
#[derive(Deserialize)]
#[serde(untagged)]
enum MissingValue {
    Labelled { value: Value, label: Option<String> },
    Bare(Value),
}

impl MissingValue {
    fn parts(&self) -> (&Value, Option<&String>) {
        match self {
            Self::Labelled { value, label } => (value, label.as_ref()),
            Self::Bare(value) => (value, None),
        }
    }
}

pub(super) fn read(path: &Path) -> Result<DescribedTable> {
    let text = read_text(path)?;
    let name = path.display().to_string();
    let mut written: TableSchema = serde_json::from_str(&text)
        .map_err(|error| Error::wrong_json(&name, &error, true, FORM))?;
    if let Some(resources) = written.resources.take() {
        let names = resources.iter().map(|one| one.name.clone().unwrap_or_else(|| "?".into()));
        let found = format!("tables {}", names.collect::<Vec<_>>().join(", "));
        let mut schemas = resources.into_iter().filter_map(|one| one.schema);
        written = match (schemas.next(), schemas.next()) {
            (Some(only), None) => *only,
            _ => {
                return Err(wrong(
                    path,
                    "",
                    found,
                    "one table with a schema, or a file with its Table Schema",
                ));
            }
        };
    }
    let fields = written.fields.ok_or_else(|| wrong(path, "", "no 'fields'", FORM))?;
    let marks = |marks: &[MissingValue]| -> Vec<String> {
        marks.iter().filter_map(|mark| text_of(mark.parts().0)).collect()
    };
    // Empty text is missing unless the schema says otherwise.
    let common = written.missing_values.as_deref().map_or_else(|| vec![String::new()], marks);
    let mut found = DescribedTable { columns: Vec::new(), missing: common.clone() };
    for field in &fields {
        let own = field.missing_values.as_deref().map_or_else(|| common.clone(), marks);
        let missing = !field.constraints.required && !own.is_empty();
        let values = field.values(path)?;
        // A code that stands for a missing value is none.
        let values = match values {
            Values::Codes(mut codes, other) => {
                codes.retain(|(code, _)| !own.contains(code));
                Values::Codes(codes, other)
            }
            values => values,
        };
        for mark in own {
            if !found.missing.contains(&mark) {
                found.missing.push(mark);
            }
        }
        let description = field.description.as_deref().or(field.title.as_deref());
        found.columns.push(DescribedColumn::new(&field.name, description, missing, values)?);
    }
    Ok(found)
}

impl Field {
    fn values(&self, path: &Path) -> Result<Values> {
        let at = format!("field '{}'", self.name);
        let kind = self.kind.as_deref().unwrap_or("string");
        let listed = self.categories.as_ref().map(|categories| {
            categories.iter().map(|category| category.parts()).collect::<Vec<_>>()
        });
        let allowed = || {
            self.constraints
                .values
                .as_ref()
                .map(|codes| codes.iter().map(|code| (code, None)).collect())
        };
        if let Some(codes) = listed.or_else(allowed) {
            let code = |(code, label): &(&Value, Option<&String>)| {
                let text = text_of(code).ok_or_else(|| {
                    wrong(path, &at, code.to_string(), "texts or numbers as categories")
                });
                Ok((text?, label.cloned()))
            };
            return Ok(Values::Codes(codes.iter().map(code).collect::<Result<_>>()?, None));
        }
        match kind {
            "boolean" => {
                let first = |values: &Option<Vec<String>>, default: &str| {
                    let first = values.as_ref().and_then(|values| values.first()).cloned();
                    (first.unwrap_or_else(|| default.to_owned()), None)
                };
                Ok(Values::Codes(
                    vec![first(&self.false_values, "false"), first(&self.true_values, "true")],
                    None,
                ))
            }
            "integer" | "number" | "year" => self.range(path, &at, kind != "number"),
            "date" | "datetime" => Ok(Values::Unknown("dates without bins")),
            _ => Ok(Values::Unknown("no list of categories ('enum' or 'categories')")),
        }
    }

    /// The numbers between the bounds.
    fn range(&self, path: &Path, at: &str, whole: bool) -> Result<Values> {
        let number = |value: &Option<Value>| -> Result<Option<f64>> {
            let Some(value) = value else { return Ok(None) };
            let read =
                value.as_f64().or_else(|| value.as_str().and_then(|text| text.trim().parse().ok()));
            let read = read.filter(|number: &f64| number.is_finite());
            read.map(Some).ok_or_else(|| wrong(path, at, value.to_string(), "a number as bound"))
        };
        let Constraints { minimum, maximum, exclusive_minimum, exclusive_maximum, .. } =
            &self.constraints;
        let inner = if whole { 1.0 } else { 0.0 };
        let low = number(minimum)?.or(number(exclusive_minimum)?.map(|low| low + inner));
        let high = number(maximum)?.or(number(exclusive_maximum)?.map(|high| high - inner));
        match (low, high) {
            (Some(low), Some(high)) if low <= high => {
                let (low, high) = if whole { (low.ceil(), high.floor()) } else { (low, high) };
                Ok(Values::Range(Range { whole, ..Range::between(low, high) }))
            }
            (Some(low), Some(high)) => {
                Err(wrong(path, at, format!("a range from {low} to {high}"), "an increasing one"))
            }
            _ => Ok(Values::Unknown("a number without both bounds ('minimum' and 'maximum')")),
        }
    }
}
