//! The moral graph, and its greedy elimination one attribute at a time.

use super::attribute_set::AttributeSet;
use crate::domain::{Clique, Domain};

/// How the next attribute to eliminate is chosen. Ties go to the attribute that comes first in the domain.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum EliminationHeuristic {
    /// The attribute whose elimination adds the fewest edges.
    #[default]
    MinFill,
    /// The attribute whose elimination clique has the fewest cells.
    MinWeight,
}

/// The moral graph of some cliques: attributes are joined when a clique holds both, or a structural zero that fits know.
#[derive(Clone, Debug)]
pub(super) struct MoralGraph {
    cardinalities: Vec<u64>,
    neighbors: Vec<AttributeSet>,
}

impl MoralGraph {
    pub(super) fn new<'c>(domain: &Domain, cliques: impl IntoIterator<Item = &'c Clique>) -> Self {
        let d = domain.len();
        let mut graph = Self {
            cardinalities: (0..d).map(|a| domain.cardinality(a) as u64).collect(),
            neighbors: vec![AttributeSet::empty(d); d],
        };
        for clique in cliques {
            join(&mut graph.neighbors, clique);
        }
        for zero in domain.fitted_zeros() {
            join(&mut graph.neighbors, zero.clique());
        }
        graph
    }

    /// All attributes.
    pub(super) fn attributes(&self) -> AttributeSet {
        AttributeSet::all(self.neighbors.len())
    }

    /// Number of attributes.
    pub(super) fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Whether two attributes are joined.
    pub(super) fn are_joined(&self, a: usize, b: usize) -> bool {
        self.neighbors[a].contains(b)
    }

    /// Cells of the table of a clique; `u64::MAX` if they do not fit.
    pub(super) fn cells_of(&self, clique: &Clique) -> u64 {
        clique.iter().fold(1, |n, a| n.saturating_mul(self.cardinalities[a]))
    }

    /// Cells of a table over these attributes; `u64::MAX` if they do not fit.
    pub(super) fn cells(&self, set: &AttributeSet) -> u64 {
        set.iter().fold(1, |n, a| n.saturating_mul(self.cardinalities[a]))
    }
}

/// Joins all attributes of a clique.
fn join(neighbors: &mut [AttributeSet], clique: &Clique) {
    for a in clique.iter() {
        for b in clique.iter().filter(|b| *b != a) {
            neighbors[a].insert(b);
        }
    }
}

/// A maximal clique found by elimination, as attributes with their table's cells.
#[derive(Clone, Debug, Default)]
pub(super) struct MaximalClique {
    pub attributes: AttributeSet,
    pub cells: u64,
}

/// An elimination in progress. One value serves many graphs and reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Elimination {
    heuristic: EliminationHeuristic,
    /// Attributes not yet eliminated.
    left: AttributeSet,
    /// For each of them, its neighbors among them and its heuristic cost.
    neighbors: Vec<AttributeSet>,
    costs: Vec<u64>,
    /// The first `found` are the maximal cliques so far; the others are reusable memory.
    maximal: Vec<MaximalClique>,
    found: usize,
    cells: u64,
    around: AttributeSet,
    clique: AttributeSet,
    touched: AttributeSet,
}

impl Elimination {
    /// Begins with a graph.
    pub(super) fn begin(&mut self, graph: &MoralGraph, heuristic: EliminationHeuristic) {
        self.resume(graph, heuristic, &Clique::default(), &graph.attributes(), []);
    }

    /// Begins with a graph to which a clique was added and in which only the attributes `left` remain. The elimination
    /// of the others added no edge and gave these maximal cliques.
    pub(super) fn resume<'m>(
        &mut self,
        graph: &MoralGraph,
        heuristic: EliminationHeuristic,
        added: &Clique,
        left: &AttributeSet,
        found: impl IntoIterator<Item = &'m MaximalClique>,
    ) {
        self.heuristic = heuristic;
        self.left.clone_from(left);
        self.neighbors.clone_from(&graph.neighbors);
        join(&mut self.neighbors, added);
        self.costs.clear();
        self.costs.resize(self.neighbors.len(), 0);
        for a in left.iter() {
            self.neighbors[a].intersect_with(left);
        }
        for a in left.iter() {
            self.costs[a] = self.cost(graph, a);
        }
        self.found = 0;
        self.cells = 0;
        for clique in found {
            self.keep(&clique.attributes, clique.cells);
        }
    }

    /// Eliminates one attribute; `None` if none is left. [`clique`](Self::clique) then is its elimination clique.
    pub(super) fn step(&mut self, graph: &MoralGraph) -> Option<usize> {
        let v = self.left.iter().min_by_key(|a| self.costs[*a])?;
        self.left.remove(v);
        let mut around = std::mem::take(&mut self.around);
        let mut clique = std::mem::take(&mut self.clique);
        around.clone_from(&self.neighbors[v]);
        clique.clone_from(&around);
        clique.insert(v);
        // An elimination clique is maximal unless an earlier one contains it.
        if !self.maximal().iter().any(|m| clique.is_subset(&m.attributes)) {
            self.keep(&clique, graph.cells(&clique));
        }
        self.touched.clone_from(&around);
        for a in around.iter() {
            let filled = around.count_outside(&self.neighbors[a]) > 1;
            self.neighbors[a].union_with(&around);
            self.neighbors[a].remove(a);
            self.neighbors[a].remove(v);
            // A new edge changes the fill of every common neighbor of its ends.
            if filled && self.heuristic == EliminationHeuristic::MinFill {
                self.touched.union_with(&self.neighbors[a]);
            }
        }
        let touched = std::mem::take(&mut self.touched);
        for a in touched.iter() {
            self.costs[a] = self.cost(graph, a);
        }
        (self.around, self.clique, self.touched) = (around, clique, touched);
        Some(v)
    }

    /// Eliminates the rest; returns whether the maximal cliques have at most `limit` cells.
    pub(super) fn stays_within(&mut self, graph: &MoralGraph, limit: u64) -> bool {
        while self.cells <= limit {
            if self.step(graph).is_none() {
                return true;
            }
        }
        false
    }

    /// The cost of eliminating the currently cheapest attribute.
    pub(super) fn least_cost(&self) -> Option<u64> {
        self.left.iter().map(|a| self.costs[a]).min()
    }

    /// The last eliminated attribute with its neighbors at that time.
    pub(super) fn clique(&self) -> &AttributeSet {
        &self.clique
    }

    /// The maximal cliques so far.
    pub(super) fn maximal(&self) -> &[MaximalClique] {
        &self.maximal[..self.found]
    }

    /// Cells of the maximal cliques so far; `u64::MAX` if the sum does not fit.
    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    fn keep(&mut self, attributes: &AttributeSet, cells: u64) {
        if self.found == self.maximal.len() {
            self.maximal.push(MaximalClique::default());
        }
        let place = &mut self.maximal[self.found];
        place.attributes.clone_from(attributes);
        place.cells = cells;
        self.found += 1;
        self.cells = self.cells.saturating_add(cells);
    }

    fn cost(&self, graph: &MoralGraph, v: usize) -> u64 {
        let around = &self.neighbors[v];
        match self.heuristic {
            EliminationHeuristic::MinWeight => {
                graph.cells(around).saturating_mul(graph.cardinalities[v])
            }
            EliminationHeuristic::MinFill => {
                // Each neighbor counts itself as missing once.
                let missing: u32 =
                    around.iter().map(|a| around.count_outside(&self.neighbors[a])).sum();
                u64::from((missing - around.len()) / 2)
            }
        }
    }
}

#[cfg(test)]
mod tests;
