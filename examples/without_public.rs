//! Mechanisms that need no public table, side by side on the demo's people.
//!
//! `cargo run --release --example without_public`

#![expect(clippy::print_stdout, reason = "an example prints")]

use jointly::demo::Generator;
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{Aim, Independent, Mechanism, Mst, MwemPgm, Task};
use jointly::model::Sampling;
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

fn main() -> jointly::Result<()> {
    let people = Generator { records: 20_000, seed: 1, drift: 0.0 }.generate()?;
    let names = ["AGEP", "SEX", "SCHL", "MAR", "ESR", "PRIVCOV", "TEN"];
    let positions: Vec<usize> = people.domain().clique(&names)?.iter().collect();
    let private = people.select(&positions)?;
    let workload = Workload::all_k_way(private.domain(), 3)?;
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;

    let mechanisms: [Box<dyn Mechanism>; 4] = [
        Box::new(Independent::default()),
        Box::new(MwemPgm::default()),
        Box::new(Mst::default()),
        Box::new(Aim::default()),
    ];
    println!("{:<12} {:>9} {:>8} {:>15}", "mechanism", "marginals", "error", "share of rho");
    for mechanism in mechanisms {
        // Each is a separate run: to publish several, pay for all of them.
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System)?;
        let task = Task::new(&workload, &[]);
        let release = mechanism.run(&mut curator, &task, &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1);
        let rows = release.model.sample(private.records(), Sampling::Rounded, &mut rng)?;
        // The people are invented, so an exact comparison is harmless.
        let error = WorkloadError::between(&private, &rows, &workload, 0)?.mean_l1;
        let spent = release.ledger.spent().to_f64() / limit.to_f64();
        let marginals = release.measurements.len();
        println!("{:<12} {marginals:>9} {error:>8.4} {spent:>15.2}", mechanism.name());
    }
    Ok(())
}
