//! The structure that inference derives from a set of measured cliques, before any numbers: which of them carry
//! factors, which maximal clique hosts each factor, and the order of the messages.

use std::sync::Arc;

use rayon::prelude::*;

use crate::domain::{Clique, Domain, StructuralZero};
use crate::error::{Error, Result};
use crate::graph::JunctionTree;
use crate::inference::choices::Choices;
use crate::inference::in_parallel;
use crate::inference::vector::{exp, exp_in_place, largest_log};
use crate::table::{CliqueLayout, Marginals, Potentials, Projection};

/// Numbers are not scaled while their logs stay within this.
pub(super) const ORDINARY_LOG: f64 = 100.0;

/// A measured clique that is a subset of another one: its potentials are added to the larger table.
#[derive(Clone, Debug)]
pub(crate) struct Subset {
    /// Position among the measured cliques.
    pub measured: usize,
    /// Position of the holder among the factors.
    pub factor: usize,
    pub walk: Projection,
}

/// A maximal clique that takes part in message passing.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The maximal clique.
    pub clique: Clique,
    /// Attributes shared with the parent; empty at a root.
    pub separator: Clique,
    /// Position of the parent among the nodes.
    pub parent: Option<usize>,
    /// Position of this node among its parent's children.
    pub rank: usize,
    /// Positions of the children.
    pub children: Vec<usize>,
    /// Position after the last node of the subtree below this one, which follow it without a gap.
    pub end: usize,
    /// Positions, among the factors, of those that this clique multiplies in.
    pub factors: Vec<usize>,
    /// Positions, among the masks, of those that this clique multiplies in.
    pub masks: Vec<usize>,
}

/// A structural zero of the domain as a factor that never changes.
#[derive(Clone, Debug)]
pub(crate) struct Mask {
    pub clique: Clique,
    /// 1 where a record may be, 0 where none can be.
    pub numbers: Vec<f64>,
    /// Their logs.
    pub logs: Vec<f64>,
}

impl Mask {
    fn new(zero: &StructuralZero) -> Self {
        let choose = |forbidden: f64, allowed: f64| {
            zero.forbidden().iter().map(|f| if *f { forbidden } else { allowed }).collect()
        };
        Self {
            clique: zero.clique().clone(),
            numbers: choose(0.0, 1.0),
            logs: choose(f64::NEG_INFINITY, 0.0),
        }
    }
}

/// The compiled structure of a model.
#[derive(Clone, Debug)]
pub(crate) struct Structure {
    pub domain: Domain,
    pub layout: Arc<CliqueLayout>,
    pub tree: JunctionTree,
    /// Measured cliques that are in no other measured clique: `layout` positions.
    pub factors: Vec<usize>,
    pub subsets: Vec<Subset>,
    /// Positions of the subsets of each factor.
    pub subsets_of: Vec<Vec<usize>>,
    pub masks: Vec<Mask>,
    /// Each followed by all nodes below it.
    pub nodes: Vec<Node>,
    /// The nodes of each tree of the forest, parents first.
    pub trees: Vec<Vec<usize>>,
    /// The tree of each attribute; `None` for attributes in no measured clique.
    pub tree_of: Vec<Option<usize>>,
    /// Σ ln k over the attributes in no measured clique.
    pub log_free_cells: f64,
    /// Of the contractions.
    pub(super) choices: Arc<Choices>,
}

