//! Where the noise comes from.

use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{SeedableRng, TryRng};

use crate::error::{Error, Result};

/// Source of the noise generators of a run: one fresh generator for each round.
///
/// A generator's state is never stored; a fixed seed makes the same generators again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseSeed {
    /// The operating system's generator, asked again in each round.
    System,
    /// A number, for tests and demonstrations: whoever knows it can remove the noise, so that nothing drawn with it
    /// is private.
    Fixed(u64),
}

impl NoiseSeed {
    /// Whether the noise protects anything.
    pub fn is_private(self) -> bool {
        self == Self::System
    }

    /// The generator of a round.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system's generator fails.
    pub(in crate::privacy) fn generator(self, round: u32) -> Result<ChaCha20Rng> {
        let mut seed = [0_u8; 32];
        match self {
            Self::System => SysRng
                .try_fill_bytes(&mut seed)
                .map_err(|error| Error::Entropy { reason: error.to_string() })?,
            Self::Fixed(number) => {
                // Distinct keys of one pseudo-random function: distinct rounds share nothing.
                seed[..8].copy_from_slice(&number.to_le_bytes());
                seed[8..12].copy_from_slice(&round.to_le_bytes());
                seed[12..].copy_from_slice(b"jointly round noise.");
            }
        }
        Ok(ChaCha20Rng::from_seed(seed))
    }
}

#[cfg(test)]
#[path = "../../tests/unit/privacy_noise.rs"]
mod tests;
