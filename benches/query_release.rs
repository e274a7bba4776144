//! Errors of the query-release mechanisms. `docs/results/adaptive-measurements.md` and `pmw-pub.md`
//! compare them with published figures.
//!
//! `cargo bench --bench query_release -- [SEEDS] [TABLE] [MECHANISM[:PARAMETERS] ...]`, by default 3 seeds,
//! `adult-gem-reduced` and MWEM and PEP. Tables: `split90` (`adult-gem` with 4,873 public records, 4,080 of them
//! distinct), `pa24` (the 2024 census records of Pennsylvania, with Ohio's as public ones), or any folder of the data
//! with a `domain.json` and without public records. The workload is all 3-way queries, for `pa24` 4,096 triples of at
//! most 4,096 cells.
//! Parameters are JSON, such as `fem:{"burn-in":50}`. `EPSILONS=0.1,1` are other budgets than 0.1, 0.25, 0.5 and 1. δ =
//! 1/n², replace-one. Errors are those of the model, as probabilities: mean and standard deviation over the seeds 0, 1,
//! .... CPU seconds are those of a run. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a report of measurements")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::path::Path;

use jointly::data::{Dataset, PublicData, read_csv, read_public_csv};
use jointly::domain::Schema;
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{FitRecord, Release, Task, find};
use jointly::model::WeightedSupport;
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use serde_json::{Map, Value};

use support::Failure;

/// A private table, with or without public records.
struct Case {
    name: String,
    private: Dataset,
    public: Vec<PublicData>,
    workload: Workload,
}

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let seeds: u64 = args.first().map_or(Ok(3), |text| text.parse())?;
    let case = Case::read(&root, args.get(1).map_or("adult-gem-reduced", String::as_str))?;
    let usual = ["mwem".to_owned(), "pep".to_owned()];
    let settings = args.get(2..).filter(|given| !given.is_empty()).unwrap_or(&usual);
    let epsilons = std::env::var("EPSILONS").unwrap_or_else(|_| "0.1,0.25,0.5,1".into());
    let epsilons: Vec<f64> = epsilons.split(',').map(str::parse).collect::<Result<_, _>>()?;
    println!("| data | mechanism | ε | T | max | mean | RMSE | CPU s | |");
    println!("| --- | --- | --- | --- | --- | --- | --- | --- | --- |");
    case.report_public()?;
    for setting in settings {
        for epsilon in &epsilons {
            case.report(setting, *epsilon, seeds)?;
        }
    }
    Ok(())
}

impl Case {
    fn read(root: &Path, name: &str) -> Result<Self, Failure> {
        let (folder, private, public) = match name {
            "split90" => ("adult-gem", "split90-priv.csv.gz", Some("split90-pub.csv.gz")),
            "pa24" => ("acs2024-person-household", "pa.csv.gz", Some("oh.csv.gz")),
            folder => {
                let files = ["data.csv.gz", "priv.csv", "priv.csv.gz"];
                let file = files.into_iter().find(|file| root.join(folder).join(file).is_file());
                (folder, file.ok_or("no private table")?, None)
            }
        };
        let folder = root.join(folder);
        let schema = ["schema.json", "domain.json"].map(|file| folder.join(file));
        let schema = schema.iter().find(|path| path.is_file()).ok_or("no schema")?;
        let schema = Schema::read(schema)?;
        let domain = schema.domain();
        let mut tables = Vec::new();
        if let Some(public) = public {
            let rows = read_public_csv(&folder.join(public), &schema)?;
            tables.push(PublicData::new(public, rows, &domain)?);
        }
        let mut workload = Workload::all_k_way(&domain, 3)?;
        if name == "pa24" {
            workload = workload.restrict(&domain, 4096)?.0.sampled(4096, 0)?;
        }
        let private = read_csv(&folder.join(private), &schema)?;
        Ok(Self { name: name.to_owned(), private, public: tables, workload })
    }

    /// Prints the errors of the public records alone.
    fn report_public(&self) -> Result<(), Failure> {
        if self.public.is_empty() {
            return Ok(());
        }
        let public = WeightedSupport::from_public(self.private.domain(), &self.public, 1.0)?;
        let error = WorkloadError::of_model(&self.private, &public.into(), &self.workload, 0)?;
        let WorkloadError { max_query, mean_query, rmse_query, .. } = error;
        let name = &self.name;
        println!(
            "| {name} | public records | | | {max_query:.4} | {mean_query:.2e} | {rmse_query:.2e} | | |"
        );
        Ok(())
    }

    /// Prints the row of a mechanism at a budget.
    fn report(&self, setting: &str, epsilon: f64, seeds: u64) -> Result<(), Failure> {
        let (name, parameters) = setting.split_once(':').unwrap_or((setting, "{}"));
        let parameters: Map<String, Value> = serde_json::from_str(parameters)?;
        let mechanism = find(name)?.build(&parameters)?;
        let n = self.private.records() as f64;
        let limit = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(n.powi(-2))?)?;
        let task = Task::new(&self.workload, &self.public);
        let (mut errors, mut last, mut seconds) = (Vec::new(), None, 0.0);
        for seed in 0..seeds {
            let (relation, seed) = (NeighboringRelation::ReplaceOne, NoiseSeed::Fixed(seed));
            let mut curator = Curator::new(&self.private, relation, limit, seed)?;
            let start = support::cpu_seconds();
            let release = mechanism.run(&mut curator, &task, &mut Silent)?;
            seconds += support::cpu_seconds() - start;
            let error = WorkloadError::of_model(&self.private, &release.model, &self.workload, 0)?;
            errors.push([error.max_query, error.mean_query, error.rmse_query]);
            last = Some(release);
        }
        let k = errors.len() as f64;
        let of = |i: usize| {
            let mean = errors.iter().map(|e| e[i]).sum::<f64>() / k;
            let squares = errors.iter().map(|e| (e[i] - mean).powi(2)).sum::<f64>();
            (mean, (squares / (k - 1.0).max(1.0)).sqrt())
        };
        let [max, mean, rmse] = [of(0), of(1), of(2)];
        let Some(release) = last else { return Ok(()) };
        println!(
            "| {} | {setting} | {epsilon} | {} | {:.4} ± {:.4} | {:.2e} ± {:.0e} | {:.2e} ± {:.0e} | {:.1} | {} |",
            self.name,
            release.rounds.len(),
            max.0,
            max.1,
            mean.0,
            mean.1,
            rmse.0,
            rmse.1,
            seconds / k,
            proved(&release),
        );
        Ok(())
    }
}

/// Of records that an oracle found: the share that is proved to be best, and the number of distinct ones.
fn proved(release: &Release) -> String {
    let count = |fit: Option<FitRecord>| match fit {
        Some(FitRecord::BestResponses { records, proved, .. }) => (records, proved),
        _ => (0, 0),
    };
    let counts = release.rounds.iter().map(|round| count(round.fit));
    let (all, proved) = counts.fold((0, 0), |(a, b), (c, d)| (a + c, b + d));
    let distinct = release.model.as_weighted_support().map_or(0, WeightedSupport::size);
    if all == 0 {
        return String::new();
    }
    format!("{:.0} % proved, {distinct} distinct", 100.0 * f64::from(proved) / f64::from(all))
}
