//! Shared parts of mechanisms that select, measure and fit, round after round.

use std::sync::Arc;

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;
use rayon::prelude::*;

use crate::data::Projectable;
use crate::domain::{Clique, Domain};
use crate::error::{Error, Result};
use crate::estimation::{
    AcceleratedBregman, Certificate, Estimate, Estimator, LeastLoss, SquaredLoss, Stopping,
    Weighting,
};
use crate::graph::{self, Extensions, JunctionTree, Scratch};
use crate::inference::BeliefPropagation;
use crate::measurement::Measurement;
use crate::model::{MarkovRandomField, Sampling};
use crate::privacy::Sensitive;
use crate::table::Potentials;

/// Model cells that one round may walk over for marginals off the tree, before it samples the others.
const EXACT_CELLS: u64 = 1 << 29;
/// Cliques off the tree whose elimination is priced at all.
const PRICED: usize = 1 << 16;
/// Counted cells of sampled records a round: records times cliques.
const SAMPLED_COUNTS: usize = 2_000_000_000;
const MOST_SAMPLED_RECORDS: usize = 1 << 20;
/// Model cells held at a time while scores are computed.
const BATCH_CELLS: u64 = 1 << 22;
/// Cells summed before a partial sum is added to the others, which bounds the rounding error of a score.
const SUM_BLOCK: usize = 4096;

/// Refuses a size limit below the model of independent attributes and structural zeros, which every model contains,
/// and structural zeros that leave no record.
pub(super) fn check_domain(domain: &Domain, limit_mib: f64) -> Result<()> {
    let least = graph::size_mib(JunctionTree::new(domain, &[]).cells());
    if least <= limit_mib {
        return MarkovRandomField::uniform(domain, 1.0).map(drop);
    }
    let reason = format!(
        "the limit is a model of {limit_mib} MiB, and independent attributes{} take {least:.6} MiB",
        if domain.structural_zeros().is_empty() { "" } else { " with their structural zeros" }
    );
    Err(Error::NoCandidates { round: 1, reason })
}

/// Which of the cliques keep the model within `limit_mib` when measured next to `measured`.
///
/// A clique inside an existing maximal clique always does.
pub(super) fn tractable(
    domain: &Domain,
    measured: &[Clique],
    cliques: &[Clique],
    limit_mib: f64,
) -> Vec<bool> {
    let tree = JunctionTree::new(domain, measured);
    let extensions = Extensions::new(domain, measured, graph::cells_within_mib(limit_mib));
    cliques
        .par_iter()
        .map_init(Scratch::default, |scratch, clique| {
            tree.host(clique).is_some() || extensions.allow(clique, scratch)
        })
        .collect()
}

/// How many model marginals were exact, and how many came from records drawn from the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Coverage {
    pub exact: usize,
    pub sampled: usize,
}

/// `‖M_τ(D) - M_τ(model)‖₁` for some cliques, in counts.
///
/// `answers` are the private marginals of all cliques, `wanted` the positions asked for.
pub(super) fn model_errors(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    answers: &Sensitive<Vec<Vec<u32>>>,
    round: u32,
) -> Result<(Sensitive<Vec<f64>>, Coverage)> {
    let mut errors = Some(answers.as_ref().map(|_| vec![0.0; cliques.len()]));
    let coverage = for_each_batch(model, cliques, wanted, round, |part, tables| {
        errors = errors.take().map(|errors| {
            errors.zip(answers.as_ref()).map(|(mut errors, answers)| {
                distances(part, tables, answers, 1.0, &mut errors);
                errors
            })
        });
    })?;
    let errors = errors.unwrap_or_else(|| answers.as_ref().map(|_| Vec::new()));
    Ok((errors.map(|e| wanted.iter().map(|i| e[*i]).collect()), coverage))
}

/// `‖scale M_τ(P) - M_τ(model)‖₁` for a public table.
pub(super) fn table_distances(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    counts: &[Vec<u32>],
    scale: f64,
    round: u32,
) -> Result<Vec<f64>> {
    let mut found = vec![0.0; cliques.len()];
    for_each_batch(model, cliques, wanted, round, |part, tables| {
        distances(part, tables, counts, scale, &mut found);
    })?;
    Ok(wanted.iter().map(|i| found[*i]).collect())
}

