//! What a run will do with its budget, as far as that is known before any data are read.

use serde::Serialize;

use crate::domain::Domain;
use crate::error::Result;
use crate::mechanism::Shares;
use crate::privacy::{Curator, MarginalSensitivity, NeighboringRelation, Rho};
use crate::query::Workload;

/// What a plan is made for.
#[derive(Clone, Copy, Debug)]
pub struct PlanFor<'a> {
    /// The attributes.
    pub domain: &'a Domain,
    /// The cliques whose marginals must be good.
    pub workload: &'a Workload,
    /// Which tables are neighbors.
    pub relation: NeighboringRelation,
    /// The budget.
    pub rho: Rho,
    /// The number of records, or a guess at it.
    pub records: u64,
}

/// What a mechanism will do with a budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunPlan {
    /// Rounds, at most.
    pub rounds: u32,
    /// What is measured, and with how much noise, if everything that may be measured is.
    pub steps: Vec<PlannedStep>,
    /// Largest model, in MiB; `None` where there is no limit.
    pub size_limit_mib: Option<f64>,
    /// Whether that limit grows with the rounds, from an even share in the first one.
    pub grows: bool,
}

/// Measurements with the same noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStep {
    /// What is measured.
    pub what: &'static str,
    /// How many of them.
    pub measurements: u32,
    /// Standard deviation of the noise on each count.
    pub stddev: f64,
}

impl PlanFor<'_> {
    /// What is left of the budget once the number of records is paid for, where that is private.
    pub fn after_total(&self) -> Rho {
        if self.relation.has_public_total() {
            return self.rho;
        }
        let (numerator, denominator) = Curator::TOTAL_SHARE;
        self.rho.split(numerator, denominator).unwrap_or_default().1
    }

    /// Marginals measured with Gaussian noise at a cost of `rho` each.
    pub fn step(&self, what: &'static str, measurements: usize, rho: Rho) -> PlannedStep {
        let l2 = MarginalSensitivity::of(self.relation).l2();
        self.step_of(what, measurements, l2 / (2.0 * rho.to_f64()).sqrt())
    }

    /// Measurements with this noise.
    pub fn step_of(&self, what: &'static str, measurements: usize, stddev: f64) -> PlannedStep {
        PlannedStep { what, measurements: super::parameters::count(measurements), stddev }
    }

    /// Rounds that share the budget evenly, and measure one marginal each. The size limit grows.
    ///
    /// # Errors
    /// A share outside [0, 1], or a budget that leaves a round nothing.
    pub fn even_rounds(&self, rounds: u32, measure_share: f64) -> Result<RunPlan> {
        let budget = self.after_total().split(1, rounds.max(1).into()).unwrap_or_default().0;
        let Shares { measure, .. } = Shares::of(budget, measure_share)?;
        let step = self.step("marginals, if every round measures", rounds as usize, measure);
        Ok(RunPlan { rounds, steps: vec![step], size_limit_mib: None, grows: true })
    }
}

impl RunPlan {
    /// The same, with a limit of the model's size.
    #[must_use]
    pub fn within(self, size_limit_mib: f64) -> Self {
        Self { size_limit_mib: Some(size_limit_mib), ..self }
    }

    /// The size limit of the first round, in MiB.
    pub fn first_limit_mib(&self) -> Option<f64> {
        let rounds = if self.grows { self.rounds.max(1) } else { 1 };
        self.size_limit_mib.map(|limit| limit / f64::from(rounds))
    }
}
