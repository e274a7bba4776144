//! JAM-PGM on the paper's data sets: `cargo bench --bench jam_protocol -- [DATA [EPSILON [SEEDS [ROUNDS]]]]`.
//!
//! Prints, for each data set and epsilon, the workload error of the synthetic records (mean over all 3-way marginals
//! of the L1 distance of frequencies), public picks, seconds and peak memory. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its table")]

use std::path::{Path, PathBuf};
use std::time::Instant;

use jointly::data::{Dataset, Projectable, PublicData, read_csv, read_public_csv};
use jointly::domain::Schema;
use jointly::measurement::Provenance;
use jointly::mechanism::{JamPgm, Mechanism, Task};
use jointly::model::Sampling;
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

const DATA: [(&str, &str, &str, &str); 6] = [
    ("adult025", "jam-adult", "priv.csv.gz", "pub025.csv"),
    ("adult050", "jam-adult", "priv.csv.gz", "pub050.csv"),
    ("adult075", "jam-adult", "priv.csv.gz", "pub075.csv"),
    ("adult100", "jam-adult", "priv.csv.gz", "pub100.csv"),
    ("titanic", "jam-titanic", "priv.csv", "pub.csv"),
    ("salary", "jam-salary", "priv.csv.gz", "pub.csv"),
];
const DELTA: f64 = 1e-9;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let root = std::env::var_os("JOINTLY_DATA")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/data"), PathBuf::from);
    if !root.is_dir() {
        println!("SKIPPED: no data at {} (set JOINTLY_DATA)", root.display());
        return Ok(());
    }
    let args: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let text = |i: usize| args.get(i).map_or("", String::as_str);
    let seeds: u64 = text(2).parse().unwrap_or(5);
    let rounds: u32 = text(3).parse().unwrap_or(30);
    println!("| data | epsilon | public alone | error: mean (min to max) | public picks | seconds | peak MiB |");
    println!("|---|---|---|---|---|---|---|");
    for (name, folder, private, public) in DATA.iter().filter(|d| d.0.starts_with(text(0))) {
        let folder = root.join(folder);
        let schema = Schema::read(&folder.join("domain.json"))?;
        let private = read_csv(&folder.join(private), &schema)?;
        let public = read_public_csv(&folder.join(public), &schema)?;
        let workload = Workload::all_k_way(&schema.domain(), 3)?;
        let alone = error(&private, &public, &workload)?;
        let public = [PublicData::new("public", public, &schema.domain())?];
        for epsilon in [0.1, 1.0, 10.0] {
            if text(1).parse::<f64>().is_ok_and(|asked| (asked - epsilon).abs() > 1e-12) {
                continue;
            }
            let task = Task { workload: &workload, public: &public };
            let (mut errors, mut picks, mut seconds) = (Vec::new(), Vec::new(), Vec::new());
            for seed in 0..seeds {
                let start = Instant::now();
                let limit = rho_from_epsilon_delta(Epsilon::new(epsilon)?, Delta::new(DELTA)?)?;
                let relation = NeighboringRelation::ReplaceOne;
                let mut curator = Curator::new(&private, relation, limit, NoiseSeed::Fixed(seed))?;
                let jam = JamPgm { rounds: Some(rounds), ..JamPgm::default() };
                let release = jam.run(&mut curator, &task, &mut Trace::default())?;
                let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
                let rows = release.model.sample(private.records(), Sampling::Rounded, &mut rng)?;
                seconds.push(start.elapsed().as_secs_f64());
                errors.push(error(&private, &rows, &workload)?);
                let free = |m: &&jointly::measurement::Measurement| m.provenance != Provenance::Private;
                picks.push(release.measurements.iter().filter(free).count().to_string());
            }
            let mean = |x: &[f64]| x.iter().sum::<f64>() / x.len() as f64;
            let low = errors.iter().copied().fold(f64::INFINITY, f64::min);
            let high = errors.iter().copied().fold(0.0, f64::max);
            println!(
                "| {name} | {epsilon} | {alone:.4} | {:.4} ({low:.4} to {high:.4}) | {} | {:.1} | {} |",
                mean(&errors),
                picks.join(", "),
                mean(&seconds),
                peak_mib(),
            );
        }
    }
    Ok(())
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

/// Mean over the workload of the L1 distance of frequencies.
fn error(real: &Dataset, other: &Dataset, workload: &Workload) -> Result<f64, Failure> {
    let cliques = workload.cliques();
    let a = Projectable::project_many(real, &cliques)?;
    let b = Projectable::project_many(other, &cliques)?;
    let (n, m) = (real.records() as f64, other.records() as f64);
    let distances = a.iter().zip(&b).map(|(a, b)| {
        a.iter().zip(b).map(|(x, y)| (f64::from(*x) / n - f64::from(*y) / m).abs()).sum::<f64>()
    });
    Ok(distances.sum::<f64>() / cliques.len() as f64)
}

/// Peak memory of the process so far, from the system; empty where it does not tell.
fn peak_mib() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib: Option<f64> = line.and_then(|l| l.trim().trim_end_matches(" kB").parse().ok());
    kib.map_or_else(String::new, |kib| format!("{:.0}", kib / 1024.0))
}
