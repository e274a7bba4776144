//! Settings: what the command line, files of flags, other languages, reports and the reference know of each. Those of a job
//! and those of an evaluation are declared by one macro, once.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};
use crate::query::WorkloadSource;

/// The form of the values of a setting, or of a mechanism's parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A whole number of at least 0.
    Count,
    /// A number.
    Number,
    /// One of several names, each with its meaning.
    Choice(Choices),
    /// Some of several names, separated by commas.
    Choices(Choices),
    /// Names separated by commas.
    Names,
    /// Whole numbers separated by commas.
    Counts,
    /// Text.
    Text,
    /// Texts, each given by itself.
    Texts,
    /// A query in SQL, or the place of a table.
    Query,
    /// A program with its arguments, on which what is made does not depend.
    Program,
    /// A whole number of at least 0, of up to 64 bits.
    Whole,
    /// A file or a folder.
    File,
    /// A file, or the name of something built in.
    FileOrName,
    /// Files, each with an optional name before it: `NAME=FILE`.
    NamedFiles,
    /// The name of a mechanism.
    Mechanism,
    /// On or off.
    Switch,
}

/// Names to choose from, each with its meaning.
pub type Choices = &'static [(&'static str, &'static str)];

impl Form {
    /// What its values are, for errors.
    fn expected(self) -> String {
        let named = |names: Choices| names.iter().map(|(name, _)| *name).collect::<Vec<_>>();
        let fixed = match self {
            Self::Count => "a whole number from 0 to 4294967295",
            Self::Number => "a number",
            Self::Choice(names) => return named(names).join(" or "),
            Self::Choices(names) => return format!("a list of {}", named(names).join(", ")),
            Self::Names => "a list of names",
            Self::Counts => "a list of whole numbers",
            Self::Text | Self::Query | Self::Program => "a text",
            Self::Texts => "a list of texts",
            Self::Whole => "a whole number of at least 0",
            Self::File => "a path",
            Self::FileOrName => "a name or a path",
            Self::NamedFiles => "a list of paths, each as it is or as NAME=PATH",
            Self::Mechanism => "the name of a mechanism",
            Self::Switch => "true or false",
        };
        fixed.to_owned()
    }

    /// Whether a value is none of the names to choose from.
    fn has_no(self, value: &Value) -> bool {
        let unknown = |names: Choices, value: &Value| names.iter().all(|(name, _)| value != name);
        match (self, value) {
            (Self::Choice(names), value) => unknown(names, value),
            (Self::Choices(names), Value::Array(values)) => {
                values.iter().any(|value| unknown(names, value))
            }
            _ => false,
        }
    }

    /// The error for a value that is not of this form.
    pub(crate) fn refused(self, name: &str, value: &Value) -> Error {
        Error::wrong_form(name, value, self.expected())
    }
}

/// A setting, and how people give it. [`Job::SETTINGS`](crate::Job::SETTINGS) lists those of a job.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// The field, such as `error_share`.
    pub field: &'static str,
    /// The lines of the field's documentation.
    pub doc: &'static [&'static str],
    /// Placeholder for the value in a usage line.
    pub value_name: &'static str,
    /// The form of its values.
    pub form: Form,
    /// What it is about.
    pub group: Group,
    /// The field without which it says nothing.
    pub needs: Option<&'static str>,
}

/// What a setting is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// The tables, and what is wanted of them.
    Tables,
    /// What may be spent, and on what.
    Privacy,
    /// What is drawn and written.
    Output,
    /// What is measured in an evaluation.
    Measures,
    /// What is measured unit by unit.
    Units,
}

impl Group {
    /// Its heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Tables => "Tables",
            Self::Privacy => "Privacy",
            Self::Output => "Output",
            Self::Measures => "Measures",
            Self::Units => "Units of several records",
        }
    }
}

impl Setting {
    /// The name on the command line, without leading dashes, and in files: `error-share`.
    pub fn name(&self) -> String {
        self.field.replace('_', "-")
    }

    /// The first paragraph of the documentation, without its full stop.
    pub fn help(&self) -> String {
        let lines = self.doc.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
        let text = lines.collect::<Vec<_>>().join(" ");
        text.strip_suffix('.').map(str::to_owned).unwrap_or(text)
    }

