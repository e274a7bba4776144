//! Flags of `jointly thresholds`.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches, ValueEnum};
use jointly::pap::{Cuts, Pap, Query, RangeClass};

use super::SpendArgs;
use crate::cli::failure::{Failure, Outcome};

/// Either the flags of a release, or `ask` or `sizes` with their own.
#[derive(Debug)]
pub(in crate::cli) enum ThresholdsArgs {
    Release(Box<ThresholdsReleaseArgs>),
    Ask(AskArgs),
    Sizes(SizesArgs),
}

// By hand: clap derives no choice between required flags and a subcommand.
impl FromArgMatches for ThresholdsArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        match matches.subcommand() {
            Some(("sizes", sizes)) => SizesArgs::from_arg_matches(sizes).map(Self::Sizes),
            Some((_, ask)) => AskArgs::from_arg_matches(ask).map(Self::Ask),
            None => ThresholdsReleaseArgs::from_arg_matches(matches)
                .map(|release| Self::Release(Box::new(release))),
        }
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for ThresholdsArgs {
    fn augment_args(command: Command) -> Command {
        let ask = AskArgs::augment_args(Command::new("ask"));
        let sizes = SizesArgs::augment_args(Command::new("sizes"));
        ThresholdsReleaseArgs::augment_args(command)
            .subcommand(ask.about("Answer questions from a release; costs no privacy"))
            .subcommand(
                sizes.about("Say how many public and private records suffice; reads no table"),
            )
            .args_conflicts_with_subcommands(true)
            .subcommand_negates_reqs(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ClassName {
    /// x <= t, for every t
    Thresholds,
    /// s < x <= t, for all s and t
    Intervals,
    /// x <= t in any of the columns
    Stumps,
    /// s < x <= t in several columns at once
    Boxes,
    /// Values of several columns at once, of 0 and 1 unless there are cuts
    Conjunctions,
    /// a x + b y <= c in two columns
    HalfPlanes,
    /// The questions of --question alone
    List,
}

impl ClassName {
    fn name(self) -> &'static str {
        match self {
            Self::Thresholds => "thresholds",
            Self::Intervals => "intervals",
            Self::Stumps => "stumps",
            Self::Boxes => "boxes",
            Self::Conjunctions => "conjunctions",
            Self::HalfPlanes => "half-planes",
            Self::List => "list",
        }
    }
}

#[derive(Args, Debug)]
pub(in crate::cli) struct ThresholdsReleaseArgs {
    /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) private: PathBuf,
    /// A public table whose values become cuts, or whose points lie between lines: CSV, plain or gzip; repeatable
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) public: Vec<PathBuf>,
    /// Columns of numbers, separated by commas; a list has those of its questions
    #[arg(
        long,
        value_delimiter = ',',
        required_unless_present = "question",
        value_name = "NAME,..."
    )]
    pub(in crate::cli) columns: Vec<String>,
    /// A question of the class list, such as 'age > 18 & income <= 41250'; repeatable
    #[arg(long, value_name = "QUESTION", conflicts_with_all = ["columns", "public", "grid", "cuts"])]
    pub(in crate::cli) question: Vec<String>,
    /// More cuts at even distances, chosen without looking at private values; for one column, or for all; repeatable
    #[arg(long, value_name = "[NAME=]LOW,HIGH,COUNT", allow_negative_numbers = true)]
    pub(in crate::cli) grid: Vec<String>,
    /// Maximum number of cuts of a column from public values; from more values, uses even quantiles
    #[arg(long, default_value_t = Cuts::MOST, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) cuts: usize,
    /// Class of questions: what pmw chooses from, and for which to say how much may lie between cuts
    #[arg(long, value_enum, default_value = "intervals", value_name = "CLASS")]
    class: ClassName,
    /// How to count: trees of sums, or rounds that measure the worst question [default: tree for thresholds, intervals and
    /// stumps, otherwise pmw]
    #[arg(long, value_parser = ["tree", "pmw"], value_name = "HOW")]
    release: Option<String>,
    /// Rounds of pmw [default: 4 + log2 of the records times the cuts]
    #[arg(long, value_name = "T")]
    pub(in crate::cli) rounds: Option<u32>,
    #[command(flatten)]
    pub(in crate::cli) spend: SpendArgs,
    /// Probability that all brackets hold simultaneously
    #[arg(long, default_value_t = 0.95, value_name = "P", allow_negative_numbers = true)]
    pub(in crate::cli) confidence: f64,
    /// Output file for the release: JSON, with the ledger
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: PathBuf,
}

