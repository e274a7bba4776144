//! Differentially private synthetic tables with the help of public data.

pub mod data;
pub mod demo;
pub mod domain;
mod error;
pub mod estimation;
pub mod evaluation;
pub mod graph;
pub mod inference;
pub mod measurement;
pub mod mechanism;
pub mod model;
pub mod observe;
pub mod privacy;
pub mod query;
pub mod table;

pub use error::{Error, Result};
