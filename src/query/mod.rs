//! The workload: the marginals at which a synthetic table must be good.

mod batches;
mod workload;

pub(crate) use batches::batches;
pub use workload::{WeightedClique, Workload, WorkloadSource};
