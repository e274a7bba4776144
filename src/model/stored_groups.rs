//! A support with groups in a model file.

use std::sync::Arc;

use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::domain::Clique;
use crate::error::{Error, Result};
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
        Reading { domain, total, place, limits }: Reading<'_>,
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
            return Err(Error::TooLarge {
                what: format!("the model in {place}"),
                needed: format!("{mib:.0} MiB"),
                limit: format!("{} MiB", limits.model_mib),
            });
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
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::domain::Schema;
    use crate::model::{ModelFile, ModelLimits};

    fn file() -> ModelFile {
        let json = r#"{"b": 3, "puma": 3, "a": 2, "state": 2}"#;
        let schema = Schema::from_json(json, "d").expect("a schema");
        let own = schema.domain().restricted(&Clique::new([0, 2])).expect("a domain");
        let rows = Dataset::from_rows(own, &[[0, 0], [0, 1], [2, 1]]).expect("rows");
        let shared = Arc::new(vec![1.0 / 3.0, 0.0, 1e-300]);
        let group = |codes: [u32; 2], size, weights: &Arc<Vec<f64>>| Group {
            codes: codes.to_vec(),
            size,
            weights: Arc::clone(weights),
        };
        let groups = vec![
            group([0, 1], 30.25, &shared),
            group([0, 0], 0.0, &shared),
            group([1, 2], 20.5, &Arc::new(vec![0.1, 0.2, 0.7])),
        ];
        let model = GroupedSupport::new(&schema.domain(), &[3, 1], rows, groups).expect("a model");
        ModelFile {
            schema,
            model: model.into(),
            mechanism: "ide".into(),
            is_private: true,
            refined_on: Vec::new(),
        }
    }

    #[test]
    fn groups_come_back_to_the_last_bit_and_what_they_share_is_written_once() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        file().write(&path).expect("written");
        let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
        let groups = |file: &ModelFile| file.model.as_grouped_support().cloned();
        assert!(groups(&back).is_some() && back.is_private);
        assert_eq!(groups(&back), groups(&file()));
        let model = back.model.as_grouped_support().expect("groups");
        assert!(Arc::ptr_eq(&model.groups()[0].weights, &model.groups()[1].weights));
        let text = std::fs::read_to_string(&path).expect("read");
        assert_eq!(text.matches("1e-300").count(), 1);
        // Without group attributes there is one group of everyone.
        let schema = Schema::from_json(r#"{"a": 2}"#, "d").expect("a schema");
        let rows = Dataset::from_rows(schema.domain(), &[[1]]).expect("a row");
        let everyone = Group { codes: vec![], size: 5.0, weights: Arc::new(vec![1.0]) };
        let model = GroupedSupport::new(&schema.domain(), &[], rows, vec![everyone]);
        let model = model.expect("a model").into();
        let alone = ModelFile {
            schema,
            model,
            mechanism: "ide".into(),
            is_private: false,
            refined_on: Vec::new(),
        };
        alone.write(&path).expect("written");
        let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
        assert_eq!(groups(&back), groups(&alone));
    }

    #[test]
    fn groups_of_a_stranger_are_refused_with_a_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        file().write(&path).expect("written");
        let text = std::fs::read_to_string(&path).expect("read");
        let limits = ModelLimits::default();
        assert!(ModelFile::from_json(&text, "m", limits).is_ok());
        let small = ModelLimits { model_mib: 1e-5, ..limits };
        assert!(matches!(ModelFile::from_json(&text, "m", small), Err(Error::TooLarge { .. })));
        for (from, to, expected) in [
            ("\"version\":4", "\"version\":2", "'groups' in version 2"),
            ("\"total\":50.75", "\"total\":50", "sum of the sizes"),
            ("\"state\",\"puma\"", "\"state\"", "columns b, a"),
            ("\"state\",\"puma\"", "\"state\",\"state\"", "state"),
            ("\"state\",\"puma\"", "\"state\",\"county\"", "county"),
            ("[0,0,2]", "[0,2]", "2 codes of 'b'"),
            ("[0,0,2]", "[0,0,3]", "codes below 3"),
            ("[0,0,2]", "[2,0,0]", "out of order"),
            ("[0.1,0.2,0.7]", "[0.1,0.2]", "a weight a record"),
            ("[0.1,0.2,0.7]", "[0.1,-0.2,0.7]", "a weight a record"),
            ("\"size\":20.5,\"weights\":1", "\"size\":20.5,\"weights\":2", "weights 2"),
            ("\"codes\":[1,2]", "\"codes\":[1,3]", "codes of the group attributes"),
            ("\"codes\":[1,2]", "\"codes\":[0,1]", "a group twice"),
            ("\"codes\":[1,2]", "\"codes\":[1]", "codes of the group attributes"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = ModelFile::from_json(&changed, "m", limits).expect_err(to).to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
    }

    #[test]
    fn groups_and_records_that_the_schema_forbids_are_refused() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        let columns = ["b", "puma", "a", "state"].iter().zip([3, 3, 2, 2]);
        let columns = columns.map(|(name, size)| {
            format!(r#"{{"name": "{name}", "role": "attribute", "kind": "coded", "size": {size}}}"#)
        });
        let columns = columns.collect::<Vec<_>>().join(", ");
        let refused = |rule: &str, expected: &str| {
            let mut ruled = file();
            let json = format!(r#"{{"columns": [{columns}], "forbidden": [{rule}]}}"#);
            ruled.schema = Schema::from_json(&json, "d").expect("a schema with a rule");
            ruled.write(&path).expect("written");
            let error = ModelFile::read(&path, ModelLimits::default()).expect_err(expected);
            assert!(error.to_string().contains(expected), "{error}");
        };
        refused(r#"{"state": "1", "puma": "2"}"#, "one that the schema allows");
        refused(r#"{"a": "1", "b": "2"}"#, "forbidden by the schema");
        refused(r#"{"a": "1", "state": "1"}"#, "none of a group attribute");
    }
}
