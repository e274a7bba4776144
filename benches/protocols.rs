//! Mechanisms on real data:
//! `cargo bench --bench protocols -- [DATA [EPSILON [SEEDS [ROUNDS [ITERATIONS [MECHANISM [RELATION]]]]]]]`.
//! MECHANISM is `jam-pgm` (the default), `aim`, `mst`, `mwem-pgm` or `independent`; RELATION `replace-one` (the default)
//! or `add-remove-one`. `-` stands for the default of any argument but the first.
//!
//! DATA is the beginning of a name below: the JAM-PGM paper's sets (`adult`, `titanic`, `salary`) and states of the
//! ACS (`pa-oh` is private Pennsylvania with public Ohio; `ne-sd` Nebraska with South Dakota, 119 attributes and all
//! 2-way marginals). Prints, for each data set and epsilon, the workload error (mean over the workload, else all 3-way marginals, of the L1
//! distance of frequencies) of the public table, of true one-way marginals with independence, and of the synthetic
//! records; public picks, seconds, CPU seconds and peak memory. Reads `JOINTLY_DATA`; with `JOINTLY_TRACE` set it
//! prints every event.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::time::Instant;

use jointly::data::{Dataset, Projectable, PublicData, read_csv, read_public_csv};
use jointly::domain::{Clique, Schema};
use jointly::measurement::Provenance;
use jointly::mechanism::{Aim, Independent, JamPgm, Mechanism, Mst, MwemPgm, Task};
use jointly::model::Sampling;
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use support::Failure;

/// A private table, public tables, and what is asked of the synthetic one.
struct Case {
    name: &'static str,
    folder: &'static str,
    schema: &'static str,
    private: &'static str,
    public: &'static [&'static str],
    /// Attributes of each marginal of the workload.
    way: usize,
    /// Cells of its largest marginal.
    most_cells: u64,
    epsilons: &'static [f64],
    /// Rounds where none are asked for; `None`: the mechanism's own number.
    rounds: Option<u32>,
    /// Which attributes take part.
    keep: fn(&str) -> bool,
}

const PAPER: Case = Case {
    name: "",
    folder: "",
    schema: "domain.json",
    private: "priv.csv.gz",
    public: &["pub.csv"],
    way: 3,
    most_cells: u64::MAX,
    epsilons: &[0.1, 1.0, 10.0],
    rounds: None,
    keep: |_| true,
};
const PENNSYLVANIA: Case = Case {
    folder: "acs2024-person-household",
    schema: "schema.json",
    private: "pa.csv.gz",
    most_cells: 10_000,
    epsilons: &[1.0],
    ..PAPER
};

const CASES: [Case; 12] = [
    Case { name: "adult025", folder: "jam-adult", public: &["pub025.csv"], ..PAPER },
    Case { name: "adult050", folder: "jam-adult", public: &["pub050.csv"], ..PAPER },
    Case { name: "adult075", folder: "jam-adult", public: &["pub075.csv"], ..PAPER },
    Case { name: "adult100", folder: "jam-adult", public: &["pub100.csv"], ..PAPER },
    Case { name: "titanic", folder: "jam-titanic", private: "priv.csv", ..PAPER },
    Case { name: "salary", folder: "jam-salary", ..PAPER },
    Case { name: "pa-oh", public: &["oh.csv.gz"], ..PENNSYLVANIA },
    Case { name: "pa-ga", public: &["ga.csv.gz"], ..PENNSYLVANIA },
    Case { name: "pa-nj", public: &["nj.csv.gz"], ..PENNSYLVANIA },
    Case { name: "pa-hi", public: &["hi.csv.gz"], ..PENNSYLVANIA },
    Case {
        name: "pa-all",
        public: &["oh.csv.gz", "ga.csv.gz", "nj.csv.gz", "hi.csv.gz"],
        ..PENNSYLVANIA
    },
    Case {
        name: "ne-sd",
        folder: "acs2018-person",
        private: "ne.csv.gz",
        public: &["sd.csv.gz"],
        way: 2,
        rounds: Some(119),
        keep: is_substantive,
        ..PENNSYLVANIA
    },
];
/// Marginals counted at a time.
const BATCH: usize = 1000;
const DELTA: f64 = 1e-9;

