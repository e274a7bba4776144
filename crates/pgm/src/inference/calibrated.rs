//! A calibrated tree: all messages are available, so any further marginal is a short elimination.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::inference::elimination::{Elimination, Product, Step};
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

/// Cells of messages and tables that are held together; a clique that needs more is answered alone.
const HELD_CELLS: u64 = 1 << 23;
/// Most output cells of one walk.
const OUTPUT_CELLS: u64 = 1 << 19;

/// Messages already computed for other cliques, by their step.
type Messages = BTreeMap<Step, (Clique, Vec<f64>)>;

impl Calibrated {
    /// Whether the tables hold numbers rather than logs.
    pub(crate) fn is_linear(&self) -> bool {
        self.space == Space::Linear
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
        let (mut start, mut held, mut messages) = (0, 0_u64, BTreeSet::new());
        for (end, parts) in eliminations.iter().enumerate() {
            let cells = self.held(parts, &messages);
            if held.saturating_add(cells) > HELD_CELLS && end > start {
                let batch = start..end;
                found.extend(self.answer(&cliques[batch.clone()], &eliminations[batch], total)?);
                (start, held) = (end, 0);
                messages.clear();
            }
            held = held.saturating_add(self.held(parts, &messages));
            messages.extend(parts.iter().flat_map(Elimination::messages));
        }
        found.extend(self.answer(&cliques[start..], &eliminations[start..], total)?);
        Ok(found)
    }

    /// Cells of the tables of eliminations, and of the messages that are not held yet.
    fn held(&self, parts: &[Elimination], messages: &BTreeSet<&Step>) -> u64 {
        let fresh = parts.iter().flat_map(Elimination::messages);
        let fresh = fresh.filter(|step| !messages.contains(step));
        fresh
            .map(|step| self.cells(&self.message_clique(step)))
            .chain(parts.iter().map(|part| self.cells(&part.part)))
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
        let answered = |spread: &mut Vec<f64>, parts: &Vec<&Elimination>| {
            let outputs: Vec<Clique> = parts.iter().map(|p| p.part.clone()).collect();
            let root = parts[0].steps.last();
            root.map_or_else(Vec::new, |root| {
                self.contract(root, &parts[0].product(root).2, &messages, &outputs, spread)
            })
        };
        let tables: Vec<Vec<Vec<f64>>> = walks.par_iter().map_init(Vec::new, answered).collect();
        let parts = walks.iter().map(|parts| parts.iter().map(|p| &p.part));
        let tables: BTreeMap<&Clique, Vec<f64>> =
            parts.zip(tables).flat_map(|(parts, tables)| parts.zip(tables)).collect();
        cliques
            .par_iter()
            .zip(eliminations)
            .map(|(clique, parts)| self.assemble(clique, parts, total, &tables))
            .collect()
    }

