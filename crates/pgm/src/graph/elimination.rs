//! The moral graph, and its greedy elimination one attribute at a time.

#![expect(
    clippy::inline_always,
    reason = "a test must be compiled inside the function that enables the machine's instructions"
)]

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
    #[inline(always)]
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
    /// For each of them, its neighbors among them.
    neighbors: Vec<S>,
    /// For each of them, its heuristic cost; `u64::MAX` for the others.
    costs: Vec<u64>,
}

impl<S: AttributeSet> Remaining<S> {
    pub(super) fn left(&self) -> &S {
        &self.left
    }

    /// The cost of eliminating the currently cheapest attribute.
    pub(super) fn least_cost(&self) -> Option<u64> {
        self.cheapest().map(|a| self.costs[a])
    }

    /// The currently cheapest attribute.
    #[inline(always)]
    fn cheapest(&self) -> Option<usize> {
        match self.costs.iter().copied().min() {
            // Only attributes whose costs do not fit are left, or none.
            None | Some(u64::MAX) => self.left.iter().next(),
            Some(least) => self.costs.iter().position(|cost| *cost == least),
        }
    }

    #[inline(always)]
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

    /// Joins two attributes that are not joined. Their common neighbors then miss an edge less; each of the two misses edges
    /// from the other to those of its neighbors that are not also the other's.
    #[inline(always)]
    fn add_edge(&mut self, a: usize, b: usize) {
        let mut common = self.neighbors[a].clone();
        common.intersect_with(&self.neighbors[b]);
        common.iter().for_each(|c| self.costs[c] -= 1);
        let shared = common.len();
        for (end, other) in [(a, b), (b, a)] {
            self.costs[end] += u64::from(self.neighbors[end].len() - shared);
            self.neighbors[end].insert(other);
        }
    }

    /// Eliminates an attribute: joins its neighbors, and keeps all costs up to date. `around` is overwritten with them.
    #[inline(always)]
    fn eliminate(&mut self, graph: &MoralGraph<S>, v: usize, around: &mut S) {
        around.clone_from(&self.neighbors[v]);
        match self.heuristic {
            EliminationHeuristic::MinFill => {
                for a in around.iter() {
                    // The edges that v still misses: every new one is between two of its neighbors.
                    if self.costs[v] == 0 {
                        break;
                    }
                    let mut missing = around.clone();
                    missing.remove_all(&self.neighbors[a]);
                    missing.iter().filter(|b| *b != a).for_each(|b| self.add_edge(a, b));
                }
                for a in around.iter() {
                    // The edges that `a` misses from v to its other neighbors.
                    let own = &mut self.neighbors[a];
                    own.remove(v);
                    self.costs[a] -= u64::from(own.count_outside(around));
                }
            }
            EliminationHeuristic::MinWeight => {
                for a in around.iter() {
                    let own = &mut self.neighbors[a];
                    let mut new = around.clone();
                    new.remove_all(own);
                    new.remove(a);
                    own.union_with(&new);
                    own.remove(v);
                    self.costs[a] = match self.costs[a] {
                        // A product that did not fit says nothing of what is left of it.
                        u64::MAX => self.cost(graph, a),
                        cost => (cost / graph.cardinalities[v]).saturating_mul(graph.cells(&new)),
                    };
                }
            }
        }
        self.left.remove(v);
        self.costs[v] = u64::MAX;
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
    clique: S,
    /// For each attribute, the size of the largest maximal clique so far that has it.
    largest: Vec<u32>,
}

impl<S: AttributeSet> Elimination<S> {
    /// Begins with a graph.
    pub(super) fn begin(&mut self, graph: &MoralGraph<S>, heuristic: EliminationHeuristic) {
        self.remaining.heuristic = heuristic;
        self.remaining.left = graph.attributes();
        self.remaining.neighbors.clone_from(&graph.neighbors);
        self.remaining.costs = (0..graph.len()).map(|a| self.remaining.cost(graph, a)).collect();
        self.clear(graph);
    }

    /// Forgets all maximal cliques.
    fn clear(&mut self, graph: &MoralGraph<S>) {
        self.found = 0;
        self.cells = 0;
        self.largest.clear();
        self.largest.resize(graph.len(), 0);
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
        self.clear(graph);
        for clique in found {
            self.keep(&clique.attributes, clique.cells);
        }
    }

    /// Eliminates one attribute; `None` if none is left. [`clique`](Self::clique) then is its elimination clique.
    #[inline(always)]
    pub(super) fn step(&mut self, graph: &MoralGraph<S>) -> Option<usize> {
        let v = self.remaining.cheapest()?;
        let mut clique = std::mem::take(&mut self.clique);
        self.remaining.eliminate(graph, v, &mut clique);
        clique.insert(v);
        // An elimination clique is maximal unless an earlier one, which has its own attribute beside it, contains it.
        let is_inside = |m: &MaximalClique<S>| clique.is_subset(&m.attributes);
        if self.largest[v] <= clique.len() || !self.maximal().iter().any(is_inside) {
            self.keep(&clique, graph.cells(&clique));
        }
        self.clique = clique;
        Some(v)
    }

    /// Eliminates the rest; returns whether the maximal cliques have at most `limit` cells.
    #[inline(always)]
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

    #[inline(always)]
    fn keep(&mut self, attributes: &S, cells: u64) {
        if self.found == self.maximal.len() {
            self.maximal.push(MaximalClique::default());
        }
        let place = &mut self.maximal[self.found];
        place.attributes.clone_from(attributes);
        place.cells = cells;
        let size = attributes.len();
        attributes.iter().for_each(|a| self.largest[a] = self.largest[a].max(size));
        self.found += 1;
        self.cells = self.cells.saturating_add(cells);
    }
}

#[cfg(test)]
mod tests;
