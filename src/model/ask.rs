//! Questions to a model: marginals, shares, means and quantiles, with the names of values. They cost no privacy.

mod known;

use serde::Serialize;

use crate::domain::{Bins, Clique, Domain, Kind, Notation, Schema, SchemaColumn};
use crate::error::{Error, Result};
use crate::model::binned_numbers::{mean, quantile};
use crate::model::left_out::LeftOut;
use crate::model::{Accuracy, Basis, CountInterval, Evidence, Model, RestsOn};
use crate::table::Factor;

use known::{Cell, Known, Slices};

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
    /// What the counts of all its attributes together rest on, if they were not measured together and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parts: Option<NamedParts>,
    /// One for each group and combination of values.
    pub rows: Vec<AnswerRow>,
}

/// As [`RestsOn`](crate::model::RestsOn), by the names of attributes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct NamedParts {
    /// The attributes of each of the largest parts that were measured privately.
    pub measured: Vec<Vec<String>>,
    /// The attributes of each of the largest parts that the model has from public tables, with the table's name, where it is known.
    pub public: Vec<(Vec<String>, Option<String>)>,
    /// Whether one of these has all attributes, so that only the measurements correct it. Otherwise it follows from the model how the
    /// parts go together.
    pub is_public: bool,
}

/// An answer about one group of records.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AnswerRow {
    /// The names of the values that define the group, one for each grouping attribute, in the order of the question.
    pub group: Vec<String>,
    /// The names of the values that a share is about, one for each attribute of a marginal, in the order of the question.
    pub values: Vec<String>,
    /// Number of records with these values, or in the group with a number: as measured, if it was ([`Basis::Measured`]), otherwise
    /// what the model expects. Cut to the range of its interval: without bias, and so below 0 for some empty cells, is the
    /// interval's estimate.
    pub count: f64,
    /// A share of the group, a mean or a quantile, from the same numbers; from the model's where the noise of what was measured is
    /// too large for one. `None` where the model expects no record.
    pub answer: Option<f64>,
    /// What the model says, where the numbers above were measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<FromModel>,
    /// Whether drawn records never have these values, by the schema's unlikely combinations, or by forbidden ones that fits do not
    /// know. The model knows neither, and expects such records.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_left_out: bool,
    /// What the number of records, the mean or the quantile rests on; `None` if it is not known, and where the schema forbids such
    /// records: then there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub basis: Option<Basis>,
    /// An interval for the number of private records, around [`count`](Self::count).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<CountInterval>,
    /// An interval for the [`answer`](Self::answer) on the private records: if all that it is a function of was measured, and
    /// for shares of all records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answer_interval: Option<AnswerInterval>,
    /// Of a measured number of records, or of its share of the group where that has an interval; of a measured mean or quantile
    /// that has an interval, unless the column is a date or a time, or can be negative.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub grade: Option<Grade>,
}

/// How large the noise of a measured number is beside it: the letters that Statistics Canada gives to coefficients of variation. The
/// sampling error of the private table comes on top. A quantile has no standard deviation here: half of its interval over
/// the number of standard deviations that intervals reach stands for it. The interval is made of whole bins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Grade {
    /// Excellent: below 5 %.
    A,
    /// Very good: below 10 %.
    B,
    /// Good: below 15 %.
    C,
    /// Acceptable: below 25 %.
    D,
    /// To be used with caution: below 35 %.
    E,
    /// Too unreliable to be published.
    F,
}

impl Grade {
    /// The grade of an estimate. `stddev`: that of its noise.
    pub fn of(estimate: f64, stddev: f64) -> Self {
        let limits =
            [(Self::A, 0.05), (Self::B, 0.1), (Self::C, 0.15), (Self::D, 0.25), (Self::E, 0.35)];
        let found = limits.into_iter().find(|(_, limit)| stddev < limit * estimate);
        found.map_or(Self::F, |(grade, _)| grade)
    }

    /// Its letter.
    pub const fn letter(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::E => "E",
            Self::F => "F",
        }
    }
}

/// A model's numbers beside measured ones.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FromModel {
    /// The number of records that the model expects.
    pub count: f64,
    /// Its share, mean or quantile; `None` where it expects no record.
    pub answer: Option<f64>,
}

/// An interval that aims to cover 95 %.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct AnswerInterval {
    /// The standard deviation of the noise in a measured share or mean, to first order; `None` for others.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stddev: Option<f64>,
    /// The lower end.
    pub lower: f64,
    /// The upper end.
    pub upper: f64,
}

impl Answer {
    /// The answer to one question about a share of all records.
    pub(super) fn of_share(question: String, row: AnswerRow, cut_bins: Vec<String>) -> Self {
        let (is_date, is_of_numbers) = (false, false);
        let (time, parts, rows) = (None, None, vec![row]);
        Self { question, is_date, time, is_of_numbers, cut_bins, parts, rows }
    }
}

impl RestsOn {
    fn named(self, domain: &Domain, clique: &Clique) -> NamedParts {
        let names = |part: &Clique| part.iter().map(|at| domain.name(at).to_owned()).collect();
        let is_public = self.public.iter().any(|part| part.clique == *clique);
        let public = self.public.into_iter().map(|part| (names(&part.clique), part.table));
        NamedParts {
            measured: self.measured.iter().map(names).collect(),
            public: public.collect(),
            is_public,
        }
    }
}

