//! Integration tests, one module a subject.

#[path = "integration/oracles.rs"]
mod oracles;
