//! Seconds of a run by part of a round: `cargo bench --bench rounds -- [TABLE] [MECHANISM[:PARAMETERS]] [EPSILON] [SEED]`,
//! by default `adult`, `jam-pgm`, 1 and 0.
//!
//! Tables: `adult` and `salary` (those of the JAM-PGM paper), `pa` (the 2024 census records of Pennsylvania with
//! Ohio's as public ones, 52 attributes) and `ne` (Nebraska 2018 with South Dakota's, 119 attributes, 2-way marginals).
//! Parameters are JSON, as in `jam-pgm:{"rounds":52}`. δ = 10⁻⁹, replace-one. Reads `JOINTLY_DATA`.
//!
//! The first table adds up what the run's events separate: until a choice is made (size filter and scores), until the
//! marginal is measured, until the model is fitted. The second times the parts of one round's scores on the last model:
//! marginals in the tree, those off the tree by the cells that their eliminations visit, records and their counts.

#![expect(clippy::print_stdout, reason = "a report of measurements")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::path::Path;
use std::time::Instant;

use jointly::data::{Dataset, Projectable, PublicData, read_csv, read_public_csv};
use jointly::domain::{Clique, Schema};
use jointly::graph::JunctionTree;
use jointly::mechanism::{FitRecord, Task, find};
use jointly::model::MarkovRandomField;
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use serde_json::{Map, Value};

use support::{Failure, cpu_seconds};

/// Cells that eliminations of one round visit at most; costlier marginals are counted in drawn records.
const EXACT_CELLS: u64 = 1 << 28;
/// Records for the others: about four for each record of Pennsylvania.
const RECORDS: usize = 1 << 19;
/// Marginals asked for at once.
const AT_ONCE: usize = 2_048;

/// A private table with a public one.
struct Case {
    private: Dataset,
    public: Vec<PublicData>,
    workload: Workload,
}

impl Case {
    fn read(root: &Path, name: &str) -> Result<Self, Failure> {
        let (folder, schema, private, public) = match name {
            "adult" => ("jam-adult", "domain.json", "priv.csv.gz", "pub025.csv"),
            "salary" => ("jam-salary", "domain.json", "priv.csv.gz", "pub.csv"),
            "pa" => ("acs2024-person-household", "schema.json", "pa.csv.gz", "oh.csv.gz"),
            "ne" => ("acs2018-person", "schema.json", "ne.csv.gz", "sd.csv.gz"),
            other => {
                return Err(format!("unknown table {other}: adult, salary, pa or ne").into());
            }
        };
        let folder = root.join(folder);
        let schema = match name {
            "ne" => support::census_2018(root, false)?,
            _ => Schema::read(&folder.join(schema))?,
        };
        let private = read_csv(&folder.join(private), &schema)?;
        let domain = private.domain().clone();
        let rows = read_public_csv(&folder.join(public), &schema)?;
        let public = vec![PublicData::new(public, rows, &domain)?];
        let order = if name == "ne" { 2 } else { 3 };
        let (workload, _) = Workload::all_k_way(&domain, order)?.restrict(&domain, 10_000)?;
        Ok(Self { private, public, workload })
    }
}

/// Adds up the time between events.
struct Clock {
    last: (Instant, f64),
    /// Name, seconds and CPU seconds of each part.
    parts: Vec<(&'static str, f64, f64)>,
}

impl Clock {
    fn new() -> Self {
        Self { last: (Instant::now(), cpu_seconds()), parts: Vec::new() }
    }

    fn end(&mut self, name: &'static str) {
        let now = (Instant::now(), cpu_seconds());
        let (wall, cpu) = ((now.0 - self.last.0).as_secs_f64(), now.1 - self.last.1);
        self.last = now;
        match self.parts.iter_mut().find(|part| part.0 == name) {
            Some(part) => (part.1, part.2) = (part.1 + wall, part.2 + cpu),
            None => self.parts.push((name, wall, cpu)),
        }
    }

