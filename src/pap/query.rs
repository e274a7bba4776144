//! Questions about columns.

use std::fmt;
use std::str::FromStr;

use crate::error::{CommonError, Error, Result};
use crate::pap::Cuts;

/// What a question says about one column: `above < x <= to`. A missing value meets no condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    column: String,
    above: f64,
    to: f64,
}

impl Condition {
    /// `above < x <= to`. Infinite bounds stand for none.
    ///
    /// # Errors
    /// A lower bound that is not below the upper one.
    pub fn new(column: impl Into<String>, above: f64, to: f64) -> Result<Self> {
        let column = column.into();
        if above < to {
            return Ok(Self { column, above, to });
        }
        let found = format!("from {above} to {to}");
        Err(Error::invalid_specification(
            format!("query about '{column}'"),
            found,
            "a lower bound below the upper one",
        ))
    }

    /// The column.
    pub fn column(&self) -> &str {
        &self.column
    }

    /// The lower bound, which is outside; −∞ for none.
    pub fn above(&self) -> f64 {
        self.above
    }

    /// The upper bound, which is inside; ∞ for none.
    pub fn to(&self) -> f64 {
        self.to
    }
}

/// The records that meet one condition, or several about different columns.
///
/// A condition's text has one of the forms `income <= 41250`, `income < 41250`, `income > 41250`, `income >= 41250`,
/// `18 < age <= 64.5` (with `<` or `<=` at each place). `x < t` is `x <= t'` for the largest `f64` t' below t. Several are
/// joined by `&`. A name with one of these signs, or with `=` at its end, needs [`between`](Self::between).
///
/// ```
/// use jointly::pap::Query;
/// let query: Query = "income <= 41250 & 18 < age <= 64.5".parse()?;
/// assert_eq!(query, Query::at_most("income", 41250.0)?.and(Query::between("age", 18.0, 64.5)?)?);
/// assert_eq!(query.to_string(), "income <= 41250 & 18 < age <= 64.5");
/// assert!("age about 40".parse::<Query>().is_err());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    conditions: Vec<Condition>,
}

impl Query {
    /// `x <= to`.
    ///
    /// # Errors
    /// A bound that is NaN.
    pub fn at_most(column: impl Into<String>, to: f64) -> Result<Self> {
        Self::between(column, f64::NEG_INFINITY, to)
    }

    /// `above < x <= to`. Infinite bounds stand for none.
    ///
    /// # Errors
    /// A lower bound that is not below the upper one.
    pub fn between(column: impl Into<String>, above: f64, to: f64) -> Result<Self> {
        Ok(Self { conditions: vec![Condition::new(column, above, to)?] })
    }

    /// The records that meet the conditions of both queries.
    ///
    /// # Errors
    /// A column that both are about.
    pub fn and(mut self, other: Self) -> Result<Self> {
        for condition in other.conditions {
            if self.conditions.iter().any(|own| own.column == condition.column) {
                let place = "the conditions of a query".to_owned();
                return Err(
                    CommonError::DuplicateAttribute { name: condition.column, place }.into()
                );
            }
            self.conditions.push(condition);
        }
        Ok(self)
    }

    /// The query about cuts that holds for the same cuts of each column: each bound moves down to the last cut at or below
    /// it. `None` if a condition holds for no cut, as both bounds are between the same two.
    pub(super) fn nearest<'c>(
        &self,
        cuts: impl Fn(&str) -> Result<&'c Cuts>,
    ) -> Result<Option<Self>> {
        let mut conditions = Vec::with_capacity(self.conditions.len());
        for condition in &self.conditions {
            let points = cuts(&condition.column)?.points();
            let below = |bound: f64| match points.partition_point(|point| *point <= bound) {
                _ if bound == f64::INFINITY => bound,
                0 => f64::NEG_INFINITY,
                after => points[after - 1],
            };
            let (above, to) = (below(condition.above), below(condition.to));
            if above >= to {
                return Ok(None);
            }
            conditions.push(Condition { column: condition.column.clone(), above, to });
        }
        Ok(Some(Self { conditions }))
    }

    /// The conditions, at least one, each about another column.
    pub fn conditions(&self) -> &[Condition] {
        &self.conditions
    }
}

impl FromStr for Query {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let one = |text: &str| -> Result<Self> { Ok(Self { conditions: vec![text.parse()?] }) };
        let mut parts = text.split('&');
        let first = one(parts.next().unwrap_or_default())?;
        parts.try_fold(first, |all, part| all.and(one(part)?))
    }
}

impl FromStr for Condition {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let parts = pieces(text);
        let found = match &parts[..] {
            [column, sign, bound] if number(column).is_none() => number(bound).and_then(|bound| {
                let (none, all) = (f64::NEG_INFINITY, f64::INFINITY);
                match *sign {
                    "<=" => Some((*column, none, bound)),
                    "<" => Some((*column, none, bound.next_down())),
                    ">" => Some((*column, bound, all)),
                    ">=" => Some((*column, bound.next_down(), all)),
                    _ => None,
                }
            }),
            [low, first, column, second, high] if number(column).is_none() => {
                let low = number(low).and_then(|low| match *first {
                    "<" => Some(low),
                    "<=" => Some(low.next_down()),
                    _ => None,
                });
                let high = number(high).and_then(|high| match *second {
                    "<=" => Some(high),
                    "<" => Some(high.next_down()),
                    _ => None,
                });
                low.zip(high).map(|(low, high)| (*column, low, high))
            }
            _ => None,
        };
        let (column, above, to) = found.ok_or_else(|| {
            let expected = "'COLUMN <= NUMBER', 'COLUMN > NUMBER' or 'NUMBER < COLUMN <= NUMBER'";
            Error::invalid_specification("query", format!("'{}'", text.escape_debug()), expected)
        })?;
        Self::new(column, above, to)
    }
}

/// A text, cut before and after every sign of comparison.
fn pieces(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.find(['<', '>']) {
        let length = if rest[at + 1..].starts_with('=') { 2 } else { 1 };
        parts.extend([rest[..at].trim(), &rest[at..at + length]]);
        rest = &rest[at + length..];
    }
    parts.push(rest.trim());
    // `=>` and `=<` are no signs.
    let is_wrong = |part: &&str| part.is_empty() || part.len() > 2 && part.ends_with('=');
    if parts.iter().any(is_wrong) { Vec::new() } else { parts }
}

fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite())
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { column, above, to } = self;
        match (above.is_finite(), to.is_finite()) {
            (false, _) => write!(f, "{column} <= {to}"),
            (true, true) => write!(f, "{above} < {column} <= {to}"),
            (true, false) => write!(f, "{column} > {above}"),
        }
    }
}

impl fmt::Display for Query {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, condition) in self.conditions.iter().enumerate() {
            let joint = if place == 0 { "" } else { " & " };
            write!(f, "{joint}{condition}")?;
        }
        Ok(())
    }
}