impl ThresholdsReleaseArgs {
    /// Whether it is of half-planes, which have lines and no cuts.
    pub(in crate::cli) fn is_of_half_planes(&self) -> bool {
        self.class == ClassName::HalfPlanes
    }

    /// The release to make: of a list with its cuts and all, otherwise about all columns without cuts. Refuses flags of other
    /// classes.
    pub(in crate::cli) fn pap(&self) -> Outcome<Pap> {
        let (class, release) = (self.class.name(), self.release.as_deref());
        let is_list = self.class == ClassName::List;
        if is_list == self.question.is_empty() {
            return Err(Failure::usage("--question and --class list need one another"));
        }
        let pap = Pap::of_names(class, self.columns.len(), release, self.rounds, self.confidence)?;
        if is_list {
            let queries = self.question.iter().map(|text| text.parse::<Query>());
            let queries = queries.collect::<jointly::Result<Vec<Query>>>();
            let queries = queries.map_err(|error| Failure::usage(error.to_string()))?;
            let (release, confidence) = (pap.release, pap.confidence);
            return Ok(Pap { release, confidence, ..Pap::list(queries)? });
        }
        let needs_none = self.class == ClassName::Conjunctions;
        if self.public.is_empty() && self.grid.is_empty() && !needs_none {
            return Err(Failure::usage(
                "--public or --grid is required: no private value may be a cut",
            ));
        }
        Ok(pap)
    }

    /// The half-planes to release, without their public points: rounds and confidence. Refuses flags of other classes.
    pub(in crate::cli) fn check_half_planes(&self) -> Outcome<[String; 2]> {
        let refused = |fault: &str| Err(Failure::usage(format!("--class half-planes: {fault}")));
        let Ok(columns) = <[String; 2]>::try_from(self.columns.clone()) else {
            return refused("--columns has to name two columns, those of x and of y");
        };
        if !self.grid.is_empty() || !self.question.is_empty() || self.public.is_empty() {
            return refused("lines divide the points of --public, without --grid and --question");
        }
        if self.release.as_deref() == Some("tree") {
            return refused("a tree is of one column");
        }
        Ok(columns)
    }
}

#[derive(Args, Debug)]
pub(in crate::cli) struct SizesArgs {
    /// Class of questions
    #[arg(long, value_enum, default_value = "intervals", value_name = "CLASS")]
    class: ClassName,
    /// Number of columns, of stumps, boxes and conjunctions; of a list, its number of questions
    #[arg(long, default_value_t = 1, value_name = "R", allow_negative_numbers = true)]
    columns: usize,
    /// Largest error of a share
    #[arg(long, default_value_t = 0.05, value_name = "A", allow_negative_numbers = true)]
    pub(in crate::cli) alpha: f64,
    /// Probability that some error is larger
    #[arg(long, default_value_t = 0.05, value_name = "B", allow_negative_numbers = true)]
    pub(in crate::cli) beta: f64,
    /// Number of public records [default: as many as suffice]
    #[arg(long, value_name = "M")]
    pub(in crate::cli) public_records: Option<u64>,
    /// Privacy budget: epsilon
    #[arg(long, value_name = "E", allow_negative_numbers = true)]
    pub(in crate::cli) epsilon: f64,
    /// Privacy budget: delta
    #[arg(long, value_name = "D", allow_negative_numbers = true)]
    pub(in crate::cli) delta: f64,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

impl SizesArgs {
    /// The class of questions.
    pub(in crate::cli) fn class(&self) -> Outcome<RangeClass> {
        Ok(RangeClass::of_name(self.class.name(), self.columns)?)
    }
}

#[derive(Args, Debug)]
pub(in crate::cli) struct AskArgs {
    /// A release written by thresholds
    #[arg(long = "in", value_name = "FILE")]
    pub(in crate::cli) release: PathBuf,
    /// Questions, such as 'income <= 41250' or 'age > 18 & income <= 41250'; of half-planes 'age + 2 * income <= 9000'
    #[arg(value_name = "QUESTION", required_unless_present = "quantile")]
    pub(in crate::cli) questions: Vec<String>,
    /// A quantile of a column's values, such as income=0.5; repeatable
    #[arg(long, value_name = "NAME=P")]
    pub(in crate::cli) quantile: Vec<String>,
    /// Answer as the question about cuts that holds for the same cuts, as the paper does, instead of by lines
    /// between cuts; half-planes are always answered so
    #[arg(long)]
    pub(in crate::cli) nearest: bool,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
}
