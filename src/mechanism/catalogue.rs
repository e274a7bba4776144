//! The catalogue of all mechanisms.
//!
//! The command line, comparisons, plans, the table in the documentation and the bindings for other languages read it. A
//! mechanism needs to be entered only here.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::error::{Contradiction, Error, Result};
use crate::mechanism::parameters::SHARED;
use crate::mechanism::{
    Aim, AnchorPgm, AnswerWorkload, DualQuery, Fem, Gem, GemPub, Hdmm, Ide, Independent, JamPgm,
    Mechanism, Mst, Mwem, MwemPgm, Parameter, Pep, PepPub, PmwPub, PublicOnly, Rap, RapSoftmax,
    ResidualPlanner, aim, anchor_pgm, dual_query, entropy_projection, fem, hdmm, ide, jam_pgm,
    multiplicative_weights, products, query_release, residual_planner,
};
use crate::settings::Form;

/// Makes a mechanism of its parameters.
type Build = fn(Map<String, Value>) -> Result<Box<dyn Mechanism>>;

/// A mechanism's entry in the catalogue.
#[derive(Clone, Copy, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts about a mechanism")]
pub struct Entry {
    /// The mechanism's name in the literature.
    pub name: &'static str,
    /// One sentence for `--help`, without a full stop.
    pub summary: &'static str,
    /// How it uses public tables.
    pub public_tables: PublicTables,
    /// Whether it takes public tables of which only marginals are known.
    pub takes_counts: bool,
    /// Whether it stores every cell of the domain, which must therefore be small.
    pub needs_small_domain: bool,
    /// Whether the workload changes its measurements or the records drawn from its model.
    pub uses_workload: bool,
    /// Whether it spends privacy budget.
    pub spends: bool,
    /// Whether it supports checkpoints.
    pub resumes: bool,
    /// Descriptions of the parameters that are not shared by many mechanisms.
    own_parameters: &'static [Parameter],
    defaults: fn() -> Result<Map<String, Value>>,
    build: Build,
    answerer: Option<Answerer>,
}

/// Builds a mechanism that answers a workload.
type Answerer = fn(Map<String, Value>) -> Result<Box<dyn AnswerWorkload>>;

/// How a mechanism uses public tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PublicTables {
    /// Ignores them.
    Unused,
    /// Uses them where they help.
    Used,
    /// Needs at least one.
    Needed,
}

