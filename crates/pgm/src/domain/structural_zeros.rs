//! Combinations of values that no record can have.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// Cells of a clique that no record has: impossible ones of a domain, or unlikely ones that records are drawn without. They are
/// public knowledge: declared, never computed from the private records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StructuralZero {
    clique: Clique,
    /// Row-major over the clique.
    forbidden: Vec<bool>,
    /// Whether fits leave it to draws.
    is_left: bool,
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

    /// Whether fits do not know it, and only drawn records keep to it ([`Domain::with_fits_within`]).
    pub fn is_left_to_draws(&self) -> bool {
        self.is_left
    }

    /// Whether a record with these codes, one for each attribute of the domain, is forbidden.
    pub fn forbids(&self, domain: &Domain, code: impl Fn(usize) -> u32) -> bool {
        let cell =
            self.clique.iter().fold(0, |cell, a| cell * domain.cardinality(a) + code(a) as usize);
        self.forbidden.get(cell).copied().unwrap_or(false)
    }

    /// Refuses another domain than the one that the cells are of.
    ///
    /// # Errors
    /// A domain that lacks an attribute of the clique, or where it has another number of cells.
    pub fn check(&self, domain: &Domain) -> Result<()> {
        let is_known = self.clique.iter().all(|attribute| attribute < domain.len());
        let found = if is_known { domain.cells(&self.clique) } else { None };
        if found == Some(self.forbidden.len() as u64) {
            return Ok(());
        }
        Err(Error::invalid_specification(
            format!("the combinations of the clique {}", self.clique),
            format!("{} cells", self.forbidden.len()),
            "those of the domain's attributes",
        ))
    }

    /// Combinations of values as one table for each clique. Each combination gives a set of codes for some attributes, and is
    /// that of every record whose codes lie in all of these sets.
    ///
    /// # Errors
    /// An unknown or repeated attribute, no attribute, a code outside an attribute's values, or attributes whose table
    /// would have more than 2²² cells.
    pub fn of<N: AsRef<str>>(
        domain: &Domain,
        combinations: impl IntoIterator<Item = Vec<(N, Vec<u32>)>>,
    ) -> Result<Vec<Self>> {
        Self::joined(domain, Vec::new(), combinations)
    }

    /// The combinations, with others that are there already.
    fn joined<N: AsRef<str>>(
        domain: &Domain,
        before: Vec<Self>,
        combinations: impl IntoIterator<Item = Vec<(N, Vec<u32>)>>,
    ) -> Result<Vec<Self>> {
        let mut tables: BTreeMap<Clique, (Vec<bool>, bool)> =
            before.into_iter().map(|zero| (zero.clique, (zero.forbidden, zero.is_left))).collect();
        for combination in combinations {
            let names: Vec<&str> = combination.iter().map(|(name, _)| name.as_ref()).collect();
            let clique = domain.clique(&names)?;
            let cells = domain.cells(&clique).filter(|cells| *cells <= MOST_CELLS);
            let cells = cells.and_then(|cells| usize::try_from(cells).ok()).ok_or_else(|| {
                Error::too_large(
                    format!("the combinations of {}", domain.describe(&clique)),
                    None,
                    MOST_CELLS as f64,
                    "cells",
                )
            })?;
            let mut of = vec![0];
            for attribute in clique.iter() {
                let extent = domain.cardinality(attribute);
                let own = combination.iter().find(|(n, _)| n.as_ref() == domain.name(attribute));
                let codes = own.map(|(_, codes)| codes.as_slice()).unwrap_or_default();
                if let Some(code) = codes.iter().find(|code| **code as usize >= extent) {
                    return Err(Error::invalid_specification(
                        format!("combination of {}", domain.describe(&clique)),
                        format!("code {code} of '{}'", domain.name(attribute)),
                        format!("a code below {extent}"),
                    ));
                }
                let with =
                    |cell: usize| codes.iter().map(move |code| cell * extent + *code as usize);
                of = of.into_iter().flat_map(with).collect();
            }
            let (table, _) = tables.entry(clique).or_insert_with(|| (vec![false; cells], false));
            of.into_iter().for_each(|cell| table[cell] = true);
        }
        let zeros = tables.into_iter().filter(|(_, (forbidden, _))| forbidden.contains(&true));
        let zero = |(clique, (forbidden, is_left))| Self { clique, forbidden, is_left };
        Ok(zeros.map(zero).collect())
    }
}

impl Domain {
    /// Declares combinations that no record can have. Each combination gives a set of codes for some attributes and
    /// forbids every record whose codes lie in all of these sets. Every model over the domain gives them probability 0, unless they
    /// are left to draws ([`with_fits_within`](Self::with_fits_within)).
    ///
    /// ```
    /// use jointly_pgm::domain::Domain;
    /// let domain = Domain::new([("age", 3), ("married", 2)])?.forbid([vec![("age", vec![0]), ("married", vec![1])]])?;
    /// assert_eq!(domain.structural_zeros()[0].forbidden(), [false, true, false, false, false, false]);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`StructuralZero::of`].
    pub fn forbid<N: AsRef<str>>(
        mut self,
        combinations: impl IntoIterator<Item = Vec<(N, Vec<u32>)>>,
    ) -> Result<Self> {
        let before = std::mem::take(&mut self.zeros);
        self.zeros = StructuralZero::joined(&self, before, combinations)?;
        Ok(self)
    }

    /// The impossible combinations, one table per clique.
    pub fn structural_zeros(&self) -> &[StructuralZero] {
        &self.zeros
    }

    /// Those that fits know.
    pub fn fitted_zeros(&self) -> impl Iterator<Item = &StructuralZero> {
        self.zeros.iter().filter(|zero| !zero.is_left)
    }

    /// Those that are left to draws.
    pub fn zeros_of_draws(&self) -> impl Iterator<Item = &StructuralZero> {
        self.zeros.iter().filter(|zero| zero.is_left)
    }

    /// The same domain, where a structural zero is left to draws if `is_left` of its clique.
    pub(crate) fn leaving(mut self, is_left: impl Fn(&Clique) -> bool) -> Self {
        self.zeros.iter_mut().for_each(|zero| zero.is_left = is_left(&zero.clique));
        self
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
                StructuralZero { clique, ..zero.clone() }
            })
            .collect();
        Ok(domain)
    }
}

#[cfg(test)]
mod tests;
