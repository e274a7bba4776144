//! `--config FILE`: flags from a TOML file, turned into words of the command line before it is parsed, so that every
//! check of a flag is the same. `--save-config FILE`: the flags of a run as such a file.

use std::ffi::OsString;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::{Path, PathBuf, absolute};

use clap::error::{ContextKind, ContextValue};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, CommandFactory};
use jointly::Error;
use jointly::data::{nearest, read_text, write_text};
use jointly::synthesis::{check_files, is_same_file};
use toml::de::{DeTable, DeValue};

use super::args::Arguments;
use super::console::{Console, beside, is_stream};
use super::failure::{Failure, Outcome};

/// Flags that say where flags come from and go to, and the one that replaces files: they are in no file.
const OWN: [&str; 3] = ["config", "save-config", "overwrite"];

/// A command line, and where its words from a file stand.
pub(super) struct CommandLine {
    pub(super) words: Vec<OsString>,
    file: PathBuf,
    flags: Vec<Flag>,
}

/// A flag in a file.
struct Flag {
    name: String,
    /// Counted from 1.
    line: usize,
    words: Vec<OsString>,
}

/// A file of flags.
struct File<'a> {
    path: &'a Path,
    text: &'a str,
}

impl CommandLine {
    /// The words as typed, with those of the file that `--config` names. A flag that was typed is not taken from the
    /// file.
    pub(super) fn complete(typed: Vec<OsString>) -> Outcome<Self> {
        let mut root = Arguments::command();
        root.build();
        let none = |words| Self { words, file: PathBuf::new(), flags: Vec::new() };
        // Faults of the typed words are reported by the parser that follows.
        let lenient = Arguments::command().ignore_errors(true);
        let Ok(matches) = lenient.try_get_matches_from(&typed) else {
            return Ok(none(typed));
        };
        let (names, command, matches) = innermost(&root, &matches);
        let Some(path) = matches.try_get_one::<PathBuf>("config").ok().flatten() else {
            return Ok(none(typed));
        };
        let text = read_text(path)?;
        let mut flags = File { path, text: &text }.flags(&root, &names, command)?;
        let is_typed = |name: &str| {
            let mut arguments = command.get_arguments();
            let id = arguments.find(|arg| arg.get_long() == Some(name)).map(Arg::get_id);
            id.is_some_and(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine))
        };
        flags.retain(|flag| !is_typed(&flag.name));
        let mut words = typed;
        let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
        words.splice(at..at, flags.iter().flat_map(|flag| flag.words.iter().cloned()));
        Ok(Self { words, file: path.clone(), flags })
    }

    /// Where the flag stands that an error is about, if it comes from the file.
    pub(super) fn place_of(&self, error: &clap::Error) -> Option<String> {
        let Some(ContextValue::String(found)) = error.get(ContextKind::InvalidArg) else {
            return None;
        };
        let name = found.strip_prefix("--")?.split([' ', '=']).next()?;
        let flag = self.flags.iter().find(|flag| flag.name == name)?;
        Some(format!("{}, line {}", self.file.display(), flag.line))
    }
}

/// The command that matches are of, with the names that lead to it.
fn innermost<'a>(
    root: &'a Command,
    matches: &'a ArgMatches,
) -> (Vec<&'a str>, &'a Command, &'a ArgMatches) {
    let (mut names, mut command, mut matches) = (Vec::new(), root, matches);
    while let Some((name, inner)) = matches.subcommand() {
        let Some(next) = command.find_subcommand(name) else { break };
        names.push(name);
        (command, matches) = (next, inner);
    }
    (names, command, matches)
}

/// The flags of a command that a file may hold.
fn known(command: &Command) -> impl Iterator<Item = &Arg> {
    command.get_arguments().filter(|arg| {
        let is_own = arg.get_long().is_none_or(|name| OWN.contains(&name));
        let shows = matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        );
        !is_own && !shows
    })
}

/// The flag of a command with a name.
fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    known(command).find(|arg| arg.get_long() == Some(name))
}

/// The commands that a file may have tables for.
fn commands(command: &Command) -> impl Iterator<Item = &Command> {
    command.get_subcommands().filter(|one| !one.is_hide_set() && one.get_name() != "help")
}

