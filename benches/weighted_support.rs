//! Weighted supports on census records: `cargo bench --bench weighted_support -- round` (or `count`, `support`).
//!
//! The support is the public table of Ohio (`acs2024-person-household/oh.csv.gz`: 52 attributes), the private table
//! that of Pennsylvania, the workload 4,096 triples of at most 4,096 cells, drawn with a fixed seed. `round` is one
//! round of PMW^Pub (single queries, epsilon 1 over 50 rounds): the time from one fit to the next, taken from a run.
//! `count` computes the marginals of the support on the whole workload, which is most of a round. Reads `JOINTLY_DATA`.

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::hint::black_box;
use std::time::{Duration, Instant};

use criterion::Criterion;
use jointly::data::{Dataset, PublicData, read_csv, read_public_csv};
use jointly::domain::{Clique, Domain, Schema};
use jointly::mechanism::{Mechanism, PmwPub, QueryRelease, Task};
use jointly::model::{Distribution, WeightedSupport};
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::{WeightedClique, Workload};
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use support::Failure;

/// Cliques of the workload, and the most cells of one.
const CLIQUES: usize = 4096;
const MAX_CELLS: u64 = 4096;

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let folder = root.join("acs2024-person-household");
    let schema = Schema::read(&folder.join("schema.json"))?;
    let domain = schema.domain();
    let private = read_csv(&folder.join("pa.csv.gz"), &schema)?;
    let ohio = read_public_csv(&folder.join("oh.csv.gz"), &schema)?;
    let public = [PublicData::new("oh", ohio, &domain)?];
    let workload = Workload::new(triples(&domain), &domain)?;
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(10))
        .sample_size(10)
        .without_plots()
        .configure_from_args();

    criterion.bench_function("support", |bench| {
        bench.iter(|| black_box(WeightedSupport::from_public(&domain, &public, 1.0)));
    });
    let support = WeightedSupport::from_public(&domain, &public, 1e5)?;
    let cliques = workload.cliques();
    criterion.bench_function("count", |bench| {
        bench.iter(|| black_box(support.marginals(&cliques)));
    });
    let mut failure = None;
    criterion.bench_function("round", |bench| {
        bench.iter_custom(|rounds| {
            time(&private, &public, &workload, rounds).unwrap_or_else(|error| {
                failure = Some(error);
                Duration::from_secs(1)
            })
        });
    });
    criterion.final_summary();
    failure.map_or(Ok(()), Err)
}

/// Distinct triples, each with a bounded number of cells.
fn triples(domain: &Domain) -> Vec<WeightedClique> {
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let mut chosen: Vec<Clique> = Vec::new();
    while chosen.len() < CLIQUES {
        let clique = Clique::new((0..3).map(|_| rng.random_range(0..domain.len())));
        let fits = domain.cells(&clique).is_some_and(|cells| cells <= MAX_CELLS);
        if clique.len() == 3 && fits && !chosen.contains(&clique) {
            chosen.push(clique);
        }
    }
    chosen.into_iter().map(|clique| WeightedClique { clique, weight: 1.0 }).collect()
}

/// When each fit was done.
struct Fits(Vec<Instant>);

impl Observer for Fits {
    fn event(&mut self, event: &Event) {
        if matches!(event, Event::Fitted { .. }) {
            self.0.push(Instant::now());
        }
    }
}

/// Time of a number of rounds, after the first.
fn time(
    private: &Dataset,
    public: &[PublicData],
    workload: &Workload,
    rounds: u64,
) -> Result<Duration, Failure> {
    let rounds = u32::try_from(rounds)? + 1;
    let budget =
        rho_from_epsilon_delta(Epsilon::new(f64::from(rounds) / 50.0)?, Delta::new(1e-9)?)?;
    let seed = NoiseSeed::Fixed(1);
    let mut curator = Curator::new(private, NeighboringRelation::ReplaceOne, budget, seed)?;
    let mut fits = Fits(Vec::new());
    let mechanism = PmwPub {
        release: QueryRelease { rounds, ..PmwPub::default().release },
        ..PmwPub::default()
    };
    mechanism.run(&mut curator, &Task::new(workload, public), &mut fits)?;
    match (fits.0.first(), fits.0.last()) {
        (Some(first), Some(last)) => Ok(*last - *first),
        _ => Ok(Duration::ZERO),
    }
}
