//! Distances between a model and tables: the scores of candidates, exact where that is cheap, otherwise estimated from
//! drawn records.

use rayon::prelude::*;

use crate::data::Projectable;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::privacy::{L1Errors, SealedMarginals};
use crate::table::l1_distance;

/// Maximum number of model cells that one round visits for marginals off the tree; it samples the other marginals.
const EXACT_CELLS: u64 = 1 << 28;
/// Maximum number of cliques off the tree whose elimination cost is computed.
const PRICED: usize = 1 << 16;
/// Sampled records for each record that the model stands for: they add at most an eighth to the sampling error that the
/// private marginal has itself. Fewer, but not below one, where a round would have more than such a number of records ...
const SAMPLED_RECORDS: usize = 4;
const MOST_SAMPLED_RECORDS: usize = 1 << 20;
/// ... or of counts over them, which are records times cliques.
const SAMPLED_COUNTS: usize = 2_000_000_000;
/// Model cells in memory at a time while scores are computed.
const BATCH_CELLS: u64 = 1 << 22;

/// The number of exact model marginals, and the number estimated from records drawn from the model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in crate::mechanism) struct Coverage {
    pub(in crate::mechanism) exact: usize,
    pub(in crate::mechanism) sampled: usize,
}

/// `‖M_τ(D) - M_τ(model)‖₁` for some cliques, in counts.
///
/// `answers`: the private marginals of all cliques. `wanted`: the positions of the cliques to score; the others' errors are
/// not set.
pub(in crate::mechanism) fn model_errors(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    answers: &SealedMarginals,
    round: u32,
    checks: &dyn Checks,
) -> Result<(L1Errors, Coverage)> {
    let mut errors = answers.l1_errors();
    let coverage = for_each_batch(model, cliques, wanted, round, checks, |part, tables| {
        Ok(errors.compare(answers, part, tables, 1.0)?)
    })?;
    Ok((errors, coverage))
}

/// `‖scale M_τ(P) - M_τ(model)‖₁` for a public table.
pub(in crate::mechanism) fn table_distances(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    counts: &[Vec<u32>],
    scale: f64,
    round: u32,
    checks: &dyn Checks,
) -> Result<Vec<f64>> {
    let mut found = vec![0.0; cliques.len()];
    for_each_batch(model, cliques, wanted, round, checks, |part, tables| {
        distances(part, tables, counts, scale, &mut found);
        Ok(())
    })?;
    Ok(wanted.iter().map(|i| found[*i]).collect())
}

/// Calls `visit` batch by batch, with positions of cliques and the model's marginals on them.
///
/// Costly marginals off the tree are estimated from records drawn from the model. This is post-processing of earlier
/// releases, and does not change the sensitivity of an error measured against them.
fn for_each_batch(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
    round: u32,
    checks: &dyn Checks,
    mut visit: impl FnMut(&[usize], &[Vec<f64>]) -> Result<()>,
) -> Result<Coverage> {
    let domain = model.domain();
    let (exact, sampled) = split_by_work(model, cliques, wanted);
    let asked = |part: &[usize]| part.iter().map(|i| cliques[*i].clone()).collect::<Vec<_>>();
    for part in batches(domain, cliques, &exact) {
        checks.check()?;
        let tables: Vec<Vec<f64>> =
            model.marginals(&asked(part))?.iter().map(|t| t.values().to_vec()).collect();
        visit(part, &tables)?;
    }
    if !sampled.is_empty() {
        let least = whole_records(model.total());
        let most = MOST_SAMPLED_RECORDS.min(SAMPLED_COUNTS / sampled.len());
        let records = least.saturating_mul(SAMPLED_RECORDS).min(most).max(least);
        let rows = model.sample_for(&asked(&sampled), records, u64::from(round))?;
        let scale = model.total() / records as f64;
        for part in batches(domain, cliques, &sampled) {
            checks.check()?;
            let tables: Vec<Vec<f64>> = rows
                .project_many(&asked(part))?
                .iter()
                .map(|counts| counts.iter().map(|c| scale * f64::from(*c)).collect())
                .collect();
            visit(part, &tables)?;
        }
    }
    Ok(Coverage { exact: exact.len(), sampled: sampled.len() })
}

/// The cliques to answer exactly (in the tree, or cheap off it), in an order in which neighbors share work, and the
/// others.
fn split_by_work(
    model: &MarkovRandomField,
    cliques: &[Clique],
    wanted: &[usize],
) -> (Vec<usize>, Vec<usize>) {
    let in_tree: Vec<bool> = wanted.par_iter().map(|i| model.holds(&cliques[*i])).collect();
    let mut exact: Vec<usize> =
        wanted.iter().zip(&in_tree).filter(|(_, inside)| **inside).map(|(i, _)| *i).collect();
    let mut outside: Vec<usize> =
        wanted.iter().zip(&in_tree).filter(|(_, inside)| !**inside).map(|(i, _)| *i).collect();
    outside.sort_by_key(|i| (model.domain().cells(&cliques[*i]), *i));
    let mut sampled = outside.split_off(outside.len().min(PRICED));
    let asked: Vec<Clique> = outside.iter().map(|i| cliques[*i].clone()).collect();
    let (affordable, costly) = model.affordable(&asked, EXACT_CELLS);
    exact.extend(affordable.into_iter().map(|place| outside[place]));
    sampled.extend(costly.into_iter().map(|place| outside[place]));
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

/// Writes the distance between `scale` times each clique's counts and its table.
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
pub(in crate::mechanism) fn whole_records(total: f64) -> usize {
    total.clamp(1.0, f64::from(u32::MAX)) as usize
}
