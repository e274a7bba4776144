//! A limit on the size of files (`ulimit -f`) is an error of the write, not the end of the process.

#[cfg(unix)]
use std::sync::{Arc, atomic::AtomicBool};

#[cfg(unix)]
use signal_hook::{consts::SIGXFSZ, flag};

/// Takes the signal that the system sends with a write beyond the limit. By default it ends the process, which would
/// leave a part of the file and no message. With a handler, the write fails like any other.
pub(super) fn survive_limit() {
    // Without the handler, such a write still ends the process: no reason to refuse to start.
    #[cfg(unix)]
    drop(flag::register(SIGXFSZ, Arc::new(AtomicBool::new(false))));
}
