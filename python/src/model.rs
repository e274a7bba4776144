//! Models: sampling, marginals, questions.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::RecordBatch;
use jointly::Error;
use jointly::combine::{Imputation, StatisticTexts, Target};
use jointly::data::{
    Dataset, Labels, UnitTable, Units,
    arrow::{ArrowWriter, to_record_batch},
    write_csv_blocks,
};
use jointly::domain::{Clique, Domain};
use jointly::model::{Drawing, Evidence, Having, LinkedRows, ModelFile, ModelLimits, Question};
use jointly::observe::Unstoppable;
use jointly::rand::rngs::ChaCha20Rng;
use jointly::rand::{self, Rng, SeedableRng};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::errors::{Raise, json};
use crate::process;
use crate::release::reserved;
use crate::tables::{Schema, Table};
use crate::watch;

/// A model with its schema.
#[pyclass(frozen, module = "jointly_dp._native")]
pub(crate) struct Model(pub(crate) Arc<ModelFile>);

/// What to ask.
#[derive(serde::Deserialize)]
#[serde(rename_all = "snake_case")]
enum QuestionArgs {
    Marginal(Vec<String>),
    Share(String),
    Mean(String),
    Quantile(String, f64),
}

/// Names of attributes, log-potentials, marginal.
type Factor = (Vec<String>, Vec<f64>, Vec<f64>);

/// How records are drawn.
fn drawing(refined: bool) -> Drawing {
    if refined { Drawing::Refined } else { Drawing::Independent }
}

/// The file of the records that agree with what `given` says, and what that is.
fn conditioned(
    file: &ModelFile,
    given: Option<&str>,
) -> jointly::Result<(ModelFile, Option<Evidence>)> {
    let Some(given) = given else { return Ok((file.clone(), None)) };
    let evidence = Evidence::parse(given, &file.schema)?;
    Ok((file.given(&evidence)?, Some(evidence)))
}

/// Records of a model whose rows come as units, and the numbers of their units.
fn linked(
    file: &ModelFile,
    units: &Units,
    evidence: Option<&Evidence>,
    records: u64,
    refined: bool,
    rng: &mut ChaCha20Rng,
) -> jointly::Result<LinkedRows> {
    file.check_units(evidence)?;
    let records = usize::try_from(records).unwrap_or(usize::MAX);
    let drawn = file.model.rows(records, drawing(refined), &file.refinement(), rng)?;
    file.model.link(&drawn, units, rng)
}

