//! A model, rows and tables from tables of counts of which more or less is known: noisy ones that a ledger paid for, published
//! ones that hold exactly, rounded or suppressed ones. No private row is read.
//!
//! [`FitJob`] is the whole job, from files to files; [`Targets`](crate::estimation::Targets) the fit alone. Theory:
//! `docs/theory/totals.md`; guide: `docs/guide/fit.md`.

mod job;
mod known;
mod outcome;
mod page;

pub use job::FitJob;
pub use known::{Kind, KnownTable, Origin};
pub use outcome::{Fitted, FittedTables, Group, Worst};
