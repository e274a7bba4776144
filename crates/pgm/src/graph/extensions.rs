//! Tests which cliques can join a model within a size limit. A mechanism does this for every candidate in every round.

use rayon::prelude::*;

use super::attribute_set::AttributeSet;
use super::elimination::{Elimination, EliminationHeuristic, MaximalClique, MoralGraph};
use crate::domain::{Clique, Domain};
use crate::graph::JunctionTree;

/// The cliques measured so far and a limit, prepared for testing many cliques.
///
/// The answer is that of [`JunctionTree::is_tractable`](super::JunctionTree::is_tractable) for the measured cliques and
/// one more. Min-fill first eliminates the attributes that need no new edge, and their order does not change the final
/// maximal cliques. An attribute whose neighbors are all joined stays so when a clique without it is added. So these
/// attributes are eliminated once, here, and each test continues the elimination after them. Only the attributes of the
/// tested clique, and those that depend on them, are put back.
#[derive(Debug)]
pub struct Extensions {
    graph: MoralGraph,
    limit: u64,
    /// The attributes that min-fill eliminates without a new edge, in order.
    free: Vec<Free>,
    /// The other attributes.
    kernel: AttributeSet,
}

/// An attribute eliminated without a new edge.
#[derive(Debug)]
struct Free {
    attribute: usize,
    /// The attribute with its neighbors at that time.
    clique: AttributeSet,
    /// That clique, if no earlier one contains it.
    maximal: Option<MaximalClique>,
}

/// Memory that is reused from test to test.
#[derive(Debug, Default)]
pub struct Scratch {
    elimination: Elimination,
    left: AttributeSet,
}

impl Extensions {
    /// Decides which cliques can join these `measured` ones in a model of at most `limit_cells` cells.
    pub fn new(domain: &Domain, measured: &[Clique], limit_cells: u64) -> Self {
        let graph = MoralGraph::new(domain, measured);
        let mut elimination = Elimination::default();
        elimination.begin(&graph, EliminationHeuristic::MinFill);
        let mut free = Vec::new();
        let mut kernel = graph.attributes();
        while elimination.least_cost() == Some(0) {
            let found = elimination.maximal().len();
            if let Some(attribute) = elimination.step(&graph) {
                let maximal = elimination.maximal().get(found).cloned();
                kernel.remove(attribute);
                free.push(Free { attribute, clique: elimination.clique().clone(), maximal });
            }
        }
        Self { graph, limit: limit_cells, free, kernel }
    }

    /// Which of these cliques can join, each alone. Those inside a maximal clique of `tree`, the junction tree of the measured
    /// cliques, always can. One with a pair that cannot is refused without a test of its own: the best model with all edges of a
    /// clique is no smaller than the best one with a single edge. (The orders that are tried are greedy, so it might have passed
    /// [`allow`](Self::allow) by luck.)
    pub fn allowed(&self, tree: &JunctionTree, cliques: &[Clique]) -> Vec<bool> {
        let is_held: Vec<bool> = cliques.par_iter().map(|c| tree.host(c).is_some()).collect();
        let others = cliques.iter().zip(&is_held).filter(|(_, held)| !**held);
        let refused = self.refused_pairs(others.map(|(clique, _)| clique));
        let is_refused = |(a, b): (usize, usize)| refused[a].contains(b);
        cliques
            .par_iter()
            .zip(is_held)
            .map_init(Scratch::default, |scratch, (clique, held)| {
                held || (!pairs(clique).any(is_refused) && self.allow(clique, scratch))
            })
            .collect()
    }

    /// For each attribute, those after it with which it cannot join, as far as some clique of three attributes and more has both.
    fn refused_pairs<'c>(&self, cliques: impl Iterator<Item = &'c Clique>) -> Vec<AttributeSet> {
        let attributes = self.graph.len();
        let mut refused = vec![AttributeSet::empty(attributes); attributes];
        for (a, b) in cliques.filter(|clique| clique.len() > 2).flat_map(pairs) {
            if !self.graph.are_joined(a, b) {
                refused[a].insert(b);
            }
        }
        refused.par_iter_mut().enumerate().for_each_init(Scratch::default, |scratch, (a, with)| {
            for b in with.clone().iter() {
                if self.allow(&Clique::new([a, b]), scratch) {
                    with.remove(b);
                }
            }
        });
        refused
    }

    /// Whether the model stays within the limit when this clique is measured as well.
    pub fn allow(&self, clique: &Clique, scratch: &mut Scratch) -> bool {
        let Scratch { elimination, left } = scratch;
        left.clone_from(&self.kernel);
        clique.iter().for_each(|a| left.insert(a));
        if self.graph.cells_of(clique) > self.limit {
            return false;
        }
        for free in &self.free {
            if left.contains(free.attribute) {
                left.union_with(&free.clique);
            }
        }
        let gone = self.free.iter().filter(|free| !left.contains(free.attribute));
        let found = gone.filter_map(|free| free.maximal.as_ref());
        elimination.resume(&self.graph, EliminationHeuristic::MinFill, clique, left, found);
        elimination.stays_within(&self.graph, self.limit) || {
            left.clone_from(&self.graph.attributes());
            elimination.resume(&self.graph, EliminationHeuristic::MinWeight, clique, left, []);
            elimination.stays_within(&self.graph, self.limit)
        }
    }
}

/// All pairs of a clique's attributes, the smaller one first.
fn pairs(clique: &Clique) -> impl Iterator<Item = (usize, usize)> {
    clique.iter().flat_map(move |a| clique.iter().filter(move |b| *b > a).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests;
