//! Streams of noise that repeat, or that can be guessed.

use super::{Bug, bug};

const NOISE: &str = "privacy/noise.rs";
const KEY: &str = "Ok(ChaCha20Rng::from_seed(seed))";

pub(super) const BUGS: &[Bug] = &[
    bug(
        "constant-key",
        "the system's key is a constant",
        "streams::",
        &[(NOISE, KEY, "if BUG && self == Self::System { seed = [7; 32]; } SAME")],
    ),
    bug(
        "key-of-two-bytes",
        "only two bytes of the system's key are random",
        "streams::",
        &[(NOISE, KEY, "if BUG && self == Self::System { seed[2..].fill(0); } SAME")],
    ),
    bug(
        "key-of-four-bytes",
        "only four bytes of the system's key are random",
        "privacy: noise",
        &[(NOISE, KEY, "if BUG && self == Self::System { seed[4..].fill(0); } SAME")],
    ),
    bug(
        "one-byte-of-the-key-constant",
        "one byte of the system's key is constant",
        "privacy: noise",
        &[(NOISE, KEY, "if BUG && self == Self::System { seed[19] = 0; } SAME")],
    ),
    bug(
        "round-not-in-the-key",
        "all rounds of a run with a fixed seed have the same key",
        "streams::",
        &[(NOISE, KEY, "if BUG && self != Self::System { seed[8..12].fill(0); } SAME")],
    ),
    bug(
        "fixed-seed-is-private",
        "a fixed seed counts as private",
        "streams::only",
        &[(NOISE, "self == Self::System\n    }", "BUG || self == Self::System\n    }")],
    ),
    bug(
        "rounds-restart-the-stream",
        "each round restarts the stream of the first",
        "streams::rounds",
        &[(
            "privacy/curator.rs",
            "self.noise = Some(self.seed.generator(round)?);",
            "if BUG && let Some(noise) = &mut self.noise { noise.set_word_pos(0); } else { SAME }",
        )],
    ),
];
