//! The fitted model: its marginals, and records drawn from it.

mod avoiding;
mod completion;
mod exchange;
mod markov_random_field;
mod refine;
mod residuals;
pub mod sampling;

pub use avoiding::without_unlikely;
pub use completion::Completion;
pub use exchange::refined_list;
pub use markov_random_field::MarkovRandomField;
pub use refine::Refinement;
pub use sampling::Sampling;
