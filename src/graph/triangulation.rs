//! Greedy triangulation of the moral graph: elimination orders and maximal cliques.

use std::collections::BTreeMap;

use super::attribute_set::AttributeSet;
use crate::domain::{Clique, Domain};

/// How the next attribute to eliminate is chosen. Ties go to the attribute that comes first in the domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EliminationHeuristic {
    /// The attribute whose elimination adds the fewest edges.
    MinFill,
    /// The attribute whose elimination clique has the fewest cells.
    MinWeight,
}

/// An elimination order and what it costs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triangulation {
    /// All attributes, in the order of elimination.
    pub order: Vec<usize>,
    /// For each step, the eliminated attribute with its neighbors at that time.
    pub elimination_cliques: Vec<Clique>,
    /// The maximal cliques of the triangulated graph, sorted.
    pub maximal_cliques: Vec<Clique>,
    /// Cells of all maximal cliques; `u64::MAX` where the sum does not fit.
    pub cells: u64,
}

/// The moral graph of some cliques: attributes are joined when a clique holds both, or a structural zero of the domain.
#[derive(Clone, Debug)]
pub(crate) struct MoralGraph {
    cardinalities: Vec<u64>,
    neighbors: Vec<AttributeSet>,
}

impl MoralGraph {
    pub(crate) fn new<'c>(domain: &Domain, cliques: impl IntoIterator<Item = &'c Clique>) -> Self {
        let d = domain.len();
        let mut graph = Self {
            cardinalities: (0..d).map(|a| domain.cardinality(a) as u64).collect(),
            neighbors: vec![AttributeSet::empty(d); d],
        };
        for clique in cliques {
            graph.connect(clique);
        }
        for zero in domain.structural_zeros() {
            graph.connect(zero.clique());
        }
        graph
    }

    /// Joins all attributes of a clique.
    pub(crate) fn connect(&mut self, clique: &Clique) {
        for a in clique.iter() {
            for b in clique.iter().filter(|b| *b != a) {
                self.neighbors[a].insert(b);
            }
        }
    }

    /// The triangulation with the fewer cells of the two heuristics; min-fill where they are equal.
    pub(crate) fn triangulate(&self) -> Triangulation {
        let fill = self.eliminate(EliminationHeuristic::MinFill, u64::MAX);
        let weight = self.eliminate(EliminationHeuristic::MinWeight, u64::MAX);
        match (fill, weight) {
            (Some(fill), Some(weight)) if fill.cells <= weight.cells => fill,
            (Some(fill), None) => fill,
            (_, Some(weight)) => weight,
            (None, None) => Triangulation {
                order: Vec::new(),
                elimination_cliques: Vec::new(),
                maximal_cliques: Vec::new(),
                cells: u64::MAX,
            },
        }
    }

    /// Cells of the better triangulation when it has at most `limit` of them.
    pub(crate) fn cells_within(&self, limit: u64) -> Option<u64> {
        [EliminationHeuristic::MinWeight, EliminationHeuristic::MinFill]
            .into_iter()
            .find_map(|heuristic| self.eliminate(heuristic, limit))
            .map(|triangulation| triangulation.cells)
    }

    /// Eliminates all attributes; `None` as soon as the maximal cliques hold more than `limit` cells
    /// (with a limit of `u64::MAX` the sum saturates instead).
    pub(crate) fn eliminate(
        &self,
        heuristic: EliminationHeuristic,
        limit: u64,
    ) -> Option<Triangulation> {
        let d = self.neighbors.len();
        let mut neighbors = self.neighbors.clone();
        let mut left: Vec<usize> = (0..d).collect();
        let mut cost: Vec<u64> = (0..d).map(|v| self.cost(heuristic, &neighbors, v)).collect();
        let mut maximal: Vec<AttributeSet> = Vec::new();
        let mut order = Vec::with_capacity(d);
        let mut elimination_cliques = Vec::with_capacity(d);
        let mut cells = 0_u64;
        while let Some(position) = (0..left.len()).min_by_key(|i| (cost[left[*i]], left[*i])) {
            let v = left.remove(position);
            let around = neighbors[v].clone();
            let mut clique = around.clone();
            clique.insert(v);
            // An elimination clique is maximal unless an earlier one holds it.
            if !maximal.iter().any(|m| clique.is_subset(m)) {
                cells = cells.saturating_add(self.weight(&clique));
                if cells > limit {
                    return None;
                }
                maximal.push(clique.clone());
            }
            let mut touched = around.clone();
            for a in around.iter() {
                let filled = around.count_outside(&neighbors[a]) > 1;
                neighbors[a].union_with(&around);
                neighbors[a].remove(a);
                neighbors[a].remove(v);
                // A new edge changes the fill of everybody who sees both of its ends.
                if filled && heuristic == EliminationHeuristic::MinFill {
                    touched.union_with(&neighbors[a]);
                }
            }
            for a in touched.iter() {
                cost[a] = self.cost(heuristic, &neighbors, a);
            }
            order.push(v);
            elimination_cliques.push(Clique::new(clique.iter()));
        }
        let mut maximal_cliques: Vec<Clique> =
            maximal.iter().map(|m| Clique::new(m.iter())).collect();
        maximal_cliques.sort();
        Some(Triangulation { order, elimination_cliques, maximal_cliques, cells })
    }

    fn weight(&self, set: &AttributeSet) -> u64 {
        set.iter().fold(1, |n, a| n.saturating_mul(self.cardinalities[a]))
    }

    fn cost(&self, heuristic: EliminationHeuristic, neighbors: &[AttributeSet], v: usize) -> u64 {
        match heuristic {
            EliminationHeuristic::MinWeight => {
                self.weight(&neighbors[v]).saturating_mul(self.cardinalities[v])
            }
            EliminationHeuristic::MinFill => {
                // Each neighbor counts itself as missing once.
                let missing: u32 =
                    neighbors[v].iter().map(|a| neighbors[v].count_outside(&neighbors[a])).sum();
                u64::from((missing - neighbors[v].len()) / 2)
            }
        }
    }
}

