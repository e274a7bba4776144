//! This engine's side of `compare.py`, which starts it as `peer_worker serve` and exchanges lines of JSON with it.
//!
//! A request is an object with a member `do`; the answer gives the `seconds` and `cpu_seconds` of the work, without
//! reading and parsing. `mbi_worker.py` in the same folder answers the same requests.

#![expect(clippy::print_stdout, reason = "answers go to standard output")]

#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use jointly::data::{Column, Dataset, Projectable};
use jointly::domain::Domain;
use jointly::estimation::{AcceleratedBregman, Estimator, SquaredLoss, Stopping, Weighting};
use jointly::inference::{BeliefPropagation, MarginalOracle};
use jointly::measurement::{Measurement, Provenance};
use jointly::model::{MarkovRandomField, Sampling};
use jointly::query::Workload;
use jointly::table::{Marginals, Potentials};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde::Deserialize;
use serde_json::{Value, json};

use support::Failure;

/// Oracle calls between two checks of the objective when fitting to a given one.
const CALLS_AT_A_TIME: u32 = 100;
/// Most oracle calls when fitting to a given objective.
const MOST_CALLS: u32 = 100_000;

/// A request.
#[derive(Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
enum Request {
    /// Read measurements, and plan for their cliques.
    Load { path: PathBuf },
    /// Only oracle calls at the current potentials.
    Calls { count: u32 },
    /// Steps of the estimator from the start: a call, the gradient and the acceptance test each.
    Steps { count: u32 },
    /// A whole fit to an objective, or until the estimator stops.
    Fit { objective: Option<f64> },
    /// Read records, and count all pairs.
    Pairs { path: PathBuf, cardinalities: Vec<u32> },
    /// Draw records from the model fitted last.
    Sample { rows: usize, method: String },
}

/// Measured marginals, in counts, row-major in the domain's order.
#[derive(Deserialize)]
struct Instance {
    domain: Vec<(String, u32)>,
    total: f64,
    measurements: Vec<Measured>,
}

#[derive(Deserialize)]
struct Measured {
    clique: Vec<String>,
    stddev: f64,
    values: Vec<f64>,
}

/// A loss with the oracle of its cliques, and the current potentials.
struct Problem {
    domain: Domain,
    total: f64,
    loss: SquaredLoss,
    oracle: Arc<BeliefPropagation>,
    potentials: Potentials,
}

fn main() -> Result<(), Failure> {
    if std::env::args().nth(1).as_deref() != Some("serve") {
        println!("SKIPPED: this bench is run by benches/peers/compare.py");
        return Ok(());
    }
    let mut problem = None;
    for line in std::io::stdin().lock().lines() {
        let answer = answer(serde_json::from_str(&line?)?, &mut problem)?;
        println!("{answer}");
        std::io::stdout().flush()?;
    }
    Ok(())
}

fn answer(request: Request, problem: &mut Option<Problem>) -> Result<Value, Failure> {
    if let Request::Load { path } = &request {
        let instance = read(path)?;
        let (fresh, times) = timed(|| Problem::new(&instance));
        *problem = Some(fresh?);
        return Ok(times);
    }
    if let Request::Pairs { path, cardinalities } = &request {
        let table = records(path, cardinalities)?;
        let pairs = Workload::all_k_way(table.domain(), 2)?.cliques();
        let (counts, mut times) = timed(|| table.project_many(&pairs));
        let cells: usize = counts?.iter().map(Vec::len).sum();
        times["cells"] = cells.into();
        return Ok(times);
    }
    let problem = problem.as_mut().ok_or("nothing was loaded")?;
    match request {
        Request::Calls { count } => problem.calls(count),
        Request::Steps { count } => problem.steps(count),
        Request::Fit { objective } => problem.fit(objective),
        Request::Sample { rows, method } => problem.sample(rows, &method),
        Request::Load { .. } | Request::Pairs { .. } => Err("answered above".into()),
    }
}

impl Problem {
    fn new(instance: &Instance) -> jointly::Result<Self> {
        let domain = Domain::new(instance.domain.iter().map(|(name, k)| (name.as_str(), *k)))?;
        let measurement = |m: &Measured| {
            Ok(Measurement {
                clique: domain.clique(&m.clique)?,
                cell: None,
                values: m.values.clone(),
                stddev: m.stddev,
                provenance: Provenance::Private,
            })
        };
        let measurements =
            instance.measurements.iter().map(measurement).collect::<jointly::Result<Vec<_>>>()?;
        let loss = SquaredLoss::new(&domain, &measurements, Weighting::InverseVariance)?;
        let oracle = Arc::new(BeliefPropagation::new(&domain, loss.layout()));
        let potentials = Potentials::zeros(loss.layout());
        Ok(Self { domain, total: instance.total, loss, oracle, potentials })
    }

