//! Growth of time with size: `cargo bench --bench growth -- [attributes|cells|rows|candidates]`.
//!
//! Each part times one kind of work at several sizes and fits `time ~ size^exponent` by least squares on the logs. All
//! inputs are generated with fixed seeds. Prints a Markdown table for each part and one of the exponents.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::time::{Duration, Instant};

use jointly::data::{Dataset, Projectable};
use jointly::domain::{Clique, Domain};
use jointly::graph::cells_within_mib;
use jointly::inference::{BeliefPropagation, MarginalOracle};
use jointly::mechanism::{JamPgm, Mechanism, Task};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use jointly::table::{CliqueLayout, Marginals};

use support::Failure;

/// Work is repeated for at least this long, ...
const LEAST_TIME: Duration = Duration::from_millis(200);
/// ... and at least this many times; the fastest counts.
const LEAST_RUNS: u32 = 3;
/// Values of an attribute where the number of attributes grows.
const VALUES: u32 = 8;

/// One kind of work, at several sizes.
type Part = fn() -> Result<Vec<Series>, Failure>;
/// The neighbor that connects an attribute to the earlier ones.
type Parent = fn(usize) -> usize;

/// Times of one kind of work, by size.
struct Series {
    name: &'static str,
    unit: &'static str,
    points: Vec<(f64, f64)>,
}

impl Series {
    fn new(name: &'static str, unit: &'static str) -> Self {
        Self { name, unit, points: Vec::new() }
    }

    /// Slope of the logs.
    fn exponent(&self) -> f64 {
        let logs: Vec<(f64, f64)> = self.points.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
        let n = logs.len() as f64;
        let (mean_x, mean_y) =
            (logs.iter().map(|p| p.0).sum::<f64>() / n, logs.iter().map(|p| p.1).sum::<f64>() / n);
        let covariance: f64 = logs.iter().map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
        let variance: f64 = logs.iter().map(|(x, _)| (x - mean_x) * (x - mean_x)).sum();
        covariance / variance
    }

    fn row(&self) -> String {
        let points = self.points.iter().map(|(size, time)| format!("{size}: {}", readable(*time)));
        let points = points.collect::<Vec<_>>().join(", ");
        format!("| {} | {} | {points} | {:.2} |", self.name, self.unit, self.exponent())
    }
}

fn main() -> Result<(), Failure> {
    let asked = std::env::args().skip(1).find(|a| !a.starts_with("--")).unwrap_or_default();
    println!("| work | size | time by size | exponent |\n|---|---|---|---|");
    let parts: [(&str, Part); 4] =
        [("attributes", attributes), ("cells", cells), ("rows", rows), ("candidates", candidates)];
    for (_, part) in parts.iter().filter(|(name, _)| name.starts_with(&asked)) {
        for series in part()? {
            println!("{}", series.row());
        }
    }
    Ok(())
}

/// Chains and balanced binary trees of pairs of attributes with eight values each.
fn attributes() -> Result<Vec<Series>, Failure> {
    let shapes: [(Parent, [&str; 2]); 2] = [
        (|i| i - 1, ["plans of a chain", "oracle call on a chain"]),
        (|i| (i - 1) / 2, ["plans of a tree", "oracle call on a tree"]),
    ];
    let mut all = Vec::new();
    for (parent, names) in shapes {
        let [mut plans, mut calls] = names.map(|name| Series::new(name, "attributes"));
        for n in [20, 40, 80, 160, 320, 640] {
            let domain = uniform_domain(n, VALUES)?;
            let cliques: Vec<Clique> = (1..n).map(|i| Clique::new([parent(i), i])).collect();
            let layout = CliqueLayout::new(&domain, cliques)?;
            plans.points.push((n as f64, fastest(|| _ = BeliefPropagation::new(&domain, &layout))));
            let oracle = BeliefPropagation::new(&domain, &layout);
            calls.points.push((n as f64, oracle_call(&oracle)?));
        }
        all.extend([plans, calls]);
    }
    Ok(all)
}

