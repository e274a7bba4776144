//! Fitted models: asking them for marginals, drawing records from them, keeping them in files.

mod file;
mod markov_random_field;
mod refine;
mod sampling;

pub use file::{ModelFile, ModelLimits};
pub use markov_random_field::MarkovRandomField;
pub use sampling::Sampling;
