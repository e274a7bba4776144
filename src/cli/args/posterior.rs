//! The arguments of `posterior`.

use std::path::PathBuf;

use clap::Args;

use super::count::count;

#[derive(Args, Debug)]
pub(in crate::cli) struct PosteriorArgs {
    /// The model saved by synth; it says what was measured
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) model: PathBuf,
    /// Columns of the tables, separated by commas: 2 to 12, of which each pair was measured
    #[arg(long, required = true, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) columns: Vec<String>,
    /// Number of tables
    #[arg(long, default_value = "20", value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub(in crate::cli) tables: u64,
    /// Seed of the draws, for reproducible tables
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(in crate::cli) seed: Option<u64>,
    /// Names of the output files: t.posterior-1.csv, t.posterior-2.csv, ... for t.csv; compressed with gzip if it ends in .gz
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: PathBuf,
}
