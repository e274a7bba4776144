//! Estimators by name.

use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::estimation::{
    AcceleratedBregman, Estimate, Estimator, MirrorDescent, SquaredLoss, Stopping,
};
use crate::inference::MarginalOracle;
use crate::table::Potentials;

/// The method that fits a graphical model to measurements.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum EstimatorKind {
    /// [`AcceleratedBregman`]: the fastest here.
    #[default]
    AcceleratedBregman,
    /// [`MirrorDescent`] with a line search, as published with Private-PGM.
    MirrorDescent,
}

impl EstimatorKind {
    /// Fits by this method, from `warm_start` or from the uniform distribution.
    ///
    /// # Errors
    /// As [`Estimator::estimate`].
    pub fn estimate<O: MarginalOracle>(
        self,
        stopping: Stopping,
        oracle: &O,
        loss: &SquaredLoss,
        total: f64,
        warm_start: Option<&Potentials>,
    ) -> Result<Estimate> {
        match self {
            Self::AcceleratedBregman => {
                let method = AcceleratedBregman { stopping, ..AcceleratedBregman::default() };
                method.estimate(oracle, loss, total, warm_start)
            }
            Self::MirrorDescent => {
                MirrorDescent { stopping }.estimate(oracle, loss, total, warm_start)
            }
        }
    }
}
