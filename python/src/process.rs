//! Which process may use the library's threads.
//!
//! The library calculates on a pool of threads, which start at the first use and live as long as the process. A process that
//! is forked later has the pool's memory and none of its threads: it would wait for them without end.

use std::sync::atomic::{AtomicU32, Ordering};

use pyo3::prelude::*;

use crate::errors::Raise;

/// The process whose threads the pool has; 0 before the first use.
static OWNER: AtomicU32 = AtomicU32::new(0);

/// Refuses to go on in a process that was forked after the first use. All work that may need threads passes through here.
pub(crate) fn check(py: Python<'_>) -> PyResult<()> {
    let own = std::process::id();
    match OWNER.compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed) {
        Err(owner) if owner != own => Err(forked(py, owner)),
        _ => Ok(()),
    }
}

/// Does work without the lock of the interpreter.
pub(crate) fn detached<T: Send>(
    py: Python<'_>,
    work: impl FnOnce() -> jointly::Result<T> + Send,
) -> PyResult<T> {
    check(py)?;
    py.detach(work).raise(py)
}

fn forked(py: Python<'_>, owner: u32) -> PyErr {
    let message = format!(
        "this process was forked from process {owner} after jointly_dp had started its threads there, and has none of \
         them; expected a process of its own: use multiprocessing.get_context(\"spawn\") (or \"forkserver\"), or call \
         jointly_dp in forked processes only"
    );
    let made = || -> PyResult<PyErr> {
        let class = py.import("jointly_dp._errors")?.getattr("ForkError")?;
        Ok(PyErr::from_value(class.call1((message,))?))
    };
    made().unwrap_or_else(|failed| failed)
}
