//! One table in two: public records and private ones.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::Dataset;
use crate::domain::Domain;
use crate::error::{Error, Result};
use crate::evaluation::WorkloadError;
use crate::query::Workload;

/// The first size that is tried for a target of the public error, in records.
const FIRST_SIZE: usize = 32;

/// Which records of a table are public; the others are private. In files, a table of named members:
///
/// ```
/// use jointly::experiment::{Sample, SampleSize, Split};
/// let split: Split = serde_json::from_str(r#"{"public_fraction": 0.01}"#)?;
/// let size = SampleSize::Fraction(0.01);
/// assert_eq!(split, Split::Sample(Sample { size, strata: None, seed: 0 }));
/// assert!(serde_json::from_str::<Split>(r#"{"public_fraction": 1.01}"#).is_err());
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "RawSplit", into = "RawSplit")]
pub enum Split {
    /// `{ every = N }`: records 0, N, 2 N, ... are public; N is at least 2.
    Every(usize),
    /// `{ attribute = NAME, codes = [CODE, ...] }`: records with one of these codes are public.
    Values {
        /// The attribute's name.
        attribute: String,
        /// Its codes, at least one.
        codes: Vec<u32>,
    },
    /// `{ public_fraction = SHARE }` or `{ public_error = ERROR }`: a random sample is public.
    Sample(Sample),
}

/// A random sample of public records, drawn without replacement. The seed is its own and not one of the runs', so that
/// all runs have the same tables. A smaller sample of the same seed without strata is part of a larger one.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its number of records.
    pub size: SampleSize,
    /// `stratify`, `shares`: the attribute that it is stratified on, if any.
    pub strata: Option<Strata>,
    /// `seed`: the seed of the draw; 0 if not given.
    pub seed: u64,
}

/// The number of records of a sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SampleSize {
    /// `public_fraction`: this share of all records, rounded; strictly between 0 and 1. At least one record is public,
    /// and at least one private.
    Fraction(f64),
    /// `public_error`: the smallest of 32, 64, 128, ... records, and of half of all records, whose workload error
    /// against the private rest is at most this. Strictly between 0 and 2.
    Error(f64),
}

/// A stratified sample: every code of an attribute has its part, as exactly as whole records allow.
#[derive(Clone, Debug, PartialEq)]
pub struct Strata {
    /// `stratify`: the attribute's name.
    pub attribute: String,
    /// `shares`: the part of each code, in proportion; at least 0. Empty: the parts that the codes have in the table.
    pub shares: Vec<f64>,
}

/// A split as written in files.
#[derive(Clone, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { public_fraction = 0.01 }")]
struct RawSplit {
    #[serde(skip_serializing_if = "Option::is_none")]
    every: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attribute: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codes: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_fraction: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    public_error: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stratify: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    shares: Option<Vec<f64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

/// All forms, for messages.
const FORMS: &str = "one of { every = N }, { attribute = NAME, codes = [CODE, ...] }, { public_fraction = SHARE } \
                     and { public_error = ERROR }; stratify, shares and seed are for the last two";

fn wrong<T>(found: impl Into<String>, expected: impl Into<String>) -> Result<T> {
    Err(Error::invalid_specification("split", found, expected))
}

impl TryFrom<RawSplit> for Split {
    type Error = Error;

