//! What several measures share: marginals as probabilities, a few million cells at a time.

use crate::data::Projectable;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::query::WeightedClique;

/// Cells of the marginals held at a time, unless one marginal alone has more.
const BATCH_CELLS: u64 = 1 << 22;

/// Runs of cliques of at most [`BATCH_CELLS`] cells together, or of one clique.
pub(super) fn batches<'w>(
    domain: &Domain,
    cliques: &'w [WeightedClique],
) -> impl Iterator<Item = &'w [WeightedClique]> {
    let sizes: Vec<u64> =
        cliques.iter().map(|c| domain.cells(&c.clique).unwrap_or(u64::MAX)).collect();
    let mut start = 0;
    std::iter::from_fn(move || {
        let mut end = start;
        let mut cells = 0_u64;
        while end < cliques.len() {
            cells = cells.saturating_add(sizes[end]);
            if end > start && cells > BATCH_CELLS {
                break;
            }
            end += 1;
        }
        let batch = &cliques[start..end];
        start = end;
        (!batch.is_empty()).then_some(batch)
    })
}

/// The marginals of a table as probabilities.
pub(super) fn frequencies(table: &dyn Projectable, cliques: &[Clique]) -> Result<Vec<Vec<f64>>> {
    if table.records() == 0 {
        return Err(Error::invalid_specification("table", "no record", "at least one"));
    }
    let records = table.records() as f64;
    let share = |counts: &Vec<u32>| counts.iter().map(|n| f64::from(*n) / records).collect();
    Ok(table.project_many(cliques)?.iter().map(share).collect())
}

/// Refuses a table, named by `place`, over another domain than the real one's.
pub(super) fn check_domain(real: &Domain, other: &Domain, place: &str) -> Result<()> {
    if real == other {
        return Ok(());
    }
    let pairs = real.attributes().iter().zip(other.attributes());
    let first = pairs.into_iter().find(|(a, b)| a != b);
    let (found, expected) = first.map_or_else(
        || (format!("{} attributes", other.len()), format!("{}", real.len())),
        |(a, b)| {
            let written =
                |name: &str, values: u32| format!("attribute '{name}' of {values} values");
            (written(&b.name, b.cardinality), written(&a.name, a.cardinality))
        },
    );
    Err(Error::invalid_specification(place, found, format!("{expected}, as in the real table")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::query::Workload;

    #[test]
    fn batches_hold_every_clique_once() {
        let domain = Domain::new((0..9).map(|i| (i.to_string(), 200))).unwrap();
        let workload = Workload::all_k_way(&domain, 3).unwrap();
        let sizes: Vec<usize> =
            batches(&domain, workload.weighted_cliques()).map(<[_]>::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), workload.len());
        assert!(sizes.iter().all(|n| *n == 1));
    }
}
