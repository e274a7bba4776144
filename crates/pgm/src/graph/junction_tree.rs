//! The junction tree: maximal cliques joined along their largest intersections.

use petgraph::algo::min_spanning_tree;
use petgraph::data::Element;
use petgraph::graph::{NodeIndex, UnGraph};
use petgraph::visit::EdgeRef;

use crate::domain::{Clique, Domain};
use crate::graph::Triangulation;

/// Maximal cliques as nodes, separators as edges; one tree for each connected part of the model (a forest).
///
/// Built as a spanning tree of maximum total separator size, which has the running intersection property.
#[derive(Clone, Debug)]
pub struct JunctionTree {
    forest: UnGraph<Clique, Clique>,
    triangulation: Triangulation,
    cells: Vec<u64>,
}

/// A node as seen from the root of its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootedNode {
    /// Position of the clique among the maximal cliques.
    pub clique: usize,
    /// Position of the parent's clique; `None` at a root.
    pub parent: Option<usize>,
    /// Attributes shared with the parent.
    pub separator: Clique,
}

impl JunctionTree {
    /// The junction tree of the moral graph of these cliques.
    ///
    /// ```
    /// use jointly_pgm::{domain::{Clique, Domain}, graph::JunctionTree};
    /// let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)])?;
    /// let tree = JunctionTree::new(&domain, &[Clique::new([0, 1]), Clique::new([1, 2])]);
    /// assert_eq!(tree.maximal_cliques().len(), 2);
    /// assert_eq!(tree.cells(), 18);
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn new(domain: &Domain, cliques: &[Clique]) -> Self {
        Self::from_triangulation(domain, Triangulation::new(domain, cliques))
    }

    fn from_triangulation(domain: &Domain, triangulation: Triangulation) -> Self {
        let cells: Vec<u64> = triangulation
            .maximal_cliques
            .iter()
            .map(|c| domain.cells(c).unwrap_or(u64::MAX))
            .collect();
        // Separators by size, then by fewest cells: `min_spanning_tree` takes the least weight first, and edges
        // of equal weight in a fixed order.
        let mut intersections: UnGraph<Clique, (isize, u64)> = UnGraph::default();
        for clique in &triangulation.maximal_cliques {
            intersections.add_node(clique.clone());
        }
        for (i, a) in triangulation.maximal_cliques.iter().enumerate() {
            for (j, b) in triangulation.maximal_cliques.iter().enumerate().skip(i + 1) {
                let separator = a.intersection(b);
                if !separator.is_empty() {
                    let size = isize::try_from(separator.len()).unwrap_or(isize::MAX);
                    let weight = (-size, domain.cells(&separator).unwrap_or(u64::MAX));
                    intersections.add_edge(NodeIndex::new(i), NodeIndex::new(j), weight);
                }
            }
        }
        let mut forest: UnGraph<Clique, Clique> = UnGraph::default();
        for element in min_spanning_tree(&intersections) {
            match element {
                Element::Node { weight } => {
                    forest.add_node(weight);
                }
                Element::Edge { source, target, .. } => {
                    let (source, target) = (NodeIndex::new(source), NodeIndex::new(target));
                    let separator = forest[source].intersection(&forest[target]);
                    forest.add_edge(source, target, separator);
                }
            }
        }
        Self { forest, triangulation, cells }
    }

    /// Whether a model over these cliques has at most `limit_cells` cells in all maximal cliques together,
    /// found without allocating a table.
    ///
    /// ```
    /// use jointly_pgm::{domain::{Clique, Domain}, graph::JunctionTree};
    /// let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)])?;
    /// let triangle = [Clique::new([0, 1]), Clique::new([1, 2]), Clique::new([0, 2])];
    /// assert!(JunctionTree::is_tractable(&domain, &triangle, 24));
    /// assert!(!JunctionTree::is_tractable(&domain, &triangle, 23));
    /// # Ok::<(), jointly_pgm::Error>(())
    /// ```
    pub fn is_tractable(domain: &Domain, cliques: &[Clique], limit_cells: u64) -> bool {
        Triangulation::is_within(domain, cliques, limit_cells)
    }

    /// The maximal cliques, sorted.
    pub fn maximal_cliques(&self) -> &[Clique] {
        &self.triangulation.maximal_cliques
    }

    /// The elimination order the tree came from.
    pub fn triangulation(&self) -> &Triangulation {
        &self.triangulation
    }

    /// Cells of all maximal cliques together; `u64::MAX` if the sum does not fit.
    pub fn cells(&self) -> u64 {
        self.triangulation.cells
    }

    /// The first of the smallest maximal cliques that contain `clique`.
    pub fn host(&self, clique: &Clique) -> Option<usize> {
        (0..self.maximal_cliques().len())
            .filter(|i| clique.is_subset(&self.maximal_cliques()[*i]))
            .min_by_key(|i| (self.cells[*i], *i))
    }

    /// Neighbors of a maximal clique in the tree, with the separators, in a fixed order.
    pub(crate) fn neighbors(&self, clique: usize) -> Vec<(usize, &Clique)> {
        let mut neighbors: Vec<(usize, &Clique)> = self
            .forest
            .edges(NodeIndex::new(clique))
            .map(|edge| {
                let other =
                    if edge.source().index() == clique { edge.target() } else { edge.source() };
                (other.index(), edge.weight())
            })
            .collect();
        neighbors.sort_unstable_by_key(|(other, _)| *other);
        neighbors
    }

    /// Every clique, parents before children, each part rooted at its largest clique.
    ///
    /// The root sends no message, so the largest clique is walked once, and the others twice.
    pub(crate) fn rooted(&self) -> Vec<RootedNode> {
        let mut by_size: Vec<usize> = (0..self.cells.len()).collect();
        by_size.sort_unstable_by_key(|i| (std::cmp::Reverse(self.cells[*i]), *i));
        let mut seen = vec![false; self.cells.len()];
        let mut nodes = Vec::with_capacity(self.cells.len());
        for root in by_size {
            if seen[root] {
                continue;
            }
            seen[root] = true;
            let mut next = nodes.len();
            nodes.push(RootedNode { clique: root, parent: None, separator: Clique::default() });
            while next < nodes.len() {
                let clique = nodes[next].clique;
                for (other, separator) in self.neighbors(clique) {
                    if !seen[other] {
                        seen[other] = true;
                        nodes.push(RootedNode {
                            clique: other,
                            parent: Some(clique),
                            separator: separator.clone(),
                        });
                    }
                }
                next += 1;
            }
        }
        nodes
    }
}

#[cfg(test)]
mod tests;
