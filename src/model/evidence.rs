//! What is known of records: values that some attributes are among.

use std::collections::BTreeMap;

use crate::domain::{Bins, Clique, Domain, Kind, Schema, SchemaColumn, days, texts};
use crate::error::{CommonError, Error, Result};

/// Attributes that are known to have one of some values. A record agrees with the evidence if all of them do.
///
/// ```
/// use jointly::{domain::{Clique, Domain}, model::{Evidence, Model, WeightedSupport}};
/// let domain = Domain::new([("a", 2), ("b", 3)])?;
/// let model = Model::from(WeightedSupport::all_cells(&domain, 6.0)?);
/// let given = model.given(&Evidence::new(&domain, [("b", vec![0, 1])])?)?;
/// assert!((given.total() - 4.0).abs() < 1e-12);
/// assert_eq!(given.marginals(&[Clique::new([1])])?[0].values(), [2.0, 2.0, 0.0]);
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// By attribute: whether each code is possible.
    possible: BTreeMap<usize, Vec<bool>>,
}

impl Evidence {
    /// Evidence by the names of attributes and their possible codes.
    ///
    /// # Errors
    /// An attribute that the domain does not have or that occurs twice, no code, or one beyond the attribute's values.
    pub fn new<N: AsRef<str>>(
        domain: &Domain,
        known: impl IntoIterator<Item = (N, Vec<u32>)>,
    ) -> Result<Self> {
        let mut possible = BTreeMap::new();
        for (name, codes) in known {
            let name = name.as_ref();
            let attribute = domain.clique(&[name])?.attributes()[0];
            let mut flags = vec![false; domain.cardinality(attribute)];
            for code in &codes {
                *flags.get_mut(*code as usize).ok_or_else(|| {
                    let expected = format!("a code below {}", domain.cardinality(attribute));
                    Error::invalid_specification(place(name), code.to_string(), expected)
                })? = true;
            }
            if codes.is_empty() {
                return Err(Error::invalid_specification(place(name), "no code", "at least one"));
            }
            if possible.insert(attribute, flags).is_some() {
                let place = "the evidence".into();
                return Err(CommonError::DuplicateAttribute { name: name.into(), place }.into());
            }
        }
        Ok(Self { possible })
    }

    /// Reads evidence such as `SEX=2, AGEP=30..39, MAR=1|2, PINCP=missing`, separated by commas: values as in the table.
    /// A range of whole numbers or dates includes both ends, one of real numbers only the lower end; it must be made of
    /// whole bins, as the model knows no more than bins. `..17` and `65..` are open ranges.
    ///
    /// # Errors
    /// Another form, an attribute that the schema does not have or that occurs twice, a value that is not in its column,
    /// or a range that cuts a bin.
    pub fn parse(text: &str, schema: &Schema) -> Result<Self> {
        let domain = schema.domain();
        let mut known = Vec::new();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, values) = part.split_once('=').ok_or_else(|| {
                let found = format!("'{part}'");
                Error::invalid_specification("the evidence", found, "NAME=VALUE, NAME=FROM..TO")
            })?;
            let name = name.trim();
            let column = schema.attributes().find(|column| column.name == name);
            let column = column.ok_or_else(|| domain.unknown(name, "the evidence"))?;
            let mut codes = Vec::new();
            for value in values.split('|').map(str::trim) {
                codes.extend(codes_of(value, column, schema)?);
            }
            known.push((name, codes));
        }
        Self::new(&domain, known)
    }

    /// The attributes that it is about.
    pub fn attributes(&self) -> Clique {
        Clique::new(self.possible.keys().copied())
    }

    /// Attribute by attribute, with a flag for each of its codes: whether it is possible.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[bool])> + '_ {
        self.possible.iter().map(|(attribute, flags)| (*attribute, flags.as_slice()))
    }

    /// Whether a record agrees, by its codes.
    pub(crate) fn agrees(&self, code: impl Fn(usize) -> u32) -> bool {
        let is_possible = |(attribute, flags): (usize, &[bool])| {
            flags.get(code(attribute) as usize) == Some(&true)
        };
        self.iter().all(is_possible)
    }
}

