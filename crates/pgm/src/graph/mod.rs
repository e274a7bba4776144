//! From measured cliques to a junction tree: moral graph, elimination order, maximal cliques, spanning tree.

mod attribute_set;
mod elimination;
mod extensions;
mod junction_tree;
mod rules;
mod triangulation;

pub use junction_tree::JunctionTree;
pub use triangulation::Triangulation;

pub use extensions::Extensions;

/// Model size as the literature states it: 8 bytes per cell of every maximal clique, in MiB.
///
/// This engine never holds those tables; the figure bounds the work of one oracle call.
///
/// ```
/// assert_eq!(jointly_pgm::graph::size_mib(131_072), 1.0);
/// ```
pub fn size_mib(cells: u64) -> f64 {
    8.0 * cells as f64 / f64::from(1 << 20)
}

/// Most cells of a model of this size: the inverse of [`size_mib`], rounded down; 0 for a size that is not positive.
///
/// ```
/// assert_eq!(jointly_pgm::graph::cells_within_mib(1.0), 131_072);
/// ```
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "casts of floats saturate, which is what is meant"
)]
pub fn cells_within_mib(mib: f64) -> u64 {
    (mib * f64::from(1 << 20) / 8.0) as u64
}

#[cfg(test)]
mod tests;
