//! How good a synthetic table is, beside the private table: errors on a workload, and what else offices ask for.
//! Formulas and sources are in `docs/guide/evaluation.md`.
//!
//! What is computed here from private records is **not private**, and for the holder of the records alone, except what
//! goes through a [`Curator`](crate::privacy::Curator): [`Trust`] and [`MixtureError::release`].

mod correlation;
mod edit_rules;
mod group_score;
mod k_marginal;
mod logistic;
mod marginals;
mod mixture_error;
mod propensity;
mod trust;
mod unique_matches;
mod workload_error;

pub use correlation::{CorrelationDifference, DependenceDifference};
pub use edit_rules::{EditRules, EditViolations, RuleViolations};
pub use group_score::{GroupDistance, GroupDistances, GroupScore};
pub use k_marginal::KMarginalScore;
pub use mixture_error::{
    MixtureBracket, MixtureError, MixtureMethod, NoisyMixtureError, ScoredCells,
};
pub use propensity::PropensityScore;
pub use trust::{Interval, MarginalTrust, TableTrust, Trust, TrustReport};
pub use unique_matches::UniqueMatches;
pub use workload_error::{CliqueError, WorkloadError};
