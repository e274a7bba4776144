//! One linear regression on two tables: the coefficients that an analyst would publish, real and synthetic.

use std::collections::BTreeSet;

use serde::Serialize;

use crate::data::{Column, Dataset, NumericColumns};
use crate::domain::{Kind, Schema};
use crate::error::{Error, Result};
use crate::linalg::Cholesky;
use crate::normal::TWO_SIDED;

/// Most terms of a regression.
const MOST_TERMS: usize = 512;

/// A linear regression of a numeric column on others: `INCOME ~ AGE + SEX`.
///
/// A numeric column or a date is a term of its own. Any other attribute is a term for each value except the one that
/// most real records have; a missing value is a value. Records without one of the numbers are left out.
///
/// ```
/// use jointly::{Schema, data::WholeTable, evaluation::Regression};
/// let schema = r#"{"columns": [
///     {"name": "age", "kind": "numeric", "edges": [0, 50, 100]}, {"name": "pay", "kind": "numeric", "edges": [0, 10, 20]}
/// ]}"#;
/// let schema = Schema::from_json(schema, "schema.json")?;
/// let read = |text: &str| WholeTable::read_from(text.as_bytes(), "t.csv", &schema, None);
/// let (real, made) = (read("age,pay\n20,4\n40,8\n60,12\n")?, read("age,pay\n20,3\n40,9\n60,12\n")?);
/// let numbers = [&real, &made].map(|table| table.numbers.as_ref().unwrap());
/// let found = Regression::parse("pay ~ age", &schema)?.compare(&schema, numbers, [&real.records, &made.records])?;
/// assert!((found.terms[1].real.unwrap().value - 0.2).abs() < 1e-9);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Regression {
    formula: String,
    response: String,
    predictors: Vec<String>,
}

/// A regression's coefficients on a real and a synthetic table. **Not private.**
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RegressionComparison {
    /// The regression as it was asked for.
    pub formula: String,
    /// Real records with all its numbers.
    pub real_records: u64,
    /// Synthetic records with all its numbers.
    pub synthetic_records: u64,
    /// The intercept, and the terms in the formula's order.
    pub terms: Vec<TermComparison>,
}

/// One coefficient.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TermComparison {
    /// A column, or `attribute = value`.
    pub term: String,
    /// On the real table; `None` where the term follows from others, or no record has the value.
    pub real: Option<Estimate>,
    /// On the synthetic table.
    pub synthetic: Option<Estimate>,
    /// Overlap of the two intervals: the mean of its shares of both, from 0 to 1 (Karr, Kohnen, Oganian, Reiter &
    /// Sanil 2006).
    pub overlap: Option<f64>,
}

