//! Units of several records, such as households: how many records they have, and whether these agree.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::data::Dataset;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::model::Evidence;

/// The records of a table, with the unit of each.
#[derive(Clone, Copy, Debug)]
pub struct UnitRecords<'a> {
    /// The records.
    pub records: &'a Dataset,
    /// The number of each record's unit, from 0 and without gaps, as of
    /// [`WholeTable`](crate::data::WholeTable).
    pub units: &'a [u32],
}

/// Two tables compared unit by unit. **Not private**.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitComparison {
    /// Units of each table.
    pub units: Pair<u64>,
    /// Shares of the units with 1, 2, ... records.
    pub sizes: Pair<Vec<f64>>,
    /// L1 distance of these shares, 0 to 2.
    pub sizes_l1: f64,
    /// Share of the units whose records differ in one of the declared columns.
    pub contradictions: Pair<f64>,
    /// The declared columns.
    pub columns: Vec<UnitColumn>,
    /// The other columns: the share of the units of several records whose records are not all equal.
    pub others: Vec<OtherColumn>,
    /// How many records of a unit agree with some evidence.
    pub counts: Vec<RecordCounts>,
}

/// A number of the real table beside that of the synthetic one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pair<T> {
    /// Of the real table.
    pub real: T,
    /// Of the synthetic table.
    pub synthetic: T,
}

/// A declared column.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitColumn {
    /// Its name.
    pub name: String,
    /// Share of the units whose records differ in it.
    pub contradictions: Pair<f64>,
    /// L1 distance of its values' shares of units, 0 to 2. A unit has the value of its first record.
    pub l1: f64,
    /// L1 distance of the shares of units by this column and the number of records.
    pub l1_with_size: f64,
}

/// A column on which the rows of a unit need not agree.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OtherColumn {
    /// Its name.
    pub name: String,
    /// Share of the units of several records whose records are not all equal.
    pub differing: Pair<f64>,
}

/// How many records of a unit agree with some evidence, such as `RELSHIPP=20`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RecordCounts {
    /// The evidence, as written.
    pub evidence: String,
    /// Shares of the units in which none, one, and more of the records agree.
    pub shares: Pair<[f64; 3]>,
}

impl UnitComparison {
    /// Compares two tables.
    ///
    /// `declared`: columns on which the records of a unit should agree. `evidence`: what to count in each unit, with its
    /// text.
    ///
    /// # Errors
    /// Tables over different domains, a table without records, a record without a unit, or an attribute outside the domain.
    ///
    /// ```
    /// use jointly::{data::Dataset, domain::{Clique, Domain}, evaluation::{UnitComparison, UnitRecords}};
    /// let domain = Domain::new([("tenure", 2), ("sex", 2)])?;
    /// let real = Dataset::from_rows(domain.clone(), &[[0, 0], [0, 1], [1, 0]])?;
    /// let made = Dataset::from_rows(domain, &[[0, 0], [1, 0], [1, 1]])?;
    /// let units = [0, 0, 1];
    /// let [real, made] = [&real, &made].map(|records| UnitRecords { records, units: &units });
    /// let found = UnitComparison::between(real, made, &Clique::new([0]), &[])?;
    /// assert_eq!((found.sizes_l1, found.contradictions.real, found.contradictions.synthetic), (0.0, 0.0, 0.5));
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn between(
        real: UnitRecords<'_>,
        synthetic: UnitRecords<'_>,
        declared: &Clique,
        evidence: &[(String, Evidence)],
    ) -> Result<Self> {
        let domain = real.records.domain();
        domain.check_same(synthetic.records.domain(), "synthetic records")?;
        let [real, synthetic] = [Units::new(real)?, Units::new(synthetic)?];
        let both = Both { real: &real, synthetic: &synthetic };
        let most = real.largest().max(synthetic.largest());
        let size = |_: &Units<'_>, unit: &[usize]| (unit.len(), 0);
        let column = |attribute| {
            let value = |units: &Units<'_>, unit: &[usize]| units.code(attribute, unit[0]);
            UnitColumn {
                name: domain.name(attribute).to_owned(),
                contradictions: both.of(|units| units.share(|unit| units.differ(attribute, unit))),
                l1: both.l1(|units, unit| (0, value(units, unit))),
                l1_with_size: both.l1(|units, unit| (unit.len(), value(units, unit))),
            }
        };
        let other = |attribute| OtherColumn {
            name: domain.name(attribute).to_owned(),
            differing: both.of(|units| {
                let several = units.share(|unit| unit.len() > 1);
                let differing = units.share(|unit| units.differ(attribute, unit));
                if several > 0.0 { differing / several } else { 0.0 }
            }),
        };
        let counts = |(text, evidence): &(String, Evidence)| RecordCounts {
            evidence: text.clone(),
            shares: both.of(|units| {
                let agrees = |record| evidence.agrees(|attribute| units.code(attribute, record));
                let agreeing = |unit: &[usize]| unit.iter().filter(|r| agrees(**r)).count().min(2);
                let shares = units.shares(3, agreeing);
                [shares[0], shares[1], shares[2]]
            }),
        };
        let contradicts = |units: &Units<'_>| {
            units.share(|unit| declared.iter().any(|attribute| units.differ(attribute, unit)))
        };
        let others = (0..domain.len()).filter(|attribute| !declared.contains(*attribute));
        Ok(Self {
            units: both.of(|units| units.units.len() as u64),
            sizes: both.of(|units| units.shares(most, |unit| unit.len() - 1)),
            sizes_l1: both.l1(size),
            contradictions: both.of(contradicts),
            columns: declared.iter().map(column).collect(),
            others: others.map(other).collect(),
            counts: evidence.iter().map(counts).collect(),
        })
    }
}

