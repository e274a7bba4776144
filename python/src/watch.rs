//! Long work on a thread of its own, while this one watches for Ctrl-C and passes events on.
//!
//! Python runs signal handlers on its main thread only, and the library's fits run on threads of a pool. So the work never
//! touches Python, and the thread that called it looks for signals ten times a second.
//!
//! If the rounds have spent their budget when the first Ctrl-C comes, the work is finished first: what was paid for would be
//! lost. A second Ctrl-C stops it.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use jointly::observe::{Event, Observer};
use jointly::{Error, Result};
use pyo3::prelude::*;
use serde::Serialize;
use serde_json::{Value, json};

use crate::errors::{json as as_text, raised};
use crate::process;

/// Time between two looks for signals.
const LOOK: Duration = Duration::from_millis(100);

/// The share of the limit from which on no further round can buy anything.
const WHOLE: f64 = 0.999;

/// Sends events as JSON, and stops when asked to.
struct EventSender {
    events: Sender<String>,
    /// How often it was asked to.
    stop: Arc<AtomicU32>,
    /// Whether the budget of the rounds is spent.
    is_paid: bool,
}

impl Observer for EventSender {
    fn event(&mut self, event: &Event) {
        if let Event::Measured { spent, limit, .. } = event {
            self.is_paid = spent.to_f64() >= WHOLE * limit.to_f64();
        }
        let (name, mut facts) = match event {
            Event::Notice(notice) => {
                let facts = json!({ "text": notice.to_string(), "is_warning": notice.is_warning(),
                                    "spent": is_about_spending(notice) });
                ("notice", facts)
            }
            other => match other.facts() {
                Some(found) => found,
                None => return,
            },
        };
        if let Value::Object(facts) = &mut facts {
            facts.insert("event".into(), name.into());
        }
        // Nobody listens any more once the caller has failed.
        _ = self.events.send(facts.to_string());
    }

    fn check(&mut self) -> ControlFlow<()> {
        match (self.stop.load(Ordering::Relaxed), self.is_paid) {
            (0, _) | (1, true) => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }
}

fn is_about_spending(notice: &jointly::observe::Notice) -> bool {
    use jointly::observe::Notice;
    matches!(
        notice,
        Notice::SpentBeforeFailure { .. }
            | Notice::SpentInCheckpoint { .. }
            | Notice::OutputsMissing { .. }
    )
}

/// What came of work.
pub(crate) enum Outcome<T> {
    Done(T),
    /// It ended, and an exception came before its end, which is still to be raised.
    DoneBefore(T, PyErr),
}

/// Does the work without the lock of the interpreter, unless this process has no threads for it ([`process::check`]).
/// `listener`: called with each event as JSON text. An exception in it,
/// or in a signal handler, stops the work, and is raised once the work has stopped.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> Result<T> + Send,
) -> PyResult<T> {
    match keeping(py, listener, work)? {
        Outcome::Done(done) => Ok(done),
        Outcome::DoneBefore(_, exception) => Err(exception),
    }
}

/// As [`run`], for work that spends: its result is not lost to an exception that came before its end.
pub(crate) fn keeping<T: Send>(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    work: impl FnOnce(&mut dyn Observer) -> Result<T> + Send,
) -> PyResult<Outcome<T>> {
    process::check(py)?;
    let stop = Arc::new(AtomicU32::new(0));
    let (events, received) = channel();
    let mut watched = EventSender { events, stop: Arc::clone(&stop), is_paid: false };
    let (done, outcome) = std::thread::scope(|scope| {
        // The events end when the observer is dropped with the thread.
        let worker = scope.spawn(move || work(&mut watched));
        let outcome = pass_on(py, listener, received, &stop);
        (py.detach(|| worker.join()), outcome)
    });
    let done = done.unwrap_or_else(|_| {
        let reason = "the library panicked: please report this".to_owned();
        Err(Error::Page { reason })
    });
    match (done, outcome) {
        (Ok(done), Ok(())) => Ok(Outcome::Done(done)),
        (Ok(done), Err(exception)) => Ok(Outcome::DoneBefore(done, exception)),
        (Err(_), Err(exception)) => Err(exception),
        (Err(error), Ok(())) => Err(raised(py, &error)),
    }
}

/// What came of work that spends, as JSON. If an exception came before its end, it carries the JSON: the budget is spent.
pub(crate) fn told(py: Python<'_>, outcome: Outcome<impl Serialize>) -> PyResult<String> {
    match outcome {
        Outcome::Done(found) => as_text(py, &found),
        Outcome::DoneBefore(found, exception) => {
            let raised = exception.value(py);
            raised.setattr("report", as_text(py, &found)?)?;
            let note = "the budget was spent; the attribute 'report' of this exception is what it bought, as JSON";
            raised.call_method1("add_note", (note,))?;
            Err(exception)
        }
    }
}

/// Passes events on until there are no more; returns the first exception.
fn pass_on(
    py: Python<'_>,
    listener: Option<&Bound<'_, PyAny>>,
    received: Receiver<String>,
    stop: &AtomicU32,
) -> PyResult<()> {
    let mut outcome = Ok(());
    let received = std::sync::Mutex::new(received);
    loop {
        let next = py.detach(|| match received.lock() {
            Ok(received) => received.recv_timeout(LOOK),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        });
        let told = match next {
            Ok(event) => listener.map_or(Ok(()), |listener| listener.call1((event,)).map(drop)),
            Err(RecvTimeoutError::Timeout) => Ok(()),
            Err(RecvTimeoutError::Disconnected) => return outcome,
        };
        if let Err(exception) = told.and_then(|()| py.check_signals()) {
            stop.fetch_add(1, Ordering::Relaxed);
            if outcome.is_ok() {
                outcome = Err(exception);
            }
        }
    }
}
