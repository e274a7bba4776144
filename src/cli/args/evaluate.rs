//! Arguments of `evaluate`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};

use super::WorkloadArgs;

#[derive(Args, Debug)]
pub(in crate::cli) struct EvaluateArgs {
    /// The private table: CSV, plain or gzip; - is standard input
    #[arg(long, value_name = "FILE", alias = "real")]
    pub(in crate::cli) private: PathBuf,
    /// The synthetic table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) synthetic: PathBuf,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    #[command(flatten)]
    pub(in crate::cli) workload: WorkloadArgs,
    #[command(flatten)]
    pub(in crate::cli) measures: MeasureArgs,
    /// Grouping attributes, separated by commas; adds the score of NIST's Temporal Map, computed from the marginals
    /// within each group
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) groups: Vec<String>,
    /// Attributes, separated by commas: compares the numeric columns also within each combination of their values
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) by: Vec<String>,
    /// A linear regression to compare, such as 'INCOME ~ AGE + SEX'; may be given several times
    #[arg(long, value_name = "FORMULA")]
    pub(in crate::cli) regress: Vec<String>,
    /// Column that identifies the unit of each record in both tables, such as a household; adds measures unit by unit
    #[arg(long, value_name = "COLUMN")]
    pub(in crate::cli) unit: Option<String>,
    /// Maximum number of records per unit; keeps the first K in each file [default: all]
    #[arg(long, value_name = "K", requires = "unit", allow_negative_numbers = true)]
    pub(in crate::cli) max_records: Option<u32>,
    /// Columns, separated by commas, that all records of a unit should share
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", requires = "unit")]
    pub(in crate::cli) unit_columns: Vec<String>,
    /// Counts how many records of each unit agree with this, such as SPORDER=1; may be given several times
    #[arg(long, value_name = "EVIDENCE", requires = "unit")]
    pub(in crate::cli) per_unit: Vec<String>,
    /// Number of worst marginals to list
    #[arg(long, default_value_t = 10, value_name = "K", allow_negative_numbers = true)]
    pub(in crate::cli) worst: usize,
    /// Output file for an HTML page with both tables side by side; it is PRIVATE, not for release
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) report: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// A measure in addition to the workload error; see `docs/guide/evaluation.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::cli) enum Measure {
    /// SDNist's k-marginal score, 0 to 1000
    KMarginal,
    /// Mean squared error of a propensity score, and its ratio to that of resampled real records
    Propensity,
    /// Differences in Pearson's correlation and in Cramér's V, over all pairs
    Correlation,
    /// Unique real records that also occur in the synthetic table
    UniqueMatches,
}

/// What to measure in addition to the workload error.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(in crate::cli) struct MeasureArgs {
    /// Measures in addition to the workload error, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    pub(in crate::cli) measures: Vec<Measure>,
    /// Number of attributes in each marginal of the k-marginal score
    #[arg(long, default_value_t = 3, value_name = "K", allow_negative_numbers = true)]
    pub(in crate::cli) k: usize,
    /// Number of marginals in the k-marginal score, drawn with a fixed seed [default: all]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) draws: Option<usize>,
    /// Edit rules: a JSON file of combinations that must not occur; counts violations in both tables
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) rules: Option<PathBuf>,
}
