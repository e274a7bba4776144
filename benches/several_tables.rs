//! Coverage of intervals from a released table and its replicates: `cargo bench --bench several_tables -- [TABLE
//! [MECHANISM [EPSILON [RELEASES [REPLICATES [RAW]]]]]]`, by default `pa`, `mst`, 1, 100 and 10. `TABLE` is `adult`, or a
//! state of the ACS of 2024, such as `pa`.
//!
//! Each release draws 10,000 records at random, with replacement, from the table, which is the population, and spends the
//! budget on them under replace-one and δ = 10⁻⁹, without public tables. 50 statistics are computed on the released table
//! and its replicates. Prints how often intervals cover the value of the private records and that of the population, next
//! to those of an analyst who takes the released table for the private one, of all and of each kind of statistics. `RAW` is a file
//! for every number. Noise, rows and
//! records have fixed seeds. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::collections::BTreeMap;
use std::io::Write;
use std::time::{Duration, Instant};

use jointly::combine::{CombinedEstimate, Statistic, Target};
use jointly::data::Dataset;
use jointly::mechanism::{Mechanism, Replication, Task, find};
use jointly::observe::Silent;
use jointly::privacy::PrivacyUnit;
use jointly::{Budget, Drawing, NeighboringRelation, NoiseSeed, Schema, Workload};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use support::Failure;

/// Records of a private table.
const RECORDS: usize = 10_000;
/// The statistics of a table.
const STATISTICS: usize = 50;
/// The 97.5 % quantile of the normal distribution.
const NORMAL: f64 = 1.959_963_984_540_054;

/// How often intervals covered, by what they are made of.
#[derive(Clone, Default)]
struct Tally {
    count: f64,
    /// Private table, population; by the combining rules, by the measurements, by the naive analyst.
    covered: [[f64; 2]; 3],
    widths: [[f64; 2]; 3],
    measured: f64,
}

fn adult(root: &std::path::Path) -> Result<(Schema, Dataset, Vec<Statistic>), Failure> {
    let (schema, table) = support::adult_population(root)?;
    let share = |text: &str| Statistic::share(text, &schema);
    let (rich, wed) = ("income>50K=1", "marital-status=2");
    let mut all =
        vec![Statistic::mean("age", &schema)?, Statistic::mean("education-num", &schema)?];
    for text in [
        "sex=1",
        "income>50K=1",
        "race=4",
        "race=2",
        "workclass=4",
        "marital-status=2",
        "relationship=1",
        "age=0..7",
        "age=24..",
        "education-num=8",
        "education-num=12..",
    ] {
        all.push(share(text)?);
    }
    for text in [
        "sex=1, income>50K=1",
        "marital-status=2, income>50K=1",
        "sex=1, relationship=1",
        "race=4, sex=1",
        "education-num=12.., income>50K=1",
        "age=0..7, marital-status=4",
        "workclass=4, income>50K=1",
    ] {
        all.push(share(text)?);
    }
    for text in [
        "age: sex=1 vs sex=0",
        "age: income>50K=1 vs income>50K=0",
        "age: marital-status=2 vs marital-status=4",
        "age: relationship=1 vs relationship=3",
        "education-num: income>50K=1 vs income>50K=0",
        "education-num: sex=1 vs sex=0",
        "income>50K=1: sex=1 vs sex=0",
        "income>50K=1: marital-status=2 vs marital-status=4",
        "income>50K=1: relationship=0 vs relationship=1",
        "income>50K=1: race=4 vs race=2",
        "sex=1: marital-status=2 vs marital-status=4",
        "sex=1: relationship=0 vs relationship=1",
        "marital-status=2: relationship=0 vs relationship=1",
        "income>50K=1: workclass=5 vs workclass=4",
        "education-num: race=4 vs race=2",
    ] {
        all.push(Statistic::difference(text, &schema)?);
    }
    for text in [
        "age ~ education-num",
        "age ~ income>50K=1",
        "education-num ~ income>50K=1",
        "education-num ~ age + sex=1",
        "income>50K=1 ~ age",
    ] {
        all.push(Statistic::linear(text, &schema)?);
    }
    for predictor in [
        "age",
        "education-num",
        "sex=1",
        "marital-status=2",
        "relationship=0",
        "age + education-num",
        "age + sex=1",
    ] {
        all.push(Statistic::logistic(&format!("{rich} ~ {predictor}"), &schema)?);
    }
    for predictor in ["age", "relationship=1", "sex=1"] {
        all.push(Statistic::logistic(&format!("{wed} ~ {predictor}"), &schema)?);
    }
    Ok((schema, table, all))
}

