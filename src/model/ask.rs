//! Questions to a model: marginals, shares, means and quantiles, with the names of values. They cost no privacy.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::domain::{Bins, Clique, Domain, Kind, Notation, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::model::accuracy::Bounds;
use crate::model::binned_numbers::{MeasuredNumbers, mean, quantile};
use crate::model::left_out::LeftOut;
use crate::model::{Accuracy, Basis, CountInterval, Evidence, MeasuredMarginal, Model};
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
    /// How the numbers are written, if they are times of day.
    #[serde(skip)]
    pub time: Option<Notation>,
    /// Whether it is a mean or a quantile, and no shares.
    #[serde(skip)]
    pub is_of_numbers: bool,
    /// The bins that the question's evidence cuts ([`Evidence::cut_bins`]).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cut_bins: Vec<String>,
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
    /// Whether drawn records never have these values, by the schema's unlikely combinations, or by forbidden ones that fits do not
    /// know. The model knows neither, and expects such records.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_left_out: bool,
    /// What the number of records, the mean or the quantile rests on; `None` if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// An interval for the number of private records. It is around what was measured, if anything was, which need not be
    /// the model's number. Where that lies outside, the interval is widened to it, so that it always holds
    /// [`count`](Self::count).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<CountInterval>,
    /// An interval for the mean or quantile of the private records, if all that it is a function of was measured together with
    /// independent noise. It is widened to hold [`answer`](Self::answer). `None` for shares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_interval: Option<AnswerInterval>,
}

