//! Differentially private synthetic tables with the help of public data.

pub mod data;
pub mod domain;
mod error;
pub mod graph;
pub mod inference;
pub mod privacy;
pub mod table;

pub use error::{Error, Result};
