//! Prior-aware estimation, exactly and iteratively: `cargo run --release --example two_stages`.
//!
//! A linear program moves noisy answers to ones that some weighting of public records has; then the weights nearest the
//! public ones are found, with a proof of how near. Beside it: one marginal after the other, on records and on a model.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::domain::Clique;
use jointly::estimation::prior::{Answers, KullbackLeibler, PriorAware, Projection, TwoStages};
use jointly::model::{MarkovRandomField, WeightedSupport};
use jointly::privacy::Rho;
use jointly::{Curator, NeighboringRelation, NoiseSeed, PublicData, demo::Generator};

fn people(seed: u64, drift: f64) -> jointly::Result<jointly::Dataset> {
    let table = Generator { records: 3_000, seed, drift }.generate()?;
    let names = ["SEX", "MAR", "ESR", "PRIVCOV"];
    let known: Vec<_> = names.iter().filter_map(|n| table.domain().position(n)).collect();
    Ok(table.select(&known)?)
}

fn main() -> jointly::Result<()> {
    let (private, public) = (people(1, 0.0)?, people(2, 0.7)?);
    let (domain, n) = (private.domain(), private.records() as f64);
    let rho = Rho::from_f64(0.05)?;
    let mut curator =
        Curator::new(&private, NeighboringRelation::ReplaceOne, rho, NoiseSeed::System)?;
    let mut answers = Vec::new();
    for (a, b) in [(0, 1), (1, 2), (2, 3)] {
        let noisy = curator.measure(&Clique::new([a, b]), rho.fraction(0.3)?.0)?;
        let frequencies = noisy.values.iter().map(|count| *count as f64 / n).collect();
        answers.push(Answers::new(noisy.clique, frequencies));
    }
    let prior = [PublicData::new("other state", public, domain)?];
    let prior = WeightedSupport::from_public(domain, &prior, n)?;

    for method in [KullbackLeibler::ProportionalFitting, KullbackLeibler::Newton] {
        let exact = TwoStages { method, ..TwoStages::default() }.update(&prior, &answers)?;
        println!(
            "{method:?}: answers moved by {:.4}, divergence {:.4} nats, duality gap {:.1e}, {} steps",
            exact.moved, exact.divergence, exact.duality_gap, exact.steps
        );
    }
    for projection in [Projection::LeastEntropy, Projection::LinearProgram] {
        let method = PriorAware { projection, ..PriorAware::default() };
        let found = method.update(&prior, &answers)?;
        println!("{projection:?}: {} passes, converged {}", found.moved.len(), found.converged);
    }
    let model = MarkovRandomField::uniform(domain, n)?;
    let found = PriorAware::default().update_model(&model, &answers, 1.0)?;
    println!(
        "on a graphical model: {} passes, {:.4} MiB",
        found.moved.len(),
        found.model.size_mib()
    );
    Ok(())
}
