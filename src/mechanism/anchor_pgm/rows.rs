//! The public records themselves, reweighted to the measurements.

use crate::data::PublicData;
use crate::domain::Domain;
use crate::error::Result;
use crate::estimation::{AcceleratedBregman, Estimator, SquaredLoss, Stopping, Weighting};
use crate::inference::ListedRecords;
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::GAP;
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::model::WeightedSupport;

/// Oracle calls after which the reweighting ends.
const CALLS: u32 = 100;
/// Most cells of records that the reweighting looks up: records times marginals.
const MOST_LOOKED_UP: usize = 1 << 27;

/// The public records as they are, and reweighted to the measurements.
pub(super) fn candidates(
    domain: &Domain,
    tables: &[PublicData],
    measurements: &[Measurement],
    total: f64,
) -> Result<Vec<Candidate>> {
    let Some(support) = listed(domain, tables, total)? else { return Ok(Vec::new()) };
    let records = support.weights().iter().sum();
    let fitted = reweighted(&support, measurements, records)?;
    let fitted = fitted.map(|fitted| ("the public records, reweighted", fitted));
    let all = fitted.into_iter().chain([("the public records", support)]);
    Ok(all.map(|(name, listed)| Candidate { name, form: Form::Listed(listed) }).collect())
}

/// The records of the public tables that have all attributes, standing for `total` records; `None` if no table has them.
fn listed(domain: &Domain, tables: &[PublicData], total: f64) -> Result<Option<WeightedSupport>> {
    let all = domain.everything();
    let whole: Vec<&PublicData> = tables.iter().filter(|t| t.covers(&all)).collect();
    if whole.is_empty() {
        return Ok(None);
    }
    WeightedSupport::from_public(domain, &whole, total).map(Some)
}

/// The records with the weights that fit the measurements, pulled to the weights that they have by `pull` records.
fn reweighted(
    support: &WeightedSupport,
    measurements: &[Measurement],
    pull: f64,
) -> Result<Option<WeightedSupport>> {
    if support.size().saturating_mul(measurements.len()) > MOST_LOOKED_UP || measurements.is_empty()
    {
        return Ok(None);
    }
    let loss = SquaredLoss::new(support.domain(), measurements, Weighting::InverseVariance)?;
    let oracle = ListedRecords::new(support.rows(), support.weights(), loss.layout())?;
    let stopping = Stopping::certified(GAP, CALLS);
    let method = AcceleratedBregman { stopping, pull, ..AcceleratedBregman::default() };
    let estimate = method.estimate(&oracle, &loss, support.total(), None)?;
    let (weights, _) = oracle.weights(&estimate.potentials)?;
    support.clone().reweighted(weights, support.total()).map(Some)
}
