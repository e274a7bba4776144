//! Sets of attributes.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A set of attributes, by position in the domain, sorted: `{a, b} = {b, a}`.
///
/// A marginal on a clique is a table in row-major order of these sorted attributes.
///
/// ```
/// use jointly_pgm::domain::Clique;
/// let clique = Clique::new([4, 1, 4]);
/// assert_eq!(clique.attributes(), [1, 4]);
/// assert!(Clique::new([1]).is_subset(&clique));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Vec<usize>", into = "Vec<usize>")]
pub struct Clique(Vec<usize>);

impl Clique {
    /// The set of these positions; repeats count once.
    pub fn new(attributes: impl IntoIterator<Item = usize>) -> Self {
        let mut attributes: Vec<usize> = attributes.into_iter().collect();
        attributes.sort_unstable();
        attributes.dedup();
        Self(attributes)
    }

    /// The attributes, ascending.
    pub fn attributes(&self) -> &[usize] {
        &self.0
    }

    /// Iterates over the attributes, ascending.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = usize> + DoubleEndedIterator + '_ {
        self.0.iter().copied()
    }

    /// Number of attributes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether it has no attributes.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether it contains this attribute.
    pub fn contains(&self, attribute: usize) -> bool {
        self.0.binary_search(&attribute).is_ok()
    }

    /// Whether every attribute of it is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        let mut rest = other.0.iter();
        self.0.iter().all(|a| rest.any(|b| a == b))
    }

    /// Attributes in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self(self.iter().filter(|a| other.contains(*a)).collect())
    }

    /// Attributes in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        Self::new(self.iter().chain(other.iter()))
    }

    /// Attributes of it that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        Self(self.iter().filter(|a| !other.contains(*a)).collect())
    }

    /// All non-empty subsets, in an order that depends only on the clique. Meant for small cliques.
    pub fn subsets(&self) -> Vec<Self> {
        let mut subsets: Vec<Self> = vec![Self::default()];
        for attribute in self.iter() {
            for i in 0..subsets.len() {
                let mut larger = subsets[i].clone();
                larger.0.push(attribute);
                subsets.push(larger);
            }
        }
        subsets.remove(0);
        subsets
    }
}

impl From<Vec<usize>> for Clique {
    fn from(attributes: Vec<usize>) -> Self {
        Self::new(attributes)
    }
}

impl From<Clique> for Vec<usize> {
    fn from(clique: Clique) -> Self {
        clique.0
    }
}

impl fmt::Display for Clique {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{")?;
        for (i, a) in self.0.iter().enumerate() {
            if i > 0 {
                write!(f, ", ")?;
            }
            write!(f, "{a}")?;
        }
        write!(f, "}}")
    }
}

#[cfg(test)]
mod tests;
