//! How good a synthetic table is: its errors on a workload, beside the private table.
//!
//! What is computed here from private records is **not private**: it is for the holder of the records alone.

mod workload_error;

pub use workload_error::{CliqueError, WorkloadError};
