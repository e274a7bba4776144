//! Census records by area: `cargo bench --bench areas -- METHOD [SEED [SHARES]]`.
//!
//! Pennsylvania's public use microdata areas, 52 attributes, with Ohio as the public table, ε = 10, δ = 10⁻⁹,
//! add-remove-one. METHOD is one of
//!
//! - `resampled`: the area's own records, drawn with replacement: the error from chance alone;
//! - `prior`: Ohio's records, drawn with replacement;
//! - `jam-pgm`: JAM-PGM in each area separately, with Ohio public. No record is in two areas, so each run has the whole
//!   budget. 104 rounds (two per attribute), 1 MiB, records refined as in `synth`;
//! - `answers`: the sizes and answers on the areas of `ide-singles`, fitted without a prior, by a graphical model;
//! - `flat`: the same, from equal weights on Ohio's distinct records;
//! - `ide`, `ide-laplace` (pure ε): the mechanism, states, then areas; `ide-singles`, `ide-singles-laplace`: single
//!   attributes only, all of them. A third argument gives the level shares, as `--level-shares` does.
//!
//! or `schema`, which prints the schema with the codes of state and areas, for `jointly synth --groups STATE,PUMA`.
//!
//! Prints a row of a Markdown table: the level shares, the seed, the group score over all areas and over every eighth,
//! the number of penalized areas, seconds for the method including drawing records, CPU seconds, and the process's peak
//! memory. Reads `JOINTLY_DATA`.

#![expect(clippy::print_stdout, reason = "a bench prints its tables")]

#[allow(dead_code, reason = "each bench uses a part of it")]
mod support;

use std::path::Path;
use std::time::Instant;

use jointly::CommonError;
use jointly::data::{Column, Dataset, PublicData, read_csv};
use jointly::domain::{Domain, Kind, Schema, SchemaColumn};
use jointly::estimation::prior::{Answers, PriorAware};
use jointly::evaluation::GroupScore;
use jointly::measurement::Measurement;
use jointly::mechanism::{Ide, JamPgm, LevelShares, Mechanism, Release, Task};
use jointly::model::{Distribution, Drawing, MarkovRandomField, Sampling, WeightedSupport};
use jointly::observe::Silent;
use jointly::privacy::{
    Curator, Delta, Epsilon, NeighboringRelation, NoiseForm, NoiseSeed, Rho, rho_from_epsilon_delta,
};
use jointly::query::Workload;
use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};

use support::Failure;

const EPSILON: u32 = 10;
/// Pennsylvania, and its areas.
const STATE: &str = "42";
const AREAS: &str = include_str!("areas/pennsylvania.txt");
const RELATION: NeighboringRelation = NeighboringRelation::AddRemoveOne;
/// The second score uses every n-th area.
const STRIDE: usize = 8;
/// Most cells of a pair in JAM-PGM's workload.
const MAX_CELLS: u64 = 2000;

fn main() -> Result<(), Failure> {
    let Some(root) = support::folder("JOINTLY_DATA", "../shared/data") else { return Ok(()) };
    let mut asked = std::env::args().skip(1).filter(|argument| !argument.starts_with("--"));
    let Some(method) = asked.next() else {
        println!("SKIPPED: no method named; see the first lines of benches/areas.rs");
        return Ok(());
    };
    let folder = root.join("acs2024-person-household");
    if method == "schema" {
        println!("{}", with_areas(&Schema::read(&folder.join("schema.json"))?)?.to_json()?);
        return Ok(());
    }
    let seed: u64 = asked.next().map_or(Ok(0), |seed| seed.parse())?;
    let shares: LevelShares = asked.next().map_or(Ok(LevelShares::default()), |s| s.parse())?;
    let mut census = Census::read(&folder)?;
    census.shares = shares.clone();
    let (start, cpu) = (Instant::now(), support::cpu_seconds());
    let synthetic = census.synthetic(&method, seed)?;
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), support::cpu_seconds() - cpu);
    let mib = peak_mib();

    // Marginals are drawn by the seed that `jointly evaluate` uses.
    let mut rng = ChaCha20Rng::seed_from_u64(1);
    let groups = census.private.domain().clique(&["STATE", "PUMA"])?;
    let found = GroupScore::default().between(&census.private, &synthetic, &groups, &mut rng)?;
    let eighth: Vec<f64> = found.by_group.iter().step_by(STRIDE).map(|g| g.distance).collect();
    let part = eighth.iter().sum::<f64>() / eighth.len() as f64;
    let (all, penalized) = (found.score, found.penalized);
    println!(
        "| {method} | {shares} | {seed} | {all:.4} | {part:.4} | {penalized} | {seconds:.1} | {cpu:.1} | {mib:.0} |"
    );
    Ok(())
}

