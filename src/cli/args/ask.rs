//! The arguments of `ask`.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Debug)]
pub(in crate::cli) struct AskModelArgs {
    /// A model saved by synth
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) model: PathBuf,
    /// Ask only about records that agree with this: SEX=2, AGEP=30..39, MAR=1|2, PINCP=missing
    #[arg(long, value_name = "EVIDENCE")]
    pub(in crate::cli) given: Option<String>,
    /// Attributes, separated by commas: answers within each combination of their values
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) by: Vec<String>,
    #[command(flatten)]
    pub(in crate::cli) questions: QuestionArgs,
    /// Wider intervals of measured numbers, which all hold at once in 95 % of releases
    #[arg(long)]
    pub(in crate::cli) together: bool,
    /// Print CSV instead of text
    #[arg(long, conflicts_with = "json")]
    pub(in crate::cli) csv: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// What to ask; at least one, and any of them several times.
#[derive(Args, Debug)]
#[group(required = true, multiple = true)]
pub(in crate::cli) struct QuestionArgs {
    /// Attributes, separated by commas: the share of each combination of their values
    #[arg(long, value_name = "NAME,...")]
    pub(in crate::cli) marginal: Vec<String>,
    /// The share of the records that agree with this, as in --given
    #[arg(long, value_name = "EVIDENCE")]
    pub(in crate::cli) share: Vec<String>,
    /// Of a model of households, synth --members: the share of those that have a member with this, and one with that, such as
    /// 'AGEP=0..17; AGEP=65..'
    #[arg(long, value_name = "CONDITIONS", conflicts_with = "by")]
    pub(in crate::cli) having: Vec<String>,
    /// Numeric columns, separated by commas: their means
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) mean: Vec<String>,
    /// Numeric columns, separated by commas: their medians
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) median: Vec<String>,
    /// Quantile of a numeric column, such as INCOME=0.9
    #[arg(long, value_name = "NAME=P")]
    pub(in crate::cli) quantile: Vec<String>,
}
