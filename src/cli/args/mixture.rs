//! Flags of `jointly mixture-error` and `jointly trust`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use jointly::mixture_error::ScoredCells;

use super::{Neighbors, SpendArgs, WorkloadArgs};

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum CellsName {
    /// All cells of the workload
    All,
    /// Those that a row of the public table reaches
    Supported,
}

impl CellsName {
    /// As the library has it.
    pub(in crate::cli) const fn scored(self) -> ScoredCells {
        match self {
            Self::All => ScoredCells::All,
            Self::Supported => ScoredCells::Supported,
        }
    }
}

#[derive(Args, Debug)]
pub(in crate::cli) struct MixtureErrorArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE", alias = "real")]
    pub(in crate::cli) private: PathBuf,
    /// The public table whose rows are weighted: CSV, plain or gzip
    #[arg(long, value_name = "FILE", alias = "support")]
    pub(in crate::cli) public: PathBuf,
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) workload: WorkloadArgs,
    /// Which cells count
    #[arg(long, value_enum, default_value = "all", value_name = "CELLS")]
    pub(in crate::cli) cells: CellsName,
    /// Width of the bracket to reach [default: 1e-6]; with --epsilon: how far the quantity that
    /// gets the noise may be from the best mixture error [default: 0.00025]
    #[arg(long, value_name = "T", allow_negative_numbers = true)]
    pub(in crate::cli) tolerance: Option<f64>,
    /// Print the private release alone, with this budget: Laplace noise, or Gaussian noise where delta is given
    #[arg(long, value_name = "E", allow_negative_numbers = true, conflicts_with = "mixture")]
    pub(in crate::cli) epsilon: Option<f64>,
    /// Privacy budget: delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true, requires = "epsilon")]
    pub(in crate::cli) delta: Option<f64>,
    /// Which tables must be indistinguishable
    #[arg(long, value_enum, default_value = "replace-one", value_name = "RELATION")]
    pub(in crate::cli) neighbors: Neighbors,
    /// Number to repeat the release with; the result is then NOT private
    #[arg(long, value_name = "S", requires = "epsilon")]
    pub(in crate::cli) seed: Option<u64>,
    /// What was spent, entry by entry, as JSON
    #[arg(long, value_name = "FILE", requires = "epsilon")]
    pub(in crate::cli) ledger: Option<PathBuf>,
    /// The best mixture found, as CSV with one row of codes and its weight per line; NOT private
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) mixture: Option<PathBuf>,
    /// JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

#[derive(Args, Debug)]
pub(in crate::cli) struct TrustArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) private: PathBuf,
    /// A public table, named by NAME or else by its file name; repeatable
    #[arg(long, value_name = "[NAME=]FILE", required = true)]
    pub(in crate::cli) public: Vec<String>,
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) spend: SpendArgs,
    /// What best mixture errors are about: all-K-way (for instance all-2-way), or a file of cliques
    #[arg(long, default_value = "all-2-way", value_name = "all-K-way|FILE")]
    pub(in crate::cli) workload: String,
    /// Which cells count in best mixture errors
    #[arg(long, value_enum, default_value = "all", value_name = "CELLS")]
    pub(in crate::cli) cells: CellsName,
    /// Share of the budget for best mixture errors; the rest is for the errors of marginals
    #[arg(long, default_value_t = 0.2, value_name = "A", allow_negative_numbers = true)]
    pub(in crate::cli) mixture_share: f64,
    /// Most distinct rows of a public table to mix; of a larger one, some that reach most of its cells
    #[arg(long, default_value_t = 2048, value_name = "N")]
    pub(in crate::cli) rows: usize,
    /// Probability with which all intervals hold at once
    #[arg(long, default_value_t = 0.95, value_name = "P", allow_negative_numbers = true)]
    pub(in crate::cli) confidence: f64,
    /// How many of the worst marginals of each table to list
    #[arg(long, default_value_t = 10, value_name = "K")]
    pub(in crate::cli) worst: usize,
    /// JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