/// The error of evidence that no record of a model agrees with.
pub(crate) fn impossible() -> Error {
    CommonError::EmptyModel { reason: "no record agrees with the evidence".into() }.into()
}

fn place(name: &str) -> String {
    format!("the evidence on '{name}'")
}

/// The codes of a value or a range in a column.
fn codes_of(value: &str, column: &SchemaColumn, schema: &Schema) -> Result<Vec<u32>> {
    let wrong = |expected: String| {
        Err(Error::invalid_specification(place(&column.name), format!("'{value}'"), expected))
    };
    if let Some(Kind::Categorical { codes, .. }) = &column.kind
        && let Some(code) = (0..).zip(codes).find(|(_, code)| *code == value)
    {
        return Ok(vec![code.0]);
    }
    if let Some(Kind::Categorical { codes, groups, .. }) = &column.kind
        && let Some((_, code)) = texts(codes, groups).find(|(text, _)| *text == value)
    {
        let name = codes.get(code as usize).map_or("", String::as_str);
        return wrong(format!("'{name}', the group that this value belongs to"));
    }
    if let Some(code) = column.na_code()
        && (value == "missing" || value == schema.na_token())
    {
        return Ok(vec![code]);
    }
    let (from, to) = match value.split_once("..") {
        Some((from, to)) => (from.trim(), to.trim()),
        None => (value, value),
    };
    match &column.kind {
        Some(Kind::Categorical { codes, .. }) => {
            let some: Vec<&str> = codes.iter().take(8).map(String::as_str).collect();
            let more = if codes.len() > some.len() { ", ..." } else { "" };
            wrong(format!("one of {}{more}", some.join(", ")))
        }
        Some(Kind::Numeric(bins)) => {
            let number = |text: &str| text.parse().ok().filter(|x: &f64| x.is_finite());
            range(bins, from, to, number).or_else(wrong)
        }
        Some(Kind::Date(bins)) => {
            range(bins, from, to, |text| days(text).map(f64::from)).or_else(wrong)
        }
        Some(Kind::Coded { size }) => {
            let end = |text: &str, open: u32| {
                if text.is_empty() { Some(open) } else { text.parse().ok() }
            };
            match (end(from, 0), end(to, size.saturating_sub(1))) {
                (Some(from), Some(to)) if from <= to && to < *size => Ok((from..=to).collect()),
                _ => wrong(format!("codes from 0 to {}", size.saturating_sub(1))),
            }
        }
        None => wrong("nothing".into()),
    }
}

/// The bins of a range, or what was expected. An empty end is open.
fn range(
    bins: &Bins,
    from: &str,
    to: &str,
    number: impl Fn(&str) -> Option<f64>,
) -> std::result::Result<Vec<u32>, String> {
    let edges = bins.edges();
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    let parse = |text: &str, open: f64| {
        if text.is_empty() { Ok(open) } else { number(text).ok_or("a number or a range") }
    };
    let low = parse(from, first)?;
    let high = match parse(to, last)? {
        high if to.is_empty() => high,
        // The end belongs to a range of whole numbers.
        high if bins.is_integer() => high + 1.0,
        high => high,
    };
    let mut codes = Vec::new();
    for (code, ends) in (0..).zip(edges.windows(2)) {
        if ends[0] >= low && ends[1] <= high {
            codes.push(code);
        } else if ends[0] < high && low < ends[1] {
            let end = if bins.is_integer() { ends[1] - 1.0 } else { ends[1] };
            let of = if bins.is_integer() { "to" } else { "to below" };
            return Err(format!("whole bins; one goes from {} {of} {end}", ends[0]));
        }
    }
    if codes.is_empty() && low < last && high > first {
        return Err("a range from one edge of a bin to another".into());
    }
    if codes.is_empty() { Err(format!("numbers from {first} to below {last}")) } else { Ok(codes) }
}

#[cfg(test)]
mod tests;