#[pymethods]
impl Model {
    /// Reads a model file.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let read = process::detached(py, || ModelFile::read(&path, ModelLimits::default()));
        Ok(Self(Arc::new(read?)))
    }

    /// Reads the text of a model file.
    #[staticmethod]
    fn from_json(py: Python<'_>, text: &str) -> PyResult<Self> {
        let limits = ModelLimits::default();
        let read = process::detached(py, || ModelFile::from_json(text, "model", limits));
        Ok(Self(Arc::new(read?)))
    }

    /// The text of the model file.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        process::detached(py, || self.0.to_json())
    }

    /// Writes the model file.
    fn write(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        process::detached(py, || {
            let _reserved = reserved(&path, overwrite)?;
            self.0.write(&path)
        })
    }

    #[getter]
    fn schema(&self) -> Schema {
        Schema(Arc::new(self.0.schema.clone()))
    }

    #[getter]
    fn total(&self) -> f64 {
        self.0.model.total()
    }

    #[getter]
    fn records(&self) -> usize {
        self.0.model.records()
    }

    #[getter]
    fn size_mib(&self) -> f64 {
        self.0.model.size_mib()
    }

    #[getter]
    fn mechanism(&self) -> String {
        self.0.mechanism.clone()
    }

    #[getter]
    fn is_private(&self) -> bool {
        self.0.is_private
    }

    #[getter]
    fn conditional_on(&self) -> Vec<String> {
        self.0.conditional_on.clone()
    }

    /// Draws records. `in_blocks`: as the command `sample` draws them; otherwise as `synth` does.
    #[pyo3(signature = (records, seed=None, given=None, refined=true, in_blocks=true, labels=false))]
    fn sample(
        &self,
        py: Python<'_>,
        records: u64,
        seed: Option<u64>,
        given: Option<String>,
        refined: bool,
        in_blocks: bool,
        labels: bool,
    ) -> PyResult<PyTable> {
        let file = Arc::clone(&self.0);
        let labels = if labels { Labels::Text } else { Labels::Codes };
        let batches = watch::run(py, None, move |observer| {
            let (file, evidence) = conditioned(&file, given.as_deref())?;
            let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
            if let Some(units) = &file.linked {
                let LinkedRows { rows, numbers } =
                    linked(&file, units, evidence.as_ref(), records, refined, &mut rng)?;
                let table = UnitTable { rows: &rows, numbers: &numbers, units };
                let mut rng = ChaCha20Rng::seed_from_u64(rng.next_u64());
                let (rows, schema) = table.with_numbers(&file.schema, &mut rng)?;
                let rng = ChaCha20Rng::seed_from_u64(rng.next_u64());
                return Ok(vec![to_record_batch(&rows, &schema, labels, rng)?]);
            }
            let model = &file.model;
            let (kept, schema) = file.written()?;
            if !in_blocks {
                let records = usize::try_from(records).unwrap_or(usize::MAX);
                let rows = model.rows(records, drawing(refined), &file.refinement(), &mut rng)?;
                let rng = ChaCha20Rng::seed_from_u64(rng.next_u64());
                let rows = rows.into_selected(&kept)?;
                return Ok(vec![to_record_batch(&rows, &schema, labels, rng)?]);
            }
            let refinement = file.refinement();
            let blocks = model.blocks(records, drawing(refined), &refinement, &mut rng)?;
            let values = ChaCha20Rng::seed_from_u64(rng.next_u64());
            let domain = schema.domain();
            let mut writer = ArrowWriter::new(&domain, &schema, labels, values)?;
            blocks
                .map(|block| {
                    if observer.check().is_break() {
                        return Err(Error::Common(jointly::CommonError::Interrupted));
                    }
                    writer.batch(&block?.into_selected(&kept)?)
                })
                .collect::<jointly::Result<Vec<RecordBatch>>>()
        })?;
        let schema = batches
            .first()
            .map_or_else(|| Arc::new(arrow_schema::Schema::empty()), RecordBatch::schema);
        PyTable::try_new(batches, schema)
    }

    /// Draws records into a file, as the command `sample` does.
    #[pyo3(signature = (path, records, overwrite, seed=None, given=None, refined=true))]
    fn sample_to(
        &self,
        py: Python<'_>,
        path: PathBuf,
        records: u64,
        overwrite: bool,
        seed: Option<u64>,
        given: Option<String>,
        refined: bool,
    ) -> PyResult<()> {
        let file = Arc::clone(&self.0);
        watch::run(py, None, move |observer| {
            let _reserved = reserved(&path, overwrite)?;
            let (file, evidence) = conditioned(&file, given.as_deref())?;
            let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
            if let Some(units) = &file.linked {
                let LinkedRows { rows, numbers } =
                    linked(&file, units, evidence.as_ref(), records, refined, &mut rng)?;
                let table = UnitTable { rows: &rows, numbers: &numbers, units };
                return table.write((&path, None), &file.schema, Labels::Codes, rng.next_u64());
            }
            let model = &file.model;
            let (kept, schema) = file.written()?;
            let refinement = file.refinement();
            let blocks = model.blocks(records, drawing(refined), &refinement, &mut rng)?;
            let seed = rng.next_u64();
            let blocks = blocks.map(|block| {
                if observer.check().is_break() {
                    Err(Error::Common(jointly::CommonError::Interrupted))
                } else {
                    Ok(block?.into_selected(&kept)?)
                }
            });
            write_csv_blocks(&path, blocks, &schema, Labels::Codes, seed)
        })
    }

    /// Tables of some columns from the posterior distribution of the private one, as the command `posterior` draws them.
    #[pyo3(signature = (columns, tables, seed=None))]
    fn posterior(
        &self,
        py: Python<'_>,
        columns: Vec<String>,
        tables: usize,
        seed: Option<u64>,
    ) -> PyResult<Vec<PyTable>> {
        let file = Arc::clone(&self.0);
        let batches = watch::run(py, None, move |observer| {
            let (posterior, schema) = file.posterior(&columns)?;
            let mut rng = ChaCha20Rng::seed_from_u64(seed.unwrap_or_else(rand::random));
            let mut batches = Vec::with_capacity(tables);
            posterior.each_table(tables, rng.next_u64(), &Unstoppable, &mut |table| {
                if observer.check().is_break() {
                    return Err(Error::Common(jointly::CommonError::Interrupted));
                }
                let values = ChaCha20Rng::seed_from_u64(rng.next_u64());
                batches.push(to_record_batch(&table, &schema, Labels::Codes, values)?);
                Ok(())
            })?;
            Ok(batches)
        })?;
        let table = |batch: RecordBatch| {
            let schema = batch.schema();
            PyTable::try_new(vec![batch], schema)
        };
        batches.into_iter().map(table).collect()
    }

    /// The marginal on some attributes, in their order: its shape and its counts, row-major.
    fn marginal(&self, py: Python<'_>, names: Vec<String>) -> PyResult<(Vec<usize>, Vec<f64>)> {
        let model = &self.0.model;
        let domain = model.domain();
        let clique = domain.clique(&names).raise(py)?;
        let table = process::detached(py, || model.marginals(std::slice::from_ref(&clique)))?;
        let at: Vec<usize> = names.iter().filter_map(|name| domain.position(name)).collect();
        let (shape, places) = turned(domain, &clique, &at);
        let values = table[0].values();
        Ok((shape, places.into_iter().map(|place| values[place]).collect()))
    }

    /// The tables of a graphical model: for each, the names of its attributes, its log-potentials and its marginal in counts,
    /// both row-major.
    fn factors(&self, py: Python<'_>) -> PyResult<Vec<Factor>> {
        let Some(field) = self.0.model.as_markov_random_field() else {
            let found = format!("a model of the mechanism {}", self.0.mechanism);
            let expected = "a graphical model";
            return Err(Error::invalid_specification("model", found, expected)).raise(py);
        };
        let (domain, potentials) = (field.domain(), field.potentials());
        let cliques = potentials.layout().cliques();
        let marginals = process::detached(py, || Ok(field.marginals(cliques)?))?;
        let table = |(index, clique): (usize, &Clique)| {
            let names = clique.iter().map(|attribute| domain.name(attribute).to_owned()).collect();
            (names, potentials.table(index).to_vec(), marginals[index].values().to_vec())
        };
        Ok(cliques.iter().enumerate().map(table).collect())
    }

    /// Statistics of a released table of this model, with intervals, as JSON.
    #[pyo3(signature = (released, replicates, asked, population=false, posterior=None, seed=None))]
    fn combine(
        &self,
        py: Python<'_>,
        released: &Bound<'_, PyAny>,
        replicates: Vec<Bound<'_, PyAny>>,
        asked: &str,
        population: bool,
        posterior: Option<usize>,
        seed: Option<u64>,
    ) -> PyResult<String> {
        let texts: StatisticTexts = serde_json::from_str(asked)
            .map_err(|error| crate::errors::wrong(py, "statistics", error))?;
        let target = if population { Target::Population } else { Target::PrivateTable };
        let released = Table::new(released, "released table")?;
        let replicates = replicates.iter().map(|table| Table::new(table, "replicate"));
        let replicates = replicates.collect::<PyResult<Vec<Table>>>()?;
        let file = &self.0;
        let found = process::detached(py, || {
            file.combinable(target)?;
            let schema = file.written()?.1;
            let statistics = texts.parse(&schema)?;
            let released = released.released(&schema, file.weight.as_deref())?;
            let records = |table: &Table| Ok(table.released(&schema, None)?.records);
            let replicates = replicates.iter().map(records);
            let replicates = replicates.collect::<jointly::Result<Vec<Dataset>>>()?;
            let seed = seed.unwrap_or_else(rand::random);
            let imputation =
                posterior.map(|tables| Imputation { tables, seed, checks: &Unstoppable });
            file.combine(&statistics, &released, &replicates, target, imputation)
        });
        json(py, &found?)
    }

    /// Answers questions, JSON to JSON.
    #[pyo3(signature = (questions, by, given=None, together=false))]
    fn ask(
        &self,
        py: Python<'_>,
        questions: &str,
        by: Vec<String>,
        given: Option<String>,
        together: bool,
    ) -> PyResult<String> {
        let asked: Vec<QuestionArgs> = serde_json::from_str(questions)
            .map_err(|error| crate::errors::wrong(py, "questions", error))?;
        let file = &self.0;
        let answers = process::detached(py, || {
            let (asked_of, given) = conditioned(file, given.as_deref())?;
            let questions = asked.into_iter().map(|asked| {
                Ok(match asked {
                    QuestionArgs::Marginal(names) => Question::Marginal(names),
                    QuestionArgs::Share(text) => {
                        Question::Share(Evidence::parse(&text, &asked_of.schema)?)
                    }
                    QuestionArgs::Mean(name) => Question::Mean(name),
                    QuestionArgs::Quantile(name, share) => Question::Quantile(name, share),
                })
            });
            let questions = questions.collect::<jointly::Result<Vec<_>>>()?;
            let (model, schema) = (&asked_of.model, &asked_of.schema);
            let (accuracy, given) = (file.accuracy.as_ref(), given.as_ref());
            match accuracy.filter(|_| together) {
                Some(known) => model.ask_together(schema, &by, &questions, known, given),
                None => model.ask_with(schema, &by, &questions, accuracy, given),
            }
        });
        json(py, &answers?)
    }

    /// Shares of units that have members of some kinds, as JSON.
    fn having(
        &self,
        py: Python<'_>,
        questions: Vec<String>,
        given: Option<String>,
    ) -> PyResult<String> {
        let file = &self.0;
        let answers = process::detached(py, || {
            let (asked_of, _) = conditioned(file, given.as_deref())?;
            let (schema, units) = (&asked_of.schema, asked_of.linked.as_ref());
            let model = &asked_of.model;
            let answer = |text: &String| Having::parse(text, schema, units)?.answer(model, schema);
            questions.iter().map(answer).collect::<jointly::Result<Vec<_>>>()
        });
        json(py, &answers?)
    }
}

/// The shape of a marginal with its axes in the order `at`, and for each of its cells the position in the table over the
/// clique, whose axes are in the domain's order.
pub(crate) fn turned(domain: &Domain, clique: &Clique, at: &[usize]) -> (Vec<usize>, Vec<usize>) {
    let sorted: Vec<usize> = clique.iter().collect();
    let mut strides = vec![0; domain.len()];
    let mut cells = 1;
    for attribute in sorted.iter().rev() {
        strides[*attribute] = cells;
        cells *= domain.cardinality(*attribute);
    }
    let shape: Vec<usize> = at.iter().map(|a| domain.cardinality(*a)).collect();
    let place = |mut cell: usize| {
        let mut from = 0;
        for (attribute, size) in at.iter().zip(&shape).rev() {
            from += cell % size * strides[*attribute];
            cell /= size;
        }
        from
    };
    let places = (0..cells).map(place).collect();
    (shape, places)
}
