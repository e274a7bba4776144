//! Parameters chosen on public tables alone.

use std::str::FromStr;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::data::{Dataset, PublicData};
use crate::error::{CommonError, Error, Result};
use crate::evaluation::WorkloadError;
use crate::mechanism::{self, Task};
use crate::model::Drawing;
use crate::observe::{Observer, Quiet};
use crate::privacy::{Budget, Curator, NeighboringRelation, NoiseSeed, Rho};
use crate::query::Workload;
use crate::settings::Form;

/// Most candidates of a tuning.
const MOST_CANDIDATES: usize = 1_000;

/// Added to a run's seed for drawing records, as in `jointly compare`.
const SAMPLING_SEED: u64 = 1000;

/// An error about the candidates.
fn refused<T>(found: impl Into<String>, expected: &'static str) -> Result<T> {
    Err(Error::invalid_parameter("candidates", found.into(), expected))
}

/// The values of one parameter to try, as in `rounds=5,10,20`.
///
/// ```
/// use jointly::experiment::Grid;
/// let grid: Grid = "rounds=5,10,20".parse()?;
/// assert_eq!((grid.name, grid.values.len()), ("rounds", 3));
/// assert!("rounds=5,ten".parse::<Grid>().is_err() && "noise=laplace".parse::<Grid>().is_err());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Grid {
    /// The parameter's name, in kebab case.
    pub name: &'static str,
    /// Its values, each once; at least one.
    pub values: Vec<Value>,
}

impl FromStr for Grid {
    type Err = Error;

    /// Parses `NAME=VALUE,...`, with the name of any numeric parameter of any mechanism.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |found: &str, expected| refused(format!("{found} in '{text}'"), expected);
        let Some((name, values)) = text.split_once('=') else {
            return refused(format!("'{text}'"), "NAME=VALUE,...");
        };
        let name = name.trim().replace('_', "-");
        let numeric = |form| matches!(form, Form::Count | Form::Number);
        let known = mechanism::all_parameters().find(|p| p.name == name && numeric(p.form));
        let Some(parameter) = known else {
            return wrong(&format!("'{name}'"), "the name of a numeric parameter of a mechanism");
        };
        let mut parsed = Vec::new();
        for value in values.split(',').map(str::trim) {
            let (number, expected) = if parameter.form == Form::Count {
                (value.parse::<u32>().ok().map(Value::from), "a whole number below 2^32")
            } else {
                let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
                (number.map(Value::from), "a finite number")
            };
            match number {
                Some(number) if parsed.contains(&number) => {
                    return wrong(&format!("'{value}' twice"), "different values");
                }
                Some(number) => parsed.push(number),
                None => return wrong(&format!("'{value}'"), expected),
            }
        }
        Ok(Self { name: parameter.name, values: parsed })
    }
}

/// Numeric parameters of a mechanism, such as its number of rounds, chosen on public tables: a second public table
/// stands in for the private one, every candidate runs on it with several fixed seeds, and the one with the least mean
/// workload error of its records wins (as for PMW^Pub in Liu et al. 2021, whose number of rounds is such a choice).
///
/// No private record is read and no privacy budget is spent, so the choice is public. It is as good as the stand-in
/// resembles the private table. **Never put the private table in its place**: the errors would be those of private
/// records, and nothing here pays for them.
///
/// ```
/// use jointly::{Budget, PublicData, Workload, demo::Generator, experiment::Tuning, observe::Silent};
/// let stand_in = Generator { records: 500, seed: 1, drift: 0.1 }.generate()?;
/// let other = Generator { records: 500, seed: 2, drift: 0.3 }.generate()?;
/// let public = [PublicData::new("other state", other, stand_in.domain())?];
/// let workload = Workload::all_k_way(stand_in.domain(), 1)?;
/// let tuning = Tuning {
///     grids: vec!["rounds=2,4".parse()?],
///     seeds: 1,
///     ..Tuning::new("jam-pgm", Budget::approximate(1.0, 1e-6)?)
/// };
/// let tuned = tuning.run(&stand_in, &public, &workload, &mut Silent, &mut |_| ())?;
/// assert!([2, 4].contains(&tuned.parameters["rounds"].as_u64().unwrap_or(0)));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tuning {
    /// Name of the mechanism, as in the catalogue.
    pub mechanism: String,
    /// The parameters that all candidates share, by name. Parameters not listed have their defaults.
    pub parameters: Map<String, Value>,
    /// The parameters to choose. Candidates are all combinations of their values, at most 1,000.
    pub grids: Vec<Grid>,
    /// The number of runs of each candidate, with the seeds 0, 1, ...; at least 1.
    pub seeds: u32,
    /// The budget that the release will have.
    pub budget: Budget,
    /// What will differ between neighboring tables.
    pub relation: NeighboringRelation,
    /// The private table's number of records, if it is public, or an estimate. ρ is then multiplied by the square of
    /// its ratio to the stand-in's records, which makes the Gaussian noise the same share of the records as it will be.
    pub records: Option<u64>,
}

