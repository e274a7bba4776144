//! Estimation: one distribution fitted to all measurements.

pub mod prior;

pub use jointly_pgm::estimation::*;
