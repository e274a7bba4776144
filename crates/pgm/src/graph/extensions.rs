//! Tests which cliques can join a model within a size limit. A mechanism does this for every candidate in every round.

#![expect(
    clippy::inline_always,
    reason = "a test must be compiled inside the function that enables the machine's instructions"
)]

use std::fmt::Debug;
use std::sync::OnceLock;

use pulp::{Arch, Simd, WithSimd};
use rayon::prelude::*;

use super::attribute_set::{AttributeSet, ManyWords, Words};
use super::elimination::{Elimination, EliminationHeuristic, MaximalClique, MoralGraph, Remaining};
use crate::domain::{Clique, Domain};
use crate::graph::JunctionTree;

/// A clique is refused without a test of its own if no order finds a model of so many times the limit that holds one of its pairs.
/// Decision 56: at most 2 in 1,000 of the triples that can join are refused so; it saves half of the time and more.
const FAR: u64 = 8;

/// The cliques measured so far and a limit, prepared for testing many cliques.
///
/// The answer is that of [`JunctionTree::is_tractable`](super::JunctionTree::is_tractable) for the measured cliques and
/// one more. Min-fill first eliminates the attributes that need no new edge, and their order does not change the final
/// maximal cliques. An attribute whose neighbors are all joined stays so when a clique without it is added. So these
/// attributes are eliminated once, here, and each test continues the elimination after them. Only the attributes of the
/// tested clique, and those that depend on them, are put back.
#[derive(Debug)]
pub struct Extensions(Box<dyn Tests>);

impl Extensions {
    /// Decides which cliques can join these `measured` ones in a model of at most `limit_cells` cells.
    pub fn new(domain: &Domain, measured: &[Clique], limit_cells: u64) -> Self {
        Self(match domain.len() {
            ..=64 => Box::new(Prepared::<Words<1>>::new(domain, measured, limit_cells)),
            65..=128 => Box::new(Prepared::<Words<2>>::new(domain, measured, limit_cells)),
            129..=256 => Box::new(Prepared::<Words<4>>::new(domain, measured, limit_cells)),
            _ => Box::new(Prepared::<ManyWords>::new(domain, measured, limit_cells)),
        })
    }

    /// Whether the model stays within the limit when this clique is measured as well.
    pub fn allow(&self, clique: &Clique) -> bool {
        self.0.allow(clique)
    }

    /// Which of these cliques can join, each alone. Those inside a maximal clique of `tree`, the junction tree of the measured
    /// cliques, always can.
    ///
    /// The best model with all edges of a clique is no smaller than the best one with a single edge. So one with a pair whose model
    /// is far above the limit, by a factor of 8, is refused without a test of its own. A pair that is just above it says
    /// nothing: the orders that are tried are greedy, and often find a smaller model for a clique than for its pair
    /// (`docs/adr/0056-cliques-are-not-refused-for-their-pairs.md`).
    pub fn allowed(&self, tree: &JunctionTree, cliques: &[Clique]) -> Vec<bool> {
        let limit = self.0.limit();
        self.cells_with(tree, cliques, limit).into_iter().map(|cells| cells <= limit).collect()
    }

    /// The cells of the model with each of these cliques, if they are within the limit; otherwise a number above the limit, at which
    /// counting ended, or eight times the limit for those that [`allowed`](Self::allowed) refuses for a pair. 0 stands for those that the
    /// tree holds. A second order is not tried where the first has at most `enough` cells.
    pub fn cells_with(&self, tree: &JunctionTree, cliques: &[Clique], enough: u64) -> Vec<u64> {
        self.0.cells_with(tree, cliques, enough)
    }
}

/// [`Extensions`] for sets of any type.
trait Tests: Debug + Send + Sync {
    fn limit(&self) -> u64;

    fn allow(&self, clique: &Clique) -> bool;

    fn cells_with(&self, tree: &JunctionTree, cliques: &[Clique], enough: u64) -> Vec<u64>;
}

/// [`Extensions`] for sets of one type.
#[derive(Debug)]
struct Prepared<S> {
    graph: MoralGraph<S>,
    limit: u64,
    /// The attributes that min-fill eliminates without a new edge, in order.
    free: Vec<Free<S>>,
    /// What min-fill leaves then.
    kernel: Remaining<S>,
    /// All attributes, for min-weight.
    whole: Remaining<S>,
    /// For each pair `a < b`, at `a d + b`, whether a model of [`FAR`] times the limit may hold it, once that is known.
    pairs: Vec<OnceLock<bool>>,
}

/// An attribute eliminated without a new edge.
#[derive(Debug)]
struct Free<S> {
    attribute: usize,
    /// The attribute with its neighbors at that time.
    clique: S,
    /// That clique, if no earlier one contains it.
    maximal: Option<MaximalClique<S>>,
}

