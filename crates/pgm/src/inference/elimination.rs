//! Which messages a marginal off the tree needs, what that costs, and which marginals share it.

use std::collections::{BTreeMap, BTreeSet};

use rayon::prelude::*;

use crate::domain::Clique;
use crate::inference::calibrated::Calibrated;

/// Computes the marginal on one connected part of a clique: eliminates towards the root, message by message.
#[derive(Clone, Debug)]
pub(super) struct Elimination {
    /// Nodes of the smallest subtree that covers the part, children (seen from the root) first, the root last.
    pub(super) steps: Vec<Step>,
    pub(super) part: Clique,
    cells: u64,
}

/// One message of an elimination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Step {
    pub(super) node: usize,
    /// The neighbor the message goes to; `None` at the root of the subtree.
    pub(super) towards: Option<usize>,
    /// Attributes of the requested clique that the message carries.
    pub(super) carried: Clique,
}

/// A product that steps sum out: its node, where they go, and the messages that it receives. Steps that differ only in
/// what they carry of the node's own attributes share it.
pub(super) type Product<'e> = (usize, Option<usize>, Vec<&'e Step>);

impl Elimination {
    /// The messages, which are all steps but the last.
    pub(super) fn messages(&self) -> impl Iterator<Item = &Step> {
        self.steps.iter().filter(|step| step.towards.is_some())
    }

    /// The product of one of the steps.
    pub(super) fn product(&self, step: &Step) -> Product<'_> {
        let received = self.steps.iter().filter(|before| before.towards == Some(step.node));
        (step.node, step.towards, received.collect())
    }

    /// The last product; `None` without any step.
    pub(super) fn end(&self) -> Option<Product<'_>> {
        self.steps.last().map(|root| self.product(root))
    }
}

impl Calibrated {
    /// Cells that the elimination for a clique visits; `u64::MAX` if that does not fit.
    pub(crate) fn work(&self, clique: &Clique) -> u64 {
        self.parts(clique).iter().fold(0, |n, part| n.saturating_add(part.cells))
    }

    /// The positions of cliques whose marginals visit at most `cells` cells together, in an order in which neighbors share
    /// messages and products, and the positions of the others, in increasing order.
    ///
    /// Cliques that end in one product are taken together or not at all, those with the least work a clique first.
    pub(crate) fn affordable(&self, cliques: &[Clique], cells: u64) -> (Vec<usize>, Vec<usize>) {
        let eliminations: Vec<Vec<Elimination>> =
            cliques.par_iter().map(|clique| self.parts(clique)).collect();
        let mut groups: BTreeMap<Vec<Product<'_>>, Vec<usize>> = BTreeMap::new();
        for (place, parts) in eliminations.iter().enumerate() {
            let ends = parts.iter().filter_map(Elimination::end).collect();
            groups.entry(ends).or_default().push(place);
        }
        let mut groups: Vec<(f64, Vec<usize>)> = groups
            .into_values()
            .map(|places| {
                let work = eliminations[places[0]].iter().map(|part| part.cells as f64);
                (work.sum::<f64>() / places.len() as f64, places)
            })
            .collect();
        groups.sort_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
        let (mut within, mut others) = (Vec::new(), Vec::new());
        let (mut left, mut made) = (cells, BTreeSet::new());
        for (_, places) in groups {
            let mut fresh: BTreeMap<Product<'_>, u64> = BTreeMap::new();
            for place in &places {
                for part in &eliminations[*place] {
                    let products =
                        part.steps.iter().map(|step| (part.product(step), self.visited(step)));
                    fresh.extend(products.filter(|(product, _)| !made.contains(product)));
                }
            }
            match left.checked_sub(fresh.values().copied().fold(0, u64::saturating_add)) {
                Some(rest) => {
                    left = rest;
                    made.extend(fresh.into_keys());
                    within.extend(places);
                }
                None => others.extend(places),
            }
        }
        others.sort_unstable();
        (within, others)
    }