    fn calls(&self, count: u32) -> Result<Value, Failure> {
        let mut workspace = self.oracle.workspace();
        let mut mu = Marginals::zeros(self.oracle.layout());
        let (done, mut times) = timed(|| {
            (0..count).try_for_each(|_| {
                let call =
                    self.oracle.marginals(&self.potentials, self.total, &mut workspace, &mut mu);
                call.map(|_| ())
            })
        });
        done?;
        times["model_cells"] = self.oracle.model_cells().into();
        Ok(times)
    }

    fn steps(&mut self, count: u32) -> Result<Value, Failure> {
        let estimator =
            AcceleratedBregman { stopping: Stopping::after(count), ..Default::default() };
        let (estimate, mut times) =
            timed(|| estimator.estimate(&*self.oracle, &self.loss, self.total, None));
        let estimate = estimate?;
        times["oracle_calls"] = estimate.oracle_calls.into();
        times["objective"] = estimate.loss.into();
        self.potentials = estimate.potentials;
        Ok(times)
    }

    fn fit(&mut self, objective: Option<f64>) -> Result<Value, Failure> {
        let ((calls, found), mut times) = {
            let (outcome, times) = timed(|| self.fit_to(objective));
            (outcome?, times)
        };
        times["oracle_calls"] = calls.into();
        times["objective"] = found.into();
        Ok(times)
    }

    /// Oracle calls made and the objective reached; the potentials become those of the fit.
    fn fit_to(&mut self, objective: Option<f64>) -> jointly::Result<(u32, f64)> {
        let Some(objective) = objective else {
            let fitted = AcceleratedBregman::default().estimate(
                &*self.oracle,
                &self.loss,
                self.total,
                None,
            )?;
            self.potentials = fitted.potentials;
            return Ok((fitted.oracle_calls, fitted.loss));
        };
        let estimator =
            AcceleratedBregman { stopping: Stopping::after(CALLS_AT_A_TIME), ..Default::default() };
        let mut calls = 0;
        self.potentials = Potentials::zeros(self.loss.layout());
        loop {
            let warm_start = (calls > 0).then_some(&self.potentials);
            let fitted = estimator.estimate(&*self.oracle, &self.loss, self.total, warm_start)?;
            calls += fitted.oracle_calls;
            self.potentials = fitted.potentials;
            if fitted.loss <= objective || calls >= MOST_CALLS {
                return Ok((calls, fitted.loss));
            }
        }
    }

    fn sample(&self, rows: usize, method: &str) -> Result<Value, Failure> {
        let method = match method {
            "round" => Sampling::Rounded,
            "sample" => Sampling::Independent,
            other => return Err(format!("no method '{other}'").into()),
        };
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        // As with mbi, where this is part of the draw: the messages of the model are computed again.
        let (table, mut times) = timed(|| {
            let model = MarkovRandomField::new(&self.domain, self.potentials.clone(), self.total)?;
            model.sample(rows, method, &mut rng)
        });
        times["rows"] = table?.records().into();
        Ok(times)
    }
}

fn read(path: &Path) -> Result<Instance, Failure> {
    Ok(serde_json::from_slice(&std::fs::read(path)?)?)
}

/// Records stored with one byte per value, column by column.
fn records(path: &Path, cardinalities: &[u32]) -> Result<Dataset, Failure> {
    let bytes = std::fs::read(path)?;
    let names = cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k));
    let domain = Domain::new(names)?;
    let records = bytes.len() / domain.len().max(1);
    let columns = bytes.chunks_exact(records.max(1)).map(|codes| Column::U8(codes.to_vec()));
    Ok(Dataset::new(domain, columns.collect())?)
}

/// Does the work and reports how long it took.
fn timed<T>(work: impl FnOnce() -> T) -> (T, Value) {
    let (cpu, start) = (support::cpu_seconds(), Instant::now());
    let result = work();
    let seconds = start.elapsed().as_secs_f64();
    let times = json!({ "seconds": seconds, "cpu_seconds": support::cpu_seconds() - cpu });
    (result, times)
}
