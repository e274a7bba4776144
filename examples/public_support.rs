//! The best that a public table can do, before spending the budget: `cargo run --release --example public_support`.
//!
//! Methods that reweight public rows (such as PMW^Pub) can be no better than the best mixture of those rows. A private
//! state of invented people, and two public ones: a close one like Ohio, and a distant one like California, without
//! renters. The brackets distinguish them in advance, and PMW^Pub then ends above its bracket with either. The brackets
//! are computed from the private records: **not private**. `jointly trust` gives a private answer.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::data::{Dataset, PublicData};
use jointly::demo::Generator;
use jointly::domain::Domain;
use jointly::evaluation::WorkloadError;
use jointly::mechanism::{Mechanism, PmwPub, Task};
use jointly::mixture_error::{MixtureError, ScoredCells};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta,
};
use jointly::query::Workload;

const NAMES: [&str; 8] = ["AGEP", "SEX", "RAC", "SCH", "MAR", "ESR", "TEN", "PRIVCOV"];

fn people(records: usize, seed: u64, drift: f64) -> jointly::Result<Dataset> {
    let table = Generator { records, seed, drift }.generate()?;
    let positions = NAMES.iter().filter_map(|name| table.domain().position(name));
    Ok(table.select(&positions.collect::<Vec<_>>())?)
}

/// The rows of a table in which an attribute does not have a value.
fn without(table: &Dataset, domain: &Domain, name: &str, code: u32) -> jointly::Result<Dataset> {
    let position = domain.position(name).unwrap_or(0);
    let rows = (0..table.records()).map(|r| table.row(r)).filter(|row| row[position] != code);
    Ok(Dataset::from_rows(domain.clone(), &rows.collect::<Vec<_>>())?)
}

fn main() -> jointly::Result<()> {
    let private = people(20_000, 1, 0.0)?;
    let domain = private.domain();
    let ohio = people(20_000, 2, 0.1)?;
    let california = without(&people(20_000, 3, 1.0)?, domain, "TEN", 2)?;
    let workload = Workload::all_k_way(domain, 2)?;
    for (name, table) in [("ohio", ohio), ("california", california)] {
        let solver = MixtureError { cells: ScoredCells::All, ..MixtureError::default() };
        let best = solver.solve(&table, &private, &workload)?;
        println!("{name}: best mixture error in [{:.6}, {:.6}]", best.lower, best.upper);

        let public = [PublicData::new(name, table, domain)?];
        let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System)?;
        let task = Task::new(&workload, &public);
        let release = PmwPub::default().run(&mut curator, &task, &mut Silent)?;
        let error = WorkloadError::of_model(&private, &release.model, &workload, 0)?;
        println!("{name}: PMW^Pub at epsilon 1 is off by {:.6} at most", error.max_query);
    }
    Ok(())
}