impl AnswerRow {
    /// A number of all records by the model, and its share.
    pub(super) fn of_model(count: f64, share: Option<f64>) -> Self {
        Self { basis: Some(Basis::Model), ..Self::new(Vec::new(), Vec::new(), count, share) }
    }

    /// A row that rests on the model alone.
    fn new(group: Vec<String>, values: Vec<String>, count: f64, answer: Option<f64>) -> Self {
        Self {
            group,
            values,
            count,
            answer,
            model: None,
            is_left_out: false,
            basis: None,
            interval: None,
            answer_interval: None,
            grade: None,
        }
    }
}

impl Model {
    /// As [`ask_with`](Self::ask_with), with wider intervals of measured numbers, all of which hold at once in 95 % of releases
    /// ([`Accuracy::together`]).
    ///
    /// # Errors
    /// As [`ask_with`](Self::ask_with).
    pub fn ask_together(
        &self,
        schema: &Schema,
        by: &[String],
        questions: &[Question],
        accuracy: &Accuracy,
        given: Option<&Evidence>,
    ) -> Result<Vec<Answer>> {
        let ask = |accuracy| self.ask_with(schema, by, questions, Some(accuracy), given);
        let is_of_all = by.is_empty() && given.is_none() && accuracy.measured.records.is_some();
        let intervals = measured_intervals(&ask(accuracy)?, is_of_all);
        ask(&accuracy.together(intervals))
    }

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
                let impossible = LeftOut::impossible(domain, table.clique(), given);
                let found = (known.as_ref(), &rules, &impossible);
                let answer = question.answer(schema, &by, slices, table, found)?;
                let given = given.map_or_else(Clique::default, Evidence::attributes);
                let clique = given.union(table.clique());
                let parts = accuracy.and_then(|known| known.parts(domain, &clique));
                Ok(Answer { parts: parts.map(|parts| parts.named(domain, &clique)), ..answer })
            })
            .collect()
    }
}

/// The number of intervals of measured numbers. `is_of_all`: shares are those of a known number of records, and have the interval of
/// that number.
fn measured_intervals(answers: &[Answer], is_of_all: bool) -> usize {
    let of_row = |row: &AnswerRow| match (row.basis, row.interval.is_some()) {
        (Some(Basis::Measured), true) if is_of_all => 1,
        (Some(Basis::Measured), has_count) => {
            usize::from(has_count) + usize::from(row.answer_interval.is_some())
        }
        _ => 0,
    };
    answers.iter().flat_map(|answer| &answer.rows).map(of_row).sum()
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
        (known, rules, impossible): (Option<&Known>, &LeftOut<'_>, &LeftOut<'_>),
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
            let known = known.map(|known| known.group(&codes));
            match self {
                Self::Marginal(_) => {
                    for cell in cells {
                        let values = of_values.names(schema, domain, &cell.codes);
                        let count = counts[cell.place];
                        let row = AnswerRow::new(group.clone(), values, count, share(count, all));
                        let possible = |attribute| {
                            let own = code_of(about, &cell.codes, attribute).map(|code| vec![code]);
                            own.or_else(|| of_group(attribute))
                        };
                        let row = match known.as_ref().filter(|_| !impossible.holds(possible)) {
                            Some(known) => row.about(known, known.with_codes(&cell.codes)),
                            None => row,
                        };
                        rows.push(AnswerRow { is_left_out: rules.holds(possible), ..row });
                    }
                }
                Self::Share(evidence) => {
                    let place = |attribute| about.iter().position(|own| own == attribute);
                    let agreeing = |cell: &Cell| {
                        evidence.share(|attribute| place(attribute).map_or(0, |at| cell.codes[at]))
                    };
                    let count = cells.iter().map(|cell| agreeing(cell) * counts[cell.place]).sum();
                    let row = AnswerRow::new(group, Vec::new(), count, share(count, all));
                    let possible = |attribute| {
                        let own = evidence.possible(attribute);
                        match (own, of_group(attribute)) {
                            (Some(own), Some(code)) if !own.contains(&code[0]) => None,
                            (own, code) => code.or(own),
                        }
                    };
                    let row = match known.as_ref().filter(|_| !impossible.holds(possible)) {
                        Some(known) => row.about(known, &known.agreeing(agreeing)),
                        None => row,
                    };
                    rows.push(AnswerRow { is_left_out: rules.holds(possible), ..row });
                }
                Self::Mean(name) | Self::Quantile(name, _) => {
                    let (bins, is_date) = numbers(schema, name)?;
                    // Of what can be negative, or has no zero, no error is a share.
                    let is_time = bins.notation().is_some_and(Notation::is_time);
                    let is_amount = !is_date && !is_time && bins.edges()[0] >= 0.0;
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
                    rows.push(match &known {
                        Some(known) => self.with_interval(row, (bins, is_amount), known),
                        None => row,
                    });
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
        Ok(Answer { question, is_date, time, is_of_numbers, cut_bins, parts: None, rows })
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

#[cfg(test)]
mod tests;
