//! What a synthetic table must be good at.

mod batches;
mod workload;

pub(crate) use batches::batches;
pub use workload::{WeightedClique, Workload, WorkloadSource};
