//! Coverage of the measured errors of released tables: `cargo bench --bench error_bars -- [MECHANISM [EPSILON
//! [RELEASES]]]`, by default `independent`, 1 and 200.
//!
//! Each release of the private Adult of the JAM-PGM paper spends 5 % on errors over all triples, under replace-one and δ =
//! 10⁻⁹. Noise and rows have fixed seeds. Prints how often intervals cover the true errors, their half widths, and the
//! share of the time that measuring took. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::time::{Duration, Instant};

use jointly::data::Projectable;
use jointly::mechanism::{Task, find};
use jointly::observe::Silent;
use jointly::{Budget, Drawing, NeighboringRelation, NoiseSeed, Workload};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use support::Failure;

/// Sums over releases.
#[derive(Default)]
struct Sums {
    means: f64,
    marginals: f64,
    shrunk: f64,
    bands: f64,
    mean_error: f64,
    mean_width: f64,
    width: f64,
    shrunk_width: f64,
    /// Squared errors of the measured and of the shrunk estimates.
    squares: [f64; 2],
    running: Duration,
    measuring: Duration,
    /// How many releases covered each marginal, with its measured and its shrunk interval.
    each: Vec<[f64; 2]>,
}

fn main() -> Result<(), Failure> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let name = asked.first().map_or("independent", String::as_str);
    let epsilon: f64 = asked.get(1).map_or(Ok(1.0), |text| text.parse())?;
    let releases: u64 = asked.get(2).map_or(Ok(200), |text| text.parse())?;
    let Some(private) = support::adult()? else { return Ok(()) };
    let workload = Workload::all_k_way(private.domain(), 3)?;
    let cliques = workload.cliques();
    let mechanism = find(name)?.build(&serde_json::Map::new())?;
    let (n, exact) = (private.records() as f64, private.project_many(&cliques)?);
    let mut sums = Sums { each: vec![[0.0; 2]; cliques.len()], ..Sums::default() };
    for seed in 0..releases {
        let started = Instant::now();
        let noise = NoiseSeed::Fixed(seed);
        let budget = Budget::approximate(epsilon, 1e-9)?;
        let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, noise)?;
        curator.set_aside(0.05)?;
        let mut release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(seed);
        let rows = release.rows(private.records(), Drawing::Refined, &mut rng)?;
        sums.running += started.elapsed();
        let started = Instant::now();
        release.measure_errors(&mut curator, &rows)?;
        sums.measuring += started.elapsed();
        let Some(errors) = release.errors() else { continue };
        let drawn = rows.project_many(&cliques)?;
        let truth = exact
            .iter()
            .zip(&drawn)
            .map(|(x, y)| x.iter().zip(y).map(|(x, y)| f64::from(x.abs_diff(*y))).sum::<f64>() / n);
        let truth: Vec<f64> = truth.collect();
        let mean = truth.iter().sum::<f64>() / truth.len() as f64;
        let yes = |is: bool| if is { 1.0 } else { 0.0 };
        sums.mean_error += mean;
        sums.means += yes(errors.mean.covers(mean));
        sums.mean_width += (errors.mean.upper - errors.mean.lower) / 2.0;
        let worst = truth.iter().copied().fold(0.0, f64::max);
        sums.bands += yes(errors.none_above.is_some_and(|bound| worst <= bound));
        for ((error, truth), each) in errors.marginals.iter().zip(&truth).zip(&mut sums.each) {
            let best = error.best();
            let hits = [yes(error.measured.covers(*truth)), yes(best.covers(*truth))];
            each.iter_mut().zip(hits).for_each(|(sum, hit)| *sum += hit);
            sums.marginals += hits[0] / cliques.len() as f64;
            sums.shrunk += hits[1] / cliques.len() as f64;
            sums.width += 1.96 * errors.stddev / cliques.len() as f64;
            sums.shrunk_width += (best.upper - best.lower) / 2.0 / cliques.len() as f64;
            sums.squares[0] += (error.measured.estimate - truth).powi(2) / cliques.len() as f64;
            sums.squares[1] += (best.estimate - truth).powi(2) / cliques.len() as f64;
        }
    }
    print(name, epsilon, releases as f64, &mut sums);
    Ok(())
}

fn print(name: &str, epsilon: f64, releases: f64, sums: &mut Sums) {
    let row = |what: &str, value: f64| println!("| {what} | {:.4} |", value / releases);
    println!("| {name}, epsilon {epsilon}, {releases} releases | |\n|---|---|");
    row("mean error", sums.mean_error);
    row("coverage: mean", sums.means);
    row("coverage: measured, all marginals", sums.marginals);
    row("coverage: shrunk, all marginals", sums.shrunk);
    row("coverage: bound on all marginals", sums.bands);
    for (i, what) in ["measured", "shrunk"].into_iter().enumerate() {
        sums.each.sort_by(|a, b| a[i].total_cmp(&b[i]));
        row(
            &format!("coverage: {what}, the marginal of the worst tenth"),
            sums.each[sums.each.len() / 10][i],
        );
    }
    row("half width: mean", sums.mean_width);
    row("half width: measured", sums.width);
    row("half width: shrunk", sums.shrunk_width);
    let root = |i: usize| (sums.squares[i] / releases).sqrt() * releases;
    row("root mean squared error: measured", root(0));
    row("root mean squared error: shrunk", root(1));
    row("seconds, run and rows", sums.running.as_secs_f64());
    row("seconds, errors", sums.measuring.as_secs_f64());
}
