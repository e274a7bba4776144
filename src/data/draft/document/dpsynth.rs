//! The `domain.yaml` of dpsynth.

use std::path::Path;

use super::{DescribedTable, wrong};
use crate::error::Result;

#[cfg(feature = "yaml")]
pub(super) fn read(path: &Path) -> Result<DescribedTable> {
    with_yaml::read(path)
}

#[cfg(not(feature = "yaml"))]
pub(super) fn read(path: &Path) -> Result<DescribedTable> {
    Err(wrong(path, "", "a YAML file", "a build with the feature 'yaml'"))
}

#[cfg(feature = "yaml")]
mod with_yaml {
    use std::collections::BTreeMap;

    use serde::Deserialize;
    use serde_json::Value;

    use super::super::range::Range;
    use super::super::{DescribedColumn, Values};
    use super::{DescribedTable, Path, Result, wrong};
    use crate::data::read_text;

    const FORM: &str = "attributes with 'possible_values', or with 'min_value' and 'max_value'";

    /// One attribute; which of its kinds it is shows in its members, as dpsynth reads it.
    #[derive(Deserialize)]
    struct Attribute {
        description: Option<String>,
        possible_values: Option<Vec<Value>>,
        out_of_domain_index: Option<usize>,
        min_value: Option<f64>,
        max_value: Option<f64>,
        clip_to_range: Option<bool>,
        dtype: Option<String>,
    }

    pub(super) fn read(path: &Path) -> Result<DescribedTable> {
        let text = read_text(path)?;
        let attributes: BTreeMap<String, Option<Attribute>> = serde_saphyr::from_str(&text)
            .map_err(|error| wrong(path, "", error.to_string(), FORM))?;
        let mut found = DescribedTable::default();
        for (name, attribute) in attributes {
            let at = format!("attribute '{name}'");
            let column = match attribute {
                None => DescribedColumn::new(&name, None, false, Values::Unknown(OPEN))?,
                Some(attribute) => {
                    let values = attribute.values(path, &at)?;
                    DescribedColumn::new(&name, attribute.description.as_deref(), false, values)?
                }
            };
            found.columns.push(column);
        }
        Ok(found)
    }

    /// dpsynth finds the values of such an attribute in the private rows; a schema cannot.
    const OPEN: &str = "no list of values, or free text";

    impl Attribute {
        fn values(&self, path: &Path, at: &str) -> Result<Values> {
            if let Some(values) = &self.possible_values {
                let code = |value: &Value| {
                    let text = match value {
                        // As Python writes it into a table.
                        Value::Bool(true) => Some("True".to_owned()),
                        Value::Bool(false) => Some("False".to_owned()),
                        value => super::super::text_of(value),
                    };
                    Ok((text.ok_or_else(|| wrong(path, at, value.to_string(), FORM))?, None))
                };
                let other = self.out_of_domain_index.unwrap_or(0);
                return Ok(Values::Codes(
                    values.iter().map(code).collect::<Result<_>>()?,
                    Some(other),
                ));
            }
            match (self.min_value, self.max_value) {
                (Some(low), Some(high)) if low <= high && (high - low).is_finite() => {
                    let is_int = self.dtype.as_deref() == Some("int");
                    let (low, high) = if is_int { (low.ceil(), high.floor()) } else { (low, high) };
                    let clamp = self.clip_to_range.unwrap_or(true);
                    Ok(Values::Range(Range { whole: is_int, clamp, ..Range::between(low, high) }))
                }
                (None, None) => Ok(Values::Unknown(OPEN)),
                (low, high) => Err(wrong(
                    path,
                    at,
                    format!("min_value {low:?}, max_value {high:?}"),
                    "an increasing range",
                )),
            }
        }
    }
}