impl File<'_> {
    /// The flags for a command: those of its table, then those above all tables that the command has and its table
    /// lacks. The whole file is checked, whatever the command.
    fn flags(&self, root: &Command, names: &[&str], command: &Command) -> Outcome<Vec<Flag>> {
        let table = DeTable::parse(self.text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let message = error.message().replace('\n', ", ");
            match message.split_once(", expected ") {
                Some((found, expected)) => self.wrong(start, found, expected),
                None => self.wrong(start, &message, "TOML, with a table for each command"),
            }
        })?;
        let mut flags = Vec::new();
        self.collect(table.get_ref(), root, &mut Vec::new(), names, &mut flags)?;
        for (key, value) in table.get_ref() {
            let name: &str = key.get_ref();
            let is_taken = flags.iter().any(|flag: &Flag| flag.name == name);
            if let Some(arg) =
                find(command, name).filter(|_| !is_taken && !value.get_ref().is_table())
            {
                flags.push(self.flag(arg, name, key.span().start, value.get_ref())?);
            }
        }
        Ok(flags)
    }

    /// Checks a table and those in it; `flags` gets those of the table that `wanted` names.
    fn collect(
        &self,
        table: &DeTable<'_>,
        command: &Command,
        names: &mut Vec<String>,
        wanted: &[&str],
        flags: &mut Vec<Flag>,
    ) -> Outcome {
        for (key, value) in table {
            let (name, start): (&str, _) = (key.get_ref(), key.span().start);
            if let Some(table) = value.get_ref().as_table() {
                let Some(inner) = commands(command).find(|one| one.get_name() == name) else {
                    let alike = nearest(name, commands(command).map(Command::get_name));
                    let expected = alike.map_or_else(
                        || "the name of a command, such as [synth]".to_owned(),
                        |alike| format!("a command, such as [{}{alike}]", prefix(names)),
                    );
                    let found = format!("the table [{}{name}]", prefix(names));
                    return Err(self.wrong(start, &found, &expected));
                };
                names.push(name.to_owned());
                self.collect(table, inner, names, wanted, flags)?;
                names.pop();
                continue;
            }
            // Above all tables are flags of any command.
            let arg = match names.as_slice() {
                [] => every(command).into_iter().find_map(|command| find(command, name)),
                _ => find(command, name),
            };
            let Some(arg) = arg else { return Err(self.unknown(command, names, name, start)) };
            if names.is_empty() {
                continue;
            }
            let flag = self.flag(arg, name, start, value.get_ref())?;
            if names == wanted {
                flags.push(flag);
            }
        }
        Ok(())
    }

    /// The error of a key that no flag has.
    fn unknown(&self, command: &Command, names: &[String], name: &str, start: usize) -> Failure {
        let of = match names {
            [] => "a flag of a command, without the two dashes".to_owned(),
            names => format!("a flag of {} without the two dashes", names.join(" ")),
        };
        let commands = if names.is_empty() { every(command) } else { vec![command] };
        let flags = commands.into_iter().flat_map(known).filter_map(Arg::get_long);
        let expected = match nearest(name, flags) {
            Some(alike) => format!("{of}, such as '{alike}'"),
            None => of,
        };
        self.wrong(start, &format!("the unknown key '{name}'"), &expected)
    }

    /// The words of a flag.
    fn flag(&self, arg: &Arg, name: &str, start: usize, value: &DeValue<'_>) -> Outcome<Flag> {
        let word = |text: &str| OsString::from(format!("--{name}={text}"));
        let wrong = |found: &str, expected: &str| {
            self.wrong(start, &format!("'{name}' as {found}"), expected)
        };
        let takes_value = arg.get_action().takes_values();
        let words = match value {
            DeValue::Boolean(on) if !takes_value => {
                on.then(|| format!("--{name}").into()).into_iter().collect()
            }
            _ if !takes_value => return Err(wrong(value.type_str(), "true or false")),
            DeValue::Array(members) => {
                let texts = members.iter().map(|one| text_of(one.get_ref()));
                let texts = texts.collect::<Option<Vec<_>>>();
                let texts =
                    texts.ok_or_else(|| wrong("a list of others", "a list of texts or numbers"))?;
                match (arg.get_action(), arg.get_value_delimiter()) {
                    (ArgAction::Append, _) => texts.iter().map(|text| word(text)).collect(),
                    (_, Some(mark)) => vec![word(&texts.join(&mark.to_string()))],
                    _ => return Err(wrong("a list", "a single text or number")),
                }
            }
            value => match text_of(value) {
                Some(text) => vec![word(&text)],
                None => return Err(wrong(value.type_str(), "a text or a number")),
            },
        };
        Ok(Flag { name: name.to_owned(), line: self.line(start), words })
    }

    fn line(&self, start: usize) -> usize {
        1 + self.text[..start].matches('\n').count()
    }

    fn wrong(&self, start: usize, found: &str, expected: &str) -> Failure {
        let file = self.path.display().to_string();
        let (found, expected) = (found.to_owned(), expected.to_owned());
        Error::InvalidRow { file, line: self.line(start) as u64, found, expected }.into()
    }
}

