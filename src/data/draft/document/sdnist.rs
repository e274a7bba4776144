//! `data_dictionary.json` of SDNist, and the schemas of its targets.
//!
//! A dictionary has `{"AGEP": {"description": …, "values": {"min": 0, "max": 99}}, "SEX": {"values": {"1": "Male"}}}`; a
//! target's schema `{"schema": {"SEX": {"values": [1, 2], "dtype": "int64", "has_null": true, "null_value": -1}}}`. The
//! value `N` is a missing one.

use std::path::Path;

use serde_json::{Map, Value};

use super::range::Range;
use super::{DescribedColumn, DescribedTable, Values, text_of, wrong};
use crate::data::read_text;
use crate::error::{Error, Result};

/// The code of a missing value in the excerpts.
const MISSING: &str = "N";

const FORM: &str =
    "a data dictionary of SDNist: {\"AGEP\": {\"values\": {\"min\": 0, \"max\": 99}}, ...}";

pub(super) fn read(path: &Path) -> Result<DescribedTable> {
    let text = read_text(path)?;
    let name = path.display().to_string();
    let whole: Map<String, Value> = serde_json::from_str(&text)
        .map_err(|error| Error::wrong_json(&name, &error, true, FORM))?;
    let columns = match whole.get("schema") {
        Some(Value::Object(schema)) => schema,
        _ => &whole,
    };
    let mut found = DescribedTable::default();
    for (name, entry) in columns {
        let at = format!("column '{name}'");
        let Value::Object(entry) = entry else {
            return Err(wrong(path, &at, "no object", FORM));
        };
        let description = entry.get("description").and_then(Value::as_str);
        let null = entry.get("null_value").and_then(text_of);
        let mut missing = entry.get("has_null").and_then(Value::as_bool) == Some(true);
        let values = match entry.get("values") {
            Some(Value::Array(codes)) => {
                let codes = codes.iter().map(|code| {
                    let text = text_of(code)
                        .ok_or_else(|| wrong(path, &at, "a code that is no text", FORM));
                    Ok((text?, None))
                });
                let mut codes = codes.collect::<Result<Vec<_>>>()?;
                codes.retain(|(code, _)| Some(code) != null.as_ref());
                Values::Codes(codes, None)
            }
            Some(Value::Object(values)) => {
                missing |= values.contains_key(MISSING);
                of_values(path, &at, values)?
            }
            _ => Values::Unknown("no list of values"),
        };
        let mark = null.unwrap_or_else(|| MISSING.to_owned());
        if missing && !found.missing.contains(&mark) {
            found.missing.push(mark);
        }
        let meaning = entry.get("values").and_then(|values| values.get(MISSING)?.as_str());
        let not_applicable = meaning.map(str::to_owned);
        let column = DescribedColumn::new(name, description, missing, values)?;
        found.columns.push(DescribedColumn { not_applicable, ..column });
    }
    Ok(found)
}

/// Codes with labels, or a range with codes of their own beside it.
fn of_values(path: &Path, at: &str, values: &Map<String, Value>) -> Result<Values> {
    let end = |name: &str| values.get(name).map(|end| (end, end.as_f64()));
    let (low, high) = match (end("min"), end("max")) {
        (None, None) => {
            let codes = values.iter().filter(|(code, _)| *code != MISSING);
            let label = |label: &Value| label.as_str().map(Into::into);
            let codes: Vec<_> = codes.map(|(code, text)| (code.clone(), label(text))).collect();
            return Ok(if codes.is_empty() {
                Values::Unknown("no list of values")
            } else {
                Values::Codes(codes, None)
            });
        }
        (Some((_, Some(low))), Some((_, Some(high)))) if low <= high => (low, high),
        (low, high) => {
            let text =
                |end: Option<(&Value, _)>| end.map_or("none".into(), |(end, _)| end.to_string());
            let found = format!("min {}, max {}", text(low), text(high));
            return Err(wrong(path, at, found, "a range of numbers"));
        }
    };
    let others =
        values.keys().filter(|key| !["min", "max", "step_size", MISSING].contains(&key.as_str()));
    let Ok(singles) = others.map(|code| code.parse()).collect::<std::result::Result<Vec<f64>, _>>()
    else {
        return Ok(Values::Unknown("texts among the numbers"));
    };
    Ok(Values::Range(Range { singles, ..Range::between(low, high) }))
}
