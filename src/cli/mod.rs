//! The command-line program: arguments, console and exit codes. Each command translates its arguments into calls to the
//! library. A [`failure::Failure`] ends it with a message and an exit code.

mod answer;
mod args;
mod ask;
mod bins;
mod budget;
mod combine;
mod compare;
mod config;
mod console;
mod counts;
mod demo;
mod engine;
mod evaluate;
mod explain;
mod failure;
mod file_size;
mod fit;
mod interrupt;
mod manual;
mod mixture;
mod plan;
mod posterior;
mod progress;
mod run;
mod sample;
mod schema;
mod spend;
mod threads;
mod thresholds;
mod trust;
mod tune;

use std::env;
use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use jointly::report::format;

use args::{Arguments, Command, GlobalArgs, LogFormat};
use config::CommandLine;
use console::Console;
use failure::{Failure, Outcome};

/// Runs the command given on the command line.
pub(crate) fn main() -> ExitCode {
    let typed: Vec<OsString> = env::args_os().collect();
    let early = Console::new(&GlobalArgs { log_format: log_format(&typed), ..Default::default() });
    let line = match CommandLine::complete(typed) {
        Ok(line) => line,
        Err(failure) => {
            early.failure(&failure);
            return failure.exit_code();
        }
    };
    let arguments = match Arguments::try_parse_from(&line.words) {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error, &line),
    };
    let console = Console::new(&arguments.global);
    interrupt::install(console);
    file_size::survive_limit();
    let done = threads::start(arguments.global.threads, console)
        .and_then(|()| config::save(&arguments, &line, console))
        .and_then(|()| dispatch(&arguments.command, console));
    match done {
        Ok(()) => {
            config::save_beside(&arguments, &line, console);
            ExitCode::SUCCESS
        }
        Err(failure) => {
            console.failure(&failure);
            failure.exit_code()
        }
    }
}

fn dispatch(command: &Command, console: Console) -> Outcome {
    match command {
        Command::Demo(args) => demo::run(args, console),
        Command::Synth(args) => run::run(args, console),
        Command::Answer(args) => answer::run(args, console),
        Command::Evaluate(args) => evaluate::run(args, console),
        Command::MixtureError(args) => mixture::run(args, console),
        Command::Trust(args) => trust::run(args, console),
        Command::Thresholds(args) => thresholds::run(args, console),
        Command::Compare(args) => compare::run(args, console),
        Command::CompareRun => compare::run_cell(),
        Command::Tune(args) => tune::run(args, console),
        Command::Plan(args) => plan::run(args),
        Command::Budget(args) => budget::run(args),
        Command::Ask(args) => ask::run(args, console),
        Command::Combine(args) => combine::run(args, console),
        Command::Posterior(args) => posterior::run(args, console),
        Command::Fit(args) => fit::run(args, console),
        Command::Sample(args) => sample::run(args, console),
        Command::Explain(args) => explain::run(args),
        Command::Completions(args) => manual::completions(args.shell),
        Command::Man => manual::page(),
        Command::Schema(args) => schema::run(args, console),
        Command::Bins(args) => bins::run(args, console),
        Command::Count(args) => counts::count(args, console),
        Command::Merge(args) => counts::merge(args, console),
    }
}

/// The format of messages that words ask for, before they are parsed.
fn log_format(words: &[OsString]) -> LogFormat {
    let is_json = words.iter().any(|word| word == "--log-format=json")
        || words.windows(2).any(|pair| pair == ["--log-format", "json"]);
    if is_json { LogFormat::Json } else { LogFormat::Text }
}

/// Help and version go to standard output. Anything else is wrong usage, reported in the requested format.
fn unparsed(error: &clap::Error, line: &CommandLine) -> ExitCode {
    // Nothing can be done if even the message cannot be written.
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        _ = error.print();
        return ExitCode::SUCCESS;
    }
    let mut text = said(error);
    if let Some(place) = line.place_of(error) {
        text = text.replacen("error: ", &format!("error: {place}: "), 1);
    }
    let log_format = log_format(&line.words);
    if log_format == LogFormat::Json {
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        let failure = Failure::usage(message);
        Console::new(&GlobalArgs { log_format, ..Default::default() }).failure(&failure);
        return failure.exit_code();
    }
    _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
    Failure::usage("").exit_code()
}

/// The message about a flag, with what was expected in a reader's words.
fn said(error: &clap::Error) -> String {
    let words = [
        ("invalid digit found in string", "expected a whole number of at least 0"),
        ("cannot parse integer from empty string", "expected a whole number of at least 0"),
        ("number too large to fit in target type", "expected a smaller whole number"),
        ("invalid float literal", "expected a number"),
        ("cannot parse float from empty string", "expected a number"),
    ];
    words.iter().fold(error.to_string(), |text, (from, to)| text.replace(from, to))
}
