//! The built-in workloads of units that are one record each.

use crate::data::{Members, Units};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::query::{WeightedClique, Workload};

impl Workload {
    /// All marginals that are of interest in units with their members ([`Units::with_members`]):
    ///
    /// 1. of every `k` columns, those of the unit, its size, and those of members: once if no column is a member's, otherwise
    ///    once for each member;
    /// 2. of every two members, each column of one with each of the other, if `k` is at least 2; and of the first two members,
    ///    two columns of both, if `k` is at least 3, unless it has more cells than all of those of `k` columns.
    ///
    /// Both parts matter as much: the first has weights of 1, and the second weights with the same sum. Fewer than `k` columns
    /// are all taken together.
    ///
    /// # Errors
    /// `k` is 0, units without members, attributes that the domain lacks, or as [`Workload::all_k_way`].
    ///
    /// ```
    /// use jointly::{data::Units, domain::Domain, query::Workload};
    /// let homes = Units::new("home", 2)?.linked(["tenure"])?.with_members(["age"], "place")?;
    /// let records = Domain::new([("tenure", 2), ("home.records", 2), ("age.1", 3), ("age.2", 4)])?;
    /// let pairs = Workload::of_units(&records, &homes, 2)?;
    /// // Tenure by size, tenure by the age of each, size by the age of each, and age by age.
    /// assert_eq!(pairs.len(), 1 + 2 + 2 + 1);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn of_units(domain: &Domain, units: &Units, k: usize) -> Result<Self> {
        let Some(members) = units.members() else {
            return Err(Error::invalid_specification("units", "no columns of members", "some"));
        };
        let shared = units.agree().unwrap_or_default().iter().cloned();
        let shared: Vec<String> = shared.chain([units.size_name()]).collect();
        let own = members.columns();
        let named = |column: &String, member: u32| {
            if own.contains(column) { Members::name_of(column, member) } else { column.clone() }
        };
        // The columns, with the values that the first member has.
        let columns: Vec<&String> = shared.iter().chain(own).collect();
        let values = |column: &&String| {
            let name = named(column, 1);
            let at = domain.position(&name).ok_or_else(|| domain.unknown(&name, "the units"))?;
            Ok(((*column).clone(), u32::try_from(domain.cardinality(at)).unwrap_or(u32::MAX)))
        };
        let table = Domain::new(columns.iter().map(values).collect::<Result<Vec<_>>>()?)?;
        let subsets = Self::all_k_way(&table, k.min(columns.len()))?.cliques();
        let (mut names, mut across) = (Vec::new(), Vec::new());
        for subset in &subsets {
            let of_members = subset.iter().any(|at| at >= shared.len());
            for member in 1..=if of_members { units.most() } else { 1 } {
                names.push(subset.iter().map(|at| named(columns[at], member)).collect::<Vec<_>>());
            }
        }
        let largest = subsets.iter().filter_map(|subset| table.cells(subset)).max();
        if k > 1 {
            for first in 1..units.most() {
                for second in first + 1..=units.most() {
                    let pairs = own.iter().flat_map(|a| own.iter().map(move |b| (a, b)));
                    across.extend(pairs.map(|(a, b)| vec![named(a, first), named(b, second)]));
                }
            }
        }
        let cliques = |names: &[Vec<String>]| -> Result<Vec<Clique>> {
            names.iter().map(|names| Ok(domain.clique(names)?)).collect()
        };
        let (within, mut across) = (cliques(&names)?, cliques(&across)?);
        if k > 2 && units.most() > 1 {
            for (i, a) in own.iter().enumerate() {
                for b in &own[i + 1..] {
                    let names = [named(a, 1), named(b, 1), named(a, 2), named(b, 2)];
                    let clique = domain.clique(&names)?;
                    if domain.cells(&clique) <= largest {
                        across.push(clique);
                    }
                }
            }
        }
        let weight = within.len() as f64 / across.len().max(1) as f64;
        let within = within.into_iter().map(|clique| WeightedClique { clique, weight: 1.0 });
        let across = across.into_iter().map(|clique| WeightedClique { clique, weight });
        Self::new(within.chain(across), domain)
    }
}

#[cfg(test)]
mod tests;
