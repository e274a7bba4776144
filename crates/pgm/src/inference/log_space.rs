//! Belief propagation in log space: slow, and accurate however far apart the potentials are.
//!
//! The messages are those of linear space. Every sum is a separate running log-sum-exp, so no cell is lost because
//! another one is large. No table over a maximal clique is held.

use std::sync::Arc;

use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::inference::MarginalOracle;
use crate::inference::structure::Structure;
use crate::table::{Marginals, Potentials, strides_within};

/// The log-space oracle. [`crate::inference::BeliefPropagation`] falls back to it when a clique underflows.
#[derive(Clone, Debug)]
pub(crate) struct LogSpace {
    structure: Arc<Structure>,
}

/// Scratch of [`LogSpace`].
#[derive(Debug)]
pub(crate) struct LogWorkspace {
    pub(super) factors: Vec<Vec<f64>>,
    /// Log-messages to the parents.
    pub(super) up: Vec<Vec<f64>>,
    /// Log-messages from the parents.
    pub(super) down: Vec<Vec<f64>>,
}

impl LogSpace {
    /// An oracle for the cliques of a layout.
    #[cfg(test)]
    pub(crate) fn new(domain: &Domain, layout: &Arc<crate::table::CliqueLayout>) -> Self {
        Self::from_structure(Arc::new(Structure::new(domain, layout, Arc::default())))
    }

    pub(super) fn from_structure(structure: Arc<Structure>) -> Self {
        Self { structure }
    }

    /// Log-sums of the product of a node's inputs, without its child `without`, onto some output cliques.
    fn contract(
        &self,
        node: usize,
        without: Option<usize>,
        workspace: &LogWorkspace,
        outputs: &[Clique],
    ) -> Vec<Vec<f64>> {
        let structure = &self.structure;
        let here = &structure.nodes[node];
        let mut inputs: Vec<(&Clique, &[f64])> = here
            .factors
            .iter()
            .map(|f| (structure.factor_clique(*f), workspace.factors[*f].as_slice()))
            .collect();
        for mask in here.masks.iter().map(|m| &structure.masks[*m]) {
            inputs.push((&mask.clique, &mask.logs));
        }
        for child in here.children.iter().filter(|c| Some(**c) != without) {
            inputs.push((&structure.nodes[*child].separator, &workspace.up[*child]));
        }
        if here.parent.is_some() {
            inputs.push((&here.separator, &workspace.down[node]));
        }
        log_contract(&structure.domain, &here.clique, &inputs, outputs)
    }
}

impl MarginalOracle for LogSpace {
    type Workspace = LogWorkspace;

    fn workspace(&self) -> LogWorkspace {
        let cells = |c: &Clique| -> usize { self.structure.domain.shape(c).iter().product() };
        let messages: Vec<Vec<f64>> =
            self.structure.nodes.iter().map(|n| vec![0.0; cells(&n.separator)]).collect();
        LogWorkspace {
            factors: self.structure.factor_tables(),
            up: messages.clone(),
            down: messages,
        }
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut LogWorkspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        let structure = &self.structure;
        structure.gather(theta, &mut workspace.factors)?;
        workspace.down.iter_mut().for_each(|message| message.fill(0.0));
        for node in (0..structure.nodes.len()).rev() {
            let here = &structure.nodes[node];
            if here.parent.is_some() {
                let separator = std::slice::from_ref(&here.separator);
                workspace.up[node] = self.contract(node, None, workspace, separator).swap_remove(0);
            }
        }
        let mut log_partition = structure.log_free_cells;
        for node in 0..structure.nodes.len() {
            let here = &structure.nodes[node];
            for child in &here.children {
                // The child's own message is omitted, not divided out.
                let separator = std::slice::from_ref(&structure.nodes[*child].separator);
                workspace.down[*child] =
                    self.contract(node, Some(*child), workspace, separator).swap_remove(0);
            }
            let outputs: Vec<Clique> = here
                .factors
                .iter()
                .map(|f| structure.factor_clique(*f).clone())
                .chain([Clique::default()])
                .collect();
            let beliefs = self.contract(node, None, workspace, &outputs);
            let log_total = beliefs[here.factors.len()][0];
            if log_total == f64::NEG_INFINITY {
                return Err(Error::EmptyModel {
                    reason: format!(
                        "no combination of {} is possible",
                        structure.domain.describe(&here.clique)
                    ),
                });
            }
            if here.parent.is_none() {
                log_partition += log_total;
            }
            for (f, belief) in here.factors.iter().zip(&beliefs) {
                let table = mu.table_mut(structure.factors[*f]);
                for (m, b) in table.iter_mut().zip(belief) {
                    *m = total * (b - log_total).exp();
                }
                let scale = total / table.iter().sum::<f64>();
                table.iter_mut().for_each(|m| *m *= scale);
            }
        }
        structure.project_subsets(mu);
        Ok(log_partition)
    }
}

