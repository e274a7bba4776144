//! The command-line arguments.

mod ask;
mod bins;
mod combine;
mod count;
mod counts;
mod evaluate;
mod examples;
mod explain;
mod fit;
mod global;
mod job;
mod mechanism;
mod mixture;
mod posterior;
mod schema;
mod settings;
mod thresholds;
mod tune;

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use jointly::data::{Keep, Labels};
use jointly::model::{Drawing, PART_ROWS, PartForm};
use jointly::privacy::NeighboringRelation;
use jointly::query::WorkloadSource;
use jointly::settings::Choices;
use jointly::synthesis::{DEFAULT_ENGINE, PrivateSource, QueriedTable};
use serde::de::DeserializeOwned;

use super::failure::Outcome;

use count::count;

pub(super) use ask::{AskModelArgs, QuestionArgs};
pub(super) use bins::BinsArgs;
pub(super) use combine::{CombineArgs, StatisticArgs};
pub(super) use counts::{CountArgs, MergeArgs};
pub(super) use evaluate::EvaluateArgs;
pub(super) use explain::ExplainArgs;
pub(super) use fit::FitArgs;
pub(super) use global::{GlobalArgs, LogFormat};
pub(super) use job::JobArgs;
pub(super) use mechanism::{AnswererArgs, ChosenMechanism, MechanismArgs, MechanismName};
pub(super) use mixture::{MixtureErrorArgs, TrustArgs};
pub(super) use posterior::PosteriorArgs;
pub(super) use schema::{Export, MemberArgs, SchemaArgs, TableArgs};
pub(super) use thresholds::{AskArgs, SizesArgs, ThresholdsArgs, ThresholdsReleaseArgs};
pub(super) use tune::TuneArgs;

/// Create differentially private synthetic tables with the help of public data.
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
  2  wrong usage: flags that are unknown, missing, contradictory or out of range
  3  wrong input: a file, or a flag that asks for what the files do not have
  4  privacy: a budget out of range, too small or used up
  5  the checkpoint is refused
  130  interrupted; the message says what was spent
jointly explain CODE says what to do about each.

Results go to standard output or to the files asked for (- is standard output, and as a table to
read standard input); progress, warnings and errors go to standard error.";

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Generate an example private and public table, run a complete synthesis on them, and write a report
    #[command(after_help = examples::DEMO)]
    Demo(DemoArgs),
    /// Create a synthetic table from a private table, with the help of public tables
    #[command(after_help = examples::SYNTH)]
    Synth(Box<JobArgs>),
    /// Answer a workload of marginals with noise, without a model, and report the size of the noise
    #[command(after_help = examples::ANSWER)]
    Answer(AnswerArgs),
    /// Compare a synthetic table with the real one; the result is NOT private
    #[command(after_help = examples::EVALUATE)]
    Evaluate(Box<EvaluateArgs>),
    /// Bound the smallest error that any weighting of a public table's rows can reach; NOT private without --epsilon
    #[command(after_help = examples::MIXTURE_ERROR)]
    MixtureError(Box<MixtureErrorArgs>),
    /// Show which public tables to trust, and for which marginals; a later synth can count the cost
    #[command(after_help = examples::TRUST)]
    Trust(Box<TrustArgs>),
    /// Release shares of records below any number in columns of real values, with brackets; ask answers from the release
    #[command(after_help = examples::THRESHOLDS)]
    Thresholds(ThresholdsArgs),
    /// Compare mechanisms across data sets, budgets and seeds; the results are NOT private
    #[command(after_help = examples::COMPARE)]
    Compare(CompareArgs),
    /// Execute one run of a comparison, from standard input to standard output
    #[command(hide = true)]
    CompareRun,
    /// Choose a mechanism's parameters on public tables alone; reads no private table and spends nothing
    #[command(after_help = examples::TUNE)]
    Tune(Box<TuneArgs>),
    /// Show what accuracy a budget buys, without reading any data
    #[command(after_help = examples::PLAN)]
    Plan(PlanArgs),
    /// Convert between (epsilon, delta) and rho
    #[command(after_help = examples::BUDGET)]
    Budget(BudgetArgs),
    /// Fit a model to published, rounded, suppressed or noisy tables, and draw records; reads no private row
    #[command(after_help = examples::FIT)]
    Fit(Box<FitArgs>),
    /// Draw records from a saved model; costs no privacy
    #[command(after_help = examples::SAMPLE)]
    Sample(SampleArgs),
    /// Answer questions from a saved model: marginals, shares, means, quantiles; spends no privacy
    #[command(after_help = examples::ASK)]
    Ask(AskModelArgs),
    /// Estimates, intervals and tests from a released table and its replicates; spends no privacy
    #[command(after_help = examples::COMBINE)]
    Combine(CombineArgs),
    /// Draw tables of a few columns, each as likely to be the private one as what was measured allows, for analyses in other
    /// software
    #[command(after_help = examples::POSTERIOR)]
    Posterior(PosteriorArgs),
    /// Draft a schema from a public table or a data dictionary, never from private rows
    #[command(after_help = examples::SCHEMA)]
    Schema(SchemaArgs),
    /// Explain an error, by its name or exit code, or a term such as epsilon
    #[command(after_help = examples::EXPLAIN)]
    Explain(ExplainArgs),
    /// Print a script that completes this program's commands and flags in a shell
    #[command(after_help = examples::COMPLETIONS)]
    Completions(CompletionsArgs),
    /// Print the manual page
    Man,
    /// Find bins of numbers, and categories, that follow the private rows; costs privacy
    #[command(after_help = examples::BINS)]
    Bins(Box<BinsArgs>),
    /// Count a part of a private table that is too large for one machine; synth takes the counts
    #[command(after_help = examples::COUNT)]
    Count(Box<CountArgs>),
    /// Add up what count has counted of different parts
    #[command(after_help = examples::MERGE)]
    Merge(MergeArgs),
}

