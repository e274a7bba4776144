//! Models in files: versioned, documented in `docs/guide/model-file.md`, and safe to read from a stranger.

use std::fs;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

use crate::data::read_text;
use crate::data::{Units, write_durably};
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Error, Fact, Result};
use crate::model::digest::{self, DIGEST};
use crate::model::stored_accuracy::StoredAccuracy;
use crate::model::stored_units::StoredUnits;
use crate::model::{Accuracy, Evidence, FORMS, Model, Refinement};
use crate::query::Workload;

/// What a file's first member says.
const FORMAT: &str = "jointly-model";
/// Version of the files that are written. Those of version 6 say less about what was measured; earlier ones have no digest.
const VERSION: u32 = 7;
/// The first version that is read.
const OLDEST: u32 = 6;
/// The most records of a table of this program, and so the largest total.
const MOST_RECORDS: f64 = u32::MAX as f64;

/// A model with the schema that turns its codes into records.
///
/// ```
/// use jointly::{Schema, model::{Model, ModelFile, ModelLimits, WeightedSupport}};
/// let schema = Schema::from_json(r#"{"a": 2}"#, "domain.json")?;
/// let file = ModelFile {
///     model: Model::from(WeightedSupport::all_cells(&schema.domain(), 8.0)?),
///     schema,
///     refined_on: Vec::new(),
///     accuracy: None,
///     linked: None,
///     weight: None,
///     mechanism: "mine".into(),
///     is_private: false,
///     conditional_on: Vec::new(),
/// };
/// let again = ModelFile::from_json(&file.to_json()?, "model.json", ModelLimits::default())?;
/// assert_eq!(again.model.total(), 8.0);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct ModelFile {
    /// Attributes and their codes.
    pub schema: Schema,
    /// The distribution.
    pub model: Model,
    /// The cliques on which drawn records are refined, so that they are those of the release.
    pub refined_on: Vec<Clique>,
    /// What was measured, for intervals of single counts; `None` if the file does not say.
    pub accuracy: Option<Accuracy>,
    /// The units that drawn records are joined into ([`Model::link`]); `None` if rows do not stay together.
    pub linked: Option<Units>,
    /// The attribute with the survey weight in the sample, of a model of the population: records are written without it.
    pub weight: Option<String>,
    /// Name of the mechanism that made it.
    pub mechanism: String,
    /// False when the noise came from a fixed seed: then nothing is private.
    pub is_private: bool,
    /// Names of tables that were released without protection: the guarantee holds among private tables that share them.
    pub conditional_on: Vec<String>,
}

impl ModelFile {
    /// What refined records are brought near to, so that they are those of the release.
    pub fn refinement(&self) -> Refinement {
        Refinement { cliques: self.refined_on.clone(), unlikely: self.schema.avoided().to_vec() }
    }
}

/// How large a file may be before it is refused.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ModelLimits {
    /// Bytes of the file.
    pub file_bytes: u64,
    /// Model size in MiB: 8 bytes per cell of every maximal clique, which is what answering and sampling must walk over;
    /// or of the records of a support, at 4 bytes per code and 8 per weight, of each group's.
    pub model_mib: f64,
}

impl Default for ModelLimits {
    fn default() -> Self {
        Self { file_bytes: 1 << 30, model_mib: 4096.0 }
    }
}

/// The members of a file that are those of one kind of model.
#[derive(Debug)]
pub struct StoredForm {
    /// Name of the member that holds the numbers.
    member: &'static str,
    value: Box<RawValue>,
}

/// What it takes to read a form.
#[derive(Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) domain: &'a Domain,
    pub(super) total: f64,
    /// Stands for the file in errors.
    pub(super) place: &'a str,
    /// Name of the member that is read.
    pub(super) member: &'static str,
    pub(super) limits: ModelLimits,
}

/// A form of models in files.
pub(super) struct FileForm {
    /// Name of the member that holds the numbers.
    pub(super) member: &'static str,
    pub(super) read: fn(&RawValue, Reading<'_>) -> Result<Model>,
}

impl StoredForm {
    /// The numbers of a model under the name of its form.
    ///
    /// # Errors
    /// Numbers that JSON cannot hold.
    pub fn new(member: &'static str, value: &impl Serialize) -> Result<Self> {
        let value = to_raw_value(value).map_err(|error| {
            Error::invalid_specification(member, error.to_string(), "numbers that JSON can hold")
        })?;
        Ok(Self { member, value })
    }
}

impl Reading<'_> {
    /// A member of the file.
    pub(super) fn parse<T: DeserializeOwned>(&self, value: &RawValue) -> Result<T> {
        parse(value, self.place, self.member)
    }
}

