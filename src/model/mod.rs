//! Fitted models: asking them for marginals, drawing records from them, keeping them in files.

mod markov_random_field;
mod sampling;

pub use markov_random_field::MarkovRandomField;
pub use sampling::Sampling;
