//! The flags of a job, generated from its settings.

use clap::{ArgMatches, Args, Command, FromArgMatches};
use jointly::Job;
use serde_json::Value;

use super::mechanism::MechanismArgs;
use super::settings;

/// What a command line must give: files from which and into which it runs.
const REQUIRED: [&str; 2] = ["schema", "out"];

/// A job, as typed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct JobArgs(pub(in crate::cli) Job);

impl Args for JobArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(Job::default()).unwrap_or_default();
        let command = settings::augment(command, Job::SETTINGS, &defaults, &REQUIRED);
        MechanismArgs::augment_parameters(settings::or_elsewhere(command, "private"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for JobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let MechanismArgs { mechanism, parameters } = MechanismArgs::from_arg_matches(matches)?;
        let mut typed = settings::typed(matches, Job::SETTINGS);
        typed.insert("mechanism".to_owned(), mechanism.into());
        typed.extend(parameters);
        let job = Job::from_settings(Value::Object(typed));
        job.map(Self).map_err(|error| settings::refused(&error))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
