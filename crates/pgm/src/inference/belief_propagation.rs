//! Belief propagation on the junction tree, in linear space with scaling: two sweeps of fused contractions.
//!
//! Collect: every clique sends its parent the product of its factors and its children's messages, summed onto the
//! separator. Distribute: every clique, now with its parent's message too, sums the same product onto its measured
//! cliques and onto the separators of its children. Messages are scaled to a maximum of one, and the logs of the scales
//! are accumulated. If everything in a clique underflows, the log-space oracle answers the call instead.
//!
//! Source: `McKenna`, Sheldon & Miklau 2019, section 4; the fused contractions are described in `docs/engine.md`.

mod sweeps;
mod trace_back;

use std::collections::BTreeMap;
use std::sync::Arc;

use rayon::prelude::*;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::inference::belief_propagation::sweeps::Sweeps;
use crate::inference::calibrated::{Calibrated, Space};
use crate::inference::kernel::ContractionWorkspace;
use crate::inference::log_space::{LogSpace, LogWorkspace};
use crate::inference::plan::Contraction;
use crate::inference::semiring::{MaxSum, Semiring, SumProduct};
use crate::inference::structure::{Node, ORDINARY_LOG, Structure};
use crate::inference::vector::{copy_and_largest, message_down, scale_to};
use crate::inference::{MarginalOracle, in_parallel};
use crate::table::{CliqueLayout, Marginals, Potentials};

/// Sums below this have lost digits to underflow and are computed in log space instead.
const LEAST_TOTAL: f64 = 1e-200;
/// Cells of a message below this count as zero when a belief is divided by it, ...
const LEAST_MESSAGE: f64 = 1e-290;
/// ... unless they have more than this share of the belief: then the log-space oracle answers.
const LOST_SHARE: f64 = 1e-13;

/// The compiled two-sweep oracle of one set of measured cliques.
///
/// ```
/// use jointly_pgm::{domain::{Clique, Domain}, inference::{BeliefPropagation, MarginalOracle}};
/// use jointly_pgm::table::{CliqueLayout, Marginals, Potentials};
/// let domain = Domain::new([("a", 2), ("b", 2), ("c", 2)])?;
/// let layout = CliqueLayout::new(&domain, [Clique::new([0, 1]), Clique::new([1, 2])])?;
/// let oracle = BeliefPropagation::new(&domain, &layout);
/// let mut theta = Potentials::zeros(&layout);
/// theta.table_mut(0)[3] = 3_f64.ln(); // a = b = 1 three times as likely
/// let mut mu = Marginals::zeros(&layout);
/// let log_partition = oracle.marginals(&theta, 6.0, &mut oracle.workspace(), &mut mu)?;
/// assert!((log_partition - 12_f64.ln()).abs() < 1e-12);
/// assert!((mu.table(0)[3] - 3.0).abs() < 1e-12);
/// # Ok::<(), jointly_pgm::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct BeliefPropagation {
    structure: Arc<Structure>,
    /// For each node, its message to the parent; at a root, the sum over everything.
    collect: Vec<Arc<Contraction>>,
    /// For each node, its beliefs: on its factors' cliques, on its children's separators, and its total.
    distribute: Vec<Arc<Contraction>>,
    /// The order of both.
    sweeps: Sweeps,
}

/// The result of one contraction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Task<'s> {
    clique: &'s Clique,
    inputs: Vec<Clique>,
    outputs: Vec<Clique>,
}

impl<'s> Task<'s> {
    fn collect(structure: &'s Structure, i: usize) -> Self {
        let node = &structure.nodes[i];
        let inputs = structure.collect_inputs(i);
        Self { clique: &node.clique, inputs, outputs: vec![node.separator.clone()] }
    }

    fn distribute(structure: &'s Structure, i: usize) -> Self {
        let node = &structure.nodes[i];
        let measured = node.factors.iter().map(|f| structure.factor_clique(*f).clone());
        let separators = node.children.iter().map(|c| structure.nodes[*c].separator.clone());
        let outputs = measured.chain(separators).chain([Clique::default()]).collect();
        Self { clique: &node.clique, inputs: structure.distribute_inputs(i), outputs }
    }
}

/// Scratch of [`BeliefPropagation`].
#[derive(Debug)]
pub struct BeliefWorkspace {
    /// `exp` of the factors.
    factors: Vec<Vec<f64>>,
    nodes: Vec<NodeWorkspace>,
    log_space: Option<Box<LogWorkspace>>,
}

impl BeliefWorkspace {
    /// Whether some call was answered in log space, which is slow.
    pub(crate) fn has_left_linear_space(&self) -> bool {
        self.log_space.is_some()
    }
}