impl Structure {
    pub(super) fn new(domain: &Domain, layout: &Arc<CliqueLayout>, choices: Arc<Choices>) -> Self {
        let cliques = layout.cliques();
        let tree = JunctionTree::new(domain, cliques);
        let mut by_size: Vec<usize> = (0..cliques.len()).collect();
        by_size.sort_by_key(|i| (std::cmp::Reverse(cliques[*i].len()), *i));
        let mut factors: Vec<usize> = Vec::new();
        let mut subsets = Vec::new();
        for i in by_size {
            if let Some(f) = factors.iter().position(|f| cliques[i].is_subset(&cliques[*f])) {
                let holder = factors[f];
                let walk = Projection::between(&cliques[holder], layout.shape(holder), &cliques[i]);
                subsets.push(Subset { measured: i, factor: f, walk });
            } else {
                factors.push(i);
            }
        }
        let masks: Vec<Mask> = domain.fitted_zeros().map(Mask::new).collect();
        // Measured, or part of a structural zero.
        let bound = cliques.iter().chain(masks.iter().map(|mask| &mask.clique));
        let measured = bound.fold(Clique::default(), |all, c| all.union(c));
        let log_free_cells = (0..domain.len())
            .filter(|a| !measured.contains(*a))
            .map(|a| (domain.cardinality(a) as f64).ln())
            .sum();

        let hosts: Vec<Option<usize>> = factors.iter().map(|f| tree.host(&cliques[*f])).collect();
        let mut nodes = message_order(&tree, &measured, &hosts);
        for (position, mask) in masks.iter().enumerate() {
            let host = tree.host(&mask.clique).map(|host| &tree.maximal_cliques()[host]);
            if let Some(node) = nodes.iter_mut().find(|node| Some(&node.clique) == host) {
                node.masks.push(position);
            }
        }
        let mut trees: Vec<Vec<usize>> = Vec::new();
        let mut tree_of = vec![None; domain.len()];
        let mut tree_of_node = vec![0; nodes.len()];
        for (n, node) in nodes.iter().enumerate() {
            let tree = node.parent.map_or(trees.len(), |parent| tree_of_node[parent]);
            if node.parent.is_none() {
                trees.push(Vec::new());
            }
            tree_of_node[n] = tree;
            trees[tree].push(n);
            for attribute in node.clique.iter() {
                tree_of[attribute] = Some(tree);
            }
        }
        let mut subsets_of = vec![Vec::new(); factors.len()];
        for (position, subset) in subsets.iter().enumerate() {
            subsets_of[subset.factor].push(position);
        }
        Self {
            domain: domain.clone(),
            layout: Arc::clone(layout),
            tree,
            factors,
            subsets,
            subsets_of,
            masks,
            nodes,
            trees,
            tree_of,
            log_free_cells,
            choices,
        }
    }

    /// The clique of factor `index`.
    pub(crate) fn factor_clique(&self, index: usize) -> &Clique {
        &self.layout.cliques()[self.factors[index]]
    }

    /// Input cliques of a node in the collect sweep: its factors, its masks, then its children's separators.
    pub(crate) fn collect_inputs(&self, node: usize) -> Vec<Clique> {
        let node = &self.nodes[node];
        let factors = node.factors.iter().map(|f| self.factor_clique(*f).clone());
        let masks = node.masks.iter().map(|m| self.masks[*m].clique.clone());
        factors
            .chain(masks)
            .chain(node.children.iter().map(|c| self.nodes[*c].separator.clone()))
            .collect()
    }

    /// Input cliques of a node in the distribute sweep: those of the collect sweep, then its own separator.
    pub(crate) fn distribute_inputs(&self, node: usize) -> Vec<Clique> {
        let mut inputs = self.collect_inputs(node);
        if self.nodes[node].parent.is_some() {
            inputs.push(self.nodes[node].separator.clone());
        }
        inputs
    }

    /// The potentials summed onto the factors, one table each.
    ///
    /// # Errors
    /// Potentials of another layout, or a value that is NaN or plus infinity.
    pub(super) fn gather(&self, theta: &Potentials, factors: &mut [Vec<f64>]) -> Result<()> {
        self.check_layout(theta)?;
        for (f, table) in factors.iter_mut().enumerate() {
            self.gather_factor(theta, f, table);
            largest_log(table).ok_or_else(not_logs)?;
        }
        Ok(())
    }

    /// The exponentials of the potentials summed onto the factors, each table divided by `exp` of its own shift.
    /// Returns the sum of the shifts; minus infinity when a table has no cell above minus infinity.
    ///
    /// # Errors
    /// As [`Structure::gather`].
    pub(super) fn gather_exp(&self, theta: &Potentials, factors: &mut [Vec<f64>]) -> Result<f64> {
        self.check_layout(theta)?;
        let one = |(f, table): (usize, &mut Vec<f64>)| {
            if self.subsets_of[f].is_empty() {
                let logs = theta.table(self.factors[f]);
                let shift = shift_of(largest_log(logs)?);
                exp(logs, shift, table);
                return Some(shift);
            }
            self.gather_factor(theta, f, table);
            let shift = shift_of(largest_log(table)?);
            exp_in_place(table, shift);
            Some(shift)
        };
        let shift = if in_parallel(self.layout.cells() as u64) {
            let shifts: Vec<Option<f64>> = factors.par_iter_mut().enumerate().map(one).collect();
            shifts.into_iter().sum()
        } else {
            factors.iter_mut().enumerate().map(one).sum::<Option<f64>>()
        };
        shift.ok_or_else(not_logs)
    }

