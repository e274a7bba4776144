//! The cost of a model in the engine: the model size as defined in the literature, the work per call, and the memory.

use std::time::Instant;

use jointly::domain::{Clique, Domain};
use jointly::graph::{Extensions, JunctionTree, cells_within_mib, size_mib};
use jointly::inference::{BeliefPropagation, MarginalOracle};
use jointly::table::{CliqueLayout, Marginals, Potentials};
use jointly::{Error, Result};
use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rand::seq::SliceRandom;
use serde::Serialize;

/// Number of timed calls, after one untimed call. The fastest one counts.
const TIMED_CALLS: usize = 3;
/// Number of vectors of all measured cells that a fit holds: potentials, marginals and gradients; old, new and best.
const FIT_VECTORS: usize = 10;

/// Sizes, work and memory of one model.
#[derive(Serialize)]
pub(super) struct EngineCost {
    pub(super) measured_cliques: usize,
    /// Number of cells of the measured marginals.
    pub(super) measured_cells: usize,
    /// Number of cells of all maximal cliques, which are never held in memory.
    pub(super) model_cells: u64,
    /// `model_cells` at 8 bytes per cell, in MiB: the model size as defined in the literature.
    pub(super) model_mib: f64,
    /// Number of cells that one oracle call visits, in both sweeps.
    pub(super) work_cells: u64,
    /// Memory that a fit of the model holds, in bytes.
    pub(super) held_bytes: u64,
    /// Time of one oracle call on this machine, in seconds.
    pub(super) seconds_per_call: f64,
}

impl EngineCost {
    /// The cost of a model of these cliques, which the caller has checked against the limit.
    pub(super) fn of(domain: &Domain, measured: &[Clique]) -> Result<Self> {
        let layout = CliqueLayout::new(domain, measured.iter().cloned())?;
        let oracle = BeliefPropagation::new(domain, &layout);
        let held = oracle.held_bytes() + FIT_VECTORS * size_of::<f64>() * layout.cells();
        Ok(Self {
            measured_cliques: layout.cliques().len(),
            measured_cells: layout.cells(),
            model_cells: oracle.model_cells(),
            model_mib: size_mib(oracle.model_cells()),
            work_cells: oracle.work_cells(),
            held_bytes: held as u64,
            seconds_per_call: seconds_per_call(&oracle)?,
        })
    }
}

/// Refuses cliques whose model is above the limit.
pub(super) fn check_size(domain: &Domain, measured: &[Clique], limit_mib: f64) -> Result<()> {
    if JunctionTree::is_tractable(domain, measured, cells_within_mib(limit_mib)) {
        return Ok(());
    }
    Err(Error::too_large(
        "the model of the measured cliques",
        None,
        limit_mib,
        "MiB at 8 bytes per cell",
    ))
}

/// Which of these cliques fit a model of this size, each alone. Single attributes are part of every model.
pub(super) fn fit_alone(domain: &Domain, cliques: &[Clique], limit_mib: f64) -> Vec<bool> {
    let nothing = JunctionTree::new(domain, &[]);
    let extensions = Extensions::new(domain, &[], cells_within_mib(limit_mib));
    let mut fit = extensions.allowed(&nothing, cliques);
    fit.iter_mut().zip(cliques).for_each(|(fits, clique)| *fits |= clique.len() == 1);
    fit
}

/// Cliques that a run of `rounds` rounds could measure. They are drawn at random with a fixed seed, and accepted if the
/// model stays within the limit. Empty if independent attributes already exceed it.
pub(super) fn example_run(
    domain: &Domain,
    candidates: &[Clique],
    rounds: u32,
    limit_mib: f64,
) -> Vec<Clique> {
    let rounds = usize::try_from(rounds).unwrap_or(usize::MAX);
    let limit_cells = cells_within_mib(limit_mib);
    let mut order: Vec<&Clique> = candidates.iter().collect();
    order.shuffle(&mut ChaCha20Rng::seed_from_u64(0));
    let mut measured: Vec<Clique> = Vec::new();
    // Stop after as many rejections as rounds: only small cliques still fit.
    for clique in order.into_iter().take(rounds.saturating_mul(2)) {
        if measured.len() == rounds {
            break;
        }
        measured.push(clique.clone());
        if !JunctionTree::is_tractable(domain, &measured, limit_cells) {
            measured.pop();
        }
    }
    measured
}

fn seconds_per_call(oracle: &BeliefPropagation) -> Result<f64> {
    let theta = Potentials::zeros(oracle.layout());
    let mut mu = Marginals::zeros(oracle.layout());
    let mut workspace = oracle.workspace();
    oracle.marginals(&theta, 1.0, &mut workspace, &mut mu)?;
    let mut fastest = f64::INFINITY;
    for _ in 0..TIMED_CALLS {
        let start = Instant::now();
        oracle.marginals(&theta, 1.0, &mut workspace, &mut mu)?;
        fastest = fastest.min(start.elapsed().as_secs_f64());
    }
    Ok(fastest)
}
