//! Writes messages: results to standard output, everything else to standard error.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use jointly::ErrorKind;
use jointly::model::{ModelFile, ModelLimits};
use jointly::synthesis::Existing;
use serde::Serialize;
use serde_json::{Value, json};

use super::args::{GlobalArgs, LogFormat};
use super::failure::{Failure, Outcome, with_typed_names};

/// How to print messages, and what else holds for every output.
#[derive(Clone, Copy, Debug)]
pub(super) struct Console {
    /// One JSON object per line on standard error, instead of text.
    pub(super) json: bool,
    /// Hides progress and notes; warnings and errors are still printed.
    pub(super) quiet: bool,
    /// Whether standard error is a terminal, where a line can be redrawn.
    pub(super) terminal: bool,
    /// What happens to output files that exist already.
    pub(super) existing: Existing,
}

impl Console {
    pub(super) fn new(global: &GlobalArgs) -> Self {
        Self {
            json: global.log_format == LogFormat::Json,
            quiet: global.quiet,
            terminal: io::stderr().is_terminal(),
            existing: if global.overwrite { Existing::Replaced } else { Existing::Refused },
        }
    }

    /// Prints a note on progress: `text` for readers, or `event` with the members of `facts`.
    pub(super) fn note(self, event: &str, text: &str, facts: Value) {
        if !self.quiet {
            self.line(event, &with_typed_names(text), facts);
        }
    }

    /// Prints a warning, even if notes are hidden.
    pub(super) fn warning(self, text: &str) {
        let text = with_typed_names(text);
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

    /// Reads a saved model, and warns of one that is not private.
    pub(super) fn open_model(self, path: &Path) -> Outcome<ModelFile> {
        let file = ModelFile::read(path, ModelLimits::default())?;
        if !file.is_private {
            self.warning("the model is NOT PRIVATE: it was made with a fixed seed, or from tables that were cleared by hand");
        }
        if !file.conditional_on.is_empty() {
            self.warning(&format!(
                "the model's guarantee holds only among private tables that share {}, which came from private records and were released as they are",
                file.conditional_on.join(", ")
            ));
        }
        Ok(file)
    }

    /// Reports the failure of a command.
    pub(super) fn failure(self, failure: &Failure) {
        let facts = json!({
            "kind": failure.kind.name(),
            "exit_code": failure.kind.code(),
            "message": failure.message,
        });
        self.line("error", &format!("error: {}", failure.message), facts);
    }

    /// Writes one line to standard error. A failure to write does not stop the command.
    fn line(self, event: &str, text: &str, facts: Value) {
        let line = if self.json { tagged(event, facts).to_string() } else { text.to_owned() };
        _ = writeln!(io::stderr().lock(), "{line}");
    }
}

/// Writes a result to standard output. If the reader has closed the pipe, the command ends without an error message.
pub(super) fn result(text: &str) -> Outcome {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(Failure {
            kind: ErrorKind::Internal,
            message: format!("cannot write to standard output: {error}"),
        }),
        _ => Ok(()),
    }
}

/// An output as notes name it.
pub(super) fn name_of(out: &Path) -> String {
    if out == Path::new("-") {
        return "standard output".to_owned();
    }
    out.display().to_string()
}

/// The file beside an output, such as `OUT.ledger.json`; in the working folder if the output is a stream.
pub(super) fn beside(out: &Path, kind: &str) -> PathBuf {
    if is_stream(out) {
        return PathBuf::from(format!("jointly.{kind}"));
    }
    let name = out.file_name().unwrap_or_default().to_string_lossy();
    out.with_file_name(format!("{name}.{kind}"))
}

/// Whether an output is standard output, a pipe or a device.
pub(super) fn is_stream(out: &Path) -> bool {
    out == Path::new("-") || fs::metadata(out).is_ok_and(|there| !there.is_file())
}

/// A table to read, as pages name it.
pub(super) fn input_name(table: &Path) -> String {
    if table == Path::new("-") {
        return "standard input".to_owned();
    }
    table.display().to_string()
}

/// Refuses `-` as the name of a folder: it stands for standard output.
pub(super) fn check_folder(flag: &str, folder: &Path) -> Outcome {
    if folder == Path::new("-") {
        return Err(Failure::usage(format!("{flag} is -, standard output; expected a folder")));
    }
    Ok(())
}

/// Writes a result to standard output as indented JSON.
pub(super) fn json_result(result: &impl Serialize) -> Outcome {
    let text = serde_json::to_string_pretty(result).map_err(|error| Failure {
        kind: ErrorKind::Internal,
        message: format!("cannot write JSON: {error}"),
    })?;
    self::result(&(text + "\n"))
}

/// The facts together with the name of their event.
fn tagged(event: &str, mut facts: Value) -> Value {
    if let Value::Object(members) = &mut facts {
        members.insert("event".to_owned(), event.into());
    }
    facts
}