/// All mechanisms, starting with the default.
pub const CATALOGUE: &[Entry] = &[
    Entry::of::<AnchorPgm>(
        "anchor-pgm",
        "Starts from a model of the public tables, and corrects it with measurements",
    )
    .parameters_of(anchor_pgm::PARAMETERS)
    .with(PublicTables::Used)
    .of_marginals(),
    Entry::of::<JamPgm>(
        "jam-pgm",
        "Chooses in every round between measuring privately and taking a public marginal",
    )
    .parameters_of(jam_pgm::PARAMETERS)
    .with(PublicTables::Used)
    .of_marginals(),
    Entry::of::<Aim>(
        "aim",
        "Chooses and measures what matters most to the workload; no public tables",
    )
    .parameters_of(aim::PARAMETERS),
    Entry::of::<Mst>(
        "mst",
        "Measures a tree of pairs, whatever the workload; no public tables; fast",
    ),
    Entry::of::<MwemPgm>(
        "mwem-pgm",
        "Measures the worst marginals of the workload; no public tables: a baseline",
    ),
    Entry::of::<Independent>(
        "independent",
        "Measures single attributes and takes them as independent: a baseline",
    ),
    Entry::of::<ResidualPlanner>(
        "residual-planner",
        "Answers the whole workload with the best Gaussian noise, then fits what stands out",
    )
    .parameters_of(residual_planner::PARAMETERS)
    .answering::<ResidualPlanner>()
    .at_once(),
    Entry::of::<Hdmm>(
        "hdmm",
        "Answers the whole workload from weighted marginals, then fits what stands out",
    )
    .parameters_of(hdmm::PARAMETERS)
    .answering::<Hdmm>()
    .at_once(),
    Entry::of::<PublicOnly>(
        "public-only",
        "Fits marginals of the first public table alone and spends nothing: a baseline",
    )
    .with(PublicTables::Needed)
    .of_marginals()
    .at_once()
    .for_free(),
    Entry::of::<Mwem>(
        "mwem",
        "Reweights all records of a small domain by measured queries; no public tables",
    )
    .parameters_of(query_release::PARAMETERS)
    .over_all_cells(),
    Entry::of::<PmwPub>("pmw-pub", "Reweights the public records by measured queries")
        .parameters_of(multiplicative_weights::PARAMETERS)
        .with(PublicTables::Needed),
    Entry::of::<Pep>(
        "pep",
        "Projects all records of a small domain on measured marginals; no public tables",
    )
    .parameters_of(entropy_projection::PARAMETERS)
    .over_all_cells(),
    Entry::of::<PepPub>("pep-pub", "Projects the public records on measured queries")
        .with(PublicTables::Needed),
    Entry::of::<Gem>("gem", "Trains a network on measured queries; any domain; no public tables")
        .parameters_of(products::PARAMETERS),
    Entry::of::<GemPub>(
        "gem-pub",
        "Trains a network on the public tables, then on measured queries",
    )
    .with(PublicTables::Needed)
    .of_marginals(),
    Entry::of::<RapSoftmax>(
        "rap-softmax",
        "Fits a mixture of product distributions to measured queries; no public tables",
    ),
    Entry::of::<Rap>("rap", "The same without normalization, as first published: a baseline"),
    Entry::of::<Fem>(
        "fem",
        "Finds records that satisfy the queries chosen so far, under noise; no public tables",
    )
    .parameters_of(fem::PARAMETERS),
    Entry::of::<DualQuery>(
        "dual-query",
        "Finds a record per round that satisfies queries drawn by their errors; no public tables",
    )
    .parameters_of(dual_query::PARAMETERS),
    Entry::of::<Ide>(
        "ide",
        "Scales the public records to noisy answers of each group, level by level",
    )
    .parameters_of(ide::PARAMETERS)
    .with(PublicTables::Needed)
    .without_workload(),
    #[cfg(test)]
    Entry::of::<super::handful::Handful>("handful", "Measures the first cliques of the workload")
        .parameters_of(super::handful::PARAMETERS),
];

/// Finds a mechanism by name.
///
/// # Errors
/// A name that is not in the catalogue.
///
/// ```
/// let entry = jointly::mechanism::find("aim")?;
/// let parameters = serde_json::json!({ "rounds": 40 });
/// assert_eq!(entry.build(parameters.as_object().expect("an object"))?.name(), "aim");
/// # Ok::<(), jointly::Error>(())
/// ```
pub fn find(name: &str) -> Result<&'static Entry> {
    CATALOGUE.iter().find(|entry| entry.name == name).ok_or_else(|| {
        let names: Vec<&str> = CATALOGUE.iter().map(|entry| entry.name).collect();
        Error::invalid_specification("mechanism", format!("'{name}'"), names.join(", "))
    })
}

/// Descriptions of all parameters of all mechanisms, starting with the shared ones.
pub fn parameters() -> impl Iterator<Item = &'static Parameter> {
    SHARED.iter().chain(CATALOGUE.iter().flat_map(|entry| entry.own_parameters))
}

impl Entry {
    const fn of<M>(name: &'static str, summary: &'static str) -> Self
    where
        M: Mechanism + Default + Serialize + DeserializeOwned + 'static,
    {
        Self {
            name,
            summary,
            public_tables: PublicTables::Unused,
            takes_counts: false,
            needs_small_domain: false,
            uses_workload: true,
            spends: true,
            resumes: true,
            own_parameters: &[],
            defaults: defaults::<M>,
            build: |parameters| Ok(Box::new(read::<M>(&parameters)?)),
            answerer: None,
        }
    }

    const fn with(self, public_tables: PublicTables) -> Self {
        Self { public_tables, ..self }
    }

    const fn of_marginals(self) -> Self {
        Self { takes_counts: true, ..self }
    }

    const fn without_workload(self) -> Self {
        Self { uses_workload: false, ..self }
    }

    const fn parameters_of(self, own_parameters: &'static [Parameter]) -> Self {
        Self { own_parameters, ..self }
    }

    const fn answering<M>(self) -> Self
    where
        M: AnswerWorkload + Mechanism + Default + Serialize + DeserializeOwned + 'static,
    {
        Self { answerer: Some(|parameters| Ok(Box::new(read::<M>(&parameters)?))), ..self }
    }

