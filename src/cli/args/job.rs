//! The flags of a job, generated from its settings.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use jointly::Job;
use jointly::mechanism::Form;
use jointly::synthesis::{Group, Setting};
use serde_json::{Map, Value};

use super::mechanism::{MechanismArgs, given, of_form};

/// What a command line must give: files from which and into which it runs.
const REQUIRED: [&str; 3] = ["private", "schema", "out"];

/// A job, as typed.
#[derive(Clone, Debug)]
pub(in crate::cli) struct JobArgs(pub(in crate::cli) Job);

impl Args for JobArgs {
    fn augment_args(command: Command) -> Command {
        let defaults = serde_json::to_value(Job::default()).unwrap_or_default();
        let flags = |group, command: Command| {
            let settings = Job::SETTINGS.iter().filter(|setting| setting.group == group);
            settings.fold(command.next_help_heading(group.heading()), |command, setting| {
                match setting.form {
                    Form::Mechanism => MechanismArgs::augment_name(command),
                    _ => command.arg(flag(setting, &defaults)),
                }
            })
        };
        let groups = [Group::Tables, Group::Privacy, Group::Output];
        let command = groups.into_iter().fold(command, |command, group| flags(group, command));
        MechanismArgs::augment_parameters(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for JobArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let MechanismArgs { mechanism, parameters } = MechanismArgs::from_arg_matches(matches)?;
        let mut settings = Map::new();
        for setting in Job::SETTINGS.iter().filter(|setting| setting.form != Form::Mechanism) {
            let name = setting.name();
            if let Some(value) = given(matches, &name, setting.form) {
                settings.insert(name, value);
            }
        }
        settings.insert("mechanism".to_owned(), mechanism.into());
        settings.extend(parameters);
        let wrong = |error: jointly::Error| {
            clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
        };
        Job::from_settings(Value::Object(settings)).map(Self).map_err(wrong)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The flag of a setting.
fn flag(setting: &Setting, defaults: &Value) -> Arg {
    let name = setting.name();
    let arg = Arg::new(name.clone()).long(name.clone()).help(setting.help());
    let arg = match setting.form {
        Form::Switch => arg,
        _ => arg.value_name(setting.value_name),
    };
    let arg = of_form(arg, setting.form).required(REQUIRED.contains(&setting.field));
    // A budget that is not finite is one that is out of range.
    let arg = match setting.form {
        Form::Number => arg.value_parser(clap::value_parser!(f64)),
        _ => arg,
    };
    let arg = match setting.needs {
        Some(field) => arg.requires(field.replace('_', "-")),
        None => arg,
    };
    match defaults.get(&name).and_then(Value::as_str).filter(|default| !default.is_empty()) {
        Some(default) => arg.default_value(default.to_owned()),
        None => arg,
    }
}

#[cfg(test)]
mod tests;
