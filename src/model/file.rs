//! Models in files: versioned, documented in `docs/guide/model-file.md`, and safe to read from a stranger.

use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::data::write_atomically;
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Error, Result};
use crate::graph::{self, JunctionTree};
use crate::model::stored_groups::StoredGroups;
use crate::model::stored_support::StoredSupport;
use crate::model::{MarkovRandomField, Model};
use crate::table::{CliqueLayout, Potentials};

/// What a file's first field says.
const FORMAT: &str = "jointly-model";
/// Version of a file with factors, of one with a weighted support, and of one with groups.
const FACTORS: u32 = 1;
const SUPPORT: u32 = 2;
const GROUPS: u32 = 3;

/// A model with the schema that turns its codes into records.
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// Attributes and their codes.
    pub schema: Schema,
    /// The distribution.
    pub model: Model,
    /// Name of the mechanism that made it.
    pub mechanism: String,
    /// False when the noise came from a fixed seed: then nothing is private.
    pub is_private: bool,
}

/// How large a file may be before it is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelLimits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Model size in MiB: 8 bytes a cell of every maximal clique, which is what answering and sampling must walk over; or
    /// of the records of a support, at 4 bytes a code and 8 a weight, of each group's.
    pub model_mib: f64,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, model_mib: 4096.0 }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    format: String,
    version: u32,
    mechanism: String,
    private: bool,
    total: f64,
    schema: Schema,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    factors: Option<Vec<StoredFactor>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    support: Option<StoredSupport>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    groups: Option<StoredGroups>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredFactor {
    attributes: Vec<String>,
    /// Log-potentials, row-major; null forbids a cell.
    potentials: Vec<Option<f64>>,
}

impl ModelFile {
    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let (version, factors, support, groups) = match &self.model {
            Model::MarkovRandomField(model) => (FACTORS, Some(factors(model)), None, None),
            Model::WeightedSupport(model) => (SUPPORT, None, Some(StoredSupport::new(model)), None),
            Model::GroupedSupport(model) => (GROUPS, None, None, Some(StoredGroups::new(model))),
        };
        let stored = Stored {
            format: FORMAT.into(),
            version,
            mechanism: self.mechanism.clone(),
            private: self.is_private,
            total: self.model.total(),
            schema: self.schema.clone(),
            factors,
            support,
            groups,
        };
        write_atomically(path, |out| {
            serde_json::to_writer(out, &stored).map_err(|error| Error::Io {
                action: "write",
                path: path.to_owned(),
                source: error.into(),
            })
        })
    }

    /// Reads a file. Sizes are checked first: of the file before it is read, of every table against its attributes, and
    /// of the whole model before anything is computed.
    ///
    /// # Errors
    /// A file that cannot be read, is larger than the limits, is no model, is of a newer version, or contradicts itself.
    pub fn read(path: &Path, limits: ModelLimits) -> Result<Self> {
        let io = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let bytes = fs::metadata(path).map_err(io)?.len();
        let place = path.display().to_string();
        if bytes > limits.file_bytes {
            return Err(Error::TooLarge {
                what: format!("the model file {place}"),
                needed: format!("{bytes} bytes"),
                limit: format!("{} bytes", limits.file_bytes),
            });
        }
        let text = fs::read_to_string(path).map_err(io)?;
        Self::from_json(&text, &place, limits)
    }

    /// Reads the text of a file; `place` stands for the file in errors.
    ///
    /// # Errors
    /// As [`ModelFile::read`].
    pub fn from_json(text: &str, place: &str, limits: ModelLimits) -> Result<Self> {
        let wrong =
            |found: String, expected: &str| Error::invalid_specification(place, found, expected);
        let kind: Kind = serde_json::from_str(text)
            .map_err(|error| wrong(format!("no model ({error})"), "a model of this program"))?;
        if kind.format != FORMAT {
            return Err(wrong(format!("format '{}'", kind.format), FORMAT));
        }
        if ![FACTORS, SUPPORT, GROUPS].contains(&kind.version) {
            return Err(wrong(format!("version {}", kind.version), "version 1, 2 or 3"));
        }
        let expected = format!("the fields of a model, version {}", kind.version);
        let stored: Stored =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string(), &expected))?;
        let Stored { schema, total, mechanism, private: is_private, .. } = stored;
        let domain = schema.domain();
        let model = match (kind.version, stored.factors, stored.support, stored.groups) {
            (FACTORS, Some(factors), None, None) => {
                read_factors(&domain, &factors, total, place, limits)?.into()
            }
            (SUPPORT, None, Some(support), None) => {
                support.check(&domain, total, place, limits)?.into()
            }
            (GROUPS, None, None, Some(groups)) => {
                groups.check(&domain, total, place, limits)?.into()
            }
            _ => {
                let found = "not exactly one of 'factors', 'support' and 'groups'".to_owned();
                let expected =
                    "'factors' in version 1, 'support' in version 2, 'groups' in version 3";
                return Err(wrong(found, expected));
            }
        };
        Ok(Self { schema, model, mechanism, is_private })
    }
}