struct Both<'a> {
    real: &'a Units<'a>,
    synthetic: &'a Units<'a>,
}

impl Both<'_> {
    fn of<T>(&self, number: impl Fn(&Units<'_>) -> T) -> Pair<T> {
        Pair { real: number(self.real), synthetic: number(self.synthetic) }
    }

    /// The L1 distance of the shares of units with each pair of values.
    fn l1(&self, value: impl Fn(&Units<'_>, &[usize]) -> (usize, u32)) -> f64 {
        let mut differences: BTreeMap<(usize, u32), f64> = BTreeMap::new();
        for (units, sign) in [(self.real, 1.0), (self.synthetic, -1.0)] {
            let share = sign / units.units.len() as f64;
            for unit in &units.units {
                *differences.entry(value(units, unit)).or_default() += share;
            }
        }
        differences.values().map(|difference| difference.abs()).sum()
    }
}

/// The records of each unit.
struct Units<'a> {
    records: &'a Dataset,
    units: Vec<Vec<usize>>,
}

impl<'a> Units<'a> {
    fn new(table: UnitRecords<'a>) -> Result<Self> {
        let UnitRecords { records, units: numbers } = table;
        if records.records() == 0 {
            let (place, expected) = ("records of units", "at least one record");
            return Err(Error::invalid_specification(place, "none", expected));
        }
        if numbers.len() != records.records() {
            let (found, expected) = (numbers.len().to_string(), records.records().to_string());
            return Err(Error::invalid_specification("numbers of units", found, expected));
        }
        let count = numbers.iter().max().map_or(0, |last| *last as usize + 1);
        let mut units = vec![Vec::new(); count];
        for (record, unit) in numbers.iter().enumerate() {
            units[*unit as usize].push(record);
        }
        units.retain(|unit| !unit.is_empty());
        Ok(Self { records, units })
    }

    fn largest(&self) -> usize {
        self.units.iter().map(Vec::len).max().unwrap_or(0)
    }

    fn code(&self, attribute: usize, record: usize) -> u32 {
        self.records.column(attribute).and_then(|column| column.get(record)).unwrap_or(0)
    }

    fn differ(&self, attribute: usize, unit: &[usize]) -> bool {
        unit.iter().any(|record| self.code(attribute, *record) != self.code(attribute, unit[0]))
    }

    /// The share of the units of which something is true.
    fn share(&self, is_so: impl Fn(&[usize]) -> bool) -> f64 {
        let found = self.units.iter().filter(|unit| is_so(unit)).count();
        found as f64 / self.units.len() as f64
    }

    /// The shares of the units with each of some values.
    fn shares(&self, values: usize, value: impl Fn(&[usize]) -> usize) -> Vec<f64> {
        let mut shares = vec![0.0; values];
        self.units.iter().for_each(|unit| shares[value(unit)] += 1.0 / self.units.len() as f64);
        shares
    }
}

#[cfg(test)]
mod tests;