/// Whether an attribute of the ACS 2018 is no allocation flag: those are named `F...P` or `F...C`.
fn is_substantive(name: &str) -> bool {
    const FIELDS_OF_DEGREE: [&str; 2] = ["FOD1P", "FOD2P"];
    let flag = name.starts_with('F') && name.ends_with(['P', 'C']);
    !flag || FIELDS_OF_DEGREE.contains(&name)
}

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let text = |i: usize| args.get(i).map_or("", String::as_str);
    let seeds: u64 = text(2).parse().unwrap_or(5);
    let rounds: Option<u32> = text(3).parse().ok();
    let iterations: u32 = text(4).parse().unwrap_or(1000);
    let relation = match text(6) {
        "" | "-" | "replace-one" => NeighboringRelation::ReplaceOne,
        "add-remove-one" => NeighboringRelation::AddRemoveOne,
        other => return Err(format!("no relation is called '{other}'").into()),
    };
    println!(
        "| data | epsilon | public | independent | error: mean (min to max) | public picks | seconds | CPU s | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for case in CASES.iter().filter(|case| case.name.starts_with(text(0))) {
        let name = case.name;
        let folder = root.join(case.folder);
        let schema = Schema::read(&folder.join(case.schema))?;
        let names = schema.attributes().map(|a| a.name.as_str());
        let kept: Vec<&str> = names.filter(|name| (case.keep)(name)).collect();
        let schema = schema.select(&kept)?;
        let domain = schema.domain();
        let private = read_csv(&folder.join(case.private), &schema)?;
        let tables = case
            .public
            .iter()
            .map(|file| read_public_csv(&folder.join(file), &schema))
            .collect::<Result<Vec<_>, _>>()?;
        let (workload, _) =
            Workload::all_k_way(&domain, case.way)?.restrict(&domain, case.most_cells)?;
        let cliques = workload.cliques();
        let truth = Projectable::project_many(&private, &cliques)?;
        let mut alone = Vec::new();
        for table in &tables {
            alone.push(format!("{:.4}", error(&truth, table, &cliques)?));
        }
        let independent = independent(&private, &truth, &cliques)?;
        let public = case
            .public
            .iter()
            .zip(tables)
            .map(|(name, table)| PublicData::new(*name, table, &domain))
            .collect::<Result<Vec<_>, _>>()?;
        for &epsilon in case.epsilons {
            if text(1).parse::<f64>().is_ok_and(|asked| (asked - epsilon).abs() > 1e-12) {
                continue;
            }
            let task = Task { workload: &workload, public: &public };
            let (mut errors, mut picks) = (Vec::new(), Vec::new());
            let (mut seconds, mut cpu) = (Vec::new(), Vec::new());
            for seed in 0..seeds {
                let (start, cpu_start) = (Instant::now(), support::cpu_seconds());
                let limit = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(DELTA)?)?;
                let mut curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(seed))?;
                let mechanism = mechanism(text(5), rounds.or(case.rounds), iterations)?;
                let release = mechanism.run(&mut curator, &task, &mut Trace::default())?;
                let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
                let rows = release.model.sample(private.records(), Sampling::Rounded, &mut rng)?;
                seconds.push(start.elapsed().as_secs_f64());
                cpu.push(support::cpu_seconds() - cpu_start);
                errors.push(error(&truth, &rows, &cliques)?);
                let free =
                    |m: &&jointly::measurement::Measurement| m.provenance != Provenance::Private;
                picks.push(release.measurements.iter().filter(free).count().to_string());
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let low = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let high = errors.iter().copied().fold(0.0, f64::max);
            println!(
                "| {name} | {epsilon} | {} | {independent:.4} | {:.4} ({low:.4} to {high:.4}) | {} | {:.1} | {:.1} | {:.0} |",
                alone.join(", "),
                mean(&errors),
                picks.join(", "),
                mean(&seconds),
                mean(&cpu),
                support::peak_mib(),
            );
        }
    }
    Ok(())
}

/// The mechanism of a name, with as many rounds as asked for.
fn mechanism(
    name: &str,
    rounds: Option<u32>,
    iterations: u32,
) -> Result<Box<dyn Mechanism>, Failure> {
    Ok(match name {
        "" | "-" | "jam-pgm" => Box::new(JamPgm { rounds, iterations, ..JamPgm::default() }),
        "aim" => Box::new(Aim { rounds, iterations, ..Aim::default() }),
        "mst" => Box::new(Mst { iterations, ..Mst::default() }),
        "mwem-pgm" => Box::new(MwemPgm { rounds, iterations, ..MwemPgm::default() }),
        "independent" => Box::new(Independent { iterations, ..Independent::default() }),
        other => return Err(format!("no mechanism is called '{other}'").into()),
    })
}

/// With `JOINTLY_TRACE` set, prints the events of a run with the time of each.
struct Trace {
    start: Instant,
    on: bool,
}

impl Default for Trace {
    fn default() -> Self {
        Self { start: Instant::now(), on: std::env::var_os("JOINTLY_TRACE").is_some() }
    }
}

impl Observer for Trace {
    fn event(&mut self, event: &Event) {
        if self.on {
            println!("{:8.2} {event:?}", self.start.elapsed().as_secs_f64());
        }
    }
}

/// Mean over the cliques of the L1 distance of frequencies.
fn error(truth: &[Vec<u32>], other: &Dataset, cliques: &[Clique]) -> Result<f64, Failure> {
    let mut sum = 0.0;
    for (truth, cliques) in truth.chunks(BATCH).zip(cliques.chunks(BATCH)) {
        let found = Projectable::project_many(other, cliques)?;
        let m = other.records() as f64;
        for (a, b) in truth.iter().zip(&found) {
            let n: f64 = a.iter().map(|x| f64::from(*x)).sum();
            let cells = a.iter().zip(b);
            sum += cells.map(|(x, y)| (f64::from(*x) / n - f64::from(*y) / m).abs()).sum::<f64>();
        }
    }
    Ok(sum / cliques.len() as f64)
}

/// The same for the true one-way marginals with all attributes independent.
fn independent(private: &Dataset, truth: &[Vec<u32>], cliques: &[Clique]) -> Result<f64, Failure> {
    let domain = private.domain();
    let singles: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
    let counts = Projectable::project_many(private, &singles)?;
    let n = private.records() as f64;
    let mut sum = 0.0;
    for (truth, clique) in truth.iter().zip(cliques) {
        let product = clique.iter().fold(vec![1.0], |product: Vec<f64>, a| {
            let shares = counts[a].iter().map(|c| f64::from(*c) / n);
            product.iter().flat_map(|p| shares.clone().map(move |s| p * s)).collect()
        });
        sum += truth.iter().zip(product).map(|(x, y)| (f64::from(*x) / n - y).abs()).sum::<f64>();
    }
    Ok(sum / cliques.len() as f64)
}
