//! The source of the noise.

use rand::rngs::{ChaCha20Rng, SysRng};
use rand::{SeedableRng, TryRng};

use crate::error::{Error, Result};

/// Source of a run's noise generators: one fresh generator for each round.
///
/// A generator's state is never stored. A fixed seed recreates the same generators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoiseSeed {
    /// The operating system's generator, which seeds each round.
    System,
    /// A fixed seed, for tests and demonstrations. Anyone who knows it can remove the noise, so nothing drawn with it
    /// is private.
    Fixed(u64),
}

impl NoiseSeed {
    /// Whether the noise protects the records.
    pub fn is_private(self) -> bool {
        self == Self::System
    }

    /// The generator of a round.
    ///
    /// # Errors
    /// [`Error::Entropy`] when the system's generator fails.
    pub(crate) fn generator(self, round: u32) -> Result<ChaCha20Rng> {
        let mut seed = [0_u8; 32];
        match self {
            Self::System => SysRng
                .try_fill_bytes(&mut seed)
                .map_err(|error| Error::Entropy { reason: error.to_string() })?,
            Self::Fixed(number) => {
                // Distinct keys of one pseudorandom function: the rounds have independent generators.
                seed[..8].copy_from_slice(&number.to_le_bytes());
                seed[8..12].copy_from_slice(&round.to_le_bytes());
                seed[12..].copy_from_slice(b"jointly round noise.");
            }
        }
        Ok(ChaCha20Rng::from_seed(seed))
    }
}

#[cfg(test)]
mod tests;