    /// The last walk of every elimination. Parts that end at one node with the same messages share a walk, up to a bound on
    /// the outputs held.
    fn final_walks<'e>(&self, eliminations: &'e [Vec<Elimination>]) -> Vec<Vec<&'e Elimination>> {
        let mut ends: BTreeMap<Product<'_>, BTreeMap<&Clique, &Elimination>> = BTreeMap::new();
        for part in eliminations.iter().flatten() {
            if let Some(end) = part.end() {
                ends.entry(end).or_default().insert(&part.part, part);
            }
        }
        let cells = |part: &&Elimination| self.cells(&part.part);
        ends.into_values()
            .flat_map(|parts| bounded(parts.into_values(), OUTPUT_CELLS, cells))
            .collect()
    }

    /// All messages that the eliminations need, children first, each computed once.
    fn messages(&self, eliminations: &[Vec<Elimination>]) -> Messages {
        let mut rounds: Vec<BTreeMap<Product<'_>, BTreeSet<&Step>>> = Vec::new();
        for part in eliminations.iter().flatten() {
            let mut height: BTreeMap<usize, usize> = BTreeMap::new();
            for step in part.messages() {
                let own = height.get(&step.node).copied().unwrap_or(0);
                if rounds.len() <= own {
                    rounds.resize(own + 1, BTreeMap::new());
                }
                rounds[own].entry(part.product(step)).or_default().insert(step);
                if let Some(towards) = step.towards {
                    let next = height.entry(towards).or_insert(0);
                    *next = (*next).max(own + 1);
                }
            }
        }
        let mut messages = Messages::new();
        for round in rounds {
            let cells = |step: &&Step| self.cells(&self.message_clique(step));
            let walks: Vec<(Vec<&Step>, Vec<&Step>)> = round
                .into_iter()
                .flat_map(|((_, _, received), steps)| {
                    bounded(steps, OUTPUT_CELLS, cells)
                        .into_iter()
                        .map(move |steps| (steps, received.clone()))
                })
                .collect();
            let sent = |spread: &mut Vec<f64>, (steps, received): (Vec<&Step>, Vec<&Step>)| {
                let outputs: Vec<Clique> =
                    steps.iter().map(|step| self.message_clique(step)).collect();
                let mut tables = self.contract(steps[0], &received, &messages, &outputs, spread);
                tables.iter_mut().for_each(|table| normalize(table, self.space));
                let steps = steps.into_iter().cloned();
                steps.zip(outputs.into_iter().zip(tables)).collect::<Messages>()
            };
            let fresh: Vec<Messages> = walks.into_par_iter().map_init(Vec::new, sent).collect();
            messages.extend(fresh.into_iter().flatten());
        }
        messages
    }

    pub(super) fn message_clique(&self, step: &Step) -> Clique {
        let towards = step.towards.unwrap_or(step.node);
        self.separator(step.node, towards).union(&step.carried)
    }

    /// The separator between neighbors.
    pub(super) fn separator(&self, a: usize, b: usize) -> &Clique {
        let nodes = &self.structure.nodes;
        if nodes[a].parent == Some(b) { &nodes[a].separator } else { &nodes[b].separator }
    }

    /// The product at a step's node, summed onto the outputs. `received`: the steps whose messages it receives. `spread`: memory
    /// for copies of the inputs.
    fn contract(
        &self,
        step: &Step,
        received: &[&Step],
        messages: &Messages,
        outputs: &[Clique],
        spread: &mut Vec<f64>,
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
            let carrying = received.iter().find(|from| from.node == neighbor);
            if let Some((clique, table)) = carrying.and_then(|from| messages.get(*from)) {
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
                let choices = &self.structure.choices;
                let plan =
                    Contraction::new(choices, &self.structure.domain, &clique, &cliques, outputs);
                plan.outputs_of::<SumProduct>(&tables, spread)
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

    pub(super) fn cells(&self, clique: &Clique) -> u64 {
        self.structure.domain.cells(clique).unwrap_or(u64::MAX)
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
        let numbers = |part: &Elimination| {
            let mut table = tables.get(&part.part).cloned().unwrap_or_default();
            normalize(&mut table, self.space);
            if self.space == Space::Log {
                table.iter_mut().for_each(|x| *x = x.exp());
            }
            table
        };
        let mut values = match parts {
            [whole] if whole.part == *clique => numbers(whole),
            _ => vec![1.0; cells],
        };
        for part in parts.iter().filter(|part| part.part != *clique) {
            let walk = crate::table::Projection::between(clique, &domain.shape(clique), &part.part);
            walk.zip_from(&numbers(part), &mut values, |x, s| *x *= s);
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

/// Tables in groups of at most `most` cells together, or of one table.
pub(crate) fn bounded<T>(
    tables: impl IntoIterator<Item = T>,
    most: u64,
    cells: impl Fn(&T) -> u64,
) -> Vec<Vec<T>> {
    let mut groups: Vec<Vec<T>> = Vec::new();
    let mut held = u64::MAX;
    for table in tables {
        let cells = cells(&table);
        held = held.saturating_add(cells);
        match groups.last_mut() {
            Some(group) if held <= most => group.push(table),
            _ => {
                groups.push(vec![table]);
                held = cells;
            }
        }
    }
    groups
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
