//! The command-line program: arguments, console and exit codes. Each command translates its arguments into calls to the
//! library. A [`failure::Failure`] ends it with a message and an exit code.

mod answer;
mod args;
mod ask;
mod bins;
mod budget;
mod combine;
mod compare;
mod console;
mod demo;
mod engine;
mod evaluate;
mod failure;
mod file_size;
mod interrupt;
mod manual;
mod measures;
mod mixture;
mod plan;
mod progress;
mod run;
mod sample;
mod schema;
mod spend;
mod threads;
mod thresholds;
mod trust;
mod tune;
mod units;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;
use jointly::report::format;

use args::{Arguments, Command, GlobalArgs, LogFormat};
use console::Console;
use failure::{Failure, Outcome};

/// Runs the command given on the command line.
pub(crate) fn main() -> ExitCode {
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return unparsed(&error),
    };
    let console = Console::new(&arguments.global);
    interrupt::install(console);
    file_size::survive_limit();
    let done = threads::start(arguments.global.threads, console)
        .and_then(|()| dispatch(&arguments.command, console));
    match done {
        Ok(()) => ExitCode::SUCCESS,
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
        Command::Evaluate(args) => evaluate::run(args),
        Command::MixtureError(args) => mixture::run(args, console),
        Command::Trust(args) => trust::run(args, console),
        Command::Thresholds(args) => thresholds::run(args, console),
        Command::Compare(args) => compare::run(args, console),
        Command::CompareRun => compare::worker::run(),
        Command::Tune(args) => tune::run(args, console),
        Command::Plan(args) => plan::run(args),
        Command::Budget(args) => budget::run(args),
        Command::Ask(args) => ask::run(args, console),
        Command::Combine(args) => combine::run(args, console),
        Command::Sample(args) => sample::run(args, console),
        Command::Completions(args) => manual::completions(args.shell),
        Command::Man => manual::page(),
        Command::Schema(args) => schema::run(args, console),
        Command::Bins(args) => bins::run(args, console),
    }
}

/// Help and version go to standard output. Anything else is wrong usage, reported in the requested format.
fn unparsed(error: &clap::Error) -> ExitCode {
    let help = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    let typed: Vec<String> =
        std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
    let json = typed.iter().any(|text| text == "--log-format=json")
        || typed.windows(2).any(|pair| pair == ["--log-format", "json"]);
    if json && !help {
        let text = said(error);
        let message = text.strip_prefix("error: ").unwrap_or(&text).trim_end();
        let failure = Failure::usage(message);
        let global = GlobalArgs { log_format: LogFormat::Json, quiet: false, threads: None };
        Console::new(&global).failure(&failure);
        return failure.exit_code();
    }
    // Nothing can be done if even the message cannot be written.
    if help {
        _ = error.print();
        return ExitCode::SUCCESS;
    }
    _ = std::io::Write::write_all(&mut std::io::stderr(), said(error).as_bytes());
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
