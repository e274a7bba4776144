//! Chooses the tables to count, such that all requested marginals are sums of them.
//!
//! A record costs one step in each counted table of any size, as long as the table stays in a near cache. One table
//! over {a, b, c} instead of three over {a, b}, {a, c} and {b, c} is a third of the work, and its sums are nearly free
//! when there are many more records than cells.

use std::collections::{BTreeMap, HashMap};
use std::mem::take;

use crate::domain::{Clique, Domain};

/// Most cells of a table that covers more than one clique.
const MOST_CELLS: u64 = 1 << 13;
/// Fewest records per cell of such a table. With fewer, its sums cost more than it saves.
const RECORDS_A_CELL: u64 = 16;
/// Most attributes of such a table, which has 2^8 subsets.
const MOST_ATTRIBUTES: usize = 8;

/// A table to count.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// Its attributes.
    pub clique: Clique,
    /// Places of the cliques that are sums of it.
    pub members: Vec<usize>,
}

/// Tables that cover every clique, those with most cells first.
///
/// Starting from the clique with most cells, a table grows by one attribute at a time while it stays small. The next
/// attribute is the one that covers most additional cliques relative to the increase in log cells. All requested
/// cliques inside the table are taken from it.
pub fn cover(domain: &Domain, cliques: &[Clique], records: usize) -> Vec<Cover> {
    let limit = MOST_CELLS.min(records as u64 / RECORDS_A_CELL);
    let cells = |clique: &Clique| domain.cells(clique).unwrap_or(u64::MAX);
    let mut wanted = WantedCliques::new(cliques);
    let mut by_cells: Vec<usize> = (0..wanted.cliques.len()).collect();
    by_cells.sort_by_key(|id| std::cmp::Reverse(cells(wanted.cliques[*id])));
    let mut covers = Vec::new();
    for id in by_cells {
        let clique = wanted.cliques[id];
        let members = take(&mut wanted.places[id]);
        if !members.is_empty() {
            let cover = Cover { clique: clique.clone(), members };
            let small = cells(clique) <= limit;
            covers.push(if small { grown(domain, cover, &mut wanted, limit) } else { cover });
        }
    }
    covers.sort_by_key(|cover| std::cmp::Reverse(cells(&cover.clique)));
    covers
}

/// The requested cliques, each once.
struct WantedCliques<'a> {
    cliques: Vec<&'a Clique>,
    /// Positions of each in the request; none once it is covered.
    places: Vec<Vec<usize>>,
    ids: HashMap<&'a Clique, usize>,
    /// For each clique minus one attribute, that attribute and the clique.
    completions: HashMap<Clique, Vec<(usize, usize)>>,
    /// The most attributes of a clique.
    longest: usize,
}

impl<'a> WantedCliques<'a> {
    fn new(asked: &'a [Clique]) -> Self {
        let mut wanted = Self {
            cliques: Vec::new(),
            places: Vec::new(),
            ids: HashMap::new(),
            completions: HashMap::new(),
            longest: asked.iter().map(Clique::len).max().unwrap_or(0),
        };
        for (place, clique) in asked.iter().enumerate() {
            let id = *wanted.ids.entry(clique).or_insert(wanted.cliques.len());
            if id == wanted.cliques.len() {
                wanted.cliques.push(clique);
                wanted.places.push(Vec::new());
                for last in clique.iter() {
                    let rest = Clique::new(clique.iter().filter(|a| *a != last));
                    wanted.completions.entry(rest).or_default().push((last, id));
                }
            }
            wanted.places[id].push(place);
        }
        wanted
    }
}

/// The table with further attributes, while it has at most `limit` cells, and all cliques inside it.
fn grown(domain: &Domain, mut cover: Cover, wanted: &mut WantedCliques<'_>, limit: u64) -> Cover {
    let mut inside = cover.clique.subsets();
    inside.push(Clique::default());
    for subset in &inside {
        if let Some(id) = wanted.ids.get(subset) {
            cover.members.append(&mut wanted.places[*id]);
        }
    }
    inside.retain(|subset| subset.len() < wanted.longest);
    // For each attribute outside, the cliques that it would cover.
    let mut brought: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let mut unseen = inside.clone();
    while cover.clique.len() < MOST_ATTRIBUTES {
        for (last, id) in
            unseen.iter().filter_map(|subset| wanted.completions.get(subset)).flatten()
        {
            if !wanted.places[*id].is_empty() {
                brought.entry(*last).or_default().push(*id);
            }
        }
        let cells = domain.cells(&cover.clique).unwrap_or(u64::MAX);
        let worth = |(attribute, brought): &(&usize, &Vec<usize>)| {
            brought.len() as f64 / (1.0 + domain.cardinality(**attribute) as f64).ln()
        };
        let best = brought
            .iter()
            .filter(|(a, _)| cells.saturating_mul(domain.cardinality(**a) as u64) <= limit)
            .max_by(|one, other| worth(one).total_cmp(&worth(other)));
        let Some(attribute) = best.map(|(attribute, _)| *attribute) else { break };
        for id in brought.remove(&attribute).unwrap_or_default() {
            cover.members.append(&mut wanted.places[id]);
        }
        let attribute = Clique::new([attribute]);
        cover.clique = cover.clique.union(&attribute);
        let shorter = inside.iter().filter(|subset| subset.len() + 1 < wanted.longest);
        unseen = shorter.map(|subset| subset.union(&attribute)).collect();
        inside.extend(unseen.iter().cloned());
    }
    cover
}

#[cfg(test)]
mod tests;