#[derive(Debug)]
struct NodeWorkspace {
    collect: ContractionWorkspace,
    distribute: ContractionWorkspace,
    /// Message to the parent.
    up: Vec<f64>,
    /// Log of the divisor of `up`.
    log_scale: f64,
    /// Message from the parent, scaled so that the product with `up` sums to 1.
    down: Vec<f64>,
    /// Sum over the clique in the distribute sweep, in the units of its scaled inputs.
    total: f64,
}

impl BeliefPropagation {
    /// Compiles the sweeps for the cliques of a layout.
    pub fn new(domain: &Domain, layout: &Arc<CliqueLayout>) -> Self {
        Self::compile(domain, layout, None)
    }

    /// The same for a layout that differs little from an earlier one of the same domain: a maximal clique whose
    /// neighborhood is the same keeps its plan.
    pub fn following(domain: &Domain, layout: &Arc<CliqueLayout>, earlier: &Self) -> Self {
        Self::compile(domain, layout, Some(earlier))
    }

    fn compile(domain: &Domain, layout: &Arc<CliqueLayout>, earlier: Option<&Self>) -> Self {
        let choices = earlier.map(|earlier| Arc::clone(&earlier.structure.choices));
        let structure = Arc::new(Structure::new(domain, layout, choices.unwrap_or_default()));
        let known: BTreeMap<Task<'_>, &Arc<Contraction>> = earlier
            .filter(|earlier| earlier.structure.domain == structure.domain)
            .map(|earlier| earlier.plans().collect())
            .unwrap_or_default();
        let plan = |task: Task<'_>| {
            known.get(&task).map_or_else(
                || {
                    Arc::new(Contraction::new(
                        &structure.choices,
                        domain,
                        task.clique,
                        &task.inputs,
                        &task.outputs,
                    ))
                },
                |plan| Arc::clone(plan),
            )
        };
        let (collect, distribute): (Vec<_>, Vec<_>) = (0..structure.nodes.len())
            .into_par_iter()
            .map(|i| (plan(Task::collect(&structure, i)), plan(Task::distribute(&structure, i))))
            .unzip();
        let visited =
            |(node, (collect, distribute)): (&Node, (&Arc<Contraction>, &Arc<Contraction>))| {
                // A root sends no message.
                let collected = if node.parent.is_some() { collect.cells() } else { 0 };
                collected.saturating_add(distribute.cells())
            };
        let work = structure.nodes.iter().zip(collect.iter().zip(&distribute)).map(visited);
        let sweeps = Sweeps::new(&structure.nodes, work);
        Self { structure, collect, distribute, sweeps }
    }

    /// All plans, keyed by the contraction they compute.
    fn plans(&self) -> impl Iterator<Item = (Task<'_>, &Arc<Contraction>)> {
        let structure = &self.structure;
        let collect = self.collect.iter().enumerate();
        let distribute = self.distribute.iter().enumerate();
        collect
            .map(|(i, plan)| (Task::collect(structure, i), plan))
            .chain(distribute.map(|(i, plan)| (Task::distribute(structure, i), plan)))
    }

    /// The measured cliques.
    pub fn layout(&self) -> &Arc<CliqueLayout> {
        &self.structure.layout
    }

    /// Cells of all maximal cliques: the model size of the literature. See [`crate::graph::size_mib`].
    pub fn model_cells(&self) -> u64 {
        self.structure.tree.cells()
    }

    /// Cells that one call visits in both sweeps.
    pub fn work_cells(&self) -> u64 {
        self.sweeps.work()
    }

    /// Bytes of scratch that a workspace holds.
    pub fn held_bytes(&self) -> usize {
        let scratch: usize =
            self.collect.iter().chain(&self.distribute).map(|plan| plan.held()).sum();
        let messages: usize = self
            .structure
            .nodes
            .iter()
            .map(|n| self.structure.domain.shape(&n.separator).iter().product::<usize>())
            .sum();
        size_of::<f64>() * (scratch + 2 * messages + self.structure.layout.cells())
    }

    /// Does some work of many calls on a thread of the pool where calls use it, so that threads are not handed to and fro
    /// within.
    pub(crate) fn in_pool<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        if in_parallel(self.work_cells()) { rayon::scope(|_| work()) } else { work() }
    }

    /// The messages of the distribution with these potentials, for marginals on other cliques.
    ///
    /// # Errors
    /// As [`MarginalOracle::marginals`].
    pub(crate) fn calibrate(&self, theta: &Potentials) -> Result<Calibrated> {
        let mut workspace = self.workspace();
        let structure = Arc::clone(&self.structure);
        let shifts = self.structure.gather_exp(theta, &mut workspace.factors)?;
        if self.propagate(shifts, &mut workspace).is_some() {
            let factors = workspace.factors;
            let (up, down) = workspace.nodes.into_iter().map(|n| (n.up, n.down)).unzip();
            return Ok(Calibrated { structure, factors, up, down, space: Space::Linear });
        }
        self.calibrate_in_log_space(theta)
    }

    /// As [`BeliefPropagation::calibrate`], slower and for any potentials.
    pub(crate) fn calibrate_in_log_space(&self, theta: &Potentials) -> Result<Calibrated> {
        let structure = Arc::clone(&self.structure);
        let oracle = LogSpace::from_structure(Arc::clone(&structure));
        let mut scratch = oracle.workspace();
        oracle.marginals(theta, 1.0, &mut scratch, &mut Marginals::zeros(&structure.layout))?;
        let LogWorkspace { factors, up, down } = scratch;
        Ok(Calibrated { structure, factors, up, down, space: Space::Log })
    }

    /// Both sweeps in linear space, from factors that were divided by `exp(shifts)` in all. `None` if everything in
    /// some clique underflows.
    fn propagate(&self, shifts: f64, workspace: &mut BeliefWorkspace) -> Option<f64> {
        let BeliefWorkspace { factors, nodes, .. } = workspace;
        let mut log_partition = self.structure.log_free_cells + shifts;
        if log_partition == f64::NEG_INFINITY {
            return None;
        }
        let factors = &factors[..];
        self.sweeps.upwards(nodes, &|i, node, below| {
            if self.structure.nodes[i].parent.is_some() {
                self.collect_node(i, node, below, factors);
            }
        });
        self.sweeps.downwards(nodes, &|i, node, below, parent| {
            if let Some(parent) = parent {
                self.receive(i, node, parent);
            }
            self.distribute_node(i, node, below, factors);
        });
        log_partition += self.roots(nodes).map(|root| root.total.ln()).sum::<f64>();
        log_partition += nodes.iter().map(|n| n.log_scale).sum::<f64>();
        let usable = nodes.iter().all(|n| n.total > LEAST_TOTAL && n.total.is_finite());
        (usable && log_partition.is_finite()).then_some(log_partition)
    }

    /// Those nodes that have no parent.
    fn roots<'n>(&self, nodes: &'n [NodeWorkspace]) -> impl Iterator<Item = &'n NodeWorkspace> {
        let all = self.structure.nodes.iter().zip(nodes);
        all.filter(|(node, _)| node.parent.is_none()).map(|(_, workspace)| workspace)
    }

    /// The product of a node's factors and its children's messages, summed onto the separator to its parent.
    fn collect_node(
        &self,
        i: usize,
        node: &mut NodeWorkspace,
        below: &[NodeWorkspace],
        factors: &[Vec<f64>],
    ) {
        let inputs = self.inputs::<SumProduct>(i, factors, i + 1, below);
        self.collect[i].run::<SumProduct>(&inputs, &mut node.collect);
        let largest = copy_and_largest(node.collect.output(0), &mut node.up);
        node.log_scale = scale_message(&mut node.up, largest).ln();
    }

    /// `max_x Σ_r θ_r(x_r)` over all records of the domain: one collect sweep with sums instead of products and maxima
    /// instead of sums. Minus infinity if the potentials forbid every record.
    ///
    /// # Errors
    /// Potentials over other cliques than the oracle's, or a potential that is NaN or plus infinity.
    pub fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut BeliefWorkspace,
    ) -> Result<f64> {
        let BeliefWorkspace { factors, nodes, .. } = workspace;
        self.structure.gather(theta, factors)?;
        let factors = &factors[..];
        self.sweeps.upwards(nodes, &|i, node, below| {
            let inputs = self.inputs::<MaxSum>(i, factors, i + 1, below);
            self.collect[i].run::<MaxSum>(&inputs, &mut node.collect);
            node.up.copy_from_slice(node.collect.output(0));
        });
        Ok(self.roots(nodes).map(|root| root.up[0]).sum())
    }

    /// The parent's message: its belief about the separator over this node's own message, with 0/0 = 0.
    fn receive(&self, i: usize, node: &mut NodeWorkspace, above: &NodeWorkspace) {
        let Node { parent: Some(parent), rank, .. } = self.structure.nodes[i] else { return };
        let belief = above.distribute.output(self.structure.nodes[parent].factors.len() + rank);
        // Scaled by the belief and not by its own maximum, which may lie where this node's message is nearly zero.
        let lost = message_down(belief, &node.up, LEAST_MESSAGE, &mut node.down);
        if lost > LOST_SHARE {
            node.down.fill(f64::NAN);
        }
    }

    fn distribute_node(
        &self,
        i: usize,
        node: &mut NodeWorkspace,
        below: &[NodeWorkspace],
        factors: &[Vec<f64>],
    ) {
        let mut inputs = self.inputs::<SumProduct>(i, factors, i + 1, below);
        if self.structure.nodes[i].parent.is_some() {
            inputs.push(&node.down);
        }
        self.distribute[i].run::<SumProduct>(&inputs, &mut node.distribute);
        // The total comes after the factors and the children's separators.
        let node_here = &self.structure.nodes[i];
        node.total = node.distribute.output(node_here.factors.len() + node_here.children.len())[0];
    }

    /// The factors of a node, its masks and its children's messages; `below` starts at node `first`.
    fn inputs<'a, R: Semiring>(
        &'a self,
        i: usize,
        factors: &'a [Vec<f64>],
        first: usize,
        below: &'a [NodeWorkspace],
    ) -> Vec<&'a [f64]> {
        let node = &self.structure.nodes[i];
        let own = node.factors.iter().map(|f| factors[*f].as_slice());
        let masks = node.masks.iter().map(|m| {
            let mask = &self.structure.masks[*m];
            if R::LOGS { mask.logs.as_slice() } else { mask.numbers.as_slice() }
        });
        let children = node.children.iter().map(|c| below[*c - first].up.as_slice());
        // With room for the parent's message.
        let count = node.factors.len() + node.masks.len() + node.children.len() + 1;
        let mut inputs = Vec::with_capacity(count);
        inputs.extend(own.chain(masks).chain(children));
        inputs
    }

    /// Writes the factors' beliefs, scaled to the total, and the marginals of the measured subsets.
    fn write(&self, workspace: &BeliefWorkspace, total: f64, mu: &mut Marginals) {
        for (node, scratch) in self.structure.nodes.iter().zip(&workspace.nodes) {
            for (position, f) in node.factors.iter().enumerate() {
                let belief = scratch.distribute.output(position);
                scale_to(belief, total, mu.table_mut(self.structure.factors[*f]));
            }
        }
        self.structure.project_subsets(mu);
    }
}

