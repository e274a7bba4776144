//! Public tables: free to look at, and allowed to lack attributes of the private table.

use crate::data::{Dataset, Projectable};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// A public table seen through the private domain.
///
/// Its attributes are found by name, and its columns are kept in the private domain's order, so that its
/// marginals have the layout of the private ones.
///
/// ```
/// use jointly::{Dataset, PublicData, domain::Domain};
/// let private = Domain::new([("a", 2), ("b", 3)])?;
/// let table = Dataset::from_rows(Domain::new([("b", 3)])?, &[[0], [2]])?;
/// let public = PublicData::new("ohio", table, &private)?;
/// assert!(public.covers(&private.clique(&["b"])?) && !public.covers(&private.clique(&["a", "b"])?));
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct PublicData {
    name: String,
    table: Dataset,
    private_domain: Domain,
    /// Position in `table` of each private attribute.
    positions: Vec<Option<usize>>,
}

impl PublicData {
    /// A public table named `name`. Attributes that the private domain does not have are dropped.
    ///
    /// # Errors
    /// An attribute whose number of values differs from the private one, no attribute in common, or no record.
    pub fn new(name: impl Into<String>, table: Dataset, private_domain: &Domain) -> Result<Self> {
        let name = name.into();
        let place = || format!("public table '{name}'");
        let mut shared = Vec::new();
        let mut positions = vec![None; private_domain.len()];
        for (attribute, position) in private_domain.attributes().iter().zip(&mut positions) {
            let Some(own) = table.domain().position(&attribute.name) else {
                continue;
            };
            let found = table.domain().cardinality(own);
            if found != attribute.cardinality as usize {
                return Err(Error::invalid_specification(
                    format!("{}, attribute '{}'", place(), attribute.name),
                    format!("{found} values"),
                    format!("{}, as in the private domain", attribute.cardinality),
                ));
            }
            *position = Some(shared.len());
            shared.push(own);
        }
        if shared.is_empty() {
            return Err(Error::invalid_specification(
                place(),
                "no attribute of the private domain",
                "at least one",
            ));
        }
        if table.records() == 0 {
            return Err(Error::invalid_specification(place(), "no record", "at least one"));
        }
        let table = table.into_selected(&shared)?;
        Ok(Self { name, table, private_domain: private_domain.clone(), positions })
    }

    /// Its name, as it appears in candidates and ledgers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of records m.
    pub fn records(&self) -> u64 {
        self.table.records() as u64
    }

    /// The records, with the attributes shared with the private domain, in its order.
    pub fn table(&self) -> &Dataset {
        &self.table
    }

    /// The private attributes it has, by position in the private domain.
    pub fn attributes(&self) -> Clique {
        let present = self.positions.iter().enumerate().filter(|(_, own)| own.is_some());
        Clique::new(present.map(|(attribute, _)| attribute))
    }

    /// Whether it has every attribute of a clique of the private domain.
    pub fn covers(&self, clique: &Clique) -> bool {
        clique.iter().all(|a| self.positions.get(a).is_some_and(Option::is_some))
    }

    /// Its exact marginals on cliques of the private domain, in the layout of the private marginals.
    ///
    /// # Errors
    /// A clique that it does not cover, or counts that do not fit in memory.
    pub fn project_many(&self, cliques: &[Clique]) -> Result<Vec<Vec<u32>>> {
        let local: Vec<Clique> =
            cliques.iter().map(|clique| self.local(clique)).collect::<Result<_>>()?;
        Ok(self.table.project_many(&local)?)
    }

    /// A private clique in terms of the table. The order of attributes is the same in both.
    fn local(&self, clique: &Clique) -> Result<Clique> {
        let mut own = Vec::with_capacity(clique.len());
        for attribute in clique.iter() {
            let position = self.positions.get(attribute).copied().flatten();
            own.push(position.ok_or_else(|| {
                let name = match self.private_domain.attributes().get(attribute) {
                    Some(attribute) => attribute.name.clone(),
                    None => format!("#{attribute}"),
                };
                self.table.domain().unknown(&name, format!("the public table '{}'", self.name))
            })?);
        }
        Ok(Clique::new(own))
    }
}

#[cfg(test)]
mod tests;
