//! Fitted models: asking them for marginals, drawing records from them, keeping them in files.

mod any;
mod file;
mod grouped_support;
mod markov_random_field;
mod refine;
mod residuals;
mod sampling;
mod stored_groups;
mod stored_support;
mod weighted_support;

pub use any::Model;
pub use file::{ModelFile, ModelLimits};
pub use grouped_support::{Group, GroupedSupport};
pub use markov_random_field::MarkovRandomField;
pub use sampling::Sampling;
pub use weighted_support::WeightedSupport;
