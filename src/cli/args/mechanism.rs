//! Flags for mechanisms and their parameters, generated from the catalogue.

use std::str::FromStr;

use clap::builder::{NonEmptyStringValueParser, PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueHint};
use jointly::mechanism::{self, CATALOGUE, Entry, Parameter};
use jointly::settings::Form;
use jointly::synthesis::{DEFAULT_MECHANISM, PublicFile};
use serde_json::{Map, Value};

use super::count::count;
use super::possible;

/// A mechanism and the parameters given on the command line.
pub(in crate::cli) type MechanismArgs = ChosenMechanism<false>;

/// As [`MechanismArgs`], but only mechanisms that answer a workload without a model, and no parameters of fits.
pub(in crate::cli) type AnswererArgs = ChosenMechanism<true>;

#[derive(Clone, Debug)]
pub(in crate::cli) struct ChosenMechanism<const ANSWERERS: bool> {
    pub(in crate::cli) mechanism: String,
    pub(in crate::cli) parameters: Map<String, Value>,
}

impl<const ANSWERERS: bool> ChosenMechanism<ANSWERERS> {
    /// The mechanisms to choose from.
    fn entries() -> impl Iterator<Item = &'static Entry> {
        CATALOGUE.iter().filter(|entry| !ANSWERERS || entry.answers())
    }

    /// The parameters of these mechanisms.
    fn parameters() -> impl Iterator<Item = &'static Parameter> {
        mechanism::all_parameters().filter(|parameter| {
            let own =
                |entry: &Entry| entry.own_parameters().iter().any(|p| p.name == parameter.name);
            !ANSWERERS || Self::entries().any(own)
        })
    }
}

impl<const ANSWERERS: bool> ChosenMechanism<ANSWERERS> {
    /// Adds the flag for the mechanism's name.
    pub(super) fn augment_name(command: Command) -> Command {
        let value = |entry: &'static Entry| PossibleValue::new(entry.name).help(entry.summary);
        let default = if ANSWERERS { Self::entries().next() } else { None };
        let name = Arg::new("mechanism")
            .long("mechanism")
            .value_name("NAME")
            .default_value(default.map_or(DEFAULT_MECHANISM, |entry| entry.name))
            .value_parser(PossibleValuesParser::new(Self::entries().map(value)))
            .help("The mechanism");
        command.arg(name)
    }

