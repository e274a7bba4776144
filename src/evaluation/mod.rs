//! Measures of a synthetic table against the private table: errors on a workload, and other measures used by
//! statistical offices. Formulas and sources are in `docs/guide/evaluation.md`.
//!
//! [`EvaluationSettings`] say what to measure, [`Measures`] are what was found; each measure can also be had by itself.
//!
//! Everything computed here from private records is **not private**, and for the holder of the records only.

mod correlation;
mod edit_rules;
mod group_score;
mod k_marginal;
mod logistic;
mod marginals;
mod measures;
mod members;
mod numbers;
mod prediction;
mod propensity;
mod regression;
mod settings;
mod unique_matches;
mod units;
mod workload_error;
mod yardstick;

pub use correlation::{Association, CorrelationDifference, DependenceDifference, cramers_v};
pub use edit_rules::{EditRules, EditViolations, RuleViolations};
pub use group_score::{GroupDistance, GroupDistances, GroupScore};
pub use k_marginal::KMarginalScore;
pub use marginals::{Frequencies, Weighted};
pub use measures::{EditComparison, Evaluation, Measures, SinglesAndPairs};
pub use members::{BrokenRule, MembersComparison, TablesError};
pub use numbers::{ColumnComparison, GroupComparison, NumberComparison, NumberSummary};
pub use prediction::{Predicted, Prediction};
pub use propensity::PropensityScore;
pub use regression::{Estimate, Regression, RegressionComparison, TermComparison};
pub use settings::{EvaluationSettings, Measure, RulesSource};
pub use unique_matches::UniqueMatches;
pub use units::{OtherColumn, Pair, RecordCounts, UnitColumn, UnitComparison, UnitRecords};
pub use workload_error::{CliqueError, WorkloadError};
pub use yardstick::Yardstick;
