//! Work of the libraries that read Parquet and Arrow files, which panic on some damaged ones.

use std::any::Any;
use std::cell::Cell;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::Path;
use std::sync::Once;

use arrow_array::RecordBatch;

use crate::data::arrow::Batches;
use crate::error::{Error, Result};

thread_local! {
    /// Whether this thread is at contained work, whose panics are errors and are not printed.
    static IS_CONTAINED: Cell<bool> = const { Cell::new(false) };
}

/// A binary file that one of the libraries reads.
#[derive(Clone, Copy, Debug)]
pub(super) struct BinaryFile<'p> {
    pub(super) path: &'p Path,
    /// Its form in errors, such as `Parquet`.
    pub(super) form: &'static str,
}

impl BinaryFile<'_> {
    /// Runs work of a library on the file: all of their reading passes through here. A panic in them is an error of the file.
    pub(super) fn reading<T>(
        self,
        work: impl FnOnce() -> std::result::Result<T, String>,
    ) -> Result<T> {
        contained(work).and_then(|done| done).map_err(|reason| self.wrong(&reason))
    }

    /// The batches of a reader. The first error ends them: a reader that has panicked is not asked again.
    pub(super) fn batches<E: ToString>(
        self,
        reader: impl Iterator<Item = std::result::Result<RecordBatch, E>> + 'static,
    ) -> Batches {
        let (path, form, mut left) = (self.path.to_owned(), self.form, Some(reader));
        Box::new(std::iter::from_fn(move || {
            let mut reader = left.take()?;
            let batch = BinaryFile { path: &path, form }.reading(|| {
                let batch = reader.next().transpose().map_err(|error| error.to_string())?;
                Ok(batch.map(|batch| (batch, reader)))
            });
            let (batch, reader) = match batch.transpose()? {
                Ok(read) => read,
                Err(error) => return Some(Err(error)),
            };
            left = Some(reader);
            Some(Ok(batch))
        }))
    }

    /// The error of a file that is not as it should be.
    fn wrong(self, reason: &str) -> Error {
        let Self { path, form } = self;
        let reason = format!(
            "the {form} file is cut short, damaged, or of a kind that is not read ({reason})"
        );
        let source = io::Error::new(io::ErrorKind::InvalidData, reason);
        Error::Io { action: "read", path: path.into(), source }
    }
}

/// Runs work that may panic. A panic becomes an error with its message, and nothing is printed.
///
/// After a panic, whatever the work had borrowed must be used no more. The work stays on this thread. A program built
/// with `panic = "abort"` ends all the same.
fn contained<T>(work: impl FnOnce() -> T) -> std::result::Result<T, String> {
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