    fn print(&self) {
        println!("| part | seconds | CPU s |\n| --- | --- | --- |");
        for (name, wall, cpu) in &self.parts {
            println!("| {name} | {wall:.2} | {cpu:.2} |");
        }
        let sum = |of: fn(&(&str, f64, f64)) -> f64| self.parts.iter().map(of).sum::<f64>();
        println!("| all | {:.2} | {:.2} |", sum(|part| part.1), sum(|part| part.2));
    }
}

impl Observer for Clock {
    fn event(&mut self, event: &Event) {
        match event {
            Event::Scored { .. } => self.end("size filter and scores"),
            Event::Measured { .. } => self.end("choice and measurement"),
            Event::Fitted { .. } => self.end("fit"),
            Event::Certified(_) => self.end("certificate"),
            _ => self.end("before the rounds"),
        }
    }
}

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let arg = |at: usize, usual| args.get(at).map_or(usual, String::as_str);
    let case = Case::read(&root, arg(0, "adult"))?;
    let (name, parameters) = arg(1, "jam-pgm").split_once(':').unwrap_or((arg(1, "jam-pgm"), "{}"));
    let parameters: Map<String, Value> = serde_json::from_str(parameters)?;
    let mechanism = find(name)?.build(&parameters)?;
    let rho = rho_from_epsilon_delta(Epsilon::new(arg(2, "1").parse()?)?, Delta::new(1e-9)?)?;
    let seed = NoiseSeed::Fixed(arg(3, "0").parse()?);
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&case.private, relation, rho, seed)?;
    let task = Task::new(&case.workload, &case.public);
    let mut clock = Clock::new();
    let release = mechanism.run(&mut curator, &task, &mut clock)?;
    clock.end("after the rounds");
    println!("{name} on {}, {} rounds\n", arg(0, "adult"), release.rounds.len());
    clock.print();
    let fits = release.rounds.iter().filter_map(|record| match record.fit {
        Some(FitRecord::GraphicalModel { oracle_calls, model_mib, .. }) => {
            Some((f64::from(oracle_calls), f64::from(oracle_calls) * model_mib))
        }
        _ => None,
    });
    let (calls, work) = fits.fold((0.0, 0.0), |all, fit| (all.0 + fit.0, all.1 + fit.1));
    if calls > 0.0 {
        println!("\nfits: {calls} oracle calls on models of {:.1} MiB in the mean", work / calls);
    }
    if let Some(certificate) = &release.certificate {
        let (noise, doubt) = (certificate.noise, certificate.doubt());
        println!(
            "certificate: loss {:.4e}, gap {:.3e}, of which the bound's {:.3} standard deviations of noise",
            certificate.loss,
            certificate.gap(),
            doubt / noise
        );
    }
    if let Some(model) = release.model.as_markov_random_field() {
        println!();
        scores(model, &case.workload.downward_closure())?;
    }
    Ok(())
}

/// Times the parts of one round's scores, with all marginals as candidates.
fn scores(model: &MarkovRandomField, cliques: &[Clique]) -> Result<(), Failure> {
    let mut clock = Clock::new();
    let tree = JunctionTree::new(model.domain(), model.potentials().layout().cliques());
    let in_tree = |clique: &Clique| tree.host(clique).is_some();
    let (inside, outside): (Vec<Clique>, Vec<Clique>) = cliques.iter().cloned().partition(in_tree);
    clock.end("finding what is in the tree");
    for part in inside.chunks(AT_ONCE) {
        model.marginals(part)?;
    }
    clock.end("in the tree");
    let (exact, sampled) = model.affordable(&outside, EXACT_CELLS);
    clock.end("planning the others");
    let cliques = |places: &[usize]| -> Vec<Clique> {
        places.iter().map(|place| outside[*place].clone()).collect()
    };
    let (exact, sampled) = (cliques(&exact), cliques(&sampled));
    for part in exact.chunks(AT_ONCE) {
        model.marginals(part)?;
    }
    clock.end("off the tree");
    let rows = model.sample_for(&sampled, RECORDS, 0)?;
    clock.end("records");
    for part in sampled.chunks(AT_ONCE) {
        rows.project_many(part)?;
    }
    clock.end("counts of records");
    println!(
        "one round: {} marginals in the tree, {} off it, {} in {} records\n",
        inside.len(),
        exact.len(),
        sampled.len(),
        rows.records()
    );
    clock.print();
    Ok(())
}
