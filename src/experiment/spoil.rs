//! Public tables made worse on purpose, to measure mechanisms on public tables that mislead.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::data::{Column, Dataset};
use crate::error::{Error, Result};

/// What is done to every public table of a data set after it is read or split off. The result depends on that table
/// only.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(
    deny_unknown_fields,
    untagged,
    expecting = "expected \"reversed-codes\", \"shuffled-columns\", \"constant\", { swapped = [NAME, NAME] } or \
                 { records = N }"
)]
///
/// ```
/// use jointly::{Dataset, domain::Domain, experiment::Spoil};
/// let table = Dataset::from_rows(Domain::new([("a", 2), ("b", 2)])?, &[[0, 0], [1, 1]])?;
/// let spoiled: Spoil = serde_json::from_str(r#""shuffled-columns""#).unwrap();
/// assert_eq!(spoiled.apply(&table)?.records(), 2);
/// # Ok::<(), jointly::Error>(())
/// ```
pub enum Spoil {
    /// Changes the codes of every attribute.
    Codes(Codes),
    /// Two columns exchange their codes, scaled: code c of k₂ values becomes ⌊c k₁ / k₂⌋ of k₁ values.
    Swapped {
        /// The names of both.
        swapped: [String; 2],
    },
    /// Keeps this many records, drawn without replacement, in their order. Fewer are among more.
    Records {
        /// How many.
        records: usize,
    },
}

/// Changes of the codes of every attribute.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
pub enum Codes {
    /// Code c of k values becomes k - 1 - c.
    #[serde(rename = "reversed-codes")]
    Reversed,
    /// Every column is in a random order of its own. One-way marginals stay as they are.
    #[serde(rename = "shuffled-columns")]
    Shuffled,
    /// Every code becomes 0.
    #[serde(rename = "constant")]
    Constant,
}

impl Spoil {
    /// Refuses what is wrong whatever the data.
    ///
    /// `place`: names the data set in the message.
    ///
    /// # Errors
    /// A table of 0 records, or an attribute swapped with itself.
    pub fn check(&self, place: &str) -> Result<()> {
        let (found, expected) = match self {
            Self::Records { records: 0 } => ("a table of 0 records", "'records' above 0"),
            Self::Swapped { swapped: [one, other] } if one == other => {
                ("an attribute swapped with itself", "two different attributes")
            }
            _ => return Ok(()),
        };
        Err(Error::invalid_specification(place, found, expected))
    }

    /// The attributes that it names.
    pub fn names(&self) -> &[String] {
        match self {
            Self::Swapped { swapped } => swapped,
            _ => &[],
        }
    }

    /// The spoiled table.
    ///
    /// # Errors
    /// A swapped attribute that the table lacks.
    pub fn apply(&self, table: &Dataset) -> Result<Dataset> {
        let domain = table.domain();
        let sizes: Vec<u32> = domain.attributes().iter().map(|a| a.cardinality).collect();
        let mut columns: Vec<Vec<u32>> =
            table.columns().iter().map(|column| column.iter().collect()).collect();
        match self {
            Self::Codes(Codes::Reversed) => {
                for (column, size) in columns.iter_mut().zip(&sizes) {
                    column.iter_mut().for_each(|code| *code = size - 1 - *code);
                }
            }
            Self::Codes(Codes::Shuffled) => {
                for (column, attribute) in columns.iter_mut().zip(domain.attributes()) {
                    column.shuffle(&mut generator("shuffled-columns", &attribute.name));
                }
            }
            Self::Codes(Codes::Constant) => columns.iter_mut().for_each(|column| column.fill(0)),
            Self::Swapped { swapped: [one, other] } => {
                let place = |name: &str| {
                    domain.position(name).ok_or_else(|| domain.unknown(name, "spoil, public table"))
                };
                let (one, other) = (place(one)?, place(other)?);
                columns.swap(one, other);
                for (to, from) in [(one, other), (other, one)] {
                    let scaled = |code: u32| scaled(code, sizes[from], sizes[to]);
                    columns[to].iter_mut().for_each(|code| *code = scaled(*code));
                }
            }
            Self::Records { records } => {
                let mut kept: Vec<usize> = (0..table.records()).collect();
                kept.shuffle(&mut generator("records", ""));
                kept.truncate(*records);
                kept.sort_unstable();
                for column in &mut columns {
                    *column = kept.iter().map(|record| column[*record]).collect();
                }
            }
        }
        let columns = columns.into_iter().zip(&sizes);
        let columns = columns.map(|(codes, size)| Column::from_codes(codes, *size as usize));
        Ok(Dataset::new(domain.clone(), columns.collect::<jointly_pgm::Result<_>>()?)?)
    }
}

/// A code of `old` values in proportion among `new` values.
fn scaled(code: u32, old: u32, new: u32) -> u32 {
    // Below `new`, as the code is below `old`.
    u32::try_from(u64::from(code) * u64::from(new) / u64::from(old)).unwrap_or(0)
}

/// A fixed generator for a kind of spoil. A column's own does not depend on what other columns a table has.
fn generator(kind: &str, attribute: &str) -> ChaCha20Rng {
    ChaCha20Rng::from_seed(Sha256::digest(format!("spoil, {kind}, {attribute}")).into())
}

#[cfg(test)]
mod tests;
