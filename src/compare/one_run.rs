//! One run of a comparison, in a process of its own, so that its memory can be measured.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::data::{
    Dataset, Labels, PublicData, WholeTable, read_csv, read_public_csv, weight_bins, write_csv,
};
use crate::domain::{Clique, Domain, Schema};
use crate::error::{Error, ErrorKind, Result};
use crate::evaluation::{ColumnComparison, Evaluation, Measures, Prediction, WorkloadError};
use crate::mechanism::{Release, Task};
use crate::model::Drawing;
use crate::observe::Silent;
use crate::privacy::{Budget, Curator, NoiseSeed, Rho};
use crate::query::{Workload, WorkloadSource};
use crate::report::comparison::Row;
use crate::survey::{Draw, Population, Weight};
use crate::synthesis::{PublicTable, without_groups};
use crate::table::Totals;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use super::cell::{Cell, Subject};

/// Offset added to a run's seed for drawing records.
const SAMPLING_SEED: u64 = 1000;

/// Runs a cell in another process, and waits for its row; `None` if there is nothing to measure.
///
/// `program`: reads a [`Cell`] as JSON from its standard input and writes what [`Cell::row`] returns to its standard output, as
/// JSON; where it fails, it writes a line that begins with `error: ` to its standard error, and ends with the exit code of the
/// kind of error.
///
/// # Errors
/// Whatever the other process reports, or that it cannot be started.
pub fn in_process(mut program: Command, cell: &Cell) -> Result<Option<Row>> {
    let failed = |what: String| internal(format!("{}: {what}", cell.key));
    let pipes = program.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = pipes.spawn();
    let mut child = child.map_err(|error| failed(format!("cannot start a process: {error}")))?;
    if let Some(mut input) = child.stdin.take() {
        let text = serde_json::to_vec(cell).map_err(|error| failed(error.to_string()))?;
        // A process that ended early reports the reason itself.
        _ = input.write_all(&text);
    }
    let output = child.wait_with_output().map_err(|error| failed(error.to_string()))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let why = said.lines().find_map(|line| line.strip_prefix("error: "));
        let why = why.map_or_else(|| output.status.to_string(), str::to_owned);
        let kind = output.status.code().and_then(ErrorKind::of_code);
        let kind = kind.unwrap_or(ErrorKind::Internal);
        return Err(Error::comparison(kind, format!("{}: {why}", cell.key)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| failed(error.to_string()))
}

fn internal(message: impl Into<String>) -> Error {
    Error::comparison(ErrorKind::Internal, message)
}

/// The tables of a run after reading, and what to measure.
struct Inputs {
    private: WholeTable,
    public: Vec<PublicData>,
    evaluation: Evaluation,
    survey: Option<Survey>,
}

/// The tables of a weighted sample as a run sees them, with the weight as an attribute or without it, and what is known of its
/// population.
struct Survey {
    private: Dataset,
    schema: Schema,
    workload: Workload,
    population: Population,
}

impl Survey {
    /// `private`: the table with its weights.
    fn read(cell: &Cell, private: &WholeTable) -> Result<(Self, Vec<PublicData>)> {
        let (shared, job) = (&cell.shared, &cell.shared.job);
        let files: Vec<&Path> = job.public.iter().filter_map(|table| table.source.file()).collect();
        let mut whole = Schema::read(&path_of(job.schema.file())?)?;
        let mut names = shared.attributes.clone();
        if let Some(weight) = &job.weight {
            let format = whole.table().clone();
            whole = whole.with_weight(weight, || weight_bins(&files, &format, weight))?;
            names.push(weight.clone());
        }
        let schema = whole.select(&names)?;
        let domain = schema.domain();
        let source =
            WorkloadSource { name: shared.evaluation.workload.clone(), max_cells: job.max_cells };
        let own = job.weight.as_ref().map(|weight| Weight::of(&schema, weight)).transpose()?;
        let mut workload = source.read(&domain)?.0;
        if let Some(own) = &own {
            workload = source.crossed(workload, own.attribute, &domain)?;
        }
        let weights = private.weights.as_deref().unwrap_or_default();
        // The records have no weight, so that positions differ.
        let of_records = private.records.domain();
        let cliques_in = |domain: &Domain| -> Result<Vec<Clique>> {
            shared.totals.iter().map(|names| Ok(domain.clique(names)?)).collect()
        };
        let tables = private.records.weighted_marginals(weights, &cliques_in(of_records)?)?;
        let cliques = cliques_in(&domain)?;
        let totals = (!cliques.is_empty())
            .then(|| Totals::new(&domain, cliques.into_iter().zip(tables)))
            .transpose()?;
        let read = |table: &PublicTable| -> Result<PublicData> {
            let rows = read_public_csv(&path_of(table.source.file())?, &schema)?;
            PublicData::new(&table.name, rows, &domain)
        };
        let public = job.public.iter().map(read).collect::<Result<_>>()?;
        let private = read_csv(&path_of(job.private.file())?, &schema)?;
        let population = Population { weight: own, totals };
        Ok((Self { private, schema, workload, population }, public))
    }

    /// Members of the population, as many as there are private records; records like these if nothing is known of it.
    fn members(&self, release: &Release, rng: &mut ChaCha20Rng) -> Result<Dataset> {
        if self.population.weight.is_none() && self.population.totals.is_none() {
            return release.rows(self.private.records(), Drawing::Refined, rng);
        }
        let model = self.population.of(&release.model, &release.measured_cliques(), rng)?;
        let refinement = release.refinement();
        let draw = Draw {
            records: self.private.records(),
            drawing: Drawing::Refined,
            refinement: &refinement,
            schema: &self.schema,
        };
        Ok(self.population.members(&model, draw, rng)?.rows)
    }
}

fn path_of(file: Option<&Path>) -> Result<PathBuf> {
    file.map(Path::to_owned).ok_or_else(|| internal("a table that is no file"))
}

impl Inputs {
    /// For a mechanism with groups, the group attributes of public tables are not read.
    fn read(cell: &Cell) -> Result<Self> {
        let (shared, job) = (&cell.shared, &cell.shared.job);
        let schema = Schema::read(&path_of(job.schema.file())?)?.select(&shared.attributes)?;
        let domain = schema.domain();
        let evaluation = shared.evaluation.under(&schema)?;
        let table = evaluation.read(&path_of(job.private.file())?)?;
        if evaluation.weight().is_some() {
            evaluation.weighted(&table, &table)?;
            let (survey, public) = Survey::read(cell, &table)?;
            return Ok(Self { private: table, public, evaluation, survey: Some(survey) });
        }
        let spoiled = |table: Dataset| -> Result<Dataset> {
            match &shared.spoil {
                Some(spoil) => Ok(spoil.apply(&table)?),
                None => Ok(table),
            }
        };
        if let Some(split) = &shared.split {
            let [private, public] = split.apply(&table.records, evaluation.workload())?;
            let public = vec![PublicData::new("part", spoiled(public)?, &domain)?];
            // The numbers of a part of a file are not apart.
            return Ok(Self { private: private.into(), public, evaluation, survey: None });
        }
        let public_schema = if job.parameters.contains_key("groups") {
            without_groups(&shared.evaluation.groups, &schema)?
        } else {
            schema
        };
        let read = |table: &PublicTable| -> Result<PublicData> {
            let rows = read_public_csv(&path_of(table.source.file())?, &public_schema)?;
            PublicData::new(&table.name, spoiled(rows)?, &domain)
        };
        let public = job.public.iter().map(read).collect::<Result<_>>()?;
        Ok(Self { private: table, public, evaluation, survey: None })
    }
}

impl Cell {
    /// Runs the cell; `None` for a public table that lacks attributes.
    ///
    /// # Errors
    /// Tables that cannot be read, or a mechanism that fails.
    pub fn row(&self) -> Result<Option<Row>> {
        let inputs = Inputs::read(self)?;
        let Inputs { private, public, evaluation, survey } = &inputs;
        let mut row = Row {
            version: env!("CARGO_PKG_VERSION").into(),
            digest: self.digest.clone(),
            ..Row::default()
        }
        .under(&self.key);
        let table = match &self.subject {
            Subject::OneWay => {
                let [real, _] = &evaluation.weighted(private, private)?;
                let error = evaluation.error_of_independence(real)?;
                set_errors(&mut row, &error);
                return Ok(Some(row));
            }
            Subject::PublicTable(position) => {
                let table = public.get(*position);
                let table = table.ok_or_else(|| internal("no such public table"))?;
                let wanted =
                    survey.as_ref().map_or(&private.records, |survey| &survey.private).domain();
                if table.table()?.domain() != wanted {
                    return Ok(None);
                }
                match self.shared.job.public.get(*position) {
                    // By its own weights.
                    Some(file) if survey.is_some() => {
                        evaluation.read(&path_of(file.source.file())?)?
                    }
                    _ => table.table()?.clone().into(),
                }
            }
            Subject::Mechanism => {
                let synthetic = self.synthesize(&inputs, &mut row)?;
                match &private.numbers {
                    Some(numbers) if !numbers.columns().is_empty() => {
                        self.with_numbers(evaluation.schema(), synthetic)?
                    }
                    _ => synthetic.into(),
                }
            }
        };
        set_measures(&mut row, &evaluation.between(private, &table)?);
        Ok(Some(row))
    }

    /// A synthetic table with numbers drawn inside its bins.
    fn with_numbers(&self, schema: &Schema, synthetic: Dataset) -> Result<WholeTable> {
        let mut text = Vec::new();
        let seed = SAMPLING_SEED + self.key.seed.unwrap_or(0);
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        write_csv(&mut text, &synthetic, schema, Labels::Codes, &mut rng)?;
        let drawn = WholeTable::read_from(&text[..], "the synthetic table", schema, None)?;
        Ok(WholeTable { records: synthetic, ..drawn })
    }

    /// Runs a mechanism and draws as many records as the private table has. The time covers these two steps. The
    /// memory is the peak of the process up to the end of these steps, including its tables.
    fn synthesize(&self, inputs: &Inputs, row: &mut Row) -> Result<Dataset> {
        let job = &self.shared.job;
        let entry = job.entry()?;
        let mechanism = entry.build(&job.parameters)?;
        // A mechanism that spends nothing has a delta and no epsilon here.
        let budget = if entry.spends { job.budget()? } else { None };
        let limit = budget.map_or(Rho::ZERO, Budget::rho);
        let seed = job.seed.unwrap_or(0);

        let (start, cpu_start) = (Instant::now(), cpu_seconds());
        let (private, workload) = match &inputs.survey {
            Some(survey) => (&survey.private, &survey.workload),
            None => (&inputs.private.records, inputs.evaluation.workload()),
        };
        let mut curator = Curator::new(private, job.neighbors, limit, NoiseSeed::Fixed(seed))?;
        let task = Task::new(workload, &inputs.public);
        let release = mechanism.run(&mut curator, &task, &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(SAMPLING_SEED + seed);
        let synthetic = match &inputs.survey {
            Some(survey) => survey.members(&release, &mut rng)?,
            None => release.rows(private.records(), Drawing::Refined, &mut rng)?,
        };
        row.seconds = Some(start.elapsed().as_secs_f64());
        row.cpu_seconds = cpu_start.and_then(|start| Some(cpu_seconds()? - start));
        row.peak_mib = peak_mib();

        let (private, public) = release.provenances();
        row.private_marginals = Some(private);
        row.public_marginals = Some(public);
        row.rho_spent = Some(release.ledger.spent().to_f64());
        Ok(synthetic)
    }
}

fn set_errors(row: &mut Row, error: &WorkloadError) {
    row.workload_error = error.mean_l1;
    row.max_l1 = error.max_l1;
    row.max_query = error.max_query;
    row.mean_query = error.mean_query;
    row.rmse_query = error.rmse_query;
}

fn set_measures(row: &mut Row, measured: &Measures) {
    set_errors(row, &measured.error);
    row.group_score = measured.by_groups.as_ref().map(|found| found.score);
    row.k_marginal = measured.k_marginal.as_ref().map(|found| found.score);
    row.pmse = measured.propensity.as_ref().map(|found| found.pmse);
    row.pmse_ratio = measured.propensity.as_ref().map(|found| found.ratio);
    if let Some(found) = &measured.correlation {
        row.pearson_mean = Some(found.pearson.mean);
        row.pearson_max = Some(found.pearson.max);
        row.cramers_v_mean = Some(found.cramers_v.mean);
        row.cramers_v_max = Some(found.cramers_v.max);
    }
    row.unique_matches = measured.unique_matches.as_ref().map(|found| found.matched);
    row.unique_share = measured.unique_matches.as_ref().map(|found| found.share_of_unique);
    if let Some(found) = &measured.singles_and_pairs {
        row.singles_l1 = Some(found.singles.mean_l1);
        row.singles_max = Some(found.singles.max_query);
        row.pairs_l1 = Some(found.pairs.mean_l1);
        row.pairs_max = Some(found.pairs.max_query);
    }
    let predicted = |of: fn(&Prediction) -> f64| {
        let values = measured.predictions.iter().map(of);
        let count = measured.predictions.len();
        (count > 0).then(|| values.sum::<f64>() / count as f64)
    };
    row.predicted_area = predicted(|found| found.synthetic.area);
    row.predicted_area_real = predicted(|found| found.real.area);
    row.predicted_right = predicted(|found| found.synthetic.right);
    row.predicted_right_real = predicted(|found| found.real.right);
    row.edit_share = measured.edit_rules.as_ref().map(|found| found.synthetic.share);
    row.edit_share_real = measured.edit_rules.as_ref().map(|found| found.real.share);
    let columns = measured.numbers.as_ref().map_or(&[][..], |found| &found.columns);
    let mean = |of: fn(&ColumnComparison) -> Option<f64>| {
        let values: Vec<f64> = columns.iter().filter_map(of).map(f64::abs).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    row.mean_difference = mean(|column| column.mean_difference);
    row.wasserstein = mean(|column| column.wasserstein);
}

/// CPU seconds of all threads of this process so far; `None` if the system does not report them.
fn cpu_seconds() -> Option<f64> {
    let threads = fs::read_dir("/proc/self/task").ok()?;
    let nanoseconds = threads.flatten().filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split_whitespace().next()?.parse::<f64>().ok()
    });
    Some(1e-9 * nanoseconds.sum::<f64>())
}

/// Peak memory of this process, in MiB; `None` if the system does not report it.
fn peak_mib() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    let kib: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
    Some(kib / 1024.0)
}
