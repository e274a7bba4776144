//! The command line as typed.

mod mechanism;
mod mixture;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use jointly::model::Drawing;
use jointly::privacy::NeighboringRelation;
use jointly::query::WorkloadSource;
use serde::{Deserialize, Serialize};

pub(super) use mechanism::{AnswererArgs, Chosen, MechanismArgs, MechanismName};
pub(super) use mixture::{MixtureErrorArgs, TrustArgs};

/// Differentially private synthetic tables with the help of public data.
#[derive(Debug, Parser)]
#[command(name = "jointly", version, max_term_width = 100, after_help = EXIT_CODES)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: GlobalArgs,
    #[command(subcommand)]
    pub(super) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes:
  0  done
  1  a file could not be read or written, or an internal error
  2  wrong usage: unknown, missing or contradictory flags
  3  wrong input: a table, schema, workload or model
  4  privacy: a budget or parameter out of range, or a budget too small
  5  the checkpoint is refused

Results go to standard output or to the files asked for; progress, warnings and errors go to
standard error.";

/// Flags of every command.
#[derive(Args, Debug)]
pub(super) struct GlobalArgs {
    /// Form of progress, warnings and errors on standard error; json: one object per line
    #[arg(long, global = true, value_enum, default_value = "text", value_name = "FORMAT")]
    pub(super) log_format: LogFormat,
    /// No progress and no notes; warnings, errors and results remain
    #[arg(long, short, global = true)]
    pub(super) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum LogFormat {
    Text,
    Json,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Make up a private and a public table, run the whole job on them, and report
    Demo(DemoArgs),
    /// Make a synthetic table from a private table, with the help of public tables
    Synth(Box<SynthArgs>),
    /// Answer a workload of marginals with noise, and say how much, without a model
    Answer(AnswerArgs),
    /// Compare a synthetic table with the real one; the result is NOT private
    Evaluate(EvaluateArgs),
    /// Bracket how well any weighting of a public table's rows can do; NOT private without --epsilon
    MixtureError(Box<MixtureErrorArgs>),
    /// Say which public table to trust, and with what, at a cost that a later synth counts
    Trust(Box<TrustArgs>),
    /// Run mechanisms over data sets, budgets and seeds, and compare; the results are NOT private
    Compare(CompareArgs),
    /// One run of a comparison, from standard input to standard output
    #[command(hide = true)]
    CompareRun,
    /// Say what a budget will buy, before any data are touched
    Plan(PlanArgs),
    /// Convert between (epsilon, delta) and rho
    Budget(BudgetArgs),
    /// Draw records from a saved model; costs no privacy
    Sample(SampleArgs),
    /// Draft a schema from a public table or a data dictionary, never from private rows
    Schema(SchemaArgs),
}

#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Folder for the files; made if it is not there
    #[arg(long, default_value = "jointly-demo", value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Privacy budget
    #[arg(long, default_value_t = 1.0, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Number to repeat the run with: the noise can then be removed by whoever knows it
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
}

/// What the synthetic table must be good at.
#[derive(Args, Clone, Debug)]
pub(super) struct WorkloadArgs {
    /// all-K-way (for instance all-3-way), or a file of cliques
    #[arg(long, default_value = "all-3-way", value_name = "all-K-way|FILE")]
    pub(super) workload: String,
    /// Leave out cliques of the workload with more cells than this
    #[arg(long, value_name = "N")]
    pub(super) max_cells: Option<u64>,
}

