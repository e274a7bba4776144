//! An invented census-like table of people, for demonstrations and tests without real data.
//!
//! The dependencies are those that make real census tables hard: age drives school, work and marriage; children neither
//! work nor earn nor marry; income follows education, hours and age; race and nativity depend on each other; housing and
//! insurance follow income. A `drift` moves the table towards another state with a different mix of race, housing,
//! education and income, like public data from elsewhere. The numbers are round, and near those of the United States.

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

use crate::data::{Column, Dataset};
use crate::domain::{Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};

/// The schema of the invented table: 16 attributes, names in the style of the American Community Survey.
///
/// # Errors
/// None in practice: the text is part of the library and tested.
pub fn schema() -> Result<Schema> {
    Schema::from_json(include_str!("demo/schema.json"), "the schema of the demo")
}

/// Parameters of the generator. The same values give the same table.
///
/// ```
/// use jointly::demo::Generator;
/// let table = Generator { records: 100, seed: 1, drift: 0.0 }.generate()?;
/// assert_eq!((table.records(), table.domain().len()), (100, 16));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generator {
    /// Number of people.
    pub records: usize,
    /// Seed of the generator of people.
    pub seed: u64,
    /// Distance of the state from the one at 0, in `[0, 1]`.
    pub drift: f64,
}

impl Generator {
    /// The table, over [`schema`]'s domain.
    ///
    /// # Errors
    /// `drift` outside `[0, 1]`, or more than 2³² - 1 records.
    pub fn generate(&self) -> Result<Dataset> {
        if !(0.0..=1.0).contains(&self.drift) {
            return Err(Error::invalid_parameter("drift", self.drift, "from 0 to 1"));
        }
        let schema = schema()?;
        let attributes: Vec<&SchemaColumn> = schema.attributes().collect();
        let mut codes: Vec<Vec<u32>> = vec![Vec::with_capacity(self.records); attributes.len()];
        let mut chance = Chance { rng: ChaCha20Rng::seed_from_u64(self.seed), drift: self.drift };
        for _ in 0..self.records {
            let cells = record(&mut chance);
            for ((column, attribute), cell) in codes.iter_mut().zip(&attributes).zip(cells) {
                column.push(code(attribute, cell));
            }
        }
        let columns = codes
            .into_iter()
            .zip(&attributes)
            .map(|(codes, attribute)| Column::from_codes(codes, attribute.cardinality() as usize));
        Ok(Dataset::new(schema.domain(), columns.collect::<jointly_pgm::Result<_>>()?)?)
    }
}

/// A cell of one record.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cell {
    /// Position among the codes.
    Code(usize),
    /// A number, to be put in its bin.
    Number(f64),
    /// Not applicable.
    Missing,
}

impl Cell {
    /// Code 0 for yes and 1 for no, as the survey has it.
    fn yes_no(yes: bool) -> Self {
        Self::Code(usize::from(!yes))
    }

    fn code(code: Option<usize>) -> Self {
        code.map_or(Self::Missing, Self::Code)
    }

    fn number(number: Option<f64>) -> Self {
        number.map_or(Self::Missing, Self::Number)
    }
}

fn code(attribute: &SchemaColumn, cell: Cell) -> u32 {
    match (cell, &attribute.kind) {
        (Cell::Number(value), Some(Kind::Numeric(bins))) => {
            let edges = bins.edges();
            let last = edges[edges.len() - 1] - 1.0;
            bins.find(value.clamp(edges[0], last)).unwrap_or(0)
        }
        (Cell::Code(code), _) => u32::try_from(code).unwrap_or(u32::MAX),
        _ => attribute.na_code().unwrap_or(u32::MAX),
    }
}

/// People by five years of age, in percent.
const AGES: [f64; 20] = [
    5.5, 5.9, 6.3, 6.6, 6.5, 6.4, 6.6, 6.5, 6.2, 5.7, 6.0, 6.3, 6.6, 6.0, 4.9, 3.4, 2.2, 1.3, 0.6,
    0.2,
];