/// The tables of a graphical model.
fn factors(model: &MarkovRandomField) -> Vec<StoredFactor> {
    let (domain, potentials) = (model.domain(), model.potentials());
    let cliques = potentials.layout().cliques().iter().enumerate();
    let factor = |(index, clique): (usize, &Clique)| StoredFactor {
        attributes: clique.iter().map(|a| domain.name(a).to_owned()).collect(),
        potentials: potentials.table(index).iter().map(|x| x.is_finite().then_some(*x)).collect(),
    };
    cliques.map(factor).collect()
}

/// A graphical model, once all sizes fit.
fn read_factors(
    domain: &Domain,
    factors: &[StoredFactor],
    total: f64,
    place: &str,
    limits: ModelLimits,
) -> Result<MarkovRandomField> {
    let mut cliques: Vec<Clique> = Vec::with_capacity(factors.len());
    for factor in factors {
        let clique = domain.clique(&factor.attributes)?;
        let names: Vec<&str> = clique.iter().map(|a| domain.name(a)).collect();
        if names != factor.attributes || cliques.contains(&clique) {
            let found = format!("a factor over {}", factor.attributes.join(", "));
            let expected = "distinct cliques in the schema's order";
            return Err(Error::invalid_specification(place, found, expected));
        }
        if domain.cells(&clique) != Some(factor.potentials.len() as u64) {
            return Err(Error::ShapeMismatch {
                clique: domain.describe(&clique),
                expected: domain.shape(&clique).iter().fold(1, |n, k| n.saturating_mul(*k)),
                found: factor.potentials.len(),
            });
        }
        cliques.push(clique);
    }
    let cells = JunctionTree::new(domain, &cliques).cells();
    if cells > graph::cells_within_mib(limits.model_mib) {
        return Err(Error::TooLarge {
            what: format!("the model in {place}"),
            needed: format!("{:.0} MiB", graph::size_mib(cells)),
            limit: format!("{} MiB", limits.model_mib),
        });
    }
    let layout = CliqueLayout::new(domain, cliques)?;
    let mut potentials = Potentials::zeros(&layout);
    for (index, factor) in factors.iter().enumerate() {
        let table = potentials.table_mut(index).iter_mut().zip(&factor.potentials);
        table.for_each(|(x, p)| *x = p.unwrap_or(f64::NEG_INFINITY));
    }
    MarkovRandomField::new(domain, potentials, total)
}

/// What every version of the file has.
#[derive(Deserialize)]
struct Kind {
    format: String,
    version: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Dataset;
    use crate::model::WeightedSupport;