/// Seven attributes in one maximal clique, measured on all their triples, with increasing numbers of values.
fn cells() -> Result<Vec<Series>, Failure> {
    let mut series = Series::new("oracle call, one maximal clique", "MiB of the model");
    for mib in [1.0, 10.0, 40.0, 80.0, 160.0] {
        let cells = cells_within_mib(mib) as f64;
        // Four attributes of 8 values and three that fill the size.
        let k = (cells / 4096.0).cbrt().round();
        let cardinalities = (0..7).map(|i| if i < 4 { 8.0 } else { k });
        let domain =
            Domain::new(cardinalities.enumerate().map(|(i, k)| (format!("x{i}"), whole(k))))?;
        let layout = CliqueLayout::new(&domain, Workload::all_k_way(&domain, 3)?.cliques())?;
        let oracle = BeliefPropagation::new(&domain, &layout);
        let exact = jointly::graph::size_mib(oracle.model_cells());
        series.points.push(((exact * 10.0).round() / 10.0, oracle_call(&oracle)?));
    }
    Ok(vec![series])
}

/// All 105 pairs of 15 columns with Adult's numbers of values: wall time and CPU time.
fn rows() -> Result<Vec<Series>, Failure> {
    const VALUES: [u32; 15] = [32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 32, 32, 32, 42, 2];
    let domain = Domain::new(VALUES.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k)))?;
    let pairs = Workload::all_k_way(&domain, 2)?.cliques();
    let mut wall = Series::new("counting 105 pairs, wall", "records");
    let mut cpu = Series::new("counting 105 pairs, CPU", "records");
    for records in [10_000, 100_000, 1_000_000, 10_000_000] {
        let table = support::skewed_table(&domain, records, 1)?;
        wall.points.push((records as f64, fastest(|| _ = table.project_many(&pairs))));
        let runs = 5;
        let start = support::cpu_seconds();
        for _ in 0..runs {
            table.project_many(&pairs)?;
        }
        let used = (support::cpu_seconds() - start) / f64::from(runs);
        cpu.points.push((records as f64, used));
    }
    Ok(vec![wall, cpu])
}

/// One round of JAM-PGM, which tests and scores every candidate, and the rounds after it.
fn candidates() -> Result<Vec<Series>, Failure> {
    let mut first = Series::new("JAM-PGM, first round", "candidates");
    let mut later = Series::new("JAM-PGM, a round of the next three", "candidates");
    for n in [10, 15, 22, 32, 46] {
        let domain = uniform_domain(n, 4)?;
        let table = support::skewed_table(&domain, 2000, 2)?;
        let workload = Workload::all_k_way(&domain, 3)?;
        let candidates = workload.downward_closure().len() as f64;
        let one = run(&table, &workload, 1)?;
        let four = run(&table, &workload, 4)?;
        first.points.push((candidates, one));
        later.points.push((candidates, ((four - one) / 3.0).max(1e-9)));
    }
    Ok(vec![first, later])
}

/// Seconds of a number of rounds without public data.
fn run(table: &Dataset, workload: &Workload, rounds: u32) -> Result<f64, Failure> {
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    let mechanism = JamPgm { rounds: Some(rounds), ..JamPgm::default() };
    let task = Task::new(workload, &[]);
    let mut least = f64::INFINITY;
    for _ in 0..LEAST_RUNS {
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = Curator::new(table, relation, limit, NoiseSeed::Fixed(3))?;
        let start = Instant::now();
        mechanism.run(&mut curator, &task, &mut Silent)?;
        least = least.min(start.elapsed().as_secs_f64());
    }
    Ok(least)
}

/// Seconds of one call at random potentials.
fn oracle_call(oracle: &BeliefPropagation) -> Result<f64, Failure> {
    let theta = support::random_potentials(oracle.layout(), 4);
    let mut workspace = oracle.workspace();
    let mut mu = Marginals::zeros(oracle.layout());
    oracle.marginals(&theta, 1.0, &mut workspace, &mut mu)?;
    Ok(fastest(|| _ = oracle.marginals(&theta, 1.0, &mut workspace, &mut mu)))
}

fn uniform_domain(attributes: usize, values: u32) -> jointly::Result<Domain> {
    Ok(Domain::new((0..attributes).map(|i| (format!("x{i}"), values)))?)
}

/// Seconds of the fastest run.
fn fastest(mut work: impl FnMut()) -> f64 {
    let (begin, mut runs, mut least) = (Instant::now(), 0, Duration::MAX);
    while runs < LEAST_RUNS || begin.elapsed() < LEAST_TIME {
        let start = Instant::now();
        work();
        least = least.min(start.elapsed());
        runs += 1;
    }
    least.as_secs_f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a small positive number of values"
)]
fn whole(values: f64) -> u32 {
    values as u32
}

/// A time in a suitable unit.
fn readable(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.3} ms", 1e3 * s),
        s if s < 1.0 => format!("{:.1} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}