/// `thresholds.`, for a table inside that of `thresholds`.
fn prefix(names: &[String]) -> String {
    names.iter().flat_map(|name| [name.as_str(), "."]).collect()
}

/// A command with all those below it.
fn every(command: &Command) -> Vec<&Command> {
    let mut all = vec![command];
    for inner in commands(command) {
        all.extend(every(inner));
    }
    all
}

/// A value as it would be typed: numbers digit by digit as they stand in the file.
fn text_of(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(text) => Some(text.to_string()),
        DeValue::Integer(number) if number.radix() == 10 => Some(number.as_str().to_owned()),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
            Some(number.to_string())
        }
        DeValue::Float(number) => Some(number.as_str().to_owned()),
        DeValue::Datetime(date) => Some(date.to_string()),
        DeValue::Boolean(_) | DeValue::Array(_) | DeValue::Table(_) => None,
    }
}

/// The flags of a command line, typed or from a file, as the text of a file for `--config`.
///
/// # Errors
/// Values that are not text.
fn flags_of(line: &CommandLine) -> Outcome<String> {
    let mut root = Arguments::command();
    root.build();
    let matches = root.clone().try_get_matches_from(&line.words);
    let matches = matches.map_err(|error| Failure::usage(error.to_string()))?;
    let (names, command, matches) = innermost(&root, &matches);
    let mut flags = String::new();
    for arg in known(command) {
        let id = arg.get_id().as_str();
        if matches.value_source(id) != Some(ValueSource::CommandLine) {
            continue;
        }
        let name = arg.get_long().unwrap_or_default();
        if !arg.get_action().takes_values() {
            _ = writeln!(flags, "{name} = true");
            continue;
        }
        let mut values = Vec::new();
        for value in matches.get_raw(id).into_iter().flatten() {
            let text = value.to_str().ok_or_else(|| {
                Failure::usage(format!("--{name} is not UTF-8, which no file of flags can keep"))
            })?;
            values.push(written(text));
        }
        let several =
            matches!(arg.get_action(), ArgAction::Append) || arg.get_value_delimiter().is_some();
        _ = match values.as_slice() {
            [only] if !several => writeln!(flags, "{name} = {only}"),
            values => writeln!(flags, "{name} = [{}]", values.join(", ")),
        };
    }
    Ok(format!("{}[{}]\n{flags}", heading(&names, command, matches), names.join(".")))
}

/// Writes the flags of a run to the file that `--save-config` names, before the run begins. Of a release, refuses a file
/// beside its table that [`save_beside`] would replace.
///
/// # Errors
/// Those of [`flags_of`]; standard output; a file that the run reads or writes, that cannot be written, or that has other
/// content and may not be replaced.
pub(super) fn save(arguments: &Arguments, line: &CommandLine, console: Console) -> Outcome {
    if let Some(file) = &arguments.global.save_config {
        if file == Path::new("-") {
            let message = "--save-config is -, standard output; expected a file";
            return Err(Failure::usage(message));
        }
        check_overlap(file, line)?;
        let text = flags_of(line)?;
        if let Some(out) = arguments.command.release() {
            let default = beside(out, "ledger.json");
            refuse_overlap(file, "ledger", &default.to_string_lossy())?;
        }
        check_new(file, &text, console)?;
        return Ok(write_text(file, &text)?);
    }
    let Some(file) = file_beside(arguments) else { return Ok(()) };
    check_overlap(&file, line)?;
    // Where the release exists too, the command names that, which is what the user named.
    if arguments.command.release().is_some_and(Path::exists) {
        return Ok(());
    }
    // Flags that cannot be saved are a warning, once the release is made.
    flags_of(line).map_or(Ok(()), |text| check_new(&file, &text, console))
}

