//! Flags that are generated from settings.

use clap::{Arg, ArgMatches, Command};
use jointly::settings::{Form, Group, Setting};
use serde_json::{Map, Value};

use super::mechanism::{MechanismArgs, given, of_form};

/// Adds the flags of settings, each group under its heading. `defaults`: the JSON of the settings' type.
pub(super) fn augment(
    command: Command,
    settings: &'static [Setting],
    defaults: &Value,
    required: &[&str],
) -> Command {
    let mut groups: Vec<Group> = Vec::new();
    for setting in settings {
        if !groups.contains(&setting.group) {
            groups.push(setting.group);
        }
    }
    groups.into_iter().fold(command, |command, group| {
        let own = settings.iter().filter(|setting| setting.group == group);
        own.fold(command.next_help_heading(group.heading()), |command, setting| {
            match setting.form {
                Form::Mechanism => MechanismArgs::augment_name(command),
                _ => {
                    command.arg(flag(setting, defaults).required(required.contains(&setting.field)))
                }
            }
        })
    })
}

/// The private table is a file or, instead, where another program reads it. `file`: the flag of files. Both are refused where the
/// settings are checked.
pub(super) fn or_elsewhere(command: Command, file: &'static str) -> Command {
    let command = command.mut_arg(file, |arg| arg.required_unless_present("private-table"));
    command.mut_arg("engine", |arg| arg.requires("private-table"))
}

/// The settings that were typed, as JSON, except a mechanism's name.
pub(super) fn typed(matches: &ArgMatches, settings: &'static [Setting]) -> Map<String, Value> {
    let own = settings.iter().filter(|setting| setting.form != Form::Mechanism);
    own.filter_map(|setting| Some((setting.name(), given(matches, &setting.name(), setting.form)?)))
        .collect()
}

/// The error of settings that say nothing together.
pub(super) fn refused(error: &jointly::Error) -> clap::Error {
    clap::Error::raw(clap::error::ErrorKind::ValueValidation, format!("{error}\n"))
}

/// The flag of a setting.
fn flag(setting: &Setting, defaults: &Value) -> Arg {
    let name = setting.name();
    let arg = Arg::new(name.clone()).long(name.clone()).help(setting.help());
    let arg = match setting.form {
        Form::Switch => arg,
        _ => arg.value_name(setting.value_name),
    };
    let arg = of_form(arg, setting.form);
    // A budget that is not finite is one that is out of range.
    let arg = match setting.form {
        Form::Number => arg.value_parser(clap::value_parser!(f64)),
        _ => arg,
    };
    let arg = match setting.needs {
        Some(field) => arg.requires(field.replace('_', "-")),
        None => arg,
    };
    match defaults.get(&name) {
        Some(Value::String(default)) if !default.is_empty() => arg.default_value(default.clone()),
        Some(Value::Number(default)) => arg.default_value(default.to_string()),
        _ => arg,
    }
}

#[cfg(test)]
mod tests;