/// One setting that was tried.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Candidate {
    /// The values of the parameters to choose, by name.
    pub parameters: Map<String, Value>,
    /// The workload error of each seed's records against the stand-in, in [0, 2]. Empty if it was refused.
    pub errors: Vec<f64>,
    /// Why the mechanism does not run with these values.
    pub refused: Option<String>,
}

/// The result of a tuning. It is public.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TuningResult {
    /// Name of the mechanism.
    pub mechanism: String,
    /// ρ of each run, after the scaling to the stand-in's records.
    pub rho: f64,
    /// All candidates, the first parameter changing slowest.
    pub candidates: Vec<Candidate>,
    /// Position of the chosen candidate.
    pub best: usize,
    /// The parameters of the chosen candidate, with those that all share: what `synth` is to be given.
    pub parameters: Map<String, Value>,
}

impl Tuning {
    /// A tuning of the number of rounds: 5, 10, 20, 40 and 80, with five seeds.
    pub fn new(mechanism: impl Into<String>, budget: Budget) -> Self {
        let values = [5, 10, 20, 40, 80].map(Value::from).to_vec();
        Self {
            mechanism: mechanism.into(),
            parameters: Map::new(),
            grids: vec![Grid { name: "rounds", values }],
            seeds: 5,
            budget,
            relation: NeighboringRelation::ReplaceOne,
            records: None,
        }
    }

    /// Checks everything that does not depend on the tables.
    ///
    /// # Errors
    /// A mechanism that is not in the catalogue or spends nothing; a parameter that it does not have, that is both
    /// given and to be chosen, or given twice; no parameter, no seed, no record; more than 1,000 candidates.
    pub fn check(&self) -> Result<()> {
        let entry = mechanism::find(&self.mechanism)?;
        if !entry.spends {
            let expected = "for a mechanism that spends budget";
            return refused(format!("for '{}', which spends none", entry.name), expected);
        }
        for (name, found) in
            [("seeds", u64::from(self.seeds)), ("records", self.records.unwrap_or(1))]
        {
            if found == 0 {
                return Err(Error::invalid_parameter(name, found, "at least 1"));
            }
        }
        for (i, grid) in self.grids.iter().enumerate() {
            let is_given = self.parameters.contains_key(grid.name);
            if is_given || self.grids[..i].iter().any(|other| other.name == grid.name) {
                let found = format!("'{}', which has values already", grid.name);
                return refused(found, "every parameter once, with a value or candidates");
            }
        }
        let sizes = self.grids.iter().map(|grid| grid.values.len());
        let candidates = sizes.fold(self.grids.len().min(1), usize::saturating_mul);
        if !(1..=MOST_CANDIDATES).contains(&candidates) {
            return refused(format!("{candidates} combinations"), "from 1 to 1000 combinations");
        }
        // Values that the mechanism refuses are the candidates' affair; names and shared values are not.
        let first = self.grids.iter().map(|grid| (grid.name.to_owned(), grid.values[0].clone()));
        let mut all = self.parameters.clone();
        all.extend(first);
        entry.check_known(&all)?;
        entry.build(&self.parameters).map(|_| ())
    }