/// A coefficient of least squares with its 95 % interval, by the normal distribution and one variance for all records.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The coefficient.
    pub value: f64,
    /// The lower end of its interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Regression {
    /// Reads `RESPONSE ~ PREDICTOR + PREDICTOR`.
    ///
    /// # Errors
    /// Another form, an attribute that the schema does not have or that occurs twice, or a response without numbers.
    pub fn parse(formula: &str, schema: &Schema) -> Result<Self> {
        let wrong = |expected: &str| {
            Error::invalid_specification("regression", format!("'{formula}'"), expected)
        };
        let (response, predictors) =
            formula.split_once('~').ok_or_else(|| wrong("RESPONSE ~ PREDICTOR + PREDICTOR"))?;
        let name = |text: &str| text.trim().to_owned();
        let (response, predictors): (String, Vec<String>) =
            (name(response), predictors.split('+').map(name).collect());
        let mut seen = BTreeSet::new();
        for name in predictors.iter().chain([&response]) {
            if schema.attributes().all(|column| column.name != *name) {
                return Err(schema.domain().unknown(name, "the regression").into());
            }
            if !seen.insert(name) {
                return Err(wrong("each attribute once"));
            }
        }
        if !matches!(schema.column(&response).and_then(|c| c.kind.as_ref()), Some(Kind::Numeric(_)))
        {
            return Err(wrong("a numeric column on the left"));
        }
        Ok(Self { formula: formula.trim().to_owned(), response, predictors })
    }

    /// The regression on both tables. `schema`: that of both; `numbers` and `tables`: the same records, real and
    /// synthetic.
    ///
    /// # Errors
    /// Tables under another schema, or more than 512 terms.
    pub fn compare(
        &self,
        schema: &Schema,
        numbers: [&NumericColumns; 2],
        tables: [&Dataset; 2],
    ) -> Result<RegressionComparison> {
        let terms = self.terms(schema, tables)?;
        let [real, synthetic] = [0, 1].map(|at| self.fit(&terms, numbers[at], tables[at]));
        let (real, synthetic) = (real?, synthetic?);
        let names = std::iter::once("intercept").chain(terms.iter().map(|term| &*term.name));
        let pairs = names.zip(real.1.into_iter().zip(synthetic.1));
        let terms = pairs.map(|(name, (real, synthetic))| TermComparison {
            term: name.to_owned(),
            real,
            synthetic,
            overlap: real.zip(synthetic).map(|(real, synthetic)| overlap(real, synthetic)),
        });
        Ok(RegressionComparison {
            formula: self.formula.clone(),
            real_records: real.0,
            synthetic_records: synthetic.0,
            terms: terms.collect(),
        })
    }

    /// The terms that follow the intercept.
    fn terms(&self, schema: &Schema, tables: [&Dataset; 2]) -> Result<Vec<Term>> {
        let mut terms = Vec::new();
        for name in &self.predictors {
            let column = schema.column(name);
            if matches!(
                column.and_then(|column| column.kind.as_ref()),
                Some(Kind::Numeric(_) | Kind::Date(_))
            ) {
                terms.push(Term { name: name.clone(), column: name.clone(), value: None });
                continue;
            }
            let domain = tables[0].domain();
            let attribute = position(tables[0], name)?;
            let mut counts = vec![[0_u32; 2]; domain.cardinality(attribute)];
            for (table, place) in tables.iter().zip(0..) {
                let codes = table.column(attribute).into_iter().flat_map(Column::iter);
                codes.for_each(|code| counts[code as usize][place] += 1);
            }
            let reference = (0..counts.len()).rev().max_by_key(|code| counts[*code][0]);
            for (code, _) in (0..).zip(&counts).filter(|(_, counts)| counts[0] + counts[1] > 0) {
                if Some(code as usize) != reference {
                    let value = column.map(|column| column.value_name(code)).unwrap_or_default();
                    let text = format!("{name} = {value}");
                    terms.push(Term { name: text, column: name.clone(), value: Some(code) });
                }
            }
        }
        if terms.len() > MOST_TERMS {
            let found = Some(terms.len() as f64);
            return Err(Error::too_large("the regression", found, MOST_TERMS as f64, "terms"));
        }
        Ok(terms)
    }

    /// The coefficients on one table, first the intercept, and the records they come from.
    fn fit(
        &self,
        terms: &[Term],
        numbers: &NumericColumns,
        table: &Dataset,
    ) -> Result<(u64, Vec<Option<Estimate>>)> {
        let response = values(numbers, &self.response)?;
        let mut sources = Vec::with_capacity(terms.len());
        for term in terms {
            sources.push(match term.value {
                None => Source::Number(values(numbers, &term.column)?),
                Some(code) => Source::Is(position(table, &term.column)?, code),
            });
        }
        let whole = |record: &usize| {
            let is_number = |source: &Source<'_>| match source {
                Source::Number(values) => !values[*record].is_nan(),
                Source::Is(..) => true,
            };
            !response[*record].is_nan() && sources.iter().all(is_number)
        };
        let records: Vec<usize> = (0..table.records()).filter(whole).collect();
        let least_squares = LeastSquares::new(&sources, response, table, &records);
        Ok((records.len() as u64, least_squares.estimates()))
    }
}

/// A predictor, or one value of it.
struct Term {
    name: String,
    column: String,
    value: Option<u32>,
}

/// Where a term's numbers come from.
enum Source<'t> {
    Number(&'t [f64]),
    /// 1 where an attribute has a value, else 0.
    Is(usize, u32),
}

impl Source<'_> {
    fn at(&self, table: &Dataset, record: usize) -> f64 {
        match self {
            Self::Number(values) => values[record],
            Self::Is(attribute, code) => {
                let found = table.column(*attribute).and_then(|column| column.get(record));
                f64::from(u8::from(found == Some(*code)))
            }
        }
    }
}

fn values<'n>(numbers: &'n NumericColumns, name: &str) -> Result<&'n [f64]> {
    let column = numbers.column(name);
    column.map(|column| &column.values[..]).ok_or_else(|| {
        Error::invalid_specification("table", "other numeric columns", format!("a column '{name}'"))
    })
}

fn position(table: &Dataset, name: &str) -> Result<usize> {
    Ok(table.domain().clique(&[name])?.attributes()[0])
}

/// Least squares on terms that have a mean of 0 and a spread of 1, so that sizes of numbers do not matter.
struct LeastSquares {
    means: Vec<f64>,
    spreads: Vec<f64>,
    factor: Cholesky,
    coefficients: Vec<f64>,
    mean: f64,
    /// Variance of the residuals; `None` without degrees of freedom.
    variance: Option<f64>,
    records: usize,
}

