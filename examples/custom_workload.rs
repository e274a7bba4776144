//! A custom workload: `cargo run --release --example custom_workload`.
//!
//! Only subsets of the workload's cliques are ever measured. Other attributes get no budget and stay uniform or
//! independent. A workload can be written in code, or read from a file in the format of the text below.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::data::Projectable;
use jointly::demo::Generator;
use jointly::mechanism::{AnchorPgm, Mechanism, Task};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::{WeightedClique, Workload};

const FILE: &str =
    "# income by education and age, and housing by family\nSCHL,AGEP,PINCP\nHHT,TEN,MAR\n";

fn main() -> jointly::Result<()> {
    let private = Generator { records: 20_000, seed: 1, drift: 0.0 }.generate()?;
    let domain = private.domain();
    let from_file = Workload::from_text(FILE, "a file", domain)?;
    // One more clique, which counts twice.
    let insurance = domain.clique(&["HICOV", "ESR"])?;
    let more = WeightedClique { clique: insurance, weight: 2.0 };
    let workload =
        Workload::new(from_file.weighted_cliques().iter().cloned().chain([more]), domain)?;
    let all = Workload::all_k_way(domain, 3)?;
    let candidates = [&workload, &all].map(|workload| workload.downward_closure().len());
    println!("{} candidates instead of {}", candidates[0], candidates[1]);

    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    let seed = NoiseSeed::System;
    let mut curator = Curator::new(&private, NeighboringRelation::ReplaceOne, limit, seed)?;
    let mechanism = AnchorPgm { iterations: 300, ..AnchorPgm::default() };
    let task = Task::new(&workload, &[]);
    let release = mechanism.run(&mut curator, &task, &mut Silent)?;
    for (round, measured) in (1..).zip(&release.measurements) {
        println!("round {round:>2}: {}", domain.describe(&measured.clique));
    }

    // Comparing with invented people is harmless. For real ones, this line would not be private.
    for clique in workload.cliques() {
        let truth = private.project(&clique)?;
        let fitted = &release.model.marginals(std::slice::from_ref(&clique))?[0];
        let cells = truth.iter().zip(fitted.values());
        let off = cells.map(|(t, f)| (f64::from(*t) - f).abs()).sum::<f64>() / 20_000.0;
        println!("{}: L1 error {off:.3} of at most 2", domain.describe(&clique));
    }
    Ok(())
}