/// Memory that is reused from test to test.
#[derive(Debug, Default)]
struct Scratch<S> {
    elimination: Elimination<S>,
    back: S,
}

impl<S: AttributeSet + 'static> Prepared<S> {
    fn new(domain: &Domain, measured: &[Clique], limit: u64) -> Self {
        let graph = MoralGraph::<S>::new(domain, measured);
        let mut elimination = Elimination::default();
        elimination.begin(&graph, EliminationHeuristic::MinWeight);
        let whole = elimination.remaining().clone();
        elimination.begin(&graph, EliminationHeuristic::MinFill);
        let mut free = Vec::new();
        while elimination.remaining().least_cost() == Some(0) {
            let found = elimination.maximal().len();
            if let Some(attribute) = elimination.step(&graph) {
                let maximal = elimination.maximal().get(found).cloned();
                free.push(Free { attribute, clique: elimination.clique().clone(), maximal });
            }
        }
        let kernel = elimination.remaining().clone();
        let pairs = vec![OnceLock::new(); graph.len() * graph.len()];
        Self { graph, limit, free, kernel, whole, pairs }
    }

    /// Whether a clique of three attributes or more has a pair that is far from joining.
    fn has_far_pair(&self, clique: &Clique, scratch: &mut Scratch<S>) -> bool {
        let mut is_far = |(a, b): (usize, usize)| {
            let known = &self.pairs[a * self.graph.len() + b];
            let most = self.limit.saturating_mul(FAR);
            let may = || self.cells(&Clique::new([a, b]), [most; 2], scratch) <= most;
            !*known.get_or_init(may)
        };
        clique.len() > 2 && pairs(clique).any(&mut is_far)
    }

    /// The cells of the model with this clique if they are at most `most`; otherwise a number above it. Where min-fill has at most
    /// `enough`, min-weight is not tried.
    fn cells(&self, clique: &Clique, within: [u64; 2], scratch: &mut Scratch<S>) -> u64 {
        Arch::new().dispatch(CellsWith { prepared: self, clique, within, scratch })
    }
}

/// What [`Prepared::cells`] counts, with the instructions that this machine has for sets of bits.
struct CellsWith<'a, S> {
    prepared: &'a Prepared<S>,
    clique: &'a Clique,
    within: [u64; 2],
    scratch: &'a mut Scratch<S>,
}

impl<S: AttributeSet + 'static> WithSimd for CellsWith<'_, S> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<V: Simd>(self, _: V) -> u64 {
        let Self { prepared: Prepared { graph, free, kernel, whole, .. }, clique, .. } = self;
        let [enough, most] = self.within;
        let own = graph.cells_of(clique);
        if own > most {
            return own;
        }
        let Scratch { elimination, back } = self.scratch;
        let wanted = |a: usize, back: &S| back.contains(a) || clique.iter().any(|b| a == b);
        back.clone_from(&S::empty(graph.len()));
        for free in free {
            if wanted(free.attribute, back) {
                back.union_with(&free.clique);
            }
        }
        back.remove_all(kernel.left());
        let gone = free.iter().filter(|free| !back.contains(free.attribute));
        let found = gone.filter_map(|free| free.maximal.as_ref());
        elimination.resume(graph, kernel, (back, clique), found);
        elimination.stays_within(graph, most);
        let by_fill = elimination.cells();
        if by_fill <= enough {
            return by_fill;
        }
        back.clone_from(&S::empty(graph.len()));
        elimination.resume(graph, whole, (back, clique), []);
        elimination.stays_within(graph, most);
        by_fill.min(elimination.cells())
    }
}

impl<S: AttributeSet + 'static> Tests for Prepared<S> {
    fn limit(&self) -> u64 {
        self.limit
    }

    fn allow(&self, clique: &Clique) -> bool {
        self.cells(clique, [self.limit; 2], &mut Scratch::default()) <= self.limit
    }

    fn cells_with(&self, tree: &JunctionTree, cliques: &[Clique], enough: u64) -> Vec<u64> {
        let of = |scratch: &mut Scratch<S>, clique: &Clique| {
            if tree.host(clique).is_some() {
                0
            } else if self.has_far_pair(clique, scratch) {
                self.limit.saturating_mul(FAR)
            } else {
                self.cells(clique, [enough, self.limit], scratch)
            }
        };
        cliques.par_iter().map_init(Scratch::default, of).collect()
    }
}

/// All pairs of a clique's attributes, the smaller one first.
fn pairs(clique: &Clique) -> impl Iterator<Item = (usize, usize)> {
    clique.iter().flat_map(move |a| clique.iter().filter(move |b| *b > a).map(move |b| (a, b)))
}

#[cfg(test)]
mod tests;
