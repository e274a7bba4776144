//! Tables over cliques: one table (a factor), and one table for each clique of a set.

mod clique_vector;
mod factor;
mod layout;

pub use clique_vector::{CliqueLayout, Marginals, Potentials};
pub use factor::Factor;
pub(crate) use layout::{Projection, row_major_strides, strides_within};
