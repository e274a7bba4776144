//! Statistics of a table: shares, means, differences of them, coefficients of regressions.

use std::fmt;

use crate::data::{Column, Dataset};
use crate::domain::{Clique, Kind, Schema};
use crate::error::{Error, Result};
use crate::model::{Evidence, bin_mean};

/// Most terms of a regression.
const MOST_TERMS: usize = 512;

/// A statistic of a table: what an analyst computes.
///
/// All of them are solutions β of `Σ_i x_i (y_i − μ(β·x_i)) = 0` over records i, with μ the identity or the logistic
/// function, so that they are functions of one marginal: that of the attributes in x, y and the condition. A number is
/// the mean of its bin, as a model knows no more than bins; a record without a number that it needs is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Statistic {
    text: String,
    response: Quantity,
    form: Form,
    among: Option<Evidence>,
}

/// A number of each record.
#[derive(Clone, Debug, PartialEq)]
enum Quantity {
    /// A numeric column or a date.
    Number(String),
    /// 1 for records that agree, else 0.
    Is(Evidence),
}

#[derive(Clone, Debug, PartialEq)]
enum Form {
    Mean,
    Difference([Evidence; 2]),
    Regression(Vec<Predictor>, Link),
}

#[derive(Clone, Debug, PartialEq)]
enum Predictor {
    /// A numeric column, or an attribute that stands for a term of each value but the most frequent.
    Attribute(String),
    Is(String, Evidence),
}

/// μ, from a linear combination to the mean of the response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Identity,
    Logistic,
}

impl Statistic {
    /// The share of records that agree with evidence such as `SEX=2, AGEP=30..39` ([`Evidence::of_whole_bins`]).
    ///
    /// # Errors
    /// As [`Evidence::of_whole_bins`]; nothing to agree with.
    pub fn share(evidence: &str, schema: &Schema) -> Result<Self> {
        let response = Quantity::Is(condition(evidence, schema)?);
        Ok(Self { text: format!("share of {}", evidence.trim()), response, ..Self::mean_of() })
    }

    /// The mean of a numeric column or a date.
    ///
    /// # Errors
    /// An unknown column, or one without numbers.
    pub fn mean(column: &str, schema: &Schema) -> Result<Self> {
        let response = quantity(column, schema)?;
        Ok(Self { text: format!("mean of {}", column.trim()), response, ..Self::mean_of() })
    }

    /// A difference of means or shares between two groups: `AGEP: SEX=1 vs SEX=2`, or `HICOV=2: SEX=1 vs SEX=2`. A record
    /// of both groups counts in the first.
    ///
    /// # Errors
    /// Another form, or as [`mean`](Self::mean) and [`share`](Self::share).
    pub fn difference(text: &str, schema: &Schema) -> Result<Self> {
        let wrong = || {
            let expected = "RESPONSE: GROUP vs GROUP, such as AGEP: SEX=1 vs SEX=2";
            Error::invalid_specification("difference", format!("'{text}'"), expected)
        };
        let (response, groups) = text.split_once(':').ok_or_else(wrong)?;
        let (first, second) = groups.split_once(" vs ").ok_or_else(wrong)?;
        let groups = [condition(first, schema)?, condition(second, schema)?];
        let response = quantity(response, schema)?;
        let (text, form) = (format!("difference of {}", text.trim()), Form::Difference(groups));
        Ok(Self { text, response, form, among: None })
    }

    /// Coefficients of least squares: `INCOME ~ AGE + SEX`. The response is a numeric column, or evidence, which is 1 or 0. A
    /// predictor is a numeric column, evidence such as `SEX=2`, or any other attribute, which stands for a term of each value
    /// except the most frequent.
    ///
    /// # Errors
    /// Another form, an unknown attribute, or an attribute without numbers as the response.
    pub fn linear(formula: &str, schema: &Schema) -> Result<Self> {
        Self::regression(formula, schema, Link::Identity)
    }

    /// Coefficients of a logistic regression: `HICOV=2 ~ AGE + SEX`, with predictors as in [`linear`](Self::linear).
    ///
    /// # Errors
    /// As [`linear`](Self::linear); a response that is no evidence.
    pub fn logistic(formula: &str, schema: &Schema) -> Result<Self> {
        Self::regression(formula, schema, Link::Logistic)
    }