/// Calls `visit` with positions of cliques and the model's marginals on them, batch by batch.
///
/// Marginals off the tree that are dear are estimated from records drawn from the model: that is post-processing of
/// what was released before, and leaves the sensitivity of an error against them as it is.
fn for_each_batch(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    round: u32,
    mut visit: impl FnMut(&[usize], &[Vec<f64>]),
) -> Result<Coverage> {
    let domain = model.domain();
    let (exact, sampled) = split_by_work(model, cliques, wanted);
    let asked = |part: &[usize]| part.iter().map(|i| cliques[*i].clone()).collect::<Vec<_>>();
    for part in batches(domain, cliques, &exact) {
        let tables: Vec<Vec<f64>> =
            model.marginals(&asked(part))?.iter().map(|t| t.values().to_vec()).collect();
        visit(part, &tables);
    }
    if !sampled.is_empty() {
        let enough = (SAMPLED_COUNTS / sampled.len()).min(MOST_SAMPLED_RECORDS);
        let records = enough.max(whole_records(model.total()));
        let mut rng = ChaCha20Rng::seed_from_u64(u64::from(round));
        let rows = model.sample(records, Sampling::Rounded, &mut rng)?;
        let scale = model.total() / records as f64;
        for part in batches(domain, cliques, &sampled) {
            let tables: Vec<Vec<f64>> = rows
                .project_many(&asked(part))?
                .iter()
                .map(|counts| counts.iter().map(|c| scale * f64::from(*c)).collect())
                .collect();
            visit(part, &tables);
        }
    }
    Ok(Coverage { exact: exact.len(), sampled: sampled.len() })
}

/// The cliques to answer exactly (in the tree, or cheap off it), and the others.
fn split_by_work(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
) -> (Vec<usize>, Vec<usize>) {
    let calibrated = model.calibrated();
    let in_tree: Vec<bool> = wanted.par_iter().map(|i| calibrated.in_tree(&cliques[*i])).collect();
    let mut exact: Vec<usize> =
        wanted.iter().zip(&in_tree).filter(|(_, inside)| **inside).map(|(i, _)| *i).collect();
    let mut outside: Vec<usize> =
        wanted.iter().zip(&in_tree).filter(|(_, inside)| !**inside).map(|(i, _)| *i).collect();
    outside.sort_by_key(|i| (model.domain().cells(&cliques[*i]), *i));
    let unpriced = outside.split_off(outside.len().min(PRICED));
    let mut priced: Vec<(u64, usize)> =
        outside.par_iter().map(|i| (model.marginal_work(&cliques[*i]), *i)).collect();
    priced.sort_unstable();
    let mut work = 0_u64;
    let mut sampled = unpriced;
    for (cells, i) in priced {
        work = work.saturating_add(cells);
        if work <= EXACT_CELLS { exact.push(i) } else { sampled.push(i) }
    }
    exact.sort_unstable();
    sampled.sort_unstable();
    (exact, sampled)
}

/// Runs of cliques with a bounded number of cells.
fn batches<'i>(domain: &Domain, cliques: &[Clique], indices: &'i [usize]) -> Vec<&'i [usize]> {
    let mut parts = Vec::new();
    let (mut start, mut held) = (0, 0_u64);
    for (end, i) in indices.iter().enumerate() {
        let cells = domain.cells(&cliques[*i]).unwrap_or(u64::MAX);
        held = held.saturating_add(cells);
        if held > BATCH_CELLS && end > start {
            parts.push(&indices[start..end]);
            start = end;
            held = cells;
        }
    }
    if start < indices.len() {
        parts.push(&indices[start..]);
    }
    parts
}

