//! Ctrl-C and termination: a run that is interrupted says what it has spent, and where that is written.

use std::path::{Path, PathBuf};
use std::process;
use std::sync::{Mutex, MutexGuard, PoisonError};

use jointly::ErrorKind;
use jointly::observe::{Event, Notice, Observer};
use jointly::privacy::Rho;

use super::console::Console;
use super::failure::Failure;

/// What a command that spends has reported so far. `None` while no such command runs.
static TOLD: Mutex<Option<Told>> = Mutex::new(None);

/// What has been reported, and where it is written.
#[derive(Debug)]
pub(super) struct Told {
    ledger: Option<PathBuf>,
    checkpoint: Option<PathBuf>,
    /// `None`: this process has shown nothing.
    spent: Option<Spent>,
}

/// What was spent, and the limit.
#[derive(Clone, Copy, Debug)]
enum Spent {
    /// On the rounds that were shown.
    OnRounds(Rho, Rho),
    /// At once, by a command without rounds.
    AtOnce(Rho, Rho),
}

/// Ends the process with a message when the user or the system interrupts it. Call this once.
#[cfg(unix)]
pub(super) fn install(console: Console) {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    // Without a handler, the system's default ends the process too, only without a message.
    let Ok(mut signals) = Signals::new([SIGHUP, SIGINT, SIGTERM]) else { return };
    std::thread::spawn(move || {
        if signals.forever().next().is_some() {
            // Kept until the process ends, so that no event is shown after the message.
            let told = lock();
            let message = told.as_ref().map_or_else(|| "interrupted".to_owned(), Told::message);
            let failure = Failure { kind: ErrorKind::Interrupted, message };
            console.failure(&failure);
            process::exit(failure.kind.code().into());
        }
    });
}

/// Elsewhere, the system's default ends the process.
#[cfg(not(unix))]
pub(super) fn install(_: Console) {}

/// Notes that a command that spends begins.
pub(super) fn begin(told: Told) {
    *lock() = Some(told);
}

/// Notes that a command without rounds has spent, and has written its ledger.
pub(super) fn spent_at_once(spent: Rho, limit: Rho) {
    note(&mut lock(), Spent::AtOnce(spent, limit));
}

fn note(told: &mut Option<Told>, spent: Spent) {
    if let Some(told) = told {
        told.spent = Some(spent);
    }
}

fn lock() -> MutexGuard<'static, Option<Told>> {
    TOLD.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Told {
    /// Nothing so far. `ledger`: the file that is written before anything is shown. `checkpoint`: the folder from which
    /// the run resumes.
    pub(super) fn new(ledger: Option<&Path>, checkpoint: Option<&Path>) -> Self {
        let owned = |path: Option<&Path>| path.map(Path::to_path_buf);
        Self { ledger: owned(ledger), checkpoint: owned(checkpoint), spent: None }
    }

    fn message(&self) -> String {
        let ledger = self.ledger.as_ref();
        let ledger =
            ledger.map_or_else(String::new, |path| format!(", as {} says", path.display()));
        let folder = self.checkpoint.as_ref().map(|folder| folder.display());
        let spent = match (self.spent, &folder) {
            (Some(Spent::OnRounds(spent, limit)), _) => {
                format!("rho = {spent} of {limit} was spent on what was shown{ledger}")
            }
            (Some(Spent::AtOnce(spent, limit)), _) => {
                format!("rho = {spent} of {limit} was spent{ledger}")
            }
            // An earlier run, or a total that is not shown, may have spent.
            (None, Some(folder)) => format!("what was spent so far, if anything, is in {folder}"),
            (None, None) => {
                "nothing computed from private rows was shown or written, so nothing is spent"
                    .to_owned()
            }
        };
        let resume = folder
            .map_or_else(String::new, |folder| format!("; the same command resumes from {folder}"));
        format!("interrupted: {spent}{resume}")
    }
}

/// Passes events on, and notes what they say was spent.
pub(super) struct Noting<O>(pub(super) O);

impl<O: Observer> Observer for Noting<O> {
    fn event(&mut self, event: &Event) {
        let mut told = lock();
        if let Event::Measured { spent, limit, .. }
        | Event::Notice(Notice::Compressed { spent, limit, .. }) = event
        {
            note(&mut told, Spent::OnRounds(*spent, *limit));
        }
        self.0.event(event);
    }
}

#[cfg(test)]
mod tests;
