//! Questions to a model: marginals, shares, means and quantiles, with the names of values. They cost no privacy.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::{Bins, Clique, Domain, Kind, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::model::accuracy::Bounds;
use crate::model::{Accuracy, Basis, CountInterval, Evidence, Model};
use crate::table::Factor;

/// What to ask a model, within each group of records if there are any.
#[derive(Clone, Debug, PartialEq)]
pub enum Question {
    /// The share of each combination of values of some attributes.
    Marginal(Vec<String>),
    /// The share of the records that agree with some evidence.
    Share(Evidence),
    /// The mean of a numeric column or date, over the records that have a number.
    Mean(String),
    /// A quantile of a numeric column or date: the name, and the share of records at or below it, in [0, 1].
    Quantile(String, f64),
}

/// The answers to one question.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The question in words, such as `mean of AGE`.
    pub question: String,
    /// Whether the numbers are days since 1970-01-01.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_date: bool,
    /// One for each group and combination of values.
    pub rows: Vec<AnswerRow>,
}

/// An answer about one group of records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerRow {
    /// The names of the values that define the group, one for each grouping attribute, in the order of the question.
    pub group: Vec<String>,
    /// The names of the values that a share is about, one for each attribute of a marginal, in the order of the question.
    pub values: Vec<String>,
    /// Number of records that the model expects: with these values, or in the group with a number.
    pub count: f64,
    /// A share of the group, a mean or a quantile; `None` where the model expects no record.
    pub answer: Option<f64>,
    /// What the number of records rests on; `None` for means and quantiles, and if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// An interval for the number of private records. It is around what was measured, if anything was, which need not be
    /// the model's number. Where that lies outside, the interval is widened to it, so that it always holds
    /// [`count`](Self::count).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<CountInterval>,
}

impl AnswerRow {
    fn new(group: Vec<String>, values: Vec<String>, count: f64, answer: Option<f64>) -> Self {
        Self { group, values, count, answer, basis: None, interval: None }
    }

    /// An answer about some cells of a marginal.
    fn about(self, cells: &[usize], bounds: Option<&Bounds>) -> Self {
        let interval = bounds.and_then(|bounds| bounds.of(cells));
        let interval = interval.map(|interval| interval.with(self.count));
        Self { basis: bounds.map(|bounds| bounds.basis), interval, ..self }
    }
}

impl Model {
    /// Answers questions within each combination of values of the attributes `by`, all from one walk over the model.
    ///
    /// Inside a bin, values are as they are drawn: by the bin's pieces, or uniform ([`Bins::pieces_of`]).
    ///
    /// # Errors
    /// A schema that is not the model's, an attribute that it does not have, a mean or quantile of categories, a share
    /// outside [0, 1], or tables that do not fit in memory.
    pub fn ask(
        &self,
        schema: &Schema,
        by: &[String],
        questions: &[Question],
    ) -> Result<Vec<Answer>> {
        self.ask_with(schema, by, questions, None)
    }

    /// As [`ask`](Self::ask), with intervals for numbers of records.
    ///
    /// `accuracy`: of the release that this model is from.
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or measurements that do not fit the model.
    pub fn ask_with(
        &self,
        schema: &Schema,
        by: &[String],
        questions: &[Question],
        accuracy: Option<&Accuracy>,
    ) -> Result<Vec<Answer>> {
        let domain = self.domain();
        let groups = if by.is_empty() { Clique::new([]) } else { domain.clique(by)? };
        let abouts = questions.iter().map(|question| question.about(domain, schema));
        let abouts: Vec<Clique> = abouts.collect::<Result<_>>()?;
        let cliques: Vec<Clique> = abouts.iter().map(|about| about.union(&groups)).collect();
        let tables = self.marginals(&cliques)?;
        let by = Order::new(domain, by, &groups);
        let asked = questions.iter().zip(&abouts).zip(&tables);
        asked
            .map(|((question, about), table)| {
                let counts = matches!(question, Question::Marginal(_) | Question::Share(_));
                let bounds = accuracy.filter(|_| counts).map(|known| known.bounds(domain, table));
                let bounds = bounds.transpose()?;
                question.answer(
                    domain,
                    schema,
                    &by,
                    &SlicedMarginal { domain, groups: by.clique, about, table },
                    bounds.as_ref(),
                )
            })
            .collect()
    }
}

impl Question {
    /// The attributes that the question is about.
    fn about(&self, domain: &Domain, schema: &Schema) -> Result<Clique> {
        match self {
            Self::Marginal(names) => Ok(domain.clique(names)?),
            Self::Share(evidence) => Ok(evidence.attributes()),
            Self::Mean(name) | Self::Quantile(name, _) => {
                numbers(schema, name)?;
                if let Self::Quantile(_, share) = self
                    && !(0.0..=1.0).contains(share)
                {
                    return Err(Error::invalid_parameter("quantile", *share, "from 0 to 1"));
                }
                Ok(domain.clique(&[name])?)
            }
        }
    }

