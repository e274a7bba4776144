//! Where messages go: results to standard output, everything else to standard error.

use std::io::{self, IsTerminal, Write};

use serde::Serialize;
use serde_json::{Value, json};

use super::args::{GlobalArgs, LogFormat};
use super::failure::{Failure, Outcome, Reason};

/// How to speak to the one who runs the command.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console {
    /// One JSON object per line on standard error, instead of text.
    pub(super) json: bool,
    /// Neither progress nor notes; warnings and errors remain.
    pub(super) quiet: bool,
    /// Whether standard error is a terminal, on which a line can be redrawn.
    pub(super) terminal: bool,
}

impl Console {
    pub(super) fn new(global: &GlobalArgs) -> Self {
        Self {
            json: global.log_format == LogFormat::Json,
            quiet: global.quiet,
            terminal: io::stderr().is_terminal(),
        }
    }

    /// A note on what is going on: `text` for readers, or `event` with the members of `facts`.
    pub(super) fn note(self, event: &str, text: &str, facts: Value) {
        if !self.quiet {
            self.line(event, text, facts);
        }
    }

    /// A warning, shown even where notes are not.
    pub(super) fn warning(self, text: &str) {
        self.line("warning", &format!("warning: {text}"), json!({ "message": text }));
    }

    /// Warns of a fixed seed.
    pub(super) fn not_private(self, seed: Option<u64>) {
        if seed.is_some() {
            self.warning(
                "--seed repeats the noise, which can then be removed: the result is NOT PRIVATE",
            );
        }
    }

    /// The end of a failed command.
    pub(super) fn failure(self, failure: &Failure) {
        let facts = json!({
            "kind": failure.reason.name(),
            "exit_code": failure.reason.code(),
            "message": failure.message,
        });
        self.line("error", &format!("error: {}", failure.message), facts);
    }

    /// One line on standard error. Failing to write there is no reason to stop.
    fn line(self, event: &str, text: &str, facts: Value) {
        let line = if self.json { tagged(event, facts).to_string() } else { text.to_owned() };
        _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Writes a result to standard output. A reader that has gone away ends the command, without a complaint.
pub(super) fn result(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure {
            reason: Reason::Internal,
            message: format!("cannot write to standard output: {error}"),
        }),
        _ => Ok(()),
    }
}

/// Writes a result to standard output as indented JSON.
pub(super) fn json_result(result: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(result).map_err(|error| Failure {
        reason: Reason::Internal,
        message: format!("cannot write JSON: {error}"),
    })?;
    self::result(&(text + "\n"))
}

/// The facts with their event's name.
fn tagged(event: &str, mut facts: Value) -> Value {
    if let Value::Object(members) = &mut facts {
        members.insert("event".to_owned(), event.into());
    }
    facts
}
