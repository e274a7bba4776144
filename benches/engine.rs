//! The engine, part by part: `cargo bench --bench engine -- oracle` (or `fit`, `filter`, `count`, `sample`, `jam`).
//!
//! The oracle's throughput is in cells of the model's maximal cliques: `Gelem/s` is cells per nanosecond. A whole run
//! of JAM-PGM takes too long to be repeated here and is timed by `jointly compare` (`docs/guide/compare.md`); `jam` is
//! a run of five rounds. Reads `JOINTLY_REFERENCE` (the cases) and `JOINTLY_DATA` (Adult).

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::cell::LazyCell;
use std::hint::black_box;
use std::path::Path;
use std::time::Duration;

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput};
use jointly::data::{Dataset, Projectable, PublicData};
use jointly::domain::{Clique, Domain, Schema};
use jointly::estimation::{EstimatorKind, SquaredLoss, Stopping, Weighting};
use jointly::graph::{Extensions, JunctionTree, cells_within_mib};
use jointly::inference::{BeliefPropagation, MarginalOracle};
use jointly::mechanism::{JamPgm, Mechanism, Task};
use jointly::model::{MarkovRandomField, Sampling};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use jointly::table::Marginals;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use support::{Case, Failure};

/// Records of the sampled table.
const SAMPLED: usize = 1_000_000;
/// Records of the counted table.
const COUNTED: usize = 10_000_000;
/// Cliques that are tried against the size limit.
const CANDIDATES: usize = 10_000;
/// Noise of the measurements to be fitted, as in the reference cases.
const STDDEV: f64 = 50.0;

fn main() -> Result<(), Failure> {
    let mut criterion = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .without_plots()
        .configure_from_args();
    if let Some(cases) = support::engine_cases()? {
        oracle(&mut criterion, &cases)?;
        sampling(&mut criterion, &cases)?;
        if let Some(adult) = support::adult()? {
            fit(&mut criterion, &cases, &adult)?;
        }
    }
    if let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") {
        size_filter(&mut criterion, &root)?;
    }
    if let Some(adult) = support::adult()? {
        counting(&mut criterion, &adult)?;
        jam(&mut criterion, &adult)?;
    }
    criterion.final_summary();
    Ok(())
}

/// One call: both sweeps and all measured marginals.
fn oracle(criterion: &mut Criterion, cases: &[Case]) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("oracle");
    for case in cases {
        let layout = case.layout()?;
        let oracle = BeliefPropagation::new(&case.domain, &layout);
        let theta = support::random_potentials(&layout, 1);
        let mut workspace = oracle.workspace();
        let mut mu = Marginals::zeros(&layout);
        group.throughput(Throughput::Elements(oracle.model_cells()));
        group.bench_function(&case.name, |bencher| {
            bencher.iter(|| oracle.marginals(black_box(&theta), 1.0, &mut workspace, &mut mu));
        });
    }
    Ok(())
}

/// A whole fit to noisy marginals of Adult, plans included, until the loss no longer falls beyond its noise.
fn fit(criterion: &mut Criterion, cases: &[Case], adult: &Dataset) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("fit");
    group.sample_size(10);
    for case in cases.iter().filter(|case| case.name.starts_with("adult15")) {
        let table = reordered(adult, &case.domain)?;
        let measurements = support::noisy_marginals(&table, &case.cliques, STDDEV, 2)?;
        let total = table.records() as f64;
        for estimator in [EstimatorKind::AcceleratedBregman, EstimatorKind::MirrorDescent] {
            group.bench_function(
                BenchmarkId::new(&case.name, format!("{estimator:?}")),
                |bencher| {
                    bencher.iter(|| -> jointly::Result<f64> {
                        let weighting = Weighting::InverseVariance;
                        let loss = SquaredLoss::new(&case.domain, &measurements, weighting)?;
                        let oracle = BeliefPropagation::new(&case.domain, loss.layout());
                        let stopping = Stopping::default();
                        Ok(estimator.estimate(stopping, &oracle, &loss, total, None)?.loss)
                    });
                },
            );
        }
    }
    Ok(())
}

