//! The arguments of `combine`.

use std::path::PathBuf;

use clap::Args;

use super::count::count;

#[derive(Args, Debug)]
pub(in crate::cli) struct CombineArgs {
    /// The model saved by synth; it says what was measured
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) model: PathBuf,
    /// The released table, as synth wrote it, with its replicates beside it
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) synthetic: PathBuf,
    /// Number of replicates to read, as for synth; 0 for none
    #[arg(long, default_value = "0", value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub(in crate::cli) tables: u64,
    #[command(flatten)]
    pub(in crate::cli) statistics: StatisticArgs,
    /// Only the records that agree with this: SEX=2, AGEP=30..39, MAR=1|2, PINCP=missing
    #[arg(long, value_name = "EVIDENCE")]
    pub(in crate::cli) given: Option<String>,
    /// Intervals for the population that the private table is a random sample of, instead of the private table itself
    #[arg(long)]
    pub(in crate::cli) population: bool,
    /// Number of tables to draw from the posterior distribution of the private one, for logistic regressions of which only pairs of
    /// columns were measured; 20 are usual
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub(in crate::cli) posterior: Option<u64>,
    /// Seed of these tables, for reproducible intervals
    #[arg(long, value_name = "S", allow_negative_numbers = true, requires = "posterior")]
    pub(in crate::cli) seed: Option<u64>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// What to compute; at least one, and any of them several times.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(in crate::cli) struct StatisticArgs {
    /// The share of the records that agree with this, as in --given
    #[arg(long, value_name = "EVIDENCE")]
    pub(in crate::cli) share: Vec<String>,
    /// Numeric columns, separated by commas: their means
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) mean: Vec<String>,
    /// A difference of means or shares between two groups: 'AGEP: SEX=1 vs SEX=2', 'HICOV=2: SEX=1 vs SEX=2'
    #[arg(long, value_name = "RESPONSE: GROUP vs GROUP")]
    pub(in crate::cli) difference: Vec<String>,
    /// A linear regression: 'PINCP ~ AGEP + SEX'
    #[arg(long, value_name = "FORMULA")]
    pub(in crate::cli) linear: Vec<String>,
    /// A logistic regression of a condition: 'HICOV=2 ~ AGEP + SEX'
    #[arg(long, value_name = "FORMULA")]
    pub(in crate::cli) logistic: Vec<String>,
}