impl Triangulation {
    /// Triangulates the moral graph of these cliques: the smaller of min-fill and min-weight.
    ///
    /// Attributes of the domain that no clique holds are maximal cliques of their own.
    ///
    /// ```
    /// use jointly::{domain::{Clique, Domain}, graph::Triangulation};
    /// let domain = Domain::new([("a", 2), ("b", 3), ("c", 4)])?;
    /// let chain = [Clique::new([0, 1]), Clique::new([1, 2])];
    /// assert_eq!(Triangulation::new(&domain, &chain).cells, 6 + 12);
    /// # Ok::<(), jointly::Error>(())
    /// ```
    pub fn new(domain: &Domain, cliques: &[Clique]) -> Self {
        MoralGraph::new(domain, cliques).triangulate()
    }

    /// For each attribute, the attributes its value depends on when records are drawn in the reverse order
    /// of elimination.
    pub fn parents(&self) -> BTreeMap<usize, Clique> {
        self.order
            .iter()
            .zip(&self.elimination_cliques)
            .map(|(v, clique)| (*v, clique.difference(&Clique::new([*v]))))
            .collect()
    }
}

/// Whether a model over these cliques stays within `limit_cells` cells in all maximal cliques together.
pub(super) fn is_tractable(domain: &Domain, cliques: &[Clique], limit_cells: u64) -> bool {
    MoralGraph::new(domain, cliques).cells_within(limit_cells).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn domain(cardinalities: &[u32]) -> Domain {
        Domain::new(cardinalities.iter().enumerate().map(|(i, k)| (format!("x{i}"), *k)))
            .expect("a domain")
    }

    #[test]
    fn a_cycle_of_four_is_cut_where_the_tables_are_small() {
        let domain = domain(&[10, 2, 10, 2]);
        let cycle = [[0, 1], [1, 2], [2, 3], [0, 3]].map(Clique::new);
        let triangulation = Triangulation::new(&domain, &cycle);
        // The chord {1, 3} makes two triangles of 40 cells; {0, 2} would make two of 200.
        assert_eq!(triangulation.cells, 80);
        assert_eq!(triangulation.maximal_cliques, [Clique::new([0, 1, 3]), Clique::new([1, 2, 3])]);
    }

    #[test]
    fn free_attributes_are_cliques_of_their_own() {
        let triangulation = Triangulation::new(&domain(&[3, 4, 5]), &[Clique::new([0, 1])]);
        assert_eq!(triangulation.cells, 12 + 5);
        assert_eq!(triangulation.parents()[&2], Clique::default());
    }

    #[test]
    fn sizes_that_do_not_fit_saturate_and_are_never_tractable() {
        let domain = domain(&[1 << 24; 12]);
        let all = [Clique::new(0..12)];
        assert_eq!(Triangulation::new(&domain, &all).cells, u64::MAX);
        assert!(!is_tractable(&domain, &all, u64::MAX - 1));
    }

    #[test]
    fn fill_counts_kept_up_to_date_equal_fill_counts_made_anew() {
        // Elimination by recounting everything each step, as a reference.
        let cards: Vec<u32> = (0..14).map(|i| 2 + (i * 7) % 5).collect();
        let domain = domain(&cards);
        let mut state = 12345_u64;
        let mut next = |n: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from((state >> 33) % n).expect("small")
        };
        for _ in 0..50 {
            let cliques: Vec<Clique> =
                (0..12).map(|_| Clique::new([next(14), next(14), next(14)])).collect();
            let graph = MoralGraph::new(&domain, &cliques);
            let fast = graph.eliminate(EliminationHeuristic::MinFill, u64::MAX).expect("no limit");
            let mut neighbors = graph.neighbors.clone();
            let mut left: Vec<usize> = (0..14).collect();
            let mut order = Vec::new();
            while !left.is_empty() {
                let v = *left
                    .iter()
                    .min_by_key(|v| {
                        (graph.cost(EliminationHeuristic::MinFill, &neighbors, **v), **v)
                    })
                    .expect("not empty");
                let around = neighbors[v].clone();
                for a in around.iter() {
                    neighbors[a].union_with(&around);
                    neighbors[a].remove(a);
                    neighbors[a].remove(v);
                }
                left.retain(|a| *a != v);
                order.push(v);
            }
            assert_eq!(fast.order, order);
        }
    }
}
