//! Coverage of the intervals of counts and of sums of counts: `cargo bench --bench count_intervals -- [TABLE [MECHANISM [EPSILON
//! [RELEASES [WORKLOAD]]]]]`, by default `taxi`, `mst`, 1, 5 and 3. `TABLE` is `adult`, `salary`, `titanic`, `taxi`, or a state of the
//! ACS with its year, such as `2024/vt` (eight columns). `WORKLOAD`: the number of attributes of the workload's marginals.
//!
//! Each release spends 5 % of its budget on errors over the workload, under replace-one and δ = 10⁻⁹, without public tables. Counts are the
//! cells of all marginals on one, two and three attributes, and sums of 2 to 100 of them drawn with a fixed seed. They are told
//! apart by what they rest on and, in turn, by the number of attributes, by the count that is printed, and by the true one; of those by
//! the model, lines by attributes and by true counts have the ones from 10 as printed. The column before the last is the share of the
//! marginals of which fewer than 85 % of the cells are covered, over all releases; errors are root mean squares of the printed number and of the
//! model's. Noise and rows have fixed seeds. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::collections::BTreeMap;

use jointly::data::{Dataset, Projectable, read_csv};
use jointly::mechanism::{Task, find};
use jointly::model::{Basis, CountInterval};
use jointly::observe::Silent;
use jointly::{Budget, Drawing, NeighboringRelation, NoiseSeed, Schema, Workload};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;

use support::Failure;

/// Sizes of the sums of cells.
const SUMS: [usize; 4] = [2, 5, 20, 100];

/// Intervals of one kind.
#[derive(Default)]
struct Tally {
    covered: f64,
    count: f64,
    widths: f64,
    /// Squared errors of the number that is printed, and of the model's.
    squares: [f64; 2],
    /// Of one marginal over all releases: covered and all.
    by_marginal: BTreeMap<String, [f64; 2]>,
}

impl Tally {
    fn add(&mut self, marginal: &str, truth: f64, found: &CountInterval, model: f64) {
        let covers = f64::from(u8::from((found.lower..=found.upper).contains(&truth)));
        self.covered += covers;
        self.count += 1.0;
        self.widths += found.upper - found.lower;
        for (square, number) in self.squares.iter_mut().zip([printed(found), model]) {
            *square += (number - truth).powi(2);
        }
        let own = self.by_marginal.entry(marginal.to_owned()).or_default();
        own[0] += covers;
        own[1] += 1.0;
    }

    /// The share of the marginals with a coverage below 0.85, among those with 20 intervals.
    fn uneven(&self) -> String {
        let large = self.by_marginal.values().filter(|[_, all]| *all >= 20.0);
        let large: Vec<f64> = large.map(|[covered, all]| covered / all).collect();
        let low = large.iter().filter(|coverage| **coverage < 0.85).count();
        if large.is_empty() {
            String::new()
        } else {
            format!("{:.2}", low as f64 / large.len() as f64)
        }
    }
}

fn table(name: &str) -> Result<Option<Dataset>, Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(None) };
    let (folder, file) = match name {
        "adult" => ("jam-adult", "priv.csv.gz"),
        "salary" => ("jam-salary", "priv.csv.gz"),
        "titanic" => ("jam-titanic", "priv.csv"),
        "taxi" => ("nist-taxi", "data.csv.gz"),
        state => return acs(&root, state).map(Some),
    };
    let schema = Schema::read(&root.join(folder).join("domain.json"))?;
    Ok(Some(read_csv(&root.join(folder).join(file), &schema)?))
}

/// Eight columns of the people of a state, named by its year and its letters.
fn acs(root: &std::path::Path, state: &str) -> Result<Dataset, Failure> {
    let (year, state) = state.split_once('/').ok_or("a state is YEAR/STATE, such as 2024/vt")?;
    let folder = match year {
        "2018" => root.join("acs2018-person"),
        _ => root.join("acs2024-person-household"),
    };
    let names = ["AGEP", "SEX", "RAC1P", "NATIVITY", "MAR", "HICOV", "DIS", "PUBCOV"];
    let schema = Schema::read(&folder.join("schema.json"))?.select(&names)?;
    Ok(read_csv(&folder.join(format!("{state}.csv.gz")), &schema)?)
}