    /// The same statistic among the records that agree with some evidence.
    ///
    /// # Errors
    /// As [`Evidence::of_whole_bins`]; nothing to agree with.
    pub fn among(mut self, evidence: &str, schema: &Schema) -> Result<Self> {
        self.among = Some(condition(evidence, schema)?);
        self.text = format!("{}, among {}", self.text, evidence.trim());
        Ok(self)
    }

    fn mean_of() -> Self {
        let nothing = Quantity::Is(Evidence::default());
        Self { text: String::new(), response: nothing, form: Form::Mean, among: None }
    }

    fn regression(formula: &str, schema: &Schema, link: Link) -> Result<Self> {
        let wrong = |expected: &str| {
            Error::invalid_specification("regression", format!("'{formula}'"), expected)
        };
        let form = "RESPONSE ~ PREDICTOR + PREDICTOR";
        let (response, predictors) = formula.split_once('~').ok_or_else(|| wrong(form))?;
        let response = quantity(response, schema)?;
        if link == Link::Logistic && matches!(response, Quantity::Number(_)) {
            return Err(wrong("a response that is true or false, such as HICOV=2"));
        }
        let mut terms = Vec::new();
        for text in predictors.split('+').map(str::trim) {
            if text.contains('=') {
                terms.push(Predictor::Is(text.to_owned(), condition(text, schema)?));
            } else if schema.attributes().any(|column| column.name == text) {
                terms.push(Predictor::Attribute(text.to_owned()));
            } else {
                return Err(schema.domain().unknown(text, "the regression").into());
            }
        }
        if (1..terms.len()).any(|i| terms[..i].contains(&terms[i])) {
            return Err(wrong("each predictor once"));
        }
        let kind = if link == Link::Logistic { "logistic regression" } else { "regression" };
        let text = format!("{kind} {}", formula.trim());
        Ok(Self { text, response, form: Form::Regression(terms, link), among: None })
    }

    /// The numbers that the statistic consists of, and how records enter them, fixed by one table.
    ///
    /// `released`: its most frequent values are those that have no term.
    ///
    /// # Errors
    /// A table over another domain than the schema's, or more than 512 terms.
    pub fn design(&self, schema: &Schema, released: &Dataset) -> Result<Design> {
        let domain = schema.domain();
        domain.check_same(released.domain(), "the released table")?;
        let mut design = Design {
            names: Vec::new(),
            link: Link::Identity,
            clique: Clique::new([]),
            response: source(&self.response, schema)?,
            terms: Vec::new(),
            among: self.among.clone(),
            either: None,
            reported: 0,
        };
        match &self.form {
            Form::Mean => design.names.push(self.text.clone()),
            Form::Difference(groups) => {
                design.names.extend(["mean of the second group".to_owned(), self.text.clone()]);
                design.terms.push(Source::Is(groups[0].clone()));
                design.either = Some(groups.clone());
                design.reported = 1;
            }
            Form::Regression(predictors, link) => {
                design.link = *link;
                design.names.push("intercept".to_owned());
                for predictor in predictors {
                    match predictor {
                        Predictor::Is(text, evidence) => {
                            design.push(text.clone(), Source::Is(evidence.clone()));
                        }
                        Predictor::Attribute(name) => design.attribute(name, schema, released)?,
                    }
                }
                if design.terms.len() > MOST_TERMS {
                    let found = Some(design.terms.len() as f64);
                    return Err(Error::too_large(
                        "the regression",
                        found,
                        MOST_TERMS as f64,
                        "terms",
                    ));
                }
            }
        }
        let sources = design.terms.iter().chain([&design.response]);
        let conditions = design.among.iter().chain(design.either.iter().flatten());
        let cliques = sources.map(Source::clique).chain(conditions.map(Evidence::attributes));
        design.clique = cliques.fold(Clique::new([]), |all, own| all.union(&own));
        Ok(design)
    }
}

impl fmt::Display for Statistic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Where a number of a record comes from.
#[derive(Clone, Debug)]
pub(super) enum Source {
    /// An attribute, with the number of each code; NaN where it is missing.
    Number(usize, Vec<f64>),
    Is(Evidence),
}

impl Source {
    pub(super) fn clique(&self) -> Clique {
        match self {
            Self::Number(attribute, _) => Clique::new([*attribute]),
            Self::Is(evidence) => evidence.attributes(),
        }
    }

