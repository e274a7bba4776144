//! Coverage of the intervals of single counts: `cargo bench --bench count_intervals -- [TABLE [MECHANISM [EPSILON
//! [RELEASES]]]]`, by default `taxi`, `mst`, 1 and 5. `TABLE` is `adult`, `salary`, `titanic` or `taxi`.
//!
//! Each release spends 5 % of its budget on errors over all triples, under replace-one and δ = 10⁻⁹, without public
//! tables. Counts are the cells of all marginals on one, two and three attributes; those whose predicted count is below 1 are
//! told apart by whether the private table has a record in them, and are not in the lines by order. Noise and rows have fixed
//! seeds. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::collections::BTreeMap;

use jointly::data::{Dataset, Projectable, read_csv};
use jointly::mechanism::{Task, find};
use jointly::model::CountInterval;
use jointly::observe::Silent;
use jointly::{Budget, Drawing, NeighboringRelation, NoiseSeed, Schema, Workload};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use support::Failure;

/// Covered counts, all counts, and the sum of the widths.
type Tally = [f64; 3];

fn table(name: &str) -> Result<Option<Dataset>, Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(None) };
    let (folder, file) = match name {
        "adult" => ("jam-adult", "priv.csv.gz"),
        "salary" => ("jam-salary", "priv.csv.gz"),
        "titanic" => ("jam-titanic", "priv.csv"),
        _ => ("nist-taxi", "data.csv.gz"),
    };
    let schema = Schema::read(&root.join(folder).join("domain.json"))?;
    Ok(Some(read_csv(&root.join(folder).join(file), &schema)?))
}

fn main() -> Result<(), Failure> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let word = |i: usize, usual: &'static str| asked.get(i).cloned().unwrap_or(usual.into());
    let (name, mechanism) = (word(0, "taxi"), word(1, "mst"));
    let (epsilon, releases): (f64, u64) = (word(2, "1").parse()?, word(3, "5").parse()?);
    let Some(private) = table(&name)? else { return Ok(()) };
    let (workload, _) =
        Workload::all_k_way(private.domain(), 3)?.restrict(private.domain(), 20_000)?;
    let run = find(&mechanism)?.build(&serde_json::Map::new())?;
    let mut tallies: BTreeMap<(String, String), Tally> = BTreeMap::new();
    for seed in 0..releases {
        let budget = Budget::approximate(epsilon, 1e-9)?;
        let noise = NoiseSeed::Fixed(seed);
        let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, noise)?;
        curator.set_aside(0.05)?;
        let mut release = run.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let rows = release.rows(private.records(), Drawing::Refined, &mut rng)?;
        release.measure_errors(&mut curator, &rows)?;
        let accuracy = release.accuracy();
        for order in 1..=3 {
            let (asked, _) =
                Workload::all_k_way(private.domain(), order)?.restrict(private.domain(), 20_000)?;
            for clique in asked.cliques() {
                let exact = private.project(&clique)?;
                let model = release.model.marginals(&[clique])?.swap_remove(0);
                let (basis, found) = accuracy.of_cells(private.domain(), &model)?;
                let Some(found) = found else { continue };
                let mut add = |group: String, truth: u32, found: &CountInterval| {
                    let own = tallies.entry((basis.name().to_owned(), group)).or_default();
                    let covers = (found.lower..=found.upper).contains(&f64::from(truth));
                    let more = [f64::from(u8::from(covers)), 1.0, found.upper - found.lower];
                    own.iter_mut().zip(more).for_each(|(sum, x)| *sum += x);
                };
                for ((truth, mean), found) in exact.iter().zip(model.values()).zip(&found) {
                    if *mean < 1.0 {
                        let there = if *truth > 0 { "with a record" } else { "empty" };
                        add(format!("predicted below 1, {there}"), *truth, found);
                        continue;
                    }
                    let stratum = ["1 to 10", "10 to 100", "100 to 1,000", "above 1,000"];
                    #[expect(
                        clippy::cast_possible_truncation,
                        clippy::cast_sign_loss,
                        reason = "0 to 3"
                    )]
                    let stratum = stratum[mean.log10().floor().clamp(0.0, 3.0) as usize];
                    add(format!("predicted {stratum}"), *truth, found);
                    add(format!("order {order}"), *truth, found);
                }
            }
        }
    }
    println!(
        "| {name}, {mechanism}, epsilon {epsilon}, {releases} releases | counts | coverage | mean width |"
    );
    println!("|---|---|---|---|");
    for ((basis, group), [covered, count, width]) in &tallies {
        println!("| {basis}, {group} | {count} | {:.3} | {:.1} |", covered / count, width / count);
    }
    Ok(())
}
