//! Prior-aware estimation in all its forms: `cargo bench --bench prior`. Invented people, no file needed.

use std::time::Duration;

use criterion::Criterion;
use jointly::data::{Dataset, PublicData};
use jointly::demo::Generator;
use jointly::domain::Clique;
use jointly::estimation::prior::{Answers, KullbackLeibler, PriorAware, Projection, TwoStages};
use jointly::model::{MarkovRandomField, WeightedSupport};
use jointly::privacy::{Curator, NeighboringRelation, NoiseSeed, Rho};

/// Attributes, whose single marginals and neighboring pairs are answered.
const NAMES: [&str; 6] = ["SEX", "SCH", "MAR", "ESR", "PRIVCOV", "TEN"];
const RECORDS: usize = 2_000;

fn people(seed: u64, drift: f64) -> jointly::Result<Dataset> {
    let table = Generator { records: RECORDS, seed, drift }.generate()?;
    let known: Vec<_> = NAMES.iter().filter_map(|n| table.domain().position(n)).collect();
    Ok(table.select(&known)?)
}

fn main() -> jointly::Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .measurement_time(Duration::from_secs(3))
        .without_plots()
        .configure_from_args();
    let (private, public) = (people(1, 0.0)?, people(2, 0.5)?);
    let (domain, n) = (private.domain(), RECORDS as f64);
    let rho = Rho::from_f64(0.1)?;
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&private, relation, rho, NoiseSeed::Fixed(1))?;
    let cliques: Vec<Clique> = (0..NAMES.len() - 1).map(|a| Clique::new([a, a + 1])).collect();
    let mut answers = Vec::new();
    for clique in &cliques {
        let noisy = curator.measure(clique, rho.fraction(1.0 / (NAMES.len() as f64))?.0)?;
        let frequencies = noisy.values.iter().map(|count| *count as f64 / n).collect();
        answers.push(Answers::new(clique.clone(), frequencies));
    }
    let public = [PublicData::new("other", public, domain)?];
    let prior = WeightedSupport::from_public(domain, &public, n)?;
    let model = MarkovRandomField::uniform(domain, n)?;

    let mut group = criterion.benchmark_group("prior");
    for projection in [Projection::LeastEntropy, Projection::LinearProgram] {
        let method = PriorAware { projection, ..PriorAware::default() };
        group.bench_function(format!("iterative-{projection:?}"), |bencher| {
            bencher.iter(|| method.update(&prior, &answers));
        });
    }
    for method in [KullbackLeibler::ProportionalFitting, KullbackLeibler::Newton] {
        let stages = TwoStages { method, ..TwoStages::default() };
        group.bench_function(format!("two-stages-{method:?}"), |bencher| {
            bencher.iter(|| stages.update(&prior, &answers));
        });
    }
    group.bench_function("on-model", |bencher| {
        bencher.iter(|| PriorAware::default().update_model(&model, &answers, 1.0));
    });
    group.finish();
    criterion.final_summary();
    Ok(())
}