    /// The answers, from the marginal on the groups' attributes and its own.
    fn answer(
        &self,
        domain: &Domain,
        schema: &Schema,
        by: &Order<'_>,
        split: &SlicedMarginal<'_>,
        bounds: Option<&Bounds>,
    ) -> Result<Answer> {
        let about = split.about;
        let of_values = match self {
            Self::Marginal(names) => Order::new(domain, names, about),
            _ => Order::new(domain, &[], about),
        };
        let share = |count: f64, of: f64| (of > 0.0).then(|| count / of);
        let mut rows = Vec::new();
        for (group, cells) in split.groups() {
            let all: f64 = cells.iter().map(|(_, count, _)| count).sum();
            let group = by.names(schema, domain, &group);
            match self {
                Self::Marginal(_) => {
                    rows.extend(cells.into_iter().map(|(codes, count, cell)| {
                        let values = of_values.names(schema, domain, &codes);
                        let row = AnswerRow::new(group.clone(), values, count, share(count, all));
                        row.about(&[cell], bounds)
                    }));
                }
                Self::Share(evidence) => {
                    let place = |attribute| about.iter().position(|own| own == attribute);
                    let code =
                        |codes: &[u32], attribute| place(attribute).map_or(0, |at| codes[at]);
                    let agrees =
                        cells.iter().filter(|(codes, ..)| evidence.agrees(|a| code(codes, a)));
                    let (count, own) = agrees.fold((0.0, Vec::new()), |(sum, mut own), cell| {
                        own.push(cell.2);
                        (sum + cell.1, own)
                    });
                    let row = AnswerRow::new(group, Vec::new(), count, share(count, all));
                    rows.push(row.about(&own, bounds));
                }
                Self::Mean(name) | Self::Quantile(name, _) => {
                    let (bins, _) = numbers(schema, name)?;
                    // A missing value is beyond the bins.
                    let counts: Vec<f64> = cells
                        .iter()
                        .take(bins.count() as usize)
                        .map(|(_, count, _)| *count)
                        .collect();
                    let count: f64 = counts.iter().sum();
                    let answer = (count > 0.0).then(|| match self {
                        Self::Quantile(_, share) => quantile(bins, &counts, *share),
                        _ => mean(bins, &counts),
                    });
                    rows.push(AnswerRow::new(group, Vec::new(), count, answer));
                }
            }
        }
        let question = self.in_words(domain);
        let is_date = match self {
            Self::Mean(name) | Self::Quantile(name, _) => numbers(schema, name)?.1,
            _ => false,
        };
        Ok(Answer { question, is_date, rows })
    }

    fn in_words(&self, domain: &Domain) -> String {
        match self {
            Self::Marginal(names) => format!("share of each {}", names.join(" x ")),
            Self::Share(evidence) => {
                format!("share that agrees on {}", domain.describe(&evidence.attributes()))
            }
            Self::Mean(name) => format!("mean of {name}"),
            Self::Quantile(name, share) => format!("{share} quantile of {name}"),
        }
    }
}

/// The bins of a numeric column or date, and whether it is a date.
fn numbers<'s>(schema: &'s Schema, name: &str) -> Result<(&'s Bins, bool)> {
    let column: Option<&SchemaColumn> = schema.attributes().find(|column| column.name == name);
    match column.map(|column| column.kind.as_ref()) {
        None => Err(schema.domain().unknown(name, "the question").into()),
        Some(Some(Kind::Numeric(bins))) => Ok((bins, false)),
        Some(Some(Kind::Date(bins))) => Ok((bins, true)),
        Some(_) => {
            let found = format!("'{name}', which has no numbers");
            Err(Error::invalid_specification("the question", found, "a numeric column or a date"))
        }
    }
}

/// The attributes of a clique in the order in which they were asked for.
struct Order<'c> {
    clique: &'c Clique,
    /// Places in the clique.
    places: Vec<usize>,
}

impl<'c> Order<'c> {
    fn new(domain: &Domain, names: &[String], clique: &'c Clique) -> Self {
        let place = |name: &String| clique.iter().position(|own| domain.name(own) == name);
        Self { clique, places: names.iter().filter_map(place).collect() }
    }

    /// The names of values whose codes are in the clique's order.
    fn names(&self, schema: &Schema, domain: &Domain, codes: &[u32]) -> Vec<String> {
        let name = |place: &usize| {
            let (attribute, code) = (self.clique.attributes()[*place], codes[*place]);
            let column = schema.column(domain.name(attribute));
            column.map_or_else(|| code.to_string(), |column| column.value_name(code))
        };
        self.places.iter().map(name).collect()
    }
}

