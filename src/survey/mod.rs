//! From the model of a sample to that of the population: survey weights, and totals that are known.
//!
//! Nothing here looks at private rows. A weight is counted like any other attribute, in public bins ([`weight_bins`]); totals
//! are public, or released by the same ledger. So all of it is post-processing (`docs/theory/totals.md`).
//!
//! [`weight_bins`]: crate::data::weight_bins

mod emission;
mod population;
mod released;
mod rows;
mod weight;

pub use emission::Emission;
pub use population::Population;
pub use released::{Draw, Released};
pub use rows::{Adjusted, with_totals};
pub use weight::Weight;
