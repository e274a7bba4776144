//! An invented census-like table of people, for demonstrations and tests without real data.
//!
//! The dependencies are those that make real census tables hard: age drives school, work, marriage and disability;
//! children do not work; income follows education, hours and age; race, origin and language depend on each other;
//! housing follows income. A `drift` moves the table towards another state with a different mix of race, housing,
//! education and income, like public data from elsewhere.

mod household;
mod people;
mod work;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::{Column, Dataset};
use crate::demo::household::Household;
use crate::demo::people::Person;
use crate::demo::work::Work;
use crate::domain::{Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};

/// The schema of the invented table: 32 attributes, names in the style of the American Community Survey.
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
/// assert_eq!((table.records(), table.domain().len()), (100, 32));
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
}

impl From<Option<usize>> for Cell {
    fn from(code: Option<usize>) -> Self {
        code.map_or(Self::Missing, Self::Code)
    }
}

impl From<Option<f64>> for Cell {
    fn from(number: Option<f64>) -> Self {
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

/// One record, in the order of the schema.
fn record(chance: &mut Chance) -> [Cell; 32] {
    let person = Person::draw(chance);
    let work = Work::draw(&person, chance);
    let home = Household::draw(&person, &work, chance);
    [
        Cell::Number(person.age),
        Cell::Code(usize::from(person.female)),
        Cell::Code(person.race),
        Cell::Code(person.origin),
        Cell::Code(usize::from(person.foreign)),
        person.other_language.map_or(Cell::Missing, Cell::yes_no),
        person.english.into(),
        person.enrolled.into(),
        person.education.into(),
        Cell::Code(person.marital),
        Cell::yes_no(person.hearing),
        Cell::yes_no(person.vision),
        person.walking.map_or(Cell::Missing, Cell::yes_no),
        person.cognitive.map_or(Cell::Missing, Cell::yes_no),
        person.military.into(),
        work.status.into(),
        work.class.into(),
        work.occupation.into(),
        work.industry.into(),
        work.hours.into(),
        work.transport.into(),
        work.income.into(),
        home.poverty_ratio.into(),
        Cell::yes_no(home.private_insurance),
        Cell::yes_no(home.public_insurance),
        Cell::yes_no(home.private_insurance || home.public_insurance),
        home.kind.into(),
        Cell::Code(home.persons - 1),
        home.tenure.into(),
        home.building.into(),
        home.rooms.into(),
        home.vehicles.into(),
    ]
}

/// The generator of people and the state they live in.
struct Chance {
    rng: ChaCha20Rng,
    drift: f64,
}

impl Chance {
    /// Uniform in `[0, 1)`.
    fn uniform(&mut self) -> f64 {
        use rand::RngExt;
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
        use rand_distr::{Distribution, StandardNormal};
        StandardNormal.sample(&mut self.rng)
    }

    /// A value that moves from one state's to the other's with the drift.
    fn between(&self, here: f64, there: f64) -> f64 {
        here + self.drift * (there - here)
    }

    /// Weights that move from one state's to the other's with the drift.
    fn mix<const N: usize>(&self, here: [f64; N], there: [f64; N]) -> [f64; N] {
        let mut mixed = here;
        for (weight, there) in mixed.iter_mut().zip(there) {
            *weight = self.between(*weight, there);
        }
        mixed
    }
}

/// `1 / (1 + e^-x)`.
fn logistic(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests;