/// A marginal on groups' attributes and others, group by group.
struct SlicedMarginal<'t> {
    domain: &'t Domain,
    groups: &'t Clique,
    about: &'t Clique,
    table: &'t Factor,
}

/// Codes of some attributes, the count of records with them, and the cell's position in the marginal.
type Cell = (Vec<u32>, f64, usize);

impl SlicedMarginal<'_> {
    /// The groups' codes in order, each with its cells. A cell whose attributes include a group's own has that group's
    /// value.
    fn groups(&self) -> Vec<(Vec<u32>, Vec<Cell>)> {
        let clique = self.table.clique();
        let shape = self.domain.shape(clique);
        let places = |part: &Clique| -> Vec<usize> {
            part.iter().filter_map(|a| clique.iter().position(|own| own == a)).collect()
        };
        let (of_groups, of_about) = (places(self.groups), places(self.about));
        let mut groups: BTreeMap<Vec<u32>, Vec<Cell>> = BTreeMap::new();
        let mut codes = vec![0_u32; shape.len()];
        for (cell, count) in self.table.values().iter().enumerate() {
            let pick = |places: &[usize]| places.iter().map(|place| codes[*place]).collect();
            groups.entry(pick(&of_groups)).or_default().push((pick(&of_about), *count, cell));
            // The last attribute changes fastest.
            for (code, size) in codes.iter_mut().zip(&shape).rev() {
                *code += 1;
                if (*code as usize) < *size {
                    break;
                }
                *code = 0;
            }
        }
        groups.into_iter().collect()
    }
}

/// Where the values of a bin lie: ranges `[from, below)` or single values, with weights.
fn parts(bins: &Bins, bin: u32) -> Vec<(f64, f64, f64)> {
    let step = |step: Option<f64>| step.or(bins.is_integer().then_some(1.0)).unwrap_or(0.0);
    let pieces = bins.pieces_of(bin).iter().map(|piece| {
        // The last value of a range with steps is a step below its end.
        let last = if piece.is_value() { piece.from } else { piece.below - step(piece.step) };
        (piece.from, last.max(piece.from), f64::from(piece.rows))
    });
    let pieces: Vec<(f64, f64, f64)> = pieces.collect();
    if !pieces.is_empty() {
        return pieces;
    }
    let (low, high) = bins.plausible(bin);
    let low = if bins.is_integer() { low.ceil() } else { low };
    let high = if bins.is_integer() { (high.ceil() - 1.0).max(low) } else { high };
    vec![(low, high, 1.0)]
}

/// The mean of the values in a bin.
pub(crate) fn bin_mean(bins: &Bins, bin: u32) -> f64 {
    let parts = parts(bins, bin);
    let weight: f64 = parts.iter().map(|(_, _, weight)| weight).sum();
    parts.iter().map(|(low, high, w)| w * f64::midpoint(*low, *high)).sum::<f64>() / weight
}

/// The mean and the quartiles of numbers that are known as counts of bins.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub(crate) struct Spread {
    pub(crate) mean: f64,
    /// At shares of 1/4, 1/2 and 3/4.
    pub(crate) quartiles: [f64; 3],
}

impl Spread {
    /// `counts`: one for each bin; `None` if they are all 0.
    pub(crate) fn of(bins: &Bins, counts: &[f64]) -> Option<Self> {
        let quartiles = [0.25, 0.5, 0.75].map(|share| quantile(bins, counts, share));
        (counts.iter().sum::<f64>() > 0.0).then(|| Self { mean: mean(bins, counts), quartiles })
    }
}

/// The mean of values in bins with these counts.
fn mean(bins: &Bins, counts: &[f64]) -> f64 {
    let sum: f64 = (0..).zip(counts).map(|(bin, count)| count * bin_mean(bins, bin)).sum();
    sum / counts.iter().sum::<f64>()
}

/// The smallest value with at least this share at or below it; within a range by linear interpolation, rounded up to a
/// whole number in columns of these.
fn quantile(bins: &Bins, counts: &[f64], share: f64) -> f64 {
    let mut left = share * counts.iter().sum::<f64>();
    let mut last = bins.edges()[0];
    for (bin, count) in (0..).zip(counts).filter(|(_, count)| **count > 0.0) {
        let mut parts = parts(bins, bin);
        parts.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
        let weight: f64 = parts.iter().map(|(_, _, weight)| weight).sum();
        for (low, high, own) in parts {
            let here = count * own / weight;
            if left <= here {
                return within(bins, low, high, left / here);
            }
            left -= here;
            last = high;
        }
    }
    last
}

/// The value at a share of a range.
fn within(bins: &Bins, low: f64, high: f64, share: f64) -> f64 {
    if bins.is_integer() {
        // Each of the whole numbers low, ..., high has the same share.
        return (low + (share * (high - low + 1.0)).ceil() - 1.0).clamp(low, high);
    }
    low + share * (high - low)
}

#[cfg(test)]
mod tests;