fn acs(root: &std::path::Path, state: &str) -> Result<(Schema, Dataset, Vec<Statistic>), Failure> {
    let (schema, table) = support::acs_population(root, state)?;
    let mut all = vec![Statistic::mean("AGEP", &schema)?];
    for text in [
        "SEX=2",
        "RAC1P=1",
        "RAC1P=2",
        "RAC1P=9",
        "NATIVITY=2",
        "MAR=1",
        "MAR=3",
        "HICOV=2",
        "DIS=1",
        "PUBCOV=1",
        "AGEP=65..",
        "AGEP=..19",
        "AGEP=25..34",
    ] {
        all.push(Statistic::share(text, &schema)?);
    }
    for text in [
        "SEX=2, MAR=2",
        "DIS=1, PUBCOV=1",
        "AGEP=65.., DIS=1",
        "NATIVITY=2, HICOV=2",
        "MAR=5, AGEP=..19",
        "RAC1P=1, NATIVITY=2",
        "HICOV=2, PUBCOV=2",
        "AGEP=65.., PUBCOV=1",
        "SEX=2, AGEP=80..",
    ] {
        all.push(Statistic::share(text, &schema)?);
    }
    for text in [
        "AGEP: SEX=2 vs SEX=1",
        "AGEP: MAR=1 vs MAR=5",
        "AGEP: MAR=2 vs MAR=3",
        "AGEP: DIS=1 vs DIS=2",
        "AGEP: NATIVITY=2 vs NATIVITY=1",
        "AGEP: PUBCOV=1 vs PUBCOV=2",
        "AGEP: HICOV=2 vs HICOV=1",
        "DIS=1: PUBCOV=1 vs PUBCOV=2",
        "DIS=1: SEX=2 vs SEX=1",
        "NATIVITY=2: RAC1P=1 vs RAC1P=2",
        "NATIVITY=2: RAC1P=6 vs RAC1P=1",
        "HICOV=2: NATIVITY=2 vs NATIVITY=1",
        "PUBCOV=1: HICOV=1 vs HICOV=2",
        "DIS=1: AGEP=65.. vs AGEP=..64",
        "HICOV=2: MAR=1 vs MAR=5",
        "PUBCOV=1: RAC1P=1 vs RAC1P=2",
    ] {
        all.push(Statistic::difference(text, &schema)?);
    }
    for text in ["AGEP ~ DIS=1", "AGEP ~ PUBCOV=1 + SEX=2", "DIS=1 ~ AGEP"] {
        all.push(Statistic::linear(text, &schema)?);
    }
    for text in [
        "DIS=1 ~ AGEP",
        "PUBCOV=1 ~ AGEP",
        "MAR=1 ~ AGEP",
        "NATIVITY=2 ~ AGEP",
        "HICOV=2 ~ NATIVITY=2",
        "PUBCOV=1 ~ DIS=1",
        "HICOV=2 ~ AGEP",
        "DIS=1 ~ AGEP + SEX=2",
    ] {
        all.push(Statistic::logistic(text, &schema)?);
    }
    Ok((schema, table, all))
}

fn main() -> Result<(), Failure> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    let word = |i: usize, usual: &'static str| asked.get(i).cloned().unwrap_or(usual.into());
    let (name, mechanism) = (word(0, "pa"), word(1, "mst"));
    let (epsilon, releases): (f64, u64) = (word(2, "1").parse()?, word(3, "100").parse()?);
    let replicates: u64 = word(4, "10").parse()?;
    let mut raw = asked.get(5).map(std::fs::File::create).transpose()?;
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let (schema, population, statistics) =
        if name == "adult" { adult(&root)? } else { acs(&root, &name)? };
    assert_eq!(statistics.len(), STATISTICS, "the promised number of statistics");
    let workload = Workload::all_k_way(&schema.domain(), 2)?;
    let run = find(&mechanism)?.build(&serde_json::Map::new())?;
    let mut tallies: BTreeMap<String, Tally> = BTreeMap::new();
    let mut spent = [Duration::ZERO; 2];
    for seed in 0..releases {
        let private = support::resampled(&population, RECORDS, seed)?;
        let made = Made::new(&*run, &workload, epsilon, &private, seed, replicates, &mut spent)?;
        for (number, statistic) in statistics.iter().enumerate() {
            let design = statistic.design(&schema, &made.released)?;
            // The last coefficient is that of the last predictor.
            let of = |table: &Dataset| design.values(table).pop().flatten();
            let (Some(truth), Some(own)) = (of(&population).zip(of(&private)), of(&made.released))
            else {
                continue;
            };
            let Some(found) = made.replicates.iter().map(of).collect::<Option<Vec<f64>>>() else {
                continue;
            };
            let sampling = design.sampling_variances(&made.released).pop().unwrap_or(0.0);
            let support = design.support(&schema.domain(), &made.accuracy);
            let targets = [Target::PrivateTable, Target::Population];
            let measured = targets.map(|target| {
                let found =
                    statistic.combine(&schema, &made.released, &[], &made.accuracy, target, None);
                found.map(|mut found| found.pop().and_then(|last| last.combined))
            });
            let [Ok(private_interval), Ok(population_interval)] = measured else {
                return Err("a statistic that cannot be combined".into());
            };
            let measured = private_interval.zip(population_interval).map(|(a, b)| [a, b]);
            let text = statistic.to_string();
            let kind = text.split(' ').next().unwrap_or_default();
            for group in [support.name().to_owned(), format!("{}, {kind}", support.name())] {
                let tally = tallies.entry(group).or_default();
                tally.add([truth.1, truth.0], own, &found, sampling, measured);
            }
            if let Some(raw) = &mut raw {
                let ends =
                    measured.map_or([f64::NAN; 4], |[a, b]| [a.lower, a.upper, b.lower, b.upper]);
                let [m, v, l, u] = ends;
                write!(
                    raw,
                    "{seed},{number},{},{},{},{own},{sampling},{m},{v},{l},{u}",
                    support.name(),
                    truth.0,
                    truth.1
                )?;
                found.iter().try_for_each(|q| write!(raw, ",{q}"))?;
                writeln!(raw)?;
            }
        }
    }
    print(&name, &mechanism, epsilon, releases, replicates, &tallies, spent);
    Ok(())
}

