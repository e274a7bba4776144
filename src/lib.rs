//! Differentially private synthetic tables with the help of public data.

pub mod data;
pub mod domain;
mod error;
pub mod privacy;
pub mod query;

pub use error::{Error, Result};
