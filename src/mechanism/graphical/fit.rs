//! One fit to all measurements, and the starting point of the next one.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::Fitting;
use crate::domain::{Clique, Domain};
use crate::error::Result;
use crate::estimation::{Certificate, Estimate, LeastLoss, SquaredLoss};
use crate::inference::{BeliefPropagation, Interruptible};
use crate::measurement::Measurement;
use crate::mechanism::ModelState;
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::table::{CliqueLayout, Potentials};

/// A fitted model, the fit's report, and the data needed to certify it.
pub(in crate::mechanism) struct Fit {
    pub(in crate::mechanism) model: MarkovRandomField,
    pub(in crate::mechanism) estimate: Estimate,
    oracle: Arc<BeliefPropagation>,
    loss: SquaredLoss,
    total: f64,
}

impl Fit {
    /// Fits a model to all measurements, starting from the potentials of the previous model. Reuses the plans of an
    /// earlier fit where possible.
    pub(in crate::mechanism) fn new(
        fitting: &Fitting,
        domain: &Domain,
        measurements: &[Measurement],
        before: &MarkovRandomField,
        earlier: Option<&Self>,
        checks: &dyn Checks,
    ) -> Result<Self> {
        let loss = SquaredLoss::new(domain, measurements, fitting.weighting)?;
        let oracle = Arc::new(match earlier {
            Some(fit) => BeliefPropagation::following(domain, loss.layout(), &fit.oracle),
            None => BeliefPropagation::new(domain, loss.layout()),
        });
        let total = before.total();
        let warm = Some(before.potentials()).filter(|theta| !theta.layout().cliques().is_empty());
        let estimator = fitting.estimator;
        let watched = Interruptible { oracle: &*oracle, checks };
        let estimate = estimator.estimate(fitting.stopping, &watched, &loss, total, warm)?;
        let potentials = estimate.potentials.clone();
        let model = MarkovRandomField::with_oracle(Arc::clone(&oracle), potentials, total)?;
        Ok(Self { model, estimate, oracle, loss, total })
    }

    /// Upper bound on how far the fit is from the least loss. Without noise the lower bound is 0, which the marginals
    /// of one table attain.
    ///
    /// `iterations`: maximum number of calls of a fit. `work`: the sum over all fits of calls times model size in MiB.
    /// The certificate takes no more work than that, and no more calls than two fits. While the bound is loose, it may
    /// take the calls of one fit.
    pub(in crate::mechanism) fn certify(
        &self,
        iterations: u32,
        work: f64,
        checks: &dyn Checks,
    ) -> Result<Certificate> {
        let affordable = whole_calls(work.max(LITTLE_WORK) / self.model.size_mib());
        let soft = affordable.min(iterations.saturating_mul(2));
        let calls = soft..=soft.max(iterations);
        let Estimate { loss, lower_bound, potentials, marginals, .. } = &self.estimate;
        let (mut lower_bound, mut least_loss) = (*lower_bound, *loss);
        if self.loss.noise() > 0.0 {
            let near = Some(potentials);
            let oracle = Interruptible { oracle: &*self.oracle, checks };
            let found = LeastLoss::enclose_while(&oracle, &self.loss, self.total, near, calls)?;
            lower_bound = lower_bound.max(found.lower_bound);
            least_loss = least_loss.min(found.upper_bound);
        }
        let (noise, excess) = (self.loss.noise(), self.loss.excess(marginals));
        Ok(Certificate { loss: *loss, least_loss, lower_bound, noise, excess })
    }
}

/// Oracle calls times MiB that a certificate may always take: about a tenth of a second.
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

/// Potentials as stored in a checkpoint: those of the last fit before the last measurement, where the next fit starts.
#[derive(Serialize, Deserialize)]
#[serde(transparent)]
pub(super) struct PotentialsState(Vec<(Clique, Vec<f64>)>);

impl ModelState for PotentialsState {
    const KIND: &'static str = "potentials";
    const VERSION: u32 = 1;
}

impl PotentialsState {
    pub(super) fn new(potentials: &Potentials) -> Self {
        let cliques = potentials.layout().cliques().iter().enumerate();
        Self(cliques.map(|(i, clique)| (clique.clone(), potentials.table(i).to_vec())).collect())
    }

    /// The potentials, after checking that they match the domain and the measurements.
    pub(super) fn potentials(
        &self,
        domain: &Domain,
        measurements: &[Measurement],
    ) -> std::result::Result<Potentials, &'static str> {
        let fits = |(clique, values): &(Clique, Vec<f64>)| {
            clique.iter().all(|a| a < domain.len())
                && domain.cells(clique) == Some(values.len() as u64)
                && values.iter().all(|value| value.is_finite())
                && measurements.iter().any(|m| clique.is_subset(&m.clique))
        };
        if !self.0.iter().all(fits) {
            return Err("a table of potentials does not fit the domain or the measurements");
        }
        let cliques = self.0.iter().map(|(clique, _)| clique.clone());
        let layout = CliqueLayout::new(domain, cliques).map_err(|_| "potentials too large")?;
        if layout.cliques().len() != self.0.len() {
            return Err("two tables of potentials on the same clique");
        }
        let mut potentials = Potentials::zeros(&layout);
        for (index, (_, values)) in self.0.iter().enumerate() {
            potentials.table_mut(index).copy_from_slice(values);
        }
        Ok(potentials)
    }
}