/// Writes the distance of `scale` times each clique's counts to its table.
fn distances(
    part: &[usize],
    tables: &[Vec<f64>],
    counts: &[Vec<u32>],
    scale: f64,
    found: &mut [f64],
) {
    let new: Vec<f64> = part
        .par_iter()
        .zip(tables)
        .map(|(i, table)| scale * l1_distance(&counts[*i], table, 1.0 / scale))
        .collect();
    for (i, distance) in part.iter().zip(new) {
        found[*i] = distance;
    }
}

/// The total as a number of records, at least 1.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number of records is positive and below 2^32"
)]
fn whole_records(total: f64) -> usize {
    total.clamp(1.0, f64::from(u32::MAX)) as usize
}

/// `Σ |a - scale b|` of counts and a table.
pub(super) fn l1_distance<T: Copy + Into<f64>>(counts: &[u32], table: &[T], scale: f64) -> f64 {
    let blocks = counts.chunks(SUM_BLOCK).zip(table.chunks(SUM_BLOCK));
    blocks
        .map(|(counts, table)| {
            let cells = counts.iter().zip(table);
            cells.map(|(a, b)| (f64::from(*a) - scale * (*b).into()).abs()).sum::<f64>()
        })
        .sum()
}

/// Oracle calls times MiB that a certificate may take in any case: some tenth of a second.
const LITTLE_WORK: f64 = 1000.0;

/// A number of calls, rounded down.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the number is brought within range first"
)]
fn whole_calls(calls: f64) -> u32 {
    calls.clamp(0.0, f64::from(u32::MAX)) as u32
}

/// A fitted model, what the fit says of itself, and what it takes to certify it.
pub(super) struct Fit {
    pub model: MarkovRandomField,
    pub estimate: Estimate,
    oracle: Arc<BeliefPropagation>,
    loss: SquaredLoss,
    total: f64,
}

impl Fit {
    /// Fits a model to all measurements; takes over what it can from the plans of an earlier fit.
    pub(super) fn new(
        domain: &Domain,
        measurements: &[Measurement],
        total: f64,
        warm_start: Option<&Potentials>,
        stopping: Stopping,
        weighting: Weighting,
        earlier: Option<&Self>,
    ) -> Result<Self> {
        let loss = SquaredLoss::new(domain, measurements, weighting)?;
        let oracle = Arc::new(match earlier {
            Some(fit) => BeliefPropagation::following(domain, loss.layout(), &fit.oracle),
            None => BeliefPropagation::new(domain, loss.layout()),
        });
        let estimator = AcceleratedBregman { stopping, ..AcceleratedBregman::default() };
        let estimate = estimator.estimate(&oracle, &loss, total, warm_start)?;
        let potentials = estimate.potentials.clone();
        let model = MarkovRandomField::with_oracle(Arc::clone(&oracle), potentials, total)?;
        Ok(Self { model, estimate, oracle, loss, total })
    }

    /// How far from the least loss the fit is, at most. Without noise the bound is 0, which the marginals of one table
    /// attain.
    ///
    /// `iterations`: calls that a fit may take. `work`: of all fits, the sum of their calls times their model's MiB. The
    /// certificate takes no more than that, and no more calls than two fits; but those of one fit while it is loose.
    pub(super) fn certify(&self, iterations: u32, work: f64) -> Result<Certificate> {
        let affordable = whole_calls(work.max(LITTLE_WORK) / self.model.size_mib());
        let soft = affordable.min(iterations.saturating_mul(2));
        let calls = soft..=soft.max(iterations);
        let Estimate { loss, lower_bound, potentials, marginals, .. } = &self.estimate;
        let (mut lower_bound, mut least_loss) = (*lower_bound, *loss);
        if self.loss.noise() > 0.0 {
            let near = Some(potentials);
            let found = LeastLoss::enclose(&self.oracle, &self.loss, self.total, near, calls)?;
            lower_bound = lower_bound.max(found.lower_bound);
            least_loss = least_loss.min(found.upper_bound);
        }
        let (noise, excess) = (self.loss.noise(), self.loss.excess(marginals));
        Ok(Certificate { loss: *loss, least_loss, lower_bound, noise, excess })
    }
}
