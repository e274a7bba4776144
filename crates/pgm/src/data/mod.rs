//! Records as columns of codes, and their marginals.

pub mod count;
pub mod cover;
mod dataset;
mod projectable;
mod recoding;
mod tallies;

pub use count::MAX_TOTAL_CELLS;
pub use dataset::{Column, Dataset};
pub use projectable::Projectable;
pub use recoding::Recoding;
pub use tallies::{Tallies, Tally};
