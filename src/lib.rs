//! Differentially private synthetic tables, with the help of public tables.
//!
//! # The problem
//!
//! A private table D of n records over categorical attributes, public tables that resemble it, a workload of attribute
//! sets, and a budget of ρ-zCDP. Wanted: a table that may be published, whose marginals on the workload are near those
//! of D.
//!
//! # The equation
//!
//! A release is a graphical model over the measured cliques r,
//!
//! ```text
//! p(x) ~ exp( Σ_r θ_r(x_r) ),    θ minimizes    ½ Σ_r w_r ‖ n M_r p - y_r ‖²
//! ```
//!
//! where `M_r p` is the marginal of p on r, and `y_r` what was observed there: counts of D with noise that the ledger
//! paid for, or counts of a public table scaled to n, for free. Which clique to observe next, and from which table, is
//! itself chosen with noise. See [`mechanism::JamPgm`] for the mechanism, and [`inference`] for how marginals of p are
//! found without ever holding the table over all attributes.
//!
//! # From records to rows
//!
//! ```text
//!  private records                              public records
//!        |                                            |
//!     Dataset                                     PublicData
//!        |                                            |
//!  +-- Curator ------------------+                    |
//!  |  counts, sealed: Sensitive  |                    |
//!  |     |                       |                    |
//!  |  charge the Ledger, then    |                    |
//!  |  add noise: select, measure |                    |
//!  +-----|-----------------------+                    |
//!        |                                            |
//!        +------------> Measurements <----------------+
//!                            |
//!              fit: Estimator, MarginalOracle
//!                            |
//!                   MarkovRandomField ---> back to the Curator: score, choose, next round
//!                            |
//!                    sample ---> rows
//! ```
//!
//! Nothing computed from private records leaves the [`privacy::Curator`] without a ledger entry. Everything below the
//! measurements is post-processing, and free.
//!
//! # Example
//!
//! ```
//! use jointly::data::PublicData;
//! use jointly::demo::Generator;
//! use jointly::mechanism::{JamPgm, Mechanism, Task};
//! use jointly::model::Sampling;
//! use jointly::observe::Silent;
//! use jointly::privacy::{Curator, Delta, Epsilon, NeighboringRelation, NoiseSeed, rho_from_epsilon_delta};
//! use jointly::query::Workload;
//! use rand::{SeedableRng, rngs::ChaCha20Rng};
//!
//! let private = Generator { records: 2_000, seed: 1, drift: 0.0 }.generate()?; // invented; else data::read_csv
//! let other = Generator { records: 2_000, seed: 2, drift: 0.3 }.generate()?;
//! let public = [PublicData::new("other state", other, private.domain())?];
//! let workload = Workload::all_k_way(private.domain(), 2)?;
//!
//! let limit = rho_from_epsilon_delta(Epsilon::new(1.0)?, Delta::new(1e-9)?)?;
//! let relation = NeighboringRelation::ReplaceOne;
//! let mut curator = Curator::new(&private, relation, limit, NoiseSeed::System)?;
//! let mechanism = JamPgm { rounds: Some(5), ..JamPgm::default() };
//! let task = Task::new(&workload, &public);
//! let release = mechanism.run(&mut curator, &task, &mut Silent)?;
//!
//! let mut rng = ChaCha20Rng::seed_from_u64(1); // rows cost no privacy, whatever their seed
//! let rows = release.model.sample(private.records(), Sampling::Rounded, &mut rng)?;
//! assert_eq!((rows.records(), release.rounds.len()), (2_000, 5));
//! assert!(release.ledger.spent() <= limit && release.is_private);
//! # Ok::<(), jointly::Error>(())
//! ```
//!
//! # Map
//!
//! A module uses only those above it; the first two may name any type.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`Error`] | the one error type, facts in fields |
//! | [`observe`] | progress as events, which hold publishable numbers only |
//! | [`linalg`] | dense solves, by our own code or by LAPACK |
//! | [`program`] | linear programs, by `good_lp` |
//! | [`domain`] | attributes, cliques, and the schema that turns text into codes |
//! | [`table`] | tables over cliques: factors, potentials, marginals |
//! | [`data`] | records: reading, counting, writing; public tables |
//! | [`graph`] | moral graph, elimination orders, junction trees |
//! | [`query`] | the workload |
//! | [`inference`] | from potentials to marginals: the engine |
//! | [`measurement`] | what was observed, and where |
//! | [`privacy`] | budget, ledger, curator, exact noise |
//! | [`strategy`] | which marginals to measure, and how well: residuals, HDMM |
//! | [`model`] | fitted models, graphical or weighted records: marginals, sampling, files |
//! | [`estimation`] | from measurements to potentials |
//! | [`mechanism`] | JAM-PGM, AIM, MST, reweighted supports, answered workloads, baselines, checkpoints |
//! | [`evaluation`] | errors and other measures beside the real table; **not private** |
//! | [`demo`] | invented census-like people |
//!
//! Guides, theory, design decisions and results are in the repository's `docs` folder.

pub mod data;
pub mod demo;
pub mod domain;
mod error;
pub mod estimation;
pub mod evaluation;
pub mod graph;
pub mod inference;
pub mod linalg;
pub mod measurement;
pub mod mechanism;
pub mod mixture_error;
pub mod model;
pub mod observe;
pub mod privacy;
pub mod program;
pub mod query;
pub mod report;
pub mod strategy;
pub mod synthesis;
pub mod table;
pub mod trust;

pub use data::{Dataset, PublicData};
pub use domain::Schema;
pub use error::{Error, OutputFault, Result};
pub use mechanism::{Aim, JamPgm, Mechanism, Release, Task};
pub use model::{Drawing, Model};
pub use privacy::{Budget, Curator, NeighboringRelation, NoiseSeed};
pub use query::Workload;
pub use synthesis::Synthesis;

/// The code of README.md and of the guides, as doc tests.
#[cfg(doctest)]
mod documentation {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../docs/guide/library.md")]
    struct Library;
    #[doc = include_str!("../docs/guide/checkpoints.md")]
    struct Checkpoints;
    #[doc = include_str!("../docs/guide/model-file.md")]
    struct ModelFile;
    #[doc = include_str!("../docs/guide/prior.md")]
    struct Prior;
}
