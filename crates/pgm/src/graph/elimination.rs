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
pub(super) struct MoralGraph<S> {
    cardinalities: Vec<u64>,
    neighbors: Vec<S>,
}

impl<S: AttributeSet> MoralGraph<S> {
    pub(super) fn new<'c>(domain: &Domain, cliques: impl IntoIterator<Item = &'c Clique>) -> Self {
        let d = domain.len();
        let mut graph = Self {
            cardinalities: (0..d).map(|a| domain.cardinality(a) as u64).collect(),
            neighbors: vec![S::empty(d); d],
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
    pub(super) fn attributes(&self) -> S {
        S::all(self.neighbors.len())
    }

    /// Number of attributes.
    pub(super) fn len(&self) -> usize {
        self.neighbors.len()
    }

    /// Cells of the table of a clique; `u64::MAX` if they do not fit.
    pub(super) fn cells_of(&self, clique: &Clique) -> u64 {
        clique.iter().fold(1, |n, a| n.saturating_mul(self.cardinalities[a]))
    }

    /// Cells of a table over these attributes; `u64::MAX` if they do not fit.
    pub(super) fn cells(&self, set: &S) -> u64 {
        set.iter().fold(1, |n, a| n.saturating_mul(self.cardinalities[a]))
    }
}

/// Joins all attributes of a clique.
fn join<S: AttributeSet>(neighbors: &mut [S], clique: &Clique) {
    for a in clique.iter() {
        for b in clique.iter().filter(|b| *b != a) {
            neighbors[a].insert(b);
        }
    }
}

/// A maximal clique found by elimination, as attributes with their table's cells.
#[derive(Clone, Debug, Default)]
pub(super) struct MaximalClique<S> {
    pub attributes: S,
    pub cells: u64,
}

/// What is left of a graph during an elimination.
#[derive(Debug, Default)]
pub(super) struct Remaining<S> {
    heuristic: EliminationHeuristic,
    /// Attributes not yet eliminated.
    left: S,
    /// For each of them, its neighbors among them and its heuristic cost.
    neighbors: Vec<S>,
    costs: Vec<u64>,
}

impl<S: AttributeSet> Remaining<S> {
    pub(super) fn left(&self) -> &S {
        &self.left
    }

    /// The cost of eliminating the currently cheapest attribute.
    pub(super) fn least_cost(&self) -> Option<u64> {
        self.left.iter().map(|a| self.costs[a]).min()
    }

    fn cost(&self, graph: &MoralGraph<S>, v: usize) -> u64 {
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

    /// Puts eliminated attributes back, as if they had never been eliminated, and joins the attributes of a clique. Their
    /// elimination must have added no edge, and the clique's attributes must then be left.
    fn put_back(&mut self, graph: &MoralGraph<S>, back: &S, joined: &Clique) {
        self.left.union_with(back);
        for a in back.iter() {
            let mut around = graph.neighbors[a].clone();
            around.intersect_with(&self.left);
            around.iter().for_each(|b| self.neighbors[b].insert(a));
            self.neighbors[a] = around;
        }
        join(&mut self.neighbors, joined);
        // A new edge changes the cost of its ends, and the fill of their common neighbors.
        let mut touched = back.clone();
        joined.iter().for_each(|a| touched.insert(a));
        for a in back.iter().chain(joined.iter()) {
            touched.union_with(&self.neighbors[a]);
        }
        for a in touched.iter() {
            self.costs[a] = self.cost(graph, a);
        }
    }
}

impl<S: AttributeSet> Clone for Remaining<S> {
    fn clone(&self) -> Self {
        Self {
            heuristic: self.heuristic,
            left: self.left.clone(),
            neighbors: self.neighbors.clone(),
            costs: self.costs.clone(),
        }
    }

    /// Reuses the existing memory, which the derived method would not.
    fn clone_from(&mut self, other: &Self) {
        self.heuristic = other.heuristic;
        self.left.clone_from(&other.left);
        self.neighbors.clone_from(&other.neighbors);
        self.costs.clone_from(&other.costs);
    }
}

/// An elimination in progress. One value serves many graphs and reuses its memory.
#[derive(Debug, Default)]
pub(super) struct Elimination<S> {
    remaining: Remaining<S>,
    /// The first `found` are the maximal cliques so far; the others are reusable memory.
    maximal: Vec<MaximalClique<S>>,
    found: usize,
    cells: u64,
    around: S,
    clique: S,
    touched: S,
}

impl<S: AttributeSet> Elimination<S> {
    /// Begins with a graph.
    pub(super) fn begin(&mut self, graph: &MoralGraph<S>, heuristic: EliminationHeuristic) {
        self.remaining.heuristic = heuristic;
        self.remaining.left = graph.attributes();
        self.remaining.neighbors.clone_from(&graph.neighbors);
        self.remaining.costs = (0..graph.len()).map(|a| self.remaining.cost(graph, a)).collect();
        self.found = 0;
        self.cells = 0;
    }

    /// Begins with what is left of a graph, to which these eliminated attributes are put back and a clique is added. The
    /// elimination of the others added no edge and gave these maximal cliques.
    pub(super) fn resume<'m>(
        &mut self,
        graph: &MoralGraph<S>,
        remaining: &Remaining<S>,
        (back, added): (&S, &Clique),
        found: impl IntoIterator<Item = &'m MaximalClique<S>>,
    ) where
        S: 'm,
    {
        self.remaining.clone_from(remaining);
        self.remaining.put_back(graph, back, added);
        self.found = 0;
        self.cells = 0;
        for clique in found {
            self.keep(&clique.attributes, clique.cells);
        }
    }

    /// Eliminates one attribute; `None` if none is left. [`clique`](Self::clique) then is its elimination clique.
    pub(super) fn step(&mut self, graph: &MoralGraph<S>) -> Option<usize> {
        let Remaining { left, neighbors, costs, heuristic } = &mut self.remaining;
        let v = left.iter().min_by_key(|a| costs[*a])?;
        left.remove(v);
        self.around.clone_from(&neighbors[v]);
        self.clique.clone_from(&self.around);
        self.clique.insert(v);
        self.touched.clone_from(&self.around);
        for a in self.around.iter() {
            let filled = self.around.count_outside(&neighbors[a]) > 1;
            neighbors[a].union_with(&self.around);
            neighbors[a].remove(a);
            neighbors[a].remove(v);
            // A new edge changes the fill of every common neighbor of its ends.
            if filled && *heuristic == EliminationHeuristic::MinFill {
                self.touched.union_with(&neighbors[a]);
            }
        }
        for a in self.touched.iter() {
            self.remaining.costs[a] = self.remaining.cost(graph, a);
        }
        // An elimination clique is maximal unless an earlier one contains it.
        let clique = std::mem::take(&mut self.clique);
        if !self.maximal().iter().any(|m| clique.is_subset(&m.attributes)) {
            self.keep(&clique, graph.cells(&clique));
        }
        self.clique = clique;
        Some(v)
    }

    /// Eliminates the rest; returns whether the maximal cliques have at most `limit` cells.
    pub(super) fn stays_within(&mut self, graph: &MoralGraph<S>, limit: u64) -> bool {
        while self.cells <= limit {
            if self.step(graph).is_none() {
                return true;
            }
        }
        false
    }

    /// What is left of the graph.
    pub(super) fn remaining(&self) -> &Remaining<S> {
        &self.remaining
    }

    /// The last eliminated attribute with its neighbors at that time.
    pub(super) fn clique(&self) -> &S {
        &self.clique
    }

    /// The maximal cliques so far.
    pub(super) fn maximal(&self) -> &[MaximalClique<S>] {
        &self.maximal[..self.found]
    }

    /// Cells of the maximal cliques so far; `u64::MAX` if the sum does not fit.
    pub(super) fn cells(&self) -> u64 {
        self.cells
    }

    fn keep(&mut self, attributes: &S, cells: u64) {
        if self.found == self.maximal.len() {
            self.maximal.push(MaximalClique::default());
        }
        let place = &mut self.maximal[self.found];
        place.attributes.clone_from(attributes);
        place.cells = cells;
        self.found += 1;
        self.cells = self.cells.saturating_add(cells);
    }
}

#[cfg(test)]
mod tests;
