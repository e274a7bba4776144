//! What is known of records: values that some attributes are among.

use std::collections::BTreeMap;

use crate::domain::{Bins, Clique, Domain, Kind, NumberRange, Schema, SchemaColumn, days, texts};
use crate::error::{CommonError, Error, Result};

/// Attributes that are known to have one of some values. A record agrees with the evidence if all of them do.
///
/// A range of numbers may cut a bin. A model knows no more than bins, and inside them numbers are spread as its schema draws
/// them ([`Bins::pieces_of`]), independently of everything else: so a share of the records of that bin agrees.
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
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    /// By attribute: the share of the records with each code that agree.
    shares: BTreeMap<usize, Vec<f64>>,
    /// The numbers that agree, for each attribute of which a bin is cut.
    cuts: BTreeMap<String, Cut>,
}

/// The numbers of an attribute that agree, where a bin is cut.
#[derive(Clone, Debug, PartialEq)]
struct Cut {
    numbers: Vec<NumberRange>,
    /// The bins that are cut, for readers.
    bins: Vec<String>,
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
        let mut evidence = Self::default();
        for (name, codes) in known {
            let name = name.as_ref();
            let attribute = domain.clique(&[name])?.attributes()[0];
            let mut shares = vec![0.0; domain.cardinality(attribute)];
            for code in &codes {
                *shares.get_mut(*code as usize).ok_or_else(|| {
                    let expected = format!("a code below {}", domain.cardinality(attribute));
                    Error::invalid_specification(place(name), code.to_string(), expected)
                })? = 1.0;
            }
            if codes.is_empty() {
                return Err(Error::invalid_specification(place(name), "no code", "at least one"));
            }
            evidence.insert(name, attribute, shares)?;
        }
        Ok(evidence)
    }

    /// Evidence by attributes, each once, with the share of the records with each code that agree.
    pub(crate) fn of_shares(shares: impl IntoIterator<Item = (usize, Vec<f64>)>) -> Self {
        Self { shares: shares.into_iter().collect(), cuts: BTreeMap::new() }
    }

    fn insert(&mut self, name: &str, attribute: usize, shares: Vec<f64>) -> Result<()> {
        if self.shares.insert(attribute, shares).is_some() {
            let place = "the evidence".into();
            return Err(CommonError::DuplicateAttribute { name: name.into(), place }.into());
        }
        Ok(())
    }

    /// Reads evidence such as `SEX=2, AGEP=30..39, MAR=1|2, PINCP=missing`, separated by commas: values as in the table.
    /// A range of whole numbers or dates includes both ends, one of real numbers only the lower end. `..17` and `65..` are open
    /// ranges.
    ///
    /// # Errors
    /// Another form, an attribute that the schema does not have or that occurs twice, a value that is not in its column,
    /// or numbers that no record has.
    ///
    /// ```
    /// use jointly::{domain::Schema, model::{Evidence, Model, WeightedSupport}};
    /// let schema = r#"{"columns": [{"name": "age", "kind": "numeric", "edges": [0, 10, 20]}]}"#;
    /// let schema = Schema::from_json(schema, "schema.json")?;
    /// let model = Model::from(WeightedSupport::all_cells(&schema.domain(), 20.0)?);
    /// // Ages of 15 to 19 are half of the second bin.
    /// assert_eq!(model.given(&Evidence::parse("age=15..19", &schema)?)?.total(), 5.0);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn parse(text: &str, schema: &Schema) -> Result<Self> {
        let domain = schema.domain();
        let mut evidence = Self::default();
        for part in text.split(',').map(str::trim).filter(|part| !part.is_empty()) {
            let (name, values) = part.split_once('=').ok_or_else(|| {
                let found = format!("'{part}'");
                Error::invalid_specification("the evidence", found, "NAME=VALUE, NAME=FROM..TO")
            })?;
            let name = name.trim();
            let column = schema.attributes().find(|column| column.name == name);
            let column = column.ok_or_else(|| domain.unknown(name, "the evidence"))?;
            let mut values_of = Values { column, schema, codes: Vec::new(), numbers: Vec::new() };
            for value in values.split('|').map(str::trim) {
                values_of.read(value)?;
            }
            let (shares, cut) = values_of.shares();
            let attribute = domain.clique(&[name])?.attributes()[0];
            evidence.insert(name, attribute, shares)?;
            evidence.cuts.extend(cut.map(|cut| (name.to_owned(), cut)));
        }
        Ok(evidence)
    }

    /// As [`parse`](Self::parse), of whole bins only, for what is said of codes.
    ///
    /// # Errors
    /// As [`parse`](Self::parse), or a range that cuts a bin.
    pub fn of_whole_bins(text: &str, schema: &Schema) -> Result<Self> {
        let evidence = Self::parse(text, schema)?;
        match evidence.cuts.first_key_value() {
            None => Ok(evidence),
            Some((name, cut)) => Err(Error::invalid_specification(
                place(name),
                format!("'{}', which cuts the bin {}", text.trim(), cut.bins.join(" and the bin ")),
                "whole bins of the schema",
            )),
        }
    }

    /// The bins that it cuts, each with its attribute, such as `AGEP: 17 to 19`.
    pub fn cut_bins(&self) -> Vec<String> {
        let of = |(name, cut): (&String, &Cut)| -> Vec<String> {
            cut.bins.iter().map(|bin| format!("{name}: {bin}")).collect()
        };
        self.cuts.iter().flat_map(of).collect()
    }

    /// The attributes that it is about.
    pub fn attributes(&self) -> Clique {
        Clique::new(self.shares.keys().copied())
    }

    /// The schema of the records that agree: from a bin that the evidence cuts, only numbers that agree are drawn.
    ///
    /// # Errors
    /// None in practice: columns that cannot be coded.
    pub fn narrowed(&self, schema: &Schema) -> Result<Schema> {
        let kind = |column: &SchemaColumn| {
            let numbers = &self.cuts.get(&column.name)?.numbers;
            match &column.kind {
                Some(Kind::Numeric(bins)) => Some(Kind::Numeric(bins.narrowed(numbers))),
                Some(Kind::Date(bins)) => Some(Kind::Date(bins.narrowed(numbers))),
                _ => None,
            }
        };
        schema.with_kinds("the evidence", schema.attributes().map(kind).collect())
    }

    /// Attribute by attribute, the share of the records with each of its codes that agree.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (usize, &[f64])> + '_ {
        self.shares.iter().map(|(attribute, shares)| (*attribute, shares.as_slice()))
    }

    /// The codes that records which agree may have of an attribute; `None` if it is about others.
    pub(crate) fn possible(&self, attribute: usize) -> Option<Vec<u32>> {
        let (_, shares) = self.iter().find(|(own, _)| *own == attribute)?;
        let possible = (0_u32..).zip(shares).filter(|(_, share)| **share > 0.0);
        Some(possible.map(|(code, _)| code).collect())
    }

    /// The share of the records with some codes that agree.
    pub(crate) fn share(&self, code: impl Fn(usize) -> u32) -> f64 {
        let of_attribute = |(attribute, shares): (usize, &[f64])| {
            shares.get(code(attribute) as usize).copied().unwrap_or(0.0)
        };
        self.iter().map(of_attribute).product()
    }

    /// Whether records with some codes can agree.
    pub(crate) fn agrees(&self, code: impl Fn(usize) -> u32) -> bool {
        self.share(code) > 0.0
    }
}