impl Command {
    /// The main output of a command that releases something.
    pub(super) fn release(&self) -> Option<&Path> {
        match self {
            Self::Synth(args) => args.0.out.as_deref(),
            Self::Answer(args) => Some(&args.out),
            Self::Thresholds(ThresholdsArgs::Release(args)) => Some(&args.out),
            Self::Bins(args) => Some(&args.out),
            _ => None,
        }
    }
}

#[derive(Args, Debug)]
pub(super) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    pub(super) shell: clap_complete::Shell,
}

#[derive(Args, Debug)]
pub(super) struct DemoArgs {
    /// Folder for the files; created if missing
    #[arg(long, default_value = "jointly-demo", value_name = "DIR")]
    pub(super) dir: PathBuf,
    /// Privacy budget
    #[arg(long, default_value_t = 1.0, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Seed for a reproducible run; anyone who knows the seed can remove the noise
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
}

/// The workload: the marginals that should be accurate.
#[derive(Args, Clone, Debug)]
pub(super) struct WorkloadArgs {
    /// Workload of marginals: all-K-way (for instance all-3-way), all-K-way:N@SEED for N of these drawn at random, or a
    /// file of cliques
    #[arg(long, default_value = "all-3-way", value_name = "all-K-way|FILE")]
    pub(super) workload: String,
    /// Leave out cliques of the workload with more than N cells
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) max_cells: Option<u64>,
}

impl WorkloadArgs {
    pub(super) fn source(&self) -> Outcome<WorkloadSource> {
        workload(&self.workload, self.max_cells)
    }
}

/// The workload of a flag, whose form is checked.
pub(super) fn workload(name: &str, max_cells: Option<u64>) -> Outcome<WorkloadSource> {
    let source = WorkloadSource { name: name.to_owned(), max_cells };
    source.check()?;
    Ok(source)
}

/// The parser of a value that is one of some names.
fn named<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: Choices,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(possible(names))
        .try_map(|name| serde_json::from_value::<T>(name.into()))
}

/// Names with their meanings, for a flag.
fn possible(names: Choices) -> impl Iterator<Item = PossibleValue> {
    names.iter().map(|(name, help)| PossibleValue::new(*name).help(*help))
}

/// What differs between neighboring tables.
#[derive(Args, Clone, Debug)]
pub(super) struct UnitArgs {
    /// Neighboring relation: which pairs of tables must be indistinguishable
    #[arg(long, value_parser = named::<NeighboringRelation>(NeighboringRelation::NAMES), default_value = "replace-one", value_name = "RELATION")]
    pub(super) neighbors: NeighboringRelation,
    /// Column that identifies the unit of each record, such as a household; needs --neighbors add-remove-one
    #[arg(long, value_name = "COLUMN", requires = "max_records")]
    pub(super) unit: Option<String>,
    /// Maximum number of records per unit; the others are dropped
    #[arg(long, value_name = "K", requires = "unit", allow_negative_numbers = true)]
    pub(super) max_records: Option<u32>,
}