/// Refuses a file that a flag of the command line names.
fn check_overlap(file: &Path, line: &CommandLine) -> Outcome {
    let mut root = Arguments::command();
    root.build();
    let Ok(matches) = root.clone().try_get_matches_from(&line.words) else { return Ok(()) };
    let (_, command, matches) = innermost(&root, &matches);
    for arg in known(command) {
        let id = arg.get_id().as_str();
        let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
        for value in matches.get_raw(id).into_iter().flatten().filter(|_| is_typed) {
            let name = arg.get_long().unwrap_or_default();
            value.to_str().map_or(Ok(()), |text| refuse_overlap(file, name, text))?;
        }
    }
    Ok(())
}

/// Refuses a file that exists, has other content, and may not be replaced.
fn check_new(file: &Path, text: &str, console: Console) -> Outcome {
    match fs::read(file) {
        Ok(found) if found == text.as_bytes() => return Ok(()),
        // A folder that is missing is named by the output that it is of.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        _ => {}
    }
    Ok(check_files(&[], &[("--save-config", file)], console.existing)?)
}

/// Writes the flags of a release beside its table, as `OUT.config.toml`, unless `--save-config` named a file. The release
/// is made, so a fault is a warning.
pub(super) fn save_beside(arguments: &Arguments, line: &CommandLine, console: Console) {
    let Some(file) = file_beside(arguments) else { return };
    let done = flags_of(line).and_then(|text| {
        check_new(&file, &text, console)?;
        Ok(write_text(&file, &text)?)
    });
    if let Err(failure) = done {
        console.warning(&format!("the flags of this run are not saved: {}", failure.message));
    }
}

/// The file beside a release for its flags, unless they are saved elsewhere or come from there. Beside a stream is no place.
fn file_beside(arguments: &Arguments) -> Option<PathBuf> {
    let global = &arguments.global;
    let out = arguments.command.release().filter(|_| global.save_config.is_none())?;
    if is_stream(out) {
        return None;
    }
    let file = beside(out, "config.toml");
    let is_source = global.config.as_ref().is_some_and(|config| is_same_file(config, &file));
    (!is_source).then_some(file)
}

/// Comments at the top: how to repeat the run, and what repeating it means.
fn heading(names: &[&str], command: &Command, matches: &ArgMatches) -> String {
    let version = env!("CARGO_PKG_VERSION");
    let mut text = format!(
        "# Flags of a run of jointly {version}. To repeat it: jointly {} --config FILE\n",
        names.join(" ")
    );
    let typed = |name: &str| {
        let id = find(command, name).map(Arg::get_id);
        id.map(|id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine))
    };
    if typed("private").is_some() {
        text += match typed("seed") {
            Some(true) => "# The seed makes the result NOT PRIVATE: it repeats the noise.\n",
            Some(false) => {
                "# Without a seed, another run has other noise, and spends its budget again.\n"
            }
            None => "",
        };
    }
    let positionals = command.get_positionals();
    let given: Vec<String> = positionals
        .filter_map(|arg| matches.get_raw(arg.get_id().as_str()))
        .flatten()
        .map(|value| format!("{:?}", value.to_string_lossy()))
        .collect();
    if !given.is_empty() {
        _ = writeln!(text, "# Words without a flag, to be typed again: {}", given.join(" "));
    }
    text
}

/// Refuses to write the flags over a file that a flag names.
fn refuse_overlap(file: &Path, name: &str, value: &str) -> Outcome {
    let after = value.split_once('=').map(|(_, path)| path);
    let is_same = |path: &Path| {
        is_same_file(file, path)
            || matches!((absolute(file), absolute(path)), (Ok(one), Ok(other)) if one == other)
    };
    if [Some(value), after].into_iter().flatten().any(|path| is_same(Path::new(path))) {
        let message = format!(
            "--save-config {} is the file of --{name}, expected another file",
            file.display(),
        );
        return Err(Failure::usage(message));
    }
    Ok(())
}

/// A value in TOML: a number where it is read back with the same digits, otherwise text.
fn written(text: &str) -> String {
    let as_number = format!("x = {text}");
    let is_number = !text.contains('\n')
        && DeTable::parse(&as_number).is_ok_and(|table| {
            let value = table.get_ref().get("x").map(toml::Spanned::get_ref);
            value.is_some_and(|value| {
                (value.is_integer() || value.is_float()) && text_of(value).as_deref() == Some(text)
            })
        });
    if is_number { text.to_owned() } else { toml::Value::String(text.to_owned()).to_string() }
}

#[cfg(test)]
mod tests;