/// Which pairs and triples of wide tables fit a model of 80 MiB beside random ones that fill it. Seven models on the way to the
/// last; [`CANDIDATES`] random ones of all cliques with each.
fn size_filter(criterion: &mut Criterion, root: &Path) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("filter");
    group.sample_size(10).throughput(Throughput::Elements(7 * CANDIDATES as u64));
    let pennsylvania = Schema::read(&root.join("acs2024-person-household/schema.json"))?;
    let schemas =
        [pennsylvania, support::census_2018(root, false)?, support::census_2018(root, true)?];
    for schema in schemas {
        let domain = schema.domain();
        let (workload, _) = Workload::all_k_way(&domain, 3)?.restrict(&domain, 10_000)?;
        let mut cliques = workload.downward_closure();
        cliques.shuffle(&mut ChaCha20Rng::seed_from_u64(3));
        let limit = cells_within_mib(80.0);
        let mut measured: Vec<Clique> = (0..domain.len()).map(|a| Clique::new([a])).collect();
        let mut models = Vec::new();
        for (tried, clique) in cliques.iter().skip(CANDIDATES).take(7 * domain.len()).enumerate() {
            if JunctionTree::is_tractable(
                &domain,
                &[&measured[..], std::slice::from_ref(clique)].concat(),
                limit,
            ) {
                measured.push(clique.clone());
            }
            if (tried + 1) % domain.len() == 0 {
                models.push((measured.clone(), JunctionTree::new(&domain, &measured)));
            }
        }
        cliques.truncate(CANDIDATES);
        group.bench_function(BenchmarkId::from_parameter(domain.len()), |bencher| {
            bencher.iter(|| {
                let allowed = models.iter().map(|(measured, tree)| {
                    Extensions::new(&domain, measured, limit).allowed(tree, &cliques)
                });
                allowed.flatten().filter(|fits| *fits).count()
            });
        });
    }
    Ok(())
}

/// All triples of Adult, and all pairs of ten million records.
fn counting(criterion: &mut Criterion, adult: &Dataset) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("count");
    group.sample_size(10);
    let triples = Workload::all_k_way(adult.domain(), 3)?.cliques();
    group.throughput(Throughput::Elements((adult.records() * triples.len()) as u64));
    group.bench_function("adult-triples", |bencher| {
        bencher.iter(|| adult.project_many(&triples));
    });
    let pairs = Workload::all_k_way(adult.domain(), 2)?.cliques();
    // Built only on demand.
    let many = LazyCell::new(|| support::skewed_table(adult.domain(), COUNTED, 3));
    group.throughput(Throughput::Elements((COUNTED * pairs.len()) as u64));
    group.bench_function("10M-pairs", |bencher| {
        if let Ok(many) = &*many {
            bencher.iter(|| many.project_many(&pairs));
        }
    });
    Ok(())
}

/// One million records from models with random potentials.
fn sampling(criterion: &mut Criterion, cases: &[Case]) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("sample");
    group.sample_size(10).throughput(Throughput::Elements(SAMPLED as u64));
    for case in cases.iter().filter(|c| c.name.ends_with("tree") || c.name.ends_with("10MiB")) {
        let theta = support::random_potentials(&case.layout()?, 4);
        let model = MarkovRandomField::new(&case.domain, theta, SAMPLED as f64)?;
        for method in [Sampling::Rounded, Sampling::Independent] {
            let name = BenchmarkId::new(&case.name, format!("{method:?}"));
            group.bench_function(name, |bencher| {
                bencher.iter_batched(
                    || ChaCha20Rng::seed_from_u64(5),
                    |mut rng| model.sample(SAMPLED, method, &mut rng),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    Ok(())
}

/// Five rounds on Adult with a tenth of its own records as the public table.
fn jam(criterion: &mut Criterion, adult: &Dataset) -> Result<(), Failure> {
    let mut group = criterion.benchmark_group("jam");
    group.sample_size(10);
    let tenth = (0..adult.records()).step_by(10).map(|r| adult.row(r)).collect::<Vec<_>>();
    let tenth = Dataset::from_rows(adult.domain().clone(), &tenth)?;
    let public = [PublicData::new("a tenth", tenth, adult.domain())?];
    let workload = Workload::all_k_way(adult.domain(), 3)?;
    let task = Task::new(&workload, &public);
    let limit = rho_from_epsilon_delta(Epsilon::new(10.0)?, Delta::new(1e-9)?)?;
    let relation = NeighboringRelation::ReplaceOne;
    let mechanism = JamPgm { rounds: Some(5), ..JamPgm::default() };
    group.bench_function("adult-5-rounds", |bencher| {
        bencher.iter(|| -> jointly::Result<f64> {
            let mut curator = Curator::new(adult, relation, limit, NoiseSeed::Fixed(6))?;
            let release = mechanism.run(&mut curator, &task, &mut Silent)?;
            Ok(release.model.total())
        });
    });
    Ok(())
}

/// The columns of a table in another domain's order.
fn reordered(table: &Dataset, domain: &Domain) -> Result<Dataset, Failure> {
    let position = |a: usize| {
        let name = domain.name(a);
        table.domain().position(name).ok_or_else(|| format!("no column '{name}'"))
    };
    let positions = (0..domain.len()).map(position).collect::<Result<Vec<_>, _>>()?;
    Ok(table.select(&positions)?)
}