    /// Adds the flags of the mechanisms' parameters.
    pub(super) fn augment_parameters(command: Command) -> Command {
        let command = command.next_help_heading("Parameters of mechanisms");
        let command =
            Self::parameters().fold(command, |command, parameter| command.arg(flag(parameter)));
        command.next_help_heading(None::<&'static str>)
    }
}

impl<const ANSWERERS: bool> Args for ChosenMechanism<ANSWERERS> {
    fn augment_args(command: Command) -> Command {
        Self::augment_parameters(Self::augment_name(command))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const ANSWERERS: bool> FromArgMatches for ChosenMechanism<ANSWERERS> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mechanism: &String = matches.get_one("mechanism").ok_or_else(missing)?;
        let mut parameters = Map::new();
        for parameter in Self::parameters() {
            if let Some(value) = given(matches, parameter.name, parameter.form) {
                parameters.insert(parameter.name.to_owned(), value);
            }
        }
        Ok(Self { mechanism: mechanism.clone(), parameters })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn missing() -> clap::Error {
    clap::Error::new(clap::error::ErrorKind::MissingRequiredArgument)
}

/// A number that JSON can hold.
fn finite(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a finite number".to_owned())
}

/// The flag for a parameter. Its help ends with the mechanisms that accept it and their defaults.
fn flag(parameter: &'static Parameter) -> Arg {
    let arg = Arg::new(parameter.name).long(parameter.name).value_name(parameter.value_name);
    of_form(arg, parameter.form).help(format!("{} {}", parameter.help, owners(parameter)))
}

/// The flag for values of a form.
pub(super) fn of_form(arg: Arg, form: Form) -> Arg {
    let arg = arg.allow_hyphen_values(matches!(
        form,
        Form::Text | Form::Query | Form::Number | Form::Count | Form::Whole
    ));
    match form {
        Form::Count => arg.value_parser(counted),
        Form::Whole => arg.value_parser(count),
        Form::Number => arg.value_parser(finite),
        Form::Choice(choices) => arg.value_parser(PossibleValuesParser::new(possible(choices))),
        Form::Choices(choices) => {
            arg.value_delimiter(',').value_parser(PossibleValuesParser::new(possible(choices)))
        }
        Form::Names => arg.value_delimiter(',').action(ArgAction::Append),
        Form::Texts => arg.action(ArgAction::Append),
        Form::Counts => arg.value_delimiter(',').value_parser(counted),
        Form::File | Form::FileOrName => {
            arg.value_hint(ValueHint::AnyPath).value_parser(NonEmptyStringValueParser::new())
        }
        Form::NamedFiles => {
            arg.value_hint(ValueHint::FilePath).action(ArgAction::Append).value_parser(named_file)
        }
        Form::Switch => arg.action(ArgAction::SetTrue),
        Form::Text | Form::Query | Form::Program | Form::Mechanism => arg,
    }
}

/// A file, with or without a name.
fn named_file(text: &str) -> Result<String, jointly::Error> {
    text.parse::<PublicFile>().map(|_| text.to_owned())
}

/// A whole number that 32 bits hold.
fn counted(text: &str) -> Result<u64, String> {
    let expected = || "expected a whole number from 0 to 4294967295".to_owned();
    count(text).ok().filter(|number| u32::try_from(*number).is_ok()).ok_or_else(expected)
}

/// `[aim, ide: 0.9; jam-pgm: 0.8]`: the mechanisms that accept a parameter, grouped by default.
fn owners(parameter: &Parameter) -> String {
    let mut by_default: Vec<(String, Vec<&str>)> = Vec::new();
    for entry in CATALOGUE {
        let defaults = entry.defaults().unwrap_or_default();
        let Some(default) = defaults.get(parameter.name) else { continue };
        let text = match default {
            Value::Null => parameter.unset.to_owned(),
            Value::String(text) => text.clone(),
            Value::Array(values) if values.is_empty() => "none".to_owned(),
            Value::Array(values) => {
                values.iter().map(Value::to_string).collect::<Vec<_>>().join(",")
            }
            Value::Number(number) => number.as_f64().unwrap_or_default().to_string(),
            other => other.to_string(),
        };
        match by_default.iter_mut().find(|(known, _)| *known == text) {
            Some((_, names)) => names.push(entry.name),
            None => by_default.push((text, vec![entry.name])),
        }
    }
    let parts = by_default.iter().map(|(text, names)| match names.len() {
        n if n > 5 => format!("most mechanisms: {text}"),
        _ => format!("{}: {text}", names.join(", ")),
    });
    format!("[{}]", parts.collect::<Vec<_>>().join("; "))
}

/// The value of a flag of a form, if given.
pub(super) fn given(matches: &ArgMatches, name: &str, form: Form) -> Option<Value> {
    match form {
        Form::Count | Form::Whole => matches.get_one::<u64>(name).map(|value| Value::from(*value)),
        // JSON has no number that is not finite.
        Form::Number => matches.get_one::<f64>(name).map(|value| {
            if value.is_finite() { Value::from(*value) } else { Value::from(value.to_string()) }
        }),
        Form::Switch => Some(Value::from(matches.get_flag(name))),
        Form::Choice(_)
        | Form::Text
        | Form::Query
        | Form::Program
        | Form::File
        | Form::FileOrName
        | Form::Mechanism => {
            matches.get_one::<String>(name).map(|value| Value::from(value.as_str()))
        }
        Form::Choices(_) | Form::Names | Form::Texts | Form::NamedFiles => {
            let values = matches.get_many::<String>(name)?;
            Some(values.map(|value| Value::from(value.as_str())).collect())
        }
        Form::Counts => {
            Some(matches.get_many::<u64>(name)?.map(|value| Value::from(*value)).collect())
        }
    }
}

/// The name of a mechanism to compare.
#[derive(Clone, Debug)]
pub(in crate::cli) struct MechanismName(pub(in crate::cli) String);

impl FromStr for MechanismName {
    type Err = jointly::Error;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        mechanism::find(name).map(|entry| Self(entry.name.to_owned()))
    }
}
