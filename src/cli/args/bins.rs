//! Flags of `jointly bins`.

use std::path::PathBuf;

use clap::Args;

use super::SpendArgs;

#[derive(Args, Debug)]
pub(in crate::cli) struct BinsArgs {
    /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) private: PathBuf,
    /// A schema with the range of each number to cut: schema.json, with "edges": [LOW, HIGH] for its column
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    /// Columns to cut, separated by commas [default: all numbers with a single bin]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) columns: Vec<String>,
    /// Columns whose categories to find, separated by commas; values of few records stay in the column's code "other"
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) categories: Vec<String>,
    /// Share of the budget for categories, if there are also columns to cut
    #[arg(
        long,
        value_name = "SHARE",
        requires = "categories",
        default_value_t = 0.5,
        allow_negative_numbers = true
    )]
    pub(in crate::cli) category_share: f64,
    /// The part of --delta for categories: the probability that a value of a single record is named [default: half]
    #[arg(long, value_name = "D", requires = "categories", allow_negative_numbers = true)]
    pub(in crate::cli) category_delta: Option<f64>,
    #[command(flatten)]
    pub(in crate::cli) spend: SpendArgs,
    /// Output file for the schema with the bins and categories
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: PathBuf,
}