    /// Cells that a step visits: those of its node with the attributes that it carries.
    fn visited(&self, step: &Step) -> u64 {
        self.cells(&self.structure.nodes[step.node].clique.union(&step.carried))
    }

    /// One elimination for each tree of the forest that the clique touches.
    pub(super) fn parts(&self, clique: &Clique) -> Vec<Elimination> {
        let mut by_tree: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for attribute in clique.iter() {
            if let Some(tree) = self.structure.tree_of[attribute] {
                by_tree.entry(tree).or_default().push(attribute);
            }
        }
        let part = |(tree, attributes): (usize, Vec<usize>)| {
            self.eliminate(&self.structure.trees[tree], Clique::new(attributes))
        };
        by_tree.into_iter().map(part).collect()
    }

    /// The cheapest elimination for a clique whose attributes all lie in one tree.
    fn eliminate(&self, members: &[usize], part: Clique) -> Elimination {
        let nodes = &self.structure.nodes;
        if let Some(host) = members
            .iter()
            .filter(|n| part.is_subset(&nodes[**n].clique))
            .min_by_key(|n| (self.cells(&nodes[**n].clique), **n))
        {
            let step = Step { node: *host, towards: None, carried: Clique::default() };
            return Elimination {
                steps: vec![step],
                cells: self.cells(&nodes[*host].clique),
                part,
            };
        }
        let subtree = self.covering_subtree(members, &part);
        let best = subtree
            .iter()
            .map(|root| {
                let steps = self.steps(&subtree, *root, &part);
                let cells =
                    steps.iter().fold(0_u64, |n, step| n.saturating_add(self.visited(step)));
                (cells, *root, steps)
            })
            .min_by_key(|(cells, root, _)| (*cells, *root));
        let (cells, _, steps) = best.unwrap_or((u64::MAX, 0, Vec::new()));
        Elimination { steps, part, cells }
    }

    /// The rest of a tree after pruning leaves that add no attribute of the clique beyond their separator.
    fn covering_subtree(&self, members: &[usize], part: &Clique) -> Vec<usize> {
        let nodes = &self.structure.nodes;
        let around = |n: usize| nodes[n].children.iter().copied().chain(nodes[n].parent);
        let mut kept = vec![false; nodes.len()];
        let mut degree = vec![0_usize; nodes.len()];
        for n in members {
            kept[*n] = true;
            degree[*n] = around(*n).count();
        }
        let mut leaves: Vec<usize> = members.iter().copied().filter(|n| degree[*n] == 1).collect();
        while let Some(leaf) = leaves.pop() {
            let Some(only) = around(leaf).find(|n| kept[*n]) else { continue };
            if part.intersection(&nodes[leaf].clique).is_subset(self.separator(leaf, only)) {
                kept[leaf] = false;
                degree[only] -= 1;
                if degree[only] == 1 {
                    leaves.push(only);
                }
            }
        }
        members.iter().copied().filter(|n| kept[*n]).collect()
    }

    /// The messages of an elimination in a subtree towards `root`, which comes last.
    fn steps(&self, subtree: &[usize], root: usize, part: &Clique) -> Vec<Step> {
        let nodes = &self.structure.nodes;
        let mut order: Vec<(usize, Option<usize>)> = vec![(root, None)];
        let mut next = 0;
        while next < order.len() {
            let (node, towards) = order[next];
            let around = nodes[node].children.iter().copied().chain(nodes[node].parent);
            order.extend(
                around
                    .filter(|m| subtree.contains(m) && Some(*m) != towards)
                    .map(|m| (m, Some(node))),
            );
            next += 1;
        }
        let mut steps: Vec<Step> = Vec::with_capacity(order.len());
        for (node, towards) in order.into_iter().rev() {
            let below = steps
                .iter()
                .filter(|s| s.towards == Some(node))
                .fold(part.intersection(&nodes[node].clique), |all, s| all.union(&s.carried));
            steps.push(Step { node, towards, carried: below });
        }
        steps
    }
}

#[cfg(test)]
mod tests;