    fn at(&self, code: &dyn Fn(usize) -> u32) -> f64 {
        match self {
            Self::Number(attribute, numbers) => {
                numbers.get(code(*attribute) as usize).copied().unwrap_or(f64::NAN)
            }
            Self::Is(evidence) => f64::from(u8::from(evidence.agrees(code))),
        }
    }

    /// The smallest and the largest number that a record can have.
    pub(super) fn range(&self) -> (f64, f64) {
        let Self::Number(_, numbers) = self else { return (0.0, 1.0) };
        let known = || numbers.iter().copied().filter(|number| !number.is_nan());
        (known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max))
    }
}

/// The response of a record, and its terms behind the intercept's 1.
pub(super) type Row = (f64, Vec<f64>);

/// How records enter a statistic: the intercept, then one number for each term. One table has fixed which terms there
/// are.
#[derive(Clone, Debug)]
pub struct Design {
    /// Names of the coefficients, the intercept's first.
    pub(super) names: Vec<String>,
    pub(super) link: Link,
    /// All attributes that it is a function of.
    pub(super) clique: Clique,
    pub(super) response: Source,
    pub(super) terms: Vec<Source>,
    /// The only records that count, if not all.
    pub(super) among: Option<Evidence>,
    /// The only records that count: those of either group.
    pub(super) either: Option<[Evidence; 2]>,
    /// The first coefficient that was asked for.
    pub(super) reported: usize,
}

impl Design {
    /// Names of the numbers that [`values`](Self::values) gives.
    pub fn names(&self) -> &[String] {
        &self.names[self.reported..]
    }

    /// The attributes that it is a function of.
    pub fn attributes(&self) -> &Clique {
        &self.clique
    }

    fn push(&mut self, name: String, source: Source) {
        self.names.push(name);
        self.terms.push(source);
    }

    /// The terms of a whole attribute.
    fn attribute(&mut self, name: &str, schema: &Schema, released: &Dataset) -> Result<()> {
        if let Ok(source) = source(&Quantity::Number(name.to_owned()), schema) {
            self.push(name.to_owned(), source);
            return Ok(());
        }
        let domain = released.domain();
        let attribute = domain.clique(&[name])?.attributes()[0];
        let mut counts = vec![0_u32; domain.cardinality(attribute)];
        let codes = released.column(attribute).into_iter().flat_map(Column::iter);
        codes.for_each(|code| counts[code as usize] += 1);
        let reference = (0..counts.len()).rev().max_by_key(|code| counts[*code]);
        for (code, count) in (0_u32..).zip(counts) {
            if count > 0 && Some(code as usize) != reference {
                let value = schema.column(name).map(|column| column.value_name(code));
                let evidence = Evidence::new(domain, [(name, vec![code])])?;
                self.push(format!("{name} = {}", value.unwrap_or_default()), Source::Is(evidence));
            }
        }
        Ok(())
    }

    /// Whether some record may be left out as it has no number.
    pub(super) fn has_missing(&self) -> bool {
        let sources = self.terms.iter().chain([&self.response]);
        sources.clone().any(|source| match source {
            Source::Number(_, numbers) => numbers.iter().any(|number| number.is_nan()),
            Source::Is(_) => false,
        })
    }

    /// The source of a term: `None` for the intercept, number 0; the response comes last.
    fn term(&self, number: usize) -> Option<&Source> {
        if number == self.names.len() {
            Some(&self.response)
        } else {
            self.terms.get(number.wrapping_sub(1))
        }
    }

    /// The attributes of two terms, and of what decides which records count.
    pub(super) fn clique_of(&self, a: usize, b: usize) -> Clique {
        let conditions = self.among.iter().chain(self.either.iter().flatten());
        let of_terms =
            [a, b].into_iter().filter_map(|number| self.term(number)).map(Source::clique);
        let cliques = of_terms.chain(conditions.map(Evidence::attributes));
        cliques.fold(Clique::default(), |all, own| all.union(&own))
    }