/// A term that is larger than the unit by this many nats or more becomes the unit.
const ABOVE_UNIT: f64 = 300.0;
/// A term that is smaller than the unit by this many nats or more is added apart.
const BELOW_UNIT: f64 = 600.0;
/// A sum, in units, beside which terms below that are nothing.
const PLENTY: f64 = 1e-200;

/// A running `ln Σ exp(term)`, exact however far apart the terms are.
///
/// Most terms are near those of all other cells. They are added in a unit that all cells share, so that a term costs one
/// exponential for all outputs.
#[derive(Clone, Copy)]
struct LogSum {
    /// The sum of the ordinary terms, in units.
    ordinary: f64,
    /// The largest of the other terms.
    max: f64,
    /// Their sum, relative to the largest.
    sum: f64,
}

impl LogSum {
    const EMPTY: Self = Self { ordinary: 0.0, max: f64::NEG_INFINITY, sum: 0.0 };

    /// Adds a term apart.
    fn add(&mut self, term: f64) {
        if term <= self.max {
            self.sum += (term - self.max).exp();
        } else {
            self.sum = self.sum * (self.max - term).exp() + 1.0;
            self.max = term;
        }
    }

    /// Moves the ordinary terms, which have this unit, to the others.
    fn put_apart(&mut self, unit: f64) {
        if self.ordinary > 0.0 {
            let term = unit + self.ordinary.ln();
            self.ordinary = 0.0;
            self.add(term);
        }
    }

    fn ln(mut self, unit: f64) -> f64 {
        self.put_apart(unit);
        self.max + self.sum.ln()
    }
}

/// `ln Σ exp(Σ inputs)` onto each output, cell by cell of the clique.
pub(super) fn log_contract(
    domain: &Domain,
    clique: &Clique,
    inputs: &[(&Clique, &[f64])],
    outputs: &[Clique],
) -> Vec<Vec<f64>> {
    let shape = domain.shape(clique);
    let strides = |c: &Clique| strides_within(clique.attributes(), c, &domain.shape(c));
    let input_strides: Vec<Vec<usize>> = inputs.iter().map(|(c, _)| strides(c)).collect();
    let output_strides: Vec<Vec<usize>> = outputs.iter().map(strides).collect();
    let mut sums: Vec<Vec<LogSum>> =
        outputs.iter().map(|o| vec![LogSum::EMPTY; domain.shape(o).iter().product()]).collect();
    let mut unit = f64::NEG_INFINITY;
    let mut counter = vec![0_usize; shape.len()];
    let mut input_at = vec![0_usize; inputs.len()];
    let mut output_at = vec![0_usize; outputs.len()];
    loop {
        let term: f64 = inputs.iter().zip(&input_at).map(|((_, table), at)| table[*at]).sum();
        if term >= unit + ABOVE_UNIT && term > f64::NEG_INFINITY {
            sums.iter_mut().flatten().for_each(|sum| sum.put_apart(unit));
            unit = term;
        }
        if term > unit - BELOW_UNIT {
            let share = (term - unit).exp();
            for (table, at) in sums.iter_mut().zip(&output_at) {
                table[*at].ordinary += share;
            }
        } else if term > f64::NEG_INFINITY {
            for (table, at) in sums.iter_mut().zip(&output_at) {
                let sum = &mut table[*at];
                if sum.ordinary < PLENTY {
                    sum.add(term);
                }
            }
        }
        let mut axis = shape.len();
        loop {
            if axis == 0 {
                return sums
                    .into_iter()
                    .map(|table| table.into_iter().map(|sum| sum.ln(unit)).collect())
                    .collect();
            }
            axis -= 1;
            counter[axis] += 1;
            let wrapped = counter[axis] == shape[axis];
            let steps = if wrapped { shape[axis] - 1 } else { 1 };
            for (at, strides) in input_at.iter_mut().zip(&input_strides) {
                *at = if wrapped { *at - steps * strides[axis] } else { *at + strides[axis] };
            }
            for (at, strides) in output_at.iter_mut().zip(&output_strides) {
                *at = if wrapped { *at - steps * strides[axis] } else { *at + strides[axis] };
            }
            if !wrapped {
                break;
            }
            counter[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests;
