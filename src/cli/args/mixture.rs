//! Flags of `jointly mixture-error` and `jointly trust`.

use std::path::PathBuf;

use clap::Args;
use jointly::mixture_error::ScoredCells;
use jointly::privacy::NeighboringRelation;

use super::{KeepArgs, PrivateArgs, SpendArgs, WorkloadArgs, named};

#[derive(Args, Debug)]
pub(in crate::cli) struct MixtureErrorArgs {
    /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input
    #[arg(long, value_name = "FILE", alias = "real")]
    pub(in crate::cli) private: PathBuf,
    /// The public table whose rows get weights: CSV, plain or gzip
    #[arg(long, value_name = "FILE", alias = "support")]
    pub(in crate::cli) public: PathBuf,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) workload: WorkloadArgs,
    /// Cells to include in the error
    #[arg(long, value_parser = named::<ScoredCells>(ScoredCells::NAMES), default_value = "all", value_name = "CELLS")]
    pub(in crate::cli) cells: ScoredCells,
    /// Width at which to stop narrowing the bounds [default: 1e-6]; with --epsilon: largest distance between the
    /// quantity that gets the noise and the best mixture error [default: 0.00025]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(in crate::cli) tolerance: Option<f64>,
    /// Print only the private release, with this privacy budget; uses Laplace noise, or Gaussian noise with --delta
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "mixture")]
    pub(in crate::cli) epsilon: Option<f64>,
    /// Privacy budget: delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true, requires = "epsilon")]
    pub(in crate::cli) delta: Option<f64>,
    /// Neighboring relation: which pairs of tables must be indistinguishable
    #[arg(long, value_parser = named::<NeighboringRelation>(NeighboringRelation::NAMES), default_value = "replace-one", value_name = "RELATION")]
    pub(in crate::cli) neighbors: NeighboringRelation,
    /// Seed for a reproducible release; the result is then NOT private
    #[arg(long, value_name = "S", requires = "epsilon", allow_negative_numbers = true)]
    pub(in crate::cli) seed: Option<u64>,
    /// Output file for the ledger: every privacy cost, as JSON [default: jointly.ledger.json]
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    pub(in crate::cli) ledger: Option<PathBuf>,
    /// Output file for the best mixture found: CSV with the codes and the weight of one row per line; NOT private
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) mixture: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct TrustArgs {
    #[command(flatten)]
    pub(in crate::cli) private: PrivateArgs,
    /// A public table; the output calls it NAME [default: its file name]; repeatable
    #[arg(long, value_name = "[NAME=]FILE", required = true)]
    pub(in crate::cli) public: Vec<String>,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) spend: SpendArgs,
    #[command(flatten)]
    pub(in crate::cli) keep: KeepArgs,
    /// Workload of marginals for the best mixture errors: all-K-way (for instance all-2-way), all-K-way:N@SEED for N of
    /// these drawn at random, or a file of cliques
    #[arg(long, default_value = "all-2-way", value_name = "all-K-way|FILE")]
    pub(in crate::cli) workload: String,
    /// Cells to include in the best mixture errors
    #[arg(long, value_parser = named::<ScoredCells>(ScoredCells::NAMES), default_value = "all", value_name = "CELLS")]
    pub(in crate::cli) cells: ScoredCells,
    /// Share of the budget for the best mixture errors; the rest is for the errors of marginals
    #[arg(long, default_value_t = 0.2, value_name = "A", allow_negative_numbers = true)]
    pub(in crate::cli) mixture_share: f64,
    /// Maximum number of distinct rows of a public table to mix; from a larger table, uses rows that cover most of its
    /// cells
    #[arg(long, default_value_t = 2048, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) rows: usize,
    /// Probability that all intervals hold simultaneously
    #[arg(long, default_value_t = 0.95, value_name = "P", allow_negative_numbers = true)]
    pub(in crate::cli) confidence: f64,
    /// Number of worst marginals to list for each table
    #[arg(long, default_value_t = 10, value_name = "K", allow_negative_numbers = true)]
    pub(in crate::cli) worst: usize,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