    fn try_from(written: RawSplit) -> Result<Self> {
        let RawSplit { every, attribute, codes, public_fraction, public_error, .. } = &written;
        let is_sampled = written.stratify.is_some() || written.seed.is_some();
        let is_sampled = is_sampled || written.shares.is_some();
        match (every, attribute, codes, public_fraction, public_error) {
            (Some(every), None, None, None, None) if !is_sampled => match every {
                0 | 1 => wrong("a split that leaves no record private", "'every' above 1"),
                _ => Ok(Self::Every(*every)),
            },
            (None, Some(attribute), Some(codes), None, None) if !is_sampled => {
                if codes.is_empty() {
                    return wrong("no code", "'codes' with at least one");
                }
                Ok(Self::Values { attribute: attribute.clone(), codes: codes.clone() })
            }
            (None, None, None, Some(share), None) => match *share {
                share if share > 0.0 && share < 1.0 => written.sample(SampleSize::Fraction(share)),
                _ => {
                    wrong(format!("public_fraction is {share}"), "a share strictly between 0 and 1")
                }
            },
            (None, None, None, None, Some(error)) => match *error {
                error if error > 0.0 && error < 2.0 => written.sample(SampleSize::Error(error)),
                _ => wrong(
                    format!("public_error is {error}"),
                    "a workload error strictly between 0 and 2",
                ),
            },
            _ => wrong("no form or several", FORMS),
        }
    }
}

impl RawSplit {
    fn sample(self, size: SampleSize) -> Result<Split> {
        let shares = self.shares.unwrap_or_default();
        let is_share = |share: &f64| *share >= 0.0 && share.is_finite();
        if !shares.iter().all(is_share) || (!shares.is_empty() && shares.iter().sum::<f64>() <= 0.0)
        {
            return wrong(
                format!("shares are {shares:?}"),
                "finite numbers of at least 0, not all 0",
            );
        }
        let strata = match self.stratify {
            Some(attribute) => Some(Strata { attribute, shares }),
            None if shares.is_empty() => None,
            None => return wrong("shares of no attribute", "'stratify' with its name"),
        };
        Ok(Split::Sample(Sample { size, strata, seed: self.seed.unwrap_or(0) }))
    }
}

impl From<Split> for RawSplit {
    fn from(split: Split) -> Self {
        match split {
            Split::Every(every) => Self { every: Some(every), ..Self::default() },
            Split::Values { attribute, codes } => {
                Self { attribute: Some(attribute), codes: Some(codes), ..Self::default() }
            }
            Split::Sample(Sample { size, strata, seed }) => {
                let (public_fraction, public_error) = match size {
                    SampleSize::Fraction(share) => (Some(share), None),
                    SampleSize::Error(error) => (None, Some(error)),
                };
                let shares = strata.as_ref().map(|strata| strata.shares.clone());
                Self {
                    public_fraction,
                    public_error,
                    shares: shares.filter(|shares| !shares.is_empty()),
                    stratify: strata.map(|strata| strata.attribute),
                    seed: Some(seed),
                    ..Self::default()
                }
            }
        }
    }
}

impl Split {
    /// Checks the split against the attributes of a table.
    ///
    /// `place`: names the table or data set in the message.
    ///
    /// # Errors
    /// An attribute that the domain lacks, a code that it has not, or not one share for each of its codes.
    pub fn check(&self, domain: &Domain, place: &str) -> Result<()> {
        let place = format!("{place}, split");
        let (name, shares, codes): (_, &[f64], &[u32]) = match self {
            Self::Every(_) | Self::Sample(Sample { strata: None, .. }) => return Ok(()),
            Self::Values { attribute, codes } => (attribute, &[], codes),
            Self::Sample(Sample { strata: Some(strata), .. }) => {
                (&strata.attribute, &strata.shares, &[])
            }
        };
        let Some(attribute) = domain.position(name) else {
            return Err(domain.unknown(name, place).into());
        };
        let values = domain.cardinality(attribute);
        let wrong = |found, expected| Err(Error::invalid_specification(&place, found, expected));
        if let Some(code) = codes.iter().find(|code| **code as usize >= values) {
            let expected = format!("codes from 0 to {}", values.saturating_sub(1));
            return wrong(format!("code {code} of '{name}'"), expected);
        }
        if !shares.is_empty() && shares.len() != values {
            let found = format!("{} shares for '{name}'", shares.len());
            return wrong(found, format!("{values}, one for each of its codes"));
        }
        Ok(())
    }