    fn check_layout(&self, theta: &Potentials) -> Result<()> {
        check_layout(theta, &self.layout)
    }

    fn gather_factor(&self, theta: &Potentials, f: usize, table: &mut [f64]) {
        table.copy_from_slice(theta.table(self.factors[f]));
        for position in &self.subsets_of[f] {
            let subset = &self.subsets[*position];
            subset.walk.zip_from(theta.table(subset.measured), table, |x, s| *x += s);
        }
    }

    /// Fills in the marginals of measured cliques that are subsets of factors.
    pub(super) fn project_subsets(&self, mu: &mut Marginals) {
        for subset in &self.subsets {
            let (source, table) = mu.table_pair(self.factors[subset.factor], subset.measured);
            table.fill(0.0);
            subset.walk.add_into(source, table);
        }
    }

    /// Empty tables, one per factor.
    pub(super) fn factor_tables(&self) -> Vec<Vec<f64>> {
        self.factors.iter().map(|f| vec![0.0; self.layout.range(*f).len()]).collect()
    }
}

/// Refuses potentials over other cliques than the oracle's.
pub(crate) fn check_layout(theta: &Potentials, layout: &Arc<CliqueLayout>) -> Result<()> {
    if Arc::ptr_eq(theta.layout(), layout) || theta.layout().cliques() == layout.cliques() {
        return Ok(());
    }
    Err(Error::invalid_specification(
        "potentials",
        "tables over other cliques",
        "one table for each measured clique",
    ))
}

pub(super) fn not_logs() -> Error {
    Error::invalid_specification(
        "potentials",
        "a value that is NaN or plus infinity",
        "finite values or minus infinity",
    )
}

/// The shift subtracted from the logs of a table before they are exponentiated.
///
/// Tables whose logs are in the normal range are not shifted: their largest value may belong to a combination that
/// other tables rule out, and scaling by it would push all others towards underflow.
fn shift_of(largest: f64) -> f64 {
    if largest.abs() > ORDINARY_LOG { largest } else { 0.0 }
}

/// The nodes, each followed by all that are below it. Cliques of unmeasured attributes are left out.
fn message_order(tree: &JunctionTree, measured: &Clique, hosts: &[Option<usize>]) -> Vec<Node> {
    let rooted: Vec<_> = tree
        .rooted()
        .into_iter()
        .filter(|n| !tree.maximal_cliques()[n.clique].intersection(measured).is_empty())
        .collect();
    // By clique; roots have none above them.
    let mut below = vec![Vec::new(); tree.maximal_cliques().len()];
    let mut roots = Vec::new();
    for node in &rooted {
        node.parent.map_or(&mut roots, |parent| &mut below[parent]).push(node);
    }
    let mut position = vec![usize::MAX; tree.maximal_cliques().len()];
    let mut nodes: Vec<Node> = Vec::with_capacity(rooted.len());
    let mut next: Vec<_> = roots.into_iter().rev().collect();
    while let Some(rooted) = next.pop() {
        let at = nodes.len();
        position[rooted.clique] = at;
        let parent = rooted.parent.map(|parent| position[parent]);
        let mut rank = 0;
        if let Some(parent) = parent {
            rank = nodes[parent].children.len();
            nodes[parent].children.push(at);
        }
        nodes.push(Node {
            clique: tree.maximal_cliques()[rooted.clique].clone(),
            separator: rooted.separator.clone(),
            parent,
            rank,
            children: Vec::new(),
            end: at + 1,
            factors: (0..hosts.len()).filter(|f| hosts[*f] == Some(rooted.clique)).collect(),
            masks: Vec::new(),
        });
        next.extend(below[rooted.clique].iter().rev());
    }
    for at in (0..nodes.len()).rev() {
        if let Some(last) = nodes[at].children.last() {
            nodes[at].end = nodes[*last].end;
        }
    }
    nodes
}
