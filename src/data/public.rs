//! Public tables: free to look at, and allowed to lack attributes of the private table.

use std::sync::Arc;

use crate::data::{CountedTable, Dataset, Projectable};
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
    rows: Rows,
    private_domain: Domain,
    /// Position in the table of each private attribute.
    positions: Vec<Option<usize>>,
}

/// What is known of a public table.
#[derive(Clone, Debug)]
enum Rows {
    Held(Dataset),
    /// Only marginals.
    Counted(Arc<CountedTable>),
}

impl PublicData {
    /// A public table named `name`. Attributes that the private domain does not have are dropped.
    ///
    /// # Errors
    /// An attribute whose number of values differs from the private one, no attribute in common, or no record.
    pub fn new(name: impl Into<String>, table: Dataset, private_domain: &Domain) -> Result<Self> {
        let name = name.into();
        let found = shared(&name, table.domain(), table.records() as u64, private_domain)?;
        let table = table.into_selected(&found.iter().copied().flatten().collect::<Vec<_>>())?;
        let mut next = 0..;
        let positions = found.iter().map(|own| own.and_then(|_| next.next())).collect();
        Ok(Self {
            name,
            rows: Rows::Held(table),
            private_domain: private_domain.clone(),
            positions,
        })
    }

    /// A public table of which only marginals were counted. It has only these ([`covers`](Self::covers)), and no records.
    ///
    /// # Errors
    /// As [`new`](Self::new), and attributes in another order than in the private domain.
    ///
    /// ```
    /// use jointly::{Dataset, PublicData, Schema, data::CountPlan};
    /// let schema = Schema::from_json(r#"{"a": 2, "b": 3, "c": 2}"#, "domain.json")?;
    /// let domain = schema.domain();
    /// let mut counter = CountPlan::new(&schema, &[domain.clique(&["a", "b"])?])?.counter();
    /// counter.update(&Dataset::from_rows(domain.clone(), &[[0, 2, 1], [1, 1, 0]])?)?;
    /// let public = PublicData::counted("ohio", counter.finish()?, &domain)?;
    /// assert!(public.covers(&domain.clique(&["b"])?) && !public.covers(&domain.clique(&["c"])?));
    /// assert_eq!(public.project_many(&[domain.clique(&["b"])?])?, [[0, 1, 1]]);
    /// assert!(public.table().is_err());
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn counted(
        name: impl Into<String>,
        table: CountedTable,
        private_domain: &Domain,
    ) -> Result<Self> {
        let name = name.into();
        let positions = shared(&name, table.domain(), table.records(), private_domain)?;
        if !positions.iter().flatten().is_sorted() {
            let found = "counts of attributes in another order";
            let expected = "the order of the schema of this run";
            let place = format!("public table '{name}'");
            return Err(Error::invalid_specification(place, found, expected));
        }
        let (rows, private_domain) = (Rows::Counted(Arc::new(table)), private_domain.clone());
        Ok(Self { name, rows, private_domain, positions })
    }

    /// Its name, as it appears in candidates and ledgers.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Number of records m.
    pub fn records(&self) -> u64 {
        self.projectable().records()
    }

    /// The records, with the attributes shared with the private domain, in its order.
    ///
    /// # Errors
    /// A table that was only counted.
    pub fn table(&self) -> Result<&Dataset> {
        match &self.rows {
            Rows::Held(table) => Ok(table),
            Rows::Counted(_) => {
                let place = format!("public table '{}'", self.name);
                let expected = "its records, which are used here: give the file of rows";
                Err(Error::invalid_specification(place, "counts alone", expected))
            }
        }
    }

    /// What was counted, of a table without records.
    pub(crate) fn counts(&self) -> Option<&CountedTable> {
        match &self.rows {
            Rows::Held(_) => None,
            Rows::Counted(table) => Some(table),
        }
    }

    fn projectable(&self) -> &dyn Projectable {
        match &self.rows {
            Rows::Held(table) => table,
            Rows::Counted(table) => &**table,
        }
    }

    /// The private attributes it has, by position in the private domain.
    pub fn attributes(&self) -> Clique {
        let present = (0..self.positions.len()).map(|attribute| Clique::new([attribute]));
        Clique::new(
            present.filter(|one| self.covers(one)).flat_map(|one| one.iter().collect::<Vec<_>>()),
        )
    }

    /// Whether it has the marginal on a clique of the private domain: every attribute, and of a table that was only counted also
    /// the counts.
    pub fn covers(&self, clique: &Clique) -> bool {
        let own = clique.iter().map(|a| self.positions.get(a).copied().flatten());
        let Some(own) = own.collect::<Option<Vec<usize>>>() else { return false };
        self.counts().is_none_or(|table| table.covers(&Clique::new(own)))
    }

    /// Its exact marginals on cliques of the private domain, in the layout of the private marginals.
    ///
    /// # Errors
    /// A clique that it does not cover, or counts that do not fit in memory.
    pub fn project_many(&self, cliques: &[Clique]) -> Result<Vec<Vec<u32>>> {
        let local: Vec<Clique> =
            cliques.iter().map(|clique| self.local(clique)).collect::<Result<_>>()?;
        Ok(self.projectable().project_many(&local)?)
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
                let place = format!("the public table '{}'", self.name);
                self.projectable().domain().unknown(&name, place)
            })?);
        }
        Ok(Clique::new(own))
    }
}

/// The position in a public table of each private attribute.
fn shared(
    name: &str,
    own: &Domain,
    records: u64,
    private_domain: &Domain,
) -> Result<Vec<Option<usize>>> {
    let place = || format!("public table '{name}'");
    let mut positions = Vec::with_capacity(private_domain.len());
    for attribute in private_domain.attributes() {
        let position = own.position(&attribute.name);
        let found = position.map(|own_position| own.cardinality(own_position));
        if let Some(found) = found.filter(|found| *found != attribute.cardinality as usize) {
            return Err(Error::invalid_specification(
                format!("{}, attribute '{}'", place(), attribute.name),
                format!("{found} values"),
                format!("{}, as in the private domain", attribute.cardinality),
            ));
        }
        positions.push(position);
    }
    if positions.iter().all(Option::is_none) {
        return Err(Error::invalid_specification(
            place(),
            "no attribute of the private domain",
            "at least one",
        ));
    }
    if records == 0 {
        return Err(Error::invalid_specification(place(), "no record", "at least one"));
    }
    Ok(positions)
}
#[cfg(test)]
mod tests;