/// Pennsylvania with state and area first, and Ohio without them.
struct Census {
    private: Dataset,
    people: Dataset,
    ohio: Dataset,
    /// Positions of the records of each area.
    areas: Vec<Vec<usize>>,
    /// Level shares of IDE.
    shares: LevelShares,
}

impl Census {
    fn read(folder: &Path) -> Result<Self, Failure> {
        let (pa, oh) = (folder.join("pa.csv.gz"), folder.join("oh.csv.gz"));
        let plain = Schema::read(&folder.join("schema.json"))?;
        let schema = with_areas(&plain)?;
        let private = read_csv(&pa, &schema)?;
        let domain = jointly::data::Projectable::domain(&private).clone();
        let others: Vec<usize> = (0..domain.len()).filter(|a| !is_area(&domain, *a)).collect();
        let people = private.select(&others)?;
        let area = domain.position("PUMA").ok_or("no column PUMA")?;
        let mut areas = vec![Vec::new(); domain.cardinality(area)];
        for (record, code) in private.columns()[area].iter().enumerate() {
            areas[code as usize].push(record);
        }
        let (ohio, shares) = (read_csv(&oh, &plain)?, LevelShares::default());
        Ok(Self { private, people, ohio, areas, shares })
    }

    fn synthetic(&self, method: &str, seed: u64) -> Result<Dataset, Failure> {
        let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
        let mut parts = Vec::with_capacity(self.areas.len());
        match method {
            "resampled" | "prior" => {
                for own in &self.areas {
                    let everyone: Vec<usize> = (0..self.ohio.records()).collect();
                    let (table, pool) = match method {
                        "prior" => (&self.ohio, &everyone),
                        _ => (&self.people, own),
                    };
                    let draw = |_: &usize| pool[rng.random_range(0..pool.len())];
                    parts.push(take(table, &own.iter().map(draw).collect::<Vec<_>>())?);
                }
            }
            "jam-pgm" => {
                let (workload, _) = Workload::all_k_way(self.ohio.domain(), 2)?
                    .restrict(self.ohio.domain(), MAX_CELLS)?;
                for (area, own) in (0..).zip(&self.areas) {
                    // Separate noise for each area.
                    let seed = 1000 * seed + area;
                    parts.push(self.jam_pgm(&take(&self.people, own)?, &workload, seed)?);
                }
            }
            "answers" | "flat" => {
                let release = self.ide(&singles(), NoiseForm::Gaussian, seed)?;
                let (sizes, answers) = self.of_areas(&release)?;
                let flat = WeightedSupport::new(&self.ohio, vec![1.0; self.ohio.records()], 1.0)?;
                let (flat, _) = flat.rows().distinct();
                let flat = WeightedSupport::new(&flat, vec![1.0; flat.records()], 1.0)?;
                let uniform = MarkovRandomField::uniform(self.ohio.domain(), 1.0)?;
                let update = PriorAware { passes: 20, ..PriorAware::default() };
                for (size, answers) in sizes.iter().zip(&answers) {
                    parts.push(if method == "flat" {
                        let fitted = update.update(&flat, answers)?.model;
                        fitted.draw(*size, Sampling::Rounded, &mut rng)?
                    } else {
                        let fitted = update.update_model(&uniform, answers, 1.0)?.model;
                        fitted.sample(*size, Sampling::Rounded, &mut rng)?
                    });
                }
            }
            _ => {
                let (mechanism, noise) = match method {
                    "ide" => (Ide::default(), NoiseForm::Gaussian),
                    "ide-laplace" => (Ide::default(), NoiseForm::Laplace),
                    "ide-singles" => (singles(), NoiseForm::Gaussian),
                    "ide-singles-laplace" => (singles(), NoiseForm::Laplace),
                    other => return Err(format!("no method '{other}'").into()),
                };
                let release = self.ide(&mechanism, noise, seed)?;
                let records = release.model.total().round().max(1.0);
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a size"
                )]
                return Ok(release.model.sample(records as usize, Sampling::Rounded, &mut rng)?);
            }
        }
        self.assembled(&parts)
    }

    /// The mechanism, groups within the state.
    fn ide(&self, mechanism: &Ide, noise: NoiseForm, seed: u64) -> Result<Release, Failure> {
        let workload = Workload::all_k_way(self.private.domain(), 1)?;
        let public = [PublicData::new("oh", self.ohio.clone(), self.private.domain())?];
        let seed = NoiseSeed::Fixed(seed);
        let mut curator = match noise {
            NoiseForm::Gaussian => Curator::new(&self.private, RELATION, budget()?, seed)?,
            NoiseForm::Laplace => {
                let limit = Epsilon::new(f64::from(EPSILON))?;
                Curator::pure(&self.private, RELATION, limit, seed)?
            }
        };
        let groups = vec!["STATE".into(), "PUMA".into()];
        let level_shares = self.shares.clone();
        let mechanism = Ide { groups, noise, level_shares, ..mechanism.clone() };
        let task = Task::new(&workload, &public);
        Ok(mechanism.run(&mut curator, &task, &mut Silent)?)
    }

    /// Sizes of the areas, and the answers in each, as IDE measured them.
    fn of_areas(&self, release: &Release) -> Result<(Vec<usize>, Vec<Vec<Answers>>), Failure> {
        let domain = self.private.domain();
        let groups = domain.clique(&["STATE", "PUMA"])?;
        let within = |m: &&Measurement| groups.is_subset(&m.clique);
        let measured: Vec<&Measurement> = release.measurements.iter().filter(within).collect();
        let sizes = measured.iter().find(|m| m.clique == groups).ok_or("no sizes of areas")?;
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size")]
        let sizes: Vec<usize> = sizes.values.iter().map(|size| size.max(1.0) as usize).collect();
        let mut answers = vec![Vec::new(); sizes.len()];
        for measurement in measured.iter().filter(|m| m.clique != groups) {
            // State and area come first in every table, so that an area's cells lie together.
            let names = measurement.clique.difference(&groups);
            let names: Vec<&str> = names.iter().map(|a| domain.name(a)).collect();
            let clique = self.ohio.domain().clique(&names)?;
            let cells = measurement.values.len() / sizes.len();
            for ((own, size), table) in
                answers.iter_mut().zip(&sizes).zip(measurement.values.chunks_exact(cells))
            {
                let frequencies = table.iter().map(|count| count / *size as f64).collect();
                own.push(Answers::new(clique.clone(), frequencies));
            }
        }
        Ok((sizes, answers))
    }

    fn jam_pgm(&self, own: &Dataset, workload: &Workload, seed: u64) -> Result<Dataset, Failure> {
        if own.records() == 0 {
            return Ok(own.clone());
        }
        let public = [PublicData::new("oh", self.ohio.clone(), self.ohio.domain())?];
        let mut curator = Curator::new(own, RELATION, budget()?, NoiseSeed::Fixed(seed))?;
        let mechanism = JamPgm { size_limit_mib: 1.0, iterations: 100, ..JamPgm::default() };
        let task = Task::new(workload, &public);
        let release = mechanism.run(&mut curator, &task, &mut Silent)?;
        let mut rng = ChaCha20Rng::seed_from_u64(1000 + seed);
        Ok(release.rows(release.records(), Drawing::Refined, &mut rng)?)
    }

    /// One table of the records of all areas.
    fn assembled(&self, parts: &[Dataset]) -> Result<Dataset, Failure> {
        let domain = self.private.domain();
        let columns = domain.attributes().iter().map(|attribute| {
            let own = self.ohio.domain().position(&attribute.name);
            let codes = parts.iter().zip(0_u32..).flat_map(|(part, area)| {
                let area = if attribute.name == "PUMA" { area } else { 0 };
                (0..part.records()).map(move |record| {
                    let column = own.and_then(|own| part.column(own));
                    column.and_then(|column| column.get(record)).unwrap_or(area)
                })
            });
            Column::from_codes(codes, attribute.cardinality as usize)
        });
        Ok(Dataset::new(domain.clone(), columns.collect::<Result<_, CommonError>>()?)?)
    }
}

