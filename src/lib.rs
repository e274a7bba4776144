//! Differentially private synthetic tables, with the help of public tables.
//!
//! # The problem
//!
//! Given are a private table D of n records over categorical attributes, public tables that resemble it, a workload of
//! attribute sets, and a budget of ρ-zCDP. The result is a table that may be published, whose marginals on the workload
//! are close to those of D.
//!
//! # The equation
//!
//! A release is a graphical model over the measured cliques r,
//!
//! ```text
//! p(x) ~ exp( Σ_r θ_r(x_r) ),    θ minimizes    ½ Σ_r w_r ‖ n M_r p - y_r ‖²
//! ```
//!
//! where `M_r p` is the marginal of p on r, and `y_r` is its measurement: counts of D with noise that the ledger paid
//! for, or counts of a public table scaled to n, for free. A noisy choice decides which clique is measured next. The
//! default mechanism, [`mechanism::AnchorPgm`], measures private marginals, and starts from a model of the public tables
//! instead of the uniform distribution; [`mechanism::JamPgm`] also chooses from which table a marginal comes.
//! [`inference`] finds marginals of p without ever holding the table over all attributes.
//!
//! # From records to rows
//!
//! ```text
//!  private records                              public records
//!        |                                            |
//!     Dataset                                     PublicData
//!        |                                            |
//!  +-- Curator ------------------+                    |
//!  |  counts, SealedMarginals    |                    |
//!  |     |                       |                    |
//!  |  charge the Ledger, then    |                    |
//!  |  add noise: select, measure |                    |
//!  +-----|-----------------------+                    |
//!        |                                            |
//!        +-- Run: rounds ---> Measurements <----------+
//!                            |
//!              fit: Estimator, MarginalOracle
//!                            |
//!                          Model ---> back to the Curator: score, choose, next round
//!                            |
//!                   Release::rows ---> rows
//! ```
//!
//! Nothing computed from private records leaves the [`Curator`] without a ledger entry. Everything below the
//! measurements is post-processing, and free.
//!
//! # Example
//!
//! ```
//! use jointly::{AnchorPgm, Budget, Drawing, Mechanism, NeighboringRelation, NoiseSeed, PublicData, Silent, Task, Workload,
//!               demo::Generator, rand::{SeedableRng, rngs::ChaCha20Rng}};
//!
//! let columns = [0, 1, 2, 8, 9];
//! let private = Generator { records: 2_000, seed: 1, drift: 0.0 }.generate()?.select(&columns)?; // else data::read_csv
//! let other = Generator { records: 2_000, seed: 2, drift: 0.3 }.generate()?.select(&columns)?;
//! let public = [PublicData::new("other state", other, private.domain())?];
//! let workload = Workload::all_k_way(private.domain(), 2)?;
//!
//! let budget = Budget::approximate(1.0, 1e-9)?;
//! let mut curator = budget.curator(&private, NeighboringRelation::ReplaceOne, NoiseSeed::System)?;
//! let release = AnchorPgm::default().run(&mut curator, &Task::new(&workload, &public), &mut Silent)?;
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1); // rows cost no privacy, whatever their seed
//! let rows = release.rows(private.records(), Drawing::Refined, &mut rng)?;
//! assert_eq!(rows.records(), 2_000);
//! assert!(release.ledger.spent() <= budget.rho() && release.is_private);
//! # Ok::<(), jointly::Error>(())
//! ```
//!
//! [`Job`] is the same job from files to files.
//!
//! # Where to look
//!
//! | question | place |
//! | --- | --- |
//! | Where is the exponential mechanism? | [`Curator::select`], in `crates/privacy/src/select.rs` |
//! | Where does a public table enter the fit? | as a base measure, in `crates/pgm/src/estimation/pull.rs`; JAM-PGM takes single marginals by [`mechanism::Run::take`] |
//! | What does a new mechanism need? | one file written on [`mechanism::Run`], a line in `mechanism/mod.rs`, an entry in `mechanism/catalogue.rs` |
//! | Where is a budget spent? | in `crates/privacy/src/curator/measure.rs`, and nowhere else |
//!
//! # Map
//!
//! The engine is a crate of its own, [`jointly_pgm`], which knows no budget and adds no noise: attributes and records,
//! [`table`], [`graph`], [`inference`], [`measurement`], estimation and the graphical model. All modules below may use it,
//! and those of the same name hold what the library adds. The privacy path is a crate too, [`privacy`]: budget, ledger and
//! its file, checkpoint, curator, exact noise; only its code can open a sealed value. A module uses only those above it; the
//! first two may name any type.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`Error`] | the one error type, facts in fields |
//! | [`observe`] | progress as events, which hold publishable numbers only |
//! | `linalg` | dense solves, by our own code or by LAPACK |
//! | `normal` | quantiles of the normal distribution |
//! | `program` | linear and integer programs, by `good_lp` and `microlp` |
//! | [`domain`] | the schema that turns text into codes |
//! | [`data`] | records: reading, counting as they are read, writing; public tables |
//! | [`query`] | the workload |
//! | [`settings`] | settings of a job or an evaluation, from which flags, keywords and the reference are made |
//! | [`compression`] | rare values merged before a run, at a cost |
//! | [`strategy`] | which marginals to measure, and how well: residuals, HDMM |
//! | [`least_squares`] | what all measurements say together: the one estimator of counts, with the law of its error |
//! | [`model`] | all kinds of fitted models behind one trait: marginals, records, files |
//! | [`estimation`] | answers that a prior fills up: IDE |
//! | [`survey`] | from the model of a sample to that of the population: weights, totals |
//! | [`error_bars`] | the errors of a released table, measured at a cost, with intervals |
//! | [`mechanism`] | the driver of a run, the catalogue, JAM-PGM, AIM, MST and the others |
//! | [`mixture_error`] | how well any weighting of public rows can do; **not private** |
//! | [`trust`] | which public table to trust, at a cost |
//! | [`pap`] | thresholds and intervals of real values, with cuts from public ones |
//! | [`paid_bins`] | bins of numbers by the private rows, at a cost |
//! | [`evaluation`] | errors and other measures against the real table; **not private** |
//! | [`posterior`] | tables that are each as likely to be the private one as what was measured allows |
//! | [`combine`] | intervals and tests from a released table and its replicates |
//! | [`experiment`] | splits, spoiled public tables, tuning on public tables; **not private** |
//! | [`report`] | pages for readers |
//! | [`synthesis`] | the whole job as a value |
//! | [`compare`] | mechanisms across data sets, budgets and seeds; **not private** |
//! | [`fit`] | a model and rows from published, rounded, suppressed and noisy tables; reads no private row |
//! | [`demo`] | invented census-like people |
//!
//! Guides, theory, design decisions and results are in the repository's `docs` folder.

