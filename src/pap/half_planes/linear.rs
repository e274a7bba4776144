//! Questions about weighted sums of columns.

use std::fmt;
use std::str::FromStr;

use crate::data::HalfPlane;
use crate::error::{CommonError, Error, Result};

/// The records whose weighted sum of one or two columns is at most, or at least, a number.
///
/// A text has the form `x + 2 * y <= 10`, with `<`, `>` or `>=` too. Terms are separated by ` + ` or ` - ` with blanks, so that
/// names may have these signs; a weight stands before its column with `*`. `< t` is `<= t'` for the largest `f64` t' below t.
///
/// ```
/// use jointly::pap::Linear;
/// let query: Linear = "age - 0.5 * capital-gain > 3".parse()?;
/// assert_eq!(query.to_string(), "-1 * age + 0.5 * capital-gain <= -3.0000000000000004");
/// assert!("age about 40".parse::<Linear>().is_err());
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Linear {
    /// Weights, each with another column.
    terms: Vec<(f64, String)>,
    most: f64,
}

impl Linear {
    /// `Σ weight · column <= most`.
    ///
    /// # Errors
    /// No column or more than two, one twice, or a number that is not finite.
    pub fn new(terms: impl IntoIterator<Item = (f64, String)>, most: f64) -> Result<Self> {
        let terms: Vec<(f64, String)> = terms.into_iter().collect();
        if let [(_, one), (_, other)] = &terms[..]
            && one == other
        {
            let (name, place) = (one.clone(), "the sum of a query".to_owned());
            return Err(CommonError::DuplicateAttribute { name, place }.into());
        }
        let is_finite = terms.iter().all(|(weight, _)| weight.is_finite()) && most.is_finite();
        if !matches!(terms.len(), 1 | 2) || !is_finite {
            let found = format!("{} columns, at most {most}", terms.len());
            let expected = "one or two columns, with finite numbers";
            return Err(Error::invalid_specification("query", found, expected));
        }
        Ok(Self { terms, most })
    }

    /// The half-plane of two columns.
    ///
    /// # Errors
    /// Another column, or only weights of 0.
    pub(in crate::pap) fn half_plane(&self, columns: &[String; 2]) -> Result<HalfPlane> {
        let mut weights = [0.0; 2];
        for (weight, name) in &self.terms {
            let place = columns.iter().position(|column| column == name);
            let place = place.ok_or_else(|| CommonError::UnknownAttribute {
                name: name.clone(),
                place: "the query".to_owned(),
                known: columns.join(", "),
            })?;
            weights[place] = *weight;
        }
        HalfPlane::new(weights[0], weights[1], self.most)
    }
}

impl FromStr for Linear {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let wrong = || {
            let found = format!("'{}'", text.escape_debug());
            let expected =
                "'COLUMN + NUMBER * COLUMN <= NUMBER', also with ' - ', '<', '>' or '>='";
            Error::invalid_specification("query", found, expected)
        };
        let at = text.find(['<', '>']).ok_or_else(wrong)?;
        let (sum, rest) = text.split_at(at);
        let is_above = rest.starts_with('>');
        let (is_strict, bound) = match rest[1..].strip_prefix('=') {
            Some(bound) => (false, bound),
            None => (true, &rest[1..]),
        };
        let bound: f64 = bound.trim().parse().map_err(|_| wrong())?;
        let sign = if is_above { -1.0 } else { 1.0 };
        let most = if is_strict { (sign * bound).next_down() } else { sign * bound };
        let terms = terms(sum).ok_or_else(wrong)?;
        Self::new(terms.into_iter().map(|(weight, name)| (sign * weight, name)), most)
    }
}

/// The terms of a sum: `2 * x - y`.
fn terms(text: &str) -> Option<Vec<(f64, String)>> {
    let mut found = Vec::new();
    let (mut rest, mut sign) = (text.trim(), 1.0);
    loop {
        let next = [" + ", " - "].into_iter().filter_map(|sign| rest.find(sign)).min();
        let term = next.map_or(rest, |at| &rest[..at]).trim();
        let (weight, name) = match term.split_once('*') {
            Some((weight, name)) => (weight.trim().parse().ok()?, name.trim()),
            None => match term.strip_prefix('-') {
                Some(name) => (-1.0, name.trim()),
                None => (1.0, term),
            },
        };
        if name.is_empty() || name.parse::<f64>().is_ok() {
            return None;
        }
        found.push((sign * weight, name.to_owned()));
        let Some(at) = next else { return Some(found) };
        sign = if rest[at..].starts_with(" - ") { -1.0 } else { 1.0 };
        rest = &rest[at + 3..];
    }
}

impl fmt::Display for Linear {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, (weight, name)) in self.terms.iter().enumerate() {
            let joint = if place == 0 { "" } else { " + " };
            write!(f, "{joint}{weight} * {name}")?;
        }
        write!(f, " <= {}", self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::Linear;

    #[test]
    fn texts_are_read_and_written() {
        for (text, written) in [
            ("x <= 3", "1 * x <= 3"),
            ("-x + 2.5 * y >= 1", "1 * x + -2.5 * y <= -1"),
            ("-1e3 * a-b - c+d < 0.5", "-1000 * a-b + -1 * c+d <= 0.49999999999999994"),
        ] {
            let query: Linear = text.parse().unwrap();
            assert_eq!(query.to_string(), written);
            assert_eq!(written.parse::<Linear>().unwrap(), query, "{written}");
        }
        for wrong in [
            "",
            "x",
            "x <= y",
            "x + 3 <= 4",
            "<= 4",
            "x * 2 <= 4",
            "x + x <= 1",
            "x = 3",
            "a + b + c <= 1",
            "x <= inf",
        ] {
            assert!(wrong.parse::<Linear>().is_err(), "{wrong}");
        }
        let columns = ["x", "y"].map(str::to_owned);
        let half = "2 * y <= 3".parse::<Linear>().unwrap().half_plane(&columns).unwrap();
        assert_eq!((half.direction(), half.bound().to_bits()), ([0.0, 2.0], 3.0_f64.to_bits()));
        assert!("z <= 3".parse::<Linear>().unwrap().half_plane(&columns).is_err());
        assert!("0 * x <= 3".parse::<Linear>().unwrap().half_plane(&columns).is_err());
    }
}
