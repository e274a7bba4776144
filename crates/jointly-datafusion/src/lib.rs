//! Counts private tables inside [DataFusion](https://datafusion.apache.org), for Jointly.
//!
//! Jointly's mechanisms ask a private table for counts and for nothing else ([`CountPlan`], [`Counter`]). Here its mergeable
//! counter is an aggregate function, so that a table may be whatever DataFusion reads: Parquet and CSV on disk or in an
//! object store, views in SQL, on one machine or, with the feature `distributed`, on many.
//!
//! ```
//! use std::sync::Arc;
//! use datafusion::{arrow::array::{Int64Array, RecordBatch}, prelude::SessionContext};
//! use jointly::{Schema, data::{CountPlan, Projectable}, domain::Clique};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let schema = Schema::from_json(r#"{"sex": 2, "age": 3}"#, "domain.json")?;
//! let plan = CountPlan::new(&schema, &[Clique::new([0, 1])])?;
//! let people = RecordBatch::try_from_iter([
//!     ("age", Arc::new(Int64Array::from(vec![2, 2, 0])) as _),
//!     ("sex", Arc::new(Int64Array::from(vec![0, 1, 1])) as _),
//! ])?;
//! let context = SessionContext::new();
//! context.register_batch("people", people)?;
//! let counts = jointly_datafusion::count(&context, "SELECT * FROM people WHERE age > 0", &plan).await?.finish()?;
//! assert_eq!(counts.project(&Clique::new([0]))?, [1, 1]);
//! # Ok(())
//! # }
//! ```
//!
//! The counts are exact, and as private as the records: [`jointly::data::CountedParts::of_counter`] makes them a file for
//! `jointly synth --private`.

#[cfg(feature = "distributed")]
mod cluster;
mod function;
mod query;
#[cfg(feature = "stores")]
mod stores;
pub mod tables;
mod units;

#[cfg(feature = "distributed")]
pub use cluster::{Cluster, serve};
pub use function::{NAME, jointly_count};
pub use query::{count, count_units};
#[cfg(feature = "stores")]
pub use stores::session;

/// What this crate is made for.
pub use jointly::data::{CountPlan, Counter, Keep, Units};
