//! A support with groups in a model file.

use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::model::Distribution;
use crate::model::file::Reading;
use crate::model::stored_support::{StoredColumn, columns_of, rows_of};
use crate::model::{Group, GroupedSupport, Model, WeightedSupport};

/// Records column by column, lists of weights for them, and the groups that have these.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StoredGroups {
    /// Names of the group attributes, outermost first.
    attributes: Vec<String>,
    columns: Vec<StoredColumn>,
    #[serde(serialize_with = "write_lists", deserialize_with = "read_lists")]
    weights: Vec<Arc<Vec<f64>>>,
    groups: Vec<StoredGroup>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredGroup {
    codes: Vec<u32>,
    size: f64,
    /// Position in the lists of weights; groups may share one.
    weights: usize,
}

/// The model, once all sizes fit.
pub(super) fn read(value: &RawValue, reading: Reading<'_>) -> Result<Model> {
    let stored: StoredGroups = reading.parse(value)?;
    Ok(stored.check(reading)?.into())
}

impl StoredGroups {
    pub(super) fn new(model: &GroupedSupport) -> Self {
        let mut weights: Vec<Arc<Vec<f64>>> = Vec::new();
        let mut groups = Vec::with_capacity(model.groups().len());
        for Group { codes, size, weights: own } in model.groups() {
            let known = weights.iter().position(|list| Arc::ptr_eq(list, own));
            let position = known.unwrap_or_else(|| {
                weights.push(Arc::clone(own));
                weights.len() - 1
            });
            groups.push(StoredGroup { codes: codes.clone(), size: *size, weights: position });
        }
        let names = model.group_attributes().iter().map(|a| model.domain().name(*a).to_owned());
        Self { attributes: names.collect(), columns: columns_of(model.rows()), weights, groups }
    }

    /// The model, once all sizes fit. `total`: the required sum of the sizes of the groups.
    ///
    /// # Errors
    /// Attributes that are not those of the schema; columns or weights of wrong length; more than the limits; codes
    /// that the schema does not have; records out of order, repeated or forbidden; a forbidden group; or as
    /// [`GroupedSupport::new`].
    fn check(
        self,
        Reading { domain, total, place, limits, .. }: Reading<'_>,
    ) -> Result<GroupedSupport> {
        let wrong =
            |found: String, expected: &str| Error::invalid_specification(place, found, expected);
        let own = if self.attributes.is_empty() {
            Clique::default()
        } else {
            domain.clique(&self.attributes)?
        };
        let others = domain.everything().difference(&own);
        for zero in domain.structural_zeros() {
            if !zero.clique().is_subset(&own) && !zero.clique().is_subset(&others) {
                let found = format!("forbidden combinations on {}", domain.describe(zero.clique()));
                return Err(wrong(found, "none of a group attribute with another"));
            }
        }
        let records = self.weights.first().map_or(0, |list| list.len());
        let lists = self.weights.len() as u64;
        let bytes = 8_u64.saturating_mul(lists).saturating_add(4 * self.columns.len() as u64);
        let mib = bytes.saturating_mul(records as u64) as f64 / f64::from(1 << 20);
        if mib > limits.model_mib {
            return Err(Error::too_large(
                format!("the model in {place}"),
                Some(mib),
                limits.model_mib,
                "MiB",
            ));
        }
        let rows = rows_of(&domain.restricted(&others)?, self.columns, records, place)?;
        let even = WeightedSupport::new(&rows, vec![1.0; records], 1.0)?;
        if *even.rows() != rows {
            let found = "records out of order, repeated, or forbidden by the schema".to_owned();
            return Err(wrong(found, "distinct records in the order of their codes"));
        }
        let attributes: Vec<usize> =
            self.attributes.iter().filter_map(|name| domain.position(name)).collect();
        let mut groups = Vec::with_capacity(self.groups.len());
        for StoredGroup { codes, size, weights } in self.groups {
            let list = self.weights.get(weights).ok_or_else(|| {
                wrong(format!("weights {weights}"), "the position of a list of weights")
            })?;
            let code = |a: usize| {
                let level = attributes.iter().position(|own| *own == a);
                level.and_then(|level| codes.get(level)).copied().unwrap_or(0)
            };
            let mut zeros = domain.structural_zeros().iter();
            if zeros.any(|zero| zero.clique().is_subset(&own) && zero.forbids(domain, code)) {
                return Err(wrong(format!("group {codes:?}"), "one that the schema allows"));
            }
            groups.push(Group { codes, size, weights: Arc::clone(list) });
        }
        let model = GroupedSupport::new(domain, &attributes, rows, groups)?;
        if (model.total() - total).abs() > 1e-9 * total.abs() {
            let found = format!("a total of {total}");
            return Err(wrong(found, "the sum of the sizes of all groups"));
        }
        Ok(model)
    }
}

fn write_lists<S: Serializer>(
    lists: &[Arc<Vec<f64>>],
    serializer: S,
) -> std::result::Result<S::Ok, S::Error> {
    let mut sequence = serializer.serialize_seq(Some(lists.len()))?;
    for list in lists {
        sequence.serialize_element(list.as_slice())?;
    }
    sequence.end()
}

fn read_lists<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> std::result::Result<Vec<Arc<Vec<f64>>>, D::Error> {
    let lists = Vec::<Vec<f64>>::deserialize(deserializer)?;
    Ok(lists.into_iter().map(Arc::new).collect())
}

#[cfg(test)]
mod tests;
