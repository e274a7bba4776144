//! Coverage of statistics from posterior tables: `cargo bench --bench posterior -- [TABLE [EPSILON [RELEASES [TABLES]]]]`,
//! by default `pa`, 1, 40 and 20. `TABLE` is `adult`, or a state of the ACS of 2024, such as `pa`.
//!
//! Each release draws 10,000 records at random, with replacement, from the table, which is the population, and measures all pairs of
//! its columns by `residual-planner` under replace-one and δ = 10⁻⁹. Each statistic is computed on tables that are drawn from the
//! posterior of its columns, and pooled by Rubin's rules. Prints how often 95 % intervals cover its numbers in the population and on the
//! private records, beside those of an analyst who takes the first table for the private one (naive) and of one who has the private
//! records (oracle). Noise, rows and tables have fixed seeds. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::time::Instant;

use jointly::combine::{CombinedEstimate, Statistic};
use jointly::data::Dataset;
use jointly::mechanism::{Mechanism, ResidualPlanner, Task};
use jointly::observe::{Silent, Unstoppable};
use jointly::posterior::Posterior;
use jointly::{Budget, NeighboringRelation, NoiseSeed, Schema, Workload};

use support::Failure;

/// Records of a private table.
const RECORDS: usize = 10_000;
/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// The schema of a table, its records and the statistics: logistic regressions and, after `linear`, linear ones have a `~`, shares none.
type Loaded = (Schema, Dataset, Vec<&'static str>);

fn parse(text: &str, schema: &Schema) -> jointly::Result<Statistic> {
    match text.strip_prefix("linear ") {
        Some(formula) => Statistic::linear(formula, schema),
        None if text.contains('~') => Statistic::logistic(text, schema),
        None => Statistic::share(text, schema),
    }
}

fn acs(root: &std::path::Path, state: &str) -> Result<Loaded, Failure> {
    let (schema, table) = support::acs_population(root, state)?;
    let formulas = vec![
        "PUBCOV=1 ~ AGEP + SEX=2",
        "DIS=1 ~ AGEP + SEX=2",
        "DIS=1 ~ AGEP + SEX=2 + NATIVITY=2",
        "HICOV=2 ~ AGEP + NATIVITY=2 + MAR=5",
        "PUBCOV=1 ~ AGEP + DIS=1 + MAR=1",
        "NATIVITY=2 ~ AGEP + HICOV=2",
        "DIS=1 ~ SEX=2 + MAR=1 + HICOV=2",
        "SEX=2 ~ AGEP + MAR=2 + MAR=3",
        "PUBCOV=1 ~ AGEP + DIS=1 + MAR=1 + SEX=2 + NATIVITY=2",
        "HICOV=2 ~ RAC1P=1 + NATIVITY=2",
        "PUBCOV=1 ~ AGEP + RAC1P=1 + RAC1P=2 + SEX=2",
        "MAR=1 ~ AGEP + SEX=2 + RAC1P=2 + NATIVITY=2",
        "SEX=2, MAR=2",
        "AGEP=65.., DIS=1",
        "NATIVITY=2, HICOV=2",
        "RAC1P=2, PUBCOV=1",
        "MAR=5, AGEP=..19",
        "linear AGEP ~ DIS=1 + SEX=2",
        "linear DIS=1 ~ AGEP + PUBCOV=1 + MAR=1",
        "linear AGEP ~ MAR=1 + NATIVITY=2 + SEX=2",
    ];
    Ok((schema, table, formulas))
}

fn adult(root: &std::path::Path) -> Result<Loaded, Failure> {
    let (schema, table) = support::adult_population(root)?;
    let formulas = vec![
        "income>50K=1 ~ age + education-num",
        "income>50K=1 ~ age + sex=1",
        "income>50K=1 ~ education-num + sex=1 + marital-status=2",
        "income>50K=1 ~ age + education-num + sex=1",
        "income>50K=1 ~ sex=1 + race=4 + marital-status=2",
        "marital-status=2 ~ age + sex=1",
        "sex=1 ~ education-num + income>50K=1",
        "income>50K=1 ~ relationship=0 + education-num",
        "sex=1, income>50K=1",
        "race=4, sex=1",
        "workclass=4, income>50K=1",
        "linear age ~ education-num + sex=1",
        "linear education-num ~ age + sex=1 + income>50K=1",
    ];
    Ok((schema, table, formulas))
}

/// How often intervals of one kind covered, and their widths.
#[derive(Clone, Default)]
struct Tally {
    covered: f64,
    widths: Vec<f64>,
}

impl Tally {
    fn add(&mut self, lower: f64, upper: f64, truth: f64) {
        self.covered += f64::from(u8::from((lower..=upper).contains(&truth)));
        self.widths.push(upper - lower);
    }

    fn median(&self) -> f64 {
        let mut sorted = self.widths.clone();
        sorted.sort_by(f64::total_cmp);
        sorted.get(sorted.len() / 2).copied().unwrap_or(f64::NAN)
    }
}

fn main() -> Result<(), Failure> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let word = |i: usize, usual: &'static str| asked.get(i).cloned().unwrap_or(usual.into());
    let (name, epsilon): (String, f64) = (word(0, "pa"), word(1, "1").parse()?);
    let (releases, tables): (u64, usize) = (word(2, "40").parse()?, word(3, "20").parse()?);
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let (schema, population, formulas) =
        if name == "adult" { adult(&root)? } else { acs(&root, &name)? };
    let domain = schema.domain();
    let workload = Workload::all_k_way(&domain, 2)?;
    // Population and private records by the posterior, naive, oracle: of logistic regressions, linear ones, and shares; of each.
    let mut kinds: [[Tally; 4]; 3] = Default::default();
    let mut by_formula: Vec<[Tally; 4]> = vec![Default::default(); formulas.len()];
    let (mut refused, mut seconds) = (0_u32, 0.0);
    for seed in 0..releases {
        let private = support::resampled(&population, RECORDS, seed)?;
        let budget = Budget::approximate(epsilon, 1e-9)?;
        let relation = NeighboringRelation::ReplaceOne;
        let mut curator = budget.curator(&private, relation, NoiseSeed::Fixed(1000 * seed))?;
        let mechanism = ResidualPlanner::default();
        let release = mechanism.run(&mut curator, &Task::new(&workload, &[]), &mut Silent)?;
        for (formula, tallies) in formulas.iter().zip(&mut by_formula) {
            let statistic = parse(formula, &schema)?;
            let columns = statistic.design(&schema, &private)?.attributes().clone();
            let names: Vec<&str> = columns.iter().map(|at| domain.name(at)).collect();
            let own = schema.select(&names)?;
            let statistic = parse(formula, &own)?;
            let kept: Vec<usize> = columns.iter().collect();
            let [population, private] = [&population, &private].map(|table| table.select(&kept));
            let (population, private) = (population?, private?);
            let design = statistic.design(&own, &private)?;
            let started = Instant::now();
            let posterior = Posterior::new(&domain, &release.accuracy(), &columns)?;
            let drawn = match posterior.tables(tables, seed, &Unstoppable) {
                Ok(drawn) => drawn,
                Err(error) => {
                    println!("release {seed}, {formula}: {error}");
                    refused += 1;
                    continue;
                }
            };
            seconds += started.elapsed().as_secs_f64();
            let found: Vec<Vec<Option<f64>>> = drawn.iter().map(|t| design.values(t)).collect();
            let sampling: Vec<Vec<f64>> =
                drawn.iter().map(|table| design.sampling_variances(table)).collect();
            let truths = [design.values(&population), design.values(&private)];
            let oracle = design.sampling_variances(&private);
            for place in 0..design.names().len() {
                let values: Option<Vec<f64>> = found.iter().map(|own| own[place]).collect();
                let (Some(values), Some(of_population), Some(of_private)) =
                    (values, truths[0][place], truths[1][place])
                else {
                    continue;
                };
                let within = sampling.iter().map(|own| own[place]).sum::<f64>() / tables as f64;
                let pooled = CombinedEstimate::of_imputations(&values, within).ok_or("tables")?;
                let alone = CombinedEstimate::of_imputations(&values, 0.0).ok_or("tables")?;
                let kind = match formula {
                    text if text.starts_with("linear") => 1,
                    text if text.contains('~') => 0,
                    _ => 2,
                };
                for tallies in [&mut kinds[kind], tallies] {
                    tallies[0].add(pooled.lower, pooled.upper, of_population);
                    tallies[1].add(alone.lower, alone.upper, of_private);
                    let half = NORMAL * sampling[0][place].sqrt();
                    tallies[2].add(values[0] - half, values[0] + half, of_population);
                    let half = NORMAL * oracle[place].sqrt();
                    tallies[3].add(of_private - half, of_private + half, of_population);
                }
            }
        }
    }
    println!("{name}, epsilon {epsilon}, {releases} releases, {tables} tables; {refused} refused");
    println!(
        "| statistic | numbers | population | private records | naive | oracle | median width by oracle's |"
    );
    println!("|---|---|---|---|---|---|---|");
    let names = ["**logistic regressions**", "**linear regressions**", "**shares of two columns**"];
    for (name, [a, b, c, d]) in names.iter().zip(&kinds).chain(formulas.iter().zip(&by_formula)) {
        let share = |tally: &Tally| tally.covered / tally.widths.len() as f64;
        println!(
            "| {name} | {} | {:.3} | {:.3} | {:.3} | {:.3} | {:.1} |",
            a.widths.len(),
            share(a),
            share(b),
            share(c),
            share(d),
            a.median() / d.median()
        );
    }
    let many = releases as f64 * formulas.len() as f64;
    println!("seconds of a statistic: {:.2}", seconds / many);
    Ok(())
}