    /// The product of two terms in each cell of a marginal that holds their attributes; 0 where records do not count.
    pub(super) fn products(
        &self,
        clique: &Clique,
        shape: &[usize],
        a: usize,
        b: usize,
    ) -> Vec<f64> {
        let mut products = vec![0.0; shape.iter().product()];
        let is_whole = *clique == self.clique;
        each_cell(shape, |cell, codes| {
            let place = |attribute| clique.iter().position(|own| own == attribute);
            let code = |attribute| place(attribute).map_or(0, |place| codes[place]);
            let counts = if is_whole { self.row(&code).is_some() } else { self.counts(&code) };
            if counts {
                let of = |number: usize| self.term(number).map_or(1.0, |source| source.at(&code));
                products[cell] = of(a) * of(b);
            }
        });
        products
    }

    /// Whether a record is among those that are meant.
    fn counts(&self, code: &dyn Fn(usize) -> u32) -> bool {
        self.among.as_ref().is_none_or(|evidence| evidence.agrees(code))
            && self.either.as_ref().is_none_or(|[a, b]| a.agrees(code) || b.agrees(code))
    }

    /// The response of a record and its terms behind the intercept's 1; `None` if the record does not count.
    ///
    /// `code`: the record's code of an attribute in the clique.
    fn row(&self, code: &dyn Fn(usize) -> u32) -> Option<Row> {
        if !self.counts(code) {
            return None;
        }
        let y = self.response.at(code);
        let x = [1.0].into_iter().chain(self.terms.iter().map(|term| term.at(code)));
        let x: Vec<f64> = x.collect();
        (!y.is_nan() && x.iter().all(|x| !x.is_nan())).then_some((y, x))
    }
}

impl Design {
    /// Visits the cells of the marginal on the clique, row-major, each with its row if its records count.
    pub(super) fn each_cell(&self, shape: &[usize], mut visit: impl FnMut(usize, Option<Row>)) {
        each_cell(shape, |cell, codes| visit(cell, self.row_of(codes)));
    }

    /// As [`row`](Self::row), of codes in the clique's order.
    pub(super) fn row_of(&self, codes: &[u32]) -> Option<Row> {
        let place = |attribute| self.clique.iter().position(|own| own == attribute);
        self.row(&|attribute| place(attribute).map_or(0, |place| codes[place]))
    }
}

/// Visits the cells of a table, row-major, each with its codes.
fn each_cell(shape: &[usize], mut visit: impl FnMut(usize, &[u32])) {
    let cells: usize = shape.iter().product();
    let mut codes = vec![0_u32; shape.len()];
    for cell in 0..cells {
        visit(cell, &codes);
        // The last attribute changes fastest.
        for (code, size) in codes.iter_mut().zip(shape).rev() {
            *code += 1;
            if (*code as usize) < *size {
                break;
            }
            *code = 0;
        }
    }
}

/// Evidence that is about something.
fn condition(text: &str, schema: &Schema) -> Result<Evidence> {
    let evidence = Evidence::of_whole_bins(text, schema)?;
    if evidence.attributes().is_empty() {
        let expected = "a condition such as SEX=2";
        return Err(Error::invalid_specification("statistic", format!("'{text}'"), expected));
    }
    Ok(evidence)
}

/// A numeric column or evidence.
fn quantity(text: &str, schema: &Schema) -> Result<Quantity> {
    if text.contains('=') {
        return condition(text, schema).map(Quantity::Is);
    }
    let quantity = Quantity::Number(text.trim().to_owned());
    source(&quantity, schema)?;
    Ok(quantity)
}

fn source(quantity: &Quantity, schema: &Schema) -> Result<Source> {
    let name = match quantity {
        Quantity::Is(evidence) => return Ok(Source::Is(evidence.clone())),
        Quantity::Number(name) => name,
    };
    let column = schema.attributes().find(|column| column.name == *name);
    let column = column.ok_or_else(|| schema.domain().unknown(name, "the statistic"))?;
    let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &column.kind else {
        let found = format!("'{name}', which has no numbers");
        let expected = "a numeric column or a date, or a condition such as SEX=2";
        return Err(Error::invalid_specification("the statistic", found, expected));
    };
    let attribute = schema.domain().clique(&[name])?.attributes()[0];
    let mut numbers: Vec<f64> = (0..bins.count()).map(|bin| bin_mean(bins, bin)).collect();
    numbers.extend(column.na_code().map(|_| f64::NAN));
    Ok(Source::Number(attribute, numbers))
}

#[cfg(test)]
mod tests;
