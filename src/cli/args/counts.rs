//! The flags of `count`, generated from its settings, and those of `merge`.

use std::path::PathBuf;

use clap::{ArgMatches, Args, Command, FromArgMatches};
use jointly::synthesis::CountJob;
use serde_json::Value;

use super::mechanism::MechanismArgs;
use super::settings;

/// What to count, as typed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct CountArgs(pub(in crate::cli) CountJob);

#[derive(Args, Debug)]
pub(in crate::cli) struct MergeArgs {
    /// Counts of a part of the private table, as count writes them; several
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub(in crate::cli) counts: Vec<PathBuf>,
    /// Output file for the sum: exact and private, for synth alone
    #[arg(long, value_name = "FILE")]
    pub(in crate::cli) out: PathBuf,
}

impl Args for CountArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(CountJob::default()).unwrap_or_default();
        let required = ["schema", "out"];
        let command = settings::augment(command, CountJob::SETTINGS, &defaults, &required);
        MechanismArgs::augment_parameters(settings::or_elsewhere(command, "part"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for CountArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let MechanismArgs { mechanism, parameters } = MechanismArgs::from_arg_matches(matches)?;
        let mut typed = settings::typed(matches, CountJob::SETTINGS);
        typed.insert("mechanism".to_owned(), mechanism.into());
        typed.extend(parameters);
        let job = CountJob::from_settings(Value::Object(typed));
        job.map(Self).map_err(|error| settings::refused(&error))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