pub mod combine;
pub mod compare;
pub mod compression;
pub mod data;
pub mod demo;
pub mod domain;
mod error;
pub mod error_bars;
pub mod estimation;
pub mod evaluation;
pub mod experiment;
pub mod fit;
pub mod least_squares;
mod linalg;
pub mod mechanism;
pub mod mixture_error;
pub mod model;
mod normal;
pub mod observe;
pub mod paid_bins;
pub mod pap;
pub mod posterior;
mod program;
pub mod query;
pub mod report;
pub mod settings;
pub mod strategy;
pub mod survey;
pub mod synthesis;
pub mod trust;

pub use data::{Dataset, PublicData};
pub use domain::Schema;
pub use error::{
    CheckpointFault, CommonError, Contradiction, DestinationFault, Error, ErrorKind, Fact,
    OutputFault, PrivacyError, Result,
};
pub use jointly_pgm::{graph, inference, measurement, table};
pub use jointly_privacy as privacy;
pub use mechanism::{AnchorPgm, JamPgm, Mechanism, Release, Task};
pub use model::{Drawing, Model};
pub use observe::Silent;
pub use privacy::{Budget, Curator, NeighboringRelation, NoiseSeed, PrivateTable};
pub use query::Workload;
pub use rand;
pub use synthesis::Job;

/// The code of README.md and of the guides, as doc tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/guide/library.md")]
    struct Library;
    #[doc = include_str!("../docs/guide/error-bars.md")]
    struct ErrorBars;
    #[doc = include_str!("../docs/guide/several-tables.md")]
    struct SeveralTables;
    #[doc = include_str!("../docs/guide/checkpoints.md")]
    struct Checkpoints;
    #[doc = include_str!("../docs/guide/model-file.md")]
    struct ModelFile;
    #[doc = include_str!("../docs/guide/prior.md")]
    struct Prior;
}
