#![doc = include_str!("../README.md")]
//!
//! # The path
//!
//! Whoever reads the private table seals it ([`PrivateTable`]). A [`Curator`] holds it, the [`Ledger`] and the noise
//! generator. It is the only way from records to numbers that may be published. Before noise is added, its results are sealed: [`SealedMarginals`] can be compared with
//! tables that do not depend on the records, and what comes out is sealed too and knows its sensitivity ([`L1Errors`],
//! [`Scores`]). Every noisy result has an entry in the [`Ledger`], in exact units of [`Rho`] (zero-concentrated
//! differential privacy).
//!
//! Every access goes through one private function of the curator. It charges the ledger, and only its result can open
//! sealed values and draw noise.
//!
//! All noise is drawn exactly, in integer arithmetic (`sampler`).

mod budget;
mod cell_set;
mod checkpoint;
mod conversion;
mod curator;
mod destination;
mod durable;
mod error;
mod l1_errors;
mod ledger;
mod ledger_file;
mod marginals;
mod noise;
mod noise_mechanism;
mod private_table;
mod ratio;
mod residual;
mod rho;
mod sampler;
mod scores;
mod select;
mod select_many;
mod sensitive;
mod sensitivity;
mod source;
mod statistic;
mod text;
mod threshold;
mod unit;

pub use budget::Budget;
pub use cell_set::CellSet;
pub use checkpoint::{Checkpoint, Inputs};
pub use conversion::{
    Delta, Epsilon, delta_from_rho_epsilon, epsilon_from_rho_delta, rho_from_epsilon_delta,
};
pub use curator::{
    Curator, LaplaceMarginal, NoisyBlocks, NoisyCell, NoisyMarginal, NoisyResidual, NoisySum,
    NoisyValues, ObservedChange,
};
pub use error::{CheckpointFault, CommonError, DestinationFault, Error, Fact, Result};
pub use jointly_pgm::data::{Projectable, Recoding};
pub use l1_errors::{
    Gain, GainOf, ImprovementOf, L1Errors, MOST_WEIGHTED_VALUES, OwnError, ValueWeights,
};
pub use ledger::{Cost, Ledger, LedgerEntry};
pub use ledger_file::{LedgerFile, LedgerUnit};
pub use marginals::SealedMarginals;
pub use noise::NoiseSeed;
pub use noise_mechanism::NoiseMechanism;
pub use private_table::PrivateTable;
pub use rand;
pub use ratio::Ratio;
pub use residual::{ResidualQuery, residual_cost, variance_at_least};
pub use rho::Rho;
pub use scores::{Score, Scores};
pub use select::Selection;
pub use sensitive::Sensitive;
pub use sensitivity::{MarginalSensitivity, NeighboringRelation, RecordsPerUnit, ScoreSensitivity};
pub use statistic::{NoiseForm, NoisyStatistics, Statistic, StatisticSensitivity};
pub use unit::{Keep, Members, PrivacyUnit, Units};

/// Files that appear whole and are on disk when they appear, and text files with the place of what is wrong in them. For
/// this crate's files, and for those of a program built on it.
pub mod files {
    pub use crate::destination::Destination;
    pub use crate::durable::{open_stream, write_durably, write_privately};
    pub use crate::text::{EXACT_COUNTS, PUBLIC_COUNTS, encoding, hex, nearest, read_text};
}