/// An interval that aims to cover 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnswerInterval {
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl AnswerRow {
    fn new(group: Vec<String>, values: Vec<String>, count: f64, answer: Option<f64>) -> Self {
        let (basis, interval, answer_interval) = (None, None, None);
        Self { group, values, count, answer, is_left_out: false, basis, interval, answer_interval }
    }

    /// An answer about some cells of a marginal, of each of which a share counts.
    fn about(self, cells: &[(usize, f64)], known: Option<&Known>) -> Self {
        let interval = known.and_then(|known| known.bounds.of(cells));
        let interval = interval.map(|interval| interval.with(self.count));
        Self { basis: known.map(|known| known.bounds.basis), interval, ..self }
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
        self.ask_with(schema, by, questions, None, None)
    }

    /// As [`ask`](Self::ask), with what the answers rest on, and intervals.
    ///
    /// `accuracy`: of the release that this model is from. `given`: what this model was conditioned on, if it was
    /// ([`given`](Self::given)); `schema` is then the narrowed one ([`Evidence::narrowed`]).
    ///
    /// # Errors
    /// As [`ask`](Self::ask), or measurements that do not fit the model.
    pub fn ask_with(
        &self,
        schema: &Schema,
        by: &[String],
        questions: &[Question],
        accuracy: Option<&Accuracy>,
        given: Option<&Evidence>,
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
                let slices = Slices { domain, groups: &groups, about };
                let rules = LeftOut::new(domain, schema, table.clique(), given);
                let known = accuracy.map(|accuracy| Known::of(accuracy, slices, table, given));
                let known = known.transpose()?;
                question.answer(schema, &by, slices, table, (known.as_ref(), &rules))
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
        schema: &Schema,
        by: &Order<'_>,
        slices: Slices<'_>,
        table: &Factor,
        (known, rules): (Option<&Known>, &LeftOut<'_>),
    ) -> Result<Answer> {
        let Slices { domain, groups, about } = slices;
        let of_values = match self {
            Self::Marginal(names) => Order::new(domain, names, about),
            _ => Order::new(domain, &[], about),
        };
        let counts = table.values();
        let share = |count: f64, of: f64| (of > 0.0).then(|| count / of);
        let mut rows = Vec::new();
        for (codes, cells) in slices.of(table.clique(), None) {
            let all: f64 = cells.iter().map(|cell| counts[cell.place]).sum();
            let group = by.names(schema, domain, &codes);
            let code_of = |clique: &Clique, codes: &[u32], attribute: usize| {
                clique.iter().position(|own| own == attribute).map(|at| codes[at])
            };
            let of_group = |attribute| code_of(groups, &codes, attribute).map(|code| vec![code]);
            // The cells that are known, each with the share of its records that the model is of.
            let measured =
                known.and_then(|known| known.cells.get(&codes)).map_or(&[][..], Vec::as_slice);
            match self {
                Self::Marginal(_) => {
                    for cell in cells {
                        let values = of_values.names(schema, domain, &cell.codes);
                        let count = counts[cell.place];
                        let own = measured.iter().filter(|known| known.codes == cell.codes);
                        let own: Vec<(usize, f64)> = own.map(|c| (c.place, c.share)).collect();
                        let row = AnswerRow::new(group.clone(), values, count, share(count, all));
                        let is_left_out = rules.holds(|attribute| {
                            let own = code_of(about, &cell.codes, attribute).map(|code| vec![code]);
                            own.or_else(|| of_group(attribute))
                        });
                        rows.push(AnswerRow { is_left_out, ..row.about(&own, known) });
                    }
                }
                Self::Share(evidence) => {
                    let place = |attribute| about.iter().position(|own| own == attribute);
                    let agreeing = |cell: &Cell| {
                        evidence.share(|attribute| place(attribute).map_or(0, |at| cell.codes[at]))
                    };
                    let count = cells.iter().map(|cell| agreeing(cell) * counts[cell.place]).sum();
                    let own = measured.iter().map(|cell| (cell.place, agreeing(cell) * cell.share));
                    let own: Vec<(usize, f64)> = own.filter(|(_, share)| *share > 0.0).collect();
                    let row = AnswerRow::new(group, Vec::new(), count, share(count, all));
                    let is_left_out = rules.holds(|attribute| {
                        let own = evidence.possible(attribute);
                        match (own, of_group(attribute)) {
                            (Some(own), Some(code)) if !own.contains(&code[0]) => None,
                            (own, code) => code.or(own),
                        }
                    });
                    rows.push(AnswerRow { is_left_out, ..row.about(&own, known) });
                }
                Self::Mean(name) | Self::Quantile(name, _) => {
                    let (bins, _) = numbers(schema, name)?;
                    let mut own = vec![0.0; bins.count() as usize];
                    for cell in &cells {
                        // A missing value is beyond the bins.
                        let bin = cell.codes.first().and_then(|code| own.get_mut(*code as usize));
                        bin.into_iter().for_each(|bin| *bin += counts[cell.place]);
                    }
                    let count: f64 = own.iter().sum();
                    let answer = (count > 0.0).then(|| match self {
                        Self::Quantile(_, share) => quantile(bins, &own, *share),
                        _ => mean(bins, &own),
                    });
                    let row = AnswerRow::new(group, Vec::new(), count, answer);
                    rows.push(self.with_interval(row, bins, measured, domain, known)?);
                }
            }
        }
        let question = self.in_words(domain);
        let (mut is_date, mut time) = (false, None);
        if let Self::Mean(name) | Self::Quantile(name, _) = self {
            let (bins, days) = numbers(schema, name)?;
            is_date = days;
            time = bins.notation().filter(|notation| notation.is_time()).cloned();
        }
        let cut_bins = match self {
            Self::Share(evidence) => evidence.cut_bins(),
            _ => Vec::new(),
        };
        let is_of_numbers = matches!(self, Self::Mean(_) | Self::Quantile(..));
        Ok(Answer { question, is_date, time, is_of_numbers, cut_bins, rows })
    }

    /// A mean or quantile with what it rests on, and an interval if the cells were measured.
    fn with_interval(
        &self,
        row: AnswerRow,
        bins: &Bins,
        measured: &[Cell],
        domain: &Domain,
        known: Option<&Known>,
    ) -> Result<AnswerRow> {
        let Some(known) = known else { return Ok(row) };
        let row = AnswerRow { basis: Some(known.rests_on), ..row };
        let Some((marginal, answer)) = known.marginal.as_ref().zip(row.answer) else {
            return Ok(row);
        };
        let cells = measured.iter().filter_map(|cell| {
            let bin = *cell.codes.first()?;
            (bin < bins.count()).then_some((bin, cell.place, cell.share))
        });
        let deviations = known.deviations;
        let measured =
            MeasuredNumbers { bins, marginal, domain, cells: cells.collect(), deviations };
        let ends = match self {
            Self::Quantile(_, share) => measured.quantile_interval(*share)?,
            _ => measured.mean_interval()?,
        };
        let around = |(lower, upper): (f64, f64)| AnswerInterval {
            lower: lower.min(answer),
            upper: upper.max(answer),
        };
        Ok(AnswerRow { answer_interval: ends.map(around), ..row })
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

/// What is known about the cells that answers are made of.
struct Known {
    bounds: Bounds,
    /// What a mean or a quantile rests on.
    rests_on: Basis,
    /// The cells by group, each with the share of its records that the model is of.
    cells: BTreeMap<Vec<u32>, Vec<Cell>>,
    /// Their marginal as it was measured, for means and quantiles.
    marginal: Option<MeasuredMarginal>,
    deviations: f64,
}

impl Known {
    /// `table`: the model's marginal. `given`: what the model was conditioned on, whose attributes must have been measured too.
    fn of(
        accuracy: &Accuracy,
        slices: Slices<'_>,
        table: &Factor,
        given: Option<&Evidence>,
    ) -> Result<Self> {
        let domain = slices.domain;
        let clique = given.map_or_else(Clique::default, Evidence::attributes).union(table.clique());
        let bounds = match given {
            None => accuracy.bounds(domain, table)?,
            Some(_) => accuracy.bounds_measured(domain, &clique)?,
        };
        let rests_on = accuracy.rests_on(&clique);
        // Otherwise the attributes that are given may make a very large table.
        let has_cells = given.is_none() || rests_on == Basis::Measured;
        let cells = if has_cells { slices.of(&clique, given) } else { BTreeMap::new() };
        let marginal = accuracy.measured_marginal(domain, &clique)?;
        Ok(Self { bounds, rests_on, cells, marginal, deviations: accuracy.deviations() })
    }
}

/// How the cells of a marginal are asked about: group by group.
#[derive(Clone, Copy)]
struct Slices<'t> {
    domain: &'t Domain,
    groups: &'t Clique,
    about: &'t Clique,
}

/// A cell of a marginal.
struct Cell {
    /// The codes of the attributes that the question is about.
    codes: Vec<u32>,
    /// Its position in the marginal, row-major.
    place: usize,
    /// The share of its records that agree with the evidence.
    share: f64,
}

impl Slices<'_> {
    /// The groups' codes in order, each with its cells in a marginal, without those in which no record agrees with some evidence. A
    /// cell whose attributes include a group's own has that group's value.
    ///
    /// `clique`: that of the marginal.
    fn of(&self, clique: &Clique, given: Option<&Evidence>) -> BTreeMap<Vec<u32>, Vec<Cell>> {
        let shape = self.domain.shape(clique);
        let places = |part: &Clique| -> Vec<usize> {
            part.iter().filter_map(|a| clique.iter().position(|own| own == a)).collect()
        };
        let (of_groups, of_about) = (places(self.groups), places(self.about));
        let mut groups: BTreeMap<Vec<u32>, Vec<Cell>> = BTreeMap::new();
        let mut codes = vec![0_u32; shape.len()];
        for place in 0..shape.iter().product() {
            let pick = |places: &[usize]| places.iter().map(|place| codes[*place]).collect();
            let code = |attribute| clique.iter().zip(&codes).find(|(own, _)| *own == attribute);
            let share =
                given.map_or(1.0, |given| given.share(|a| code(a).map_or(0, |(_, code)| *code)));
            if share > 0.0 {
                let cell = Cell { codes: pick(&of_about), place, share };
                groups.entry(pick(&of_groups)).or_default().push(cell);
            }
            // The last attribute changes fastest.
            for (code, size) in codes.iter_mut().zip(&shape).rev() {
                *code += 1;
                if (*code as usize) < *size {
                    break;
                }
                *code = 0;
            }
        }
        groups
    }
}

#[cfg(test)]
mod tests;
