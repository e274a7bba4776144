//! Cliques in batches, so that the marginals of a workload need not all be held together.

use crate::domain::Domain;
use crate::query::WeightedClique;

/// Cells of the marginals held at a time, unless one marginal alone has more.
const BATCH_CELLS: u64 = 1 << 22;

/// Runs of cliques of at most [`BATCH_CELLS`] cells together, or of one clique.
pub(crate) fn batches<'w>(
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

#[cfg(test)]
mod tests;