/// All 52 single attributes, regardless of their noise.
fn singles() -> Ide {
    Ide { noise_to_count: 1e9, cliques: Some(52), ..Ide::default() }
}

fn is_area(domain: &Domain, attribute: usize) -> bool {
    matches!(domain.name(attribute), "STATE" | "PUMA")
}

fn budget() -> jointly::Result<Rho> {
    Ok(rho_from_epsilon_delta(Epsilon::new(f64::from(EPSILON))?, Delta::new(1e-9)?)?)
}

fn take(table: &Dataset, records: &[usize]) -> jointly::Result<Dataset> {
    let rows: Vec<Vec<u32>> = records.iter().map(|record| table.row(*record)).collect();
    Ok(Dataset::from_rows(table.domain().clone(), &rows)?)
}

/// The schema with the state and its areas as attributes. Their codes are declared; none is read from the private file.
fn with_areas(plain: &Schema) -> Result<Schema, Failure> {
    let areas = AREAS.lines().filter(|line| !line.starts_with('#'));
    let areas: Vec<String> = areas.flat_map(str::split_whitespace).map(str::to_owned).collect();
    let columns = plain.columns().iter().map(|column| {
        let codes = match column.name.as_str() {
            "STATE" => vec![STATE.to_owned()],
            "PUMA" => areas.clone(),
            _ => return column.clone(),
        };
        let kind = Kind::Categorical { codes, labels: None, other: None, groups: Vec::new() };
        SchemaColumn::attribute(column.name.clone(), kind)
    });
    Ok(Schema::new(plain.na_token(), columns.collect::<Vec<_>>())?)
}

/// Peak memory of this process as the system reports it; 0 if it does not.
fn peak_mib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}
