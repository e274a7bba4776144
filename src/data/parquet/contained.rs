//! Work of the Parquet libraries, which panic on some damaged files.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

thread_local! {
    /// Whether this thread is at contained work, whose panics are errors and are not printed.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// Runs work that may panic. A panic becomes an error with its message, and nothing is printed.
///
/// After a panic, whatever the work had borrowed must be used no more. The work stays on this thread. A program built
/// with `panic = "abort"` ends all the same.
pub(super) fn contained<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    silence();
    let before = IS_CONTAINED.replace(true);
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    IS_CONTAINED.set(before);
    done.map_err(|panic| format!("its content cannot be decoded ({})", message(panic.as_ref())))
}

/// Has the hook of panics, which prints them, leave out those of contained work. Every other panic goes to the hook
/// that was there before.
fn silence() {
    static SILENCED: Once = Once::new();
    SILENCED.call_once(|| {
        let others = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if !IS_CONTAINED.get() {
                others(panic);
            }
        }));
    });
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason")
}

#[cfg(test)]
mod tests;