/// Code of `RAC`.
const ASIAN: usize = 3;
/// Code of `SCHL` for a bachelor's degree; the higher ones follow.
const BACHELOR: usize = 7;
/// Codes of `MAR`.
const MARRIED: usize = 0;
const NEVER_MARRIED: usize = 4;
/// Codes of `ESR`.
const EMPLOYED: usize = 0;
const ARMED_FORCES: usize = 2;
const NOT_IN_LABOR_FORCE: usize = 3;
/// Codes of `COW`.
const GOVERNMENT: usize = 2;
const SELF_EMPLOYED: usize = 3;
/// Codes of `HHT`.
const COUPLE: usize = 0;
const ALONE: usize = 2;

/// One record, in the order of the schema: each attribute is drawn given those before it.
fn record(chance: &mut Chance) -> [Cell; 16] {
    let age = 5.0 * chance.of(&AGES) as f64 + (5.0 * chance.uniform()).floor();
    let female = chance.is(0.49 + 0.003 * (age - 50.0).max(0.0));
    let race = race(age, chance);
    let foreign = foreign(age, race, chance);
    let education = education(age, race, foreign, chance);
    let school = school(age, education, chance);
    let marital = marital(age, female, chance);
    let student = school.is_some_and(|school| school > 0);
    let status = status(age, female, education, student, chance);
    let works = matches!(status, Some(EMPLOYED | ARMED_FORCES));
    let class = class(age, education, status, chance);
    let hours = works.then(|| hours(age, female, student, class, chance));
    let income = (age >= 15.0).then(|| income(age, female, education, class, hours, chance));
    let household = household(age, student, marital, chance);
    let means = means(age, income.unwrap_or(0.0), household, chance);
    let full_time = hours >= Some(35.0);
    let private = chance.is(logistic(
        0.5 * means - 0.8 + if full_time { 1.2 } else { 0.0 } - if foreign { 0.6 } else { 0.0 },
    ));
    let public = chance.is(match age {
        65.0.. => 0.96,
        _ => logistic(
            if age < 18.0 { 1.6 } else { 0.4 } - 0.6 * means - if private { 2.4 } else { 0.0 },
        ),
    });
    let tenure = household.map(|kind| tenure(age, means, kind, chance));
    [
        Cell::Number(age),
        Cell::Code(usize::from(female)),
        Cell::Code(race),
        Cell::Code(usize::from(foreign)),
        Cell::code(education),
        Cell::code(school),
        Cell::Code(marital),
        Cell::code(status),
        Cell::code(class),
        Cell::number(hours),
        Cell::number(income),
        Cell::yes_no(private),
        Cell::yes_no(public),
        Cell::yes_no(private || public),
        Cell::code(household),
        Cell::code(tenure),
    ]
}

fn race(age: f64, chance: &mut Chance) -> usize {
    let here = [0.77, 0.11, 0.003, 0.035, 0.001, 0.025, 0.056];
    let there = [0.40, 0.04, 0.012, 0.27, 0.06, 0.05, 0.168];
    let mut weights = chance.mix(here, there);
    if age < 25.0 {
        weights[0] *= 0.75;
        weights[6] *= 1.6;
    }
    chance.of(&weights)
}

fn foreign(age: f64, race: usize, chance: &mut Chance) -> bool {
    let asian = chance.between(0.68, 0.50);
    let likely = [0.05, 0.10, 0.04, asian, 0.2, 0.4, 0.15][race];
    chance.is(if age < 18.0 { 0.2 * likely } else { likely })
}

fn education(age: f64, race: usize, foreign: bool, chance: &mut Chance) -> Option<usize> {
    let highest = match age {
        ..3.0 => return None,
        ..5.0 => return Some(chance.of(&[0.5, 0.5])),
        ..10.0 => return Some(1 + chance.of(&[0.3, 0.7])),
        ..15.0 => return Some(2),
        ..18.0 => return Some(2 + chance.of(&[0.15, 0.82, 0.03])),
        ..20.0 => 5,
        ..25.0 => BACHELOR,
        _ => 9,
    };
    let mut weights = [0.012, 0.001, 0.022, 0.055, 0.32, 0.19, 0.095, 0.19, 0.085, 0.03];
    let older = ((age - 60.0) / 20.0).max(0.0);
    let tilt = if race == ASIAN { 0.20 } else { 0.0 } - 0.12 * older + 0.22 * chance.drift;
    for (level, weight) in weights.iter_mut().enumerate() {
        *weight *= (tilt * level as f64).exp();
        if foreign && level < 4 {
            *weight *= 3.0;
        }
        if level > highest {
            *weight = 0.0;
        }
    }
    Some(chance.of(&weights))
}

