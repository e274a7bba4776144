//! The privacy audit: what must hold for the guarantee to hold, checked by law, by brute force and by experiment.
//!
//! `cargo test --test audit` is the quick form. `cargo test --test kill_matrix` plants bugs and runs it against each
//! (`docs/results/audit.md`).

#[path = "audit/accounting.rs"]
mod accounting;
#[cfg(feature = "cli")]
#[path = "audit/bugs.rs"]
mod bugs;
#[cfg(feature = "cli")]
#[path = "audit/commands.rs"]
mod commands;
#[cfg(feature = "cli")]
#[path = "audit/coverage.rs"]
mod coverage;
#[path = "audit/doors.rs"]
mod doors;
#[path = "audit/entries.rs"]
mod entries;
#[path = "audit/errors.rs"]
mod errors;
#[path = "audit/exact.rs"]
mod exact;
#[path = "audit/jobs.rs"]
mod jobs;
#[path = "audit/joint.rs"]
mod joint;
#[path = "audit/laws.rs"]
mod laws;
#[path = "audit/leaks.rs"]
mod leaks;
#[path = "audit/mechanisms.rs"]
mod mechanisms;
#[path = "audit/merging.rs"]
mod merging;
#[path = "audit/neighbors.rs"]
mod neighbors;
#[path = "audit/options.rs"]
mod options;
#[path = "audit/order.rs"]
mod order;
#[path = "audit/own.rs"]
mod own;
#[path = "audit/parts.rs"]
mod parts;
#[path = "quick.rs"]
mod quick;
#[cfg(feature = "cli")]
#[path = "audit/released.rs"]
mod released;
#[path = "audit/sealed.rs"]
mod sealed;
#[path = "audit/sensitivity.rs"]
mod sensitivity;
#[path = "audit/sides.rs"]
mod sides;
#[path = "audit/statistics.rs"]
mod statistics;
#[path = "audit/streams.rs"]
mod streams;
#[path = "audit/thresholds.rs"]
mod thresholds;
#[cfg(feature = "cli")]
#[path = "audit/twins.rs"]
mod twins;
#[path = "audit/units.rs"]
mod units;
#[path = "audit/weights.rs"]
mod weights;
