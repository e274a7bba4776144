//! The private release of a best mixture error.

use serde::Serialize;

use crate::data::PublicData;
use crate::domain::Clique;
use crate::error::{Error, Result};
use crate::mixture_error::{MixtureError, ScoredCells, SmoothedAnswers, SmoothedError};
use crate::privacy::{
    Curator, NeighboringRelation, NoiseForm, Result as PrivacyResult, Rho, Statistic,
    StatisticSensitivity,
};
use crate::query::Workload;

/// A best mixture error with noise. It may be published.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct NoisyMixtureError {
    /// The error with noise, as a probability; it may be below 0 or above 1.
    pub value: f64,
    /// Standard deviation of the noise, as a probability.
    pub stddev: f64,
    /// Half the width of an interval around the value that covers the exact error with the requested confidence.
    pub half_width: f64,
}

/// Settings for the release of a best mixture error.
///
/// The released quantity is the value of a smoothed game, solved to a bracket of a quarter of a count. It is within
/// [`tolerance`](Self::tolerance) of the best mixture error, or within half the standard deviation of the noise if
/// that is larger. One record changes n times that value by at most 1, under both relations, and the middle of the
/// bracket by at most 1.25; a unit of K records by K and K + 0.25 (`docs/theory/sensitivities.md`, section 7). The
/// bracket always gets that narrow: if the fast method does not reach the width, a method with a proved number of
/// iterations does. **The running time depends on the records** and should not be published with the result.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MixtureRelease {
    /// Largest distance between the quantity that gets the noise and the best mixture error, as a probability; in (0,
    /// 1).
    pub tolerance: f64,
    /// The cells to include in the error.
    pub cells: ScoredCells,
    /// Probability that all intervals hold simultaneously; in (0, 1).
    pub confidence: f64,
    /// Number of intervals.
    pub intervals: usize,
}

impl Default for MixtureRelease {
    fn default() -> Self {
        Self {
            tolerance: MixtureError::RELEASED,
            cells: ScoredCells::All,
            confidence: 0.95,
            intervals: 1,
        }
    }
}

impl MixtureRelease {
    /// Releases the best mixture error of a public table for the private records, at a cost of `rho`.
    ///
    /// Cliques of the workload that the table does not cover are left out. `total`: n if it is public, otherwise its
    /// measured value.
    ///
    /// # Errors
    /// An instance of more than 2²⁵ distinct rows times cliques, a tolerance outside (0, 1), a total below 1, a table
    /// that covers no clique of the workload, or an insufficient budget. No message depends on the records.
    pub fn run(
        &self,
        curator: &mut Curator<'_>,
        public: &PublicData,
        workload: &Workload,
        total: f64,
        form: NoiseForm,
        rho: Rho,
    ) -> Result<NoisyMixtureError> {
        self.check()?;
        if !(total >= 1.0 && total.is_finite()) {
            return Err(Error::invalid_parameter("total", total, "at least 1"));
        }
        let width = SmoothedError::WIDTH;
        let sensitivity = StatisticSensitivity::mixture_error(curator.relation(), width)?;
        let changed = f64::from(sensitivity.steps()) * StatisticSensitivity::GRID / total;
        let noise = changed / (2.0 * rho.to_f64()).sqrt();
        let smoothing = self.tolerance.max(0.5 * noise).min(1.0);
        let smoothed = SmoothedError::new(public, workload, self.cells, smoothing)?;
        let purpose = format!("best mixture error of {}", public.name());
        let exact = SmoothedMixtureError { game: &smoothed, total, width };
        let noisy = curator.measure_statistic(&exact, form, rho, &purpose)?;
        let half_width = noisy.half_width(self.confidence, self.intervals)?;
        Ok(NoisyMixtureError {
            value: noisy.values[0] / total,
            stddev: noisy.stddev / total,
            half_width: (half_width + 0.5 * width) / total + smoothing,
        })
    }

    /// Refuses parameters out of range. [`run`](Self::run) does so too.
    ///
    /// # Errors
    /// A tolerance outside (0, 1).
    pub fn check(&self) -> Result<()> {
        if self.tolerance > 0.0 && self.tolerance < 1.0 {
            return Ok(());
        }
        Err(Error::invalid_parameter("tolerance", self.tolerance, "strictly between 0 and 1"))
    }
}

/// The number of records times the best mixture error, smoothed: the middle of a bracket of a fixed width
/// (`docs/theory/sensitivities.md`, section 7).
struct SmoothedMixtureError<'a> {
    game: &'a SmoothedError,
    total: f64,
    width: f64,
}

impl Statistic for SmoothedMixtureError<'_> {
    type Kept = SmoothedAnswers;

    fn sensitivity(&self, relation: NeighboringRelation) -> PrivacyResult<StatisticSensitivity> {
        StatisticSensitivity::mixture_error(relation, self.width)
    }

    fn batches(&self) -> Vec<Vec<Clique>> {
        self.game.batches()
    }

    fn add(&self, kept: &mut SmoothedAnswers, marginals: &[Vec<u32>]) {
        self.game.extend(kept, marginals);
    }

    fn values(&self, kept: &SmoothedAnswers) -> Vec<f64> {
        vec![self.game.value(kept, self.total)]
    }
}
