//! A public prior and noisy answers about a private table: `cargo run --release --example prior_aware [PLOT.svg]`.
//! Errors are mean L1 distances of all pairs from the truth, **not private**: prior alone, answers alone, both.
#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::data::{Dataset, PublicData};
use jointly::demo::Generator;
use jointly::estimation::prior::{Answers, PriorAware};
use jointly::evaluation::WorkloadError;
use jointly::model::WeightedSupport;
use jointly::privacy::{Curator, NeighboringRelation::ReplaceOne, NoiseSeed, Rho};
use jointly::query::Workload;

fn people(seed: u64, drift: f64) -> jointly::Result<Dataset> {
    let table = Generator { records: 3_000, seed, drift }.generate()?;
    let names = ["SEX", "SCH", "MAR", "ESR", "PRIVCOV", "TEN"];
    let known: Vec<_> = names.iter().filter_map(|n| table.domain().position(n)).collect();
    Ok(table.select(&known)?)
}

fn main() -> jointly::Result<()> {
    let (private, public) = (people(1, 0.0)?, people(2, 0.7)?);
    let (domain, n) = (private.domain(), private.records() as f64);
    let pairs = Workload::all_k_way(domain, 2)?;
    let (cliques, rho) = (pairs.cliques(), Rho::from_f64(0.02)?);
    let each = rho.fraction(1.0 / pairs.len() as f64)?.0;
    let mut curator = Curator::new(&private, ReplaceOne, rho, NoiseSeed::Fixed(1))?;
    let mut answers = Vec::new();
    for clique in &cliques {
        let noisy = curator.measure(clique, each)?;
        let frequencies = noisy.values.iter().map(|count| *count as f64 / n).collect();
        answers.push(Answers::new(clique.clone(), frequencies));
    }
    let prior = [PublicData::new("other state", public, domain)?];
    // A uniform prior: the answers alone.
    let starts =
        [WeightedSupport::all_cells(domain, n)?, WeightedSupport::from_public(domain, &prior, n)?];
    let mut curves: [Vec<f64>; 2] = Default::default();
    for (start, curve) in starts.iter().zip(&mut curves) {
        let error = |model: WeightedSupport| {
            WorkloadError::of_model(&private, &model.into(), &pairs, 0).map(|found| found.mean_l1)
        };
        curve.push(error(start.clone())?);
        for passes in 1..=10 {
            let method = PriorAware { passes, stagnation: f64::INFINITY, ..PriorAware::default() };
            curve.push(error(method.update(start, &answers)?.model)?);
        }
    }
    println!("pass  answers alone  with the prior");
    (0..=10).for_each(|i| println!("{i:>4} {:>14.4} {:>15.4}", curves[0][i], curves[1][i]));
    let Some(path) = std::env::args().nth(1) else { return Ok(()) };
    let y = |error: f64| 250.0 - 700.0 * error.min(0.3);
    let mut svg = include_str!("../docs/assets/prior-aware.template.svg")
        .replace("PRIOR", &format!("{:.1}", y(curves[1][0])));
    for (name, curve) in ["ANSWERS", "POSTERIOR"].iter().zip(&curves) {
        let point = |(i, e): (usize, &f64)| format!("{},{:.1} ", 50 + 50 * i, y(*e));
        svg = svg.replace(name, curve.iter().enumerate().map(point).collect::<String>().trim());
    }
    println!("{path}: {:?}", std::fs::write(&path, svg));
    Ok(())
}
