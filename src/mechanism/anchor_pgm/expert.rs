//! Experts: models of the same measurements that are pulled to public tables, to independent attributes, or nowhere.

use std::ops::Range;
use std::sync::Arc;

use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::{
    AcceleratedBregman, Certificate, DualQuasiNewton, Estimator, SquaredLoss, Stopping, Weighting,
};
use crate::inference::{Interruptible, OverBase};
use crate::measurement::Measurement;
use crate::mechanism::ExpertKind;
use crate::mechanism::adaptive::{self, squared_distance};
use crate::mechanism::anchor_pgm::base::Base;
use crate::mechanism::anchor_pgm::constants::{CALLS, CALLS_ALONE, FAILS_ONE_IN, GAP};
use crate::mechanism::anchor_pgm::trust::Trust;
use crate::mechanism::graphical::{Fit, Fitting, tractable};
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::table::Potentials;

/// A model of the measurements.
pub(super) struct Expert {
    pub(super) kind: ExpertKind,
    /// The base, with how far each measured marginal may lean to it.
    base: Option<(Base, Trust)>,
    pub(super) model: MarkovRandomField,
    /// Positions of the measurements that the size limit lets it take.
    held: Vec<usize>,
    /// The number of measurements at the last fit.
    pub(super) fitted: usize,
    /// -Σ ln p(y) over the measurements, each before it was used, in nats: minus the log of the probability that it gave to them,
    /// but for a constant. A prediction of κ records is as uncertain as κ says (`Trust::log_density`); AIM's expert takes its own for
    /// certain. A head start is subtracted.
    pub(super) charge: f64,
    /// What it expected of the measurement that it was charged for last.
    expected: Vec<f64>,
    /// The last fit over the base.
    over: Option<(OverBase, Potentials)>,
    /// The last fit without it.
    alone: Option<Fit>,
    /// Oracle calls of the last fit.
    pub(super) oracle_calls: u32,
    /// Oracle calls times MiB of all fits.
    work: f64,
    /// What is known of the last pulled fit.
    pulled: Option<Certificate>,
}

impl Expert {
    /// A model of measurements and public tables. `records`: m, which is κ as far as measurements do not doubt it.
    ///
    /// It starts ahead by ln of [`FAILS_ONE_IN`] nats. If measurements are as it predicts, the probability that another model
    /// ever predicts them better by more than this is at most 1 in [`FAILS_ONE_IN`] (Ville's inequality).
    pub(super) fn over_public(base: Base, records: f64) -> Self {
        let found = Self::over(ExpertKind::Base, base, Trust::in_public(records));
        Self { charge: -FAILS_ONE_IN.ln(), ..found }
    }

    /// A model of measurements that is pulled to independent attributes. `total`: n.
    pub(super) fn over_independence(domain: &Domain, total: f64) -> Result<Self> {
        let uniform = Base::uniform(domain, total)?;
        Ok(Self::over(ExpertKind::Alone, uniform, Trust::in_independence(total)))
    }

    fn over(kind: ExpertKind, base: Base, trust: Trust) -> Self {
        let model = base.model.clone();
        Self::new(kind, Some((base, trust)), model)
    }

