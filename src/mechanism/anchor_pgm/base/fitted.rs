//! Fits of marginals of the public tables, pulled to independent attributes.

use std::sync::Arc;

use crate::domain::Domain;
use crate::error::Result;
use crate::estimation::{
    AcceleratedBregman, DualQuasiNewton, Estimate, Estimator, SquaredLoss, Stopping, Weighting,
};
use crate::inference::{Interruptible, MarginalOracle, OverBase};
use crate::measurement::Measurement;
use crate::mechanism::anchor_pgm::base::PublicMarginals;
use crate::mechanism::anchor_pgm::constants::{BASE_PULL, GAP};
use crate::model::MarkovRandomField;
use crate::observe::Checks;
use crate::table::{CliqueLayout, Potentials};

/// By which method marginals are fitted, with the most oracle calls. Both have the same minimum.
#[derive(Clone, Copy)]
pub(super) enum Fitted {
    /// Accelerated steps on the distribution. They go slowly where a model has many marginals, and fits that end early are smoother.
    Primal(u32),
    /// Quasi-Newton steps on the dual. They come nearer to the minimum in the same number of calls.
    Dual(u32),
}

impl Fitted {
    fn estimate<O: MarginalOracle>(
        self,
        oracle: &O,
        loss: &SquaredLoss,
        records: f64,
        warm: Option<&Potentials>,
    ) -> Result<Estimate> {
        Ok(match self {
            Self::Primal(calls) => {
                let stopping = Stopping::certified(GAP, calls);
                let pulled = AcceleratedBregman { stopping, pull: BASE_PULL, ..Default::default() };
                pulled.estimate(oracle, loss, records, warm)?
            }
            Self::Dual(calls) => {
                let stopping = Stopping::certified(GAP, calls);
                DualQuasiNewton { pull: BASE_PULL, stopping }.fit(oracle, loss, records, warm)?
            }
        })
    }
}

/// The base so far.
pub(super) struct FittedBase {
    pub(super) model: MarkovRandomField,
    /// The potentials of independent attributes.
    independent: Potentials,
    /// The last fit over these.
    delta: Option<Potentials>,
    oracle: Option<OverBase>,
}

impl FittedBase {
    pub(super) fn start(domain: &Domain, public: &PublicMarginals) -> Result<Self> {
        let records = public.total().max(1.0);
        let is_single = |i: &usize| public.cliques[*i].len() == 1;
        let singles: Vec<usize> = (0..public.cliques.len()).filter(is_single).collect();
        let cliques = singles.iter().map(|i| public.cliques[*i].clone());
        let mut independent = Potentials::zeros(&CliqueLayout::new(domain, cliques)?);
        for (table, single) in singles.into_iter().enumerate() {
            let values = public.measurement(domain, single, records).values;
            let logs = values.into_iter().map(f64::ln);
            independent.table_mut(table).iter_mut().zip(logs).for_each(|(log, found)| *log = found);
        }
        let model = MarkovRandomField::new(domain, independent.clone(), records)?;
        Ok(Self { model, independent, delta: None, oracle: None })
    }

    /// Fits the chosen marginals, pulled to independent attributes.
    pub(super) fn refit(
        &mut self,
        domain: &Domain,
        public: &PublicMarginals,
        chosen: &[usize],
        records: f64,
        by: Fitted,
        checks: &dyn Checks,
    ) -> Result<()> {
        if chosen.is_empty() {
            return Ok(());
        }
        let measurements: Vec<Measurement> =
            chosen.iter().map(|i| public.measurement(domain, *i, records)).collect();
        let loss = SquaredLoss::new(domain, &measurements, Weighting::InverseVariance)?;
        let oracle = match &self.oracle {
            Some(earlier) => {
                OverBase::following(domain, &self.independent, loss.layout(), earlier)?
            }
            None => OverBase::new(domain, &self.independent, loss.layout())?,
        };
        let warm = self.delta.as_ref();
        let estimate =
            by.estimate(&Interruptible { oracle: &oracle, checks }, &loss, records, warm)?;
        self.model = MarkovRandomField::with_oracle(
            Arc::clone(oracle.inner()),
            oracle.potentials(&estimate.potentials),
            records,
        )?;
        self.delta = Some(estimate.potentials);
        self.oracle = Some(oracle);
        Ok(())
    }
}