fn parse<T: DeserializeOwned>(value: &RawValue, place: &str, member: &str) -> Result<T> {
    serde_json::from_str(value.get()).map_err(|error| {
        let form = "a model as in docs/guide/model-file.md";
        Error::wrong_json(&format!("{place}, member '{member}'"), &error, false, form)
    })
}

/// The members that every form has.
#[derive(Serialize)]
struct Header<'a> {
    format: &'static str,
    version: u32,
    mechanism: &'a str,
    private: bool,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    conditional_on: &'a [String],
    total: f64,
    schema: &'a Schema,
    #[serde(skip_serializing_if = "Option::is_none")]
    refined_on: Option<RefinedOn>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    zeros: Vec<StoredFactor>,
    #[serde(skip_serializing_if = "Option::is_none")]
    accuracy: Option<StoredAccuracy>,
    #[serde(skip_serializing_if = "Option::is_none")]
    linked: Option<StoredUnits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<&'a str>,
}

/// A table over some attributes.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, expecting = "a table {\"attributes\": [...], \"potentials\": [...]}")]
pub(super) struct StoredFactor {
    pub(super) attributes: Vec<String>,
    /// Log-potentials, row-major; null forbids a cell.
    pub(super) potentials: Vec<Option<f64>>,
}

/// Cliques, in short where they are all of one size.
#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "no list of cliques and no {\"all\": K, \"max_cells\": N}")]
enum RefinedOn {
    /// All cliques of `all` attributes, of at most `max_cells` cells.
    All {
        all: usize,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        max_cells: Option<u64>,
    },
    /// Attributes of each clique, by name.
    Cliques(Vec<Vec<String>>),
}

impl RefinedOn {
    fn new(cliques: &[Clique], domain: &Domain) -> Option<Self> {
        let first = cliques.first()?;
        let most = cliques.iter().map(|c| domain.cells(c)).max()??;
        let all = Self::All { all: first.len(), max_cells: Some(most) };
        let sorted = |mut cliques: Vec<Clique>| {
            cliques.sort_unstable();
            cliques
        };
        if all.cliques(domain).is_ok_and(|all| sorted(all) == sorted(cliques.to_vec())) {
            return Some(all);
        }
        let names = |c: &Clique| c.iter().map(|a| domain.name(a).to_owned()).collect();
        Some(Self::Cliques(cliques.iter().map(names).collect()))
    }

    fn cliques(&self, domain: &Domain) -> Result<Vec<Clique>> {
        match self {
            Self::All { all, max_cells } => {
                let workload = Workload::all_k_way(domain, *all)?;
                Ok(workload.restrict(domain, max_cells.unwrap_or(u64::MAX))?.0.cliques())
            }
            Self::Cliques(names) => names.iter().map(|names| Ok(domain.clique(names)?)).collect(),
        }
    }
}

/// The forbidden combinations that the model knows, as tables of log-potentials: 0, or null where no record can be.
fn zeros(domain: &Domain) -> Vec<StoredFactor> {
    let factor = |zero: &crate::domain::StructuralZero| StoredFactor {
        attributes: zero.clique().iter().map(|a| domain.name(a).to_owned()).collect(),
        potentials: zero.forbidden().iter().map(|no| (!no).then_some(0.0)).collect(),
    };
    domain.fitted_zeros().map(factor).collect()
}

impl ModelFile {
    /// The file of the records that agree with some evidence: the distribution of these, and the schema that draws only numbers
    /// that agree. What was measured is about all records.
    ///
    /// # Errors
    /// Evidence that no record agrees with.
    pub fn given(&self, evidence: &Evidence) -> Result<Self> {
        let (model, schema) = (self.model.given(evidence)?, evidence.narrowed(&self.schema)?);
        Ok(Self { schema, model, ..self.clone() })
    }

    /// Refuses evidence that is not about units, where rows come as units: a unit of which one row is known is not drawn.
    ///
    /// # Errors
    /// Evidence on an attribute that the rows of a unit do not share.
    pub fn check_units(&self, evidence: Option<&Evidence>) -> Result<()> {
        let (Some(units), Some(evidence)) = (&self.linked, evidence) else { return Ok(()) };
        let size = units.size_name();
        let shared = units.agree().unwrap_or_default().iter().chain([&size]);
        let shared: Vec<&str> = shared.map(String::as_str).collect();
        let domain = self.schema.domain();
        let attributes = evidence.attributes();
        let other = attributes.iter().map(|a| domain.name(a)).find(|name| !shared.contains(name));
        let Some(other) = other else { return Ok(()) };
        let expected = format!("columns that all rows of a unit share: {}", shared.join(", "));
        Err(Error::invalid_specification("the evidence", format!("'{other}'"), expected))
    }

