//! What sets apart the models that some mechanisms fit side by side.

use serde::{Deserialize, Serialize};

/// An expert: one of several models that are fitted to the same measurements, by whether it trusts a base, which is a
/// model of m public records.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ExpertKind {
    /// Pulled to the base as by m records of it, and by fewer where measurements contradict it.
    Base,
    /// Knows nothing of the public tables.
    Alone,
}

impl ExpertKind {
    /// What it is called in reports.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Base => "a fit pulled to the public tables",
            Self::Alone => "a fit without public tables",
        }
    }
}
