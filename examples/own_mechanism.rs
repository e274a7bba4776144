//! A mechanism of your own, on the library's driver: `cargo run --release --example own_mechanism`.
//! It chooses and measures several cliques of the workload in one round.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::mechanism::{Fitting, GraphicalModel, Run};
use jointly::privacy::NoiseSeed::System;
use jointly::{Budget, Curator, Mechanism, NeighboringRelation::ReplaceOne, Release, Silent, Task};
use jointly::{Workload, demo::Generator, estimation::EstimatorKind, observe::Observer};

#[derive(serde::Serialize)]
struct AtOnce {
    picks: u32,
}

impl Mechanism for AtOnce {
    fn name(&self) -> &'static str {
        "at-once"
    }

    fn run(
        &self,
        curator: &mut Curator<'_>,
        task: &Task<'_>,
        observer: &mut dyn Observer,
    ) -> jointly::Result<Release> {
        let mut run = Run::open(self.name(), self, curator, task, observer)?;
        let fitting = Fitting::new(1.0, 500, EstimatorKind::default());
        let mut model = GraphicalModel::open(fitting, &mut run)?;
        let cliques = task.workload.cliques();
        let answers = run.marginals(&cliques)?; // sealed: only noise opens them
        run.start(1, cliques.len());
        let round = run.begin_round()?;
        let mut left = model.within(&run, &cliques, 1.0)?;
        for pick in 0..self.picks {
            let shares = run.even_share(self.picks - pick, 0.8)?;
            let errors = model.errors(&run, &cliques, &left, &answers, round)?;
            let choice = model.select(&mut run, errors.plain(&left)?, shares.select)?;
            run.measure(&cliques[left.swap_remove(choice)], shares.measure)?;
        }
        run.end_round()?; // durable, then reported to the observer
        model.fit(&mut run)?;
        model.finish(run)
    }
}

fn main() -> jointly::Result<()> {
    let people = Generator { records: 10_000, seed: 1, drift: 0.0 }.generate()?;
    let private = people.select(&[1, 2, 8, 9, 15])?;
    let workload = Workload::all_k_way(private.domain(), 2)?;
    let budget = Budget::approximate(1.0, 1e-9)?;
    let mut curator = budget.curator(&private, ReplaceOne, System)?;
    let release = AtOnce { picks: 4 }.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
    for measured in &release.measurements {
        println!("{}: noise {:.1}", private.domain().describe(&measured.clique), measured.stddev);
    }
    println!("spent {} of {}", release.ledger.spent(), budget.rho());
    Ok(())
}
