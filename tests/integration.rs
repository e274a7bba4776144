//! Integration tests, one module a subject.

#[path = "integration/accounting.rs"]
mod accounting;
#[cfg(feature = "cli")]
#[path = "integration/cli.rs"]
mod cli;
#[path = "integration/input.rs"]
mod input;
#[path = "integration/oracles.rs"]
mod oracles;
#[path = "integration/real_data.rs"]
mod real_data;
#[path = "integration/samplers.rs"]
mod samplers;
#[path = "integration/sensitivity.rs"]
mod sensitivity;
