//! What a public table can do at best, before anything is spent: `cargo run --release --example public_support`.
//!
//! Methods that reweight public rows (PMW^Pub and its kin) can be no better than the best mixture of those rows. A private
//! state of invented people, and two public ones: one like Ohio, near, and one like California, far away and without anybody
//! who rents. The brackets tell them apart; the best mixtures' marginals show where the far one fails, whatever the
//! weights. All of it is computed from the private records: **not private**. `jointly trust` buys a private answer.

#![expect(clippy::print_stdout, reason = "an example shows its results")]

use jointly::data::{Dataset, Projectable};
use jointly::demo::Generator;
use jointly::domain::Domain;
use jointly::evaluation::{MixtureError, ScoredCells};
use jointly::query::Workload;

const NAMES: [&str; 8] = ["AGEP", "SEX", "RAC", "SCH", "MAR", "ESR", "TEN", "PRIVCOV"];

fn people(records: usize, seed: u64, drift: f64) -> jointly::Result<Dataset> {
    let table = Generator { records, seed, drift }.generate()?;
    let positions = NAMES.iter().filter_map(|name| table.domain().position(name));
    table.select(&positions.collect::<Vec<_>>())
}

/// The rows of a table in which an attribute does not have a value.
fn without(table: &Dataset, domain: &Domain, name: &str, code: u32) -> jointly::Result<Dataset> {
    let position = domain.position(name).unwrap_or(0);
    let rows = (0..table.records()).map(|r| table.row(r)).filter(|row| row[position] != code);
    Dataset::from_rows(domain.clone(), &rows.collect::<Vec<_>>())
}

fn main() -> jointly::Result<()> {
    let private = people(20_000, 1, 0.0)?;
    let domain = private.domain();
    let ohio = people(20_000, 2, 0.1)?;
    let california = without(&people(20_000, 3, 1.0)?, domain, "TEN", 2)?;
    let workload = Workload::all_k_way(domain, 2)?;
    let cliques = workload.cliques();
    let answers = private.project_many(&cliques)?;
    for (name, public) in [("ohio", &ohio), ("california", &california)] {
        for cells in [ScoredCells::All, ScoredCells::Supported] {
            let solver = MixtureError { cells, ..MixtureError::default() };
            let found = solver.solve(public, &private, &workload)?;
            let (lower, upper) = (found.lower, found.upper);
            println!("{name:<11} best mixture error in [{lower:.6}, {upper:.6}], {cells:?} cells");
            let mixed = found.rows.weighted_marginals(&found.weights, &cliques)?;
            let n = private.records() as f64;
            let l1 = mixed.iter().zip(&answers).map(|(m, d)| -> f64 {
                m.iter().zip(d).map(|(m, d)| (m - f64::from(*d) / n).abs()).sum()
            });
            let l1: Vec<f64> = l1.collect();
            let worst = (0..l1.len()).max_by(|a, b| l1[*a].total_cmp(&l1[*b])).unwrap_or(0);
            let mean = l1.iter().sum::<f64>() / l1.len() as f64;
            let of = domain.describe(&cliques[worst]);
            println!("{:11} its L1 errors: mean {mean:.4}, worst {:.4} on {of}", "", l1[worst]);
        }
    }
    Ok(())
}
