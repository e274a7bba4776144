//! A run that is interrupted and resumed: `cargo run --release --example resume`.
//!
//! After each round, the measurements and the ledger are on disk before anything is shown. Run again with the same
//! inputs, a mechanism resumes at the next round and pays for no round twice.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use jointly::demo::Generator;
use jointly::mechanism::{AnchorPgm, Mechanism, Release, Task};
use jointly::observe::{Event, Observer};
use jointly::privacy::{
    Checkpoint, Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;

/// Prints each round and stops the run after one of them, to simulate a power cut.
struct Interrupted(Option<u32>);

impl Observer for Interrupted {
    fn event(&mut self, event: &Event) {
        if let Event::Measured { round, rounds, clique, spent, limit, .. } = event {
            println!("round {round} of {rounds}: {}, spent {spent} of {limit}", clique.join(" x "));
            if self.0 == Some(*round) {
                resume_unwind(Box::new("power cut"));
            }
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let table = Generator { records: 5000, seed: 1, drift: 0.0 }.generate()?;
    let names = ["AGEP", "SEX", "SCHL", "MAR", "ESR"];
    let private = table.select(table.domain().clique(&names)?.attributes())?;
    let workload = Workload::all_k_way(private.domain(), 2)?;
    let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
    let folder = std::env::temp_dir().join(format!("jointly-resume-{}", std::process::id()));
    // The label identifies the private table without a number computed from it: for example a path and a date.
    let private_label = "invented people, 2026-01-01";
    let task = Task::new(&workload, &[]);
    let mechanism = AnchorPgm::default();
    let run = |mut observer: Interrupted| -> jointly::Result<Release> {
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System)?
            .with_checkpoint(Checkpoint::open(&folder, private_label)?);
        mechanism.run(&mut curator, &task, &mut observer)
    };
    let stopped = catch_unwind(AssertUnwindSafe(|| run(Interrupted(Some(3)))));
    println!("interrupted: {}; now again", stopped.is_err());
    let release = run(Interrupted(None))?;
    println!("{} rounds, spent {} of {limit}", release.rounds.len(), release.ledger.spent());
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
