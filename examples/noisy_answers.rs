//! Noisy marginals with exact error bars, without a model: `cargo run --release --example noisy_answers`.
//!
//! `ResidualPlanner` answers a whole workload at once with the least noise of any Gaussian mechanism of its kind, and
//! reports the noise of every cell. Overlapping marginals are consistent.

#![expect(clippy::print_stdout, reason = "an example prints")]

use jointly::data::Projectable;
use jointly::demo::Generator;
use jointly::mechanism::{AnswerWorkload, ResidualPlanner};
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;

fn main() -> jointly::Result<()> {
    let people = Generator { records: 20_000, seed: 1, drift: 0.0 }.generate()?;
    let workload = Workload::all_k_way(people.domain(), 2)?;
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    let relation = NeighboringRelation::ReplaceOne;
    let mut curator = Curator::new(&people, relation, limit, NoiseSeed::System)?;
    let answers = ResidualPlanner::default().answer(&mut curator, &workload)?;

    let pair = people.domain().clique(&["SEX", "TEN"])?;
    let noisy = answers.marginal(&pair)?;
    // Invented people: their exact counts may be shown.
    let exact = people.project(&pair)?;
    println!(
        "{} with a standard deviation of {:.1}",
        people.domain().describe(&pair),
        noisy.stddev
    );
    println!("{:>9} {:>9} {:>8}", "answered", "exact", "off by");
    for (noisy, exact) in noisy.values.iter().zip(&exact) {
        println!("{noisy:>9.1} {exact:>9} {:>8.1}", noisy - f64::from(*exact));
    }
    let off = noisy.values.iter().zip(&exact).map(|(a, b)| (a - f64::from(*b)).abs());
    let within = off.filter(|off| *off <= 2.0 * noisy.stddev).count();
    println!("{within} of {} cells are within two standard deviations", exact.len());
    Ok(())
}
