//! Combinations of values that no record can have.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// The impossible cells of a clique. They are public knowledge: declared, never computed from the records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuralZero {
    clique: Clique,
    /// Row-major over the clique.
    forbidden: Vec<bool>,
}

/// Largest table of forbidden combinations.
const MOST_CELLS: u64 = 1 << 22;

impl StructuralZero {
    /// The attributes of the rule.
    pub fn clique(&self) -> &Clique {
        &self.clique
    }

    /// Whether each cell, row-major over the clique, is forbidden.
    pub fn forbidden(&self) -> &[bool] {
        &self.forbidden
    }

    /// Whether a record with these codes, one for each attribute of the domain, is forbidden.
    pub fn forbids(&self, domain: &Domain, code: impl Fn(usize) -> u32) -> bool {
        let cell =
            self.clique.iter().fold(0, |cell, a| cell * domain.cardinality(a) + code(a) as usize);
        self.forbidden.get(cell).copied().unwrap_or(false)
    }
}

impl Domain {
    /// Declares combinations that no record can have. Each combination gives a set of codes for some attributes and
    /// forbids every record whose codes lie in all of these sets. Every model over the domain gives them probability 0.
    ///
    /// ```
    /// use jointly_pgm::domain::Domain;
    /// let domain = Domain::new([("age", 3), ("married", 2)])?.forbid([vec![("age", vec![0]), ("married", vec![1])]])?;
    /// assert_eq!(domain.structural_zeros()[0].forbidden(), [false, true, false, false, false, false]);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    ///
    /// # Errors
    /// An unknown or repeated attribute, no attribute, a code outside an attribute's values, or attributes whose table
    /// would have more than 2²² cells.
    pub fn forbid<N: AsRef<str>>(
        mut self,
        combinations: impl IntoIterator<Item = Vec<(N, Vec<u32>)>>,
    ) -> Result<Self> {
        let mut tables: BTreeMap<Clique, Vec<bool>> =
            self.zeros.drain(..).map(|zero| (zero.clique, zero.forbidden)).collect();
        for combination in combinations {
            let names: Vec<&str> = combination.iter().map(|(name, _)| name.as_ref()).collect();
            let clique = self.clique(&names)?;
            let cells = self.cells(&clique).filter(|cells| *cells <= MOST_CELLS);
            let cells = cells.and_then(|cells| usize::try_from(cells).ok()).ok_or_else(|| {
                Error::too_large(
                    format!("the forbidden combinations of {}", self.describe(&clique)),
                    None,
                    MOST_CELLS as f64,
                    "cells",
                )
            })?;
            let mut allowed: Vec<Vec<bool>> = Vec::with_capacity(clique.len());
            for attribute in clique.iter() {
                let mut hit = vec![false; self.cardinality(attribute)];
                let own = combination.iter().find(|(n, _)| n.as_ref() == self.name(attribute));
                for code in own.map(|(_, codes)| codes.as_slice()).unwrap_or_default() {
                    *hit.get_mut(*code as usize).ok_or_else(|| {
                        Error::invalid_specification(
                            format!("forbidden combination of {}", self.describe(&clique)),
                            format!("code {code} of '{}'", self.name(attribute)),
                            format!("a code below {}", self.cardinality(attribute)),
                        )
                    })? = true;
                }
                allowed.push(hit);
            }
            let shape = self.shape(&clique);
            let table = tables.entry(clique).or_insert_with(|| vec![false; cells]);
            for (cell, forbidden) in table.iter_mut().enumerate() {
                let mut rest = cell;
                let mut all = true;
                for (hit, k) in allowed.iter().zip(&shape).rev() {
                    all &= hit[rest % k];
                    rest /= k;
                }
                *forbidden |= all;
            }
        }
        self.zeros = tables
            .into_iter()
            .filter(|(_, forbidden)| forbidden.contains(&true))
            .map(|(clique, forbidden)| StructuralZero { clique, forbidden })
            .collect();
        Ok(self)
    }

    /// The impossible combinations, one table per clique.
    pub fn structural_zeros(&self) -> &[StructuralZero] {
        &self.zeros
    }

    /// The domain of some attributes, in their order, with the forbidden combinations on these attributes only.
    ///
    /// # Errors
    /// No attribute, one outside the domain, or one twice.
    pub fn restricted(&self, attributes: &Clique) -> Result<Self> {
        let own = attributes.iter().map(|a| (self.name(a), u32::try_from(self.cardinality(a))));
        let own: Vec<(&str, u32)> = own.map(|(name, k)| (name, k.unwrap_or(u32::MAX))).collect();
        let mut domain = Self::new(own)?;
        let within = self.zeros.iter().filter(|zero| zero.clique.is_subset(attributes));
        domain.zeros = within
            .map(|zero| {
                let place = |a| attributes.iter().position(|own| own == a);
                let clique = Clique::new(zero.clique.iter().filter_map(place));
                StructuralZero { clique, forbidden: zero.forbidden.clone() }
            })
            .collect();
        Ok(domain)
    }
}

#[cfg(test)]
mod tests;