    /// All combinations of the values, the first parameter changing slowest.
    fn combinations(&self) -> Vec<Map<String, Value>> {
        self.grids.iter().fold(vec![Map::new()], |known, grid| {
            let extended = |map: &Map<String, Value>| {
                let map = map.clone();
                grid.values.iter().map(move |value| {
                    let mut map = map.clone();
                    map.insert(grid.name.to_owned(), value.clone());
                    map
                })
            };
            known.iter().flat_map(extended).collect()
        })
    }

    /// Runs every candidate with every seed, and chooses the one with the least mean error; the earlier of equals.
    ///
    /// `stand_in`: the public table in the private one's place. `public`: the public tables of the release. `observer` may stop
    /// it, and hears nothing of the runs. `heard` is called after each candidate.
    ///
    /// # Errors
    /// As [`check`](Self::check), a ρ of 2²⁴ or more after its scaling, or no candidate that runs: the
    /// message is that of the first.
    pub fn run(
        &self,
        stand_in: &Dataset,
        public: &[PublicData],
        workload: &Workload,
        observer: &mut dyn Observer,
        heard: &mut dyn FnMut(&Candidate),
    ) -> Result<TuningResult> {
        self.check()?;
        let there = stand_in.records() as f64;
        let ratio = self.records.map_or(1.0, |records| records as f64 / there);
        let rho = Rho::from_f64(self.budget.rho().to_f64() * ratio.powi(2)).map_err(|_| {
            let expected = "few enough for a rho below 2^24 after its scaling";
            Error::invalid_parameter("records", self.records.unwrap_or(0), expected)
        })?;
        let (mut candidates, mut first_refused) = (Vec::new(), None);
        for parameters in self.combinations() {
            let mut candidate = Candidate { parameters, errors: Vec::new(), refused: None };
            for seed in 0..u64::from(self.seeds) {
                let task = Task::new(workload, public);
                let run = (&candidate.parameters, rho, seed);
                match self.error(stand_in, &task, run, &mut Quiet(observer)) {
                    Ok(error) => candidate.errors.push(error),
                    Err(stopped @ Error::Common(CommonError::Interrupted)) => return Err(stopped),
                    Err(error) => {
                        candidate.refused = Some(error.to_string());
                        candidate.errors.clear();
                        first_refused.get_or_insert(error);
                        break;
                    }
                }
            }
            heard(&candidate);
            candidates.push(candidate);
        }
        let means = candidates.iter().map(Candidate::mean);
        let ran = means.enumerate().filter_map(|(i, mean)| Some((i, mean?)));
        let best = ran.min_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        let Some((best, _)) = best else {
            let none = || Error::invalid_parameter("candidates", 0, "at least 1");
            return Err(first_refused.unwrap_or_else(none));
        };
        let mut parameters = self.parameters.clone();
        parameters.extend(candidates[best].parameters.clone());
        let (mechanism, rho) = (self.mechanism.clone(), rho.to_f64());
        Ok(TuningResult { mechanism, rho, candidates, best, parameters })
    }

    /// The workload error of one run's records against the stand-in.
    fn error(
        &self,
        stand_in: &Dataset,
        task: &Task<'_>,
        (chosen, rho, seed): (&Map<String, Value>, Rho, u64),
        observer: &mut dyn Observer,
    ) -> Result<f64> {
        let mut parameters = self.parameters.clone();
        parameters.extend(chosen.clone());
        let mechanism = mechanism::find(&self.mechanism)?.build(&parameters)?;
        let mut curator = Curator::new(stand_in, self.relation, rho, NoiseSeed::Fixed(seed))?;
        let release = mechanism.run(&mut curator, task, observer)?;
        let mut rng = ChaCha20Rng::seed_from_u64(SAMPLING_SEED + seed);
        let rows = release.rows(stand_in.records(), Drawing::Refined, &mut rng)?;
        Ok(WorkloadError::between(stand_in, &rows, task.workload, 0)?.mean_l1)
    }
}

impl Candidate {
    /// The mean of its errors; `None` if it was refused.
    pub fn mean(&self) -> Option<f64> {
        let runs = self.errors.len();
        (runs > 0).then(|| self.errors.iter().sum::<f64>() / runs as f64)
    }

    /// Its values, as in `rounds=20, measure-share=0.8`.
    pub fn described(&self) -> String {
        let each = self.parameters.iter().map(|(name, value)| format!("{name}={value}"));
        each.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests;