/// A release with its replicates.
struct Made {
    released: Dataset,
    replicates: Vec<Dataset>,
    accuracy: jointly::model::Accuracy,
}

impl Made {
    fn new(
        mechanism: &dyn Mechanism,
        workload: &Workload,
        epsilon: f64,
        private: &Dataset,
        seed: u64,
        replicates: u64,
        spent: &mut [Duration; 2],
    ) -> Result<Self, Failure> {
        let started = Instant::now();
        let unit = PrivacyUnit::of_record(NeighboringRelation::ReplaceOne);
        let budget = Budget::approximate(epsilon, 1e-9)?;
        let noise = NoiseSeed::Fixed(1000 * seed);
        let mut curator = budget.curator(private, unit.relation(), noise)?;
        let release = mechanism.run(&mut curator, &Task::new(workload, &[]), &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1000 * seed);
        let released = release.rows(RECORDS, Drawing::Refined, &mut rng)?;
        spent[0] += started.elapsed();
        let started = Instant::now();
        let replication = Replication {
            mechanism,
            workload,
            public: &[],
            budget,
            error_share: None,
            earlier: None,
            unit: &unit,
            drawing: Drawing::Refined,
        };
        let drawn = (1..=replicates).map(|number| {
            let seed = 1000 * seed + number;
            replication.draw(&released, NoiseSeed::Fixed(seed), seed, &mut Silent)
        });
        let replicates = drawn.collect::<Result<_, _>>()?;
        spent[1] += started.elapsed();
        Ok(Self { released, replicates, accuracy: release.accuracy() })
    }
}

impl Tally {
    /// `truth`: on the private table and in the population.
    fn add(
        &mut self,
        truth: [f64; 2],
        own: f64,
        found: &[f64],
        sampling: f64,
        measured: Option<[CombinedEstimate; 2]>,
    ) {
        self.count += 1.0;
        for (target, truth) in truth.into_iter().enumerate() {
            let sampling = if target == 0 { 0.0 } else { sampling };
            let half = |variance: f64| NORMAL * variance.sqrt();
            let mut note = |way: usize, lower: f64, upper: f64| {
                self.covered[way][target] += f64::from(u8::from((lower..=upper).contains(&truth)));
                self.widths[way][target] += upper - lower;
            };
            if let Some(combined) = CombinedEstimate::of_replicates(own, found, sampling) {
                note(0, combined.lower, combined.upper);
            }
            if let Some(measured) = measured {
                note(1, measured[target].lower, measured[target].upper);
            }
            note(2, own - half(sampling), own + half(sampling));
        }
        self.measured += f64::from(u8::from(measured.is_some()));
    }
}

fn print(
    name: &str,
    mechanism: &str,
    epsilon: f64,
    releases: u64,
    replicates: u64,
    tallies: &BTreeMap<String, Tally>,
    spent: [Duration; 2],
) {
    println!(
        "{name}, {mechanism}, epsilon {epsilon}, {releases} releases, {replicates} replicates"
    );
    println!(
        "| support | statistics | replicates, private | population | measurements, private | population | naive, population |"
    );
    println!("|---|---|---|---|---|---|---|");
    for (support, tally) in tallies {
        let [a, b, c] = tally.covered;
        let (n, m) = (tally.count, tally.measured);
        println!(
            "| {support} | {n} | {:.3} | {:.3} | {:.3} of {m} | {:.3} | {:.3} |",
            a[0] / n,
            a[1] / n,
            b[0] / m,
            b[1] / m,
            c[1] / n
        );
    }
    let per = |i: usize| spent[i].as_secs_f64() / releases as f64;
    println!("seconds of a release {:.2}, of its replicates {:.2}", per(0), per(1));
}