    const fn over_all_cells(self) -> Self {
        Self { needs_small_domain: true, ..self }
    }

    const fn at_once(self) -> Self {
        Self { resumes: false, ..self }
    }

    const fn for_free(self) -> Self {
        Self { spends: false, ..self }
    }

    /// Its parameters by name, with their defaults; `null` where the default depends on the data's shape.
    ///
    /// # Errors
    /// None in practice: JSON can represent the parameters of every mechanism in the catalogue.
    pub fn defaults(&self) -> Result<Map<String, Value>> {
        (self.defaults)()
    }

    /// Descriptions of the parameters that are not shared by many mechanisms.
    pub fn own_parameters(&self) -> &'static [Parameter] {
        self.own_parameters
    }

    /// Descriptions of its parameters.
    ///
    /// # Errors
    /// As [`defaults`](Self::defaults).
    pub fn parameters(&self) -> Result<Vec<&'static Parameter>> {
        let own = self.defaults()?;
        Ok(parameters().filter(|parameter| own.contains_key(parameter.name)).collect())
    }

    /// Refuses parameters that the mechanism does not have.
    ///
    /// # Errors
    /// The first of them.
    pub fn check_known(&self, given: &Map<String, Value>) -> Result<()> {
        let own = self.defaults()?;
        match given.keys().find(|name| !own.contains_key(*name)) {
            None => Ok(()),
            Some(unknown) => {
                let (what, mechanism) = (unknown.clone(), self.name);
                Err(Contradiction::Unused { what, mechanism }.into())
            }
        }
    }

    /// Builds the mechanism with the given parameters, and defaults for all others.
    ///
    /// # Errors
    /// A parameter that the mechanism does not have, has the wrong form, or is out of range.
    pub fn build(&self, given: &Map<String, Value>) -> Result<Box<dyn Mechanism>> {
        let mechanism = (self.build)(self.completed(given)?)?;
        mechanism.check()?;
        Ok(mechanism)
    }

    /// Whether the mechanism can answer a workload without a model.
    pub fn answers(&self) -> bool {
        self.answerer.is_some()
    }

    /// Builds the mechanism as one that answers a workload.
    ///
    /// # Errors
    /// As [`build`](Self::build), and a mechanism that does not answer workloads.
    pub fn build_answerer(&self, given: &Map<String, Value>) -> Result<Box<dyn AnswerWorkload>> {
        let unused = Contradiction::Unused { what: "answer".into(), mechanism: self.name };
        self.answerer.ok_or(unused)?(self.completed(given)?)
    }

    /// The given parameters, and the defaults of all others.
    fn completed(&self, given: &Map<String, Value>) -> Result<Map<String, Value>> {
        let mut parameters = self.defaults()?;
        self.check_known(given)?;
        parameters.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
        Ok(parameters)
    }
}

fn defaults<M: Default + Serialize>() -> Result<Map<String, Value>> {
    match serde_json::to_value(M::default()) {
        Ok(Value::Object(members)) => Ok(members),
        _ => Err(Error::invalid_specification("parameters", "no object", "named parameters")),
    }
}

fn read<M: Mechanism + Default + Serialize + DeserializeOwned>(
    parameters: &Map<String, Value>,
) -> Result<M> {
    let alone = |name: &String, value: &Value| {
        let mut all = defaults::<M>().ok()?;
        all.insert(name.clone(), value.clone());
        M::deserialize(Value::Object(all)).err()
    };
    let wrong = |(name, value): (&String, &Value)| {
        let reason = alone(name, value)?.to_string();
        let parameter = self::parameters().find(|parameter| parameter.name == *name)?;
        // What a text must be, the mechanism knows.
        let of_text = reason.split_once("expected ").filter(|_| parameter.form == Form::Text);
        Some(match of_text {
            Some((_, expected)) => Error::wrong_form(name, value, expected),
            None => parameter.form.refused(name, value),
        })
    };
    let of_all = |error| Error::wrong_json(M::default().name(), &error, false, "its parameters");
    let read = M::deserialize(Value::Object(parameters.clone()));
    read.map_err(|error| parameters.iter().find_map(wrong).unwrap_or_else(|| of_all(error)))
}

#[cfg(test)]
mod tests;