    /// All of the documentation, in one line of Markdown.
    pub fn reference(&self) -> String {
        let paragraphs = self.doc.split(|line| line.trim().is_empty());
        let joined = paragraphs
            .map(|lines| lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
        joined.collect::<Vec<_>>().join(" ")
    }

    /// The words of a command line that give a value of this setting, with the names of files and without their folders.
    pub(crate) fn words(&self, value: &Value) -> Vec<String> {
        let name = self.name();
        let flag = |value: &str| vec![format!("--{name}"), quoted(value)];
        match (self.form, value) {
            (_, Value::Null | Value::Bool(false)) | (Form::Program, _) => Vec::new(),
            (Form::Query, Value::String(text)) => flag(&without_folders(text)),
            (_, Value::Bool(true)) => vec![format!("--{name}")],
            (Form::File, Value::String(path)) => flag(file_name(path)),
            (Form::FileOrName, Value::String(name)) => {
                let source = WorkloadSource { name: name.clone(), max_cells: None };
                flag(source.file().map_or(name, |_| file_name(name)))
            }
            (Form::NamedFiles, Value::Array(files)) => files
                .iter()
                .filter_map(Value::as_str)
                .flat_map(|file| match file.split_once('=') {
                    Some((name, path)) => flag(&format!("{name}={}", file_name(path))),
                    None => flag(file_name(file)),
                })
                .collect(),
            (Form::Texts, Value::Array(texts)) => {
                texts.iter().filter_map(Value::as_str).flat_map(flag).collect()
            }
            (_, value) => match text_of(value) {
                Some(text) => flag(&text),
                None => Vec::new(),
            },
        }
    }
}

/// A query with the names of its tables' files, and without their folders.
fn without_folders(query: &str) -> String {
    if !query.contains(char::is_whitespace) {
        return file_name(query.trim_end_matches('/')).to_owned();
    }
    let is_place = |text: &str| {
        let begins = ["/", "./", "../", "~/"].iter().any(|start| text.starts_with(start));
        let ends = [".csv", ".csv.gz", ".parquet", "/"].iter().any(|end| text.ends_with(end));
        begins || ends || text.contains("://")
    };
    // Every second piece is in quotes.
    let pieces = query.split_inclusive(['\'', '"']).enumerate().map(|(number, piece)| {
        let (text, quote) = piece.split_at(piece.len() - usize::from(piece.ends_with(['\'', '"'])));
        let is_quoted = number % 2 == 1 && is_place(text);
        let text = if is_quoted { file_name(text.trim_end_matches('/')) } else { text };
        format!("{text}{quote}")
    });
    pieces.collect()
}

/// The words of a command line that give a parameter of a mechanism.
pub(crate) fn parameter_words(name: &str, value: &Value) -> Vec<String> {
    match text_of(value) {
        Some(text) => vec![format!("--{name}"), quoted(&text)],
        None => Vec::new(),
    }
}

/// A value as it is typed; `None` for one that is not there.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(members) if members.is_empty() => None,
        Value::Array(members) => {
            let members: Option<Vec<String>> = members.iter().map(text_of).collect();
            members.map(|members| members.join(","))
        }
        Value::Number(number) => Some(number.as_f64().map_or_else(
            || number.to_string(),
            |wide| match () {
                () if number.is_u64() || number.is_i64() => number.to_string(),
                () if wide != 0.0 && wide.abs() < 1e-4 => format!("{wide:e}"),
                () => wide.to_string(),
            },
        )),
        other => Some(other.to_string()),
    }
}

/// A path's last part.
pub(crate) fn file_name(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap_or(path)
}

/// Text as one word of a shell.
fn quoted(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "._-/=:@,+%".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// The members of a job's JSON that are settings, and those that are parameters of its mechanism.
pub(crate) fn split(
    all: &Map<String, Value>,
    settings: &[Setting],
) -> (Map<String, Value>, Map<String, Value>) {
    let is_setting = |name: &str| settings.iter().any(|setting| setting.name() == name);
    all.clone().into_iter().partition(|(name, _)| is_setting(name))
}

/// Settings from their JSON, where members that are missing have their defaults. `what` they are stands in errors.
pub(crate) fn read<T: DeserializeOwned>(
    settings: Value,
    known: &'static [Setting],
    what: &'static str,
) -> Result<T> {
    let of = serde_json::from_value::<T>;
    let refused = |(setting, value): &(&Setting, &Value)| {
        setting.form.has_no(value) || of(json!({ setting.name(): value })).is_err()
    };
    let given = |setting: &'static Setting| Some((setting, settings.get(setting.name())?));
    match known.iter().filter_map(given).find(refused) {
        Some((setting, value)) => Err(setting.form.refused(&setting.name(), value)),
        None => of(settings).map_err(|error| {
            Error::wrong_json(what, &error, false, &format!("the settings of a {what}"))
        }),
    }
}

/// Declares a type of settings: one entry for each, from which its field, its default and its [`Setting`] are made. Fields
/// after `and` are no settings.
macro_rules! settings {
    (
        $(#[$about:meta])*
        pub struct $type:ident {
            $(
                $(#[doc = $doc:literal])+
                $(#[serde($($serde:tt)*)])?
                $field:ident: $value:ty = $default:expr,
                    $group:ident, $form:expr, $value_name:literal $(, needs $needs:literal)?;
            )*
        }
        $(and {
            $(
                $(#[doc = $other_doc:literal])+
                #[serde($($other_serde:tt)*)]
                $other:ident: $other_value:ty;
            )*
        })?
    ) => {
        $(#[$about])*
        pub struct $type {
            $(
                $(#[doc = $doc])+
                $(#[serde($($serde)*)])?
                pub $field: $value,
            )*
            $($(
                $(#[doc = $other_doc])+
                #[serde($($other_serde)*)]
                pub $other: $other_value,
            )*)?
        }

        impl Default for $type {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    $($($other: Default::default(),)*)?
                }
            }
        }

        impl $type {
            /// All settings, in the order in which the command line lists them.
            pub const SETTINGS: &[$crate::settings::Setting] = &[
                $($crate::settings::Setting {
                    field: stringify!($field),
                    doc: &[$($doc),+],
                    value_name: $value_name,
                    form: $form,
                    group: $crate::settings::Group::$group,
                    needs: [$(Some($needs),)? None][0],
                },)*
            ];
        }
    };
}

pub(crate) use settings;

#[cfg(test)]
mod tests;
