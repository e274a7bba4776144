//! The workload: the marginals at which a synthetic table must be good.

mod batches;
mod compositions;
mod of_units;
mod source;
mod workload;

pub(crate) use batches::batches;
pub use compositions::Compositions;
pub use source::WorkloadSource;
pub use workload::{WeightedClique, Workload};
