//! A calibrated tree: all messages are available, so any further marginal is a short elimination.

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::inference::kernel::ContractionWorkspace;
use crate::inference::log_space::log_contract;
use crate::inference::plan::Contraction;
use crate::inference::semiring::SumProduct;
use crate::inference::structure::Structure;
use crate::table::Factor;

/// The factors and messages of a model after both sweeps.
#[derive(Clone, Debug)]
pub(crate) struct Calibrated {
    pub structure: Arc<Structure>,
    /// Factor tables, message to the parent and message from the parent of each node: plain numbers with largest
    /// value 1, or their logs.
    pub factors: Vec<Vec<f64>>,
    pub up: Vec<Vec<f64>>,
    pub down: Vec<Vec<f64>>,
    pub space: Space,
}

/// The form of the numbers in a calibrated tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Linear,
    Log,
}

/// Computes the marginal on one connected part of a clique: eliminates towards the root, message by message.
#[derive(Clone, Debug)]
struct Elimination {
    /// Nodes of the smallest subtree that covers the part, children (seen from the root) first, the root last.
    steps: Vec<Step>,
    part: Clique,
    cells: u64,
}

/// One message of an elimination.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Step {
    node: usize,
    /// The neighbor the message goes to; `None` at the root of the subtree.
    towards: Option<usize>,
    /// Attributes of the requested clique that the message carries.
    carried: Clique,
}

/// Cells of messages and tables that are held together; a clique that needs more is answered alone.
const HELD_CELLS: u64 = 1 << 21;
/// Most output cells of one walk.
const OUTPUT_CELLS: u64 = 1 << 19;

/// Messages already computed for other cliques, by their step.
type Messages = BTreeMap<Step, (Clique, Vec<f64>)>;

impl Calibrated {
    /// Whether the tables hold numbers rather than logs.
    pub(crate) fn is_linear(&self) -> bool {
        self.space == Space::Linear
    }

    /// Cells that the elimination for a clique visits; `u64::MAX` if that does not fit.
    pub(crate) fn work(&self, clique: &Clique) -> u64 {
        self.parts(clique).iter().fold(0, |n, part| n.saturating_add(part.cells))
    }

    /// Whether one maximal clique contains the clique, so that its marginal needs no further message.
    pub(crate) fn in_tree(&self, clique: &Clique) -> bool {
        self.structure.tree.host(clique).is_some()
    }

    /// The marginals on some cliques, each scaled to `total`, in the order of the cliques.
    ///
    /// # Errors
    /// A table that does not fit in memory, or a model that forbids every record.
    pub(crate) fn marginals(&self, cliques: &[Clique], total: f64) -> Result<Vec<Factor>> {
        let eliminations: Vec<Vec<Elimination>> =
            cliques.par_iter().map(|c| self.parts(c)).collect();
        let mut found = Vec::with_capacity(cliques.len());
        let (mut start, mut held) = (0, 0_u64);
        for end in 0..=cliques.len() {
            let cells = eliminations.get(end).map_or(0, |parts| self.held(parts));
            let full = held.saturating_add(cells) > HELD_CELLS || end == cliques.len();
            if full && end > start {
                found.extend(self.answer(
                    &cliques[start..end],
                    &eliminations[start..end],
                    total,
                )?);
                (start, held) = (end, 0);
            }
            held = held.saturating_add(cells);
        }
        Ok(found)
    }

    /// Cells of the messages and tables that eliminations hold.
    fn held(&self, parts: &[Elimination]) -> u64 {
        let message = |step: &Step| match step.towards {
            Some(_) => self.cells(&self.message_clique(step)),
            None => 0,
        };
        parts
            .iter()
            .flat_map(|part| part.steps.iter().map(message).chain([self.cells(&part.part)]))
            .fold(0, u64::saturating_add)
    }

    /// The marginals of some cliques by their eliminations, with all messages held together.
    fn answer(
        &self,
        cliques: &[Clique],
        eliminations: &[Vec<Elimination>],
        total: f64,
    ) -> Result<Vec<Factor>> {
        let messages = self.messages(eliminations);
        let walks = self.final_walks(eliminations);
        let tables: BTreeMap<&Clique, Vec<f64>> = walks
            .par_iter()
            .flat_map_iter(|parts| {
                let steps = &parts[0].steps;
                let outputs: Vec<Clique> = parts.iter().map(|p| p.part.clone()).collect();
                let tables = steps
                    .last()
                    .map(|root| self.contract(root, steps, &messages, &outputs))
                    .unwrap_or_default();
                parts.iter().map(|p| &p.part).zip(tables)
            })
            .collect();
        cliques
            .iter()
            .zip(eliminations)
            .map(|(clique, parts)| self.assemble(clique, parts, total, &tables))
            .collect()
    }