impl MarginalOracle for BeliefPropagation {
    type Workspace = BeliefWorkspace;

    fn largest_log_weight(
        &self,
        theta: &Potentials,
        workspace: &mut BeliefWorkspace,
    ) -> Result<Option<f64>> {
        self.largest_log_weight(theta, workspace).map(Some)
    }

    fn together<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        self.in_pool(work)
    }

    fn workspace(&self) -> BeliefWorkspace {
        let node = |i: usize| {
            let separator = &self.structure.nodes[i].separator;
            let cells = self.structure.domain.shape(separator).iter().product();
            NodeWorkspace {
                collect: ContractionWorkspace::new(&self.collect[i]),
                distribute: ContractionWorkspace::new(&self.distribute[i]),
                up: vec![0.0; cells],
                log_scale: 0.0,
                down: vec![0.0; cells],
                total: 0.0,
            }
        };
        let nodes = 0..self.structure.nodes.len();
        let nodes = if in_parallel(self.work_cells()) {
            nodes.into_par_iter().map(node).collect()
        } else {
            nodes.map(node).collect()
        };
        BeliefWorkspace { factors: self.structure.factor_tables(), nodes, log_space: None }
    }

    fn marginals(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut BeliefWorkspace,
        mu: &mut Marginals,
    ) -> Result<f64> {
        if let Some(log_partition) = self.marginals_if_fast(theta, total, workspace, mu)? {
            return Ok(log_partition);
        }
        let oracle = LogSpace::from_structure(Arc::clone(&self.structure));
        let scratch = workspace.log_space.get_or_insert_with(|| Box::new(oracle.workspace()));
        oracle.marginals(theta, total, scratch, mu)
    }

    /// In linear space.
    fn marginals_if_fast(
        &self,
        theta: &Potentials,
        total: f64,
        workspace: &mut BeliefWorkspace,
        mu: &mut Marginals,
    ) -> Result<Option<f64>> {
        self.in_pool(|| {
            let shifts = self.structure.gather_exp(theta, &mut workspace.factors)?;
            let log_partition = self.propagate(shifts, workspace);
            if log_partition.is_some() {
                self.write(workspace, total, mu);
            }
            Ok(log_partition)
        })
    }
}

/// Divides a message by its largest value if that is outside the normal range; returns the divisor.
fn scale_message(message: &mut [f64], largest: f64) -> f64 {
    if largest > 0.0 && largest.ln().abs() <= ORDINARY_LOG {
        return 1.0;
    }
    for x in message {
        *x /= largest;
    }
    largest
}