/// The number that is printed.
fn printed(found: &CountInterval) -> f64 {
    found.estimate.clamp(found.lower, found.upper)
}

/// The stratum of a number of records.
fn size(count: f64) -> &'static str {
    match count {
        x if x < 1.0 => "0 (below 1)",
        x if x < 10.0 => "1 (1 to 10)",
        x if x < 100.0 => "2 (10 to 100)",
        x if x < 1_000.0 => "3 (100 to 1,000)",
        x if x < 10_000.0 => "4 (1,000 to 10,000)",
        _ => "5 (above 10,000)",
    }
}

fn main() -> Result<(), Failure> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let word = |i: usize, usual: &'static str| asked.get(i).cloned().unwrap_or(usual.into());
    let (name, mechanism) = (word(0, "taxi"), word(1, "mst"));
    let (epsilon, releases): (f64, u64) = (word(2, "1").parse()?, word(3, "5").parse()?);
    let k: usize = word(4, "3").parse()?;
    let Some(private) = table(&name)? else { return Ok(()) };
    let domain = private.domain();
    let (workload, _) = Workload::all_k_way(domain, k)?.restrict(domain, 20_000)?;
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
            let (asked, _) = Workload::all_k_way(domain, order)?.restrict(domain, 20_000)?;
            for clique in asked.cliques() {
                let marginal = domain.describe(&clique);
                let exact = private.project(&clique)?;
                let model = release.model.marginals(&[clique])?.swap_remove(0);
                let sums = sums(exact.len(), &mut rng);
                let (basis, Some(found)) = accuracy.of_cells(domain, &model)? else { continue };
                let (_, Some(of_sums)) = accuracy.of_sums(domain, &model, &sums)? else { continue };
                let mut add = |group: String, truth: f64, found: &CountInterval, model: f64| {
                    let own = tallies.entry((basis.name().to_owned(), group)).or_default();
                    own.add(&marginal, truth, found, model);
                };
                for ((truth, found), own) in exact.iter().zip(&found).zip(model.values()) {
                    let truth = f64::from(*truth);
                    add(format!("printed {}", size(printed(found))), truth, found, *own);
                    if basis == Basis::Measured || printed(found) >= 10.0 {
                        add(format!("true {}", size(truth)), truth, found, *own);
                        add(format!("order {order}"), truth, found, *own);
                    }
                }
                for (sum, found) in sums.iter().zip(&of_sums) {
                    let truth = sum.iter().map(|cell| f64::from(exact[*cell])).sum();
                    let own = sum.iter().map(|cell| model.values()[*cell]).sum();
                    add(format!("sums of {:3} cells", sum.len()), truth, found, own);
                }
            }
        }
    }
    println!("{name}, {mechanism}, epsilon {epsilon}, {releases} releases, all {k}-way");
    println!(
        "| counts | number | coverage | mean width | marginals below 0.85 | error printed, the model's |"
    );
    println!("|---|---|---|---|---|---|");
    for ((basis, group), tally) in &tallies {
        let Tally { covered, count, widths, .. } = tally;
        let (coverage, width, uneven) = (covered / count, widths / count, tally.uneven());
        let [own, model] = tally.squares.map(|square| (square / count).sqrt());
        println!(
            "| {basis}, {group} | {count} | {coverage:.3} | {width:.1} | {uneven} | {own:.1}, {model:.1} |"
        );
    }
    Ok(())
}

/// Sums of cells of a marginal, drawn at random, of each size that is at most half of its cells.
fn sums(cells: usize, rng: &mut ChaCha20Rng) -> Vec<Vec<usize>> {
    let mut all: Vec<usize> = (0..cells).collect();
    let sizes = SUMS.into_iter().filter(|size| 2 * size <= cells);
    let draw = |size: usize| {
        all.shuffle(rng);
        all[..size].to_vec()
    };
    sizes.map(draw).collect()
}
