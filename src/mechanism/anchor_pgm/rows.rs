//! The public records themselves: as they are, reweighted to the measurements, and mixed with a model.

use rand::SeedableRng;
use rand::rngs::ChaCha20Rng;

use crate::data::{Dataset, Projectable, PublicData};
use crate::domain::Domain;
use crate::error::Result;
use crate::estimation::{AcceleratedBregman, Estimator, SquaredLoss, Stopping, Weighting};
use crate::inference::{Interruptible, ListedRecords};
use crate::measurement::Measurement;
use crate::mechanism::Task;
use crate::mechanism::anchor_pgm::base::Base;
use crate::mechanism::anchor_pgm::constants::{
    DRAWN, DRAWN_TIMES, GAP, HELD_OUT, LEAST_SHARE, MOST_COMPARED, MOST_LOOKED_UP,
    REWEIGHTING_CALLS, REWEIGHTINGS,
};
use crate::mechanism::anchor_pgm::doubt::Doubts;
use crate::mechanism::anchor_pgm::mixture::Mixture;
use crate::mechanism::anchor_pgm::pick::{Candidate, Form};
use crate::model::{Distribution, MarkovRandomField, Sampling, WeightedSupport};
use crate::observe::Checks;
use crate::query::Workload;

/// The records of the public tables that have all attributes, and what the measurements say of them.
pub(super) struct PublicRecords {
    listed: WeightedSupport,
    /// How many there are, equal ones counted each.
    records: usize,
    /// With the weights that fit the measurements; `None` without measurements, or if that would take too long.
    reweighted: Option<WeightedSupport>,
    /// Whether the measurements are compatible with some weights.
    agree: bool,
}

impl PublicRecords {
    /// `None` if no public table has all attributes.
    pub(super) fn fit(
        domain: &Domain,
        tables: &[PublicData],
        measurements: &[Measurement],
        total: f64,
        checks: &dyn Checks,
    ) -> Result<Option<Self>> {
        let whole = whole(domain, tables);
        if whole.is_empty() {
            return Ok(None);
        }
        let listed = WeightedSupport::from_public(domain, &whole, total)?;
        let records = usize::try_from(whole.iter().map(|table| table.records()).sum::<u64>());
        let records = records.unwrap_or(usize::MAX);
        let mut found = Self { listed, records, reweighted: None, agree: false };
        let cells = found.listed.size().saturating_mul(measurements.len());
        if cells > 0 && cells <= MOST_LOOKED_UP {
            found.reweight(measurements, checks)?;
        }
        Ok(Some(found))
    }

    fn reweight(&mut self, measurements: &[Measurement], checks: &dyn Checks) -> Result<()> {
        let (rows, total) = (self.listed.rows(), self.listed.total());
        let (weights, agree) =
            reweighted(rows, self.listed.weights(), measurements, total, checks)?;
        self.reweighted = Some(self.listed.clone().reweighted(weights, total)?);
        self.agree = agree;
        Ok(())
    }

    /// The share of the reweighted records in their best mixture with a model of the same measurements; `None` where a mixture would
    /// hardly help, or where the records do not agree with the measurements.
    ///
    /// `beaten`: [`Setting::beaten`](super::setting::Setting::beaten); the share of the records is divided by one more. It is less, too, the
    /// fewer records there are effectively once they are reweighted.
    pub(super) fn share_beside(
        &self,
        base: &Base,
        task: &Task<'_>,
        beaten: f64,
        checks: &dyn Checks,
    ) -> Result<Option<f64>> {
        if !self.agree || LEAST_SHARE * (1.0 + beaten) >= 1.0 {
            return Ok(None);
        }
        let whole = whole(base.model.domain(), task.public);
        let share = best_share(base, &whole, task.workload, checks)?;
        let share = of_effective(share, self.effective()) / (1.0 + beaten);
        Ok(Some(share).filter(|share| *share >= LEAST_SHARE))
    }

    /// The reweighted records mixed with a model of the same measurements, once for each of these shares of the records; none if they
    /// could not be reweighted.
    pub(super) fn mixed_with(
        &self,
        model: &MarkovRandomField,
        shares: &[f64],
    ) -> Result<Vec<Mixture>> {
        match &self.reweighted {
            Some(reweighted) if !shares.is_empty() => {
                Mixture::each(reweighted, self.records, model, shares)
            }
            _ => Ok(Vec::new()),
        }
    }

    /// The effective number of reweighted records, as a share of that of all records: `(Σ w)² / (Σ c · Σ w²/c)`, with c of each listed
    /// record the number of its copies, and w their weight together. Few heavy records say little about all that they were not reweighted by.
    fn effective(&self) -> f64 {
        let Some(reweighted) = &self.reweighted else { return 1.0 };
        let (given, weights) = (self.listed.weights(), reweighted.weights());
        let (all, sum): (f64, f64) = (given.iter().sum(), weights.iter().sum());
        let pairs = weights.iter().zip(given).filter(|(_, given)| **given > 0.0);
        let squares: f64 = pairs.map(|(weight, given)| weight * weight / given).sum();
        sum * sum / (all * squares)
    }