    /// Moves its base to what the measured single attributes say. Returns the share of κ that was left at each.
    pub(super) fn move_base(
        &mut self,
        singles: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<Vec<(Clique, f64)>> {
        let Some((base, trust)) = &self.base else { return Ok(Vec::new()) };
        let (base, shares) = base.moved(singles, trust.unlearned(), checks)?;
        let moved = Self::over(self.kind, base, trust.unlearned());
        *self = Self { charge: self.charge, expected: self.expected.clone(), ..moved };
        Ok(shares)
    }

    /// A model of measurements alone, as AIM's. `total`: n.
    pub(super) fn alone(domain: &Domain, total: f64) -> Result<Self> {
        Ok(Self::new(ExpertKind::Alone, None, MarkovRandomField::uniform(domain, total)?))
    }

    fn new(kind: ExpertKind, base: Option<(Base, Trust)>, model: MarkovRandomField) -> Self {
        Self {
            kind,
            base,
            model,
            held: Vec::new(),
            fitted: 0,
            charge: 0.0,
            expected: Vec::new(),
            over: None,
            alone: None,
            oracle_calls: 0,
            work: 0.0,
            pulled: None,
        }
    }

    /// The cliques of its model.
    pub(super) fn cliques(&self, measurements: &[Measurement]) -> Vec<Clique> {
        let of_base = self.base.iter().flat_map(|(base, _)| base.cliques().iter().cloned());
        of_base.chain(self.held.iter().map(|i| measurements[*i].clique.clone())).collect()
    }

    /// The size limit of its model once a share of the budget is spent: that of the base, and the share of what is left
    /// above it.
    pub(super) fn limit_mib(&self, limit_mib: f64, share: f64) -> f64 {
        let base = self.base.as_ref().map_or(0.0, |(base, _)| base.model.size_mib().min(limit_mib));
        base + (limit_mib - base) * share
    }

    /// The measured cliques, with the share of κ that each measurement leaves; without those that the base moved to.
    pub(super) fn learned(&self) -> impl Iterator<Item = (&Clique, f64)> {
        self.base.iter().flat_map(|(_, trust)| trust.shares())
    }

    /// How far the last fit is from the best one; `None` for one that ends as soon as it agrees, over a base.
    pub(super) fn certificate(
        &self,
        fitting: &Fitting,
        checks: &dyn Checks,
    ) -> Result<Option<Certificate>> {
        match &self.alone {
            Some(fit) => fit.certify(fitting.stopping.iterations, self.work, checks).map(Some),
            None => Ok(self.pulled),
        }
    }

    /// Charges for how badly the model predicts a measurement, before it is used.
    pub(super) fn charge_for(&mut self, measurement: &Measurement) -> Result<()> {
        let expected = self.model.marginals(std::slice::from_ref(&measurement.clique))?;
        self.expected = expected[0].values().to_vec();
        self.charge -= if let Some((_, trust)) = &self.base {
            trust.log_density(measurement, &self.expected)
        } else {
            let variance = measurement.stddev * measurement.stddev;
            let squares = squared_distance(&measurement.values, &self.expected);
            -0.5 * (squares / variance + self.expected.len() as f64 * variance.ln())
        };
        Ok(())
    }

    /// Whether the measurement that it was charged for last told it nothing beyond noise: by what it expected; without public
    /// tables, if it was fitted since, by how far its model moved, as in AIM.
    pub(super) fn was_told_nothing(&self, measurements: &[Measurement]) -> Result<bool> {
        let Some(last) = measurements.last() else { return Ok(false) };
        if self.base.is_none() && self.fitted == measurements.len() {
            let new = self.model.marginals(std::slice::from_ref(&last.clique))?;
            return Ok(adaptive::moved_nothing(last, &self.expected, new[0].values()));
        }
        Ok(adaptive::told_nothing(last, &self.expected))
    }

    /// Fits all measurements that fit in the size limit.
    pub(super) fn fit(
        &mut self,
        fitting: &Fitting,
        measurements: &[Measurement],
        checks: &dyn Checks,
    ) -> Result<()> {
        let domain = self.model.domain().clone();
        let new = self.fitted..measurements.len();
        self.learn(new.clone(), measurements)?;
        self.fitted = measurements.len();
        for new in new {
            let clique = std::slice::from_ref(&measurements[new].clique);
            if tractable(&domain, &self.cliques(measurements), clique, fitting.size_limit_mib)[0] {
                self.held.push(new);
            }
        }
        if self.held.is_empty() {
            return Ok(());
        }
        self.oracle_calls = 0;
        let held: Vec<Measurement> = self.held.iter().map(|i| measurements[*i].clone()).collect();
        if self.base.is_none() {
            let earlier = self.alone.as_ref();
            let fit = Fit::new(fitting, &domain, &held, &self.model, earlier, checks)?;
            self.model = fit.model.clone();
            self.oracle_calls = fit.estimate.oracle_calls;
            self.work += f64::from(self.oracle_calls) * self.model.size_mib();
            self.alone = Some(fit);
            return Ok(());
        }
        self.fit_over_base(&held, checks)
    }

    /// Learns from how badly the model predicts new measurements, but for those that the base has moved to: the first single
    /// attributes, where public tables have them.
    fn learn(&mut self, new: Range<usize>, measurements: &[Measurement]) -> Result<()> {
        let Some((base, trust)) = &mut self.base else { return Ok(()) };
        let is_first = self.fitted == 0;
        let told = |i: &usize| !(is_first && base.covers(&measurements[*i].clique));
        let new: Vec<usize> = new.filter(told).collect();
        let cliques: Vec<Clique> = new.iter().map(|i| measurements[*i].clique.clone()).collect();
        let expected = self.model.marginals(&cliques)?.into_iter();
        let expected: Vec<(usize, Vec<f64>)> =
            new.into_iter().zip(expected.map(|table| table.values().to_vec())).collect();
        trust.learn(measurements, &expected);
        Ok(())
    }

    /// Fits over the base the measurements that it holds.
    fn fit_over_base(&mut self, held: &[Measurement], checks: &dyn Checks) -> Result<()> {
        let Some((base, trust)) = &self.base else { return Ok(()) };
        let domain = &self.model.domain().clone();
        let (targets, pull) = match self.kind {
            ExpertKind::Base => (trust.weighted(&self.held, held), trust.records()),
            ExpertKind::Alone => trust.shrunk(&self.held, held, |single| {
                let of_base = base.model.marginals(std::slice::from_ref(single))?;
                Ok(of_base[0].values().to_vec())
            })?,
        };
        let loss = SquaredLoss::new(domain, &targets, Weighting::InverseVariance)?;
        let total = self.model.total();
        let (oracle, warm) = match &self.over {
            Some((earlier, delta)) => {
                let found = OverBase::following(domain, &base.potentials, loss.layout(), earlier)?;
                (found, Some(delta))
            }
            None => (OverBase::new(domain, &base.potentials, loss.layout())?, None),
        };
        let watched = Interruptible { oracle: &oracle, checks };
        let until = |calls| Stopping::certified(GAP, calls);
        let estimate = match self.kind {
            ExpertKind::Base => {
                let method = DualQuasiNewton { pull, stopping: until(CALLS) };
                method.fit(&watched, &loss, total, warm)?
            }
            ExpertKind::Alone => {
                let method = AcceleratedBregman {
                    pull,
                    stopping: until(CALLS_ALONE),
                    ..AcceleratedBregman::default()
                };
                method.estimate(&watched, &loss, total, warm)?
            }
        };
        self.model = MarkovRandomField::with_oracle(
            Arc::clone(oracle.inner()),
            oracle.potentials(&estimate.potentials),
            total,
        )?;
        self.oracle_calls += estimate.oracle_calls;
        // The excess is over the noise that measurements have, not over that of the targets.
        let given = SquaredLoss::new(domain, held, Weighting::InverseVariance)?;
        self.pulled = Some(Certificate {
            loss: estimate.loss,
            least_loss: estimate.loss,
            lower_bound: estimate.lower_bound,
            noise: loss.noise(),
            excess: given.excess(&estimate.marginals),
        });
        self.over = Some((oracle, estimate.potentials));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
