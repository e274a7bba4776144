//! Greedy triangulation of the moral graph: elimination orders and maximal cliques.

use std::collections::BTreeMap;

use super::attribute_set::{AttributeSet, ManyWords, Words};
use super::elimination::{Elimination, EliminationHeuristic, MoralGraph};
use crate::domain::{Clique, Domain};

/// An elimination order and its cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Triangulation {
    /// All attributes, in the order of elimination.
    pub order: Vec<usize>,
    /// For each step, the eliminated attribute with its neighbors at that time.
    pub elimination_cliques: Vec<Clique>,
    /// The maximal cliques of the triangulated graph, sorted.
    pub maximal_cliques: Vec<Clique>,
    /// Cells of all maximal cliques; `u64::MAX` if the sum does not fit.
    pub cells: u64,
}

impl Triangulation {
    /// Triangulates the moral graph of these cliques: the smaller of min-fill and min-weight.
    ///
    /// Attributes of the domain that no clique holds are maximal cliques of their own.
    pub fn new(domain: &Domain, cliques: &[Clique]) -> Self {
        match domain.len() {
            ..=64 => Self::smaller(&MoralGraph::<Words<1>>::new(domain, cliques)),
            65..=128 => Self::smaller(&MoralGraph::<Words<2>>::new(domain, cliques)),
            129..=256 => Self::smaller(&MoralGraph::<Words<4>>::new(domain, cliques)),
            _ => Self::smaller(&MoralGraph::<ManyWords>::new(domain, cliques)),
        }
    }

    /// Whether that of these cliques has at most `limit` cells.
    pub(super) fn is_within(domain: &Domain, cliques: &[Clique], limit: u64) -> bool {
        fn in_sets<S: AttributeSet>(graph: &MoralGraph<S>, limit: u64) -> bool {
            let mut elimination = Elimination::default();
            [EliminationHeuristic::MinFill, EliminationHeuristic::MinWeight].into_iter().any(|by| {
                elimination.begin(graph, by);
                elimination.stays_within(graph, limit)
            })
        }
        match domain.len() {
            ..=64 => in_sets(&MoralGraph::<Words<1>>::new(domain, cliques), limit),
            65..=128 => in_sets(&MoralGraph::<Words<2>>::new(domain, cliques), limit),
            129..=256 => in_sets(&MoralGraph::<Words<4>>::new(domain, cliques), limit),
            _ => in_sets(&MoralGraph::<ManyWords>::new(domain, cliques), limit),
        }
    }

    fn smaller<S: AttributeSet>(graph: &MoralGraph<S>) -> Self {
        let fill = Self::by(EliminationHeuristic::MinFill, graph);
        let weight = Self::by(EliminationHeuristic::MinWeight, graph);
        if fill.cells <= weight.cells { fill } else { weight }
    }

    fn by<S: AttributeSet>(heuristic: EliminationHeuristic, graph: &MoralGraph<S>) -> Self {
        let mut elimination = Elimination::default();
        elimination.begin(graph, heuristic);
        let (mut order, mut elimination_cliques) = (Vec::new(), Vec::new());
        while let Some(attribute) = elimination.step(graph) {
            order.push(attribute);
            elimination_cliques.push(Clique::new(elimination.clique().iter()));
        }
        let mut maximal_cliques: Vec<Clique> =
            elimination.maximal().iter().map(|m| Clique::new(m.attributes.iter())).collect();
        maximal_cliques.sort();
        Self { order, elimination_cliques, maximal_cliques, cells: elimination.cells() }
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

#[cfg(test)]
mod tests;