fn school(age: f64, education: Option<usize>, chance: &mut Chance) -> Option<usize> {
    let likely = match age {
        ..3.0 => return None,
        ..5.0 => 0.48,
        ..18.0 => 0.97,
        ..20.0 => 0.60,
        ..25.0 => 0.38,
        ..35.0 => 0.10,
        _ => 0.025,
    };
    let college = age >= 18.0 && education >= Some(5);
    if !chance.is(if age >= 18.0 && !college { 0.4 * likely } else { likely }) {
        return Some(0);
    }
    Some(if chance.is(if college { 0.25 } else { 0.12 }) { 2 } else { 1 })
}

fn marital(age: f64, female: bool, chance: &mut Chance) -> usize {
    let never = 0.07 + 0.93 * logistic((29.0 - age) / 4.5);
    if age < 15.0 || chance.is(never) {
        return NEVER_MARRIED;
    }
    let widowed = (if female { 0.55 } else { 0.25 }) * logistic((age - 82.0) / 7.0);
    let ended = 0.22 * logistic((age - 40.0) / 8.0);
    let married = 0.95 - 0.9 * widowed;
    chance.of(&[married * (1.0 - ended), widowed, ended, 0.12 * ended])
}

fn status(
    age: f64,
    female: bool,
    education: Option<usize>,
    student: bool,
    chance: &mut Chance,
) -> Option<usize> {
    if age < 16.0 {
        return None;
    }
    let serves = (18.0..45.0).contains(&age) && !(female && chance.is(0.8));
    if serves && chance.is(chance.between(0.006, 0.04)) {
        return Some(ARMED_FORCES);
    }
    let mut ease = if age < 25.0 { 0.9 } else { 1.9 };
    ease -= ((age - 58.0) / 4.5).max(0.0) * 0.9;
    ease += 0.13 * (education.unwrap_or(0) as f64 - 5.0);
    ease -= if student { 0.9 } else { 0.0 };
    ease -= if female && (25.0..45.0).contains(&age) { 0.5 } else { 0.0 };
    if !chance.is(logistic(ease)) {
        return Some(NOT_IN_LABOR_FORCE);
    }
    let out_of_work = if age < 25.0 { 0.10 } else { 0.035 };
    Some(usize::from(chance.is(out_of_work)))
}

fn class(
    age: f64,
    education: Option<usize>,
    status: Option<usize>,
    chance: &mut Chance,
) -> Option<usize> {
    match status? {
        NOT_IN_LABOR_FORCE => None,
        ARMED_FORCES => Some(GOVERNMENT),
        _ => {
            let learned = education >= Some(BACHELOR);
            let (nonprofit, public) = if learned { (0.14, 0.20) } else { (0.05, 0.10) };
            let own = 0.05 + 0.0016 * age;
            let company = 0.998 - nonprofit - public - own;
            Some(chance.of(&[company, nonprofit, public, own, 0.002]))
        }
    }
}

fn hours(age: f64, female: bool, student: bool, class: Option<usize>, chance: &mut Chance) -> f64 {
    let mut part_time = if female { 0.22 } else { 0.10 };
    part_time += if student { 0.40 } else { 0.0 };
    part_time += if age >= 65.0 { 0.30 } else { 0.0 };
    if chance.is(part_time) {
        return (24.0 + 7.0 * chance.normal()).round().clamp(1.0, 34.0);
    }
    if chance.is(if class == Some(SELF_EMPLOYED) { 0.3 } else { 0.6 }) {
        return 40.0;
    }
    (44.0 + 7.0 * chance.normal()).round().clamp(35.0, 99.0)
}