    /// The last walk of every elimination. Parts inside one maximal clique share a walk, up to a bound on the
    /// outputs held.
    fn final_walks<'e>(&self, eliminations: &'e [Vec<Elimination>]) -> Vec<Vec<&'e Elimination>> {
        let mut inside: BTreeMap<usize, BTreeMap<&Clique, &Elimination>> = BTreeMap::new();
        let mut across: BTreeMap<&Clique, &Elimination> = BTreeMap::new();
        for part in eliminations.iter().flatten() {
            match &part.steps[..] {
                [only] => inside.entry(only.node).or_default().insert(&part.part, part),
                _ => across.insert(&part.part, part),
            };
        }
        let mut walks: Vec<Vec<&Elimination>> = Vec::new();
        for parts in inside.into_values() {
            let mut held = u64::MAX;
            for part in parts.into_values() {
                let cells = self.cells(&part.part);
                if held.saturating_add(cells) > OUTPUT_CELLS {
                    walks.push(Vec::new());
                    held = 0;
                }
                held = held.saturating_add(cells);
                if let Some(walk) = walks.last_mut() {
                    walk.push(part);
                }
            }
        }
        walks.extend(across.into_values().map(|part| vec![part]));
        walks
    }

    /// All messages that the eliminations need, children first, each computed once.
    fn messages(&self, eliminations: &[Vec<Elimination>]) -> Messages {
        let mut rounds: Vec<BTreeMap<Step, &[Step]>> = Vec::new();
        for part in eliminations.iter().flatten() {
            let mut height: BTreeMap<usize, usize> = BTreeMap::new();
            for (i, step) in part.steps.iter().enumerate() {
                let Some(towards) = step.towards else { continue };
                let own = height.get(&step.node).copied().unwrap_or(0);
                if rounds.len() <= own {
                    rounds.resize(own + 1, BTreeMap::new());
                }
                rounds[own].entry(step.clone()).or_insert(&part.steps[..i]);
                let next = height.entry(towards).or_insert(0);
                *next = (*next).max(own + 1);
            }
        }
        let mut messages = Messages::new();
        for round in rounds {
            let fresh: Vec<(Step, (Clique, Vec<f64>))> = round
                .into_par_iter()
                .filter(|(step, _)| !messages.contains_key(step))
                .map(|(step, before)| {
                    let output = self.message_clique(&step);
                    let outputs = std::slice::from_ref(&output);
                    let mut tables = self.contract(&step, before, &messages, outputs);
                    let mut table = tables.swap_remove(0);
                    normalize(&mut table, self.space);
                    (step, (output, table))
                })
                .collect();
            messages.extend(fresh);
        }
        messages
    }

    fn message_clique(&self, step: &Step) -> Clique {
        let towards = step.towards.unwrap_or(step.node);
        self.separator(step.node, towards).union(&step.carried)
    }

    /// The separator between neighbors.
    fn separator(&self, a: usize, b: usize) -> &Clique {
        let nodes = &self.structure.nodes;
        if nodes[a].parent == Some(b) { &nodes[a].separator } else { &nodes[b].separator }
    }

    /// The product at a step's node, summed onto the outputs. `before` holds the steps whose messages it receives.
    fn contract(
        &self,
        step: &Step,
        before: &[Step],
        messages: &Messages,
        outputs: &[Clique],
    ) -> Vec<Vec<f64>> {
        let nodes = &self.structure.nodes;
        let here = &nodes[step.node];
        let mut inputs: Vec<(&Clique, &[f64])> = here
            .factors
            .iter()
            .map(|f| (self.structure.factor_clique(*f), self.factors[*f].as_slice()))
            .collect();
        inputs.extend(self.masks_of(step.node));
        for neighbor in here.children.iter().copied().chain(here.parent) {
            if step.towards == Some(neighbor) {
                continue;
            }
            let carrying =
                before.iter().find(|s| s.node == neighbor && s.towards == Some(step.node));
            if let Some((clique, table)) = carrying.and_then(|s| messages.get(s)) {
                inputs.push((clique, table));
            } else if here.parent == Some(neighbor) {
                inputs.push((&here.separator, &self.down[step.node]));
            } else {
                inputs.push((&nodes[neighbor].separator, &self.up[neighbor]));
            }
        }
        let clique = inputs.iter().fold(here.clique.clone(), |all, (c, _)| all.union(c));
        match self.space {
            Space::Linear => {
                let (cliques, tables): (Vec<Clique>, Vec<&[f64]>) =
                    inputs.into_iter().map(|(c, t)| (c.clone(), t)).unzip();
                let plan = Contraction::new(&self.structure.domain, &clique, &cliques, outputs);
                let mut workspace = ContractionWorkspace::new(&plan);
                plan.run::<SumProduct>(&tables, &mut workspace);
                workspace.into_outputs()
            }
            Space::Log => log_contract(&self.structure.domain, &clique, &inputs, outputs),
        }
    }

    /// All factors and messages that the smallest maximal clique containing `clique` multiplies.
    pub(super) fn inputs_of_host(&self, clique: &Clique) -> Vec<(Clique, &[f64])> {
        let nodes = &self.structure.nodes;
        let host = (0..nodes.len())
            .filter(|n| clique.is_subset(&nodes[*n].clique))
            .min_by_key(|n| (self.cells(&nodes[*n].clique), *n));
        let Some(host) = host else { return Vec::new() };
        let here = &nodes[host];
        let factors = here
            .factors
            .iter()
            .map(|f| (self.structure.factor_clique(*f).clone(), self.factors[*f].as_slice()));
        let masks = self.masks_of(host).map(|(clique, table)| (clique.clone(), table));
        let children =
            here.children.iter().map(|c| (nodes[*c].separator.clone(), self.up[*c].as_slice()));
        let parent = here.parent.map(|_| (here.separator.clone(), self.down[host].as_slice()));
        factors.chain(masks).chain(children).chain(parent).collect()
    }

    /// The structural zeros that a node multiplies in, in this tree's space.
    fn masks_of(&self, node: usize) -> impl Iterator<Item = (&Clique, &[f64])> {
        self.structure.nodes[node].masks.iter().map(|m| {
            let mask = &self.structure.masks[*m];
            let table = if self.is_linear() { &mask.numbers } else { &mask.logs };
            (&mask.clique, table.as_slice())
        })
    }

    /// One elimination for each tree of the forest that the clique touches.
    fn parts(&self, clique: &Clique) -> Vec<Elimination> {
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
                let cells = steps.iter().fold(0_u64, |n, step| {
                    let reach = nodes[step.node].clique.union(&step.carried);
                    n.saturating_add(self.cells(&reach))
                });
                (cells, *root, steps)
            })
            .min_by_key(|(cells, root, _)| (*cells, *root));
        let (cells, _, steps) = best.unwrap_or((u64::MAX, 0, Vec::new()));
        Elimination { steps, part, cells }
    }

    fn cells(&self, clique: &Clique) -> u64 {
        self.structure.domain.cells(clique).unwrap_or(u64::MAX)
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

    /// The marginal on a clique as the product of its independent parts, uniform in unmeasured attributes.
    fn assemble(
        &self,
        clique: &Clique,
        parts: &[Elimination],
        total: f64,
        tables: &BTreeMap<&Clique, Vec<f64>>,
    ) -> Result<Factor> {
        let domain = &self.structure.domain;
        let cells = domain
            .cells(clique)
            .and_then(|c| usize::try_from(c).ok())
            .filter(|c| *c < isize::MAX as usize / size_of::<f64>())
            .ok_or_else(|| {
                Error::too_large(
                    format!("the marginal on {}", domain.describe(clique)),
                    None,
                    2_f64.powi(60),
                    "cells",
                )
            })?;
        let mut values = vec![1.0; cells];
        for part in parts {
            let mut table = tables.get(&part.part).cloned().unwrap_or_default();
            normalize(&mut table, self.space);
            if self.space == Space::Log {
                table.iter_mut().for_each(|x| *x = x.exp());
            }
            let walk = crate::table::Projection::between(clique, &domain.shape(clique), &part.part);
            walk.zip_from(&table, &mut values, |x, s| *x *= s);
        }
        let sum: f64 = values.iter().sum();
        if !(sum > 0.0 && sum.is_finite()) {
            return Err(Error::EmptyModel {
                reason: format!("no combination of {} is possible", domain.describe(clique)),
            });
        }
        values.iter_mut().for_each(|x| *x *= total / sum);
        Factor::new(domain, clique.clone(), values)
    }
}

/// Scales a table so that its largest number is 1 (its largest log 0).
fn normalize(table: &mut [f64], space: Space) {
    let max = table.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    match space {
        Space::Linear if max > 0.0 => table.iter_mut().for_each(|x| *x /= max),
        Space::Log if max > f64::NEG_INFINITY => table.iter_mut().for_each(|x| *x -= max),
        _ => {}
    }
}
