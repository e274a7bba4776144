//! The flags of `evaluate`: its files, and the settings of an evaluation.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use jointly::evaluation::EvaluationSettings;
use serde_json::Value;

use super::settings;

#[derive(Args, Debug)]
pub(in crate::cli) struct EvaluateArgs {
    /// The private table: CSV, plain or gzip, or a folder of such files; - is standard input
    #[arg(long, value_name = "FILE", alias = "real")]
    pub(in crate::cli) private: PathBuf,
    /// The synthetic table: CSV, plain or gzip, or a folder of such files
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) synthetic: PathBuf,
    /// The schema: schema.json or domain.json
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) schema: PathBuf,
    /// Output file for an HTML page with both tables side by side; it is PRIVATE, not for release
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) report: Option<PathBuf>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(in crate::cli) json: bool,
    #[command(flatten)]
    pub(in crate::cli) evaluation: EvaluationArgs,
}

/// What to measure, as typed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct EvaluationArgs(pub(in crate::cli) EvaluationSettings);

impl Args for EvaluationArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(EvaluationSettings::default()).unwrap_or_default();
        let command = settings::augment(command, EvaluationSettings::SETTINGS, &defaults, &[]);
        command.next_help_heading(None::<&'static str>)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for EvaluationArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = settings::typed(matches, EvaluationSettings::SETTINGS);
        let evaluation = EvaluationSettings::from_settings(Value::Object(typed));
        evaluation.map(Self).map_err(|error| settings::refused(&error))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