    /// The private and the public records, each in the order of the table.
    ///
    /// `workload`: the marginals of the public error, which only [`SampleSize::Error`] uses.
    ///
    /// # Errors
    /// As [`check`](Self::check); too few records of a code for its share; a public error that half of the records do
    /// not reach; marginals too large to count.
    pub fn apply(&self, table: &Dataset, workload: &Workload) -> Result<[Dataset; 2]> {
        self.check(table.domain(), "the table")?;
        match self {
            Self::Every(every) => {
                Ok(parts(table, |record| (record as usize).is_multiple_of(*every)))
            }
            Self::Values { attribute, codes } => {
                let column = codes_of(table, attribute)?;
                Ok(parts(table, |record| codes.contains(&column[record as usize])))
            }
            Self::Sample(sample) => sample.apply(table, workload),
        }
    }
}

/// The codes of an attribute, record by record.
fn codes_of(table: &Dataset, name: &str) -> Result<Vec<u32>> {
    let domain = table.domain();
    let column = domain.position(name).and_then(|attribute| table.column(attribute));
    Ok(column.ok_or_else(|| domain.unknown(name, "the split"))?.iter().collect())
}

/// The private and the public records of a table.
fn parts(table: &Dataset, is_public: impl Fn(u32) -> bool) -> [Dataset; 2] {
    let records = (0_u32..).take(table.records());
    let (public, private): (Vec<u32>, Vec<u32>) = records.partition(|record| is_public(*record));
    [table.take(&private), table.take(&public)]
}

impl Sample {
    fn apply(&self, table: &Dataset, workload: &Workload) -> Result<[Dataset; 2]> {
        let records = table.records();
        if records < 2 {
            return wrong(format!("a table of {records} records"), "at least 2 to split");
        }
        let target = match self.size {
            SampleSize::Fraction(share) => {
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a share of the records"
                )]
                let wished = (share * records as f64).round() as usize;
                return self.of_size(table, wished.clamp(1, records - 1));
            }
            SampleSize::Error(target) => target,
        };
        let most = records / 2;
        let mut size = FIRST_SIZE.min(most);
        loop {
            let parts = self.of_size(table, size)?;
            let error = WorkloadError::between(&parts[0], &parts[1], workload, 0)?.mean_l1;
            if error <= target {
                return Ok(parts);
            }
            if size == most {
                let found = format!("public_error is {target}");
                let expected =
                    format!("at least {error:.4}, the error of {most} records, half of all");
                return wrong(found, expected);
            }
            size = (2 * size).min(most);
        }
    }

    /// The parts of a table for a sample of `size` records, at most as many as the table has.
    fn of_size(&self, table: &Dataset, size: usize) -> Result<[Dataset; 2]> {
        let digest = Sha256::digest(format!("split, {}", self.seed));
        let mut order: Vec<u32> = (0_u32..).take(table.records()).collect();
        order.shuffle(&mut ChaCha20Rng::from_seed(digest.into()));
        let strata = match &self.strata {
            Some(strata) => codes_of(table, &strata.attribute)?,
            None => vec![0; table.records()],
        };
        let mut left = self.quotas(&strata, size)?;
        let mut is_public = vec![false; table.records()];
        for record in order {
            let quota = &mut left[strata[record as usize] as usize];
            is_public[record as usize] = *quota > 0;
            *quota = quota.saturating_sub(1);
        }
        Ok(parts(table, |record| is_public[record as usize]))
    }

    /// How many records of each stratum are drawn: the whole parts first, then one more for the largest fractions.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "parts of the number of records"
    )]
    fn quotas(&self, strata: &[u32], size: usize) -> Result<Vec<usize>> {
        let known = self.strata.as_ref().map_or(&[][..], |strata| &strata.shares);
        let last = strata.iter().max().map_or(0, |code| *code as usize);
        let mut there = vec![0_usize; known.len().max(last + 1)];
        strata.iter().for_each(|code| there[*code as usize] += 1);
        let shares: Vec<f64> = match known {
            [] => there.iter().map(|records| *records as f64).collect(),
            given => given.to_vec(),
        };
        let sum: f64 = shares.iter().sum();
        let exact: Vec<f64> = shares.iter().map(|share| size as f64 * share / sum).collect();
        let mut quotas: Vec<usize> = exact.iter().map(|part| part.floor() as usize).collect();
        let mut order: Vec<usize> = (0..quotas.len()).collect();
        order.sort_by(|a, b| exact[*b].fract().total_cmp(&exact[*a].fract()).then(a.cmp(b)));
        let rest = size.saturating_sub(quotas.iter().sum());
        order.iter().take(rest).for_each(|stratum| quotas[*stratum] += 1);
        match (0..quotas.len()).find(|stratum| quotas[*stratum] > there[*stratum]) {
            None => Ok(quotas),
            Some(stratum) => wrong(
                format!("a sample of {} records of code {stratum}", quotas[stratum]),
                format!("at most {}, which the table has", there[stratum]),
            ),
        }
    }
}

#[cfg(test)]
mod tests;