/// The error of evidence that no record of a model agrees with.
pub(crate) fn impossible() -> Error {
    CommonError::EmptyModel { reason: "no record agrees with the evidence".into() }.into()
}

fn place(name: &str) -> String {
    format!("the evidence on '{name}'")
}

/// The values of a column that agree.
struct Values<'s> {
    column: &'s SchemaColumn,
    schema: &'s Schema,
    codes: Vec<u32>,
    numbers: Vec<NumberRange>,
}

impl Values<'_> {
    /// Reads a value or a range.
    fn read(&mut self, value: &str) -> Result<()> {
        let wrong = |expected: String| {
            let place = place(&self.column.name);
            Err(Error::invalid_specification(place, format!("'{value}'"), expected))
        };
        if let Some(Kind::Categorical { codes, .. }) = &self.column.kind
            && let Some(code) = (0..).zip(codes).find(|(_, code)| *code == value)
        {
            self.codes.push(code.0);
            return Ok(());
        }
        if let Some(Kind::Categorical { codes, groups, .. }) = &self.column.kind
            && let Some((_, code)) = texts(codes, groups).find(|(text, _)| *text == value)
        {
            let name = codes.get(code as usize).map_or("", String::as_str);
            return wrong(format!("'{name}', the group that this value belongs to"));
        }
        if let Some(code) = self.column.na_code()
            && (value == "missing" || value == self.schema.na_token())
        {
            self.codes.push(code);
            return Ok(());
        }
        let (from, to) = match value.split_once("..") {
            Some((from, to)) => (from.trim(), to.trim()),
            None => (value, value),
        };
        let range = match &self.column.kind {
            Some(Kind::Categorical { codes, .. }) => {
                let some: Vec<&str> = codes.iter().take(8).map(String::as_str).collect();
                let more = if codes.len() > some.len() { ", ..." } else { "" };
                return wrong(format!("one of {}{more}", some.join(", ")));
            }
            Some(Kind::Numeric(bins)) => {
                let number = |text: &str| {
                    let plain = text.parse().ok().filter(|x: &f64| x.is_finite());
                    plain.or_else(|| bins.notation()?.read(text))
                };
                range(bins, from, to, number)
            }
            Some(Kind::Date(bins)) => {
                let day =
                    |text: &str| days(text).map(f64::from).or_else(|| bins.notation()?.read(text));
                range(bins, from, to, day)
            }
            Some(Kind::Coded { size }) => {
                let end = |text: &str, open: u32| {
                    if text.is_empty() { Some(open) } else { text.parse().ok() }
                };
                match (end(from, 0), end(to, size.saturating_sub(1))) {
                    (Some(from), Some(to)) if from <= to && to < *size => {
                        self.codes.extend(from..=to);
                        return Ok(());
                    }
                    _ => return wrong(format!("codes from 0 to {}", size.saturating_sub(1))),
                }
            }
            None => return wrong("nothing".into()),
        };
        match range {
            Ok(range) => self.numbers.push(range),
            Err(expected) => return wrong(expected),
        }
        Ok(())
    }

    /// The share of each code's records that agree, and the numbers if a bin is cut.
    fn shares(self) -> (Vec<f64>, Option<Cut>) {
        let numbers = NumberRange::joined(self.numbers);
        let mut shares = vec![0.0; self.column.cardinality() as usize];
        if let Some(Kind::Numeric(bins) | Kind::Date(bins)) = &self.column.kind {
            let bins = (0..bins.count()).map(|bin| bins.share_within(bin, &numbers));
            shares.iter_mut().zip(bins).for_each(|(share, own)| *share = own);
        }
        self.codes.iter().for_each(|code| shares[*code as usize] = 1.0);
        let cut = (0..).zip(&shares).filter(|(_, share)| **share > 0.0 && **share < 1.0);
        let bins: Vec<String> = cut.map(|(code, _)| self.column.value_name(code)).collect();
        let cut = (!bins.is_empty()).then_some(Cut { numbers, bins });
        (shares, cut)
    }
}

/// The numbers of a range, or what was expected. An empty end is open.
fn range(
    bins: &Bins,
    from: &str,
    to: &str,
    number: impl Fn(&str) -> Option<f64>,
) -> std::result::Result<NumberRange, String> {
    let parse = |text: &str, open: f64| {
        if text.is_empty() { Ok(open) } else { number(text).ok_or("a number or a range") }
    };
    let low = parse(from, f64::NEG_INFINITY)?;
    let below = match parse(to, f64::INFINITY)? {
        // The end belongs to a range of whole numbers, and to one that is a single number.
        high if bins.is_integer() => high + 1.0,
        high if from == to => high.next_up(),
        high => high,
    };
    let range = NumberRange { from: low, below };
    if (0..bins.count()).any(|bin| bins.share_within(bin, &[range]) > 0.0) {
        return Ok(range);
    }
    let edges = bins.edges();
    let (first, last) = (edges[0], edges[edges.len() - 1]);
    if low >= last || below <= first || low >= below {
        return Err(format!("numbers from {first} to below {last}"));
    }
    Err("numbers that records are drawn with: inside this bin, the schema's 'draw' has none of them".into())
}

#[cfg(test)]
mod tests;