    /// The records, reweighted if they could be.
    pub(super) fn candidate(self) -> Candidate {
        let (name, support) = match self.reweighted {
            Some(reweighted) => ("the public records, reweighted", reweighted),
            None => ("the public records", self.listed),
        };
        Candidate { name, is_public: true, form: Form::Listed(support) }
    }
}

/// The weights of records that fit the measurements, pulled to those given by as many records as these add up to, and whether
/// the measurements are compatible with some weights. As in the experts' fits, contradicted marginals lose their pull.
pub(super) fn reweighted(
    rows: &Dataset,
    weights: &[f64],
    measurements: &[Measurement],
    total: f64,
    checks: &dyn Checks,
) -> Result<(Vec<f64>, bool)> {
    let pull = weights.iter().sum();
    let (mut doubts, mut warm) = (Doubts::default(), None);
    let mut found = weights.to_vec();
    for _ in 0..REWEIGHTINGS {
        let believed = doubts.believed(measurements);
        let loss = SquaredLoss::new(rows.domain(), &believed, Weighting::InverseVariance)?;
        let oracle = ListedRecords::new(rows, weights, loss.layout())?;
        let stopping = Stopping::certified(GAP, REWEIGHTING_CALLS);
        let method = AcceleratedBregman { stopping, pull, ..AcceleratedBregman::default() };
        let watched = Interruptible { oracle: &oracle, checks };
        let estimate = method.estimate(&watched, &loss, total, warm.as_ref())?;
        (found, _) = oracle.weights(&estimate.potentials)?;
        if !doubts.grow(&loss, &estimate.marginals) {
            return Ok((found, true));
        }
        warm = Some(estimate.potentials);
    }
    Ok((found, false))
}

/// The public tables that have all attributes.
pub(super) fn whole<'t>(domain: &Domain, tables: &'t [PublicData]) -> Vec<&'t PublicData> {
    let all = domain.everything();
    tables.iter().filter(|table| table.covers(&all) && table.table().is_ok()).collect()
}

/// The share of public records in the best mixture with a model of public records, where both are made of four fifths of the
/// records and compared with the last fifth on the workload. A cell's squared error counts by one over the root of its
/// frequency, which makes the sum behave like an L1 error; an L1 error itself favors records, which are as sparse as those
/// held out.
fn best_share(
    base: &Base,
    tables: &[&PublicData],
    workload: &Workload,
    checks: &dyn Checks,
) -> Result<f64> {
    let domain = base.model.domain();
    let all = Dataset::joined(
        domain,
        &tables.iter().map(|table| table.table()).collect::<Result<Vec<_>>>()?,
    )?;
    let records = u32::try_from(all.records()).unwrap_or(u32::MAX);
    let is_held = |record: &u32| (*record as usize).is_multiple_of(HELD_OUT);
    let (held, kept): (Vec<u32>, Vec<u32>) = (0..records).partition(is_held);
    if kept.is_empty() {
        return Ok(0.0);
    }
    let held = all.take(&held);
    let kept = PublicData::new("kept", all.take(&kept), domain)?;
    let model = base.refitted(&kept, checks)?;
    let drawn = drawn_from(&model, drawn_beside(all.records()))?;

    // Least squares: the error of the held-out records adds the same to all mixtures on average.
    let (mut along, mut across) = (0.0, 0.0);
    let weighted = workload.weighted_cliques();
    let step = weighted.len().div_ceil(MOST_COMPARED).max(1);
    for compared in weighted.iter().step_by(step) {
        let asked = std::slice::from_ref(&compared.clique);
        let frequencies = |rows: &Dataset| -> Result<Vec<f64>> {
            let counts = rows.project_many(asked)?.swap_remove(0);
            Ok(counts.iter().map(|k| f64::from(*k) / rows.records() as f64).collect())
        };
        let (held, kept) = (frequencies(&held)?, frequencies(kept.table()?)?);
        let drawn = frequencies(&drawn)?;
        for ((h, k), d) in held.iter().zip(&kept).zip(&drawn) {
            if k + d > 0.0 {
                let weight = compared.weight / (k + d).sqrt();
                along += weight * (h - d) * (k - d);
                across += weight * (k - d) * (k - d);
            }
        }
    }
    Ok(if across > 0.0 { (along / across).clamp(0.0, 1.0) } else { 0.0 })
}

/// The share of records in the best mixture, where their number is effectively less than it was for this share. With model errors of
/// mean square b² and records of variance v/m it is `b²/(b² + v/m)`: its odds grow with m.
fn of_effective(share: f64, effective: f64) -> f64 {
    let (records, model) = (share * effective, 1.0 - share);
    if records + model > 0.0 { records / (records + model) } else { share }
}

/// How many records are drawn from a model to stand beside `records` others.
pub(super) fn drawn_beside(records: usize) -> usize {
    records.saturating_mul(DRAWN_TIMES).clamp(DRAWN.0, DRAWN.1)
}

/// Records drawn from a model.
pub(super) fn drawn_from(model: &MarkovRandomField, records: usize) -> Result<Dataset> {
    Ok(model.sample(records, Sampling::Rounded, &mut ChaCha20Rng::seed_from_u64(0))?)
}

#[cfg(test)]
mod tests;