    /// The positions of the attributes that records are written with, and the schema for writing them: all but the weight.
    ///
    /// # Errors
    /// None in practice: a weight that is no attribute.
    pub fn written(&self) -> Result<(Vec<usize>, Schema)> {
        let domain = self.schema.domain();
        let is_written = |at: &usize| self.weight.as_deref() != Some(domain.name(*at));
        let kept: Vec<usize> = (0..domain.len()).filter(is_written).collect();
        if kept.len() == domain.len() {
            return Ok((kept, self.schema.clone()));
        }
        let names: Vec<&str> = kept.iter().map(|at| domain.name(*at)).collect();
        Ok((kept, self.schema.select(&names)?))
    }

    /// Writes the file, whole or not at all.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let text = self.to_json()?;
        write_durably(path, |out| {
            let failed = |source| Error::Io { action: "write", path: path.to_owned(), source };
            out.write_all(text.as_bytes()).map_err(failed)
        })
    }

    /// The text of the file.
    ///
    /// # Errors
    /// Numbers that JSON cannot hold.
    pub fn to_json(&self) -> Result<String> {
        let domain = self.schema.domain();
        let header = Header {
            format: FORMAT,
            version: VERSION,
            mechanism: &self.mechanism,
            private: self.is_private,
            conditional_on: &self.conditional_on,
            total: self.model.total(),
            schema: &self.schema,
            refined_on: RefinedOn::new(&self.refined_on, &domain),
            zeros: zeros(&domain),
            accuracy: self.accuracy.as_ref().map(|known| StoredAccuracy::new(known, &domain)),
            linked: self.linked.as_ref().map(StoredUnits::new),
            weight: self.weight.as_deref(),
        };
        let form = self.model.store()?;
        let text = serde_json::to_string(&header).map_err(|error| {
            Error::invalid_specification("model", error.to_string(), "what JSON can hold")
        })?;
        // The form's member comes last.
        let open = text.strip_suffix('}').unwrap_or(&text);
        Self::with_digest(&format!("{open},\"{}\":{}}}", form.member, form.value), "model")
    }

    /// The text of a file with the digest of its content, in place of the one that it may have: for models that were made by
    /// hand or by other programs. `place` stands for the file in errors.
    ///
    /// # Errors
    /// Text that is no JSON object.
    pub fn with_digest(text: &str, place: &str) -> Result<String> {
        digest::with_digest(text, place)
    }

    /// Reads a file. Sizes are checked first: of the file before it is read, of every table against its attributes, and
    /// of the whole model before anything is computed.
    ///
    /// # Errors
    /// A file that cannot be read, is larger than the limits, is no model, is of another version, was changed after it was
    /// written, or contradicts itself.
    pub fn read(path: &Path, limits: ModelLimits) -> Result<Self> {
        let io = |source| Error::Io { action: "read", path: path.to_owned(), source };
        let bytes = fs::metadata(path).map_err(io)?.len();
        let place = path.display().to_string();
        if bytes > limits.file_bytes {
            return Err(Error::too_large(
                format!("the model file {place}"),
                Some(bytes as f64),
                limits.file_bytes as f64,
                "bytes",
            ));
        }
        let text = read_text(path)?;
        Self::from_json(&text, &place, limits)
    }

    /// Reads the text of a file; `place` stands for the file in errors.
    ///
    /// # Errors
    /// As [`ModelFile::read`].
    pub fn from_json(text: &str, place: &str, limits: ModelLimits) -> Result<Self> {
        Self::parsed(text, place, limits).map_err(|error| error.in_file(place))
    }

    fn parsed(text: &str, place: &str, limits: ModelLimits) -> Result<Self> {
        let wrong =
            |found: String, expected: &str| Error::invalid_specification(place, found, expected);
        let mut members = digest::members(text, place)?;
        let content = digest::digest(&members);
        let mut take = |name: &str| {
            let missing = || wrong(format!("no member '{name}'"), "a model of this program");
            members.remove(name).ok_or_else(missing)
        };
        let format: String = parse(take("format")?, place, "format")?;
        if format != FORMAT {
            return Err(wrong(format!("format '{format}'"), FORMAT));
        }
        let version: u32 = parse(take("version")?, place, "version")?;
        if !(OLDEST..=VERSION).contains(&version) {
            let expected = "version 6 or 7, those with a digest";
            return Err(wrong(format!("version {version}"), expected));
        }
        let stated: String = parse(take(DIGEST)?, place, DIGEST)?;
        if stated != content {
            let found = format!("content that differs from its digest ({content})");
            let expected = format!(
                "{stated}, as when it was written: the file was changed since; write the model again"
            );
            return Err(wrong(found, &expected));
        }
        let mechanism: String = parse(take("mechanism")?, place, "mechanism")?;
        let is_private: bool = parse(take("private")?, place, "private")?;
        let conditional_on = take("conditional_on").ok();
        let conditional_on =
            conditional_on.map(|value| parse::<Vec<String>>(value, place, "conditional_on"));
        let conditional_on = conditional_on.transpose()?.unwrap_or_default();
        let total: f64 = parse(take("total")?, place, "total")?;
        check_total(total, &format!("{place}, member 'total'"))?;
        let schema: Schema = parse(take("schema")?, place, "schema")?;
        let domain = schema.domain();
        let refined_on =
            take("refined_on").ok().map(|value| parse::<RefinedOn>(value, place, "refined_on"));
        let accuracy =
            take("accuracy").ok().map(|value| parse::<StoredAccuracy>(value, place, "accuracy"));
        let linked = take("linked").ok().map(|value| parse::<StoredUnits>(value, place, "linked"));
        let weight = take("weight").ok().map(|value| parse::<String>(value, place, "weight"));
        let stored_zeros =
            take("zeros").ok().map(|value| parse::<Vec<StoredFactor>>(value, place, "zeros"));
        if stored_zeros.transpose()?.is_some_and(|stored| stored != zeros(&domain)) {
            return Err(wrong(
                "other zeros".into(),
                "those of the schema's forbidden combinations",
            ));
        }
        let known = |member: &str| FORMS.iter().find(|form| form.member == member);
        if let Some(unknown) = members.keys().find(|name| known(name).is_none()) {
            return Err(wrong(format!("a member '{unknown}'"), "the members of a model"));
        }
        let mut forms = members.iter().filter_map(|(name, value)| Some((known(name)?, value)));
        let names: Vec<&str> = FORMS.iter().map(|form| form.member).collect();
        let (Some((form, value)), None) = (forms.next(), forms.next()) else {
            return Err(wrong(format!("not exactly one of {}", names.join(", ")), "one of them"));
        };
        let model = (form.read)(
            value,
            Reading { domain: &domain, total, place, member: form.member, limits },
        )?;
        let refined_on = match refined_on.transpose()? {
            Some(stored) => stored.cliques(&domain)?,
            None => without_list(&domain, &model)?,
        };
        let accuracy = accuracy.transpose()?.map(|stored| stored.checked(&domain, place));
        let accuracy = accuracy.transpose()?;
        let linked = linked.transpose()?.map(|stored| stored.checked(&schema)).transpose()?;
        let weight = weight.transpose()?;
        if let Some(name) = &weight {
            let own = domain.clique(&[name])?;
            if own.len() == domain.len() {
                return Err(wrong("no attribute but the weight".into(), "one more at least"));
            }
        }
        Ok(Self {
            schema,
            model,
            refined_on,
            accuracy,
            linked,
            weight,
            mechanism,
            is_private,
            conditional_on,
        })
    }
}

/// Refuses a total that no table can have.
///
/// # Errors
/// A number that is not above 0, or is above [`MOST_RECORDS`].
pub(super) fn check_total(total: f64, place: &str) -> Result<()> {
    if total > 0.0 && total <= MOST_RECORDS {
        return Ok(());
    }
    let expected = "above 0 and at most 4294967295, the most records of a table";
    Err(Error::invalid_specification(place, Fact::from(total).to_string(), expected))
}

/// The cliques on which records are refined where a file does not say: all pairs, and what was measured.
fn without_list(domain: &Domain, model: &Model) -> Result<Vec<Clique>> {
    let Some(field) = model.as_markov_random_field() else { return Ok(Vec::new()) };
    let mut cliques = Workload::all_k_way(domain, domain.len().min(2))?.cliques();
    cliques.extend_from_slice(field.potentials().layout().cliques());
    Ok(cliques)
}

#[cfg(test)]
mod tests;
