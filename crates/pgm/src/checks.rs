//! Whether a long computation should go on.

use crate::error::Result;

/// Whether a long computation should go on, asked from any thread about once per oracle call; so it must be quick.
pub trait Checks: Sync {
    /// Asks.
    ///
    /// # Errors
    /// [`Error::Interrupted`](crate::Error::Interrupted) if it should not.
    fn check(&self) -> Result<()>;
}

/// Never stops anything.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unstoppable;

impl Checks for Unstoppable {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}
