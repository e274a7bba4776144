//! Tables over cliques: one table (a factor), and one table for each clique of a set.

mod clique_vector;
mod distance;
mod factor;
mod layout;
mod totals;

pub use clique_vector::{CliqueLayout, Marginals, Potentials};
pub use distance::{l1_distance, weighted_sum};
pub use factor::Factor;
pub(crate) use layout::fold_run;
pub use layout::{Projection, row_major_strides, strides_within};
pub use totals::Totals;
pub(crate) use totals::{cell_name, first_largest};