#[derive(Args, Debug)]
pub(super) struct AnswerArgs {
    #[command(flatten)]
    pub(super) private: PrivateArgs,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    #[command(flatten)]
    pub(super) spend: SpendArgs,
    /// Count the private table block by block instead of holding its rows, so that memory does not grow with them; the
    /// result is the same
    #[arg(long)]
    pub(super) counted: bool,
    #[command(flatten)]
    pub(super) keep: KeepArgs,
    #[command(flatten)]
    pub(super) mechanism: AnswererArgs,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    /// Output file for the noisy marginals: JSON with the ledger if the name ends in .json, otherwise CSV with one line
    /// per cell
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
}

/// The private table of a command that needs nothing but its counts.
#[derive(Args, Debug)]
pub(super) struct PrivateArgs {
    /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input; or what count and merge have counted of it
    #[arg(long, value_name = "FILE", required_unless_present = "private_table")]
    private: Option<PathBuf>,
    /// The private table where another program reads it: a query in SQL, or the place of a table; instead of --private
    #[arg(long, value_name = "SQL|PLACE", conflicts_with = "private")]
    private_table: Option<String>,
    /// The program that counts --private-table, and its arguments
    #[arg(long, value_name = "COMMAND", default_value = DEFAULT_ENGINE, requires = "private_table")]
    engine: String,
}

impl PrivateArgs {
    pub(super) fn source(&self) -> PrivateSource {
        match (&self.private, &self.private_table) {
            (_, Some(table)) => {
                let (table, engine) = (table.clone(), self.engine.clone());
                PrivateSource::Queried(QueriedTable { table, engine })
            }
            (file, None) => file.clone().unwrap_or_default().into(),
        }
    }
}

/// Which records of a unit count.
#[derive(Args, Clone, Copy, Debug)]
pub(super) struct KeepArgs {
    /// Which K records of a unit count
    #[arg(long, value_parser = named::<Keep>(Keep::NAMES), default_value = "first", value_name = "WHICH", requires = "unit")]
    pub(super) keep: Keep,
}

/// The budget of a command that spends but creates no table.
#[derive(Args, Debug)]
pub(super) struct SpendArgs {
    /// Privacy budget: epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Privacy budget: delta, between 0 and 1, far below 1 / number of records
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: f64,
    #[command(flatten)]
    pub(super) unit: UnitArgs,
    /// Ledger written by another command; its cost counts against the budget of this run
    #[arg(long, value_name = "FILE")]
    pub(super) ledger_from: Option<PathBuf>,
    /// Seed for a reproducible run; the result is then NOT private
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
    /// Output file for the ledger: every privacy cost, as JSON, for --ledger-from [default: OUT.ledger.json, or
    /// jointly.ledger.json where the result is printed]
    #[arg(long, value_name = "FILE")]
    pub(super) ledger: Option<PathBuf>,
}

#[derive(Args, Debug)]
pub(super) struct CompareArgs {
    /// TOML file that lists the data sets, mechanisms, budgets and seeds to run
    #[arg(value_name = "PROTOCOL.toml")]
    pub(super) protocol: PathBuf,
    /// Folder for results.csv and comparison.html; skips runs already in it [default: the file's name with -results]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Run only on these data sets, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) data: Vec<String>,
    /// Run only these mechanisms, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "NAME,...")]
    pub(super) mechanism: Vec<MechanismName>,
    /// Run only at these epsilons, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "E,...")]
    pub(super) epsilon: Vec<f64>,
    /// Run only these seeds, separated by commas
    #[arg(long, value_delimiter = ',', value_name = "S,...")]
    pub(super) seed: Vec<u64>,
}

