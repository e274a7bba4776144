//! How a run will spend its budget, as far as this is known before it reads any data.

use serde::Serialize;

use crate::domain::Domain;
use crate::error::Result;
use crate::mechanism::Shares;
use crate::privacy::{Curator, MarginalSensitivity, NeighboringRelation, Rho};
use crate::query::Workload;

/// The input of a plan.
#[derive(Clone, Copy, Debug)]
pub struct PlanFor<'a> {
    /// The attributes.
    pub domain: &'a Domain,
    /// The cliques whose marginals must be accurate.
    pub workload: &'a Workload,
    /// The neighboring relation.
    pub relation: NeighboringRelation,
    /// The budget.
    pub rho: Rho,
    /// The number of records, or a guess.
    pub records: u64,
}

/// How a mechanism will spend a budget.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RunPlan {
    /// Maximum number of rounds.
    pub rounds: u32,
    /// The measurements and their noise, assuming that everything that may be measured is measured.
    pub steps: Vec<PlannedStep>,
    /// Maximum size of the model, in MiB; `None` if there is no limit.
    pub size_limit_mib: Option<f64>,
    /// Whether that limit grows from round to round, starting from an even share.
    pub grows: bool,
    /// Why a run may differ from this plan, in a sentence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remark: Option<&'static str>,
}

/// Measurements with the same noise.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedStep {
    /// What is measured.
    pub what: &'static str,
    /// The number of measurements.
    pub measurements: u32,
    /// Standard deviation of the noise on each count.
    pub stddev: f64,
}

impl PlanFor<'_> {
    /// The budget that remains after paying for the number of records, where that number is private.
    pub fn after_total(&self) -> Rho {
        if self.relation.has_public_total() {
            return self.rho;
        }
        let (numerator, denominator) = Curator::TOTAL_SHARE;
        self.rho.split(numerator, denominator).unwrap_or_default().1
    }

    /// The number of attributes that the workload has.
    pub(super) fn singles(&self) -> usize {
        let cliques = self.workload.weighted_cliques().iter();
        let attributes = cliques.flat_map(|weighted| weighted.clique.attributes().iter().copied());
        attributes.collect::<std::collections::BTreeSet<usize>>().len()
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

    /// Plans rounds that share the budget evenly and measure one marginal each. The size limit grows.
    ///
    /// # Errors
    /// A share outside [0, 1], or a budget too small for the rounds.
    pub fn even_rounds(&self, rounds: u32, measure_share: f64) -> Result<RunPlan> {
        let budget = self.after_total().split(1, rounds.max(1).into()).unwrap_or_default().0;
        let Shares { measure, .. } = Shares::of(budget, measure_share)?;
        let step = self.step("marginals, if every round measures", rounds as usize, measure);
        Ok(RunPlan { rounds, steps: vec![step], grows: true, ..RunPlan::default() })
    }
}

impl RunPlan {
    /// Adds a limit on the model's size.
    #[must_use]
    pub fn within(self, size_limit_mib: f64) -> Self {
        Self { size_limit_mib: Some(size_limit_mib), ..self }
    }

    /// Adds why a run may differ from its plan.
    #[must_use]
    pub fn remarked(self, remark: &'static str) -> Self {
        Self { remark: Some(remark), ..self }
    }

    /// The size limit of the first round, in MiB.
    pub fn first_limit_mib(&self) -> Option<f64> {
        let rounds = if self.grows { self.rounds.max(1) } else { 1 };
        self.size_limit_mib.map(|limit| limit / f64::from(rounds))
    }
}
