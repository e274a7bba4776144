//! The settings of a job: what the command line, files of flags, other languages, reports and the reference know of each.

use std::path::Path;

use serde_json::{Map, Value};

use crate::mechanism::Form;
use crate::query::WorkloadSource;

/// A setting of a job, and how people give it. [`Job::SETTINGS`](super::Job::SETTINGS) lists all of them.
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
}

impl Group {
    /// Its heading.
    pub const fn heading(self) -> &'static str {
        match self {
            Self::Tables => "Tables",
            Self::Privacy => "Privacy",
            Self::Output => "Output",
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
    pub(super) fn words(&self, value: &Value) -> Vec<String> {
        let name = self.name();
        let flag = |value: &str| vec![format!("--{name}"), quoted(value)];
        match (self.form, value) {
            (_, Value::Null | Value::Bool(false)) => Vec::new(),
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
            (_, value) => match text_of(value) {
                Some(text) => flag(&text),
                None => Vec::new(),
            },
        }
    }
}

/// The words of a command line that give a parameter of a mechanism.
pub(super) fn parameter_words(name: &str, value: &Value) -> Vec<String> {
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
fn file_name(path: &str) -> &str {
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
pub(super) fn split(
    all: &Map<String, Value>,
    settings: &[Setting],
) -> (Map<String, Value>, Map<String, Value>) {
    let is_setting = |name: &str| settings.iter().any(|setting| setting.name() == name);
    all.clone().into_iter().partition(|(name, _)| is_setting(name))
}

/// Declares the type of a job: one entry for each setting, from which its field, its default and its [`Setting`] are made.
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
    ) => {
        $(#[$about])*
        pub struct $type {
            $(
                $(#[doc = $doc])+
                $(#[serde($($serde)*)])?
                pub $field: $value,
            )*
            /// The mechanism's parameters by name. Parameters not listed have their defaults.
            #[serde(flatten)]
            pub parameters: Map<String, Value>,
            /// What happens to output files that exist already. A run that resumes from its checkpoint replaces its own in
            /// any case. It is not part of what a file says of the job.
            #[serde(skip)]
            pub existing: Existing,
        }

        impl Default for $type {
            fn default() -> Self {
                Self {
                    $($field: $default,)*
                    parameters: Map::new(),
                    existing: Existing::default(),
                }
            }
        }

        impl $type {
            /// All settings, in the order in which the command line lists them.
            pub const SETTINGS: &[Setting] = &[
                $(Setting {
                    field: stringify!($field),
                    doc: &[$($doc),+],
                    value_name: $value_name,
                    form: $form,
                    group: Group::$group,
                    needs: [$(Some($needs),)? None][0],
                },)*
            ];
        }
    };
}

pub(super) use settings;
