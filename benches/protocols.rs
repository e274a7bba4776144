//! Mechanisms on real data:
//! `cargo bench --bench protocols -- [DATA [EPSILON [SEEDS [ROUNDS [ITERATIONS [MECHANISM [RELATION]]]]]]]`.
//! MECHANISM is `jam-pgm` (the default), `aim`, `mst`, `mwem-pgm` or `independent`; RELATION `replace-one` (the default)
//! or `add-remove-one`. `-` stands for the default of any argument but the first.
//!
//! DATA is the beginning of a name below: the JAM-PGM paper's sets (`adult`, `titanic`, `salary`) and states of the
//! ACS (`pa-oh` is private Pennsylvania with public Ohio). Prints, for each data set and epsilon, the workload error
//! (mean over all 3-way marginals of the L1 distance of frequencies) of the public table, of true one-way marginals
//! with independence, and of the synthetic records; public picks, seconds and peak memory. Reads `JOINTLY_DATA`;
//! with `JOINTLY_TRACE` set it prints every event.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::{Path, PathBuf};
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

/// Name, folder, schema, private file, public files.
type Case = (&'static str, &'static str, &'static str, &'static str, &'static [&'static str]);

const DATA: [Case; 11] = [
    ("adult025", "jam-adult", "domain.json", "priv.csv.gz", &["pub025.csv"]),
    ("adult050", "jam-adult", "domain.json", "priv.csv.gz", &["pub050.csv"]),
    ("adult075", "jam-adult", "domain.json", "priv.csv.gz", &["pub075.csv"]),
    ("adult100", "jam-adult", "domain.json", "priv.csv.gz", &["pub100.csv"]),
    ("titanic", "jam-titanic", "domain.json", "priv.csv", &["pub.csv"]),
    ("salary", "jam-salary", "domain.json", "priv.csv.gz", &["pub.csv"]),
    ("pa-oh", "acs2024-person-household", "schema.json", "pa.csv.gz", &["oh.csv.gz"]),
    ("pa-ga", "acs2024-person-household", "schema.json", "pa.csv.gz", &["ga.csv.gz"]),
    ("pa-nj", "acs2024-person-household", "schema.json", "pa.csv.gz", &["nj.csv.gz"]),
    ("pa-hi", "acs2024-person-household", "schema.json", "pa.csv.gz", &["hi.csv.gz"]),
    (
        "pa-all",
        "acs2024-person-household",
        "schema.json",
        "pa.csv.gz",
        &["oh.csv.gz", "ga.csv.gz", "nj.csv.gz", "hi.csv.gz"],
    ),
];
/// Cells of the largest marginal of the workload on ACS.
const ACS_CELLS: u64 = 10_000;
/// Marginals counted at a time.
const BATCH: usize = 1000;
const DELTA: f64 = 1e-9;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let root = std::env::var_os("JOINTLY_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"),
        PathBuf::from,
    );
    if !root.is_dir() {
        println!("SKIPPED: no data at {} (set JOINTLY_DATA)", root.display());
        return Ok(());
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let text = |i: usize| args.get(i).map_or("", String::as_str);
    let seeds: u64 = text(2).parse().unwrap_or(5);
    let rounds: Option<u32> = text(3).parse().ok();
    let iterations: u32 = text(4).parse().unwrap_or(1000);
    let mechanism = mechanism(text(5), rounds, iterations)?;
    let relation = match text(6) {
        "" | "-" | "replace-one" => NeighboringRelation::ReplaceOne,
        "add-remove-one" => NeighboringRelation::AddRemoveOne,
        other => return Err(format!("no relation is called '{other}'").into()),
    };
    println!(
        "| data | epsilon | public | independent | error: mean (min to max) | public picks | seconds | peak MiB |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for (name, folder, schema, private, public) in DATA.iter().filter(|d| d.0.starts_with(text(0)))
    {
        let acs = folder.starts_with("acs");
        let folder = root.join(folder);
        let schema = Schema::read(&folder.join(schema))?;
        let domain = schema.domain();
        let private = read_csv(&folder.join(private), &schema)?;
        let tables = public
            .iter()
            .map(|file| read_public_csv(&folder.join(file), &schema))
            .collect::<Result<Vec<_>, _>>()?;
        let workload = Workload::all_k_way(&domain, 3)?;
        let workload = if acs { workload.restrict(&domain, ACS_CELLS)?.0 } else { workload };
        let cliques = workload.cliques();
        let truth = Projectable::project_many(&private, &cliques)?;
        let mut alone = Vec::new();
        for table in &tables {
            alone.push(format!("{:.4}", error(&truth, table, &cliques)?));
        }
        let independent = independent(&private, &truth, &cliques)?;
        let public = public
            .iter()
            .zip(tables)
            .map(|(name, table)| PublicData::new(*name, table, &domain))
            .collect::<Result<Vec<_>, _>>()?;
        for epsilon in if acs { &[1.0][..] } else { &[0.1, 1.0, 10.0] } {
            let epsilon = *epsilon;
            if text(1).parse::<f64>().is_ok_and(|asked| (asked - epsilon).abs() > 1e-12) {
                continue;
            }
            let task = Task { workload: &workload, public: &public };
            let (mut errors, mut picks, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
            for seed in 0..seeds {
                let start = Instant::now();
                let limit = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(DELTA)?)?;
                let mut curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(seed))?;
                let release = mechanism.run(&mut curator, &task, &mut Trace::default())?;
                let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
                let rows = release.model.sample(private.records(), Sampling::Rounded, &mut rng)?;
                seconds.push(start.elapsed().as_secs_f64());
                errors.push(error(&truth, &rows, &cliques)?);
                let free =
                    |m: &&jointly::measurement::Measurement| m.provenance != Provenance::Private;
                picks.push(release.measurements.iter().filter(free).count().to_string());
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let low = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let high = errors.iter().copied().fold(0.0, f64::max);
            println!(
                "| {name} | {epsilon} | {} | {independent:.4} | {:.4} ({low:.4} to {high:.4}) | {} | {:.1} | {} |",
                alone.join(", "),
                mean(&errors),
                picks.join(", "),
                mean(&seconds),
                peak_mib(),
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

/// Peak memory of the process so far, from the system; empty where it does not tell.
fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or_else(String::new, |kib| format!("{:.0}", kib / 1024.0))
}
