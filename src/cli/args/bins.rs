//! Flags of `jointly bins`.

use std::path::PathBuf;

use clap::Args;

use super::SpendArgs;

#[derive(Args, Debug)]
pub(in crate::cli) struct BinsArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) private: PathBuf,
    /// A schema that says how far the numbers reach: schema.json, with "edges": [LOW, HIGH] for a column to cut
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    /// Columns to cut, separated by commas [default: all numbers with a single bin]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) columns: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) spend: SpendArgs,
    /// Output file for the schema with the bins
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: PathBuf,
}
