//! Attributes and the domain they span.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::domain::{Clique, StructuralZero};
use crate::error::{Error, Result};

/// A named column with a finite number of values, coded `0..cardinality`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Attribute {
    /// Column name.
    pub name: String,
    /// Number of values `k`, at least 1.
    pub cardinality: u32,
}

/// The ordered attributes of a table: attribute `i` has codes `0..k_i`.
///
/// The product of the cardinalities is never computed: it may exceed any integer type. Impossible combinations of
/// values are part of the domain ([`Domain::forbid`]).
///
/// ```
/// use jointly_pgm::domain::Domain;
/// let domain = Domain::new([("sex", 2), ("age", 20)])?;
/// assert_eq!(domain.len(), 2);
/// assert_eq!(domain.cells(&domain.clique(&["age", "sex"])?), Some(40));
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Domain {
    attributes: Vec<Attribute>,
    positions: BTreeMap<String, usize>,
    pub(super) zeros: Vec<StructuralZero>,
}

impl Domain {
    /// Refuses a different domain, that of `place`, where this one is needed.
    ///
    /// # Errors
    /// A different domain.
    pub fn check_same(&self, other: &Self, place: &str) -> Result<()> {
        if self == other {
            return Ok(());
        }
        let pairs = self.attributes().iter().zip(other.attributes());
        let first = pairs.into_iter().find(|(a, b)| a != b);
        let (found, expected) = first.map_or_else(
            || (format!("{} attributes", other.len()), format!("{}", self.len())),
            |(a, b)| {
                let written =
                    |name: &str, values: u32| format!("attribute '{name}' of {values} values");
                (written(&b.name, b.cardinality), written(&a.name, a.cardinality))
            },
        );
        Err(Error::invalid_specification(place, found, format!("{expected}, as in the real table")))
    }

    /// Builds a domain from names and cardinalities, in order.
    ///
    /// # Errors
    /// No attribute, a repeated name, or a cardinality of 0.
    pub fn new<N: Into<String>>(attributes: impl IntoIterator<Item = (N, u32)>) -> Result<Self> {
        let attributes: Vec<Attribute> = attributes
            .into_iter()
            .map(|(name, cardinality)| Attribute { name: name.into(), cardinality })
            .collect();
        if attributes.is_empty() {
            return Err(Error::invalid_specification("domain", "no attribute", "at least one"));
        }
        let mut positions = BTreeMap::new();
        for (position, attribute) in attributes.iter().enumerate() {
            if attribute.cardinality == 0 {
                return Err(Error::invalid_specification(
                    format!("attribute '{}'", attribute.name),
                    "no value",
                    "at least one",
                ));
            }
            if positions.insert(attribute.name.clone(), position).is_some() {
                return Err(Error::DuplicateAttribute {
                    name: attribute.name.clone(),
                    place: "the domain".into(),
                });
            }
        }
        Ok(Self { attributes, positions, zeros: Vec::new() })
    }

    /// Number of attributes.
    #[expect(clippy::len_without_is_empty, reason = "a domain is never empty")]
    pub fn len(&self) -> usize {
        self.attributes.len()
    }

    /// The attributes in order.
    pub fn attributes(&self) -> &[Attribute] {
        &self.attributes
    }

    /// Name of an attribute; `"?"` for a position outside the domain.
    pub fn name(&self, attribute: usize) -> &str {
        self.attributes.get(attribute).map_or("?", |a| a.name.as_str())
    }

    /// Number of values of an attribute; 1 for a position outside the domain.
    pub fn cardinality(&self, attribute: usize) -> usize {
        self.attributes.get(attribute).map_or(1, |a| a.cardinality as usize)
    }

    /// Position of a name.
    pub fn position(&self, name: &str) -> Option<usize> {
        self.positions.get(name).copied()
    }

    /// The clique of some names.
    ///
    /// # Errors
    /// An unknown or repeated name, or no name.
    pub fn clique<S: AsRef<str>>(&self, names: &[S]) -> Result<Clique> {
        let place = "the clique";
        let mut positions = Vec::with_capacity(names.len());
        for name in names {
            let name = name.as_ref();
            let position = self.position(name).ok_or_else(|| self.unknown(name, place))?;
            if positions.contains(&position) {
                return Err(Error::DuplicateAttribute { name: name.into(), place: place.into() });
            }
            positions.push(position);
        }
        if positions.is_empty() {
            return Err(Error::invalid_specification(place, "no attribute", "at least one"));
        }
        Ok(Clique::new(positions))
    }

    /// The error for a name that is not an attribute, found in `place`.
    pub fn unknown(&self, name: &str, place: impl Into<String>) -> Error {
        const SHOWN: usize = 12;
        let mut known: Vec<&str> =
            self.attributes.iter().take(SHOWN).map(|a| a.name.as_str()).collect();
        let more = format!("... ({} in all)", self.len());
        if self.len() > SHOWN {
            known.push(&more);
        }
        Error::UnknownAttribute { name: name.into(), place: place.into(), known: known.join(", ") }
    }

    /// Cardinalities of a clique's attributes, in domain order.
    pub fn shape(&self, clique: &Clique) -> Vec<usize> {
        clique.iter().map(|a| self.cardinality(a)).collect()
    }

    /// Number of cells of the marginal on a clique; `None` if it does not fit in 64 bits.
    pub fn cells(&self, clique: &Clique) -> Option<u64> {
        clique.iter().try_fold(1_u64, |n, a| n.checked_mul(self.cardinality(a) as u64))
    }

    /// log₁₀ of the number of possible records.
    pub fn log10_cells(&self) -> f64 {
        self.attributes.iter().map(|a| f64::from(a.cardinality).log10()).sum()
    }

    /// The clique as shown to readers: names joined by `" x "`.
    pub fn describe(&self, clique: &Clique) -> String {
        clique.iter().map(|a| self.name(a)).collect::<Vec<_>>().join(" x ")
    }

    /// The clique of all attributes.
    pub fn everything(&self) -> Clique {
        Clique::new(0..self.len())
    }
}
