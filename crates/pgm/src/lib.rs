#![doc = include_str!("../README.md")]
//!
//! A module uses only those above it.

mod checks;
pub mod data;
pub mod domain;
mod error;
pub mod estimation;
pub mod graph;
pub mod inference;
pub mod measurement;
pub mod model;
pub mod table;

pub use checks::{Checks, Unstoppable};
pub use data::Dataset;
pub use domain::{Clique, Domain};
pub use error::{Error, Fact, Result};
pub use measurement::Measurement;
pub use model::{MarkovRandomField, Refinement, Sampling};
pub use rand;
