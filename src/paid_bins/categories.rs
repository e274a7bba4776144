//! Categories by the private rows: the values of a column that its schema does not list.

use std::collections::BTreeMap;

use crate::data::{RowSource, read_unlisted};
use crate::domain::Schema;
use crate::error::{CommonError, Error, Result};
use crate::privacy::{Curator, Delta, NoisyValues, PrivacyUnit, Sensitive};

/// Part of the remaining δ that is left, so that sums rounded up stay within the limit: 2⁻⁴⁰.
const LEFT: f64 = 1.0 / (1_u64 << 40) as f64;

/// Columns of a schema whose categories are found in the private rows: those that many records have. A column states its
/// known codes, if there are any, and a code `other` for all texts that are not listed; the rare ones stay there.
///
/// The cost of a column is that of one marginal, and a probability δ that a value of a single record is named
/// ([`Curator::measure_unlisted`]).
///
/// ```
/// use jointly::data::read_private_csv;
/// use jointly::paid_bins::PaidCategories;
/// use jointly::{Budget, NoiseSeed, Schema, privacy::PrivacyUnit};
///
/// let text = r#"{"columns": [{"name": "job", "kind": "categorical", "codes": ["other"], "other": "other"}]}"#;
/// let schema = Schema::from_json(text, "schema.json")?;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("people.csv");
/// // 600 nurses, 400 cooks, and a single clown.
/// std::fs::write(&path, "job\n".to_owned() + &"nurse\n".repeat(600) + &"cook\n".repeat(400) + "clown\n")?;
///
/// let (unit, categories) = (PrivacyUnit::default(), PaidCategories::new(&schema, &["job"])?);
/// let table = read_private_csv(&path, &schema, &unit)?;
/// let budget = Budget::approximate(1.0, 1e-6)?.with_threshold_delta(5e-7)?;
/// let mut curator = table.curator(Some(budget), NoiseSeed::System, None)?;
/// let found = categories.run(&mut curator, categories.read(&unit, &path)?)?;
/// let schema = categories.add(&schema, &found)?;
/// assert!(schema.to_json()?.contains(r#""codes": [
///         "cook", "nurse", "other""#));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct PaidCategories {
    schema: Schema,
    columns: Vec<String>,
}

impl PaidCategories {
    /// Finds the categories of these columns.
    ///
    /// # Errors
    /// No column, a column twice, one that is not a categorical attribute with a code `other`, or one that a rule of
    /// impossible combinations names: the rule would say nothing about the values found.
    pub fn new<S: AsRef<str>>(schema: &Schema, names: &[S]) -> Result<Self> {
        let place = "columns to find categories of";
        let mut columns: Vec<String> = Vec::new();
        for name in names.iter().map(AsRef::as_ref) {
            schema.with_other(name)?;
            let domain = schema.domain();
            let position = domain.position(name);
            let mut rules = domain.structural_zeros().iter();
            if rules.any(|rule| rule.clique().iter().any(|a| Some(a) == position)) {
                let (found, expected) = ("a column of a rule", "one that no rule names");
                return Err(Error::invalid_specification(
                    format!("{place}, '{name}'"),
                    found,
                    expected,
                ));
            }
            if columns.iter().any(|known| known == name) {
                return Err(CommonError::DuplicateAttribute {
                    name: name.into(),
                    place: place.into(),
                }
                .into());
            }
            columns.push(name.to_owned());
        }
        if columns.is_empty() {
            return Err(Error::invalid_specification(place, "none", "at least one"));
        }
        Ok(Self { schema: schema.clone(), columns })
    }

    /// The names of the columns.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.columns.iter().map(String::as_str)
    }

    /// Counts the values in a private table, sealed, as [`read_unlisted`] does.
    ///
    /// # Errors
    /// As there.
    pub fn read<'a>(
        &self,
        unit: &PrivacyUnit,
        private: impl Into<RowSource<'a>>,
    ) -> Result<Vec<Sensitive<BTreeMap<String, u32>>>> {
        read_unlisted(private, &self.schema, &self.columns, unit)
    }

    /// Spends all of a curator's remaining budget, and all of its δ for thresholds, in equal parts on the columns.
    ///
    /// # Errors
    /// Values of other columns, a budget without δ for thresholds or too small for noise.
    pub fn run(
        &self,
        curator: &mut Curator<'_>,
        values: Vec<Sensitive<BTreeMap<String, u32>>>,
    ) -> Result<Vec<NoisyValues>> {
        if values.len() != self.columns.len() {
            let found = format!("{} columns", values.len());
            let expected = format!("{}", self.columns.len());
            return Err(Error::invalid_specification("values to name", found, expected));
        }
        let mut found = Vec::with_capacity(values.len());
        for (name, values) in self.columns.iter().zip(values) {
            let left = (self.columns.len() - found.len()) as u64;
            let own = curator.remaining().split(1, left).unwrap_or_default().0;
            let delta = Delta::new(curator.remaining_delta() / left as f64 * (1.0 - LEFT))?;
            found.push(curator.measure_unlisted(name, values, own, delta)?);
        }
        Ok(found)
    }

    /// Adds the values found to the codes of a schema, in the order of their texts.
    ///
    /// # Errors
    /// A schema without these columns, or one that lists such a value already.
    pub fn add(&self, schema: &Schema, found: &[NoisyValues]) -> Result<Schema> {
        let mut schema = schema.clone();
        for column in found {
            let texts = column.values.iter().map(|(text, _)| text.as_str());
            schema = schema.with_codes(&column.column, texts)?;
        }
        Ok(schema)
    }
}

#[cfg(test)]
mod tests;