/// Dollars per year; people report about three digits.
fn income(
    age: f64,
    female: bool,
    education: Option<usize>,
    class: Option<usize>,
    hours: Option<f64>,
    chance: &mut Chance,
) -> f64 {
    if class == Some(SELF_EMPLOYED) && chance.is(0.012) {
        return -(8.0 + 1.2 * chance.normal()).exp().round();
    }
    let education = education.unwrap_or(0) as f64;
    let wealth = chance.between(1.0, 1.45);
    let mut total = 0.0;
    if let Some(hours) = hours {
        let seniority = 0.5 * logistic((age - 30.0) / 6.0);
        let female = if female { -0.14 } else { 0.0 };
        let log = 9.35 + 0.15 * education + 1.15 * (hours / 40.0).ln() + seniority + female;
        total += wealth * (log + 0.45 * chance.normal()).exp();
    }
    if age >= 62.0 {
        total += wealth * (9.5 + 0.06 * education + 0.4 * chance.normal()).exp();
    } else if hours.is_none() && chance.is(0.35) {
        total += (8.6 + 0.8 * chance.normal()).exp();
    }
    (total / 100.0).round() * 100.0
}

/// The type of the household; `None` in group quarters.
fn household(age: f64, student: bool, marital: usize, chance: &mut Chance) -> Option<usize> {
    let group_quarters = match age {
        ..18.0 => 0.004,
        ..25.0 if student => 0.22,
        ..85.0 => 0.012,
        _ => 0.12,
    };
    if chance.is(group_quarters) {
        return None;
    }
    Some(match age {
        _ if marital == MARRIED => usize::from(chance.is(0.04)),
        ..18.0 => chance.of(&[0.66, 0.34]),
        ..25.0 => chance.of(&[0.40, 0.25, 0.10, 0.25]),
        ..65.0 => chance.of(&[0.08, 0.35, 0.35, 0.22]),
        _ => chance.of(&[0.03, 0.25, 0.65, 0.07]),
    })
}

/// What the household has, in units of 20,000 dollars a head, at most 6: the others of a household earn something too.
fn means(age: f64, own: f64, household: Option<usize>, chance: &mut Chance) -> f64 {
    let others = match household {
        None | Some(ALONE) => 0.0,
        Some(COUPLE) if age < 18.0 => (11.3 + 0.7 * chance.normal()).exp(),
        Some(COUPLE) => (10.3 + 0.00001 * own.min(1e5) + 0.8 * chance.normal()).exp(),
        Some(_) => (10.2 + 0.8 * chance.normal()).exp(),
    };
    let heads = match household {
        None | Some(ALONE) => 1.0,
        Some(COUPLE) if age < 50.0 => 2.5,
        Some(_) => 2.0,
    };
    ((own + chance.between(1.0, 1.25) * others) / heads / 20_000.0).clamp(0.0, 6.0)
}

fn tenure(age: f64, means: f64, household: usize, chance: &mut Chance) -> usize {
    let couple = if household == COUPLE { 0.7 } else { -0.3 };
    let settled = (if age < 18.0 { 38.0 } else { age } - 38.0) / 18.0;
    let owns = logistic(settled + couple + 0.8 * (means - 1.5) - chance.between(-0.3, 0.9));
    if chance.is(owns) {
        return usize::from(chance.is(logistic((age - 64.0) / 7.0)));
    }
    2 + usize::from(chance.is(0.04))
}

/// The generator of people and the state they live in.
struct Chance {
    rng: ChaCha20Rng,
    drift: f64,
}

impl Chance {
    /// Uniform in `[0, 1)`.
    fn uniform(&mut self) -> f64 {
        self.rng.random()
    }

    /// True with this probability.
    fn is(&mut self, probability: f64) -> bool {
        self.uniform() < probability
    }

    /// A position with probability proportional to its weight; 0 when all are 0.
    fn of(&mut self, weights: &[f64]) -> usize {
        let mut left = self.uniform() * weights.iter().sum::<f64>();
        weights
            .iter()
            .position(|weight| {
                left -= weight;
                left < 0.0
            })
            .unwrap_or(0)
    }

    /// A standard normal number.
    fn normal(&mut self) -> f64 {
        StandardNormal.sample(&mut self.rng)
    }

    /// A value that moves from one state's to the other's with the drift.
    fn between(&self, here: f64, there: f64) -> f64 {
        here + self.drift * (there - here)
    }

    /// Weights that move from one state's to the other's with the drift.
    fn mix<const N: usize>(&self, here: [f64; N], there: [f64; N]) -> [f64; N] {
        std::array::from_fn(|i| self.between(here[i], there[i]))
    }
}

/// `1 / (1 + e^-x)`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests;