    fn file() -> ModelFile {
        let schema = Schema::from_json(r#"{"a": 2, "b": 3, "c": 4}"#, "d").expect("a schema");
        let domain: Domain = schema.domain();
        let layout =
            CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([2])]).expect("a layout");
        let mut theta = Potentials::zeros(&layout);
        for (i, x) in theta.values_mut().iter_mut().enumerate() {
            *x = (i as f64).sin() / 3.0;
        }
        theta.table_mut(0)[2] = f64::NEG_INFINITY;
        let model = MarkovRandomField::new(&domain, theta, 77.5).expect("a model");
        ModelFile { schema, model: model.into(), mechanism: "jam-pgm".into(), is_private: true }
    }

    fn support() -> ModelFile {
        let schema = Schema::from_json(r#"{"a": 2, "b": 3, "c": 4}"#, "d").expect("a schema");
        let rows = [[0, 1, 2], [1, 1, 3], [1, 2, 0]];
        let rows = Dataset::from_rows(schema.domain(), &rows).expect("rows");
        let weights = vec![1.0 / 3.0, 0.0, 1e-300];
        let model = WeightedSupport::new(&rows, weights, 77.5).expect("a model");
        ModelFile { schema, model: model.into(), mechanism: "pmw-pub".into(), is_private: false }
    }

    #[test]
    fn a_support_comes_back_to_the_last_bit_and_a_wrong_one_is_refused_with_a_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        support().write(&path).expect("written");
        let text = fs::read_to_string(&path).expect("read");
        let limits = ModelLimits::default();
        let back = ModelFile::from_json(&text, "m", limits).expect("read");
        let known = support();
        assert_eq!(back.model.as_weighted_support(), known.model.as_weighted_support());
        let small = ModelLimits { model_mib: 1e-5, ..limits };
        assert!(matches!(ModelFile::from_json(&text, "m", small), Err(Error::TooLarge { .. })));
        for (from, to, expected) in [
            ("\"version\":2", "\"version\":4", "version 4"),
            ("\"version\":2", "\"version\":1", "'factors' in version 1"),
            ("\"support\":", "\"factors\":[],\"support\":", "exactly one"),
            ("\"total\":77.5", "\"total\":0", "total"),
            ("\"attribute\":\"a\"", "\"attribute\":\"z\"", "columns z"),
            ("[0,1,1]", "[0,1]", "2 codes of 'a'"),
            ("[0,1,1]", "[0,1,2]", "codes below 2"),
            ("[0,1,1]", "[1,0,1]", "out of order"),
            ("[2,3,0]", "[2,-3,0]", "-3"),
            ("1e-300", "-1e-300", "at least 0"),
            ("1e-300", "null", "null"),
        ] {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = ModelFile::from_json(&changed, "m", limits).expect_err(to).to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
        let mut schema = text.clone();
        schema = schema.replace("[1,1,2]", "[1,1,1]").replace("[2,3,0]", "[2,3,3]");
        let error = ModelFile::from_json(&schema, "m", limits).expect_err("twice").to_string();
        assert!(error.contains("repeated"), "{error}");
    }

    #[test]
    fn a_model_comes_back_to_the_last_bit() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        let file = file();
        file.write(&path).expect("written");
        let back = ModelFile::read(&path, ModelLimits::default()).expect("read");
        let potentials = |file: &ModelFile| {
            file.model.as_markov_random_field().map(|model| model.potentials().clone())
        };
        assert!(potentials(&back).is_some());
        assert_eq!(potentials(&back), potentials(&file));
        assert!((back.model.total() - 77.5).abs() < f64::EPSILON);
        assert!(back.is_private);
        let tight = ModelLimits { file_bytes: 10, ..ModelLimits::default() };
        assert!(matches!(ModelFile::read(&path, tight), Err(Error::TooLarge { .. })));
        let small = ModelLimits { model_mib: 1e-5, ..ModelLimits::default() };
        assert!(matches!(ModelFile::read(&path, small), Err(Error::TooLarge { .. })));
    }

    #[test]
    fn a_stranger_s_file_is_refused_with_a_reason() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("model.json");
        file().write(&path).expect("written");
        let text = fs::read_to_string(&path).expect("read");
        let read = |text: &str| ModelFile::from_json(text, "m", ModelLimits::default());
        assert!(read(&text).is_ok());
        let changes = [
            ("\"version\":1", "\"version\":2", "'support' in version 2"),
            ("\"version\":1", "\"version\":7", "version 7"),
            ("jointly-model", "other", "format 'other'"),
            ("\"total\":77.5", "\"total\":-1", "total"),
            ("\"total\":77.5", "\"total\":1e999", ""),
            ("[\"a\",\"b\"]", "[\"b\",\"a\"]", "distinct cliques"),
            ("[\"a\",\"b\"]", "[\"a\",\"c\"]", "cells"),
            ("[\"a\",\"b\"]", "[\"a\",\"z\"]", "unknown attribute"),
            ("\"private\":true", "\"private\":true,\"more\":1", "more"),
        ];
        for (from, to, expected) in changes {
            let changed = text.replace(from, to);
            assert_ne!(changed, text, "{from}");
            let error = read(&changed).expect_err(to).to_string();
            assert!(error.contains(expected), "{to}: {error}");
        }
        for end in [0, 1, text.len() / 2, text.len() - 1] {
            assert!(read(&text[..end]).is_err());
        }
    }
}