#[derive(Args, Debug)]
pub(super) struct PlanArgs {
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(super) schema: PathBuf,
    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    /// Column with the survey weight, as for synth; the schema has its bins
    #[arg(long, value_name = "COLUMN")]
    pub(super) weight: Option<String>,
    /// Privacy budget: epsilon, above 0
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(super) epsilon: f64,
    /// Privacy budget: delta, between 0 and 1
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(super) delta: f64,
    /// Share of the budget that measures the errors of the synthetic table, as for synth; 0 for none
    #[arg(long, value_name = "SHARE", default_value_t = 0.05, allow_negative_numbers = true)]
    pub(super) error_share: f64,
    /// Ledger written by another command; its cost counts against the budget
    #[arg(long, value_name = "FILE")]
    pub(super) ledger_from: Option<PathBuf>,
    /// Number of private records, or an estimate of it
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) records: u64,
    #[command(flatten)]
    pub(super) mechanism: MechanismArgs,
    /// Neighboring relation: which pairs of tables must be indistinguishable
    #[arg(long, value_parser = named::<NeighboringRelation>(NeighboringRelation::NAMES), default_value = "replace-one", value_name = "RELATION")]
    pub(super) neighbors: NeighboringRelation,
    /// Number of public records; shows the worst case of reweighting them, as pmw-pub in its published form does
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub(super) public_records: Option<u64>,
    /// Upper bound on the best mixture error of these records, from 0 to 1 [default: 0]
    #[arg(long, value_name = "F", requires = "public_records", allow_negative_numbers = true)]
    pub(super) mixture_error: Option<f64>,
    /// Number of replicates of the released table, as for synth
    #[arg(long, value_name = "M", value_parser = count, allow_negative_numbers = true)]
    pub(super) tables: Option<u64>,
    /// File of cliques, as for --workload; shows the work and memory of their model [default: drawn at random]
    #[arg(long, value_name = "FILE")]
    pub(super) measured: Option<PathBuf>,
    /// Print JSON instead of text
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
    /// Print JSON instead of text
    #[arg(long)]
    pub(super) json: bool,
}

#[derive(Args, Debug)]
pub(super) struct SampleArgs {
    /// A model saved by synth
    #[arg(long, value_name = "FILE")]
    pub(super) model: PathBuf,
    /// Number of records to draw [default: the number that the model represents]
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    pub(super) rows: Option<u64>,
    /// Output file for the table: CSV, compressed with gzip if the name ends in .gz; with --parts, the folder
    #[arg(long, value_name = "FILE")]
    pub(super) out: PathBuf,
    /// Output file for the units alone, of a model of units: a row for each, with the columns that its rows share; --out then
    /// lacks these
    #[arg(long, value_name = "FILE", conflicts_with_all = ["parts", "complete"])]
    pub(super) units_out: Option<PathBuf>,
    /// Write the table as many files of this form, part-00000 and so on, into the folder --out, in parallel
    #[arg(long, value_parser = named::<PartForm>(PartForm::NAMES), value_name = "FORM", conflicts_with = "complete")]
    pub(super) parts: Option<PartForm>,
    /// Records in each part except the last
    #[arg(long, value_name = "N", value_parser = count, default_value_t = PART_ROWS, allow_negative_numbers = true)]
    pub(super) part_rows: u64,
    /// Draw only records that agree with this: SEX=2, AGEP=30..39, MAR=1|2, PINCP=missing
    #[arg(long, value_name = "EVIDENCE")]
    pub(super) given: Option<String>,
    /// A table with some of the columns: its rows are kept, and get the other columns, drawn given all values of the row
    #[arg(long, value_name = "FILE", conflicts_with_all = ["rows", "given", "draw"])]
    pub(super) complete: Option<PathBuf>,
    /// With --complete, columns to keep that the model does not know, such as identifiers, separated by commas
    #[arg(long, value_name = "NAMES", requires = "complete", value_delimiter = ',')]
    pub(super) keep: Vec<String>,
    /// How to draw records
    #[arg(long, value_parser = named::<Drawing>(Drawing::NAMES), default_value = "refined", value_name = "HOW")]
    pub(super) draw: Drawing,
    /// How to write categorical values
    #[arg(long, value_parser = named::<Labels>(Labels::NAMES), default_value = "codes", value_name = "HOW")]
    pub(super) labels: Labels,
    /// Seed for a reproducible draw; does not affect privacy
    #[arg(long, value_name = "S", allow_negative_numbers = true)]
    pub(super) seed: Option<u64>,
}