impl LeastSquares {
    fn new(sources: &[Source<'_>], response: &[f64], table: &Dataset, records: &[usize]) -> Self {
        let (size, count) = (sources.len(), records.len().max(1) as f64);
        let mean_of =
            |at: &dyn Fn(usize) -> f64| records.iter().map(|r| at(*r)).sum::<f64>() / count;
        let mean = mean_of(&|record| response[record]);
        let means: Vec<f64> =
            sources.iter().map(|source| mean_of(&|record| source.at(table, record))).collect();
        let spread = |(source, mean): (&Source<'_>, &f64)| {
            mean_of(&|record| (source.at(table, record) - mean).powi(2)).sqrt()
        };
        let spreads: Vec<f64> = sources.iter().zip(&means).map(spread).collect();
        let scaled = |record: usize, row: &mut Vec<f64>| {
            row.clear();
            let terms = sources.iter().zip(means.iter().zip(&spreads));
            row.extend(terms.map(|(source, (mean, spread))| {
                if *spread > 0.0 { (source.at(table, record) - mean) / spread } else { 0.0 }
            }));
        };
        let (mut products, mut coefficients) = (vec![0.0; size * size], vec![0.0; size]);
        let mut row = Vec::with_capacity(size);
        for record in records {
            scaled(*record, &mut row);
            for (i, x) in row.iter().enumerate() {
                coefficients[i] += x * (response[*record] - mean);
                let line = &mut products[i * size..=i * size + i];
                line.iter_mut().zip(&row).for_each(|(sum, y)| *sum += x * y);
            }
        }
        let factor = Cholesky::new(&products, size);
        factor.solve(&mut coefficients);
        let mut squares = 0.0;
        for record in records {
            scaled(*record, &mut row);
            let fitted: f64 = row.iter().zip(&coefficients).map(|(x, b)| x * b).sum();
            squares += (response[*record] - mean - fitted).powi(2);
        }
        let freedom = records.len().saturating_sub(factor.rank + 1);
        let variance = (freedom > 0).then(|| squares / freedom as f64);
        Self { means, spreads, factor, coefficients, mean, variance, records: records.len() }
    }

    /// The intercept, and the coefficient of each term on its own scale.
    fn estimates(&self) -> Vec<Option<Estimate>> {
        let kept = |term: usize| self.factor.kept[term];
        let slope = |term: usize| self.coefficients[term] / self.spreads[term];
        // The variance of a linear combination c of the scaled coefficients is σ² cᵀ H⁻¹ c.
        let combined = |c: Vec<f64>| {
            let mut solved = c.clone();
            self.factor.solve(&mut solved);
            c.iter().zip(solved).map(|(c, x)| c * x).sum::<f64>()
        };
        let terms = self.coefficients.len();
        let of_term = |term: usize| {
            let mut c = vec![0.0; terms];
            c[term] = 1.0 / self.spreads[term];
            self.estimate(slope(term), combined(c))
        };
        let shift =
            |term: usize| if kept(term) { self.means[term] / self.spreads[term] } else { 0.0 };
        let shifts: Vec<f64> = (0..terms).map(shift).collect();
        let moved: f64 = shifts.iter().zip(&self.coefficients).map(|(s, b)| s * b).sum();
        let at_zero = combined(shifts) + 1.0 / self.records.max(1) as f64;
        let intercept = self.estimate(self.mean - moved, at_zero);
        let of_terms = (0..terms).map(|term| if kept(term) { of_term(term) } else { None });
        std::iter::once(intercept).chain(of_terms).collect()
    }

    fn estimate(&self, value: f64, of_variance: f64) -> Option<Estimate> {
        let half = TWO_SIDED * (self.variance? * of_variance).sqrt();
        let estimate = Estimate { value, low: value - half, high: value + half };
        (value.is_finite() && half.is_finite()).then_some(estimate)
    }
}

/// The mean of the shares of both intervals that lie in both.
fn overlap(a: Estimate, b: Estimate) -> f64 {
    let common = (a.high.min(b.high) - a.low.max(b.low)).max(0.0);
    let share = |of: Estimate| {
        let width = of.high - of.low;
        // An interval without a width is in both, or not.
        if width > 0.0 {
            common / width
        } else {
            f64::from(u8::from(a.low.max(b.low) <= a.high.min(b.high)))
        }
    };
    f64::midpoint(share(a), share(b))
}

#[cfg(test)]
mod tests;
