//! Which tables to count, so that all marginals asked for are sums of them.
//!
//! A record costs one step in each counted table, whatever the table's size, as long as that stays in a near cache. One
//! table over {a, b, c} in place of three over {a, b}, {a, c} and {b, c} is a third of the work, and its sums are all but
//! free when there are many more records than cells.

use std::collections::BTreeMap;

use crate::domain::{Clique, Domain};

/// Cells of a table that covers more than one clique, at most.
const MOST_CELLS: u64 = 1 << 13;
/// Records for each cell of such a table, at least: else its sums cost more than it saves.
const RECORDS_A_CELL: u64 = 16;
/// Attributes of such a table, at most: it has 2^8 subsets.
const MOST_ATTRIBUTES: usize = 8;

/// A table to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cover {
    /// Its attributes.
    pub(super) clique: Clique,
    /// Places of the cliques that are sums of it.
    pub(super) members: Vec<usize>,
}

/// Tables that cover every clique, those of most cells first.
///
/// Cliques that differ in their last attribute alone are joined, first fit, starting from the one of most cells, while
/// the table stays small; then everything asked for inside the joined table is taken from it.
pub(super) fn cover(domain: &Domain, cliques: &[Clique], records: usize) -> Vec<Cover> {
    let limit = MOST_CELLS.min(records as u64 / RECORDS_A_CELL);
    let cells = |clique: &Clique| domain.cells(clique).unwrap_or(u64::MAX);
    // Places of each distinct clique not yet covered.
    let mut wanted: BTreeMap<&[usize], Vec<usize>> = BTreeMap::new();
    for (place, clique) in cliques.iter().enumerate() {
        wanted.entry(clique.attributes()).or_default().push(place);
    }
    let mut by_cells: Vec<&Clique> = wanted.values().map(|places| &cliques[places[0]]).collect();
    by_cells.sort_by_key(|clique| std::cmp::Reverse(cells(clique)));
    let longest = cliques.iter().map(Clique::len).max().unwrap_or(0);
    let mut covers = Vec::new();
    for clique in by_cells {
        let Some(places) = wanted.remove(clique.attributes()) else { continue };
        let mut cover = Cover { clique: clique.clone(), members: places };
        if cells(clique) <= limit {
            cover.clique = joined(domain, clique, &wanted, limit);
            for subset in cover.clique.subsets() {
                if subset.len() <= longest
                    && let Some(places) = wanted.remove(subset.attributes())
                {
                    cover.members.extend(places);
                }
            }
        }
        covers.push(cover);
    }
    covers.sort_by_key(|cover| std::cmp::Reverse(cells(&cover.clique)));
    covers
}

/// The clique with the last attributes of others that share all but theirs, while the table has at most `limit` cells.
fn joined(
    domain: &Domain,
    clique: &Clique,
    wanted: &BTreeMap<&[usize], Vec<usize>>,
    limit: u64,
) -> Clique {
    let Some((_, prefix)) = clique.attributes().split_last() else { return clique.clone() };
    let mut joined = clique.clone();
    let same_prefix = wanted
        .range(prefix..)
        .map(|(attributes, _)| *attributes)
        .take_while(|attributes| attributes.starts_with(prefix))
        .filter(|attributes| attributes.len() == prefix.len() + 1);
    for last in same_prefix.filter_map(<[usize]>::last) {
        let larger = joined.union(&Clique::new([*last]));
        let fits = domain.cells(&larger).is_some_and(|cells| cells <= limit);
        if fits && larger.len() <= MOST_ATTRIBUTES {
            joined = larger;
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs_of(cardinalities: &[u32]) -> (Domain, Vec<Clique>) {
        let named = cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k));
        let n = cardinalities.len();
        let pairs = (0..n).flat_map(|a| (a + 1..n).map(move |b| Clique::new([a, b])));
        (Domain::new(named).unwrap(), pairs.collect())
    }

    #[test]
    fn every_clique_is_covered_once_by_a_table_that_holds_it() {
        let (domain, mut cliques) = pairs_of(&[32, 9, 32, 16, 16, 7, 15, 6, 5, 2, 1, 300, 2]);
        cliques.extend([Clique::default(), cliques[3].clone(), Clique::new([0, 5, 9])]);
        for records in [0, 1000, 50_000, 1_000_000] {
            let covers = cover(&domain, &cliques, records);
            let mut places: Vec<usize> = covers.iter().flat_map(|c| c.members.clone()).collect();
            places.sort_unstable();
            assert_eq!(places, (0..cliques.len()).collect::<Vec<_>>());
            for cover in covers {
                assert!(cover.members.iter().all(|place| cliques[*place].is_subset(&cover.clique)));
                let joined = cover.members.iter().any(|place| cliques[*place] != cover.clique);
                let cells = domain.cells(&cover.clique).unwrap();
                assert!(!joined || cells <= (records as u64 / RECORDS_A_CELL).min(MOST_CELLS));
            }
        }
    }

    #[test]
    fn few_records_are_counted_clique_by_clique_and_many_together() {
        let (domain, cliques) = pairs_of(&[4; 10]);
        assert_eq!(cover(&domain, &cliques, 200).len(), cliques.len());
        assert!(cover(&domain, &cliques, 1 << 20).len() < cliques.len() / 3);
    }
}
