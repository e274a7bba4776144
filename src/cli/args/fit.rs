//! The flags of `fit`, generated from its settings.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use jointly::fit::FitJob;
use serde_json::Value;

use super::settings;

/// A fit, as typed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct FitSettings(pub(in crate::cli) FitJob);

#[derive(Args, Debug)]
pub(in crate::cli) struct FitArgs {
    #[command(flatten)]
    pub(in crate::cli) settings: FitSettings,
    /// Print JSON instead of text
    #[arg(long, help_heading = "Output")]
    pub(in crate::cli) json: bool,
}

impl Args for FitSettings {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(FitJob::default()).unwrap_or_default();
        settings::augment(command, FitJob::SETTINGS, &defaults, &["schema"])
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for FitSettings {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let typed = settings::typed(matches, FitJob::SETTINGS);
        let job = FitJob::from_settings(Value::Object(typed));
        job.map(Self).map_err(|error| settings::refused(&error))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
