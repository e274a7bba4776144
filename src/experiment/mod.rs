//! Experiments on tables that may be shown: how a public part is split off, how public tables are spoiled on purpose,
//! and parameters of mechanisms tuned on public tables alone.
//!
//! Seeds are fixed and errors are exact, so **nothing here is private**. Only [`Tuning`] may serve a release: it reads
//! public tables and no other.

mod split;
mod spoil;
mod tuning;

pub use split::{Sample, SampleSize, Split, Strata};
pub use spoil::{Codes, Spoil};
pub use tuning::{Candidate, Grid, Tuning, TuningResult};
