//! What a synthetic table must be good at.

mod workload;

pub use workload::{WeightedClique, Workload};