impl WorkloadArgs {
    pub(super) fn source(&self) -> WorkloadSource {
        WorkloadSource { name: self.workload.clone(), max_cells: self.max_cells }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Neighbors {
    /// One record has other values; the number of records is public
    ReplaceOne,
    /// One record is added or removed; the number of records is private
    AddRemoveOne,
}

impl Neighbors {
    /// As the library has it.
    pub(super) const fn relation(self) -> NeighboringRelation {
        match self {
            Self::ReplaceOne => NeighboringRelation::ReplaceOne,
            Self::AddRemoveOne => NeighboringRelation::AddRemoveOne,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DrawName {
    /// Rounded and brought near the model's marginals on the workload: the smallest error
    Refined,
    /// Every record independently, for methods that assume a random sample
    Independent,
}

impl DrawName {
    /// As the library has it.
    pub(super) const fn drawing(self) -> Drawing {
        match self {
            Self::Refined => Drawing::Refined,
            Self::Independent => Drawing::Independent,
        }
    }
}

/// What differs between neighboring tables.
#[derive(Args, Clone, Debug)]
pub(super) struct UnitArgs {
    /// Which tables must be indistinguishable
    #[arg(long, value_enum, default_value = "replace-one", value_name = "RELATION")]
    pub(super) neighbors: Neighbors,
    /// Column that names the unit of each record, such as a household; needs --neighbors add-remove-one
    #[arg(long, value_name = "COLUMN", requires = "max_records")]
    pub(super) unit: Option<String>,
    /// Records of a unit that count, the first in the file; the rest is dropped
    #[arg(long, value_name = "K", requires = "unit")]
    pub(super) max_records: Option<u32>,
}

#[derive(Args, Clone, Debug)]
pub(super) struct SynthArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(super) private: PathBuf,
    /// A public table, named in the ledger by NAME or else by its file name; repeatable
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(super) public: Vec<String>,
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    /// Privacy budget: epsilon, above 0; needed by every mechanism but public-only
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: Option<f64>,
    /// Privacy budget: delta, between 0 and 1, far below 1 / number of records; needed as epsilon is, but for Laplace noise
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: Option<f64>,
    #[command(flatten)]
    pub(super) mechanism: MechanismArgs,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    #[command(flatten)]
    pub(super) unit: UnitArgs,
    /// A ledger that another command has written: what it spent counts against the budget of this run
    #[arg(long, value_name = "FILE")]
    pub(super) ledger_from: Option<PathBuf>,
    /// Records to draw [default: as many as the model stands for]
    #[arg(long, value_name = "N")]
    pub(super) rows: Option<u64>,
    /// How records are drawn
    #[arg(long, value_enum, default_value = "refined", value_name = "HOW")]
    pub(super) draw: DrawName,
    /// Number to repeat the run with; the result is then NOT private
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    /// The synthetic table: CSV, gzip when it ends in .gz
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// The model, to draw more records from later
    #[arg(long, value_name = "FILE")]
    pub(super) model: Option<PathBuf>,
    /// What was spent, entry by entry, as JSON
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
    /// A one-page report, as HTML
    #[arg(long, value_name = "FILE")]
    pub(super) report: Option<PathBuf>,
    /// Folder that keeps the state after each round; an interrupted run continues from it
    #[arg(long, value_name = "DIR")]
    pub(super) checkpoint: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct AnswerArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(super) private: PathBuf,
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    #[command(flatten)]
    pub(super) spend: SpendArgs,
    #[command(flatten)]
    pub(super) mechanism: AnswererArgs,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    /// The noisy marginals: JSON with the ledger when it ends in .json, otherwise CSV with one line per cell
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

/// The budget of a command that spends and makes no table.
#[derive(Args, Debug)]
pub(super) struct SpendArgs {
    /// Privacy budget: epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Privacy budget: delta, between 0 and 1, far below 1 / number of records
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: f64,
    /// Which tables must be indistinguishable
    #[arg(long, value_enum, default_value = "replace-one", value_name = "RELATION")]
    pub(super) neighbors: Neighbors,
    /// Number to repeat the run with; the result is then NOT private
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
    /// What was spent, entry by entry, as JSON, for synth --ledger-from
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct EvaluateArgs {
    /// The private table: CSV, plain or gzip
    #[arg(long, value_name = "FILE", alias = "real")]
    pub(super) private: PathBuf,
    /// The synthetic table: CSV, plain or gzip
    #[arg(long, value_name = "FILE")]
    pub(super) synthetic: PathBuf,
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    #[command(flatten)]
    pub(super) measures: MeasureArgs,
    /// Grouping attributes, separated by commas: the score of NIST's Temporal Map, from the marginals within each group
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) groups: Vec<String>,
    /// How many of the worst marginals to list
    #[arg(long, default_value_t = 10, value_name = "K")]
    pub(super) worst: usize,
    /// JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

/// A measure beside the workload error; see `docs/guide/evaluation.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Measure {
    /// SDNist's k-marginal score, 0 to 1000
    KMarginal,
    /// Mean squared error of a propensity score, and its ratio to that of resampled real records
    Propensity,
    /// Differences of Pearson's correlation and of Cramér's V, over all pairs
    Correlation,
    /// Unique real records that the synthetic table repeats
    UniqueMatches,
}

/// What to measure beside the workload error.
#[derive(Args, Clone, Debug, Serialize, Deserialize)]
pub(super) struct MeasureArgs {
    /// Measures beside the workload error, separated by commas
    #[arg(long, value_enum, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) measures: Vec<Measure>,
    /// Attributes of each marginal of the k-marginal score
    #[arg(long, default_value_t = 3, value_name = "K")]
    pub(super) k: usize,
    /// Marginals of the k-marginal score, drawn by a fixed seed [default: all]
    #[arg(long, value_name = "N")]
    pub(super) draws: Option<usize>,
    /// Edit rules, a JSON file of combinations that must not occur: violations in both tables
    #[arg(long, value_name = "FILE")]
    pub(super) rules: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// What to run on what: a TOML file
    #[arg(value_name = "PROTOCOL.toml")]
    pub(super) protocol: PathBuf,
    /// Folder for results.csv and comparison.html; what it holds is not run again [default: the file's name with -results]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Run on these data sets only; separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) data: Vec<String>,
    /// Run these mechanisms only
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) mechanism: Vec<MechanismName>,
    /// Run at these epsilons only
    #[arg(long, value_delimiter = ',', value_name = "E,...")]
    pub(super) epsilon: Vec<f64>,
    /// Run these seeds only
    #[arg(long, value_delimiter = ',', value_name = "S,...")]
    pub(super) seed: Vec<u64>,
}

#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    /// schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    /// Privacy budget: epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Privacy budget: delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: f64,
    /// Number of private records, or a guess at it
    #[arg(long, value_name = "N")]
    pub(super) records: u64,
    #[command(flatten)]
    pub(super) mechanism: MechanismArgs,
    /// Which tables must be indistinguishable
    #[arg(long, value_enum, default_value = "replace-one", value_name = "RELATION")]
    pub(super) neighbors: Neighbors,
    /// Cliques whose model's work and memory to show, as in a file of --workload [default: drawn at random]
    #[arg(long, value_name = "FILE")]
    pub(super) measured: Option<PathBuf>,
    /// JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct BudgetArgs {
    /// epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: Option<f64>,
    /// delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: Option<f64>,
    /// rho of zero-concentrated differential privacy, above 0
    #[arg(long, value_name = "R", allow_negative_numbers = true)]
    pub(super) rho: Option<f64>,
    /// JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct SampleArgs {
    /// A model that synth has saved
    #[arg(long, value_name = "FILE")]
    pub(super) model: PathBuf,
    /// Records to draw
    #[arg(long, value_name = "N")]
    pub(super) rows: u64,
    /// The table: CSV, gzip when it ends in .gz
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// How records are drawn
    #[arg(long, value_enum, default_value = "refined", value_name = "HOW")]
    pub(super) draw: DrawName,
    /// Number to repeat the draw with; privacy does not depend on it
    #[arg(long, value_name = "S")]
    pub(super) seed: Option<u64>,
}

#[derive(Args, Debug)]
pub(super) struct SchemaArgs {
    /// A public table: CSV, plain or gzip; repeatable
    #[arg(long, value_name = "FILE", required_unless_present = "dictionary")]
    pub(super) public: Vec<PathBuf>,
    /// A data dictionary in the form of the census bureau's CSV
    #[arg(long, value_name = "FILE")]
    pub(super) dictionary: Option<PathBuf>,
    /// Where to write the schema [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub(super) out: Option<PathBuf>,
}
