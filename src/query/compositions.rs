//! What units are made of: how many of their members have which values.

use crate::data::{Members, Tallies, Tally, Units};
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};

/// Groups of the values of a member's column, at most.
const GROUPS: u32 = 4;
/// Most tables.
const MOST_TABLES: usize = 256;
/// Most cells of a table.
const MOST_CELLS: u64 = 1 << 16;

/// Tables of what units are made of, where each unit is one record ([`Units::with_members`]). A table counts units by their size,
/// the number of their members with a value of one group, and that of another group; or by size, one such number and a column
/// of the unit.
///
/// The values of each column of members are cut into four groups of neighboring codes, as even as can be. A missing value is in
/// none. Marginals of one or two members do not say these numbers: the two children of a household of four may have any two
/// places.
///
/// ```
/// use jointly::{data::{Dataset, Units}, domain::Domain, query::Compositions};
/// let homes = Units::new("home", 2)?.linked(["tenure"])?.with_members(["age"], "place")?;
/// let records = Domain::new([("tenure", 2), ("home.records", 2), ("age.1", 2), ("age.2", 3)])?;
/// let compositions = Compositions::of_units(&records, &homes)?;
/// let domain = compositions.tallies().domain();
/// let tables: Vec<String> = compositions.cliques().iter().map(|clique| domain.describe(clique)).collect();
/// assert_eq!(tables, [
///     "home.records x age of code 0 x age of code 1",
///     "tenure x home.records x age of code 0",
///     "tenure x home.records x age of code 1",
/// ]);
/// let table = Dataset::from_rows(records, &[[0, 1, 1, 1], [1, 0, 0, 2]])?;
/// assert_eq!(table.tallied(compositions.tallies())?.row(0), [0, 1, 0, 2]); // two of age 1
/// # Ok::<(), jointly::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Compositions {
    tallies: Tallies,
    beside_all: Tallies,
    cliques: Vec<Clique>,
}

impl Compositions {
    /// The tables of units: at most 256 of them, of at most 65,536 cells.
    ///
    /// `domain`: of the units' records.
    ///
    /// # Errors
    /// Units without members, or attributes that the domain lacks.
    pub fn of_units(domain: &Domain, units: &Units) -> Result<Self> {
        let Some(members) = units.members() else {
            return Err(Error::invalid_specification("units", "no columns of members", "some"));
        };
        let position = |name: &str| -> Result<usize> {
            Ok(domain.position(name).ok_or_else(|| domain.unknown(name, "the units"))?)
        };
        let present = |name: &&String| domain.position(name).is_some();
        let shared = units.agree().unwrap_or_default().iter().filter(present);
        let mut kept = shared.map(|name| position(name)).collect::<Result<Vec<_>>>()?;
        let size = kept.len();
        kept.push(position(&units.size_name())?);
        let mut tallies = Vec::new();
        for column in members.columns() {
            let of = (1..=units.most()).map(|member| position(&Members::name_of(column, member)));
            let of: Vec<usize> = of.collect::<Result<_>>()?;
            // The last code of the last member is that of nobody.
            let values = of.last().map_or(0, |last| domain.attributes()[*last].cardinality);
            tallies.extend(groups(values.saturating_sub(1)).map(|codes| {
                let (first, last) = (codes[0], codes[codes.len() - 1]);
                let codes_of = |at: usize| (at, codes.clone());
                let name = if first == last {
                    format!("{column} of code {first}")
                } else {
                    format!("{column} of codes {first} to {last}")
                };
                Tally { name, of: of.iter().copied().map(codes_of).collect() }
            }));
        }
        let first = kept.len();
        let all = first..first + tallies.len();
        let beside_all = Tallies::new(domain.clone(), 0..domain.len(), tallies.clone())?;
        let tallies = Tallies::new(domain.clone(), kept, tallies)?;
        let pairs = all.clone().flat_map(|a| (a + 1..all.end).map(move |b| [size, a, b]));
        let by_unit = (0..size).flat_map(|own| all.clone().map(move |a| [own, size, a]));
        let cliques = pairs.chain(by_unit).map(Clique::new);
        let is_small = |clique: &Clique| {
            tallies.domain().cells(clique).is_some_and(|cells| cells <= MOST_CELLS)
        };
        let cliques: Vec<Clique> = cliques.filter(is_small).collect();
        let step = cliques.len().div_ceil(MOST_TABLES).max(1);
        Ok(Self { tallies, beside_all, cliques: cliques.into_iter().step_by(step).collect() })
    }

    /// What the tables count.
    pub fn tallies(&self) -> &Tallies {
        &self.tallies
    }

    /// The same tallies beside all attributes of the records, which come first.
    pub(crate) fn beside_all(&self) -> &Tallies {
        &self.beside_all
    }

    /// The tables, of the attributes of [`tallies`](Self::tallies).
    pub fn cliques(&self) -> &[Clique] {
        &self.cliques
    }
}

/// The codes below `values`, split into at most [`GROUPS`] groups of neighbors, none of them empty.
fn groups(values: u32) -> impl Iterator<Item = Vec<u32>> {
    let groups = values.min(GROUPS);
    (0..groups).map(move |group| (group * values / groups..(group + 1) * values / groups).collect())
}

#[cfg(test)]
mod tests;
